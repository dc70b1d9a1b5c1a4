/* SPDX-License-Identifier: MIT */
#include "core/scheme/bias.h"

#include <stdlib.h>

#include "core/base/memory.h"
#include "core/base/once.h"
#include "core/base/spend.h"
#include "posenc/attention.h"

enum { COMMON_SIZE_MAX = 8 << 20 };

size_t pe_bias_heads(const struct pe_scheme *scheme)
{
    const struct pe_bias_kind *kind = scheme->encoding->bias;

    return kind && kind->heads ? kind->heads(scheme) : 0;
}

enum pe_status pe_bias_infer_heads(struct pe_params *params, const struct pe_attention_spec *spec,
                                   struct pe_error *err)
{
    return pe_params_infer(params, "heads", (double)spec->q.shape[1], err);
}

double pe_bias_work(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    const struct pe_bias_kind *kind = scheme->encoding->bias;

    return kind->work && !pe_weights_lack(scheme) ? kind->work(scheme, dtype) : PE_BUCKET_WORK;
}

/* ---- in common ------------------------------------------------------------------------------ */

struct pe_bias_common {
    struct pe_once once;
    const struct pe_scheme *scheme;
    int64_t first, end; /* of |key - query| */
    enum pe_dtype dtype;
    struct pe_work *work; /* that numbers are charged to */
    void *numbers;        /* NULL until they are made */
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

double pe_bias_common_work(const struct pe_bias_common *common)
{
    return common ? (double)count_of(common) *
                        common->scheme->encoding->bias->common_work(common->scheme, common->dtype)
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

    if (pe_spend(work, pe_bias_common_work(common), err))
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
