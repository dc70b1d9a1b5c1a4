/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_POOLING_H
#define CORE_VIEWS_POOLING_H

/* Views made small enough to be looked at: matrices are pooled, values become bytes (u8). The type
 * of the view fills its outputs as if there were no pooling. */

#include "posenc/views.h"

/* The pooled outputs of a view. */
struct pe_pooled;

/* Parameters of views whose first output is a matrix, or several. */
#define PE_PARAMS_POOL                                                                             \
    {.name = "pool",                                                                               \
     .type = PE_CHOICE,                                                                            \
     .choices = "mean,min,max,minmax",                                                             \
     .doc = "The function that combines neighbouring elements, so that a large matrix becomes a "  \
            "small one: of n rows, those from i n / rows up to (i + 1) n / rows become row i, "    \
            "and columns likewise. minmax gives two tensors, NAME_min and NAME_max."},             \
        {.name = "rows",                                                                           \
         .type = PE_INTEGER,                                                                       \
         .min = 1,                                                                                 \
         .max = 0x1p53 - 1,                                                                        \
         .doc = "With pool: the largest number of rows of the result; all rows if absent."},       \
    {                                                                                              \
        .name = "columns", .type = PE_INTEGER, .min = 1, .max = 0x1p53 - 1,                        \
        .doc = "With pool: the largest number of columns of the result; all columns if absent."    \
    }

/* True where these parameters are given, or the dtype is u8. */
bool pe_pooled_is_requested(const struct pe_params *params, enum pe_dtype dtype);

/* Of an opened view. bytes: values become u8. PE_CONFLICT for rows or columns without pool,
 * PE_UNSUPPORTED for pool where the first output is a list, PE_TOO_LARGE for more than
 * PE_PICTURE_BYTES_MAX values as bytes, PE_OUT_OF_MEMORY. */
enum pe_status pe_pooled_new(struct pe_pooled **pooled, const struct pe_view *view,
                             const struct pe_params *params, bool bytes, struct pe_error *err);
void pe_pooled_free(struct pe_pooled *pooled); /* NULL: nothing */

const struct pe_output *pe_pooled_output(const struct pe_pooled *pooled, size_t index);

/* See pe_view_fill, which has checked rows and output. */
enum pe_status pe_pooled_fill(const struct pe_view *view, size_t output, size_t row_begin,
                              size_t row_end, void *out, struct pe_work *work,
                              struct pe_error *err);

/* "scale" and "offset" of bytes, for index 0 and 1; computes the values first if need be. False:
 * there are none, or computing them failed. */
bool pe_pooled_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

/* Bytes that the values take once they are computed. */
size_t pe_pooled_memory(const struct pe_pooled *pooled);

#endif
