/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/angle.h"
#include "core/tables/frequencies.h"

/* One pair at one position by Ziv's strategy: in doubles, in double-doubles, then in wide numbers
 * of 192 to 1280 bits. Each level has an error bound; the next one is computed only where the bound
 * leaves the rounding undecided. docs/internals/exactness.md, "Precision levels". */

struct element {
    const struct pe_frequencies *f;
    size_t pair;
    const struct pe_frequency *frequency;
    const struct pe_position *position;
    const struct pe_scale *scale;
    enum pe_dtype dtype;
    bool is_sin;
};

static struct element element_of(const struct pe_frequencies *f, size_t pair,
                                 const struct pe_position *position, const struct pe_scale *scale,
                                 enum pe_dtype dtype)
{
    return (struct element){.f = f,
                            .pair = pair,
                            .frequency = pe_frequencies_at(f, pair),
                            .position = position,
                            .scale = scale,
                            .dtype = dtype};
}

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
    /* Relative errors: 2^-101 of the product, 2^-101 of the scale, and scale->error. */
    return pe_exact_round(product,
                          error * scale->value.hi * (1 + 0x1p-50) +
                              fabs(product.hi) * (0x1p-100 + scale->error),
                          e->dtype, out);
}

static struct pe_wide amplitude_real(const struct element *e, unsigned bits)
{
    return e->scale->real ? e->scale->real(bits, e->scale->context, 0)
                          : pe_wide_of(bits, e->scale->value.hi);
}

/* The sine and cosine of an angle below 2^TINY lie within 2^(2 TINY) of A t w and of A. */
enum { TINY = -600 };

/* A number a little nearer to 0. */
static struct pe_wide inward(struct pe_wide value)
{
    return pe_wide_sub(value, pe_wide_scale(value, 2 * TINY));
}

static bool wide_try(const struct element *e, unsigned bits, void *out)
{
    const struct pe_wide angle =
        pe_angle_wide(pe_frequencies_real(bits, e->f, e->pair), e->position);
    struct pe_wide value = e->is_sin ? pe_wide_sin(angle) : pe_wide_cos(angle);
    /* w and three operations give the angle a relative error of 2^(17 - bits), which is an absolute
     * error of cos and sin. Computing them and scaling adds 2^(17 - bits) of the value. */
    struct pe_wide error =
        pe_wide_scale(pe_wide_add(pe_wide_abs(angle), pe_wide_abs(value)), 20 - (int64_t)bits);

    if (!is_one(e->scale)) {
        const struct pe_wide amplitude = amplitude_real(e, bits);
        value = pe_wide_mul(value, amplitude);
        error = pe_wide_mul(error, amplitude);
    }
    if (bits < PE_PRECISION_LAST || pe_wide_exponent(angle) > TINY ||
        pe_wide_round(value, error, e->dtype, out))
        return pe_precision_round(bits, value, error, e->dtype, out);
    /* A product A t w that is next to a tie at every level is that tie, although it is not marked
     * as exact: w is a power, and some powers are rational. */
    pe_wide_write(inward(value), e->dtype, out);
    pe_exact_count_undecided();
    return true;
}

/* An angle so small that 1280 bits do not separate its sine from the angle, nor its cosine from 1:
 * the value is nearer to 0 than v = A t w, or v = A, by less than 2^-1200 of v. If v is exact and
 * shorter, no number of the dtype and no tie lies between. False: this does not apply. */
static bool tiny_write(const struct element *e, void *out)
{
    enum { DIGITS = 1100 };
    const struct pe_wide w = pe_frequencies_real(PE_PRECISION_FIRST, e->f, e->pair);
    const struct pe_wide angle = pe_angle_wide(pe_wide_cut(w, PE_PRECISION_LAST), e->position);
    struct pe_wide value = pe_wide_cut(amplitude_real(e, PE_PRECISION_FIRST), PE_PRECISION_LAST);

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
    const double near = e->frequency->w.hi * e->position->part[0];
    unsigned bits = PE_PRECISION_FIRST;

    if (fabs(near) < 0x1p-590 && tiny_write(e, out))
        return;
    while (!wide_try(e, bits, out))
        bits = pe_precision_next(bits);
}

/* The angle is a whole number of quarters: 0, or the scale itself or its negative, which may be a
 * tie. */
static void write_at_quarters(const struct element *e, unsigned quarters, double zero, void *out)
{
    const struct pe_scale *scale = e->scale;
    double value;

    if (e->is_sin == (quarters % 2 == 0)) {
        pe_from_f64(out, e->dtype, &zero, 1);
        return;
    }
    if (scale->real)
        pe_real_round(scale->real, scale->context, 0, e->dtype, out);
    else
        pe_exact_round(scale->value, 0, e->dtype, out);
    if (quarters < 2)
        return;
    pe_to_f64(&value, out, e->dtype, 1);
    value = -value;
    pe_from_f64(out, e->dtype, &value, 1);
}

static void pair_write(struct element e, void *cos, void *sin)
{
    struct pe_cos_sin rough, fine;
    struct pe_angle angle;
    const bool usable = pe_angle_reduce(&angle, e.frequency, e.position);
    const bool exact = usable && angle.rest.hi == 0 && angle.error == 0;
    bool have_fine = false;

    if (usable && !exact)
        rough = pe_angle_cos_sin(&angle);
    for (int which = 0; which < 2; which++) {
        void *out = which ? sin : cos;
        e.is_sin = which;
        if (!out)
            continue;
        if (exact) {
            write_at_quarters(&e, angle.quarters, angle.rest.hi, out);
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

/* Both correctly rounded from doubles that are off by an ulp at most; false: undecided. */
static bool float32_from_doubles(float angle, float values[2])
{
    const struct pe_circle at = pe_circle_at(angle);
    const struct pe_exact cos = {at.cos, 0}, sin = {at.sin, 0};

    return pe_exact_round(cos, fabs(at.cos) * 0x1p-52, PE_F32, &values[0]) &&
           pe_exact_round(sin, fabs(at.sin) * 0x1p-52, PE_F32, &values[1]);
}

/* cos and sin of a float32 angle, correctly rounded. The extra pair after the last has the
 * frequency 1, so the angle is passed as the position. */
static void float32_cos_sin(const struct pe_frequencies *f, float angle, float values[2])
{
    const struct pe_scale one = {.value = {1, 0}};
    const struct pe_position position = {{angle, 0, 0}};
    struct element e = element_of(f, pe_frequencies_count(f), &position, &one, PE_F32);

    if (fabsf(angle) < 0x1p53f && float32_from_doubles(angle, values))
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

/* Rounds to float32 the position, its product with the frequency, cos and sin, and their product
 * with the attention factor; then the result to the dtype. */
static void float32_write(const struct pe_frequencies *f, size_t pair,
                          const struct pe_position *position, enum pe_amplitude amplitude,
                          enum pe_dtype dtype, void *const out[2])
{
    const float factor = (float)pe_frequencies_amplitude(f, PE_AMPLITUDE_FACTOR);
    float values[2];

    float32_cos_sin(f, pe_position_float32(position) * pe_frequencies_float32(f)[pair], values);
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
    const struct pe_scale *scale = pe_frequencies_scale(f, amplitude);

    if (pe_frequencies_in_float32(f))
        float32_write(f, pair, position, amplitude, dtype, (void *const[2]){cos, sin});
    else
        pair_write(element_of(f, pair, position, scale, dtype), cos, sin);
}

void pe_frequencies_pair_scaled(const struct pe_frequencies *f, size_t pair,
                                const struct pe_position *position, const struct pe_scale *scale,
                                enum pe_dtype dtype, void *cos, void *sin)
{
    pair_write(element_of(f, pair, position, scale, dtype), cos, sin);
}
