/* SPDX-License-Identifier: MIT */
#include "core/scheme/bias.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/memory.h"

enum { CHECK_KEYS = 1 << 16 }; /* between two looks at the work */

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

double pe_weights_work(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    (void)scheme, (void)dtype;
    return PE_BUCKET_WORK;
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
