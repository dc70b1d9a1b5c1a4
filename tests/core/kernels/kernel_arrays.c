/* SPDX-License-Identifier: MIT */
/* Kernels of plain arrays: conversion, pooling, integers. */
#include "tests/core/kernels/kernel_check.h"

#include <string.h>

/* ---- conversion ----------------------------------------------------------------------------- */

typedef void convert(const struct pe_kernels *kernels, void *out, const void *in, size_t count);

static void check_conversion(struct kernel_check *check, convert *run, enum pe_dtype from,
                             enum pe_dtype to, size_t count, size_t place)
{
    void *in = check_memory(0, from, count, place);
    void *want = check_memory(1, to, count, place), *got = check_memory(2, to, count, place);

    for (int kind = 0; kind < CHECK_KINDS; kind++) {
        check_fill(check, in, from, count, kind);
        run(check->scalar, want, in, count);
        run(check->kernels, got, in, count);
        check_same(check, to, want, got, count, "count=%zu place=%zu kind=%d", count, place, kind);
    }
}

/* f32 near every number of 16 bits: itself, the midpoint to the next one, and their neighbours. */
static void check_neighbours(struct kernel_check *check, convert *run, enum pe_dtype to)
{
    enum { COUNT = 1 << 12 };
    const int dropped = to == PE_F16 ? 13 : 16;
    uint32_t *in = check_memory(0, PE_F32, 5 * COUNT, 1);
    uint16_t *want = check_memory(1, to, 5 * COUNT, 1), *got = check_memory(2, to, 5 * COUNT, 1);

    for (uint64_t base = 0; base < UINT64_C(1) << (32 - dropped); base += COUNT) {
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint32_t bits = (uint32_t)(base + i) << dropped, half = 1u << (dropped - 1);
            const uint32_t near[] = {bits, bits + half - 1, bits + half, bits + half + 1,
                                     bits + 2 * half - 1};
            memcpy(in + 5 * i, near, sizeof(near));
        }
        run(check->scalar, want, in, 5 * COUNT);
        run(check->kernels, got, in, 5 * COUNT);
        check_same(check, to, want, got, 5 * COUNT, "neighbours of %#llx << %d",
                   (unsigned long long)base, dropped);
    }
}

static void check_all_of_16_bits(struct kernel_check *check, convert *run, enum pe_dtype from)
{
    enum { COUNT = 1 << 15 };
    uint16_t *in = check_memory(0, from, COUNT, 1);
    void *want = check_memory(1, PE_F32, COUNT, 1), *got = check_memory(2, PE_F32, COUNT, 1);

    for (uint32_t sign = 0; sign < 2; sign++) {
        for (uint32_t i = 0; i < COUNT; i++)
            in[i] = (uint16_t)(sign << 15 | i);
        run(check->scalar, want, in, COUNT);
        run(check->kernels, got, in, COUNT);
        check_same(check, PE_F32, want, got, COUNT, "all of sign %u", (unsigned)sign);
    }
}

static void check_convert(struct kernel_check *check, convert *run, enum pe_dtype from,
                          enum pe_dtype to)
{
    for (size_t count = 0; count <= 100; count++)
        for (size_t place = 0; place < CHECK_PLACES; place++)
            check_conversion(check, run, from, to, count, place);
    if (from == PE_F32)
        check_neighbours(check, run, to);
    else
        check_all_of_16_bits(check, run, from);
}

#define CONVERT(name, FROM, TO)                                                                    \
    static void run_##name(const struct pe_kernels *kernels, void *out, const void *in,            \
                           size_t count)                                                           \
    {                                                                                              \
        kernels->name(out, in, count);                                                             \
    }                                                                                              \
    void check_##name(struct kernel_check *check)                                                  \
    {                                                                                              \
        check_convert(check, run_##name, FROM, TO);                                                \
    }

CONVERT(convert_f32_f16, PE_F32, PE_F16)
CONVERT(convert_f32_bf16, PE_F32, PE_BF16)
CONVERT(convert_f16_f32, PE_F16, PE_F32)
CONVERT(convert_bf16_f32, PE_BF16, PE_F32)

/* ---- pooling -------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 70 };

/* Columns begin with the same values of earlier rows in both builds. */
static void check_pool(struct kernel_check *check, size_t count, size_t place, int kind, bool mean)
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

static void check_pools(struct kernel_check *check, bool mean)
{
    for (size_t count = 0; count <= COLUMNS_MAX; count++)
        for (size_t place = 0; place < CHECK_PLACES; place++)
            for (int kind = 0; kind < CHECK_KINDS; kind++)
                check_pool(check, count, place, kind, mean);
}

void check_pool_mean_f32(struct kernel_check *check)
{
    check_pools(check, true);
}

void check_pool_extremes_f32(struct kernel_check *check)
{
    check_pools(check, false);
}

/* ---- integers ------------------------------------------------------------------------------- */

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
