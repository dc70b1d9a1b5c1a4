/* SPDX-License-Identifier: MIT */

/* The error bounds that correct rounding relies on, compared with errors measured by MPFR: an error
 * stays below its bound by SURPLUS, and where it was when the bound was proved. See
 * test_table_bounds.c for tables, test_elementary.c for logarithm and exponential. */

#include "core/exact/angle.h"
#include "core/scheme/scheme.h"
#include "core/tables/frequencies.h"
#include "tests/check_main.h"
#include "tests/core/hard_fixture.h"
#include "tests/core/scheme_fixture.h"
#include "tests/core/wide_fixture.h"

#define SURPLUS 1.8

/* How much the largest part of a bound may change; halving or doubling a bound changes it by 2. */
#define SLACK 1.4

enum { BITS = 1400 };

static uint64_t state = 88;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static double draw(int least, int most)
{
    return ldexp(0.5 + uniform() / 2, least + (int)(uniform() * (most - least)));
}

static struct pe_exact draw_exact(int least, int most)
{
    const double hi = draw(least, most) * (uniform() < 0.5 ? -1 : 1);

    return pe_quick_sum(hi, hi * 0x1p-53 * (2 * uniform() - 1));
}

/* |got - want| / bound; infinite for an error where the bound is 0. */
static double part_of(struct pe_exact got, mpfr_srcptr want, double bound)
{
    double part;
    mpfr_t error;

    mpfr_init2(error, BITS);
    mpfr_sub_d(error, want, got.hi, MPFR_RNDN);
    mpfr_sub_d(error, error, got.lo, MPFR_RNDN);
    mpfr_abs(error, error, MPFR_RNDN);
    if (mpfr_zero_p(error))
        mpfr_set_zero(error, 1);
    else
        mpfr_div_d(error, error, bound, MPFR_RNDU);
    part = mpfr_get_d(error, MPFR_RNDU);
    mpfr_clear(error);
    return part;
}

/* `recorded` is the largest measured part of the bound when it was proved. */
static void expect_bound(const char *name, double worst, double recorded)
{
    printf("%s: at most %.3g of what is granted\n", name, worst);
    ck_assert_msg(worst < 1 / SURPLUS, "%s: %g of what is granted", name, worst);
    ck_assert_msg(worst < recorded * SLACK && worst > recorded / SLACK,
                  "%s: %.4g of what is granted, was %.4g", name, worst, recorded);
}

/* ---- double-doubles: 2^-102 an operation (double_double.h) ---------------------------- */

static void exact_set(mpfr_ptr out, struct pe_exact value)
{
    mpfr_set_d(out, value.hi, MPFR_RNDN);
    mpfr_add_d(out, out, value.lo, MPFR_RNDN);
}

TEST(double_doubles)
{
    double worst[3] = {0, 0, 0};
    mpfr_t x, y, want;

    mpfr_inits2(BITS, x, y, want, (mpfr_ptr)NULL);
    for (int i = 0; i < 60000; i++) {
        const struct pe_exact a = draw_exact(-20, 20);
        struct pe_exact b = draw_exact(-20, 20);
        if (i % 4 == 0) /* sums that cancel */
            b = pe_quick_sum(-a.hi * (1 + ldexp(uniform(), -(i % 40))), a.lo * uniform());
        const double n = 1 + floor(uniform() * 1000);
        const struct pe_exact got[] = {pe_exact_add(a, b), pe_exact_multiply(a, b),
                                       pe_exact_divide(a, n)};
        exact_set(x, a);
        exact_set(y, b);
        for (int k = 0; k < 3; k++) {
            (k == 0 ? mpfr_add : mpfr_mul)(want, x, y, MPFR_RNDN);
            if (k == 2)
                mpfr_div_d(want, x, n, MPFR_RNDN);
            const double bound = 0x1p-102 * fabs(mpfr_get_d(want, MPFR_RNDZ));
            worst[k] = fmax(worst[k], part_of(got[k], want, bound));
        }
    }
    mpfr_clears(x, y, want, (mpfr_ptr)NULL);
    expect_bound("sum of double-doubles", worst[0], 0.119);
    expect_bound("product", worst[1], 0.193);
    expect_bound("quotient by a whole number", worst[2], 0.155);
}

/* ---- angles ---------------------------------------------------------------------------------- */

struct angle_worst {
    double near, far, far_zero, rough, fine; /* far_zero: sums that cancel to below 2^-40 */
};

/* The larger part of the bounds of cos and sin. */
static double waves_part(const struct pe_cos_sin *got, mpfr_srcptr cos, mpfr_srcptr sin)
{
    return fmax(part_of(got->cos, cos, got->cos_error), part_of(got->sin, sin, got->sin_error));
}

static void angle_measure(struct angle_worst *worst, mpfr_srcptr w,
                          const struct pe_position *position)
{
    mpfr_t want, cos, sin, part;
    struct pe_angle angle;
    struct pe_frequency frequency;

    mpfr_inits2(BITS, want, cos, sin, part, (mpfr_ptr)NULL);
    pe_frequency_set(&frequency, wide_from_mpfr(w, PE_FREQUENCY_BITS));
    mpfr_set_zero(want, 1);
    for (int i = 0; i < 3; i++) {
        mpfr_mul_d(part, w, position->part[i], MPFR_RNDN);
        mpfr_add(want, want, part, MPFR_RNDN);
    }
    mpfr_sin_cos(sin, cos, want, MPFR_RNDN);
    if (pe_angle_reduce(&angle, &frequency, position) && angle.error > 0) {
        const bool far = fabs(frequency.w.hi * position->part[0]) >= 0.5;
        const struct pe_cos_sin rough = pe_angle_cos_sin(&angle);
        const struct pe_cos_sin fine = pe_angle_cos_sin_exact(&angle);
        mpfr_const_pi(part, MPFR_RNDN);
        mpfr_div_2ui(part, part, 1, MPFR_RNDN);
        mpfr_mul_ui(part, part, angle.quarters, MPFR_RNDN);
        mpfr_sub(want, want, part, MPFR_RNDN);
        mpfr_const_pi(part, MPFR_RNDN);
        mpfr_mul_2ui(part, part, 1, MPFR_RNDN);
        mpfr_remainder(want, want, part, MPFR_RNDN);
        double *of = !far                            ? &worst->near
                     : fabs(angle.rest.hi) < 0x1p-40 ? &worst->far_zero
                                                     : &worst->far;
        *of = fmax(*of, part_of(angle.rest, want, angle.error));
        worst->rough = fmax(worst->rough, waves_part(&rough, cos, sin));
        worst->fine = fmax(worst->fine, waves_part(&fine, cos, sin));
    }
    mpfr_clears(want, cos, sin, part, (mpfr_ptr)NULL);
}

/* Integer and fractional positions and positions of three doubles; frequencies from 2^-60 to 2^6;
 * and products near multiples of an eighth of a turn, where the quarter changes. */
TEST(angles)
{
    struct angle_worst worst = {0};
    mpfr_t w, rest;

    mpfr_inits2(PE_FREQUENCY_BITS, w, rest, (mpfr_ptr)NULL);
    for (int i = 0; i < 12000; i++) {
        struct pe_position position = {{floor(draw(0, 54)), 0, 0}};
        mpfr_set_d(w, draw(i % 3 ? -60 : -8, i % 3 ? -1 : 6), MPFR_RNDN);
        mpfr_set_d(rest, uniform(), MPFR_RNDN);
        mpfr_mul_2si(rest, rest, mpfr_get_exp(w) - 53, MPFR_RNDN);
        mpfr_add(w, w, rest, MPFR_RNDN);
        if (i % 4 == 1)
            position.part[0] = draw(-30, 52);
        if (i % 4 == 2)
            position = pe_position_at(draw(-5, 52), draw(-20, 20), floor(draw(0, 30)));
        if (i % 4 == 3) {
            const double eighths = floor(draw(0, 40));
            mpfr_const_pi(rest, MPFR_RNDN);
            mpfr_mul_d(rest, rest, eighths / 4, MPFR_RNDN);
            mpfr_div_d(w, rest, position.part[0], MPFR_RNDN);
            position.part[1] = position.part[0] * 0x1p-60 * (uniform() - 0.5);
            position.part[2] = position.part[1] * 0x1p-54 * (uniform() - 0.5);
        }
        if (i % 2)
            for (int k = 0; k < 3; k++)
                position.part[k] = -position.part[k];
        angle_measure(&worst, w, &position);
    }
    mpfr_clears(w, rest, (mpfr_ptr)NULL);
    expect_bound("product of a small angle", worst.near, 0.0388);
    expect_bound("reduction", worst.far, 0.289);
    expect_bound("reduction next to a quarter of a turn", worst.far_zero, 0.325);
    expect_bound("cos and sin in doubles", worst.rough, 0.0668);
    expect_bound("cos and sin in double-doubles", worst.fine, 0.324);
}

/* ---- real numbers: 2^(16 - bits) (correct_rounding.h)
 * -------------------------------------------- */

static double real_part(pe_real *real, const void *context, size_t index, unsigned bits)
{
    mpfr_t near, exact;
    double part = 0;

    wide_to_mpfr(near, real(bits, context, index));
    wide_to_mpfr(exact, real(PE_WIDE_BITS, context, index));
    if (!mpfr_zero_p(exact)) {
        mpfr_sub(exact, exact, near, MPFR_RNDN);
        mpfr_div(exact, exact, near, MPFR_RNDN);
        mpfr_mul_2si(exact, exact, (long)bits - 16, MPFR_RNDN);
        part = fabs(mpfr_get_d(exact, MPFR_RNDA));
    } else if (!mpfr_zero_p(near)) {
        part = INFINITY;
    }
    mpfr_clears(near, exact, (mpfr_ptr)NULL);
    return part;
}

TEST(reals)
{
    double frequency = 0, factor = 0;

    for (size_t set = 0; set < frequency_sets_count; set++) {
        OWNED_SCHEME scheme = scheme_new(frequency_sets[set].encoding, frequency_sets[set].text);
        const struct pe_frequencies *f = pe_waves_of(scheme)->frequencies;
        for (unsigned bits = PE_PRECISION_FIRST; bits <= PE_PRECISION_LAST;
             bits = pe_precision_next(bits)) {
            for (size_t pair = 0; pair < pe_frequencies_count(f); pair++)
                frequency = fmax(frequency, real_part(pe_frequencies_real, f, pair, bits));
            factor = fmax(factor, real_part(pe_frequencies_factor_real, f, 0, bits));
        }
    }
    expect_bound("frequencies", frequency, 0.000735);
    expect_bound("attention factors", factor, 2.59e-5);
}

/* ---- the fastest frequency ------------------------------------------------------------------- */

/* The bound that `check` sets before frequencies are computed; 0 stands for 1. */
static void fastest_check(const char *encoding, const char *text, bool is_near)
{
    OWNED_SCHEME scheme = scheme_new(encoding, text);
    const double fastest = pe_frequencies_fastest(pe_waves_of(scheme)->frequencies);
    const double given = pe_waves_bound(scheme), bound = given > 0 ? given : 1;

    ck_assert_msg(fastest <= bound * (1 + 0x1p-40), "%s %s: %.17g is above %.17g", encoding, text,
                  fastest, bound);
    ck_assert_msg(!is_near || bound <= fastest * (1 + 0x1p-40), "%s %s: %.17g is far below %.17g",
                  encoding, text, fastest, bound);
}

TEST(fastest_frequencies)
{
    for (size_t set = 0; set < frequency_sets_count; set++)
        fastest_check(frequency_sets[set].encoding, frequency_sets[set].text, false);
    for (int i = 0; i < 400; i++) {
        const double scale = draw(-20, 20), half = 2 + floor(uniform() * 8);
        const double shift = half + (i % 2 ? 1 : -1) * (2 + 3 * uniform());
        char text[200];
        snprintf(text, sizeof(text),
                 "dim=%.0f scale=%.17g max_period=30 downscale_freq_shift=%.17g", 2 * half, scale,
                 shift);
        fastest_check("timestep", text, true);
    }
    fastest_check("rope", "dim=8 rope_type=linear factor=0.3", true);
    fastest_check("rope", "dim=8 rope_type=linear factor=3", false);
    fastest_check("rope", "dim=4 rope_type=custom inv_freq=0.25,7.5", true);
    fastest_check("rope", "dim=4 rope_type=custom freq_factors=0.2,3", true);
    fastest_check("rope",
                  "dim=4 rope_type=longrope original_max_position_embeddings=64 "
                  "max_position_embeddings=64 short_factor=0.4,2 long_factor=1,2",
                  true);
}

/* ---- angles beyond the last precision level -------------------------------------------------- */

/* A cosine so near to 1 that 1280 bits do not separate them: its product with a factor half-way
 * between two floats lies below the tie. And a sine next to t w = 9 t / 160, a tie of irrational
 * powers: it lies nearer to 0. */
TEST(beside_a_tie)
{
    OWNED_VIEWED cos =
        viewed_new("rope",
                   "dim=2 rope_type=yarn factor=4 attention_factor=1.0000001788139343"
                   " original_max_position_embeddings=64",
                   "table", "positions=1e-300", NULL, PE_F32);
    OWNED_VIEWED blocks =
        viewed_new("rope", "dim=8 rope_type=yarn factor=8 original_max_position_embeddings=64",
                   "shift", "position=0 delta=-4.1864541591181186e-203", NULL, PE_F64);

    ck_assert(*(const float *)cos.data == 0x1.000002p0f);
    ck_assert(((const double *)blocks.data)[5] == 0x1.7a055e8ce5fa6p-677);
}

/* ---- alibi's product ------------------------------------------------------------------------- */

/* The element of one distance, and its expected value. */
static void alibi_compare(double most, double distance, size_t *compared)
{
    char text[100], place[100];
    mpfr_t want;

    snprintf(text, sizeof(text), "heads=1 alibi_bias_max=%.17g", most);
    snprintf(place, sizeof(place), "query_length=1 key_length=1 query_start=%.17g", distance);
    struct viewed got = viewed_new("alibi", text, "bias", place, NULL, PE_F64);
    const double value = *(const double *)got.data;
    mpfr_init2(want, ORACLE_BITS);
    mpfr_set_d(want, -most, MPFR_RNDN);
    mpfr_exp2(want, want, MPFR_RNDN);
    mpfr_mul_d(want, want, -distance, MPFR_RNDN);
    ck_assert_msg(value == oracle_round(want, PE_F64), "%s %s: %a", text, place, value);
    mpfr_clear(want);
    viewed_free(&got);
    ++*compared;
}

/* Distances d whose product with the slope is as near as possible to half-way between two doubles:
 * d is the denominator of a convergent of slope 2^(53 - e), whose numerator is odd, and the product
 * lies in [2^e, 2^(e+1)). Double-doubles leave some undecided, and barely decide the others. */
static void alibi_hard(double most, int e, size_t *compared)
{
    mpfr_t x, whole;
    uint64_t p[2] = {1, 0}, q[2] = {0, 1};

    mpfr_inits2(ORACLE_BITS, x, whole, (mpfr_ptr)NULL);
    mpfr_set_d(x, 53 - e - most, MPFR_RNDN);
    mpfr_exp2(x, x, MPFR_RNDN);
    while (p[0] < UINT64_C(1) << 54 && q[0] < UINT64_C(1) << 53) {
        if (p[0] > UINT64_C(1) << 53 && p[0] % 2 == 1)
            alibi_compare(most, (double)q[0], compared);
        mpfr_floor(whole, x);
        const double a = mpfr_get_d(whole, MPFR_RNDN);
        if (a > 0x1p40)
            break;
        const uint64_t next_p = (uint64_t)a * p[0] + p[1], next_q = (uint64_t)a * q[0] + q[1];
        p[1] = p[0], q[1] = q[0];
        p[0] = next_p, q[0] = next_q;
        mpfr_sub(x, x, whole, MPFR_RNDN);
        mpfr_ui_div(x, 1, x, MPFR_RNDN);
    }
    mpfr_clears(x, whole, (mpfr_ptr)NULL);
}

TEST(alibi_products)
{
    size_t compared = 0;

    for (int i = 1; i < 400; i++) {
        const double most = i * 0.0237;
        alibi_hard(most, (int)(52 - most), &compared);
        alibi_hard(most, (int)(51 - most), &compared);
    }
    printf("alibi: %zu products beside a tie\n", compared);
    ck_assert_uint_gt(compared, 300);
}
