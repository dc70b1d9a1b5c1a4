/* SPDX-License-Identifier: MIT */

/* Logarithm, exponential and the circle against MPFR: errors stay below their declared bounds. */

#include "core/exact/angle.h"
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

/* log2 of the largest measured error relative to the bound; `recorded` is its value when the bound
 * was proved. Halving or doubling a bound changes it by 1. */
static void expect_bound(const char *name, double worst, double bound, double recorded)
{
    const double part = worst - log2(bound);

    printf("%s: errors up to 2^%.1f, 2^%.2f of what is granted\n", name, worst, part);
    ck_assert_msg(part < -1 && fabs(part - recorded) < 0.5,
                  "%s: 2^%.2f of what is granted, was 2^%.2f", name, part, recorded);
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
    expect_bound("logarithm in doubles", worst.near, PE_LOG_ERROR, -3.4);
    expect_bound("logarithm in double-doubles", worst.exact, PE_LOG_ERROR_EXACT, -9.7);
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
    expect_bound("exponential in doubles", worst.near, PE_EXP_ERROR, -6.3);
    expect_bound("exponential in double-doubles", worst.exact, PE_EXP_ERROR_EXACT, -8.5);
}

/* The relative error of a double. */
static double error_of(double got, mpfr_srcptr want)
{
    double worst = -INFINITY;

    error_note(&worst, (struct pe_exact){got, 0}, want);
    return exp2(worst);
}

TEST(powers)
{
    double worst[2] = {0, 0};
    mpfr_t x, want;

    mpfr_inits2(400, x, want, (mpfr_ptr)NULL);
    for (int i = 0; i < ROUNDS / 10; i++) {
        const double base = draw(-1000, 1000).hi, y = 2 * uniform() - 1;
        mpfr_set_d(x, base, MPFR_RNDN);
        mpfr_log(want, x, MPFR_RNDN);
        worst[0] = fmax(worst[0], error_of(pe_log(base), want));
        mpfr_mul_d(want, want, y, MPFR_RNDN);
        const double bound = (2 + fabs(mpfr_get_d(want, MPFR_RNDN))) * PE_LOG_ERROR;
        mpfr_exp(want, want, MPFR_RNDN);
        worst[1] = fmax(worst[1], error_of(pe_power(base, y), want) / bound);
        mpfr_log2(want, x, MPFR_RNDN);
        worst[0] = fmax(worst[0], error_of(pe_log2(base), want));
    }
    mpfr_clears(x, want, (mpfr_ptr)NULL);
    ck_assert(worst[0] < PE_LOG_ERROR / 2);
    ck_assert(worst[1] < 0.5);
    for (int k = -1074; k < 1024; k++)
        ck_assert(pe_log2(ldexp(1, k)) == k);
    ck_assert(pe_power(0, 2) == 0);
}

/* The error in ulps of the real number. */
static double ulps_of(double got, mpfr_srcptr want)
{
    const double size = fabs(mpfr_get_d(want, MPFR_RNDZ));

    return error_of(got, want) * size / (nextafter(size, INFINITY) - size);
}

static double circle_compare(double angle)
{
    const struct pe_circle at = pe_circle_at(angle);
    mpfr_t x, sine, cosine;
    double worst;

    mpfr_inits2(400, x, sine, cosine, (mpfr_ptr)NULL);
    mpfr_set_d(x, angle, MPFR_RNDN);
    mpfr_sin_cos(sine, cosine, x, MPFR_RNDN);
    worst = fmax(ulps_of(at.sin, sine), ulps_of(at.cos, cosine));
    mpfr_clears(x, sine, cosine, (mpfr_ptr)NULL);
    return worst;
}

TEST(circle)
{
    double worst = 0;

    for (int i = 0; i < ROUNDS / 2; i++) {
        worst = fmax(worst, circle_compare(draw(-40, 53).hi));
        worst = fmax(worst, circle_compare(-draw(-3, 7).hi));
    }
    /* Next to quarter turns, whose sine or cosine is almost 0, and between them. */
    for (int k = 1; k < ROUNDS; k += k < 1000 ? 1 : k / 16) {
        worst = fmax(worst, circle_compare(k * M_PI_4));
        worst = fmax(worst, circle_compare(nextafter(k * M_PI_4, 0)));
        worst = fmax(worst, circle_compare(1e5 * k * M_PI_2));
    }
    printf("circle: errors up to %.2f ulp\n", worst);
    ck_assert(worst < PE_CIRCLE_ULPS && worst > PE_CIRCLE_ULPS / 1.5);
    ck_assert(isnan(pe_circle_at(INFINITY).cos) && isnan(pe_circle_at(NAN).sin));
    ck_assert(pe_circle_at(0x1p-1070).sin == 0x1p-1070);
}

TEST(circle_angles)
{
    for (int i = 0; i < ROUNDS; i++) {
        const double angle = i % 5 ? M_PI * (2 * uniform() - 1) : draw(-50, 1).hi;
        const double size = exp2(900 * (2 * uniform() - 1));
        struct pe_circle point = pe_circle_at(angle);
        point = (struct pe_circle){point.cos * size, point.sin * size};
        ck_assert_double_le(fabs(pe_circle_angle(point) - angle), fabs(angle) * 0x1p-50);
    }
    ck_assert(pe_circle_angle((struct pe_circle){-1, 0}) == M_PI);
    ck_assert(pe_circle_angle((struct pe_circle){0, 0}) == 0);
    ck_assert(isnan(pe_circle_angle((struct pe_circle){INFINITY, 1})));
}
