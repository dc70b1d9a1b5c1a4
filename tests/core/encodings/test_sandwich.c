/* SPDX-License-Identifier: MIT */

/* scale sum_k cos((j - i) base^(-2k/dim)), rounded once, against MPFR at 700 bits. */

#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/table_fixture.h"

static const struct kernel {
    const char *text;
    size_t dim;
    double base, scale;
} kernels[] = {
    {"dim=2", 2, 10000, 1},
    {"dim=128 scales=0.7", 128, 10000, 0.7},
    {"dim=64 base=500000 scales=-1e30", 64, 500000, -1e30},
    {"dim=6 base=1.5 scales=1e-300", 6, 1.5, 1e-300},
    {"dim=10 base=1e30 scales=3", 10, 1e30, 3},
    {"dim=4 base=2 scales=0", 4, 2, 0},
};

enum { KERNELS = COUNT_OF(kernels) };

static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};

static void want_write(const void *kernel, double distance, enum pe_dtype dtype, void *out)
{
    const struct kernel *k = kernel;
    mpfr_t value, term, base;

    mpfr_inits2(700, value, term, base, (mpfr_ptr)NULL);
    mpfr_set_d(base, k->base, MPFR_RNDN);
    mpfr_set_zero(value, 1);
    for (size_t i = 1; i <= k->dim / 2; i++) {
        mpfr_set_si(term, -2 * (long)i, MPFR_RNDN);
        mpfr_div_ui(term, term, k->dim, MPFR_RNDN);
        mpfr_pow(term, base, term, MPFR_RNDN);
        mpfr_mul_d(term, term, distance, MPFR_RNDN);
        mpfr_cos(term, term, MPFR_RNDN);
        mpfr_add(value, value, term, MPFR_RNDN);
    }
    mpfr_mul_d(value, value, k->scale, MPFR_RNDN);
    if (k->scale == 0) /* with either sign of the sum */
        mpfr_set_zero(value, 1);
    oracle_write(value, dtype, out);
    mpfr_clears(value, term, base, (mpfr_ptr)NULL);
}

TEST(equals_the_rounded_formula)
{
    size_t compared = 0;

    for (size_t i = 0; i < KERNELS; i++)
        compared += bias_compare("sandwich", kernels[i].text, 300, want_write, &kernels[i]);
    ck_assert_uint_gt(compared, 9000);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
}

/* dim=2 has one cosine. At the denominator b of a convergent a / b of its frequency in quarter
 * turns, with an odd a, it almost vanishes; next to b it is almost 1. */
TEST(where_the_cosine_vanishes)
{
    static const double bases[] = {10000, 500000, 1.5, 2, 7.25};
    size_t compared = 0, small = 0;
    mpfr_t x, whole;

    mpfr_inits2(700, x, whole, (mpfr_ptr)NULL);
    for (size_t b = 0; b < COUNT_OF(bases); b++) {
        const struct kernel k = {"", 2, bases[b], 1};
        uint64_t before = 0, distance = 1, next;
        char scheme[60], view[100];
        mpfr_const_pi(x, MPFR_RNDN);
        mpfr_mul_d(x, x, bases[b] / 2, MPFR_RNDN);
        mpfr_ui_div(x, 1, x, MPFR_RNDN);
        snprintf(scheme, sizeof(scheme), "heads=1 dim=2 base=%g", bases[b]);
        for (;;) {
            mpfr_ui_div(x, 1, x, MPFR_RNDN);
            mpfr_floor(whole, x);
            mpfr_sub(x, x, whole, MPFR_RNDN);
            if (__builtin_mul_overflow(mpfr_get_ui(whole, MPFR_RNDN), distance, &next) ||
                __builtin_add_overflow(next, before, &next) || next > (UINT64_C(1) << 53) - 2)
                break;
            before = distance;
            distance = next;
            snprintf(view, sizeof(view), "query_length=1 key_length=2 query_start=-%llu",
                     (unsigned long long)distance);
            for (size_t d = 0; d < 4; d++) {
                unsigned char want[8];
                const size_t size = pe_dtype_info(dtypes[d])->size;
                OWNED_VIEWED got = viewed_new("sandwich", scheme, "bias", view, NULL, dtypes[d]);
                for (size_t i = 0; i < 2; i++, compared++) {
                    want_write(&k, (double)(distance + i), dtypes[d], want);
                    ck_assert_msg(memcmp(want, (char *)got.data + i * size, size) == 0,
                                  "%s at %llu + %zu", scheme, (unsigned long long)distance, i);
                }
                small += d == 0 && fabs(*(double *)got.data) < 0x1p-20;
            }
        }
    }
    mpfr_clears(x, whole, (mpfr_ptr)NULL);
    printf("sandwich: %zu hard elements, %zu below 2^-20, as by MPFR\n", compared, small);
    ck_assert_uint_gt(small, 20);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
}

/* The product of the sinusoids of two positions. With these widths the frequencies are equal, but
 * for the first, which is 1 there and absent here. */
TEST(is_the_product_of_sinusoidal_rows)
{
    OWNED_VIEWED bias = viewed_new("sandwich", "heads=1 dim=14 base=128", "bias",
                                   "query_length=50 key_length=50", NULL, PE_F64);
    OWNED_VIEWED table =
        viewed_new("sinusoidal", "dim=16 base=256", "table", "length=50", NULL, PE_F64);
    const double *rows = table.data;

    for (size_t i = 0; i < 50; i++)
        for (size_t j = 0; j < 50; j++) {
            double product = 0;
            for (size_t c = 2; c < 16; c++)
                product += rows[i * 16 + c] * rows[j * 16 + c];
            ck_assert_double_eq_tol(((double *)bias.data)[i * 50 + j], product, 1e-14);
        }
}

TEST(refused)
{
    static const struct refused cases[] = {
        {"dim=8", PE_MISSING, "heads"},
        {"heads=2", PE_MISSING, "dim"},
        {"heads=2 dim=1", PE_OUT_OF_RANGE, "dim"},
        {"heads=2 dim=7", PE_OUT_OF_RANGE, "dim"},
        {"heads=2 dim=1048578", PE_OUT_OF_RANGE, "dim"},
        {"heads=2 dim=8 base=1", PE_OUT_OF_RANGE, "base"},
        {"heads=2 dim=8 base=1e31", PE_OUT_OF_RANGE, "base"},
        {"heads=2 dim=8 scales=1e31", PE_OUT_OF_RANGE, "scales"},
        {"heads=2 dim=8 scales=1,2,3", PE_SHAPE_MISMATCH, "scales"},
        {"heads=2 dim=8 scales=1,-2", PE_OK, ""},
    };

    refusals_check("sandwich", cases, COUNT_OF(cases));
}
