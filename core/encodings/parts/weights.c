/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/weights.h"
#include "core/base/fail.h"

#include <math.h>
#include <stdlib.h>

static enum pe_status weights_check(const struct pe_scheme *scheme, const struct pe_tensor *weights,
                                    struct pe_error *err)
{
    const struct pe_encoding *encoding = scheme->encoding;
    size_t count;

    if (!encoding->buckets)
        return pe_fail(err, PE_CONFLICT, "tensor:weights",
                       "weights belong to an encoding that learns a bias for each bucket, such as "
                       "t5, not to %s",
                       encoding->info.name);
    if (weights->rank != 2 || weights->shape[0] != encoding->buckets(scheme) ||
        weights->shape[1] < 1)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:weights",
                       "weights must be [num_buckets, heads] = [%zu, heads], it has %u "
                       "dimensions%s %zu x %zu",
                       encoding->buckets(scheme), weights->rank, weights->rank == 2 ? ":" : ",",
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
    if (scheme->weights)
        return pe_fail(err, PE_CONFLICT, "tensor:weights", "the scheme has weights already");
    return PE_OK;
}

enum pe_status pe_scheme_weights(struct pe_scheme *scheme, const struct pe_tensor *weights,
                                 struct pe_error *err)
{
    if (weights_check(scheme, weights, err))
        return err->status;

    const size_t buckets = weights->shape[0], heads = weights->shape[1], count = buckets * heads;
    double *rows = malloc(count * sizeof(*rows)), *columns = malloc(count * sizeof(*columns));
    if (!rows || !columns) {
        free(rows);
        free(columns);
        return pe_fail(err, PE_OUT_OF_MEMORY, "tensor:weights", "no memory for %zu weights", count);
    }
    pe_to_f64(rows, weights->data, weights->dtype, count);
    for (size_t i = 0; i < count && !err->status; i++) {
        columns[i % heads * buckets + i / heads] = rows[i];
        if (!isfinite(rows[i]))
            pe_fail(err, PE_OUT_OF_RANGE, "tensor:weights",
                    "weights must be finite, that of bucket %zu and head %zu is %g", i / heads,
                    i % heads, rows[i]);
    }
    free(rows);
    if (err->status) {
        free(columns);
        return err->status;
    }
    scheme->weights = columns;
    scheme->heads = heads;
    return PE_OK;
}

void pe_weights_row(const struct pe_scheme *scheme, size_t head, double query, size_t key_begin,
                    size_t key_count, enum pe_dtype dtype, void *out)
{
    const double *weights = scheme->weights + head * scheme->encoding->buckets(scheme);
    const size_t size = pe_dtype_info(dtype)->size;

    for (size_t i = 0; i < key_count; i++) {
        const int64_t distance = (int64_t)(key_begin + i) - (int64_t)query;
        pe_from_f64((char *)out + i * size, dtype,
                    &weights[scheme->encoding->bucket(scheme, distance)], 1);
    }
}
