/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/tables/frequencies_parts.h"

/* The ladder of docs/exactness.md: double, double-double, MPFR with ever more digits. Each step has
 * a bound of its error and is left only where the bound does not decide the rounding. */

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

/* Rounds (value +- error) times the scale; false: undecided. */
static bool scaled_round(const struct element *e, struct pe_exact value, double error, void *out)
{
    const struct pe_scale *scale = e->scale;

    if (is_one(scale))
        return pe_exact_round(value, error, e->dtype, out);
    if (scale->value.hi == 0)
        return false;
    const struct pe_exact product = pe_exact_multiply(value, scale->value);
    /* Relative errors: 2^-101 of the product, 2^-101 of the scale, and the error it names. */
    return pe_exact_round(product,
                          error * scale->value.hi * (1 + 0x1p-50) +
                              fabs(product.hi) * (0x1p-100 + scale->error),
                          e->dtype, out);
}

/* t * w, of all three parts of t, which cannot cancel. */
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

    /* The angle has a relative error of 2^(20 - precision), which is no larger in cos and sin; the
     * operations after it add 2^(20 - precision) of the value. */
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
    /* MPFR keeps constants for each thread; those of a pool's threads would never be freed. */
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

/* ---- in float32 ------------------------------------------------------------------------------ */

/* cos and sin, correctly rounded, of an angle that is a float32: the extra pair behind the last has
 * the frequency 1, so the angle is given as its position. */
static void float32_cos_sin(const struct pe_frequencies *f, float angle, float values[2])
{
    const struct pe_scale one = {.value = {1, 0}};
    const struct pe_position position = {{angle, 0, 0}};
    struct element e = {f, f->count, &position, &one, PE_F32, false};

    if (fabsf(angle) < 0x1p53f) {
        pair_write(e, &values[0], &values[1]);
        return;
    }
    mpfr_write(&e, &values[0]);
    e.is_sin = true;
    mpfr_write(&e, &values[1]);
}

/* Rounds each operation to float32: the position, its product with the frequency, cos and sin,
 * their product with the attention factor; and the result to the dtype. */
static void float32_write(const struct pe_frequencies *f, size_t pair,
                          const struct pe_position *position, enum pe_amplitude amplitude,
                          enum pe_dtype dtype, void *const out[2])
{
    const struct pe_exact real = {position->part[0], position->part[1]};
    const float factor = (float)f->amplitudes[PE_AMPLITUDE_FACTOR].value.hi;
    float t = (float)real.hi, values[2];

    if (real.lo != 0)
        pe_exact_round(real, 0, PE_F32, &t);
    float32_cos_sin(f, t * f->float32[pair], values);
    for (int which = 0; which < 2; which++) {
        const float scaled = amplitude == PE_AMPLITUDE_FACTOR    ? values[which] * factor
                             : amplitude == PE_AMPLITUDE_INVERSE ? values[which] / factor
                                                                 : values[which];
        if (out[which])
            pe_from_f32(out[which], dtype, &scaled, 1);
    }
}

/* ---- one pair -------------------------------------------------------------------------------- */

void pe_frequencies_pair(const struct pe_frequencies *f, size_t pair,
                         const struct pe_position *position, enum pe_amplitude amplitude,
                         enum pe_dtype dtype, void *cos, void *sin)
{
    const struct element e = {f, pair, position, &f->amplitudes[amplitude], dtype, false};

    if (f->float32)
        float32_write(f, pair, position, amplitude, dtype, (void *const[2]){cos, sin});
    else
        pair_write(e, cos, sin);
}

void pe_frequencies_pair_scaled(const struct pe_frequencies *f, size_t pair,
                                const struct pe_position *position, const struct pe_scale *scale,
                                enum pe_dtype dtype, void *cos, void *sin)
{
    pair_write((struct element){f, pair, position, scale, dtype, false}, cos, sin);
}
