/* SPDX-License-Identifier: MIT */

/* Logarithm and exponential against MPFR: no error above the bounds that they name. */

#include "core/exact/elementary.h"
#include "tests/check_main.h"

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 50000 };

static uint64_t state = 42;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

struct worst {
    double near, exact;
};

/* log2 of |hi + lo - want| / |want| into *worst. */
static void error_note(double *worst, struct pe_exact got, mpfr_srcptr want)
{
    mpfr_t error;

    mpfr_init2(error, 400);
    mpfr_sub_d(error, want, got.hi, MPFR_RNDN);
    mpfr_sub_d(error, error, got.lo, MPFR_RNDN);
    mpfr_div(error, error, want, MPFR_RNDN);
    mpfr_abs(error, error, MPFR_RNDN);
    if (!mpfr_zero_p(error)) {
        mpfr_log2(error, error, MPFR_RNDN);
        *worst = fmax(*worst, mpfr_get_d(error, MPFR_RNDU));
    }
    mpfr_clear(error);
}

static void compare(struct worst *worst, struct pe_exact x, bool is_log)
{
    mpfr_t want, part;

    mpfr_inits2(400, want, part, (mpfr_ptr)NULL);
    mpfr_set_d(part, x.hi, MPFR_RNDN);
    (is_log ? mpfr_log1p : mpfr_exp)(want, part, MPFR_RNDN);
    error_note(&worst->near, (struct pe_exact){is_log ? pe_log1p(x.hi) : pe_exp(x.hi), 0}, want);
    mpfr_add_d(part, part, x.lo, MPFR_RNDN);
    (is_log ? mpfr_log1p : mpfr_exp)(want, part, MPFR_RNDN);
    error_note(&worst->exact, is_log ? pe_exact_log1p(x) : pe_exact_exp(x), want);
    mpfr_clears(want, part, (mpfr_ptr)NULL);
}

static struct pe_exact draw(double least, double most)
{
    const double hi = exp2(least + (most - least) * uniform());

    return pe_quick_sum(hi, hi * 0x1p-53 * (uniform() - 0.5));
}

TEST(logarithms)
{
    struct worst worst = {-INFINITY, -INFINITY};

    for (int i = 0; i < ROUNDS; i++)
        compare(&worst, i % 2 ? draw(-4, 30) : draw(-400, 400), true);
    /* About the ends of the reduction, where 1 + x is 2^k sqrt(2), and whole numbers. */
    for (int k = 0; k < 60; k++)
        for (int i = -50; i <= 50; i++)
            compare(&worst, (struct pe_exact){ldexp(M_SQRT2, k) - 1 + i * ldexp(0x1p-50, k), 0},
                    true);
    for (int n = 1; n < 20000; n++)
        compare(&worst, (struct pe_exact){n, 0}, true);
    printf("logarithm: errors up to 2^%.1f and 2^%.1f of it\n", worst.near, worst.exact);
    ck_assert(exp2(worst.near) < PE_LOG_ERROR / 2);
    ck_assert(exp2(worst.exact) < PE_LOG_ERROR_EXACT / 2);
}

TEST(exponentials)
{
    struct worst worst = {-INFINITY, -INFINITY};

    for (int i = 0; i < ROUNDS; i++) {
        struct pe_exact x = i % 2 ? draw(-3, 6.64) : draw(-60, 6.64);
        compare(&worst, i % 3 ? x : pe_exact_negate(x), false);
    }
    /* About the ends of the reduction, halfway between multiples of ln 2. */
    for (int k = -100; k <= 100; k++)
        for (int i = -50; i <= 50; i++)
            compare(&worst, (struct pe_exact){(k + 0.5) * M_LN2 + i * 0x1p-48, 0}, false);
    printf("exponential: errors up to 2^%.1f and 2^%.1f of it\n", worst.near, worst.exact);
    ck_assert(exp2(worst.near) < PE_EXP_ERROR / 2);
    ck_assert(exp2(worst.exact) < PE_EXP_ERROR_EXACT / 2);
}
