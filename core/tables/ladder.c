/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/angle.h"
#include "core/tables/frequencies_parts.h"

/* The ladder of docs/internals/exactness.md: double, double-double, wide numbers of ever more
 * digits. Each step has a bound of its error and is left only where the bound does not decide the
 * rounding. */

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
static struct pe_wide angle_of(const struct element *e, struct pe_wide w)
{
    struct pe_wide angle = pe_wide_mul_double(w, e->position->part[0]);

    for (int i = 1; i < 3 && e->position->part[i] != 0; i++)
        angle = pe_wide_add(angle, pe_wide_mul_double(w, e->position->part[i]));
    return angle;
}

static struct pe_wide amplitude_of(const struct element *e, unsigned bits)
{
    return e->scale->real ? e->scale->real(bits, e->scale->context, 0)
                          : pe_wide_of(bits, e->scale->value.hi);
}

/* Angles below 2^TINY, whose sines and cosines lie within 2^(2 TINY) of A t w and of A. */
enum { TINY = -600 };

/* What lies a little nearer to 0. */
static struct pe_wide inward(struct pe_wide value)
{
    return pe_wide_sub(value, pe_wide_scale(value, 2 * TINY));
}

static bool wide_try(const struct element *e, unsigned bits, void *out)
{
    const struct pe_wide angle = angle_of(e, pe_frequencies_real(bits, e->f, e->pair));
    struct pe_wide value = e->is_sin ? pe_wide_sin(angle) : pe_wide_cos(angle);
    /* The angle has a relative error of 2^(17 - bits), that of w and of three operations, which is
     * an absolute one of cos and sin; they and the operations behind them add 2^(17 - bits) of the
     * value. */
    struct pe_wide error =
        pe_wide_scale(pe_wide_add(pe_wide_abs(angle), pe_wide_abs(value)), 20 - (int64_t)bits);

    if (!is_one(e->scale)) {
        const struct pe_wide amplitude = amplitude_of(e, bits);
        value = pe_wide_mul(value, amplitude);
        error = pe_wide_mul(error, amplitude);
    }
    if (bits < PE_PRECISION_LAST || pe_wide_exponent(angle) > TINY ||
        pe_wide_round(value, error, e->dtype, out))
        return pe_rung_round(bits, value, error, e->dtype, out);
    /* A product A t w beside a tie at every rung is that tie, though nobody marked it as exact: w
     * is a power, and some powers are rational. */
    pe_wide_write(inward(value), e->dtype, out);
    pe_exact_count_undecided();
    return true;
}

/* Where an angle is so small that the last rung does not tell its sine from itself, nor its cosine
 * from 1, the value is a little nearer to 0 than v = A t w, or v = A: less than 2^-1200 of it. If v
 * is exact and of fewer digits no number lies between, and none is halfway between two. False:
 * something else is needed. */
static bool tiny_write(const struct element *e, void *out)
{
    enum { DIGITS = 1100 };
    const struct pe_wide w = pe_frequencies_real(PE_PRECISION_FIRST, e->f, e->pair);
    const struct pe_wide angle = angle_of(e, pe_wide_cut(w, PE_PRECISION_LAST));
    struct pe_wide value = pe_wide_cut(amplitude_of(e, PE_PRECISION_FIRST), PE_PRECISION_LAST);

    if (pe_wide_exponent(angle) > TINY)
        return false;
    if (e->is_sin)
        value = pe_wide_mul(value, angle);
    if (value.inexact || pe_wide_length(value) > DIGITS)
        return false;
    pe_wide_write(inward(value), e->dtype, out);
    return true;
}

static void wide_write(const struct element *e, void *out)
{
    const double near = e->f->turns[e->pair].w.hi * e->position->part[0];
    unsigned bits = PE_PRECISION_FIRST;

    if (fabs(near) < 0x1p-590 && tiny_write(e, out))
        return;
    while (!wide_try(e, bits, out))
        bits = pe_precision_next(bits);
}

/* Angle 0: cos is the scale itself, which may be a tie. */
static void zero_write(const struct element *e, double zero, void *out)
{
    const struct pe_scale *scale = e->scale;

    if (e->is_sin)
        pe_from_f64(out, e->dtype, &zero, 1);
    else if (scale->real)
        pe_real_round(scale->real, scale->context, 0, e->dtype, out);
    else
        pe_exact_round(scale->value, 0, e->dtype, out);
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
            wide_write(&e, out);
    }
}

struct pe_position pe_position_of(const struct pe_positions *positions, size_t index)
{
    if (positions->values)
        return (struct pe_position){{positions->values[index], 0, 0}};
    return pe_position_at(positions->start, positions->step, (double)(index % positions->count));
}

/* ---- in float32 ------------------------------------------------------------------------------ */

/* Both correctly rounded, by doubles that are an ulp off at most; false: they do not decide it. */
static bool float32_quick(float angle, float values[2])
{
    const struct pe_circle at = pe_circle_at(angle);
    const struct pe_exact cos = {at.cos, 0}, sin = {at.sin, 0};

    return pe_exact_round(cos, fabs(at.cos) * 0x1p-52, PE_F32, &values[0]) &&
           pe_exact_round(sin, fabs(at.sin) * 0x1p-52, PE_F32, &values[1]);
}

/* cos and sin, correctly rounded, of an angle that is a float32: the extra pair behind the last has
 * the frequency 1, so the angle is given as its position. */
static void float32_cos_sin(const struct pe_frequencies *f, float angle, float values[2])
{
    const struct pe_scale one = {.value = {1, 0}};
    const struct pe_position position = {{angle, 0, 0}};
    struct element e = {f, f->count, &position, &one, PE_F32, false};

    if (fabsf(angle) < 0x1p53f && float32_quick(angle, values))
        return;
    if (fabsf(angle) < 0x1p53f) {
        pair_write(e, &values[0], &values[1]);
        return;
    }
    wide_write(&e, &values[0]);
    e.is_sin = true;
    wide_write(&e, &values[1]);
}

float pe_position_float32(const struct pe_position *position)
{
    const struct pe_exact real = {position->part[0], position->part[1]};
    float t = (float)real.hi;

    if (real.lo != 0)
        pe_exact_round(real, 0, PE_F32, &t);
    return t;
}

/* Rounds each operation to float32: the position, its product with the frequency, cos and sin,
 * their product with the attention factor; and the result to the dtype. */
static void float32_write(const struct pe_frequencies *f, size_t pair,
                          const struct pe_position *position, enum pe_amplitude amplitude,
                          enum pe_dtype dtype, void *const out[2])
{
    const float factor = (float)f->amplitudes[PE_AMPLITUDE_FACTOR].value.hi;
    float values[2];

    float32_cos_sin(f, pe_position_float32(position) * f->float32[pair], values);
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
