/* SPDX-License-Identifier: MIT */
#include "posenc/tolerance.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/errors.h"
#include "core/base/work.h"
#include "core/exact/angle.h"
#include "core/exact/elementary.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"
#include "posenc/comparison.h"

/* The bounds are derived in docs/internals/exactness.md, "Tolerances". */

/* Half an ulp of float32, relative. */
#define HALF_ULP 0x1p-24

/* A frequency may differ by four ulp from float32's operations with a correctly rounded power; a
 * cosine or sine by two ulp from that of its angle. */
#define FREQUENCY_ULPS (8 * HALF_ULP)
#define CIRCLE_ULPS    (4 * HALF_ULP)

/* For schemes without known float32 operations: a power, or an exponential, of a rounded exponent.
 */
#define POWER_ULPS 10.0

/* Relative error of the doubles computed here, and of an angle. */
#define DOUBLE_ERROR 0x1p-50

/* The least float: the error of a smaller product. */
#define LEAST 0x1p-149

static const struct {
    const char *name;
    enum pe_dtype dtype;
} paths[] = {
    [PE_PATH_F32_ANGLE] = {"f32-angle", PE_F32},
    [PE_PATH_BF16_CACHE] = {"bf16-cache", PE_BF16},
    [PE_PATH_F16_Q] = {"f16-q", PE_F16},
};

enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

struct frequency {
    double w;     /* without rounding, to a double */
    double error; /* of the frequency in float32 */
};

struct pe_tolerance {
    const struct pe_scheme *scheme;
    enum pe_dtype dtype;
    double factor;
    size_t pairs, columns;
    struct frequency *frequencies; /* [pairs] */
    double *first; /* [columns], the row of position 0 of a table to be added; or NULL */
    struct pe_work *work;
};

const char *pe_path_name(enum pe_path path)
{
    return (unsigned)path < PATHS ? paths[path].name : NULL;
}

enum pe_dtype pe_path_dtype(enum pe_path path)
{
    return (unsigned)path < PATHS ? paths[path].dtype : PE_F32;
}

/* ---- frequencies in float32 ------------------------------------------------------------------ */

/* Prepares the scheme in another arithmetic. *other NULL: its encoding or type of scaling does not
 * have that one. */
static enum pe_status scheme_with_arithmetic(struct pe_scheme **other,
                                             const struct pe_scheme *scheme, const char *arithmetic,
                                             struct pe_work *work, struct pe_error *err)
{
    const struct pe_encoding *encoding = scheme->encoding;
    struct pe_error refused = {0};
    struct pe_params params;

    *other = NULL;
    pe_params_init(&params, encoding->info.params, encoding->info.params_count);
    pe_params_set_pairs(&params, arithmetic, &refused);
    for (size_t i = 0; i < params.count && !refused.status; i++)
        if (scheme->params.values[i].given && !params.values[i].given)
            pe_params_set_value(&params, i, &params.list[i], &scheme->params.values[i], &refused);
    if (!refused.status)
        pe_scheme_new(other, encoding, &params, work, &refused);
    pe_params_free(&params);
    if (!refused.status || refused.status == PE_UNSUPPORTED ||
        refused.status == PE_UNKNOWN_PARAMETER)
        return PE_OK;
    *err = refused;
    return err->status;
}

static const struct pe_frequencies *frequencies_of(const struct pe_scheme *scheme)
{
    return pe_waves_of(scheme)->frequencies;
}

/* The largest error of a frequency computed in float32: its distance from the predicted float32
 * operations, and their own error. float32 NULL: the operations are unknown. */
static double frequency_error(const struct pe_scheme *float32, size_t pair, double w)
{
    if (float32) {
        const double near = pe_frequencies_near(frequencies_of(float32), pair);
        return fabs(near - w) + FREQUENCY_ULPS * near + DOUBLE_ERROR * w;
    }
    return (POWER_ULPS + (w > 0 ? 2 * fabs(pe_log(w)) : 0)) * HALF_ULP * w;
}

static enum pe_status frequencies_make(struct pe_tolerance *tolerance, struct pe_error *err)
{
    const struct pe_scheme *scheme = tolerance->scheme;
    const bool in_float32 = pe_frequencies_in_float32(frequencies_of(scheme));
    struct pe_scheme *other;

    if (scheme_with_arithmetic(&other, scheme, in_float32 ? "arithmetic=exact" : "arithmetic=hf",
                               tolerance->work, err))
        return err->status;
    const struct pe_scheme *exact = in_float32 && other ? other : scheme;
    const struct pe_scheme *float32 = in_float32 ? scheme : other;

    tolerance->factor = pe_frequencies_amplitude(frequencies_of(exact), PE_AMPLITUDE_FACTOR);
    for (size_t pair = 0; pair < tolerance->pairs; pair++) {
        const double w = pe_frequencies_near(frequencies_of(exact), pair);
        tolerance->frequencies[pair] = (struct frequency){w, frequency_error(float32, pair, w)};
    }
    pe_scheme_free(other);
    return PE_OK;
}

/* ---- construction ---------------------------------------------------------------------------- */

static bool is_supported(const struct pe_scheme *scheme)
{
    const struct pe_encoding *encoding = scheme->encoding;
    const struct pe_waves *waves = pe_waves_of(scheme);

    if (!scheme->prepared || !waves || !waves->frequencies)
        return false;
    return encoding->rotary ? pe_rotary_is_plain(encoding)
                            : pe_rows_are_free(encoding) && encoding->rows->sines &&
                                  encoding->rows->sines->column_pair;
}

/* The row of position 0 distinguishes sines, which are 0 there, from cosines. */
static enum pe_status first_make(struct pe_tolerance *tolerance, struct pe_error *err)
{
    const struct pe_scheme *scheme = tolerance->scheme;
    const struct pe_positions zero = {.count = 1};
    const struct pe_rows_part part = {&zero, 0, 1, PE_F64};

    if (scheme->encoding->rotary)
        return PE_OK;
    tolerance->columns = scheme->encoding->rows->width(scheme);
    tolerance->first = pe_memory_take(tolerance->work, tolerance->columns,
                                      sizeof(*tolerance->first), "a tolerance", err);
    return tolerance->first
               ? scheme->encoding->rows->fill(scheme, &part, tolerance->first, tolerance->work, err)
               : err->status;
}

enum pe_status pe_tolerance_new(struct pe_tolerance **out, const struct pe_scheme *scheme,
                                enum pe_path path, struct pe_work *work, struct pe_error *err)
{
    struct pe_tolerance *tolerance;

    *out = NULL;
    if (!pe_path_name(path) || !is_supported(scheme))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:tolerance_of",
                       "tolerances are of cosines and sines of pairs, in rows that stand at one "
                       "number each");
    tolerance = pe_memory_take(work, 1, sizeof(*tolerance), "a tolerance", err);
    if (!tolerance)
        return err->status;
    *tolerance = (struct pe_tolerance){.scheme = scheme,
                                       .dtype = paths[path].dtype,
                                       .pairs = pe_waves_of(scheme)->pairs,
                                       .work = work};
    tolerance->frequencies =
        pe_memory_take(work, tolerance->pairs, sizeof(*tolerance->frequencies), "a tolerance", err);
    if (!tolerance->frequencies || frequencies_make(tolerance, err) || first_make(tolerance, err)) {
        pe_tolerance_free(tolerance);
        return err->status;
    }
    *out = tolerance;
    return PE_OK;
}

void pe_tolerance_free(struct pe_tolerance *tolerance)
{
    if (!tolerance)
        return;
    pe_memory_give(tolerance->work, tolerance->frequencies, tolerance->pairs,
                   sizeof(*tolerance->frequencies));
    pe_memory_give(tolerance->work, tolerance->first, tolerance->columns,
                   sizeof(*tolerance->first));
    pe_memory_give(tolerance->work, tolerance, 1, sizeof(*tolerance));
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* The error of the angle t w in float32. */
static double angle_error(const struct frequency *frequency, double t)
{
    const double rounded = fabs((double)(float)t), shift = fabs((double)(float)t - t);
    const double product =
        HALF_ULP * rounded * (frequency->w + frequency->error) + (t != 0 ? LEAST : 0);

    return (rounded * frequency->error + shift * frequency->w + product) * (1 + DOUBLE_ERROR) +
           DOUBLE_ERROR * fabs(t) * frequency->w;
}

/* other: the derivative's magnitude (cos for a sine column, sin for a cosine column). */
static struct pe_interval value_bounds(double value, double other, double angle, double factor)
{
    const double bent = fmin(fmin(fabs(other) * angle + angle * angle / 2, angle), 2);
    const double off = bent + CIRCLE_ULPS * (1 + 0x1p-20) * (fabs(value) + bent) +
                       (angle > 0 ? LEAST : 0) + DOUBLE_ERROR * fabs(value);
    const double most = 1 + CIRCLE_ULPS;
    const double low = fmax(value - off, -most), high = fmin(value + off, most);
    /* The factor and the product with it are rounded. */
    const double scaled = factor == 1 ? 0 : (2 * HALF_ULP + 0x1p-46) * fmax(-low, high);

    return (struct pe_interval){factor * (low - scaled), factor * (high + scaled), factor * value,
                                factor * (off + scaled)};
}

/* Calls a function: gcc 12 drops one of two consecutive casts (double)(float)x. */
static struct pe_interval rounded(struct pe_interval interval, enum pe_dtype dtype)
{
    if (dtype != PE_F64) {
        interval.low = pe_round_to(interval.low, dtype);
        interval.high = pe_round_to(interval.high, dtype);
    }
    return interval;
}

enum pe_status pe_tolerance_interval(const struct pe_tolerance *tolerance, size_t pair,
                                     double position, bool is_sin, enum pe_dtype dtype,
                                     struct pe_interval *interval)
{
    if (pair >= tolerance->pairs || !(fabs(position) < 0x1p53))
        return PE_OUT_OF_RANGE;
    const struct frequency *frequency = &tolerance->frequencies[pair];
    const struct pe_circle at = pe_circle_at(position * frequency->w);
    const double angle = angle_error(frequency, position);

    *interval = is_sin ? value_bounds(at.sin, at.cos, angle, tolerance->factor)
                       : value_bounds(at.cos, at.sin, angle, tolerance->factor);
    *interval = rounded(rounded(rounded(*interval, PE_F32), tolerance->dtype), dtype);
    return PE_OK;
}

enum pe_status pe_tolerance_element(const struct pe_tolerance *tolerance, size_t output,
                                    size_t column, double position, enum pe_dtype dtype,
                                    struct pe_interval *interval)
{
    const size_t pair = pe_scheme_column_pair(tolerance->scheme, column);
    const bool is_sin = tolerance->first
                            ? column < tolerance->columns && tolerance->first[column] == 0
                            : output == 1;

    if (pair == SIZE_MAX)
        return PE_UNSUPPORTED;
    return pe_tolerance_interval(tolerance, pair, position, is_sin, dtype, interval);
}

/* ---- rotated elements ------------------------------------------------------------------------ */

/* All products of x and the interval, rounded to the dtype or not. */
static struct pe_interval product(double x, struct pe_interval of, enum pe_dtype dtype)
{
    const double a = x * of.low, b = x * of.high;
    const struct pe_interval exact = {fmin(a, b), fmax(a, b), x * of.real, fabs(x) * of.error};
    const struct pe_interval at = rounded(exact, dtype);

    return (struct pe_interval){fmin(exact.low, at.low), fmax(exact.high, at.high), exact.real,
                                exact.error};
}

void pe_tolerance_rotated(const struct pe_tolerance *tolerance,
                          const struct pe_tolerance_pair *pair, struct pe_interval intervals[2])
{
    const enum pe_dtype dtype = tolerance->dtype;
    const struct pe_interval x0_cos = product(pair->x[0], pair->cos, dtype),
                             x1_sin = product(pair->x[1], pair->sin, dtype),
                             x0_sin = product(pair->x[0], pair->sin, dtype),
                             x1_cos = product(pair->x[1], pair->cos, dtype);

    intervals[0] =
        rounded((struct pe_interval){x0_cos.low - x1_sin.high, x0_cos.high - x1_sin.low,
                                     x0_cos.real - x1_sin.real, x0_cos.error + x1_sin.error},
                dtype);
    intervals[1] =
        rounded((struct pe_interval){x0_sin.low + x1_cos.low, x0_sin.high + x1_cos.high,
                                     x0_sin.real + x1_cos.real, x0_sin.error + x1_cos.error},
                dtype);
}
