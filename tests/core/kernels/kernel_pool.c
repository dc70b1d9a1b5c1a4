/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <string.h>

enum { COLUMNS_MAX = 70 };

/* Columns that have seen some rows already; both builds begin alike. */
static void check_case(struct kernel_check *check, size_t count, size_t place, int kind, bool mean)
{
    const float *row = check_memory(0, PE_F32, count, place);
    double *want[3], *got[3];

    check_fill(check, check_memory(0, PE_F32, count, place), PE_F32, count, kind);
    for (size_t i = 0; i < 3; i++) {
        want[i] = check_memory(1 + i, PE_F64, count, place);
        got[i] = check_memory(4 + i, PE_F64, count, place);
        check_fill(check, want[i], PE_F64, count, CHECK_UNIT);
        memcpy(got[i], want[i], count * sizeof(double));
    }
    if (mean) {
        check->scalar->pool_mean_f32(want[0], want[1], want[2], row, count);
        check->kernels->pool_mean_f32(got[0], got[1], got[2], row, count);
    } else {
        check->scalar->pool_extremes_f32(want[0], want[1], row, count);
        check->kernels->pool_extremes_f32(got[0], got[1], row, count);
    }
    for (size_t i = 0; i < (mean ? 3u : 2u); i++)
        check_same(check, PE_F64, want[i], got[i], count, "count=%zu place=%zu kind=%d", count,
                   place, kind);
}

static void check_all(struct kernel_check *check, bool mean)
{
    for (size_t count = 0; count <= COLUMNS_MAX; count++)
        for (size_t place = 0; place < CHECK_PLACES; place++)
            for (int kind = 0; kind < CHECK_KINDS; kind++)
                check_case(check, count, place, kind, mean);
}

void check_pool_mean_f32(struct kernel_check *check)
{
    check_all(check, true);
}

void check_pool_extremes_f32(struct kernel_check *check)
{
    check_all(check, false);
}
