/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_PICTURE_H
#define CORE_VIEWS_PICTURE_H

/* A view made small enough to be looked at: matrices are pooled, values become bytes. What the view
 * would be without it is the picture's original; whoever fills the view is not told. */

#include "posenc/views.h"

struct pe_picture;

/* Parameters of views whose first output is a matrix, or several. */
#define PE_PARAMS_PICTURE                                                                          \
    {.name = "pool",                                                                               \
     .type = PE_CHOICE,                                                                            \
     .choices = "mean,min,max,minmax",                                                             \
     .doc = "One value of many neighbours: row i is made of the rows [i n / rows, "                \
            "(i + 1) n / rows) of n, columns likewise."},                                          \
        {.name = "rows",                                                                           \
         .type = PE_INTEGER,                                                                       \
         .min = 1,                                                                                 \
         .max = 0x1p53 - 1,                                                                        \
         .doc = "With pool: how many rows at most; all if absent."},                               \
    {                                                                                              \
        .name = "columns", .type = PE_INTEGER, .min = 1, .max = 0x1p53 - 1,                        \
        .doc = "With pool: how many columns at most; all if absent."                               \
    }

/* Has the view to become one, by its parameters and the dtype that it is wanted in? */
bool pe_picture_is_asked(const struct pe_params *params, enum pe_dtype dtype);

/* Of an opened view. PE_CONFLICT for rows or columns
 * without pool, PE_UNSUPPORTED for pool where the first output is a list, PE_TOO_LARGE for more
 * than PE_PICTURE_BYTES_MAX values as bytes, PE_OUT_OF_MEMORY. */
enum pe_status pe_picture_new(struct pe_picture **picture, const struct pe_view *view,
                              const struct pe_params *params, bool bytes, struct pe_error *err);
void pe_picture_free(struct pe_picture *picture); /* NULL: nothing */

const struct pe_output *pe_picture_output(const struct pe_picture *picture, size_t index);

/* See pe_view_fill, which has checked rows and output. */
enum pe_status pe_picture_fill(const struct pe_view *view, size_t output, size_t row_begin,
                               size_t row_end, void *out, struct pe_work *work,
                               struct pe_error *err);

/* "scale" and "offset" of bytes, for index 0 and 1; makes the values where they are not there yet.
 * False: there are none, or they could not be made. */
bool pe_picture_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

/* Bytes that values take once they are made. */
size_t pe_picture_memory(const struct pe_picture *picture);

#endif
