/* SPDX-License-Identifier: MIT */
/* Sums of doubles, as eight partial sums whatever the width of a vector. */
#include "core/kernels/real.h"

enum { SUMS = 8, VECTORS = SUMS / LANES };

_Static_assert((int)SUMS == (int)PE_TABLE_PAD, "rows of a table are padded to whole steps");

PE_INLINE double total(const double lanes[SUMS])
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

void PE_KERNEL(product_f64)(double *out, const double *a, const double *b, size_t count)
{
    double lanes[SUMS] = {0};
    real sums[VECTORS];
    size_t i = 0;

    __builtin_memcpy(sums, lanes, sizeof(lanes));
    for (; i + SUMS <= count; i += SUMS)
        for (size_t k = 0; k < VECTORS; k++)
            sums[k] += load(a + i + k * LANES) * load(b + i + k * LANES);
    __builtin_memcpy(lanes, sums, sizeof(lanes));
    for (; i < count; i++)
        lanes[i % SUMS] += a[i] * b[i];
    *out = total(lanes);
}

/* ---- rows of a table ------------------------------------------------------------------------ */

struct factors {
    double x[PE_TABLE_COLUMNS], y[PE_TABLE_COLUMNS];
};

/* The factors after another PE_TABLE_ROTATION rows. */
static void turn(struct factors *f, const struct pe_table_rows *in)
{
    const double *cos = in->step_cos + PE_TABLE_ROTATION * in->step_stride;
    const double *sin = in->step_sin + PE_TABLE_ROTATION * in->step_stride;

    for (size_t i = 0; i < in->columns; i += LANES) {
        const real x = load(f->x + i), y = load(f->y + i);
        const real p = load(cos + i), q = load(sin + i);

        store(f->x + i, x * p + y * q);
        store(f->y + i, y * p - x * q);
    }
}

static double row_sum(const struct factors *f, const struct pe_table_rows *in, size_t row)
{
    const double *cos = in->step_cos + row % PE_TABLE_ROTATION * in->step_stride;
    const double *sin = in->step_sin + row % PE_TABLE_ROTATION * in->step_stride;
    double lanes[SUMS];
    real sums[VECTORS];

    for (size_t k = 0; k < VECTORS; k++)
        sums[k] = load(f->x) - load(f->x);
    for (size_t i = 0; i < in->columns; i += SUMS)
        for (size_t k = 0; k < VECTORS; k++) {
            const size_t at = i + k * LANES;
            sums[k] += load(f->x + at) * load(cos + at) + load(f->y + at) * load(sin + at);
        }
    __builtin_memcpy(lanes, sums, sizeof(lanes));
    return total(lanes);
}

void PE_KERNEL(table_sums)(double *sums, double *errors, const struct pe_table_rows *in)
{
    struct factors f;
    double error = 0;

    for (size_t i = 0; i < in->columns; i++) {
        f.x[i] = in->cos[i];
        f.y[i] = in->sin[i];
        error += in->error[i];
    }
    for (size_t row = 0; row < in->rows; row++) {
        if (row > 0 && row % PE_TABLE_ROTATION == 0)
            turn(&f, in);
        sums[row] += row_sum(&f, in, row);
        errors[row] += error;
    }
}
