/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/elementary.h"
#include "core/scheme/bias.h"

/* The two kernels of KERPLE: biases made of a distance and two learned numbers a head, a and p. */

enum { CHECK_KEYS = 512 }; /* between two checks of the work: about 1 ms of wide numbers */

struct element {
    double a, p;      /* of the head */
    int64_t distance; /* |key - query| */
};

/* Products of smaller a and p lose digits in double-doubles. */
#define LEAST 0x1p-400

/* One number for all heads or one for each. */
#define PARAM_LEARNED(letter, most, text)                                                          \
    {                                                                                              \
        .name = letter, .aliases = "bias_" letter, .type = PE_NUMBERS, .min = 0,                   \
        .above_min = true, .max = most, .required = true, .doc = text                              \
    }

static struct pe_exact distance_of(const struct element *element)
{
    const double high = (double)element->distance;

    return (struct pe_exact){high, (double)(element->distance - (int64_t)high)};
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    /* In the order in which the encoding lists them. */
    const bool a_first =
        pe_params_find(&scheme->params, "a") < pe_params_find(&scheme->params, "p");

    return pe_heads_check(
        scheme, (const char *const[]){a_first ? "a" : "p", a_first ? "p" : "a", NULL}, err);
}

/* True where a number of some head is so small that every element takes wide numbers. */
static bool is_slow(const struct pe_scheme *scheme)
{
    bool slow = false;

    for (size_t head = 0; head < pe_heads_count(scheme) && !slow; head++)
        slow = pe_head_number(scheme, "a", head) <= LEAST ||
               pe_head_number(scheme, "p", head) <= LEAST;
    return slow;
}

/* `write` writes the rounded number of a distance other than 0; at distance 0 the bias is 0. */
static enum pe_status row_write(const struct pe_bias_part *part, void *out,
                                void (*write)(const struct element *element, enum pe_dtype dtype,
                                              void *out),
                                struct pe_work *work, struct pe_error *err)
{
    const size_t size = pe_dtype_info(part->dtype)->size;
    const double zero = 0;
    struct element element = {pe_head_number(part->scheme, "a", part->head),
                              pe_head_number(part->scheme, "p", part->head), 0};

    for (size_t i = 0; i < part->key_count; i++) {
        char *to = (char *)out + i * size;
        const int64_t distance = (int64_t)(part->key_begin + i) - (int64_t)part->query;
        if (i % CHECK_KEYS == 0 && pe_work_check(work, err))
            break;
        element.distance = distance < 0 ? -distance : distance;
        if (distance == 0)
            pe_from_f64(to, part->dtype, &zero, 1);
        else
            write(&element, part->dtype, to);
    }
    return err->status;
}

/* ---- the logarithmic kernel ------------------------------------------------------------------ */

static const struct pe_param log_params[] = {
    PE_PARAM_HEADS,
    PARAM_LEARNED(
        "p", 1e30,
        "The learned factor of the logarithm: one number for all heads or one for each head."),
    PARAM_LEARNED(
        "a", 1e30,
        "The learned factor of the distance: one number for all heads or one for each head."),
};

/* Only at distance 0 is the value, or a tie, representable: the logarithm of a rational other than
 * 1 is transcendental. */
static struct pe_wide log_real(unsigned bits, const void *context, size_t index)
{
    const struct element *element = context;
    const struct pe_wide distance = pe_wide_of_uint(bits, (uint64_t)element->distance);

    (void)index;
    return pe_wide_mul_double(pe_wide_log1p(pe_wide_mul_double(distance, element->a)), -element->p);
}

/* Doubles, then double-doubles, then wide numbers: each step only where the error bound of the one
 * before does not determine the rounding. */
static void log_write(const struct element *element, enum pe_dtype dtype, void *out)
{
    const double a = element->a, p = element->p;

    if (p > LEAST && a > LEAST) {
        const struct pe_exact x = pe_exact_multiply(distance_of(element), (struct pe_exact){a, 0});
        const struct pe_exact near = {-p * pe_log1p(x.hi), 0};
        if (dtype != PE_F64 && pe_exact_round(near, fabs(near.hi) * (2 * PE_LOG_ERROR), dtype, out))
            return;
        const struct pe_exact value =
            pe_exact_multiply(pe_exact_log1p(x), (struct pe_exact){-p, 0});
        if (pe_exact_round(value, fabs(value.hi) * (2 * PE_LOG_ERROR_EXACT), dtype, out))
            return;
    }
    pe_real_round(log_real, element, 0, dtype, out);
}

static enum pe_status log_row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                              struct pe_error *err)
{
    return row_write(part, out, log_write, work, err);
}

static double log_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    return is_slow(scheme) ? 1000 : dtype == PE_F64 ? 420 : 80;
}

static const struct pe_bias_kind log_bias = {.heads = pe_heads_count,
                                             .row = log_row,
                                             .by_distance = true,
                                             .cost = log_cost,
                                             .infer = pe_bias_infer_heads};

extern const struct pe_encoding pe_encoding_kerple_log;
const struct pe_encoding pe_encoding_kerple_log = {
    .info.name = "kerple-log",
    .info.family = "bias",
    .info.title =
        "KERPLE, the logarithmic kernel: the bias falls with the logarithm of the distance",
    .info.formula = "bias[h, i, j] = -p_h ln(1 + a_h |i - j|)",
    .info.source = "Chi et al. 2022, KERPLE: Kernelized Relative Positional Embedding for Length "
                   "Extrapolation, arXiv:2205.09921",
    PE_INFO_PARAMS(log_params),
    .info.example = "heads=2&p=1,0.5&a=0.25",
    .bias = &log_bias,
    .check = check,
};

/* ---- the power kernel ------------------------------------------------------------------------ */

static const struct pe_param power_params[] = {
    PE_PARAM_HEADS,
    PARAM_LEARNED(
        "a", 1e30,
        "The learned factor of the power: one number for all heads or one for each head."),
    PARAM_LEARNED("p", 2,
                  "The learned exponent of the distance: one number for all heads or one for each "
                  "head. With 1 the bias is that of alibi."),
};

/* Exact where the value is rational, which may be a tie: whole powers, roots of squares,
 * distance 1. These have 179 bits at most. */
static struct pe_wide power_real(unsigned bits, const void *context, size_t index)
{
    const struct element *element = context;
    const struct pe_wide distance = pe_wide_of_uint(bits, (uint64_t)element->distance);

    (void)index;
    return pe_wide_mul_double(pe_wide_pow(distance, pe_wide_of(64, element->p)), -element->a);
}

/* n^p where p is 1 or 2 or n is 1, and the power has at most 53 bits; else 0. */
static double integer_power(double n, double p)
{
    const double power = n == 1 || p == 1 ? n : p == 2 ? n * n : 0;

    return power < 0x1p53 ? power : 0;
}

/* The exact product, then doubles, double-doubles and wide numbers, as above. p ln n is below 76,
 * so that the relative error of the power is below 76 times that of the logarithm. */
static void power_write(const struct element *element, enum pe_dtype dtype, void *out)
{
    const double a = element->a, p = element->p;

    if (a > LEAST && p > LEAST) {
        const struct pe_exact n = distance_of(element);
        const struct pe_exact before = pe_exact_add(n, (struct pe_exact){-1, 0});
        const double power = integer_power(n.hi, p);
        if (power > 0) {
            pe_exact_round(pe_two_product(power, -a), 0, dtype, out);
            return;
        }
        const struct pe_exact near = {-a * pe_exp(p * pe_log1p(before.hi)), 0};
        if (dtype != PE_F64 &&
            pe_exact_round(near, fabs(near.hi) * (128 * PE_LOG_ERROR), dtype, out))
            return;
        const struct pe_exact logarithm =
            pe_exact_multiply(pe_exact_log1p(before), (struct pe_exact){p, 0});
        const struct pe_exact value =
            pe_exact_multiply(pe_exact_exp(logarithm), (struct pe_exact){-a, 0});
        if (pe_exact_round(value, fabs(value.hi) * (4 * PE_EXP_ERROR_EXACT), dtype, out))
            return;
    }
    pe_real_round(power_real, element, 0, dtype, out);
}

static enum pe_status power_row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    return row_write(part, out, power_write, work, err);
}

/* p = 1 and p = 2 are products, any other p takes a logarithm. */
static double power_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    bool products = true;

    if (is_slow(scheme))
        return 3500;
    for (size_t head = 0; head < pe_heads_count(scheme) && products; head++)
        products = fmod(pe_head_number(scheme, "p", head), 1) == 0;
    return products ? 20 : dtype == PE_F64 ? 950 : 170;
}

static const struct pe_bias_kind power_bias = {.heads = pe_heads_count,
                                               .row = power_row,
                                               .by_distance = true,
                                               .cost = power_cost,
                                               .infer = pe_bias_infer_heads};

extern const struct pe_encoding pe_encoding_kerple_power;
const struct pe_encoding pe_encoding_kerple_power = {
    .info.name = "kerple-power",
    .info.family = "bias",
    .info.title = "KERPLE, the power kernel: the bias falls with a power of the distance",
    .info.formula = "bias[h, i, j] = -a_h |i - j|^p_h",
    .info.source = "Chi et al. 2022, KERPLE: Kernelized Relative Positional Embedding for Length "
                   "Extrapolation, arXiv:2205.09921",
    PE_INFO_PARAMS(power_params),
    .info.example = "heads=2&a=1,0.5&p=1.5",
    .bias = &power_bias,
    .check = check,
};
