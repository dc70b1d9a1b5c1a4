/* SPDX-License-Identifier: MIT */
#include "tests/core/wide_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------ */

uint64_t wide_random_bits(struct wide_random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state * 0x2545f4914f6cdd1d;
}

static int64_t between(struct wide_random *random, int64_t least, int64_t most)
{
    return least + (int64_t)(wide_random_bits(random) % (uint64_t)(most - least + 1));
}

double wide_random_double(struct wide_random *random, int exponent_least, int exponent_most)
{
    const double part = 1 + (double)(wide_random_bits(random) >> 12) * 0x1p-52;
    const double x = ldexp(part, (int)between(random, exponent_least, exponent_most));

    return wide_random_bits(random) & 1 ? x : -x;
}

struct pe_wide wide_random_number(struct wide_random *random, unsigned bits, int64_t exponent_least,
                                  int64_t exponent_most)
{
    struct pe_wide x = pe_wide_of_uint(bits, 1);
    const unsigned kind = wide_random_bits(random) % 4, count = bits / 64;

    for (unsigned i = 0; i < count; i++) {
        const uint64_t limb = wide_random_bits(random);
        const uint64_t run = limb & 1 ? UINT64_MAX : 0;
        x.limb[i] = kind == 0 ? limb : kind == 1 ? run : i + 1 < count ? 0 : limb;
        if (kind == 1 && limb % 8 == 7)
            x.limb[i] ^= (uint64_t)1 << (limb >> 58);
    }
    if (kind == 3)
        x.limb[count - 1] &= UINT64_MAX << (wide_random_bits(random) % 64);
    x.limb[count - 1] |= (uint64_t)1 << 63;
    x.exponent = between(random, exponent_least, exponent_most);
    x.negative = wide_random_bits(random) & 1;
    return x;
}

/* ---- MPFR's numbers ------------------------------------------------------------------------- */

void wide_mpfr_prepare(void)
{
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
}

void wide_to_mpfr(mpfr_ptr out, struct pe_wide x)
{
    mpz_t whole;

    mpfr_init2(out, 64L * x.count);
    if (x.kind != PE_WIDE_FINITE) {
        mpfr_set_d(out, pe_wide_double(x), MPFR_RNDN);
        return;
    }
    mpz_init(whole);
    mpz_import(whole, x.count, -1, sizeof(uint64_t), 0, 0, x.limb);
    mpfr_set_z_2exp(out, whole, x.exponent - 64L * x.count, MPFR_RNDN);
    mpfr_setsign(out, out, x.negative, MPFR_RNDN);
    mpz_clear(whole);
}

struct pe_wide wide_from_mpfr(mpfr_srcptr x, unsigned bits)
{
    struct pe_wide out = pe_wide_of_uint(bits, 1);
    mpfr_t part;
    mpz_t whole;

    if (!mpfr_regular_p(x))
        return pe_wide_of(bits, mpfr_get_d(x, MPFR_RNDN));
    mpfr_init2(part, bits);
    out.inexact = mpfr_set(part, x, MPFR_RNDZ) != 0;
    mpz_init(whole);
    out.exponent = mpfr_get_z_2exp(whole, part) + (int64_t)bits;
    mpz_abs(whole, whole);
    mpz_export(out.limb, NULL, -1, sizeof(uint64_t), 0, 0, whole);
    out.negative = mpfr_signbit(x);
    mpfr_clear(part);
    mpz_clear(whole);
    return out;
}

/* ---- functions ------------------------------------------------------------------------------ */

typedef void draw(struct wide_random *random, unsigned bits, struct pe_wide arguments[2]);

enum bound {
    CUT,      /* the nearest number towards zero, marked where it is not the result itself */
    RELATIVE, /* 2^(2-p) of the result; the marks err on one side only */
    WAVE,     /* 2^(2-p) of the result, or of 2^-p */
};

struct wide_function {
    const char *name;
    enum bound bound;
    draw *draw;
    struct pe_wide (*one)(struct pe_wide x);
    int (*one_mpfr)(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding);
    struct pe_wide (*two)(struct pe_wide a, struct pe_wide b);
    int (*two_mpfr)(mpfr_ptr out, mpfr_srcptr a, mpfr_srcptr b, mpfr_rnd_t rounding);
};

/* Now and then a number of another precision. */
static unsigned other_bits(struct wide_random *random, unsigned bits)
{
    const uint64_t drawn = wide_random_bits(random);

    return drawn % 4 ? bits : 64 * (1 + (unsigned)(drawn >> 8) % (bits / 64));
}

/* Close to each other half of the time, so that differences cancel. */
static void draw_sum(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    const unsigned kind = wide_random_bits(random) % 4, other = other_bits(random, bits);

    arguments[0] = wide_random_number(random, bits, -20, 20);
    arguments[1] = wide_random_number(random, other, -20 - (int64_t)bits, 20 + (int64_t)bits);
    if (kind == 0) {
        arguments[1] = pe_wide_negate(arguments[0]);
        arguments[1].limb[wide_random_bits(random) % (bits / 64)] ^=
            ((uint64_t)1 << (wide_random_bits(random) % 63));
    } else if (kind == 1) {
        arguments[1].exponent = arguments[0].exponent + between(random, -66, 66);
    }
}

static void draw_product(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    arguments[0] = wide_random_number(random, bits, -5000, 5000);
    arguments[1] = wide_random_number(random, other_bits(random, bits), -5000, 5000);
    if (wide_random_bits(random) % 8 == 0) { /* a quotient that is exact */
        arguments[1] = pe_wide_of(64, wide_random_double(random, -20, 20));
        arguments[0] = pe_wide_mul(pe_wide_cut(arguments[0], 64), pe_wide_cut(arguments[1], bits));
        arguments[0].inexact = false;
    }
}

/* Squares, and numbers next to squares. */
static void draw_root(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    const unsigned kind = wide_random_bits(random) % 4;
    struct pe_wide x = pe_wide_abs(wide_random_number(random, bits, -5000, 5000));

    if (kind < 3) {
        memset(x.limb, 0, bits / 128 * sizeof(x.limb[0]));
        x = pe_wide_mul(x, x);
        x.inexact = false;
        x.limb[0] ^= kind;
    }
    arguments[0] = x;
}

static void draw_exponent(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    const bool far = wide_random_bits(random) % 8 == 0;

    arguments[0] = wide_random_number(random, bits, far ? -2000 : -12, far ? 50 : 12);
    if (wide_random_bits(random) % 8 == 0)
        arguments[0] = pe_wide_of(bits, (double)between(random, -5000, 5000));
}

/* 1 + 2^-k and so on. */
static struct pe_wide near_one(struct wide_random *random, unsigned bits)
{
    const struct pe_wide small = wide_random_number(random, bits, -(int64_t)bits, -2);
    struct pe_wide x = pe_wide_add_double(small, 1);

    x.inexact = false;
    return x;
}

static void draw_log(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    const bool far = wide_random_bits(random) % 8 == 0;
    const int64_t most = far ? (int64_t)1 << 40 : 100;

    arguments[0] = wide_random_bits(random) % 2
                       ? pe_wide_abs(wide_random_number(random, bits, -most, most))
                       : near_one(random, bits);
}

static void draw_log1p(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    struct pe_wide x = wide_random_number(random, bits, -300, 0);

    if (wide_random_bits(random) % 2)
        x = pe_wide_abs(wide_random_number(random, bits, -12, 100));
    arguments[0] = x;
}

/* Integer powers, roots of squares, numbers next to these, and any others. */
static void draw_power(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    const unsigned kind = wide_random_bits(random) % 4;
    const unsigned roots = wide_random_bits(random) % 4;
    double x = (double)between(random, 1, kind == 1 ? 1 << (12 >> roots) : 1000000);

    for (unsigned i = 0; kind == 1 && i < roots; i++)
        x *= x;
    arguments[0] = pe_wide_of(bits, kind == 0 ? fabs(wide_random_double(random, -60, 60)) : x);
    arguments[1] = kind == 0 ? pe_wide_of(64, wide_random_double(random, -12, 6))
                             : pe_wide_scale(pe_wide_of(64, (double)between(random, -40, 40)),
                                             -(int64_t)(kind == 1   ? roots
                                                        : kind == 2 ? 6
                                                                    : 0));
    if (kind == 3 && wide_random_bits(random) % 2)
        arguments[0] = near_one(random, bits);
}

/* Any number of quarter turns below 2^128, and numbers next to multiples: of the precision, and
 * doubles. */
static void draw_angle(struct wide_random *random, unsigned bits, struct pe_wide arguments[2])
{
    const unsigned kind = wide_random_bits(random) % 4;
    struct pe_wide x = wide_random_number(random, bits, -40, kind == 0 ? 128 : 20);

    if (kind >= 2) {
        x = pe_wide_of(bits,
                       ldexp((double)between(random, 1, 1 << 20), (int)between(random, 0, 90)));
        x = pe_wide_mul(x, pe_wide_scale(pe_wide_pi(bits), -1));
    }
    x.inexact = false;
    arguments[0] = kind == 3 ? pe_wide_of(bits, pe_wide_double(x)) : x;
}

/* mpfr_sqrt of MPFR 4.2.0 with GMP 6.2 sometimes reports an inexact root of many limbs as exact, so
 * the square is compared. */
static int sqrt_mpfr(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding)
{
    mpfr_t square;
    int ternary;

    mpfr_sqrt(out, x, rounding);
    mpfr_init2(square, 2 * mpfr_get_prec(out));
    mpfr_sqr(square, out, MPFR_RNDN);
    ternary = !mpfr_equal_p(square, x);
    mpfr_clear(square);
    return ternary;
}

#define ONE(name, bound, draw)                                                                     \
    {                                                                                              \
#name, bound, draw, .one = pe_wide_##name, .one_mpfr = mpfr_##name                         \
    }
#define TWO(name, bound, draw)                                                                     \
    {                                                                                              \
#name, bound, draw, .two = pe_wide_##name, .two_mpfr = mpfr_##name                         \
    }

static const struct wide_function wide_functions[] = {
    TWO(add, CUT, draw_sum),
    TWO(sub, CUT, draw_sum),
    TWO(mul, CUT, draw_product),
    TWO(div, CUT, draw_product),
    {"sqrt", CUT, draw_root, .one = pe_wide_sqrt, .one_mpfr = sqrt_mpfr},
    ONE(exp, RELATIVE, draw_exponent),
    ONE(exp2, RELATIVE, draw_exponent),
    ONE(log, RELATIVE, draw_log),
    ONE(log1p, RELATIVE, draw_log1p),
    TWO(pow, RELATIVE, draw_power),
    ONE(sin, WAVE, draw_angle),
    ONE(cos, WAVE, draw_angle),
};
const size_t wide_functions_count = sizeof(wide_functions) / sizeof(wide_functions[0]);

const char *wide_function_name(size_t function)
{
    return wide_functions[function].name;
}

/* ---- bounds --------------------------------------------------------------------------------- */

/* Is |got - want| below 2^(2-p) |want|, or below 2^(2-2p)? */
static bool is_near(mpfr_srcptr got, mpfr_srcptr want, enum bound bound)
{
    const mpfr_prec_t bits = mpfr_get_prec(got);
    mpfr_t off;
    bool near;

    if (!mpfr_regular_p(want) || !mpfr_regular_p(got))
        return mpfr_equal_p(got, want) || (mpfr_nan_p(got) && mpfr_nan_p(want));
    mpfr_init2(off, 64);
    mpfr_sub(off, got, want, MPFR_RNDA);
    near = mpfr_zero_p(off) || (bound == WAVE && mpfr_get_exp(off) <= 2 - 2 * bits);
    mpfr_mul_2si(off, off, bits - 2, MPFR_RNDA);
    near |= mpfr_cmpabs(off, want) < 0;
    mpfr_clear(off);
    return near;
}

/* Is the result that of MPFR in the same precision, with the same mark? */
static bool is_cut(mpfr_srcptr got, mpfr_srcptr want, bool marked, int ternary)
{
    return marked == (ternary != 0) &&
           (mpfr_equal_p(got, want) || (mpfr_nan_p(got) && mpfr_nan_p(want)));
}

bool wide_function_check(size_t function, unsigned bits, struct wide_random *random)
{
    const struct wide_function *f = &wide_functions[function];
    struct pe_wide arguments[2];
    mpfr_t x, y, got, want;
    int ternary;

    f->draw(random, bits, arguments);
    if (!f->two)
        arguments[1] = arguments[0];
    const struct pe_wide result =
        f->two ? f->two(arguments[0], arguments[1]) : f->one(arguments[0]);
    wide_to_mpfr(x, arguments[0]);
    wide_to_mpfr(y, arguments[1]);
    wide_to_mpfr(got, result);
    const mpfr_prec_t precision = mpfr_get_prec(got);
    mpfr_init2(want, f->bound == CUT ? precision : precision + 32);
    ternary = f->two ? f->two_mpfr(want, x, y, MPFR_RNDZ) : f->one_mpfr(want, x, MPFR_RNDZ);
    bool good =
        f->bound == CUT ? is_cut(got, want, result.inexact, ternary) : is_near(got, want, f->bound);
    /* An unmarked result is exact, and an exact power is unmarked. */
    const bool exact = mpfr_prec_round(want, precision, MPFR_RNDZ) == 0 && ternary == 0;
    good = good && (result.inexact || (exact && mpfr_equal_p(got, want)) || mpfr_nan_p(want));
    good = good && (f->two != pe_wide_pow || !result.inexact || !exact);
    if (!good)
        mpfr_printf("%s in %u bits of %Ra and %Ra: %Ra%s, not %Ra%s\n", f->name, bits, x, y, got,
                    result.inexact ? " marked" : "", want, exact ? " exactly" : "");
    mpfr_clears(x, y, got, want, (mpfr_ptr)NULL);
    return good;
}
