/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/diagnosis/diagnosis.h"

/* Values that memory holds which was never written: zeros, subnormal, huge or non-finite numbers,
 * one value or a short pattern repeated. Cosines and sines lie on circles of one radius, the
 * attention factor, so that no table has such values, whatever its scheme. */

/* Outside of these bounds a value is no cosine, sine or radius, and no frequency. */
#define RADIUS_LEAST    0x1p-6
#define RADIUS_MOST     0x1p6
#define VALUE_LEAST     0x1p-100
#define VALUE_MOST      0x1p12
#define FREQUENCY_LEAST 0x1p-50

/* At least so many eighths of the values are outside: of those of a table, and of frequencies,
 * whose bounds bits drawn at random meet more often. */
enum { EIGHTHS_OF_ROWS = 7, EIGHTHS_OF_FREQUENCIES = 5 };

/* The longest pattern of rows that is looked for. */
enum { PATTERN_ROWS = 8 };

static bool are_most(size_t bad, size_t count, size_t eighths)
{
    return count > 0 && 8 * bad >= eighths * count;
}

/* False for NaN. */
static bool is_between(double value, double least, double most)
{
    return value >= least && value <= most;
}

/* ---- frequencies ----------------------------------------------------------------------------- */

/* Does a list consist of a pattern of `period` values? */
static bool repeats(const double *values, size_t count, size_t period)
{
    return memcmp(values, values + period, (count - period) * sizeof(*values)) == 0;
}

static bool are_frequencies_garbage(const struct pe_sample *sample)
{
    size_t count = sample->pairs, bad = 0;

    /* Pairs of a part of the head that does not rotate are zeros at the end. */
    while (count > 0 && sample->frequencies[count - 1] == 0)
        count--;
    for (size_t i = 0; i < count; i++)
        bad += !is_between(sample->frequencies[i], FREQUENCY_LEAST, VALUE_MOST);
    if (count == 0 || are_most(bad, count, EIGHTHS_OF_FREQUENCIES))
        return true;
    for (size_t period = 1; 2 * period < count; period++)
        if (repeats(sample->frequencies, count, period))
            return true;
    return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The squares of the radii of all observed pairs. */
struct radii {
    size_t count, bad;
    double least, most;
    bool are_equal; /* all cosines and sines are one value */
};

static struct radii radii_of(const struct pe_sample *sample)
{
    struct radii radii = {.least = INFINITY, .are_equal = true};
    const double *cos = sample->cos, *sin = sample->sin;
    double first = NAN;

    for (size_t i = 0; i < sample->rows * sample->pairs; i++) {
        const double square = cos[i] * cos[i] + sin[i] * sin[i];
        if (isnan(cos[i]) || isnan(sin[i]))
            continue;
        if (radii.count++ == 0)
            first = cos[i];
        radii.bad += !is_between(square, RADIUS_LEAST * RADIUS_LEAST, RADIUS_MOST * RADIUS_MOST);
        radii.least = fmin(radii.least, square);
        radii.most = fmax(radii.most, square);
        radii.are_equal = radii.are_equal && cos[i] == first && sin[i] == first;
    }
    return radii;
}

/* Do radii differ by more than rounding and noise could make them? */
static bool are_spread(const struct radii *radii)
{
    return radii->most > 4 * radii->least || !isfinite(radii->most);
}

/* Does each row equal the one `distance` later? */
static bool rows_repeat(const struct pe_sample *sample, size_t distance)
{
    const size_t count = (sample->rows - distance) * sample->pairs,
                 ahead = distance * sample->pairs;

    return memcmp(sample->cos, sample->cos + ahead, count * sizeof(double)) == 0 &&
           memcmp(sample->sin, sample->sin + ahead, count * sizeof(double)) == 0;
}

/* Does each row consist of a pattern of `period` columns? */
static bool columns_repeat(const struct pe_sample *sample, size_t period)
{
    for (size_t row = 0; row < sample->rows; row++)
        if (!repeats(sample->cos + row * sample->pairs, sample->pairs, period) ||
            !repeats(sample->sin + row * sample->pairs, sample->pairs, period))
            return false;
    return true;
}

/* Do the radii within most rows differ? Rows of one radius may be right, damaged or not rotated. */
static bool are_rows_spread(const struct pe_sample *sample)
{
    struct pe_sample row = *sample;
    size_t spread = 0;

    row.rows = 1;
    for (size_t i = 0; i < sample->rows; i++) {
        row.cos = sample->cos + i * sample->pairs;
        row.sin = sample->sin + i * sample->pairs;
        const struct radii radii = radii_of(&row);
        spread += radii.count > 0 && are_spread(&radii);
    }
    return are_most(spread, sample->rows, EIGHTHS_OF_ROWS);
}

static bool is_pattern(const struct pe_sample *sample)
{
    if (!are_rows_spread(sample))
        return false;
    for (size_t distance = 1; distance <= PATTERN_ROWS && 2 * distance <= sample->rows; distance++)
        if (rows_repeat(sample, distance))
            return true;
    for (size_t period = 1; 2 * period <= sample->pairs && !sample->computed; period++)
        if (columns_repeat(sample, period))
            return true;
    return false;
}

static bool are_pairs_garbage(const struct pe_sample *sample)
{
    const struct radii radii = radii_of(sample);

    if (radii.count < 2)
        return false;
    if (radii.are_equal)
        return true;
    /* A table that is multiplied by a number is a table. */
    if (!are_spread(&radii) && radii.least > VALUE_LEAST * VALUE_LEAST)
        return false;
    return are_most(radii.bad, radii.count, EIGHTHS_OF_ROWS) || is_pattern(sample);
}

/* Of cosines alone, or sines alone, which at position 0 are zeros. */
static bool are_values_garbage(const struct pe_sample *sample)
{
    const double *values = sample->cos ? sample->cos : sample->sin;
    size_t bad = 0, observed = 0;

    for (size_t i = 0; i < sample->rows * sample->pairs; i++) {
        if (isnan(values[i]) || (values[i] == 0 && sample->positions[i / sample->pairs] == 0))
            continue;
        observed++;
        bad += !is_between(fabs(values[i]), VALUE_LEAST, VALUE_MOST);
    }
    return are_most(bad, observed, EIGHTHS_OF_ROWS);
}

bool pe_sample_is_uninitialized(const struct pe_sample *sample)
{
    if (sample->frequencies)
        return are_frequencies_garbage(sample);
    if (sample->cos && sample->sin)
        return are_pairs_garbage(sample);
    return are_values_garbage(sample);
}
