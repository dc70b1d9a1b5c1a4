/* SPDX-License-Identifier: MIT */

/* Exact sums of products beside MPFR's numbers of so many bits that they are exact too. */

#include "core/exact/exact_sum.h"
#include "tests/check_main.h"
#include "tests/core/wide_fixture.h"

enum { EXACT_BITS = 5000, TERMS = 40 };

/* Any double, subnormals and 0 among them. */
static double draw(struct wide_random *random)
{
    return wide_random_bits(random) % 16 == 0 ? 0 : wide_random_double(random, -1074, 1023);
}

static bool is_same(struct pe_wide x, mpfr_srcptr want)
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
            const double a = draw(&random), b = draw(&random);
            pe_sum_add(&sum, a, b);
            mpfr_set_d(term, a, MPFR_RNDN);
            mpfr_mul_d(term, term, b, MPFR_RNDN);
            mpfr_add(want, want, term, MPFR_RNDN);
            if (k % 3 == 0) { /* nothing but a part of it is left */
                pe_sum_add(&sum, -a, b);
                mpfr_sub(want, want, term, MPFR_RNDN);
            }
            ck_assert(is_same(pe_sum_wide(&sum, 192), want));
        }
        ck_assert(is_same(pe_sum_wide(&sum, 1280), want));
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
    ck_assert(is_same(pe_sum_wide(&sum, 192), want));
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
