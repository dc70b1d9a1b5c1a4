/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/angle.h"
#include "core/kinds/rows.h"

/* Enough for every sum of doubles up to 2^53 + 2^53. */
enum { SUM_BITS = 1152 };

static size_t width(const struct pe_scheme *scheme)
{
    (void)scheme;
    return 1;
}

/* The exact sum of three doubles, rounded once. */
static void position_round(const struct pe_position *position, enum pe_dtype dtype, void *out)
{
    const double *part = position->part;

    if (part[2] == 0)
        pe_exact_round((struct pe_exact){part[0], part[1]}, 0, dtype, out);
    else
        pe_wide_write(
            pe_wide_add_double(pe_wide_add_double(pe_wide_of(SUM_BITS, part[0]), part[1]), part[2]),
            dtype, out);
}

static void row(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t index,
                enum pe_dtype dtype, void *out)
{
    (void)scheme;
    if (positions->values) {
        pe_from_f64(out, dtype, &positions->values[index], 1);
        return;
    }
    const struct pe_position position =
        pe_position_at(positions->start, positions->step, (double)index);
    position_round(&position, dtype, out);
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    return pe_rows_each(scheme, part, row, out, work, err);
}

/* Fractions are sums of three doubles. */
static double work(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    (void)scheme, (void)dtype;
    return positions->values ? 7 : positions->step == floor(positions->step) ? 22 : 80;
}

static const struct pe_rows_kind rows = {.width = width, .fill = fill, .work = work};

extern const struct pe_encoding pe_encoding_index;
const struct pe_encoding pe_encoding_index = {
    .info.name = "index",
    .info.family = "absolute",
    .info.title = "The position itself, in one column",
    .info.formula = "p(t) = t",
    .info.source = "The plainest way to number positions; grows without bound",
    .rows = &rows,
};
