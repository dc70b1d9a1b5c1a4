/* SPDX-License-Identifier: MIT */
#include "tests/core/kernel_check.h"

/* Counts are multiples of 8 by contract. */
enum { COUNT_MOST = 160 };

static const double *input(struct kernel_check *check, size_t slot, size_t count, size_t place,
                           int kind)
{
    double *in = check_memory(slot, PE_F64, count, place);

    check_fill(check, in, PE_F64, count, kind);
    return in;
}

void check_table_interval(struct kernel_check *check)
{
    for (size_t count = 0; count <= COUNT_MOST; count += 8)
        for (size_t place = 0; place < CHECK_PLACES; place++) {
            const double *a = input(check, 0, count, place, CHECK_UNIT);
            const double *u = input(check, 1, count, place, CHECK_UNIT);
            const double *b = input(check, 2, count, place, CHECK_UNIT);
            const double *v = input(check, 3, count, place, CHECK_UNIT);
            float *low[2], *high[2];
            for (int i = 0; i < 2; i++) {
                low[i] = check_memory(4 + 2 * (size_t)i, PE_F32, count, place);
                high[i] = check_memory(5 + 2 * (size_t)i, PE_F32, count, place);
                (i ? check->kernels : check->scalar)
                    ->table_interval(low[i], high[i], a, u, b, v, a, u, 1.375, count);
            }
            check_same(check, PE_F32, low[0], low[1], count, "low of %zu place=%zu", count, place);
            check_same(check, PE_F32, high[0], high[1], count, "high of %zu place=%zu", count,
                       place);
        }
}

void check_table_turn(struct kernel_check *check)
{
    for (size_t count = 0; count <= COUNT_MOST; count += 8)
        for (size_t place = 0; place < CHECK_PLACES; place++) {
            const double *u = input(check, 0, 2 * count, place, CHECK_UNIT);
            const double *v = input(check, 1, 2 * count, place, CHECK_UNIT);
            const double *c = input(check, 2, 2 * count, place, CHECK_UNIT);
            const double *s = input(check, 3, 2 * count, place, CHECK_UNIT);
            double *cos[2], *sin[2];
            for (int i = 0; i < 2; i++) {
                cos[i] = check_memory(4 + 2 * (size_t)i, PE_F64, 2 * count, place);
                sin[i] = check_memory(5 + 2 * (size_t)i, PE_F64, 2 * count, place);
                __builtin_memcpy(cos[i], c, 2 * count * sizeof(double));
                __builtin_memcpy(sin[i], s, 2 * count * sizeof(double));
                (i ? check->kernels : check->scalar)->table_turn(cos[i], sin[i], u, v, count);
            }
            check_same(check, PE_F64, cos[0], cos[1], 2 * count, "cos of %zu place=%zu", count,
                       place);
            check_same(check, PE_F64, sin[0], sin[1], 2 * count, "sin of %zu place=%zu", count,
                       place);
        }
}
