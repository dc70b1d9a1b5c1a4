/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/sinusoidal.h"
#include "core/scheme/bias.h"
#include "core/scheme/scheme.h"

/* Between two checks of the work: elements; pairs in double-doubles; pairs in wide numbers. */
enum { CHECK_KEYS = 1024, CHECK_FINE = 4096, CHECK_REAL = 64 };

/* Scales above it keep their digits in double-doubles. */
#define MODERATE 0x1p-400

static const struct pe_param params[] = {
    PE_PARAM_HEADS,
    {.name = "dim",
     .aliases = "d_bar",
     .type = PE_INTEGER,
     .min = 2,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "The number of elements of the sinusoidal vectors whose product is the bias; an even "
            "number."},
    PE_PARAM_BASE,
    {.name = "scales",
     .type = PE_NUMBERS,
     .min = -1e30,
     .max = 1e30,
     .doc = "The factor of the bias: one number for all heads or one for each head; 1 if absent."},
};

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = (size_t)pe_param_number(&scheme->params, "dim");

    ((struct pe_waves *)scheme->state)->pairs = dim / 2;
    if (dim % 2 != 0)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:dim",
                       "dim is the width of sines and cosines, an even number; got %zu", dim);
    return pe_heads_check(scheme, (const char *const[]){"scales", NULL}, err);
}

/* base^(-2 k / dim) with k from 1, as the paper counts. */
static size_t steps(const void *context, size_t pair)
{
    (void)context;
    return pair + 1;
}

static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_sinusoids_rate(out, bits, context, pe_waves_of(context)->pairs);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers powers = {.compute_shared = compute_shared, .steps = steps};

    return pe_waves_prepare(scheme, &powers, work, err);
}

/* ---- sums: the cosines of one distance ------------------------------------------------------- */

struct sum {
    struct pe_exact value;
    double error; /* infinite: the value is not known */
};

/* Distances from 2^53 on are left to wide numbers. */
static enum pe_status sum_make(struct sum *out, const struct pe_scheme *scheme, int64_t distance,
                               bool fine, struct pe_work *work, struct pe_error *err)
{
    const struct pe_waves *waves = pe_waves_of(scheme);
    const struct pe_position position = {{(double)distance, 0, 0}};
    struct sum sum = {{0, 0}, 0};

    *out = (struct sum){{0, 0}, INFINITY};
    if (distance >= INT64_C(1) << 53)
        return PE_OK;
    for (size_t pair = 0; pair < waves->pairs; pair++) {
        struct pe_angle angle;
        struct pe_cos_sin one;
        if (pair % CHECK_FINE == 0 && pe_work_check(work, err))
            return err->status;
        if (!pe_angle_reduce(&angle, pe_frequencies_at(waves->frequencies, pair), &position))
            return PE_OK;
        one = fine ? pe_angle_cos_sin_exact(&angle) : pe_angle_cos_sin(&angle);
        sum.value = pe_exact_add(sum.value, one.cos);
        /* Each addition adds 2^-102 of the partial sum, which is at most the number of pairs. */
        sum.error += one.cos_error + (double)waves->pairs * 0x1p-101;
    }
    sum.error *= 1 + 0x1p-20;
    *out = sum;
    return PE_OK;
}

/* Sums of a range of distances, which all heads share. */
static enum pe_status sums_make(const struct pe_scheme *scheme, int64_t first, int64_t end,
                                enum pe_dtype dtype, void *common, struct pe_work *work,
                                struct pe_error *err)
{
    struct sum *sums = common;

    for (int64_t i = first; i < end; i++)
        if (sum_make(&sums[i - first], scheme, i, dtype == PE_F64, work, err))
            return err->status;
    return PE_OK;
}

/* ---- elements ------------------------------------------------------------------------------- */

struct element {
    const struct pe_scheme *scheme;
    double scale;
    int64_t distance;     /* |key - query| */
    struct pe_work *work; /* once it has ended, sums are abandoned */
};

/* The error of a cosine is at most 2^(17 - bits) times the angle, which is below the distance, plus
 * 2^(2 - bits); summing n of them adds n^2 2^(1 - bits). Cosines of different algebraic numbers are
 * linearly independent (Lindemann and Weierstrass), so no sum is 0 or a tie. Writes nothing after
 * the work has ended. */
static bool wide_round(const struct element *element, unsigned bits, enum pe_dtype dtype, void *out)
{
    const struct pe_frequencies *frequencies = pe_waves_of(element->scheme)->frequencies;
    const size_t pairs = pe_frequencies_count(frequencies);
    const uint64_t distance = (uint64_t)element->distance;
    const struct pe_wide one = pe_wide_add_double(pe_wide_of_uint(64, distance), (double)pairs + 2);
    const struct pe_wide error = pe_wide_mul_double(one, (double)pairs * fabs(element->scale));
    struct pe_wide sum = pe_wide_of_uint(bits, 0);
    struct pe_power_iterator power;

    pe_frequencies_begin(&power, frequencies, bits);
    for (size_t pair = 0; pair < pairs; pair++) {
        if (pair % CHECK_REAL == CHECK_REAL - 1 && pe_work_ended(element->work))
            return true;
        const struct pe_wide w = pe_frequencies_next(&power, frequencies, pair);
        sum = pe_wide_add(sum, pe_wide_cos(pe_wide_mul_uint(w, distance)));
    }
    return pe_precision_round(bits, pe_wide_mul_double(sum, element->scale),
                              pe_wide_scale(error, 20 - (int64_t)bits), dtype, out);
}

/* At distance 0 every cosine is 1, and the product may be a tie. */
static void write_at_distance_zero(const struct element *element, enum pe_dtype dtype, void *out)
{
    const double pairs = (double)pe_waves_of(element->scheme)->pairs, zero = pairs * element->scale;

    if (element->scale == 0)
        pe_from_f64(out, dtype, &zero, 1);
    else
        pe_wide_write(pe_wide_mul_double(pe_wide_of(128, pairs), element->scale), dtype, out);
}

static bool sum_round(const struct element *element, const struct sum *sum, enum pe_dtype dtype,
                      void *out)
{
    const struct pe_exact scale = {element->scale, 0};
    const struct pe_exact value = pe_exact_multiply(sum->value, scale);

    return isfinite(sum->error) &&
           pe_exact_round(value,
                          sum->error * fabs(scale.hi) * (1 + 0x1p-20) + fabs(value.hi) * 0x1p-100,
                          dtype, out);
}

/* Doubles, then double-doubles, then wide numbers: each step only where the error bound of the one
 * before does not determine the rounding. `known`: the sum, if it is shared; else NULL. */
static enum pe_status element_write(const struct element *element, const struct sum *known,
                                    enum pe_dtype dtype, void *out, struct pe_error *err)
{
    const int64_t distance = element->distance;
    const bool fine = dtype == PE_F64, moderate = fabs(element->scale) > MODERATE;
    struct sum sum;

    if (distance == 0 || element->scale == 0) {
        write_at_distance_zero(element, dtype, out);
        return PE_OK;
    }
    if (moderate && known)
        sum = *known;
    else if (moderate && sum_make(&sum, element->scheme, distance, fine, element->work, err))
        return err->status;
    if (moderate && sum_round(element, &sum, dtype, out))
        return PE_OK;
    if (moderate && !fine) {
        if (sum_make(&sum, element->scheme, distance, true, element->work, err))
            return err->status;
        if (sum_round(element, &sum, dtype, out))
            return PE_OK;
    }
    for (unsigned bits = PE_PRECISION_FIRST; !wide_round(element, bits, dtype, out);)
        bits = pe_precision_next(bits);
    return pe_work_check(element->work, err);
}

static enum pe_status row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                          struct pe_error *err)
{
    const size_t size = pe_dtype_info(part->dtype)->size;
    const double given = pe_head_number(part->scheme, "scales", part->head);
    struct element element = {part->scheme, isnan(given) ? 1 : given, 0, work};
    const void *sum;

    for (size_t i = 0; i < part->key_count; i++) {
        const int64_t distance = (int64_t)(part->key_begin + i) - (int64_t)part->query;
        element.distance = distance < 0 ? -distance : distance;
        if ((i % CHECK_KEYS == 0 && pe_work_check(work, err)) ||
            pe_bias_common_at(part->common, element.distance, &sum, work, err) ||
            element_write(&element, sum, part->dtype, (char *)out + i * size, err))
            break;
    }
    return err->status;
}

/* True where some scale is so small that its head takes wide numbers. */
static bool is_slow(const struct pe_scheme *scheme)
{
    bool slow = false;

    for (size_t head = 0; head < pe_heads_count(scheme) && !slow; head++)
        slow = fabs(pe_head_number(scheme, "scales", head)) <= MODERATE;
    return slow;
}

static double number_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    if (is_slow(scheme))
        return (double)pe_waves_of(scheme)->pairs * 1200;
    return dtype == PE_F64 ? 300 : 60;
}

static double sum_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    return (double)pe_waves_of(scheme)->pairs * (dtype == PE_F64 ? 460 : 45);
}

static const struct pe_bias_kind bias = {.heads = pe_heads_count,
                                         .row = row,
                                         .by_distance = true,
                                         .common_size = sizeof(struct sum),
                                         .common_make = sums_make,
                                         .cost = number_cost,
                                         .common_cost = sum_cost,
                                         .infer = pe_bias_infer_heads};

extern const struct pe_encoding pe_encoding_sandwich;
const struct pe_encoding pe_encoding_sandwich = {
    .info.name = "sandwich",
    .info.family = "bias",
    .info.title = "A bias that is the dot product of two sinusoidal position vectors",
    .info.formula = "bias[h, i, j] = scale_h sum_k cos((j - i) base^(-2k/dim)), k = 1 .. dim/2",
    .info.source = "Chi et al. 2023, Dissecting Transformer Length Extrapolation via the Lens of "
                   "Receptive Field Analysis, arXiv:2212.10356",
    PE_INFO_PARAMS(params),
    .info.example = "heads=2&dim=16",
    .bias = &bias,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_waves_close,
};
