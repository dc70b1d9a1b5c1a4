/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <math.h>
#include <string.h>

/* Slots of memory: those of the input, then both results. */
enum { NUMBERS, LOW, HIGH, WANT, GOT };

/* Numbers that floats hold and that they do not, in both directions. */
void check_even_f32(struct kernel_check *check)
{
    for (size_t i = 0; i < 4000; i++) {
        const size_t count = i % 70, place = i % CHECK_PLACES;
        const double first = (double)(int64_t)(check_random(check) >> (12 + i % 50));
        const double step = (double)(int64_t)(check_random(check) >> (20 + i % 43));
        float *want = check_memory(WANT, PE_F32, count, place);
        float *got = check_memory(GOT, PE_F32, count, place);

        check->scalar->even_f32(want, i & 1 ? -first : first, i & 2 ? -step : step, count);
        check->kernels->even_f32(got, i & 1 ? -first : first, i & 2 ? -step : step, count);
        check_same(check, PE_F32, want, got, count, "first=%a step=%a", first, step);
    }
}

void check_bits_f32(struct kernel_check *check)
{
    for (size_t i = 0; i < 2000; i++) {
        const size_t columns = 1 + i % 53, rows = i % 7, place = i % CHECK_PLACES;
        const size_t stride = columns + i % 3, count = rows ? (rows - 1) * stride + columns : 0;
        uint64_t *numbers = check_memory(NUMBERS, PE_I64, rows, place);
        uint32_t *low = check_memory(LOW, PE_F32, columns, place);
        uint32_t *high = check_memory(HIGH, PE_F32, columns, place);
        float *want = check_memory(WANT, PE_F32, count, place);
        float *got = check_memory(GOT, PE_F32, count, place);

        for (size_t row = 0; row < rows; row++)
            numbers[row] = check_random(check) >> 11;
        for (size_t k = 0; k < columns; k++) {
            const uint64_t bit = UINT64_C(1) << check_random(check) % 53;
            low[k] = (uint32_t)bit;
            high[k] = (uint32_t)(bit >> 32);
        }
        memset(want, 0, count * sizeof(*want));
        memset(got, 0, count * sizeof(*got));
        check->scalar->bits_f32(want, numbers, rows, low, high, columns, stride);
        check->kernels->bits_f32(got, numbers, rows, low, high, columns, stride);
        check_same(check, PE_F32, want, got, count, "rows=%zu columns=%zu", rows, columns);
    }
}
