/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/errors.h"
#include "posenc/layouts.h"

#define MERGE(type)                                                                                \
    static void add_##type(type scale, size_t count, const type *x, const type *p, type *out)      \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = x[i] * scale + p[i];                                                          \
    }                                                                                              \
    static void mul_##type(size_t count, const type *x, const type *p, type *out)                  \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = x[i] * (p[i] + 1);                                                            \
    }

MERGE(float)
MERGE(double)

static void concat(size_t size, size_t rows, const char *x, size_t x_width, const char *p,
                   size_t p_width, char *out)
{
    for (size_t row = 0; row < rows; row++) {
        if (x_width > 0)
            memcpy(out, x + row * x_width * size, x_width * size);
        out += x_width * size;
        if (p_width > 0)
            memcpy(out, p + row * p_width * size, p_width * size);
        out += p_width * size;
    }
}

enum pe_status pe_merge_rows(enum pe_merge merge, double scale, enum pe_dtype dtype, size_t rows,
                             const void *x, size_t x_width, const void *p, size_t p_width,
                             void *out, struct pe_error *err)
{
    const size_t count = rows * x_width;

    if (dtype != PE_F64 && dtype != PE_F32)
        return pe_fail(err, PE_INVALID, "parameter:dtype", "rows join in f64 and f32, got %s",
                       pe_dtype_name(dtype));
    if ((unsigned)merge > PE_MERGE_CONCAT)
        return pe_fail(err, PE_INVALID, "parameter:merge", "rows join by add, mul or concat");
    if (merge != PE_MERGE_CONCAT && x_width != p_width)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:x",
                       "x is %zu wide and the table %zu; only concat takes different widths",
                       x_width, p_width);
    if (merge == PE_MERGE_CONCAT)
        concat(pe_dtype_info(dtype)->size, rows, x, x_width, p, p_width, out);
    else if (merge == PE_MERGE_ADD && dtype == PE_F64)
        add_double(scale, count, x, p, out);
    else if (merge == PE_MERGE_ADD)
        add_float((float)scale, count, x, p, out);
    else if (dtype == PE_F64)
        mul_double(count, x, p, out);
    else
        mul_float(count, x, p, out);
    return PE_OK;
}
