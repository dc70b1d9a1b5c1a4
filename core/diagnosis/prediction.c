/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/diagnosis/diagnosis.h"
#include "core/exact/angle.h"
#include "core/exact/elementary.h"
#include "core/scheme/rotary.h"
#include "posenc/comparison.h"

/* The values that a candidate would have made, and their allowed errors. */

/* Relative errors of angles in correct float32 code: of frequencies from powers and ramps, and of
 * products at large positions, where float32 itself is the bug. */
#define ALLOWED_CORRECT 0x1p-16
#define ALLOWED_FLOAT32 0x1p-18

/* The same for schemes in float32, which are predicted operation by operation: the power of torch
 * or numpy moves a frequency by up to three ulp, and the product adds its rounding. */
#define ALLOWED_PREDICTED 0x1p-21

/* The error of an angle that is always allowed: two thirds of a step of bf16 just below 1, which
 * rounding to bf16 mostly hides. Float32 reaches it at positions between 16384 and 65536. */
#define ALLOWED_ALWAYS 0x1.6p-9

double pe_rounding_of(enum pe_dtype dtype, double value)
{
    /* Float32 is the finest unit: smaller errors are normal. */
    static const double units[] = {
        [PE_F64] = 0x1p-24, [PE_F32] = 0x1p-24, [PE_F16] = 0x1p-11, [PE_BF16] = 0x1p-8};

    return units[dtype] * fabs(value) + (dtype == PE_F16 ? 0x1p-25 : 0);
}

double pe_angle_error_allowed(const struct pe_trial *trial, int allowance, double angle)
{
    const double predicted = trial->is_float32 ? ALLOWED_PREDICTED * angle : 0;
    const double most = allowance == PE_ALLOW_FLOAT32 ? ALLOWED_FLOAT32 * angle : predicted;
    const double correct =
        ALLOWED_CORRECT * angle < ALLOWED_ALWAYS ? ALLOWED_CORRECT * angle : ALLOWED_ALWAYS;

    return correct > most ? correct : most;
}

bool pe_float32_hurts(double angle)
{
    return ALLOWED_FLOAT32 * angle > ALLOWED_ALWAYS;
}

/* ---- a candidate's numbers ------------------------------------------------------------------- */

const struct pe_frequencies *pe_scheme_frequencies(const struct pe_scheme *scheme)
{
    return pe_waves_of(scheme)->frequencies;
}

/* A float32 without its low half. */
static double truncated(double value)
{
    float number = (float)value;
    uint32_t bits;

    memcpy(&bits, &number, sizeof(bits));
    bits &= 0xffff0000;
    memcpy(&number, &bits, sizeof(bits));
    return number;
}

void pe_candidate_frequencies(const struct pe_candidate *candidate, size_t pairs, double *out)
{
    const struct pe_distortion *distortion = &candidate->distortion;

    for (size_t pair = 0; pair < pairs; pair++) {
        out[pair] = pe_frequencies_near(pe_scheme_frequencies(candidate->scheme), pair);
        if (distortion->half_minus_one)
            out[pair] = out[0] * pe_power(out[pair] / out[0], (double)pairs / (double)(pairs - 1));
        out[pair] = distortion->truncated ? truncated(out[pair])
                                          : pe_round_to(out[pair], distortion->frequencies);
        out[pair] *= 1 + distortion->rotations;
    }
}

double pe_candidate_factor(const struct pe_candidate *candidate)
{
    const double factor =
        pe_frequencies_amplitude(pe_scheme_frequencies(candidate->scheme), PE_AMPLITUDE_FACTOR);
    double product = 1;

    if (candidate->distortion.factor != 0)
        return candidate->distortion.factor;
    for (int i = -1; i < candidate->distortion.factors; i++)
        product *= factor;
    return product;
}

double pe_candidate_position(const struct pe_candidate *candidate, size_t axis, double t)
{
    const struct pe_scheme *scheme = candidate->scheme;
    const double offset = scheme->encoding->rotary && axis < PE_ROTARY_AXES_MAX
                              ? pe_rotary_of(scheme)->offsets[axis]
                              : 0;

    return pe_round_to(t + offset + candidate->distortion.shift, candidate->distortion.positions);
}

size_t pe_candidate_axis(const struct pe_candidate *candidate, size_t axes, size_t pair)
{
    static const unsigned char orders[PE_AXES_ORDERS][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                            {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const struct pe_scheme *scheme = candidate->sections ? candidate->sections : candidate->scheme;
    const struct pe_rotary_kind *rotary = scheme->encoding->rotary;
    size_t axis = axes > 1 && rotary && rotary->axes ? rotary->axes->pair_axis(scheme, pair) : 0;

    if (axis < 3)
        axis = orders[candidate->distortion.axes_order][axis];
    return axis < axes ? axis : 0;
}

/* Schemes of arithmetic=hf round positions and angles to float32. */
double pe_candidate_angle(const struct pe_candidate *candidate, double t, double w)
{
    const double angle = pe_frequencies_in_float32(pe_scheme_frequencies(candidate->scheme))
                             ? (double)((float)t * (float)w)
                             : t * w;

    return pe_round_to(angle, candidate->distortion.angles);
}

/* The relative error of an angle by the common formulas in float32. Up to three roundings of the
 * exponent (logarithm of the base, product with the pair, quotient) count by the exponent's size;
 * the power adds two units or so, scaling a few more, the product with the position one. */
static double float32_spread(double frequency)
{
    const double exponent = frequency > 0 ? fabs(pe_log(frequency)) : 0;

    return 0x1p-24 * (6 + 3 * exponent);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Every 32nd row is computed anew; those between are rotated by one step each and lose 2^-47. */
enum { ROTATED_ROWS = 32 };

static size_t axis_of(const struct pe_prediction *prediction, size_t pair)
{
    return pe_candidate_axis(prediction->candidate, prediction->positions->axes, pair);
}

double pe_prediction_position(const struct pe_prediction *prediction, size_t row, size_t pair)
{
    const struct pe_positions *positions = prediction->positions;
    const size_t axis = axis_of(prediction, pair);

    return positions->values ? positions->values[axis * positions->count + row]
                             : positions->start + positions->step * (double)row;
}

static void row_make(const struct pe_prediction *prediction, size_t row, double *cos, double *sin)
{
    for (size_t pair = 0; pair < prediction->pairs; pair++) {
        const double t = pe_candidate_position(prediction->candidate, axis_of(prediction, pair),
                                               pe_prediction_position(prediction, row, pair));
        const struct pe_circle at = pe_circle_at(
            pe_candidate_angle(prediction->candidate, t, prediction->frequencies[pair]));
        const bool swapped = prediction->candidate->distortion.swapped;
        cos[pair] = prediction->factor * (swapped ? at.sin : at.cos);
        sin[pair] = prediction->factor * (swapped ? at.cos : prediction->sign * at.sin);
    }
}

static void row_rotate(const struct pe_prediction *prediction, const double *before_cos,
                       const double *before_sin, double *cos, double *sin)
{
    for (size_t pair = 0; pair < prediction->pairs; pair++) {
        const double c = prediction->step_cos[pair], s = prediction->step_sin[pair];
        cos[pair] = before_cos[pair] * c - before_sin[pair] * s;
        sin[pair] = before_sin[pair] * c + before_cos[pair] * s;
    }
}

/* Do rows differ by one rotation that no operation of the candidate rounds? */
static bool is_evenly_spaced(const struct pe_prediction *prediction)
{
    const struct pe_distortion *distortion = &prediction->candidate->distortion;

    return !prediction->positions->values && distortion->positions == PE_F64 &&
           distortion->angles == PE_F64 &&
           !pe_frequencies_in_float32(pe_scheme_frequencies(prediction->candidate->scheme));
}

void pe_prediction_begin(struct pe_prediction *prediction, const struct pe_trial *trial,
                         const struct pe_positions *positions, double *buffer)
{
    const size_t pairs = trial->sample->pairs;

    *prediction = (struct pe_prediction){
        .candidate = trial->candidate,
        .positions = positions,
        .pairs = pairs,
        .factor = trial->factor,
        .sign =
            trial->candidate->distortion.backwards || trial->candidate->distortion.swapped ? -1 : 1,
        .frequencies = buffer,
        .step_cos = buffer + pairs,
        .step_sin = buffer + 2 * pairs,
        .spread = buffer + 3 * pairs,
    };
    pe_candidate_frequencies(trial->candidate, pairs, buffer);
    for (size_t pair = 0; pair < pairs; pair++)
        buffer[3 * pairs + pair] = float32_spread(buffer[pair]);
    prediction->evenly_spaced = is_evenly_spaced(prediction);
    for (size_t pair = 0; pair < pairs && prediction->evenly_spaced; pair++) {
        const struct pe_circle step = pe_circle_at(positions->step * buffer[pair]);
        buffer[pairs + pair] = step.cos;
        buffer[2 * pairs + pair] = prediction->sign * step.sin;
    }
}

void pe_prediction_rows(const struct pe_prediction *prediction, size_t begin, size_t rows,
                        double *cos, double *sin)
{
    for (size_t row = 0; row < rows; row++) {
        const size_t at = row * prediction->pairs;
        if (prediction->evenly_spaced && row % ROTATED_ROWS != 0)
            row_rotate(prediction, cos + at - prediction->pairs, sin + at - prediction->pairs,
                       cos + at, sin + at);
        else
            row_make(prediction, begin + row, cos + at, sin + at);
    }
}

double pe_prediction_angle(const struct pe_prediction *prediction, size_t row, size_t pair)
{
    return fabs(pe_prediction_position(prediction, row, pair) * prediction->frequencies[pair]);
}
