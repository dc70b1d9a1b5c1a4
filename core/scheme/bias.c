/* SPDX-License-Identifier: MIT */
#include "core/scheme/bias.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/once.h"
#include "core/base/work.h"
#include "posenc/attention.h"

enum {
    COMMON_SIZE_MAX = 8 << 20,
    CHECK_KEYS = 1 << 16, /* between two checks of the work */
};

double pe_bias_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    const struct pe_bias_kind *kind = scheme->encoding->bias;

    return kind->cost && !pe_weights_lack(scheme) ? kind->cost(scheme, dtype) : PE_BUCKET_COST;
}

/* ---- heads ---------------------------------------------------------------------------------- */

size_t pe_bias_heads(const struct pe_scheme *scheme)
{
    const struct pe_bias_kind *kind = scheme->encoding->bias;

    return kind && kind->heads ? kind->heads(scheme) : 0;
}

size_t pe_heads_count(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "heads");
}

enum pe_status pe_bias_infer_heads(struct pe_params *params, const struct pe_attention_spec *spec,
                                   struct pe_error *err)
{
    return pe_params_infer(params, "heads", (double)spec->q.shape[1], err);
}

enum pe_status pe_heads_check(const struct pe_scheme *scheme, const char *const *lists,
                              struct pe_error *err)
{
    const size_t heads = pe_heads_count(scheme);
    char where[sizeof(err->where)];

    for (; *lists; lists++) {
        const struct pe_value *list = pe_param_value(&scheme->params, *lists);
        if (!list->present || list->list_count == 1 || list->list_count == heads)
            continue;
        snprintf(where, sizeof(where), "parameter:%s", *lists);
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu elements, heads is %zu; give one for all or one for each",
                       *lists, list->list_count, heads);
    }
    return PE_OK;
}

double pe_head_number(const struct pe_scheme *scheme, const char *name, size_t head)
{
    const struct pe_value *list = pe_param_value(&scheme->params, name);

    if (!list->present)
        return NAN;
    return list->list[list->list_count == 1 ? 0 : head];
}

/* ---- numbers that heads share ---------------------------------------------------------------- */

struct pe_bias_common {
    struct pe_once once;
    const struct pe_scheme *scheme;
    int64_t first, end; /* distances |key - query| */
    enum pe_dtype dtype;
    struct pe_work *work; /* the account that the numbers are charged to */
    void *numbers;        /* NULL until they are computed */
};

enum pe_status pe_bias_common_new(struct pe_bias_common **out, const struct pe_scheme *scheme,
                                  int64_t first, int64_t end, enum pe_dtype dtype,
                                  struct pe_work *work, struct pe_error *err)
{
    const struct pe_bias_kind *kind = scheme->encoding->bias;
    const int64_t last = end - 1;
    const int64_t near = first > 0 ? first : last < 0 ? -last : 0;
    const int64_t far = -first > last ? -first : last;
    struct pe_bias_common *common;

    *out = NULL;
    if (!kind->common_make || first >= end ||
        (uint64_t)(far - near) >= COMMON_SIZE_MAX / kind->common_size)
        return PE_OK;
    common = calloc(1, sizeof(*common));
    if (!common)
        return pe_no_memory(err, "a bias");
    *common = (struct pe_bias_common){
        .scheme = scheme, .first = near, .end = far + 1, .dtype = dtype, .work = work};
    if (!pe_once_init(&common->once)) {
        free(common);
        return pe_no_memory(err, "a bias");
    }
    *out = common;
    return PE_OK;
}

static size_t count_of(const struct pe_bias_common *common)
{
    return (size_t)(common->end - common->first);
}

double pe_bias_common_cost(const struct pe_bias_common *common)
{
    return common ? (double)count_of(common) *
                        common->scheme->encoding->bias->common_cost(common->scheme, common->dtype)
                  : 0;
}

size_t pe_bias_common_size(const struct pe_bias_common *common)
{
    return common ? count_of(common) * common->scheme->encoding->bias->common_size : 0;
}

void pe_bias_common_free(struct pe_bias_common *common)
{
    if (!common)
        return;
    pe_memory_give(common->work, common->numbers, count_of(common),
                   common->scheme->encoding->bias->common_size);
    pe_once_destroy(&common->once);
    free(common);
}

static enum pe_status numbers_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    struct pe_bias_common *common = thing;
    const struct pe_bias_kind *kind = common->scheme->encoding->bias;

    if (pe_spend(work, pe_bias_common_cost(common), err))
        return err->status;
    if (!common->numbers)
        common->numbers = pe_memory_take(common->work, count_of(common), kind->common_size,
                                         "what the heads of a bias have in common", err);
    return common->numbers ? kind->common_make(common->scheme, common->first, common->end,
                                               common->dtype, common->numbers, work, err)
                           : err->status;
}

enum pe_status pe_bias_common_at(struct pe_bias_common *common, int64_t distance,
                                 const void **numbers, struct pe_work *work, struct pe_error *err)
{
    *numbers = NULL;
    if (!common || distance < common->first || distance >= common->end)
        return PE_OK;
    if (pe_once(&common->once, numbers_make, common, work, err))
        return err->status;
    *numbers = (const char *)common->numbers +
               (size_t)(distance - common->first) * common->scheme->encoding->bias->common_size;
    return PE_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

const struct pe_weights *pe_weights_of(const struct pe_scheme *scheme)
{
    const struct pe_bias_kind *kind = scheme->encoding->bias;
    const struct pe_weights *weights = kind && kind->buckets_count ? scheme->state : NULL;

    return weights && weights->values ? weights : NULL;
}

bool pe_weights_lack(const struct pe_scheme *scheme)
{
    const struct pe_bias_kind *kind = scheme->encoding->bias;

    return kind && kind->buckets_count && !pe_weights_of(scheme);
}

static enum pe_status weights_check(const struct pe_scheme *scheme, const struct pe_tensor *weights,
                                    struct pe_error *err)
{
    const struct pe_encoding *encoding = scheme->encoding;
    const bool learns = encoding->bias && encoding->bias->buckets_count;
    const size_t buckets = learns ? encoding->bias->buckets_count(scheme) : 0;
    size_t count;

    if (!learns)
        return pe_fail(err, PE_CONFLICT, "tensor:weights",
                       "weights belong to an encoding that learns a bias for each bucket, such as "
                       "t5, not to %s",
                       encoding->info.name);
    if (weights->rank != 2 || weights->shape[0] != buckets || weights->shape[1] < 1)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:weights",
                       "weights must be [num_buckets, heads] = [%zu, heads], it has %u "
                       "dimensions%s %zu x %zu",
                       buckets, weights->rank, weights->rank == 2 ? ":" : ",",
                       weights->rank > 0 ? weights->shape[0] : 1,
                       weights->rank > 1 ? weights->shape[1] : 1);
    if (!pe_dtype_is_float(weights->dtype))
        return pe_fail(err, PE_UNSUPPORTED, "tensor:weights",
                       "weights is %s; f64, f32, f16 and bf16 can be used",
                       pe_dtype_name(weights->dtype));
    if (!pe_shape_elements(weights->shape, 2, &count) || count > SIZE_MAX / 16)
        return pe_fail(err, PE_TOO_LARGE, "tensor:weights", "the weights are too many");
    if (!weights->data)
        return pe_fail(err, PE_INVALID, "tensor:weights", "weights has no data");
    if (pe_weights_of(scheme))
        return pe_fail(err, PE_CONFLICT, "tensor:weights", "the scheme has weights already");
    return PE_OK;
}

enum pe_status pe_weights_give(struct pe_scheme *scheme, const struct pe_tensor *weights,
                               struct pe_work *work, struct pe_error *err)
{
    static const char purpose[] = "weights";

    if (weights_check(scheme, weights, err))
        return err->status;

    struct pe_weights *own = scheme->state;
    const size_t buckets = weights->shape[0], heads = weights->shape[1], count = buckets * heads;
    double *rows = pe_memory_take(work, count, sizeof(*rows), purpose, err);
    double *columns = rows ? pe_memory_take(work, count, sizeof(*columns), purpose, err) : NULL;
    if (columns)
        pe_to_f64(rows, weights->data, weights->dtype, count);
    for (size_t i = 0; i < count && !err->status; i++) {
        columns[i % heads * buckets + i / heads] = rows[i];
        if (!isfinite(rows[i]))
            pe_fail(err, PE_OUT_OF_RANGE, "tensor:weights",
                    "weights must be finite, that of bucket %zu and head %zu is %g", i / heads,
                    i % heads, rows[i]);
    }
    pe_memory_give(work, rows, count, sizeof(*rows));
    if (err->status) {
        pe_memory_give(work, columns, count, sizeof(*columns));
        return err->status;
    }
    *own = (struct pe_weights){columns, heads};
    return PE_OK;
}

void pe_weights_close(void *state)
{
    free(((struct pe_weights *)state)->values);
}

size_t pe_weights_heads(const struct pe_scheme *scheme)
{
    return ((const struct pe_weights *)scheme->state)->heads;
}

double pe_weights_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    (void)scheme, (void)dtype;
    return PE_BUCKET_COST;
}

enum pe_status pe_weights_row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                              struct pe_error *err)
{
    const struct pe_scheme *scheme = part->scheme;
    const struct pe_bias_kind *kind = scheme->encoding->bias;
    const double *weights =
        pe_weights_of(scheme)->values + part->head * kind->buckets_count(scheme);
    const size_t size = pe_dtype_info(part->dtype)->size;

    for (size_t i = 0; i < part->key_count; i++) {
        const int64_t distance = (int64_t)(part->key_begin + i) - (int64_t)part->query;
        if (i % CHECK_KEYS == 0 && pe_work_check(work, err))
            return err->status;
        pe_from_f64((char *)out + i * size, part->dtype, &weights[kind->bucket(scheme, distance)],
                    1);
    }
    return PE_OK;
}
