/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

static struct {
    double dim, max_period, shift, scale, first;
    bool flip;
} p;

static void element(mpfr_ptr out, size_t row, size_t column)
{
    const size_t half = (size_t)p.dim / 2;
    mpfr_t exponent;

    if (column == 2 * half) {
        mpfr_set_zero(out, 1);
        return;
    }
    mpfr_init2(exponent, ORACLE_BITS);
    mpfr_set_d(exponent, p.shift, MPFR_RNDN);
    mpfr_ui_sub(exponent, half, exponent, MPFR_RNDN);
    mpfr_ui_div(exponent, column % half, exponent, MPFR_RNDN);
    mpfr_neg(exponent, exponent, MPFR_RNDN);
    mpfr_set_d(out, p.max_period, MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_mul_d(out, out, p.scale, MPFR_RNDN);
    oracle_wave(out, p.first + (double)row, (column < half) != p.flip);
    mpfr_clear(exponent);
}

TEST(equals_mpfr)
{
    static const double cases[][5] = {
        /* dim, max_period, shift, scale, first */
        {32, 10000, 1, 1, 0},      {32, 10000, 0, 1, 990},       {33, 10000, 0.5, 1000, -10},
        {2, 10000, 0, 1, 0},       {3, 100, -1, 0.001, 5},       {6, 1e30, 2.5, 1e-9, 0},
        {10, 1.5, 7, 1, 0x1p40},   {4, 1e30, 1, 1e9, 0x1p50},    {8, 10000, 1, 1e-30, 1},
        {6, 10000, 3.5, 1, 12345}, {5, 10000, 0x1p-1074, 1, 17}, {64, 10000, 1e6, 1, 1},
    };
    size_t checked = 0;

    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        const double *c = cases[i / 2];
        char text[200], view[80];
        p.dim = c[0], p.max_period = c[1], p.shift = c[2], p.scale = c[3], p.first = c[4];
        p.flip = i % 2;
        snprintf(text, sizeof(text),
                 "dim=%.0f max_period=%.17g downscale_freq_shift=%.17g scale=%.17g "
                 "flip_sin_to_cos=%d",
                 p.dim, p.max_period, p.shift, p.scale, p.flip);
        snprintf(view, sizeof(view), "length=40 start=%.17g", p.first);
        checked += expect_rounded("timestep", text, view, element);
    }
    printf("timestep: %zu elements\n", checked);
}

/* The numbers of diffusers' own test: rows 23 .. 25, columns 47 .. 49 of 128 steps, dim 64. */
TEST(diffusers)
{
    static const struct {
        const char *text;
        double want[9];
    } cases[] = {
        {"dim=64", {0.9646, 0.9804, 0.9892, 0.9615, 0.9787, 0.9882, 0.9582, 0.9769, 0.9872}},
        {"dim=64 downscale_freq_shift=0 flip_sin_to_cos=true",
         {0.3019, 0.2280, 0.1716, 0.3146, 0.2377, 0.1790, 0.3272, 0.2474, 0.1864}},
        {"dim=64 scale=1000",
         {-0.9801, -0.9464, -0.9349, -0.3952, 0.8887, -0.9709, 0.5299, -0.2853, -0.9927}},
    };

    for (size_t i = 0; i < 3; i++) {
        struct filled table = filled_new("timestep", cases[i].text, "length=128", PE_F64, false);
        for (size_t k = 0; k < 9; k++)
            ck_assert_double_eq_tol(filled_at(&table, 23 + k / 3, 47 + k % 3), cases[i].want[k],
                                    1e-3 * fabs(cases[i].want[k]) + 1e-5);
        free(table.data);
    }
}

/* With shift 0 it is sinusoidal, concatenated; with shift 1 its endpoint spacing: bit for bit. */
TEST(equals_sinusoidal)
{
    static const char *const pairs[][2] = {
        {"dim=32 downscale_freq_shift=0", "dim=32 layout=concatenated"},
        {"dim=32", "dim=32 layout=concatenated spacing=endpoint"},
        {"dim=33", "dim=33 layout=concatenated spacing=endpoint"},
    };

    for (size_t i = 0; i < 3; i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            OWNED_FILLED a = filled_new("timestep", pairs[i][0], "length=90", dtype, false);
            OWNED_FILLED b = filled_new("sinusoidal", pairs[i][1], "length=90", dtype, false);
            ck_assert_uint_eq(a.columns, b.columns);
            ck_assert_mem_eq(a.data, b.data, 90 * a.columns * pe_dtype_info(dtype)->size);
        }
}

TEST(refusals)
{
    static const char shift[] = "downscale_freq_shift", scale[] = "scale";

    expect_refused("timestep", "", "length=1", PE_MISSING, "dim");
    expect_refused("timestep", "dim=1", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("timestep", "dim=2", "length=1", PE_CONFLICT, shift);
    expect_refused("timestep", "dim=3", "length=1", PE_CONFLICT, shift);
    expect_refused("timestep", "dim=8 downscale_freq_shift=4", "length=1", PE_CONFLICT, shift);
    expect_refused("timestep", "dim=8 downscale_freq_shift=3.9999999", "length=1", PE_OUT_OF_RANGE,
                   shift);
    expect_refused("timestep", "dim=8 downscale_freq_shift=4.0000001", "length=1", PE_OUT_OF_RANGE,
                   shift);
    expect_refused("timestep", "dim=8 downscale_freq_shift=1e7", "length=1", PE_OUT_OF_RANGE,
                   shift);
    expect_refused("timestep", "dim=8 scale=0", "length=1", PE_OUT_OF_RANGE, scale);
    expect_refused("timestep", "dim=8 scale=-1", "length=1", PE_OUT_OF_RANGE, scale);
    expect_refused("timestep", "dim=8 max_period=1", "length=1", PE_OUT_OF_RANGE, "max_period");
    expect_refused("timestep", "dim=8 max_period=nan", "length=1", PE_INVALID, "max_period");
    expect_refused("timestep", "dim=8 max_period=2 base=3", "length=1", PE_CONFLICT, "max_period");
    expect_refused("timestep", "dim=8 flip_sin_to_cos=2", "length=1", PE_INVALID,
                   "flip_sin_to_cos");
}
