/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/base/isa.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/scheme/bias.h"

static const struct pe_param params[] = {
    PE_PARAM_HEADS,
    {.name = "alibi_bias_max",
     .type = PE_NUMBER,
     .min = 0,
     .above_min = true,
     .max = 1000,
     .fallback = "8",
     .doc = "The exponent of the smallest slope, which is 2^-alibi_bias_max."},
    {.name = "slopes",
     .type = PE_NUMBERS,
     .min = -1e30,
     .max = 1e30,
     .doc = "The slopes, one for each head, instead of those that follow from alibi_bias_max."},
};

enum { CHECK_KEYS = 4096, CHECK_HEADS = 64 }; /* between two checks of the work */
enum { GROUP = 64 };                          /* keys of one kernel call */
enum { SLOPE_COST = 1000, SCALED_COST = 25 }; /* estimated nanoseconds */
enum { SCALED_MAX = 800 };

struct state {
    struct pe_exact *slopes; /* one a head */
};

static void close_all(void *state)
{
    free(((struct state *)state)->slopes);
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const struct pe_value *slopes = pe_param_value(&scheme->params, "slopes");
    const size_t heads = pe_heads_count(scheme);

    if (!slopes->given)
        return PE_OK;
    if (slopes->list_count != heads)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:slopes",
                       "slopes has %zu elements, heads is %zu", slopes->list_count, heads);
    if (pe_param_given(&scheme->params, "alibi_bias_max"))
        return pe_fail(err, PE_CONFLICT, "parameter:alibi_bias_max",
                       "slopes and alibi_bias_max exclude each other");
    return PE_OK;
}

/* The largest power of two that is not above the number of heads. */
static size_t power_of(const struct pe_scheme *scheme)
{
    const size_t heads = pe_heads_count(scheme);
    size_t power = 1;

    while (2 * power <= heads)
        power *= 2;
    return power;
}

/* 2^(-max (h+1) / n) where the number n of heads is a power of two. Else, with c the largest power
 * of two below n, the slopes of c heads followed by every other slope of 2c heads. */
static struct pe_wide slope(unsigned bits, const void *context, size_t head)
{
    const struct pe_scheme *scheme = context;
    const struct pe_value *given = pe_param_value(&scheme->params, "slopes");
    const double most = pe_param_number(&scheme->params, "alibi_bias_max");

    if (given->given)
        return pe_wide_of(bits, given->list[head]);
    const size_t floor_power = power_of(scheme);
    const size_t numerator = head < floor_power ? head + 1 : 2 * (head - floor_power) + 1;
    const size_t denominator = head < floor_power ? floor_power : 2 * floor_power;
    return pe_wide_exp2(
        pe_wide_div_uint(pe_wide_mul_uint(pe_wide_of(bits, -most), numerator), denominator));
}

/* Among the first c heads, and among the others, slope h + heads is slope h / 2^halvings. With
 * alibi_bias_max 8 and 32 heads, for example, slope h + 4 is half of slope h. */
struct period {
    size_t heads; /* 0: none */
    int halvings;
    size_t power; /* c */
};

static struct period period_of(const struct pe_scheme *scheme)
{
    const double most = pe_param_number(&scheme->params, "alibi_bias_max");
    const size_t power = power_of(scheme);

    /* The second double of smaller slopes would be subnormal. */
    if (pe_param_value(&scheme->params, "slopes")->given || most > SCALED_MAX)
        return (struct period){.power = power};
    for (size_t heads = 1; heads < power; heads *= 2) {
        const double halvings = most * (double)heads / (double)power;
        if (halvings == floor(halvings))
            return (struct period){heads, (int)halvings, power};
    }
    return (struct period){.power = power};
}

static double prepare_cost(const struct pe_scheme *scheme)
{
    const struct period period = period_of(scheme);
    const size_t heads = pe_heads_count(scheme);
    const size_t exact = period.heads > 0 ? pe_min(heads, 2 * period.heads) : heads;

    return (double)exact * SLOPE_COST + (double)(heads - exact) * SCALED_COST;
}

static struct pe_exact slope_exact(const struct pe_scheme *scheme, const struct period *period,
                                   size_t head)
{
    const struct state *state = scheme->state;
    const size_t first = head < period->power ? 0 : period->power;

    if (period->heads == 0 || head < first + period->heads)
        return pe_real_exact(slope, scheme, head);
    const struct pe_exact before = state->slopes[head - period->heads];
    return (struct pe_exact){ldexp(before.hi, -period->halvings),
                             ldexp(before.lo, -period->halvings)};
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    struct state *state = scheme->state;
    const struct period period = period_of(scheme);
    const size_t heads = pe_heads_count(scheme);

    if (pe_spend(work, prepare_cost(scheme), err))
        return err->status;
    state->slopes = pe_memory_take(work, heads, sizeof(*state->slopes), "slopes", err);
    for (size_t head = 0; state->slopes && head < heads; head++) {
        if (head % CHECK_HEADS == 0 && pe_work_check(work, err))
            break;
        state->slopes[head] = slope_exact(scheme, &period, head);
    }
    return err->status;
}

/* One element of the bias, for numbers that double-doubles do not decide. */
struct element {
    const struct pe_scheme *scheme;
    size_t head;
    double distance;
};

static struct pe_wide element_real(unsigned bits, const void *context, size_t index)
{
    const struct element *e = context;

    (void)index;
    return pe_wide_mul_double(slope(bits, e->scheme, e->head), -e->distance);
}

static void element_write(const struct element *e, enum pe_dtype dtype, void *out)
{
    const struct pe_exact exact = ((const struct state *)e->scheme->state)->slopes[e->head];
    const double zero = 0;

    if (e->distance == 0 || exact.hi == 0) {
        pe_from_f64(out, dtype, &zero, 1);
        return;
    }
    /* The product with a slope that is one double is exact, and may be a tie. */
    const struct pe_exact product =
        exact.lo == 0 ? pe_two_product(exact.hi, -e->distance)
                      : pe_exact_multiply(exact, (struct pe_exact){-e->distance, 0});
    if (!pe_exact_round(product, exact.lo == 0 ? 0 : fabs(product.hi) * 0x1p-100, dtype, out))
        pe_real_round(element_real, e, 0, dtype, out);
}

/* True where the kernel can multiply the slope by any distance. */
static bool is_plain(struct pe_exact slope, enum pe_dtype dtype)
{
    return dtype != PE_F64 && fabs(slope.hi) > 0x1p-90 && fabs(slope.hi) < 0x1p40;
}

/* At most GROUP keys. */
static void group_write(const struct pe_bias_part *part, struct pe_exact slope, size_t begin,
                        size_t count, char *out)
{
    const size_t size = pe_dtype_info(part->dtype)->size;
    const size_t padded = (count + PE_FLOAT32_PAD - 1) / PE_FLOAT32_PAD * PE_FLOAT32_PAD;
    const double first = (double)(part->key_begin + begin) - part->query;
    struct element e = {part->scheme, part->head, 0};
    float values[GROUP];
    const bool direct = part->dtype == PE_F32 && count == GROUP;
    uint64_t undecided;

    pe_isa()->kernels->line(direct ? (float *)(void *)out : values, &undecided,
                            (const double[]){-slope.hi, -slope.lo}, first, padded,
                            part->dtype != PE_F32);
    if (!direct)
        pe_from_f32(out, part->dtype, values, count);
    for (; undecided != 0; undecided &= undecided - 1) {
        const size_t i = (size_t)__builtin_ctzll(undecided);
        e.distance = fabs(first + (double)i);
        if (i < count)
            element_write(&e, part->dtype, out + i * size);
    }
}

static enum pe_status row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                          struct pe_error *err)
{
    const struct pe_exact slope = ((const struct state *)part->scheme->state)->slopes[part->head];
    const bool plain = is_plain(slope, part->dtype);
    const size_t size = pe_dtype_info(part->dtype)->size;
    struct element e = {part->scheme, part->head, 0};

    for (size_t i = 0, count; i < part->key_count; i += count) {
        char *to = (char *)out + i * size;
        count = plain ? pe_min(GROUP, part->key_count - i) : 1;
        if (i % CHECK_KEYS == 0 && pe_work_check(work, err))
            return err->status;
        e.distance = fabs(part->query - (double)(part->key_begin + i));
        if (plain)
            group_write(part, slope, i, count, to);
        else
            element_write(&e, part->dtype, to);
    }
    return PE_OK;
}

/* Whether slopes are plain is known without computing them, except for given ones. */
static double number_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    const struct pe_value *given = pe_param_value(&scheme->params, "slopes");
    bool plain = dtype != PE_F64 && pe_param_number(&scheme->params, "alibi_bias_max") < 90;

    for (size_t i = 0; given->given && plain && i < given->list_count; i++)
        plain = is_plain((struct pe_exact){given->list[i], 0}, dtype);
    return plain ? 0.7 * pe_isa()->kernels->slowness : dtype == PE_F64 ? 25 : 20;
}

static const struct pe_bias_kind bias = {.heads = pe_heads_count,
                                         .row = row,
                                         .by_distance = true,
                                         .slope = slope,
                                         .cost = number_cost,
                                         .infer = pe_bias_infer_heads};

extern const struct pe_encoding pe_encoding_alibi;
const struct pe_encoding pe_encoding_alibi = {
    .info.name = "alibi",
    .info.family = "bias",
    .info.title = "Attention with linear biases: the bias falls linearly with the distance",
    .info.formula = "bias[h, i, j] = -slope_h |i - j|",
    .info.source = "Press et al. 2022, Train Short, Test Long, arXiv:2108.12409",
    PE_INFO_PARAMS(params),
    .info.example = "heads=2",
    .bias = &bias,
    .state_size = sizeof(struct state),
    .check = check,
    .prepare = prepare,
    .cost = prepare_cost,
    .close = close_all,
};
