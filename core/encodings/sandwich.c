/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/base/fail.h"
#include "core/encodings/parts/heads.h"
#include "core/tables/frequencies.h"
#include "core/views/views.h"

static const struct pe_param params[] = {
    PE_PARAM_HEADS("How many heads; each may have a scale of its own."),
    {.name = "dim",
     .aliases = "d_bar",
     .type = PE_INTEGER,
     .min = 2,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "Width of the sinusoids whose product this is; an even number."},
    {.name = "base",
     .aliases = "max_wavelength,temperature,theta",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = 1e30,
     .fallback = "10000",
     .doc = "Frequencies are powers of it."},
    {.name = "scales",
     .type = PE_NUMBERS,
     .min = -1e30,
     .max = 1e30,
     .doc = "What the sum is multiplied by: one for all heads or one for each; 1 if absent."},
};

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = (size_t)pe_param_number(&scheme->params, "dim");

    scheme->pairs = dim / 2;
    if (dim % 2 != 0)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:dim",
                       "dim is the width of sines and cosines, an even number; got %zu", dim);
    return pe_heads_check(scheme, (const char *const[]){"scales", NULL}, err);
}

/* base^(-2 k / dim) with k from 1, as the paper counts. */
static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_scheme *scheme = context;

    mpfr_set_d(out, pe_param_number(&scheme->params, "base"), MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, pair + 1, MPFR_RNDN);
    mpfr_div_ui(out, out, scheme->pairs, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    scheme->frequencies = pe_frequencies_new(scheme, scheme->pairs, frequency, NULL, 1);
    return scheme->frequencies
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu frequencies", scheme->pairs);
}

/* ---- the sum of one distance ---------------------------------------------------------------- */

struct pe_sum {
    struct pe_exact value;
    double error; /* infinite: not known */
};

/* Angles are reduced for positions below 2^53; what is further is left to MPFR. */
static struct pe_sum sum_make(const struct pe_scheme *scheme, int64_t distance, bool fine)
{
    const struct pe_position position = {{(double)distance, 0, 0}};
    struct pe_sum sum = {{0, 0}, 0};

    if (distance >= INT64_C(1) << 53)
        return (struct pe_sum){{0, 0}, INFINITY};
    for (size_t pair = 0; pair < scheme->pairs; pair++) {
        struct pe_angle angle;
        struct pe_cos_sin one;
        if (!pe_angle_reduce(&angle, pe_frequencies_turn(scheme->frequencies, pair), &position))
            return (struct pe_sum){{0, 0}, INFINITY};
        one = fine ? pe_angle_cos_sin_exact(&angle) : pe_angle_cos_sin(&angle);
        sum.value = pe_exact_add(sum.value, one.cos);
        /* An addition is good to 2^-102 of what is there, which is at most the number of terms. */
        sum.error += one.cos_error + (double)scheme->pairs * 0x1p-101;
    }
    sum.error *= 1 + 0x1p-20;
    return sum;
}

/* Sums of a range of distances, the same for all heads, kept with the scheme: those of the first
 * row that was asked for, which is every one that a view or an attention will ask for. */
struct pe_sums {
    int64_t first, end;
    struct pe_sum sums[];
};

enum { SUMS_SIZE_MAX = 8 << 20 };

static const struct pe_sums *sums_get(const struct pe_scheme *scheme, int64_t first, int64_t end,
                                      bool fine)
{
    struct pe_sums *_Atomic *place = &((struct pe_scheme *)scheme)->sums[fine];
    struct pe_sums *made, *found = atomic_load(place);

    if (found || (size_t)(end - first) > SUMS_SIZE_MAX / sizeof(made->sums[0]))
        return found;
    made = malloc(sizeof(*made) + (size_t)(end - first) * sizeof(made->sums[0]));
    if (!made)
        return NULL;
    made->first = first;
    made->end = end;
    for (int64_t i = first; i < end; i++)
        made->sums[i - first] = sum_make(scheme, i, fine);
    if (atomic_compare_exchange_strong(place, &found, made))
        return made;
    free(made);
    return found;
}

/* ---- elements ------------------------------------------------------------------------------- */

struct element {
    const struct pe_scheme *scheme;
    double scale;
    int64_t distance; /* |key - query| */
};

/* The sum at a working precision; its terms are good to 2^(58 - precision): the angle is below 2^54
 * and loses 2^4 more. */
static void sum_evaluate(mpfr_ptr out, const struct element *element)
{
    const int64_t high = element->distance & ~INT64_C(0xffff), low = element->distance - high;
    mpfr_t term, angle;

    mpfr_inits2(mpfr_get_prec(out), term, angle, (mpfr_ptr)NULL);
    mpfr_set_zero(out, 1);
    for (size_t pair = 0; pair < element->scheme->pairs; pair++) {
        frequency(term, element->scheme, pair);
        mpfr_mul_d(angle, term, (double)high, MPFR_RNDN);
        mpfr_mul_d(term, term, (double)low, MPFR_RNDN);
        mpfr_add(angle, angle, term, MPFR_RNDN);
        mpfr_cos(term, angle, MPFR_RNDN);
        mpfr_add(out, out, term, MPFR_RNDN);
    }
    mpfr_clears(term, angle, (mpfr_ptr)NULL);
}

/* A sum of cosines may be small beside its terms, of which there are at most 2^19: the more so, the
 * more digits are needed. It is never 0: cosines of different algebraic numbers are linearly
 * independent (Lindemann and Weierstrass), which is also why no sum is a tie. */
static void evaluate(mpfr_ptr out, const void *context, size_t index)
{
    const struct element *element = context;
    mpfr_prec_t precision = mpfr_get_prec(out) + 128;
    mpfr_t sum;

    (void)index;
    mpfr_init2(sum, precision);
    for (;;) {
        sum_evaluate(sum, element);
        if (!mpfr_zero_p(sum) && mpfr_get_exp(sum) > 80 - precision + mpfr_get_prec(out))
            break;
        precision *= 2;
        mpfr_set_prec(sum, precision);
    }
    mpfr_mul_d(out, sum, element->scale, MPFR_RNDN);
    mpfr_clear(sum);
}

/* Distance 0: every cosine is 1, and the product may be a tie. */
static void whole_write(const struct element *element, enum pe_dtype dtype, void *out)
{
    mpfr_t value;

    mpfr_init2(value, PE_PRECISION_FIRST);
    mpfr_set_ui(value, element->scheme->pairs, MPFR_RNDN);
    mpfr_mul_d(value, value, element->scale, MPFR_RNDN);
    pe_mpfr_write(value, dtype, out);
    mpfr_clear(value);
}

static bool sum_round(const struct element *element, const struct pe_sum *sum, enum pe_dtype dtype,
                      void *out)
{
    const struct pe_exact scale = {element->scale, 0};
    const struct pe_exact value = pe_exact_multiply(sum->value, scale);

    return isfinite(sum->error) &&
           pe_exact_round(value,
                          sum->error * fabs(scale.hi) * (1 + 0x1p-20) + fabs(value.hi) * 0x1p-100,
                          dtype, out);
}

/* By steps, each left where its bound does not decide: doubles, double-doubles, MPFR. */
static void element_write(const struct element *element, const struct pe_sums *sums,
                          enum pe_dtype dtype, void *out)
{
    const int64_t distance = element->distance;
    const bool fine = dtype == PE_F64, tame = fabs(element->scale) > 0x1p-400;
    struct pe_sum sum;

    if (distance == 0 || element->scale == 0) {
        whole_write(element, dtype, out);
        return;
    }
    if (tame && sums && distance >= sums->first && distance < sums->end)
        sum = sums->sums[distance - sums->first];
    else if (tame)
        sum = sum_make(element->scheme, distance, fine);
    if (tame && sum_round(element, &sum, dtype, out))
        return;
    if (tame && !fine) {
        sum = sum_make(element->scheme, distance, true);
        if (sum_round(element, &sum, dtype, out))
            return;
    }
    pe_real_round(evaluate, element, 0, dtype, out);
}

static void bias_row(const struct pe_scheme *scheme, size_t head, double query, size_t key_begin,
                     size_t key_count, enum pe_dtype dtype, void *out)
{
    const size_t size = pe_dtype_info(dtype)->size;
    const double given = pe_head_number(scheme, "scales", head);
    struct element element = {scheme, isnan(given) ? 1 : given, 0};
    const int64_t at = (int64_t)query, begin = (int64_t)key_begin - at;
    const int64_t end = begin + (int64_t)key_count, last = end - 1;
    const struct pe_sums *sums = NULL;

    if (key_count > 1)
        sums = sums_get(scheme,
                        begin > 0  ? begin
                        : last < 0 ? -last
                                   : 0,
                        1 + (-begin > last ? -begin : last), dtype == PE_F64);
    for (int64_t distance = begin; distance < end; distance++) {
        element.distance = distance < 0 ? -distance : distance;
        element_write(&element, sums, dtype, (char *)out + (size_t)(distance - begin) * size);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

static const struct pe_view_type *const views[] = {&pe_view_bias, &pe_view_bias_decay, NULL};

extern const struct pe_encoding pe_encoding_sandwich;
const struct pe_encoding pe_encoding_sandwich = {
    .info.name = "sandwich",
    .info.family = "bias",
    .info.title = "The product of two sinusoidal positions alone",
    .info.formula = "bias[h, i, j] = scale_h sum_k cos((j - i) base^(-2k/dim)), k = 1 .. dim/2",
    .info.source = "Chi et al. 2023, Dissecting Transformer Length Extrapolation via the Lens of "
                   "Receptive Field Analysis, arXiv:2212.10356",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .info.example = "heads=2&dim=16",
    .check = check,
    .prepare = prepare,
    .bias_row = bias_row,
    .bias_by_distance = true,
};
