/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/sanitizer.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/exact/elementary.h"
#include "core/scheme/rotary.h"
#include "core/views/table.h"

#define BASE_MAX 1e30

/* The largest frequency, half of the range of struct pe_frequency. */
#define FREQUENCY_MAX 0x1p62

enum { SERIES_FALLING, SERIES_RISING, SERIES_LINEAR };
enum { UNIT_RADIAN, UNIT_QUARTER, UNIT_HALF, UNIT_TURN };
enum { ORDER_BLOCKS, ORDER_ALTERNATING };
enum { COORDINATES_INDEX, COORDINATES_CENTRES, COORDINATES_ENDS, COORDINATES_FRACTIONS };
enum { PI = PE_ROTARY_AXES_MAX }; /* the shared number after the rates */

static const struct pe_param params[] = {
    {.name = "axes_dim",
     .aliases = "axes_dims,axes_dims_rope,axes_dim_rope,rope_axes_dim,rope_dim_list",
     .type = PE_NUMBERS,
     .min = 0,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "The number of elements that rotate with each coordinate, an even number for each: "
            "16,56,56."},
    {.name = "dim",
     .aliases = "head_dim,attention_head_dim",
     .type = PE_INTEGER,
     .min = 2,
     .max = 1 << 20,
     .unit = "elements",
     .doc = "The number of elements in a head; the sum of axes_dim if absent. Elements after that "
            "sum do not rotate; with order=alternating those are the first ones."},
    {.name = "base",
     .aliases = "rope_theta,theta",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = BASE_MAX,
     .fallback = "10000",
     .doc = "The base of the frequencies."},
    {.name = "axes_base",
     .type = PE_NUMBERS,
     .min = 1,
     .above_min = true,
     .max = BASE_MAX,
     .doc = "The base of each axis, instead of base."},
    {.name = "min_period",
     .type = PE_NUMBER,
     .min = 1e-9,
     .max = BASE_MAX,
     .doc = "With max_period, instead of base: the frequencies of an axis of n pairs are one over "
            "periods p = min_period (max_period / min_period)^(k / (n - 1)), from min_period to "
            "max_period (DINOv3)."},
    {.name = "max_period",
     .type = PE_NUMBER,
     .min = 1e-9,
     .max = BASE_MAX,
     .doc = "The last period, with min_period."},
    {.name = "axes_factor",
     .aliases = "rope_scale",
     .type = PE_NUMBERS,
     .min = 0,
     .above_min = true,
     .max = 1e6,
     .doc = "The NTK factor of each axis: the base b of an axis of d elements becomes b factor^(d "
            "/ (d - 2)) (Cosmos)."},
    {.name = "series",
     .type = PE_CHOICE,
     .choices = "falling,rising,linear",
     .fallback = "falling",
     .doc =
         "The frequencies of an axis of n pairs, k = 0 .. n - 1. falling: base^(-k / n). rising: "
         "base^(k / (n - 1)) (LTX; timm's pixel bands, base being half of max_freq). linear: 1 "
         "+ k (base - 1) / (n - 1) (pixel frequencies in equal steps to half of max_freq)."},
    {.name = "unit",
     .type = PE_CHOICE,
     .choices = "radian,quarter-turn,half-turn,turn",
     .fallback = "radian",
     .doc = "The unit of the frequencies, exact: quarter-turn is pi / 2 (LTX), half-turn pi (pixel "
            "frequencies), turn 2 pi (DINOv3)."},
    {.name = "axes_coordinates",
     .type = PE_CHOICE,
     .choices = "index,centres=centers,ends=linspace,fractions,ratio",
     .fallback = "index",
     .doc =
         "The coordinate that a position u on an axis of axes_size n stands for, exact. index: u "
         "itself. centres: (2u + 1) / n - 1, the centres of n patches between -1 and 1 "
         "(DINOv3). ends: 2u / (n - 1) - 1, n points from -1 to 1 (pixel frequencies). "
         "fractions: 2u / n - 1 (LTX, n being the size of a base grid). ratio: u r / n, r being "
         "that of axes_reference (EVA-02; frames by frames a second, Cosmos)."},
    {.name = "axes_size",
     .aliases = "feat_shape",
     .type = PE_NUMBERS,
     .min = 0,
     .above_min = true,
     .max = 1 << 30,
     .doc = "The size n of each axis for axes_coordinates: the number of patches, that of a base "
            "grid, or frames a second; 1 for an axis that a ratio leaves as it is."},
    {.name = "axes_reference",
     .aliases = "ref_feat_shape",
     .type = PE_NUMBERS,
     .min = 0,
     .above_min = true,
     .max = 1 << 30,
     .doc = "With axes_coordinates=ratio: the size r of each axis that a model was made for."},
    {.name = "order",
     .type = PE_CHOICE,
     .choices = "blocks,alternating",
     .fallback = "blocks",
     .doc = "The order of the pairs. blocks: axis after axis. alternating: the first pair of each "
            "axis, the second of each, and so on, after the elements of dim that do not rotate "
            "(LTX, whose dim is the width of all heads together)."},
};

/* The number of an axis in a list that may be absent. */
static double axis_number(const struct pe_scheme *scheme, const char *name, size_t axis,
                          double absent)
{
    const struct pe_value *list = pe_param_value(&scheme->params, name);

    return list->present ? list->list[axis] : absent;
}

static size_t width_of(const struct pe_scheme *scheme, size_t axis)
{
    return (size_t)axis_number(scheme, "axes_dim", axis, 0);
}

static double base_of(const struct pe_scheme *scheme, size_t axis)
{
    return axis_number(scheme, "axes_base", axis, pe_param_number(&scheme->params, "base"));
}

static double factor_of(const struct pe_scheme *scheme, size_t axis)
{
    return axis_number(scheme, "axes_factor", axis, 1);
}

static int choice(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_choice(&scheme->params, name);
}

/* ---- the state ------------------------------------------------------------------------------- */

/* A coordinate is (u + offset) times multiplier / divisor, which is a factor of the frequencies. */
struct coordinates {
    double offset, multiplier, divisor;
};

/* The state of a scheme: its parameters, read once. */
struct axial {
    struct pe_rotary rotary;
    size_t pairs[PE_ROTARY_AXES_MAX]; /* of each axis */
    struct coordinates coordinates[PE_ROTARY_AXES_MAX];
    int series, unit;
    bool alternating;
    bool has_periods; /* instead of a base */
    double period, last_period;
    size_t still; /* pairs that do not rotate and come first */
};

static struct coordinates coordinates_read(const struct pe_scheme *scheme, size_t axis)
{
    const double size = axis_number(scheme, "axes_size", axis, 1);

    switch (choice(scheme, "axes_coordinates")) {
    case COORDINATES_INDEX:
        return (struct coordinates){0, 1, 1};
    case COORDINATES_CENTRES:
        return (struct coordinates){(1 - size) / 2, 2, size};
    case COORDINATES_ENDS:
        return (struct coordinates){(1 - size) / 2, 2, size - 1};
    case COORDINATES_FRACTIONS:
        return (struct coordinates){-size / 2, 2, size};
    default:
        return (struct coordinates){0, axis_number(scheme, "axes_reference", axis, 1), size};
    }
}

/* For parameters that are checked. */
static void state_set(struct pe_scheme *scheme, size_t sum)
{
    struct axial *axial = scheme->state;
    struct pe_rotary *rotary = &axial->rotary;

    axial->series = choice(scheme, "series");
    axial->unit = choice(scheme, "unit");
    axial->alternating = choice(scheme, "order") == ORDER_ALTERNATING;
    axial->has_periods = pe_param_value(&scheme->params, "min_period")->present;
    axial->period = axial->has_periods ? pe_param_number(&scheme->params, "min_period") : 1;
    axial->last_period = axial->has_periods ? pe_param_number(&scheme->params, "max_period") : 1;
    rotary->head_dim = (size_t)pe_param_number(&scheme->params, "dim");
    rotary->rotary_dim = axial->alternating ? rotary->head_dim : sum;
    rotary->waves.pairs = rotary->rotary_dim / 2;
    axial->still = rotary->waves.pairs - sum / 2;
    for (size_t i = 0; i < rotary->axes_count; i++) {
        axial->pairs[i] = width_of(scheme, i) / 2;
        axial->coordinates[i] = coordinates_read(scheme, i);
        rotary->offsets[i] = axial->coordinates[i].offset;
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum pe_status widths_check(const struct pe_scheme *scheme, size_t *sum,
                                   struct pe_error *err)
{
    static const char where[] = "parameter:axes_dim";
    const struct pe_value *widths = pe_param_value(&scheme->params, "axes_dim");

    *sum = 0;
    if (widths->list_count == 0 || widths->list_count > PE_ROTARY_AXES_MAX)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "axes_dim must have 1 to %d numbers, one for each coordinate: got %zu",
                       PE_ROTARY_AXES_MAX, widths->list_count);
    for (size_t i = 0; i < widths->list_count; i++) {
        if (fmod(widths->list[i], 2) != 0)
            return pe_fail(err, PE_INVALID, where, "axes_dim must be even whole numbers, got %.17g",
                           widths->list[i]);
        *sum += width_of(scheme, i);
    }
    if (*sum == 0 || *sum > 1 << 20)
        return pe_fail(err, PE_OUT_OF_RANGE, where,
                       "the numbers of axes_dim must add up to 2 to %d, got %zu", 1 << 20, *sum);
    return PE_OK;
}

static enum pe_status lengths_check(const struct pe_scheme *scheme, size_t axes,
                                    struct pe_error *err)
{
    static const char *const names[] = {"axes_base", "axes_factor", "axes_size", "axes_reference"};
    char where[32];

    for (size_t i = 0; i < 4; i++) {
        const struct pe_value *list = pe_param_value(&scheme->params, names[i]);
        snprintf(where, sizeof(where), "parameter:%s", names[i]);
        if (list->present && list->list_count != axes)
            return pe_fail(err, PE_SHAPE_MISMATCH, where,
                           "%s has %zu numbers, axes_dim has %zu: one for each axis is needed",
                           names[i], list->list_count, axes);
    }
    if (pe_param_value(&scheme->params, "axes_base")->present &&
        pe_param_given(&scheme->params, "base"))
        return pe_fail(err, PE_CONFLICT, "parameter:base",
                       "base is that of all axes and axes_base that of each; give one");
    return PE_OK;
}

/* Periods are two, and are all that the frequencies are made of. */
static enum pe_status periods_check(const struct pe_scheme *scheme, struct pe_error *err)
{
    static const char *const others[] = {"base", "axes_base", "axes_factor", "series"};
    const struct pe_value *first = pe_param_value(&scheme->params, "min_period");
    const struct pe_value *last = pe_param_value(&scheme->params, "max_period");
    char where[32];

    if (!first->present && !last->present)
        return PE_OK;
    if (!first->present || !last->present)
        return pe_fail(err, PE_MISSING,
                       first->present ? "parameter:max_period" : "parameter:min_period",
                       "min_period and max_period belong together: give both");
    if (first->number >= last->number)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:max_period",
                       "max_period must be above min_period, %.17g: got %.17g", first->number,
                       last->number);
    for (size_t i = 0; i < 4; i++) {
        snprintf(where, sizeof(where), "parameter:%s", others[i]);
        if (pe_param_given(&scheme->params, others[i]))
            return pe_fail(err, PE_CONFLICT, where, "min_period and max_period are instead of %s",
                           others[i]);
    }
    return PE_OK;
}

/* The base of each axis, with its factor, lies in (1, 1e30]. */
static enum pe_status bases_check(const struct pe_scheme *scheme, size_t axes, struct pe_error *err)
{
    static const char where[] = "parameter:axes_factor";

    for (size_t i = 0; i < axes; i++) {
        const double width = (double)width_of(scheme, i), factor = factor_of(scheme, i);
        if (factor == 1 || width == 0)
            continue;
        if (width == 2)
            return pe_fail(err, PE_INVALID, where,
                           "axis %zu has one pair: its base has no factor but 1", i);
        const double log = pe_log(base_of(scheme, i)) + width / (width - 2) * pe_log(factor);
        if (!(log > 0x1p-20 && log <= pe_log(BASE_MAX)))
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "the base of axis %zu, %g, becomes e^%g with factor %g: it must be "
                           "above 1 and at most 1e30",
                           i, base_of(scheme, i), log, factor);
    }
    return PE_OK;
}

/* Sizes are there where they have a meaning, and only there. */
static enum pe_status sizes_check(const struct pe_scheme *scheme, size_t axes, struct pe_error *err)
{
    const int kind = choice(scheme, "axes_coordinates");
    const bool is_ratio = kind > COORDINATES_FRACTIONS;
    const bool is_counted = kind == COORDINATES_CENTRES || kind == COORDINATES_ENDS;
    const struct pe_value *sizes = pe_param_value(&scheme->params, "axes_size");
    const struct pe_value *reference = pe_param_value(&scheme->params, "axes_reference");

    if (sizes->present != (kind != COORDINATES_INDEX))
        return pe_fail(err, sizes->present ? PE_CONFLICT : PE_MISSING, "parameter:axes_size",
                       sizes->present ? "axes_size is for axes_coordinates other than index"
                                      : "axes_size is required: the size of each axis, which "
                                        "axes_coordinates are relative to");
    if (reference->present != is_ratio)
        return pe_fail(err, reference->present ? PE_CONFLICT : PE_MISSING,
                       "parameter:axes_reference",
                       reference->present ? "axes_reference is for axes_coordinates=ratio"
                                          : "axes_reference is required: the size of each axis "
                                            "that the model was made for");
    for (size_t i = 0; i < axes && is_counted; i++) {
        const double size = sizes->list[i], least = kind == COORDINATES_ENDS ? 2 : 1;
        if (size != floor(size) || size < least)
            return pe_fail(err, PE_INVALID, "parameter:axes_size",
                           "axes_size must be whole numbers of at least %.0f, got %.17g", least,
                           size);
    }
    return PE_OK;
}

/* Alternating axes are alike, and factors are those of falling frequencies. */
static enum pe_status order_check(const struct pe_scheme *scheme, size_t axes, struct pe_error *err)
{
    const bool has_factors = pe_param_value(&scheme->params, "axes_factor")->present;

    if (has_factors && choice(scheme, "series") != SERIES_FALLING)
        return pe_fail(err, PE_CONFLICT, "parameter:axes_factor",
                       "axes_factor is for series=falling");
    if (choice(scheme, "order") != ORDER_ALTERNATING)
        return PE_OK;
    if (has_factors || pe_param_value(&scheme->params, "axes_base")->present)
        return pe_fail(err, PE_CONFLICT, "parameter:order",
                       "alternating axes have one base: give base");
    for (size_t i = 1; i < axes; i++)
        if (width_of(scheme, i) != width_of(scheme, 0))
            return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:axes_dim",
                           "alternating axes must have one width, got %zu and %zu",
                           width_of(scheme, 0), width_of(scheme, i));
    if (fmod(pe_param_number(&scheme->params, "dim"), 2) != 0)
        return pe_fail(err, PE_INVALID, "parameter:dim",
                       "dim must be even with order=alternating: got %.0f",
                       pe_param_number(&scheme->params, "dim"));
    return PE_OK;
}

/* Sets the bound of the frequencies; 0, which is 1, for those of most models. */
static enum pe_status bound_set(struct pe_scheme *scheme, struct pe_error *err)
{
    static const double units[] = {1, 1.5708, 3.1416, 6.2832}; /* above them */
    struct axial *axial = scheme->state;
    double bound = 0;

    for (size_t i = 0; i < axial->rotary.axes_count; i++) {
        const struct coordinates *coordinates = &axial->coordinates[i];
        const double last =
            axial->series == SERIES_FALLING ? 1 / axial->period : base_of(scheme, i);
        if (axial->pairs[i] > 0)
            bound = fmax(bound, units[axial->unit] * last * coordinates->multiplier /
                                    coordinates->divisor);
    }
    if (bound > FREQUENCY_MAX)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:base",
                       "the largest frequency is %g: it must be at most 2^62", bound);
    axial->rotary.waves.bound = bound <= 1 ? 0 : bound * (1 + 0x1p-40);
    return PE_OK;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    struct pe_value *dim = &scheme->params.values[pe_params_find(&scheme->params, "dim")];
    struct pe_value *base = &scheme->params.values[pe_params_find(&scheme->params, "base")];
    struct pe_rotary *rotary = scheme->state;
    size_t sum;

    if (widths_check(scheme, &sum, err))
        return err->status;
    rotary->axes_count = pe_param_value(&scheme->params, "axes_dim")->list_count;
    if (lengths_check(scheme, rotary->axes_count, err) ||
        sizes_check(scheme, rotary->axes_count, err) || periods_check(scheme, err) ||
        bases_check(scheme, rotary->axes_count, err))
        return err->status;
    if (pe_param_value(&scheme->params, "axes_base")->present ||
        pe_param_value(&scheme->params, "min_period")->present)
        base->present = false;
    if (!dim->present) {
        dim->present = true;
        dim->number = (double)sum;
    }
    if (dim->number < (double)sum)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:axes_dim",
                       "axes_dim adds up to %zu, dim is %.0f: no more than a head can rotate", sum,
                       dim->number);
    if (order_check(scheme, rotary->axes_count, err))
        return err->status;
    state_set(scheme, sum);
    return bound_set(scheme, err);
}

/* ---- frequencies ----------------------------------------------------------------------------- */

/* The axis of a pair, and its index k on it. Pairs that do not rotate are those of axis 0. */
static size_t axis_of(const struct pe_scheme *scheme, size_t pair, size_t *k)
{
    const struct axial *axial = scheme->state;
    size_t axis = 0;

    *k = 0;
    if (pair < axial->still)
        return 0;
    if (axial->alternating) {
        *k = (pair - axial->still) / axial->rotary.axes_count;
        return (pair - axial->still) % axial->rotary.axes_count;
    }
    for (*k = pair; *k >= axial->pairs[axis]; axis++)
        *k -= axial->pairs[axis];
    return axis;
}

static size_t pair_axis(const struct pe_scheme *scheme, size_t pair)
{
    size_t k;

    return axis_of(scheme, pair, &k);
}

static const struct axial *axial_of(const void *context)
{
    return ((const struct pe_scheme *)context)->state;
}

/* Alternating axes share a rate, and so the powers of neighbouring pairs. */
static size_t series(const void *context, size_t pair)
{
    return axial_of(context)->alternating ? 0 : pair_axis(context, pair);
}

static size_t steps(const void *context, size_t pair)
{
    size_t k;

    axis_of(context, pair, &k);
    return axial_of(context)->series == SERIES_LINEAR ? 0 : k;
}

/* -ln(b) / (n - 1), for n pairs. */
static struct pe_wide rising_rate(const struct pe_scheme *scheme, unsigned bits, size_t axis)
{
    const size_t pairs = width_of(scheme, axis) / 2;

    return pe_wide_negate(pe_wide_div_uint(pe_wide_log(pe_wide_of(bits, base_of(scheme, axis))),
                                           pairs > 1 ? pairs - 1 : 1));
}

/* ln(max_period / min_period) / (n - 1), for n pairs. A ratio near 1 takes 52 bits of the
 * logarithm: 64 bits more. */
static struct pe_wide periods_rate(const struct pe_scheme *scheme, unsigned bits, size_t axis)
{
    const struct axial *axial = scheme->state;
    const size_t pairs = axial->pairs[axis];
    const struct pe_wide ratio =
        pe_wide_div_double(pe_wide_of(bits + 64, axial->last_period), axial->period);

    return pe_wide_cut(pe_wide_div_uint(pe_wide_log(ratio), pairs > 1 ? pairs - 1 : 1), bits);
}

/* ln(b f^(d / (d - 2))) / (d / 2). A factor below 1 cancels up to 2^26 of ln b: 64 bits more. */
static struct pe_wide falling_rate(const struct pe_scheme *scheme, unsigned bits, size_t axis)
{
    const size_t width = width_of(scheme, axis);
    const double factor = factor_of(scheme, axis);
    struct pe_wide log = pe_wide_log(pe_wide_of(bits + 64, base_of(scheme, axis)));

    if (factor != 1)
        log = pe_wide_add(
            log,
            pe_wide_div_uint(pe_wide_mul_uint(pe_wide_log(pe_wide_of(bits + 64, factor)), width),
                             width - 2));
    return pe_wide_cut(pe_wide_div_uint(log, width / 2), bits);
}

static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    const struct axial *axial = axial_of(context);
    const size_t rates = axial->alternating ? 1 : axial->rotary.axes_count;

    for (size_t i = 0; i < rates; i++)
        if (axial->pairs[i] > 0 && axial->series != SERIES_LINEAR)
            out->number[i] = axial->has_periods               ? periods_rate(context, bits, i)
                             : axial->series == SERIES_RISING ? rising_rate(context, bits, i)
                                                              : falling_rate(context, bits, i);
    if (axial->unit != UNIT_RADIAN)
        out->number[PI] = pe_wide_pi(bits);
}

/* 1 + k (b - 1) / (n - 1) */
static struct pe_wide linear(const struct pe_scheme *scheme, unsigned bits, size_t axis, size_t k)
{
    const struct pe_wide rise =
        pe_wide_mul_uint(pe_wide_sub_double(pe_wide_of(bits, base_of(scheme, axis)), 1), k);

    return pe_wide_add_double(pe_wide_div_uint(rise, axial_of(scheme)->pairs[axis] - 1), 1);
}

/* w in its unit and for the coordinates of its axis; 0 of a pair that does not rotate. */
static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    const struct axial *axial = axial_of(context);
    size_t k;
    const size_t axis = axis_of(context, pair, &k);
    const struct coordinates *coordinates = &axial->coordinates[axis];
    struct pe_wide w = *power;

    if (pair < axial->still)
        return pe_wide_of_uint(pe_wide_precision(power), 0);
    if (axial->series == SERIES_LINEAR && k > 0)
        w = linear(context, pe_wide_precision(power), axis, k);
    if (axial->period != 1)
        w = pe_wide_div_double(w, axial->period);
    if (coordinates->multiplier != 1)
        w = pe_wide_mul_double(w, coordinates->multiplier);
    if (coordinates->divisor != 1)
        w = pe_wide_div_double(w, coordinates->divisor);
    return axial->unit == UNIT_RADIAN
               ? w
               : pe_wide_scale(pe_wide_mul(w, shared->number[PI]), axial->unit - UNIT_HALF);
}

/* x^count, where it is a double; else 0. */
static double exact_power(double x, size_t count, double most)
{
    double power = 1;

    for (size_t i = 0; i < count && power <= most; i++) {
        const struct pe_exact product = pe_two_product(power, x);
        if (product.lo != 0)
            return 0;
        power = product.hi;
    }
    return power <= most ? power : 0;
}

/* base^(k / parts), where it is rational; else 0. Of base = r^m, m being the least denominator of k
 * / parts, the root r has fewer than 28 bits. */
static double rational_power(double base, size_t k, size_t parts)
{
    const size_t divisor = (size_t)pe_common_divisor(k, parts), m = parts / divisor;
    const double root = m == 1 ? base : nearbyint(pe_power(base, 1 / (double)m) * 0x1p27) * 0x1p-27;

    return exact_power(root, m, base) == base ? exact_power(root, k / divisor, base) : 0;
}

/* The period of pair k of n, where it is a double; else 0. */
static double rational_period(const struct axial *axial, size_t k, size_t pairs)
{
    const double ratio = axial->last_period / axial->period;
    const struct pe_exact whole = pe_two_product(ratio, axial->period);

    if (k == 0 || k == pairs - 1)
        return k == 0 ? axial->period : axial->last_period;
    if (whole.hi != axial->last_period || whole.lo != 0)
        return 0;
    const struct pe_exact period =
        pe_two_product(rational_power(ratio, k, pairs - 1), axial->period);
    return period.lo == 0 ? period.hi : 0;
}

/* Of frequencies that are rational in turns: the first one of an axis, those whose power is
 * rational, and evenly spaced ones between whole numbers. Half of it, since it is rounded. */
static double quantum(const void *context, size_t pair)
{
    const struct axial *axial = axial_of(context);
    size_t k;
    const size_t axis = axis_of(context, pair, &k), pairs = axial->pairs[axis];
    const struct coordinates *coordinates = &axial->coordinates[axis];
    const double base = base_of(context, axis), divisor = coordinates->divisor;
    double multiple = pe_lowest_bit(coordinates->multiplier) * 0.125 * (double)(1 << axial->unit);
    double parts = divisor;

    if (axial->unit == UNIT_RADIAN || pair < axial->still || divisor != floor(divisor))
        return 0;
    if (axial->has_periods) {
        const double period = rational_period(axial, k, pairs);
        if (period == 0)
            return 0;
        multiple /= pe_lowest_bit(period);
        parts *= period / pe_lowest_bit(period);
    } else if (k > 0 && axial->series == SERIES_LINEAR) {
        if (base != floor(base))
            return 0;
        parts *= (double)pairs - 1;
    } else if (k > 0) {
        const bool rises = axial->series == SERIES_RISING;
        const double power =
            factor_of(context, axis) != 1 ? 0 : rational_power(base, k, pairs - rises);
        if (power == 0)
            return 0;
        const double bit = pe_lowest_bit(power);
        multiple *= rises ? bit : 1 / bit;
        parts *= rises ? 1 : power / bit;
    }
    return 0.5 * fmin(multiple, 1) / parts;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers powers = {.compute_shared = compute_shared,
                                            .steps = steps,
                                            .series = series,
                                            .scaled = scaled,
                                            .quantum = quantum};

    return pe_waves_prepare(scheme, &powers, work, err) || pe_rotary_axes_prepare(scheme, work, err)
               ? err->status
               : PE_OK;
}

/* ---- the table: a grid, or listed points ----------------------------------------------------- */

static const struct pe_param view_params[] = {
    {.name = "shape",
     .type = PE_NUMBERS,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The number of coordinates on each axis. The table has one row for each point of this "
            "grid, the last axis running fastest."},
    {.name = "origin",
     .type = PE_NUMBERS,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "With shape: the first coordinate of each axis, 0 if absent. -16 for 32 centred rows."},
    {.name = "steps",
     .type = PE_NUMBERS,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "With shape: the distance of two coordinates of each axis, 1 if absent. It may be a "
            "fraction."},
    PE_PARAM_COORDINATES("all t;all y;all x"),
    PE_PARAMS_PART,
    PE_PARAMS_POOL,
};

/* Estimated nanoseconds of a line of the grid beside its elements, and of a copied element. */
#define LINE_COST 1000.0
#define COPY_COST 0.3

struct state {
    struct pe_rotary_view rotary;
    struct pe_positions axes[PE_ROTARY_AXES_MAX]; /* of a grid */
    size_t line;                                  /* points of the last axis */
};

static enum pe_status list_check(const struct pe_view *view, const struct pe_params *values,
                                 const char *name, struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(values, name);
    const size_t axes = pe_rotary_of(view->scheme)->axes_count;
    char where[32];

    snprintf(where, sizeof(where), "parameter:%s", name);
    if (list->present && list->list_count != axes)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu numbers, axes_dim has %zu: one for each axis is needed", name,
                       list->list_count, axes);
    return PE_OK;
}

/* One axis of a grid. */
static enum pe_status axis_open(struct pe_view *view, const struct pe_params *values, size_t axis,
                                struct pe_error *err)
{
    const double count = pe_value_at(pe_param_value(values, "shape"), axis);
    const struct pe_value *origin = pe_param_value(values, "origin");
    const struct pe_value *steps = pe_param_value(values, "steps");
    struct pe_positions *positions = &((struct state *)view->state)->axes[axis];
    const double offset = pe_rotary_of(view->scheme)->offsets[axis];

    if (count != floor(count))
        return pe_fail(err, PE_INVALID, "parameter:shape", "shape must be whole numbers, got %.17g",
                       count);
    *positions = (struct pe_positions){.start = origin->present ? pe_value_at(origin, axis) : 0,
                                       .step = steps->present ? pe_value_at(steps, axis) : 1,
                                       .count = pe_count(count)};
    if (pe_two_sum(positions->start, offset).lo != 0)
        return pe_fail(err, PE_INVALID, "parameter:origin",
                       "origin %.17g and the offset %.17g of axis %zu have no exact sum: list the "
                       "positions",
                       positions->start, offset, axis);
    if (count > 0 &&
        !(fabs(positions->start + offset + positions->step * (count - 1)) <= 0x1p53 - 1))
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:shape",
                       "the coordinates of axis %zu must be within +-(2^53 - 1)", axis);
    if (!pe_size_multiply(view->positions.count, positions->count, &view->positions.count))
        return pe_fail(err, PE_TOO_LARGE, "parameter:shape",
                       "the number of points does not fit in 64 bits");
    return PE_OK;
}

static enum pe_status grid_open(struct pe_view *view, const struct pe_params *values,
                                struct pe_error *err)
{
    const size_t axes = pe_rotary_of(view->scheme)->axes_count;
    struct state *state = view->state;

    if (!pe_param_value(values, "shape")->present)
        return pe_fail(err, PE_MISSING, "parameter:shape",
                       "shape is required, the sizes of the axes (or positions)");
    if (list_check(view, values, "shape", err) || list_check(view, values, "origin", err) ||
        list_check(view, values, "steps", err))
        return err->status;
    view->positions = (struct pe_positions){.step = 1, .count = 1};
    for (size_t i = 0; i < axes; i++)
        if (axis_open(view, values, i, err))
            return err->status;
    state->line = state->axes[axes - 1].count;
    return PE_OK;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    static const char *const grid[] = {"shape", "origin", "steps"};
    const struct pe_value *list = pe_param_value(values, "positions");

    for (size_t i = 0; list->present && i < 3; i++)
        if (pe_param_given(values, grid[i]))
            return pe_fail(err, PE_CONFLICT, "parameter:positions",
                           "positions cannot be given together with %s", grid[i]);
    if (list->present ? pe_view_positions_rows(view, list, err) ||
                            pe_rotary_positions_check(view->scheme, &view->positions,
                                                      "parameter:positions", err)
                      : grid_open(view, values, err) != PE_OK)
        return err->status;
    if (pe_view_rotary_add(view, values, err))
        return err->status;
    for (size_t i = 0; !list->present && i < view->outputs_count; i++) {
        struct pe_output *output = &view->outputs[i];
        const double line = (double)((const struct state *)view->state)->line;
        output->element_work +=
            COPY_COST + LINE_COST / (fmax(line, 1) * (double)output->row_elements);
    }
    return PE_OK;
}

/* Writes rows of one line, whose points differ in the last coordinate: the first row, copies of it,
 * and the columns of the last axis in all. `first` is the index of the first row. */
PE_WRAPS("counts down past 0")
static enum pe_status line_fill(const struct pe_view *view, size_t output, size_t first,
                                size_t count, char *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = view->state;
    const struct pe_table table = pe_view_rotary_columns(view, output, out);
    size_t rest = first / state->line;

    for (size_t axis = pe_rotary_of(view->scheme)->axes_count - 1; axis-- > 0;) {
        const size_t index = rest % state->axes[axis].count;
        rest /= state->axes[axis].count;
        if (pe_rotary_axis_fill(&table, view->scheme, axis, &state->axes[axis], index, index + 1,
                                view->dtype, work, err))
            return err->status;
    }
    for (size_t row = 1; row < count; row++)
        memcpy(out + row * table.row_size, out, table.row_size);
    return pe_rotary_axis_fill(&table, view->scheme, pe_rotary_of(view->scheme)->axes_count - 1,
                               &state->axes[pe_rotary_of(view->scheme)->axes_count - 1],
                               first % state->line, first % state->line + count, view->dtype, work,
                               err);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct state *state = view->state;
    const size_t row_size = view->outputs[output].row_elements * pe_dtype_info(view->dtype)->size;

    if (view->positions.values)
        return pe_view_rotary_fill(view, output, row_begin, row_end, out, work, err);
    for (size_t row = row_begin, count; row < row_end; row += count) {
        count = pe_min(row_end - row, state->line - row % state->line);
        if (pe_work_check(work, err) ||
            line_fill(view, output, row, count, (char *)out + (row - row_begin) * row_size, work,
                      err))
            return err->status;
    }
    pe_view_rotary_duplicate(view, output, row_end - row_begin, out);
    return PE_OK;
}

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "Cosines and sines of a grid or of listed points",
    .info.doc = "`cos` and `sin` [points, pairs]: the cosine and sine of the angle of each pair, "
                "one row for each listed point, or for each point of the grid, the last axis "
                "running fastest. With part=complex one tensor `complex` instead.",
    .info.example = "shape=1,2,2",
    PE_INFO_PARAMS(view_params),
    .of = pe_view_rotary_table_of,
    .state_size = sizeof(struct state),
    .open = open,
    .fill = fill,
    .scalar = pe_view_rotary_scalar,
};

static const struct pe_rotary_axes_kind axes = {.names = "in the order of axes_dim",
                                                .pair_axis = pair_axis};
static const struct pe_rotary_kind rotary = {
    .axes = &axes, .table = &table, .infer = pe_rotary_infer_dim};

extern const struct pe_encoding pe_encoding_rope_nd;
const struct pe_encoding pe_encoding_rope_nd = {
    .info.name = "rope-nd",
    .info.family = "rotary",
    .info.title = "Axial rotary position embedding: axes side by side, each with its own width",
    .info.formula =
        "axis after axis, w_k = base^(-2k/d), k = 0 .. d/2 - 1, d being the width of "
        "the axis and base its own; rising: base^(k / (d/2 - 1)); linear: 1 + k (base "
        "- 1) / (d/2 - 1); with periods: one over min_period (max_period / "
        "min_period)^(k / (d/2 - 1)); each times unit; order=alternating: w_0 of each axis, w_1 "
        "of each, ...",
    .info.source = "Black Forest Labs 2024, FLUX.1 (axes 16, 56, 56); as in Hugging Face "
                   "diffusers, models/embeddings.py, get_1d_rotary_pos_embed for each axis; "
                   "series, unit and axes_coordinates as in transformers' DINOv3, diffusers' "
                   "LTXVideoRotaryPosEmbed and CosmosRotaryPosEmbed, and timm's "
                   "RotaryEmbeddingCat",
    PE_INFO_PARAMS(params),
    .info.example = "axes_dim=4,6,6",
    .rotary = &rotary,
    .state_size = sizeof(struct axial),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_rotary_close,
};
