/* SPDX-License-Identifier: MIT */
#ifndef POSENC_COMPARISON_H
#define POSENC_COMPARISON_H

#include "posenc/dtype.h"
#include "posenc/status.h"
#include "posenc/work.h"

/* Differences of two tables of one floating dtype. Pure functions of their arguments: any thread.
 */

/* Begins as zeros, but for `size` and `tolerance`; the caller's. One thread at a time adds to it.
 */
struct pe_comparison {
    size_t size;      /* sizeof(struct pe_comparison), for later versions to tell what is there */
    double tolerance; /* values further apart than that diverge */
    uint64_t elements, unequal;
    double max_abs, max_ulp; /* infinite where one is NaN or infinite and the other is not alike */
    double squares;          /* sum of the squared differences */
    bool diverges;
    size_t row, column; /* where they first do: the first such row, in it the first column */
    double a, b;        /* the two values there */
};

/* The largest differences, in absolute terms and in ulps, of each row or of each column. The arrays
 * are the caller's, who zeroes them before the first call. Either may be NULL. This struct is
 * final.
 */
struct pe_maxima {
    double *abs, *ulp;
};

PE_DECLARATIONS_BEGIN

/* Adds rows [row_begin, row_begin + rows) of two tables [.., columns]; a and b point to the first
 * of these rows. The arrays of by_row have row_begin + rows entries at least, those of by_column
 * `columns`; the larger value stays in them. by_row, by_column and work may be NULL. PE_INVALID for
 * a dtype that is no float and a size that is not set; PE_CANCELLED, PE_TOO_LARGE of the work. */
PE_API enum pe_status pe_compare(struct pe_comparison *sum, enum pe_dtype dtype, const void *a,
                                 const void *b, size_t row_begin, size_t rows, size_t columns,
                                 const struct pe_maxima *by_row, const struct pe_maxima *by_column,
                                 struct pe_work *work, struct pe_error *err);
/* Nanoseconds of one core that so many elements of either table take, about; to make them is no
 * part of it. */
PE_API double pe_comparison_work(double elements);

/* Adds `more` to `sum`; of the divergences the one in the first row, then column, stays. */
PE_API void pe_comparison_join(struct pe_comparison *sum, const struct pe_comparison *more);

/* The root of the mean of the squared differences; 0 of no elements. */
PE_API double pe_comparison_rms(const struct pe_comparison *sum);

/* How many numbers of the dtype two of them are apart; +0 and -0 are one, and so are all NaNs.
 * NAN for a dtype that is no float. */
PE_API double pe_ulps_apart(enum pe_dtype dtype, const void *a, const void *b);

/* A double as the nearest number of a floating dtype; NAN for a dtype that is no float. */
PE_API double pe_round_to(double value, enum pe_dtype dtype);

PE_DECLARATIONS_END

#endif
