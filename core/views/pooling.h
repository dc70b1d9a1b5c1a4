/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_POOLING_H
#define CORE_VIEWS_POOLING_H

#include "posenc/views.h"

/* Pooling: one value of many neighbours in a matrix. Rows of a view are filled for it and
 * forgotten, so that a table of any size takes the memory of a few rows. */

enum pe_pooling { PE_POOL_NONE, PE_POOL_MEAN, PE_POOL_MIN, PE_POOL_MAX, PE_POOL_MINMAX };

/* One output of a view that is pooled. */
struct pe_pool_plan {
    enum pe_pooling pooling;         /* not MINMAX: that is a MIN and a MAX */
    size_t depth;                    /* numbers of an element: 2 where it is complex */
    size_t from_rows, from_columns;  /* of a matrix of the view */
    size_t rows, columns;            /* of what becomes of it */
    enum pe_dtype from_dtype, dtype; /* of the view, of the result */
};

/* Numbers of a row of the result. */
size_t pe_pool_width(const struct pe_pool_plan *plan);

/* Nanoseconds, about, of a number of the result, when one of the view takes so many. */
double pe_pool_cost(const struct pe_pool_plan *plan, double element_work);

/* Writes rows of the result, of all matrices one behind the other, from rows that the view's type
 * fills. Any thread. */
enum pe_status pe_pool_fill(const struct pe_pool_plan *plan, const struct pe_view *view,
                            size_t output, size_t row_begin, size_t row_end, char *out,
                            struct pe_work *work, struct pe_error *err);

#endif
