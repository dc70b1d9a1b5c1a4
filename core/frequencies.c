/* SPDX-License-Identifier: MIT */
#include "core/frequencies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/angle.h"

/* The ladder of encodings.md: double, double-double, MPFR with ever more digits. Each step has a
 * bound of its error and is left only where the bound does not decide the rounding. */

struct pe_frequencies {
    const struct pe_scheme *scheme;
    pe_real *frequency, *factor;
    double factor_given;
    size_t count;
    const size_t *picked;          /* which pairs of the scheme they are; NULL: all in order */
    struct pe_scale amplitudes[3]; /* by enum pe_amplitude */
    double *phases;                /* the three parts of each, `padded` apart; behind turns */
    size_t padded;
    double fastest;
    struct pe_turn turns[];
};

/* ---- making them ---------------------------------------------------------------------------- */

void pe_frequencies_factor_real(mpfr_ptr out, const void *context, size_t index)
{
    const struct pe_frequencies *f = context;

    if (f->factor)
        f->factor(out, f->scheme, index);
    else
        mpfr_set_ui(out, 1, MPFR_RNDN);
}

static void inverse_evaluate(mpfr_ptr out, const void *context, size_t index)
{
    pe_frequencies_factor_real(out, context, index);
    mpfr_ui_div(out, 1, out, MPFR_RNDN);
}

static void amplitudes_compute(struct pe_frequencies *f)
{
    const struct pe_scale one = {.value = {1, 0}};
    const double given = f->factor ? f->factor_given : 1;

    f->amplitudes[PE_AMPLITUDE_ONE] = f->amplitudes[PE_AMPLITUDE_FACTOR] = one;
    f->amplitudes[PE_AMPLITUDE_INVERSE] = one;
    if (given == 1)
        return;
    f->amplitudes[PE_AMPLITUDE_FACTOR] =
        isnan(given) ? (struct pe_scale){.value = pe_real_exact(pe_frequencies_factor_real, f, 0),
                                         .real = pe_frequencies_factor_real,
                                         .context = f}
                     : (struct pe_scale){.value = {given, 0}};
    f->amplitudes[PE_AMPLITUDE_INVERSE] = (struct pe_scale){
        .value = pe_real_exact(inverse_evaluate, f, 0), .real = inverse_evaluate, .context = f};
}

/* w / 2 pi as 64.192 bits; w is below 2^63. */
static void turns_compute(uint64_t turns[4], mpfr_srcptr w)
{
    mpfr_t value;
    mpz_t whole;
    size_t limbs;

    mpfr_init2(value, mpfr_get_prec(w));
    mpz_init(whole);
    mpfr_const_pi(value, MPFR_RNDN);
    mpfr_div(value, w, value, MPFR_RNDN);
    mpfr_mul_2ui(value, value, 191, MPFR_RNDN);
    mpfr_get_z(whole, value, MPFR_RNDZ);
    for (int i = 0; i < 4; i++)
        turns[i] = 0;
    mpz_export(turns, &limbs, -1, sizeof(uint64_t), 0, 0, whole);
    mpfr_clear(value);
    mpz_clear(whole);
}

/* w / 2 pi in three parts for core/table.c, from w in `value`, which is lost. */
static void phase_split(struct pe_frequencies *f, size_t pair, mpfr_ptr value)
{
    static const mpfr_prec_t bits[] = {26, 26, 53};
    mpfr_t part;

    f->fastest = fmax(f->fastest, mpfr_get_d(value, MPFR_RNDU));
    mpfr_init2(part, mpfr_get_prec(value));
    mpfr_const_pi(part, MPFR_RNDN);
    mpfr_mul_2ui(part, part, 1, MPFR_RNDN);
    mpfr_div(value, value, part, MPFR_RNDN);
    for (size_t i = 0; i < 3; i++) {
        mpfr_set_prec(part, bits[i]);
        mpfr_set(part, value, MPFR_RNDN);
        f->phases[i * f->padded + pair] = mpfr_get_d(part, MPFR_RNDN);
        mpfr_sub(value, value, part, MPFR_RNDN);
    }
    mpfr_clear(part);
}

static struct pe_frequencies *frequencies_alloc(size_t count)
{
    const size_t padded = (count + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
    struct pe_frequencies *f =
        calloc(1, sizeof(*f) + count * sizeof(f->turns[0]) + 3 * padded * sizeof(double));

    if (!f)
        return NULL;
    f->count = count;
    f->phases = (double *)(f->turns + count);
    f->padded = padded;
    return f;
}

struct pe_frequencies *pe_frequencies_new(const struct pe_scheme *scheme, size_t count,
                                          pe_real *frequency, pe_real *factor, double factor_given)
{
    struct pe_frequencies *f = frequencies_alloc(count);
    mpfr_t w, rest;

    if (!f)
        return NULL;
    f->scheme = scheme;
    f->frequency = frequency;
    f->factor = factor;
    f->factor_given = factor_given;
    amplitudes_compute(f);

    /* 320 bits hold w below 2^63 to 2^-257, so that turns is good to its last bit. */
    mpfr_inits2(320, w, rest, (mpfr_ptr)NULL);
    for (size_t pair = 0; pair < count; pair++) {
        struct pe_turn *turn = &f->turns[pair];
        frequency(w, scheme, pair);
        turns_compute(turn->turns, w);
        turn->w.hi = mpfr_get_d(w, MPFR_RNDN);
        mpfr_sub_d(rest, w, turn->w.hi, MPFR_RNDN);
        turn->w.lo = mpfr_get_d(rest, MPFR_RNDN);
        phase_split(f, pair, w);
    }
    mpfr_clears(w, rest, (mpfr_ptr)NULL);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    return f;
}

struct pe_frequencies *pe_frequencies_pick(const struct pe_frequencies *from, const size_t *pairs,
                                           size_t count)
{
    struct pe_frequencies *f = frequencies_alloc(count);

    if (!f)
        return NULL;
    f->scheme = from->scheme;
    f->frequency = from->frequency;
    f->factor = from->factor;
    f->factor_given = from->factor_given;
    f->picked = pairs;
    amplitudes_compute(f);
    f->fastest = from->fastest;
    for (size_t i = 0; i < count; i++) {
        f->turns[i] = from->turns[pairs[i]];
        for (size_t part = 0; part < 3; part++)
            f->phases[part * f->padded + i] = from->phases[part * from->padded + pairs[i]];
    }
    return f;
}

void pe_frequencies_free(struct pe_frequencies *frequencies)
{
    free(frequencies);
}

size_t pe_frequencies_count(const struct pe_frequencies *frequencies)
{
    return frequencies->count;
}

void pe_frequencies_real(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_frequencies *f = context;

    f->frequency(out, f->scheme, f->picked ? f->picked[pair] : pair);
}

static void wavelength_evaluate(mpfr_ptr out, const void *context, size_t pair)
{
    mpfr_t w;

    mpfr_init2(w, mpfr_get_prec(out));
    pe_frequencies_real(w, context, pair);
    mpfr_const_pi(out, MPFR_RNDN);
    mpfr_mul_2ui(out, out, 1, MPFR_RNDN);
    mpfr_div(out, out, w, MPFR_RNDN);
    mpfr_clear(w);
}

void pe_frequencies_write(const struct pe_frequencies *f, size_t pair, enum pe_dtype dtype,
                          void *frequency, void *wavelength)
{
    if (frequency)
        pe_real_round(pe_frequencies_real, f, pair, dtype, frequency);
    if (wavelength)
        pe_real_round(wavelength_evaluate, f, pair, dtype, wavelength);
}

double pe_frequencies_amplitude(const struct pe_frequencies *f, enum pe_amplitude amplitude)
{
    return f->amplitudes[amplitude].value.hi;
}

const struct pe_turn *pe_frequencies_turn(const struct pe_frequencies *f, size_t pair)
{
    return &f->turns[pair];
}

double pe_frequencies_fastest(const struct pe_frequencies *f)
{
    return f->fastest;
}

struct pe_phases pe_frequencies_phases(const struct pe_frequencies *f, size_t pair)
{
    return (struct pe_phases){f->phases + pair, f->phases + f->padded + pair,
                              f->phases + 2 * f->padded + pair};
}

/* ---- cos and sin ---------------------------------------------------------------------------- */

/* One element on its way up the ladder. */
struct element {
    const struct pe_frequencies *f;
    size_t pair;
    const struct pe_position *position;
    const struct pe_scale *scale;
    enum pe_dtype dtype;
    bool is_sin;
};

static bool is_one(const struct pe_scale *scale)
{
    return scale->value.hi == 1 && !scale->real;
}

/* value +- error times the scale, rounded if that is decided. */
static bool scaled_round(const struct element *e, struct pe_exact value, double error, void *out)
{
    const struct pe_scale *scale = e->scale;

    if (is_one(scale))
        return pe_exact_round(value, error, e->dtype, out);
    if (scale->value.hi == 0)
        return false;
    const struct pe_exact product = pe_exact_multiply(value, scale->value);
    /* The product is good to 2^-101 of it, and so is the scale, but for its own error. */
    return pe_exact_round(product,
                          error * scale->value.hi * (1 + 0x1p-50) +
                              fabs(product.hi) * (0x1p-100 + scale->error),
                          e->dtype, out);
}

/* t * w with all three parts of t; they do not cancel. */
static void angle_evaluate(mpfr_ptr out, const struct element *e)
{
    mpfr_t w, part;

    mpfr_inits2(mpfr_get_prec(out), w, part, (mpfr_ptr)NULL);
    pe_frequencies_real(w, e->f, e->pair);
    mpfr_mul_d(out, w, e->position->part[0], MPFR_RNDN);
    for (int i = 1; i < 3; i++) {
        mpfr_mul_d(part, w, e->position->part[i], MPFR_RNDN);
        mpfr_add(out, out, part, MPFR_RNDN);
    }
    mpfr_clears(w, part, (mpfr_ptr)NULL);
}

static bool mpfr_try(const struct element *e, mpfr_prec_t precision, void *out)
{
    const bool last = precision >= PE_PRECISION_LAST;
    mpfr_t angle, value, error, amplitude;
    bool decided;

    mpfr_inits2(precision, angle, value, error, amplitude, (mpfr_ptr)NULL);
    angle_evaluate(angle, e);
    (e->is_sin ? mpfr_sin : mpfr_cos)(value, angle, MPFR_RNDN);

    /* The angle is good to 2^(20 - precision) of it, and no more is that error in cos and sin; what
     * comes after adds 2^(20 - precision) of the value. */
    mpfr_abs(angle, angle, MPFR_RNDU);
    mpfr_abs(error, value, MPFR_RNDU);
    mpfr_add(error, error, angle, MPFR_RNDU);
    mpfr_div_2ui(error, error, (unsigned long)precision - 20, MPFR_RNDU);
    if (!is_one(e->scale)) {
        if (e->scale->real)
            e->scale->real(amplitude, e->scale->context, 0);
        else
            mpfr_set_d(amplitude, e->scale->value.hi, MPFR_RNDN);
        mpfr_mul(value, value, amplitude, MPFR_RNDN);
        mpfr_mul(error, error, amplitude, MPFR_RNDU);
    }
    decided = pe_mpfr_round(value, error, e->dtype, out);
    if (!decided && last) {
        pe_mpfr_write(value, e->dtype, out);
        pe_exact_count_undecided();
    }
    mpfr_clears(angle, value, error, amplitude, (mpfr_ptr)NULL);
    return decided || last;
}

static void mpfr_write(const struct element *e, void *out)
{
    mpfr_prec_t precision = PE_PRECISION_FIRST;

    while (!mpfr_try(e, precision, out))
        precision *= 2;
    /* The constants that MPFR keeps for a thread would outlive the pool's. */
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

/* Angle 0: cos is the scale itself, which may be a tie that no interval decides. */
static void zero_write(const struct element *e, double zero, void *out)
{
    const struct pe_scale *scale = e->scale;
    mpfr_t value;

    if (e->is_sin) {
        pe_from_f64(out, e->dtype, &zero, 1);
    } else if (!scale->real) {
        pe_exact_round(scale->value, 0, e->dtype, out);
    } else if (scale->rational) {
        mpfr_init2(value, PE_PRECISION_LAST);
        if (scale->rational(value, scale->context))
            pe_mpfr_write(value, e->dtype, out);
        else
            pe_real_round(scale->real, scale->context, 0, e->dtype, out);
        mpfr_clear(value);
    } else {
        pe_real_round(scale->real, scale->context, 0, e->dtype, out);
    }
}

static void pair_write(struct element e, void *cos, void *sin)
{
    struct pe_cos_sin rough, fine;
    struct pe_angle angle;
    const bool usable = pe_angle_reduce(&angle, &e.f->turns[e.pair], e.position);
    const bool zero = usable && angle.rest.hi == 0 && angle.error == 0;
    bool have_fine = false;

    if (usable && !zero)
        rough = pe_angle_cos_sin(&angle);
    for (int which = 0; which < 2; which++) {
        void *out = which ? sin : cos;
        e.is_sin = which;
        if (!out)
            continue;
        if (zero) {
            zero_write(&e, angle.rest.hi, out);
            continue;
        }
        if (usable && e.dtype != PE_F64 &&
            scaled_round(&e, which ? rough.sin : rough.cos,
                         which ? rough.sin_error : rough.cos_error, out))
            continue;
        if (usable && !have_fine)
            fine = pe_angle_cos_sin_exact(&angle);
        have_fine = usable;
        if (!usable || !scaled_round(&e, which ? fine.sin : fine.cos,
                                     which ? fine.sin_error : fine.cos_error, out))
            mpfr_write(&e, out);
    }
}

struct pe_position pe_position_of(const struct pe_positions *positions, size_t index)
{
    if (positions->values)
        return (struct pe_position){{positions->values[index], 0, 0}};
    return pe_position_at(positions->start, positions->step, (double)(index % positions->count));
}

void pe_frequencies_pair(const struct pe_frequencies *f, size_t pair,
                         const struct pe_position *position, enum pe_amplitude amplitude,
                         enum pe_dtype dtype, void *cos, void *sin)
{
    pair_write((struct element){f, pair, position, &f->amplitudes[amplitude], dtype, false}, cos,
               sin);
}

void pe_frequencies_pair_scaled(const struct pe_frequencies *f, size_t pair,
                                const struct pe_position *position, const struct pe_scale *scale,
                                enum pe_dtype dtype, void *cos, void *sin)
{
    pair_write((struct element){f, pair, position, scale, dtype, false}, cos, sin);
}
