/* SPDX-License-Identifier: MIT */
#ifndef CORE_COMPARISON_COMPARE_H
#define CORE_COMPARISON_COMPARE_H

#include <stdint.h>

#include "posenc/dtype.h"

/* What two tables of one floating dtype differ by. Begins as zeros, but for `tolerance`. */
struct pe_comparison {
    double tolerance; /* further apart than that two values diverge */
    uint64_t elements, unequal;
    double max_abs, max_ulp; /* infinite where one is NaN or infinite and the other is not alike */
    double squares;          /* sum of the squared differences */
    bool diverges;
    size_t row, column; /* of the first that do: the first row, in it the first column */
    double a, b;
};

/* The largest differences of rows and of columns. Either pointer may be NULL. */
struct pe_maxima {
    double *abs, *ulp;
};

/* Adds rows [row_begin, row_begin + rows) of a and b, which begin at their first element. `by_row`
 * is indexed by the row, `by_column` by the column; the larger value stays. */
void pe_compare(struct pe_comparison *sum, enum pe_dtype dtype, const void *a, const void *b,
                size_t row_begin, size_t rows, size_t columns, const struct pe_maxima *by_row,
                const struct pe_maxima *by_column);

/* Adds `more` to `sum`; of the divergences the one in the first row, then column, stays. */
void pe_comparison_join(struct pe_comparison *sum, const struct pe_comparison *more);

double pe_comparison_rms(const struct pe_comparison *sum);

/* How many numbers of the dtype two of them are apart; +0 and -0 are one, and so are all NaNs. */
double pe_ulps_apart(enum pe_dtype dtype, const void *a, const void *b);

#endif
