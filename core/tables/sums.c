/* SPDX-License-Identifier: MIT */
#include "core/tables/sums.h"

#include <math.h>

#include "core/base/least.h"

enum { ROWS = 128 }; /* summed up at once */

/* Rounds a sum times the factor before it; false: undecided. */
static bool sum_round(const struct pe_cosines *cosines, struct pe_exact sum, double error,
                      enum pe_dtype dtype, void *out)
{
    const struct pe_exact value = pe_exact_multiply(sum, cosines->scale);

    return pe_exact_round(
        value, error * cosines->scale.hi * (1 + 0x1p-20) + fabs(value.hi) * 0x1p-98, dtype, out);
}

/* The roundings of a sum of n cosines in doubles, eight sums side by side: n / 8 + 8 of them, each
 * below 2^-53 of n. */
static double roundings(size_t n)
{
    return ((double)n / 8 + 8) * (double)n * 0x1p-52;
}

/* Those that the sums do not decide, the offset 0 among them, are made one by one. */
static enum pe_status group_fill(const struct pe_cosines *cosines,
                                 const struct pe_positions *offsets, size_t begin, size_t end,
                                 enum pe_dtype dtype, char *out, struct pe_work *work,
                                 struct pe_error *err)
{
    const size_t size = pe_dtype_info(dtype)->size;
    const bool fine = dtype == PE_F64;
    double high[ROWS], low[ROWS], error[ROWS];
    const struct pe_table_sums sums = {high, fine ? low : NULL, error};
    const double more = fine ? 0 : roundings(pe_frequencies_count(cosines->frequencies));
    bool within;

    if (pe_table_sum(&sums, cosines->frequencies, offsets, begin, end, &within, work, err))
        return err->status;
    for (size_t i = 0; i < end - begin; i++) {
        const struct pe_position offset = pe_position_of(offsets, begin + i);
        char *element = out + i * size;
        const bool decided = within && offset.part[0] != 0 &&
                             sum_round(cosines, (struct pe_exact){high[i], fine ? low[i] : 0},
                                       error[i] + more, dtype, element);
        if (!decided && pe_cosines_write(cosines, &offset, dtype, element, work, err))
            return err->status;
    }
    return PE_OK;
}

enum pe_status pe_cosines_fill(const struct pe_cosines *cosines, const struct pe_positions *offsets,
                               size_t begin, size_t end, enum pe_dtype dtype, void *out,
                               struct pe_work *work, struct pe_error *err)
{
    const size_t size = pe_dtype_info(dtype)->size;

    for (size_t row = begin; row < end; row += ROWS)
        if (group_fill(cosines, offsets, row, pe_least(end, row + ROWS), dtype,
                       (char *)out + (row - begin) * size, work, err))
            return err->status;
    return PE_OK;
}
