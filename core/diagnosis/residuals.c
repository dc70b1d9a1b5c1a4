/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/diagnosis/diagnosis.h"
#include "core/exact/angle.h"
#include "core/exact/elementary.h"
#include "posenc/comparison.h"

/* The distance of a candidate's values from the observed ones. Each error is measured twice: in
 * roundings of the value, and absolutely, for noise. */

/* Of an element whose angle may be wrong by `allowed`, the expected error is
 *     sigma = sqrt((SIGMA_ANGLE * allowed)^2 + SIGMA_NOISE^2).
 * The sum of (error / sigma)^2 is divided by the number of values of a pair, because these share
 * the error of the pair's frequency and count once. */
#define SIGMA_ANGLE 0.125
#define SIGMA_NOISE 0x1p-10

/* With fewer rows a wrong frequency may explain noise by chance. */
#define STRUCTURE_ROWS 8

/* Errors are small beside the values if their rms is at most this part of the values' rms. The
 * differences of unrelated values have more than twice as much. */
#define NEAR 0.25

/* Below this frequency f16 has no relative precision, so the noise is divided by no less. */
#define FREQUENCY_LEAST 0x1p-13

/* ---- visible bugs ---------------------------------------------------------------------------- */

static bool positions_change(const struct pe_candidate *candidate, const struct pe_sample *sample)
{
    const size_t axes = sample->axes > 1 ? sample->axes : 1;
    const struct pe_candidate plain = {.scheme = candidate->scheme};

    for (size_t i = 0; i < axes * sample->rows; i++)
        if (pe_candidate_position(candidate, i / sample->rows, sample->positions[i]) !=
            pe_candidate_position(&plain, i / sample->rows, sample->positions[i]))
            return true;
    return false;
}

/* Do one rotation more, or none, change a value? */
static bool rotations_change(const struct pe_candidate *candidate, const struct pe_sample *sample)
{
    const struct pe_candidate plain = {.scheme = candidate->scheme};
    const size_t axes = sample->axes > 1 ? sample->axes : 1;

    for (size_t i = 0; i < axes * sample->rows; i++)
        if (sample->positions[i] != 0)
            return true;
    return fabs(pe_candidate_factor(candidate) - pe_candidate_factor(&plain)) > 1e-9;
}

/* Is a pair of a sampled row rotated by another coordinate, of another value? */
static bool axes_change(const struct pe_candidate *candidate, const struct pe_sample *sample,
                        const double *frequencies)
{
    const struct pe_candidate plain = {.scheme = candidate->scheme};

    for (size_t pair = 0; pair < sample->pairs; pair++) {
        const double *a =
            sample->positions + sample->rows * pe_candidate_axis(candidate, sample->axes, pair);
        const double *b =
            sample->positions + sample->rows * pe_candidate_axis(&plain, sample->axes, pair);
        for (size_t row = 0; row < sample->rows && a != b && frequencies[pair] != 0; row++)
            if (a[row] != b[row])
                return true;
    }
    return false;
}

/* Do frequencies differ from those of a scheme? */
static bool frequencies_differ(const struct pe_scheme *scheme, const struct pe_sample *sample,
                               const double *frequencies)
{
    for (size_t pair = 0; pair < sample->pairs && pair < pe_waves_of(scheme)->pairs; pair++) {
        const double w = pe_frequencies_near(pe_scheme_frequencies(scheme), pair);
        if (fabs(frequencies[pair] - w) > 1e-6 * w)
            return true;
    }
    return false;
}

/* Does the candidate differ from a scheme in frequencies or factor? */
static bool differs(const struct pe_candidate *candidate, const struct pe_scheme *scheme,
                    const struct pe_sample *sample, const double *frequencies)
{
    const struct pe_candidate plain = {.scheme = scheme};

    return frequencies_differ(scheme, sample, frequencies) ||
           (!sample->frequencies &&
            fabs(pe_candidate_factor(candidate) - pe_candidate_factor(&plain)) > 1e-9);
}

/* Does a scheme with a wrong scaling only lack the attention factor, as longrope with factor 1
 * does? Another candidate has that bug. */
static bool lacks_factor(const struct pe_candidate *candidate, const struct pe_sample *sample,
                         const double *frequencies)
{
    return candidate->bug == PE_BUG_SCALING_WRONG && pe_candidate_factor(candidate) == 1 &&
           !frequencies_differ(candidate->unlike, sample, frequencies);
}

/* Does the bug change the sampled values? Otherwise the candidate equals another one. */
static bool is_visible(const struct pe_candidate *candidate, const struct pe_sample *sample,
                       const double *frequencies)
{
    const struct pe_distortion *distortion = &candidate->distortion;

    if (sample->frequencies &&
        (distortion->positions || distortion->angles || distortion->shift != 0 ||
         distortion->rotations || distortion->backwards))
        return false;
    if (distortion->rotations)
        return rotations_change(candidate, sample) &&
               (distortion->rotations < 0 || sample->computed);
    if (distortion->axes_order || candidate->sections)
        return axes_change(candidate, sample, frequencies);
    if (distortion->backwards && !sample->sin)
        return false;
    if (distortion->swapped && (sample->frequencies || sample->absolute))
        return false;
    if (candidate->unlike && candidate->unlike != candidate->scheme)
        return differs(candidate, candidate->unlike, sample, frequencies) &&
               !lacks_factor(candidate, sample, frequencies);
    if ((distortion->frequencies || distortion->half_minus_one || distortion->factors ||
         distortion->factor != 0) &&
        !differs(candidate, candidate->scheme, sample, frequencies))
        return false;
    return (!distortion->positions && distortion->shift == 0) ||
           positions_change(candidate, sample);
}

/* ---- distance from the sample ---------------------------------------------------------------- */

/* One value of a sample, and its prediction. */
struct element {
    double seen, predicted;
    size_t pair;
    double angle;    /* |t w| */
    double slope;    /* derivative of the prediction by the frequency */
    double unit;     /* factor from errors of the angle to errors of the value */
    double rounding; /* error of one rounding */
    double scale;    /* factor from errors to noise of equal variance */
};

static double most_of(double a, double b)
{
    return a > b ? a : b;
}

static void residual_add(struct pe_residual *residual, const struct element *element, double error,
                         double allowed)
{
    const double beyond = most_of(error - allowed * element->unit, 0);
    const double clean = beyond / element->rounding, noise = beyond * element->scale;

    if (allowed > PE_ANGLE_ERROR_INFORMATIVE)
        return;
    residual->count++;
    residual->clean_excess = most_of(residual->clean_excess, clean);
    residual->clean_squares += clean * clean;
    residual->noise_most = most_of(residual->noise_most, noise);
    residual->noise_squares += noise * noise;
    residual->likelihood +=
        error * error * element->scale * element->scale /
        (SIGMA_ANGLE * SIGMA_ANGLE * allowed * allowed + SIGMA_NOISE * SIGMA_NOISE);
}

/* Sums for the part of errors that a wrong frequency or a wrong factor explains. */
struct structure {
    double slope_error, slope_slope;         /* of one pair */
    double explained;                        /* of the finished pairs */
    double value_error, value_value, errors; /* of all pairs */
};

static void element_add(struct pe_trial *trial, struct structure *structure,
                        const struct element *element)
{
    const double signed_error = element->seen - element->predicted, error = fabs(signed_error);
    const double harmless = pe_angle_error_allowed(trial, PE_ALLOW_HARMLESS, element->angle);
    const double float32 = pe_angle_error_allowed(trial, PE_ALLOW_FLOAT32, element->angle);
    const double scaled = signed_error * element->scale;
    const enum pe_dtype dtype = trial->sample->dtype;
    const bool is_loud =
        trial->sample->frequencies || fabs(element->predicted) >= element->unit / 2;
    const bool is_slow = element->pair >= trial->sample->pairs / 2;
    uint64_t bits[2];

    if (isnan(element->seen))
        return;
    residual_add(&trial->residuals[PE_ALLOW_HARMLESS], element, error, harmless);
    residual_add(&trial->residuals[PE_ALLOW_FLOAT32], element, error, float32);
    if (trial->is_far ? is_slow : is_loud) {
        trial->quiet_count++;
        trial->quiet_squares += scaled * scaled;
        if (trial->sample->frequencies)
            trial->quiet_roots += sqrt(fabs(scaled));
    }
    if (float32 > harmless)
        trial->far_most = most_of(trial->far_most, fabs(scaled) - harmless * element->unit);
    structure->errors += scaled * scaled;
    structure->slope_error += scaled * element->slope * element->scale;
    structure->slope_slope += element->slope * element->slope * element->scale * element->scale;
    structure->value_error += scaled * element->predicted * element->scale;
    structure->value_value +=
        element->predicted * element->predicted * element->scale * element->scale;
    trial->max_abs = most_of(trial->max_abs, error);
    trial->rms += error * error * (trial->sample->weight ? element->scale : 1);
    pe_from_f64(&bits[0], dtype, &element->seen, 1);
    pe_from_f64(&bits[1], dtype, &element->predicted, 1);
    trial->max_ulp = most_of(trial->max_ulp, pe_ulps_apart(dtype, &bits[0], &bits[1]));
}

static void pair_close(struct structure *structure)
{
    if (structure->slope_slope > 0)
        structure->explained +=
            structure->slope_error * structure->slope_error / structure->slope_slope;
    structure->slope_error = structure->slope_slope = 0;
}

static void cell_measure(struct pe_trial *trial, struct structure *structure, size_t at, double t,
                         double w)
{
    const struct pe_candidate *candidate = trial->candidate;
    const struct pe_sample *sample = trial->sample;
    const double factor = trial->factor;
    const struct pe_circle at_angle = pe_circle_at(pe_candidate_angle(candidate, t, w));
    const bool swapped = candidate->distortion.swapped;
    const double sine = (candidate->distortion.backwards ? -factor : factor) * at_angle.sin;
    const double cosine = factor * at_angle.cos;
    /* Where several operations made a value, its error scales with the magnitude of the pair. */
    const double magnitude = sample->computed ? factor : 0;
    struct element element = {.pair = at % sample->pairs,
                              .angle = fabs(t * w),
                              .unit = factor,
                              .scale = sample->weight ? sqrt(sample->weight[at]) : 1};

    for (int part = 0; part < 2; part++) {
        const double *seen = part == 0 ? sample->cos : sample->sin;
        if (!seen)
            continue;
        element.seen = seen[at];
        element.predicted = (part == 0) != swapped ? cosine : sine;
        element.slope = (part == 0) != swapped ? -t * sine : t * cosine;
        element.rounding =
            pe_rounding_of(sample->precision, most_of(magnitude, fabs(element.predicted))) +
            0x1p-23 * factor;
        element_add(trial, structure, &element);
    }
}

static void frequency_measure(struct pe_trial *trial, struct structure *structure, size_t pair,
                              double w)
{
    const struct element element = {.seen = trial->sample->frequencies[pair],
                                    .predicted = w,
                                    .pair = pair,
                                    .angle = w,
                                    .unit = 1,
                                    .rounding = pe_rounding_of(PE_F32, w) + 0x1p-140,
                                    .scale = 1 / (w + FREQUENCY_LEAST)};

    element_add(trial, structure, &element);
}

/* Is any angle too large for float32? */
static bool is_far(const struct pe_sample *sample, const double *frequencies)
{
    const size_t axes = sample->axes > 1 ? sample->axes : 1;
    double most = 0, fastest = 0;

    for (size_t i = 0; i < axes * sample->rows; i++)
        most = most_of(most, fabs(sample->positions[i]));
    for (size_t pair = 0; pair < sample->pairs; pair++)
        fastest = most_of(fastest, frequencies[pair]);
    return pe_float32_hurts(most * fastest);
}

void pe_residuals_measure(struct pe_trial *trial, double *frequencies)
{
    const struct pe_candidate *candidate = trial->candidate;
    const struct pe_sample *sample = trial->sample;
    struct structure structure = {0};
    size_t count = 0;

    trial->bug = candidate->bug;
    trial->is_float32 = pe_scheme_frequencies(candidate->scheme) &&
                        pe_frequencies_in_float32(pe_scheme_frequencies(candidate->scheme));
    if (!pe_scheme_frequencies(candidate->scheme) ||
        pe_waves_of(candidate->scheme)->pairs < sample->pairs ||
        (candidate->distortion.half_minus_one && sample->pairs < 2))
        return;
    pe_candidate_frequencies(candidate, sample->pairs, frequencies);
    if (!is_visible(candidate, sample, frequencies))
        return;
    trial->factor = sample->frequencies ? 1 : pe_candidate_factor(candidate);
    trial->is_far = is_far(sample, frequencies);
    for (size_t pair = 0; pair < sample->pairs; pair++) {
        const size_t axis = pe_candidate_axis(candidate, sample->axes, pair);
        if (sample->frequencies)
            frequency_measure(trial, &structure, pair, frequencies[pair]);
        for (size_t row = 0; row < sample->rows; row++)
            cell_measure(trial, &structure, row * sample->pairs + pair,
                         pe_candidate_position(candidate, axis,
                                               sample->positions[axis * sample->rows + row]),
                         frequencies[pair]);
        pair_close(&structure);
    }
    trial->is_possible = isfinite(structure.value_value); /* frequencies in f16 may overflow */
    trial->is_near = structure.errors <= NEAR * NEAR * structure.value_value;
    for (int allowance = 0; allowance < PE_ALLOWANCES && sample->rows > 0; allowance++)
        trial->residuals[allowance].likelihood /=
            (double)sample->rows * ((sample->cos != NULL) + (sample->sin != NULL));
    count = trial->residuals[PE_ALLOW_HARMLESS].count;
    trial->rms = count > 0 ? sqrt(trial->rms / (double)count) : 0;
    if (structure.errors > 0 && sample->rows >= STRUCTURE_ROWS)
        trial->structure =
            most_of(structure.explained, structure.value_error * structure.value_error /
                                             most_of(structure.value_value, 0x1p-1000)) /
            structure.errors;
}
