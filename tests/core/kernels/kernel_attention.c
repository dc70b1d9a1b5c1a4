/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <math.h>
#include <string.h>

#include "core/kernels/attention.h"

/* Slots of memory: one for each input, one for each result. */
enum { INPUT, PANEL, BIAS, WANT, GOT };

typedef void gemm_kernel(void *, size_t, const void *, size_t, const struct pe_panels *, size_t,
                         size_t, int);
typedef void transpose_kernel(void *, const void *, size_t, size_t);
typedef void nonfinite_kernel(bool *, bool *, const void *, size_t);
typedef void logits_kernel(void *, const void *, size_t, double, double *);
typedef void softmax_kernel(void *, size_t, double, double, void *, size_t);
typedef void softcap_kernel(void *, size_t, double, double);
typedef void sum_kernel(void *, const void *, size_t);
typedef void divide_kernel(void *, size_t, double);

/* The same values twice, to be worked on in place by the oracle and by what is checked. */
static void twins(struct kernel_check *check, enum pe_dtype dtype, size_t count, size_t place,
                  enum check_values kind, void **want, void **got)
{
    const uint64_t state = check->random;

    *want = check_memory(WANT, dtype, count, place);
    *got = check_memory(GOT, dtype, count, place);
    check_fill(check, *want, dtype, count, kind);
    check->random = state;
    check_fill(check, *got, dtype, count, kind);
}

/* One product and one sum that a double rounds into the middle between two floats: 1 + i u and
 * (1 - 2^-16)(1 + 2^-16) u/2, of either sign. Rounding twice would be off by a float. */
static void ties_fill(float *a, float *panel, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        panel[i] = (i & 2 ? -1 : 1) * (1 + (float)(i / 4) * 0x1p-23f);
        panel[width + i] = (i & 1 ? -1 : 1) * (1 + 0x1p-16f) * 0x1p-24f;
    }
    a[0] = 1;
    a[1] = 1 - 0x1p-16f;
}

static void check_ties(struct kernel_check *check, gemm_kernel *scalar, gemm_kernel *kernel)
{
    const size_t width = PE_PANEL_SIZE / sizeof(float);
    float *a = check_memory(INPUT, PE_F32, 2, 0),
          *panel = check_memory(PANEL, PE_F32, 2 * width, 0);
    float *want = check_memory(WANT, PE_F32, width, 0), *got = check_memory(GOT, PE_F32, width, 0);

    ties_fill(a, panel, width);
    scalar(want, width, a, 2, &(struct pe_panels){panel, width, 0, 1, 0}, 1, 2, 0);
    kernel(got, width, a, 2, &(struct pe_panels){panel, width, 0, 1, 0}, 1, 2, 0);
    check_same(check, PE_F32, want, got, width, "ties");
    for (size_t i = 0; i < width; i++)
        got[i] = fmaf(a[1], panel[width + i], panel[i]);
    check_same(check, PE_F32, want, got, width, "ties beside fmaf");
}

static void check_gemm(struct kernel_check *check, enum pe_dtype dtype, gemm_kernel *scalar,
                       gemm_kernel *kernel)
{
    static const size_t depths[] = {0, 1, 2, 5, 64, 130};
    const size_t panel_width = PE_PANEL_SIZE / pe_dtype_info(dtype)->size;

    if (dtype == PE_F32)
        check_ties(check, scalar, kernel);
    for (size_t rows = 0; rows <= 27; rows++)
        for (size_t i = 0; i < 4 * sizeof(depths) / sizeof(depths[0]); i++) {
            const size_t depth = depths[i / 4], place = i % CHECK_PLACES, stride = depth + rows % 3;
            const size_t count = 1 + (rows + i) % 5, width = count * panel_width;
            const size_t out_stride = width * (1 + rows % 2), panel_stride = panel_width + rows % 7;
            const size_t step = rows % 2 ? panel_width : depth * panel_stride;
            const size_t out_count = rows ? (rows - 1) * out_stride + width : 0;
            const int accumulate = i & 1, kind = (int)(check_random(check) % CHECK_KINDS);
            void *a = check_memory(INPUT, dtype, rows * stride, place), *want, *got;
            const size_t panel_count =
                depth ? (count - 1) * step + (depth - 1) * panel_stride + panel_width : 0;
            void *panel = check_memory(PANEL, dtype, panel_count, place);
            check_fill(check, a, dtype, rows * stride, kind);
            check_fill(check, panel, dtype, panel_count, kind);
            twins(check, dtype, out_count, place, kind, &want, &got);
            const struct pe_panels panels = {panel, panel_stride, step, count, i % 3};
            scalar(want, out_stride, a, stride, &panels, rows, depth, accumulate);
            kernel(got, out_stride, a, stride, &panels, rows, depth, accumulate);
            check_same(check, dtype, want, got, out_count,
                       "rows=%zu depth=%zu panels=%zu place=%zu kind=%d", rows, depth, count, place,
                       kind);
        }
}

static void check_transpose(struct kernel_check *check, enum pe_dtype dtype,
                            transpose_kernel *scalar, transpose_kernel *kernel)
{
    const size_t width = PE_PANEL_SIZE / pe_dtype_info(dtype)->size;

    for (size_t depth = 0; depth <= 70; depth++)
        for (size_t place = 0; place < CHECK_PLACES; place++) {
            const size_t stride = depth + depth % 3, count = (width - 1) * stride + depth;
            void *in = check_memory(INPUT, dtype, count, place), *want, *got;
            check_fill(check, in, dtype, count, CHECK_EDGES);
            twins(check, dtype, depth * width, place, CHECK_UNIT, &want, &got);
            scalar(want, in, stride, depth);
            kernel(got, in, stride, depth);
            check_same(check, dtype, want, got, depth * width, "depth=%zu place=%zu", depth, place);
        }
}

/* One element that is not finite, or large, or just below, anywhere or nowhere. */
static void check_find_nonfinite(struct kernel_check *check, enum pe_dtype dtype,
                                 nonfinite_kernel *scalar, nonfinite_kernel *kernel)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0x1p62, -0x1.8p100, 0x1.fffffep61};
    const size_t size = pe_dtype_info(dtype)->size;

    for (size_t count = 0; count <= 70; count++)
        for (size_t at = 0; at <= count; at++) {
            char *in = check_memory(INPUT, dtype, count, at % CHECK_PLACES);
            const size_t which = (at + count) % 6;
            const double value = values[which];
            bool nonfinite[2], large[2];
            check_fill(check, in, dtype, count, CHECK_UNIT);
            if (at < count && dtype == PE_F64)
                memcpy(in + at * size, &value, size);
            else if (at < count)
                memcpy(in + at * size, &(float){(float)value}, size);
            scalar(&nonfinite[0], &large[0], in, count);
            kernel(&nonfinite[1], &large[1], in, count);
            for (size_t i = 0; i < 2; i++) {
                check_same(check, PE_F64, &(double){at < count && which < 3},
                           &(double){nonfinite[i]}, 1, "nonfinite: %zu of %zu", at, count);
                check_same(check, PE_F64, &(double){at < count && which < 5}, &(double){large[i]},
                           1, "large: %zu of %zu", at, count);
            }
        }
}

/* Whole partials only: counts in steps of 16. */
static void check_logits(struct kernel_check *check, enum pe_dtype dtype, logits_kernel *scalar,
                         logits_kernel *kernel)
{
    for (size_t count = 0; count <= 128; count += PE_ATTENTION_PARTIALS)
        for (size_t i = 0; i < 6 * CHECK_PLACES; i++) {
            const size_t place = i / 6;
            const enum check_values kind = i % CHECK_KINDS;
            const double scale = (double)(check_random(check) >> 40) * 0x1p-24;
            void *bias = check_memory(BIAS, dtype, count, place), *want, *got;
            double max[2];
            check_fill(check, bias, dtype, count, kind);
            twins(check, dtype, count, place, kind, &want, &got);
            scalar(want, i % 2 ? bias : NULL, count, scale, &max[0]);
            kernel(got, i % 2 ? bias : NULL, count, scale, &max[1]);
            check_same(check, dtype, want, got, count, "count=%zu place=%zu", count, place);
            check_same(check, PE_F64, &max[0], &max[1], 1, "maximum of %zu", count);
        }
}

static void check_softmax(struct kernel_check *check, enum pe_dtype dtype, softmax_kernel *scalar,
                          softmax_kernel *kernel)
{
    static const double tops[] = {0, 2, -__builtin_inf(), __builtin_inf(), 700};

    for (size_t count = 0; count <= 128; count += PE_ATTENTION_PARTIALS)
        for (size_t i = 0; i < 15 * CHECK_PLACES; i++) {
            const size_t place = i / 15;
            const double max = tops[i % 5];
            const double unit = i / 5 % 2 ? 0x1p32 : 1;
            double sums[2][PE_ATTENTION_PARTIALS] = {{0}, {0}}; /* of either type */
            void *want, *got;
            twins(check, dtype, count, place, i % CHECK_KINDS, &want, &got);
            for (size_t part = 0; part < 2; part++) { /* the second time of weights: sums go on */
                scalar(want, count, part ? 1 : max, unit, sums[0], 0);
                kernel(got, count, part ? 1 : max, unit, sums[1], 0);
            }
            check_same(check, dtype, want, got, count, "count=%zu place=%zu max=%g", count, place,
                       max);
            check_same(check, dtype, sums[0], sums[1], PE_ATTENTION_PARTIALS, "sums of %zu, max=%g",
                       count, max);
        }
}

static void check_softcap(struct kernel_check *check, enum pe_dtype dtype, softcap_kernel *scalar,
                          softcap_kernel *kernel)
{
    for (size_t count = 0; count <= 128; count += PE_ATTENTION_PARTIALS)
        for (size_t i = 0; i < CHECK_KINDS * CHECK_PLACES; i++) {
            const double cap = (double)(check_random(check) >> 32) * 0x1p-24;
            void *want, *got;
            twins(check, dtype, count, i / CHECK_KINDS, i % CHECK_KINDS, &want, &got);
            scalar(want, count, 1.25 / cap, cap);
            kernel(got, count, 1.25 / cap, cap);
            check_same(check, dtype, want, got, count, "count=%zu cap=%g", count, cap);
        }
}

static void check_sum(struct kernel_check *check, enum pe_dtype dtype, sum_kernel *scalar,
                      sum_kernel *kernel)
{
    for (size_t count = 0; count <= 100; count++)
        for (size_t i = 0; i < CHECK_KINDS * CHECK_PLACES; i++) {
            const size_t place = i / CHECK_KINDS;
            void *in = check_memory(INPUT, dtype, count, place);
            void *want = check_memory(WANT, dtype, 1, place);
            void *got = check_memory(GOT, dtype, 1, place);
            check_fill(check, in, dtype, count, i % CHECK_KINDS);
            scalar(want, in, count);
            kernel(got, in, count);
            check_same(check, dtype, want, got, 1, "count=%zu place=%zu", count, place);
        }
}

static void check_divide(struct kernel_check *check, enum pe_dtype dtype, divide_kernel *scalar,
                         divide_kernel *kernel)
{
    for (size_t count = 0; count <= 100; count++)
        for (size_t i = 0; i < CHECK_KINDS * CHECK_PLACES; i++) {
            const size_t place = i / CHECK_KINDS;
            const double divisor = (double)(check_random(check) >> 32) * 0x1p-20;
            void *want, *got;
            twins(check, dtype, count, place, i % CHECK_KINDS, &want, &got);
            scalar(want, count, divisor);
            kernel(got, count, divisor);
            check_same(check, dtype, want, got, count, "count=%zu place=%zu", count, place);
        }
}

#define ATTENTION(name)                                                                            \
    void check_##name##_f32(struct kernel_check *check)                                            \
    {                                                                                              \
        check_##name(check, PE_F32, check->scalar->name##_f32, check->kernels->name##_f32);        \
    }                                                                                              \
    void check_##name##_f64(struct kernel_check *check)                                            \
    {                                                                                              \
        check_##name(check, PE_F64, check->scalar->name##_f64, check->kernels->name##_f64);        \
    }

ATTENTION(gemm)
ATTENTION(transpose)
ATTENTION(find_nonfinite)
ATTENTION(logits)
ATTENTION(softmax)
ATTENTION(softcap)
ATTENTION(sum)
ATTENTION(divide)
