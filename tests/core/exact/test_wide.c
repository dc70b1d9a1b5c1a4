/* SPDX-License-Identifier: MIT */

/* Wide numbers compared with MPFR: every function within its bound at every precision level, exact
 * operations, and exact sums. */

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "core/exact/exact_sum.h"
#include "tests/core/table_fixture.h"
#include "tests/core/wide_fixture.h"

static const unsigned precisions[] = {192, 320, 640, 1280, PE_WIDE_BITS};

static bool is_same(struct pe_wide x, double want)
{
    const double got = pe_wide_double(x);

    return got == want || (isnan(got) && isnan(want));
}

TEST_LOOP(COUNT_OF(precisions), functions_keep_their_bounds)
{
    struct wide_random random = {(uint64_t)_i + 1};

    wide_mpfr_prepare();
    for (size_t function = 0; function < wide_functions_count; function++)
        for (int i = 0; i < 400; i++)
            ck_assert(wide_function_check(function, precisions[_i], &random));
}

/* ---- special values -------------------------------------------------------------------------- */

static const struct {
    struct pe_wide (*one)(struct pe_wide x);
    double x, want;
} ones[] = {
    {pe_wide_sqrt, 0, 0},
    {pe_wide_sqrt, -1, NAN},
    {pe_wide_sqrt, INFINITY, INFINITY},
    {pe_wide_exp, 0, 1},
    {pe_wide_exp, -INFINITY, 0},
    {pe_wide_exp, INFINITY, INFINITY},
    {pe_wide_exp, 1e300, INFINITY},
    {pe_wide_exp, -1e300, 0},
    {pe_wide_exp, NAN, NAN},
    {pe_wide_exp2, -1e300, 0},
    {pe_wide_exp2, -1074, 0x1p-1074},
    {pe_wide_exp2, 0, 1},
    {pe_wide_log, 0, -INFINITY},
    {pe_wide_log, -1, NAN},
    {pe_wide_log, INFINITY, INFINITY},
    {pe_wide_log, -INFINITY, NAN},
    {pe_wide_log, 1, 0},
    {pe_wide_log1p, 0, 0},
    {pe_wide_log1p, -1, -INFINITY},
    {pe_wide_log1p, -2, NAN},
    {pe_wide_sin, 0, 0},
    {pe_wide_sin, INFINITY, NAN},
    {pe_wide_sin, 0x1p128, NAN},
    {pe_wide_cos, 0, 1},
    {pe_wide_cos, NAN, NAN},
    {pe_wide_floor, -0.5, -1},
    {pe_wide_floor, 0.5, 0},
    {pe_wide_floor, 7, 7},
    {pe_wide_floor, 1e300, 1e300},
    {pe_wide_ceil, -0.5, 0},
    {pe_wide_ceil, 0.5, 1},
    {pe_wide_ceil, -7, -7},
    {pe_wide_ceil, 6.5, 7},
    {pe_wide_negate, 0, 0},
    {pe_wide_negate, 2, -2},
    {pe_wide_abs, -INFINITY, INFINITY},
};

TEST_LOOP(COUNT_OF(ones), functions_at_the_ends)
{
    ck_assert(is_same(ones[_i].one(pe_wide_of(192, ones[_i].x)), ones[_i].want));
}

static const struct {
    struct pe_wide (*two)(struct pe_wide a, struct pe_wide b);
    double a, b, want;
} twos[] = {
    {pe_wide_add, INFINITY, -INFINITY, NAN},
    {pe_wide_add, INFINITY, 1, INFINITY},
    {pe_wide_add, 0, -2, -2},
    {pe_wide_sub, 3, 3, 0},
    {pe_wide_sub, 1, INFINITY, -INFINITY},
    {pe_wide_mul, 0, INFINITY, NAN},
    {pe_wide_mul, -2, INFINITY, -INFINITY},
    {pe_wide_mul, 0, -3, 0},
    {pe_wide_div, 1, 0, INFINITY},
    {pe_wide_div, -1, 0, -INFINITY},
    {pe_wide_div, 0, 0, NAN},
    {pe_wide_div, INFINITY, INFINITY, NAN},
    {pe_wide_div, 1, INFINITY, 0},
    {pe_wide_div, NAN, 1, NAN},
    {pe_wide_pow, 0, 2, 0},
    {pe_wide_pow, 0, -2, INFINITY},
    {pe_wide_pow, 0, 0, 1},
    {pe_wide_pow, 1, 1e300, 1},
    {pe_wide_pow, 2, 1e300, INFINITY},
    {pe_wide_pow, 2, -1e300, 0},
    {pe_wide_pow, -2, 0.5, NAN},
    {pe_wide_pow, 9, -0.5, 1 / 3.},
};

TEST_LOOP(COUNT_OF(twos), operations_at_the_ends)
{
    const struct pe_wide a = pe_wide_of(192, twos[_i].a), b = pe_wide_of(192, twos[_i].b);

    ck_assert(is_same(twos[_i].two(a, b), twos[_i].want));
}

/* Zero has no sign, whatever its origin. */
TEST(underflow)
{
    ck_assert(is_same(pe_wide_sqrt(pe_wide_scale(pe_wide_of(192, -1), INT64_MIN)), 0));
    ck_assert(is_same(pe_wide_scale(pe_wide_of(192, -1), INT64_MAX), -INFINITY));
}

TEST(orders)
{
    static const double ascending[] = {-INFINITY, -2, -0x1p-1074, 0, 0x1p-1000, 1, 1e300, INFINITY};

    for (size_t i = 0; i < COUNT_OF(ascending); i++)
        for (size_t k = 0; k < COUNT_OF(ascending); k++)
            ck_assert_int_eq(pe_wide_compare_double(pe_wide_of(320, ascending[i]), ascending[k]),
                             (i > k) - (i < k));
    ck_assert_int_eq(pe_wide_compare_double(pe_wide_of(320, NAN), 1), 0);
    ck_assert_int_eq(pe_wide_compare_double(pe_wide_add_double(pe_wide_of(320, 1), 0x1p-300), 1),
                     1);
}

/* ---- marks ---------------------------------------------------------------------------------- */

TEST(exact_results_are_not_marked)
{
    const struct pe_wide third = pe_wide_div_uint(pe_wide_of(192, 1), 3);
    const struct pe_wide long_sum = pe_wide_add_double(pe_wide_of(192, 1), 0x1p-191);

    ck_assert(third.inexact);
    ck_assert(pe_wide_sub(third, third).inexact); /* the result 0 is not known to be exact */
    ck_assert(!long_sum.inexact);
    ck_assert(pe_wide_mul(long_sum, long_sum).inexact);
    ck_assert(!pe_wide_sqrt(pe_wide_of(192, 0x1p-40)).inexact);
    ck_assert(!pe_wide_pow(pe_wide_of(192, 81), pe_wide_of(64, 1.25)).inexact);
    ck_assert(pe_wide_pow(pe_wide_of(192, 81), pe_wide_of(64, 1.375)).inexact);
    ck_assert(!pe_wide_exp2(pe_wide_of(192, -300)).inexact);
    ck_assert(pe_wide_cut(long_sum, 128).inexact);
    ck_assert_uint_eq(pe_wide_length(long_sum), 192);
    ck_assert_uint_eq(pe_wide_length(pe_wide_of(640, 10)), 3);
}

/* ---- doubles and dtypes ---------------------------------------------------------------------- */

/* Numbers of all sizes of doubles and beyond, close to half-way points. */
static struct pe_wide draw(struct wide_random *random)
{
    const bool edge = wide_random_bits(random) % 2;
    struct pe_wide x = wide_random_number(random, 192, edge ? -1080 : -160, edge ? 1030 : 140);

    if (wide_random_bits(random) % 2) {
        const unsigned bits = 1 + (unsigned)(wide_random_bits(random) % 54);
        x = pe_wide_cut(x, 64);
        x.limb[0] = (x.limb[0] >> (64 - bits) | 1) << (64 - bits) | (uint64_t)1 << 63;
        x = pe_wide_cut(x, 192);
        x.inexact = false;
        if (wide_random_bits(random) % 2)
            x.limb[0] |= 1;
    }
    return x;
}

TEST(doubles)
{
    struct wide_random random = {7};

    for (int i = 0; i < 20000; i++) {
        const struct pe_wide x = draw(&random);
        const unsigned bits = 1 + (unsigned)(wide_random_bits(&random) % 53);
        mpfr_t value, part;
        wide_to_mpfr(value, x);
        ck_assert(pe_wide_double(x) == mpfr_get_d(value, MPFR_RNDN));
        ck_assert(pe_wide_double_inward(x) == mpfr_get_d(value, MPFR_RNDZ));
        ck_assert(pe_wide_double_outward(x) == mpfr_get_d(value, MPFR_RNDA));
        mpfr_init2(part, bits);
        mpfr_set(part, value, MPFR_RNDN);
        ck_assert(x.exponent < -900 ||
                  pe_wide_double_of_bits(x, bits) == mpfr_get_d(part, MPFR_RNDN));
        mpfr_clears(value, part, (mpfr_ptr)NULL);
    }
}

TEST(every_dtype)
{
    static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};
    struct wide_random random = {8};

    for (int i = 0; i < 20000; i++) {
        const struct pe_wide x = draw(&random);
        const enum pe_dtype dtype = dtypes[i % COUNT_OF(dtypes)];
        unsigned char bytes[sizeof(double)];
        double got;
        mpfr_t value;
        wide_to_mpfr(value, x);
        pe_wide_write(x, dtype, bytes);
        pe_to_f64(&got, bytes, dtype, 1);
        ck_assert(got == oracle_round(value, dtype));
        mpfr_clear(value);
    }
}

/* Intervals around a tie. */
TEST(intervals)
{
    const struct pe_wide tie = pe_wide_of(192, 1 + 0x1p-24), small = pe_wide_of(192, 0x1p-170);
    const struct pe_wide none = pe_wide_of(192, 0);
    float out;

    ck_assert(pe_wide_round(tie, none, PE_F32, &out) && out == 1);
    ck_assert(pe_wide_round(pe_wide_exp(pe_wide_of(192, 1e300)),
                            pe_wide_exp(pe_wide_of(192, 1e300)), PE_F32, &out) &&
              isinf(out));
    ck_assert(!pe_wide_round(tie, small, PE_F32, &out));
    ck_assert(pe_wide_round(pe_wide_add(tie, small), none, PE_F32, &out) && out == 1 + 0x1p-23f);
    ck_assert(pe_wide_round(pe_wide_add(tie, pe_wide_scale(small, 1)), small, PE_F32, &out));
    ck_assert(!pe_wide_round(pe_wide_add(tie, small), pe_wide_scale(small, 1), PE_F32, &out));
    ck_assert(pe_wide_round(pe_wide_sub(tie, pe_wide_scale(small, 1)), small, PE_F32, &out) &&
              out == 1);
}

/* ---- exact sums, and MPFR in enough bits to be exact too ------------------------------------ */

enum { EXACT_BITS = 5000, TERMS = 40 };

/* Any double, subnormals and 0 among them. */
static double draw_term(struct wide_random *random)
{
    return wide_random_bits(random) % 16 == 0 ? 0 : wide_random_double(random, -1074, 1023);
}

static bool is_exactly(struct pe_wide x, mpfr_srcptr want)
{
    const struct pe_wide cut = wide_from_mpfr(want, pe_wide_precision(&x));

    return x.inexact == cut.inexact && pe_wide_compare(x, cut) == 0;
}

TEST(sums_are_exact)
{
    struct wide_random random = {1};

    for (int i = 0; i < 200; i++) {
        struct pe_sum sum = {{0}};
        mpfr_t want, term;
        mpfr_inits2(EXACT_BITS, want, term, (mpfr_ptr)NULL);
        mpfr_set_zero(want, 1);
        for (int k = 0; k < TERMS; k++) {
            const double a = draw_term(&random), b = draw_term(&random);
            pe_sum_add(&sum, a, b);
            mpfr_set_d(term, a, MPFR_RNDN);
            mpfr_mul_d(term, term, b, MPFR_RNDN);
            mpfr_add(want, want, term, MPFR_RNDN);
            if (k % 3 == 0) { /* only a part of it remains */
                pe_sum_add(&sum, -a, b);
                mpfr_sub(want, want, term, MPFR_RNDN);
            }
            ck_assert(is_exactly(pe_sum_wide(&sum, 192), want));
        }
        ck_assert(is_exactly(pe_sum_wide(&sum, 1280), want));
        mpfr_clears(want, term, (mpfr_ptr)NULL);
    }
}

TEST(the_largest_and_the_smallest_fit)
{
    struct pe_sum sum = {{0}};
    mpfr_t want, most;

    mpfr_inits2(EXACT_BITS, want, most, (mpfr_ptr)NULL);
    for (int i = 0; i < 1000; i++)
        pe_sum_add(&sum, -0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023);
    pe_sum_add(&sum, 0x1p-1074, 0x1p-1074);
    mpfr_set_d(most, 0x1.fffffffffffffp1023, MPFR_RNDN);
    mpfr_sqr(most, most, MPFR_RNDN);
    mpfr_mul_si(most, most, -1000, MPFR_RNDN);
    mpfr_set_ui_2exp(want, 1, -2148, MPFR_RNDN);
    mpfr_add(want, want, most, MPFR_RNDN);
    ck_assert(is_exactly(pe_sum_wide(&sum, 192), want));
    mpfr_clears(want, most, (mpfr_ptr)NULL);
}

/* Factors of 256 bits, against the product itself and its neighbours. */
TEST(products_are_compared_exactly)
{
    struct wide_random random = {2};

    for (int i = 0; i < 2000; i++) {
        const struct pe_wide factor = pe_wide_abs(wide_random_number(&random, 256, -3000, 3000));
        const int least = i % 2 ? -1000 : -60, most = i % 2 ? 1000 : 60;
        struct pe_sum sum = {{0}};
        mpfr_t real, x;
        for (int k = 0; k < 4; k++) {
            const double a = wide_random_double(&random, least, most);
            pe_sum_add(&sum, a, a);
        }
        const struct pe_wide about = pe_wide_mul(factor, pe_sum_wide(&sum, 1280));
        struct pe_wide after = about;
        after.limb[2]++;
        mpfr_init2(real, EXACT_BITS);
        wide_to_mpfr(x, factor);
        mpfr_set_zero(real, 1);
        for (unsigned k = 0; k < PE_SUM_LIMBS; k++) {
            mpfr_t limb;
            mpfr_init2(limb, 64);
            mpfr_set_uj_2exp(limb, sum.limb[k], PE_SUM_LEAST + 64L * k, MPFR_RNDN);
            mpfr_add(real, real, limb, MPFR_RNDN);
            mpfr_clear(limb);
        }
        mpfr_mul(real, real, x, MPFR_RNDN);
        mpfr_clear(x);
        wide_to_mpfr(x, about);
        ck_assert_int_eq(pe_sum_compare(&sum, factor, about), mpfr_cmp(real, x) > 0);
        ck_assert_int_eq(pe_sum_compare(&sum, factor, after), -1);
        ck_assert_int_eq(pe_sum_compare(&sum, factor, pe_wide_scale(about, -1)), 1);
        mpfr_clears(real, x, (mpfr_ptr)NULL);
    }
}
