/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/diagnosis/diagnosis.h"

/* How far the values of a whole table may be from those that its explanation makes: as far as those
 * of the sample are, which the verdict has found to be rounding or noise. */

/* The largest error of all values is not seen in a sample: it may be so many times as large as the
 * largest there. */
#define ROOM_ROUNDING 2.0
#define ROOM_GRANT    2.0
#define ROOM_SHARE    4.0

/* Errors of angles up to so many times the rounding that is granted to values hide behind it in a
 * sample, but for the few values near 0. */
#define ROOM_HIDDEN 4.0

static double granted(const struct pe_bounds *bounds, double angle)
{
    return pe_grant_of(bounds->trial, bounds->grant, angle) * bounds->trial->factor;
}

static double rounding(const struct pe_bounds *bounds, double value)
{
    const double magnitude = fabs(value) > bounds->least ? fabs(value) : bounds->least;

    return bounds->unit * magnitude + bounds->beside;
}

/* The error of an angle that float32 may have made where the sample could not show it. */
static double hidden(const struct pe_bounds *bounds, const struct pe_bounded *value)
{
    const double most = ROOM_HIDDEN * rounding(bounds, bounds->trial->factor);

    return fmin(value->spread * value->angle * bounds->trial->factor, most);
}

bool pe_bounds_pass(const struct pe_bounds *bounds, const struct pe_bounded *value)
{
    const double grant = granted(bounds, value->angle);
    const double tiny = value->length > 0 ? bounds->smallest / value->length : 0;
    const double rounded = rounding(bounds, value->value) + tiny;
    const double noise = bounds->noise > 0 ? bounds->noise / value->scale : 0;
    const double angle = fmax(bounds->share * grant, hidden(bounds, value));

    return value->error <= angle + (rounded > noise ? rounded : noise) ||
           (grant > PE_GRANT_TELLING * bounds->trial->factor && !isnan(value->error));
}

/* ---- the sample's own errors ----------------------------------------------------------------- */

/* The rows of the sample again, as they are predicted. */
struct look {
    const struct pe_bounds *bounds;
    const struct pe_sample *sample;
    struct pe_prediction prediction;
    double *cos, *sin; /* of one row */
};

/* The largest part of the error that is granted which a row's values make use of, and the sum of
 * the squares of what lies beyond that error. */
static void row_look(const struct look *look, size_t row, double *share, double *squares)
{
    const struct pe_sample *sample = look->sample;

    pe_prediction_rows(&look->prediction, row, 1, look->cos, look->sin);
    for (size_t i = 0; i < 2 * sample->pairs; i++) {
        const size_t pair = i / 2, at = row * sample->pairs + pair;
        const double *seen = i % 2 ? sample->sin : sample->cos;
        const double made = i % 2 ? look->sin[pair] : look->cos[pair];
        if (!seen || isnan(seen[at]))
            continue;
        const double error = fabs(seen[at] - made);
        const double grant =
            granted(look->bounds, pe_prediction_angle(&look->prediction, row, pair));
        const double weight = sample->weight ? sample->weight[at] : 1;
        if (grant > 0)
            *share = fmax(*share, (error - rounding(look->bounds, made)) / grant);
        if (error > grant)
            *squares += weight * (error - grant) * (error - grant);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The share of all rows, and the rms of errors in the middle one: noise, where most are good. */
static enum pe_status rows_look(const struct look *look, struct pe_work *work, double *share,
                                double *rms, struct pe_error *err)
{
    const struct pe_sample *sample = look->sample;
    const size_t parts = sample->cos && sample->sin ? 2 : 1;
    double *squares;

    if (sample->rows == 0)
        return PE_OK;
    squares = pe_memory_take(work, sample->rows, sizeof(*squares), "a diagnosis", err);
    if (!squares)
        return err->status;
    for (size_t row = 0; row < sample->rows; row++)
        row_look(look, row, share, &squares[row]);
    qsort(squares, sample->rows, sizeof(*squares), by_size);
    *rms = sqrt(squares[sample->rows / 2] / (double)(sample->pairs * parts));
    pe_memory_give(work, squares, sample->rows, sizeof(*squares));
    return PE_OK;
}

enum pe_status pe_bounds_make(struct pe_bounds *bounds, const struct pe_explanation *explanation,
                              const struct pe_prediction *of, double *const room[2],
                              struct pe_work *work, struct pe_error *err)
{
    const struct pe_trial *trial = explanation->trial;
    const struct pe_sample *sample = trial->sample;
    const struct pe_positions positions = {
        .values = sample->positions, .count = sample->rows, .axes = sample->axes};
    const double times = ROOM_ROUNDING * pe_roundings_granted(sample);
    const double least = pe_rounding_of(sample->precision, 0);
    struct look look = {bounds, sample, *of, room[0], room[1]};
    double share = 0, rms = 0;

    look.prediction.positions = &positions;
    look.prediction.even = false;
    *bounds = (struct pe_bounds){.trial = trial,
                                 .grant = explanation->grant,
                                 .share = ROOM_GRANT,
                                 .unit = times * (pe_rounding_of(sample->precision, 1) - least),
                                 .beside = times * (least + 0x1p-23 * trial->factor),
                                 .least = sample->computed ? trial->factor : 0,
                                 .smallest = times * least};
    if (rows_look(&look, work, &share, &rms, err))
        return err->status;
    if (!trial->fits)
        bounds->noise = pe_noise_of(rms, trial->factor);
    else if (explanation->noisy)
        bounds->noise = pe_noise_granted(trial, explanation->grant);
    else if (sample->precision <=
             PE_F32) /* coarser ones hide the errors of angles in most values */
        bounds->share = fmin(ROOM_GRANT, ROOM_SHARE * share);
    return PE_OK;
}
