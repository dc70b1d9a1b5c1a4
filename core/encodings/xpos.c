/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/encodings/sinusoidal.h"
#include "core/exact/elementary.h"
#include "core/scheme/rotary.h"

/* Pair i of D / 2 has zeta = (2i + 0.4 D) / (1.4 D) = (10 i + 2 D) / (7 D), below 1. Queries at t
 * are multiplied by zeta^p, keys by zeta^-p, p = (t - t_center) / scale_base. */

enum { CHECK_PAIRS = 64 }; /* between two checks of the work */

static const struct pe_param params[] = {
    {.name = "dim",
     .aliases = "head_dim",
     .type = PE_INTEGER,
     .min = 2,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "The number of elements in a head."},
    {.name = "base",
     .aliases = "rope_theta,rotary_emb_base,theta,max_wavelength",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = 1e30,
     .fallback = "10000",
     .doc = "The base of the frequencies, which fall in equal ratios between 1 and 1 / base, as "
            "the encoding's formula says."},
    {.name = "scale_base",
     .aliases = "xpos_scale_base",
     .type = PE_NUMBER,
     .min = 1,
     .max = 1e9,
     .fallback = "512",
     .unit = "positions",
     .doc = "The number of positions over which the scale of queries falls by the factor zeta of "
            "the pair."},
    {.name = "t_center",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .required = true,
     .unit = "positions",
     .doc =
         "The position where the scale is 1. Attention scores do not depend on it, but tables do. "
         "torchscale uses ceil(n / 2) for a sequence of n tokens, others use floor(n / 2) or 0."},
};

struct state {
    struct pe_rotary rotary;
    /* ln of the scale of each pair, for one position: double-doubles, the high parts first, padded
     * with zeros to `padded`, then the low parts. */
    double *decays;
    size_t padded;
};

static const struct state *state_of(const struct pe_scheme *scheme)
{
    return scheme->state;
}

static void close_all(void *state)
{
    pe_rotary_close(state);
    free(((struct state *)state)->decays);
}

static double param(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_number(&scheme->params, name);
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = (size_t)param(scheme, "dim");
    struct pe_rotary *rotary = scheme->state;

    if (dim % 2 != 0)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:dim", "dim must be even, got %zu", dim);
    rotary->head_dim = rotary->rotary_dim = dim;
    rotary->waves.pairs = dim / 2;
    return PE_OK;
}

/* ln zeta / scale_base */
static struct pe_wide decay(unsigned bits, const void *context, size_t pair)
{
    const size_t dim = pe_rotary_of(context)->rotary_dim;
    const struct pe_wide over = pe_wide_of_uint(bits, 10 * pair + 2 * dim);

    return pe_wide_div_double(pe_wide_log(pe_wide_div_uint(over, 7 * dim)),
                              param(context, "scale_base"));
}

/* Of a frequency and a decay for each pair. */
static double cost(const struct pe_scheme *scheme)
{
    return (double)pe_rotary_of(scheme)->waves.pairs * 2500;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    struct state *state = scheme->state;
    const size_t pairs = state->rotary.waves.pairs;

    if (pe_waves_prepare(scheme, &pe_sinusoids_paper, work, err))
        return err->status;
    state->padded = (pairs + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
    state->decays = pe_memory_take(work, 2 * state->padded, sizeof(double), "scales", err);
    for (size_t pair = 0; state->decays && pair < pairs; pair++) {
        if (pair % CHECK_PAIRS == 0 && pe_work_check(work, err))
            break;
        const struct pe_exact ln = pe_real_exact(decay, scheme, pair);
        state->decays[pair] = ln.hi;
        state->decays[state->padded + pair] = ln.lo;
    }
    return err->status;
}

/* ---- the scale ------------------------------------------------------------------------------ */

/* Enough for the exact sum of four doubles between 2^-1074 and 2^53. */
enum { SUM_BITS = 1152 };

static double center_of(const struct pe_scale_at *at)
{
    return at->is_delta ? 0 : param(at->scheme, "t_center");
}

/* t - t_center, negated for the inverse; exact. */
static struct pe_wide distance_of(const struct pe_scale_at *at)
{
    const double *t = at->position.part;
    struct pe_wide distance = pe_wide_sub_double(pe_wide_of(SUM_BITS, t[0]), center_of(at));

    distance = pe_wide_add_double(pe_wide_add_double(distance, t[1]), t[2]);
    return at->sign < 0 ? pe_wide_negate(distance) : distance;
}

static bool is_power_of_two(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* Only a power of zeta or 1 / zeta whose denominator is a power of two can be a tie: (3/4)^7 is one
 * of f16. It is returned exactly; any other number, and one that does not fit, is marked inexact.
 */
static struct pe_wide rational_power(unsigned bits, const struct pe_scale_at *at,
                                     struct pe_wide distance)
{
    const size_t dim = pe_rotary_of(at->scheme)->rotary_dim;
    const uint64_t over = 10 * at->pair + 2 * dim, under = 7 * dim;
    const uint64_t divisor = pe_common_divisor(over, under);
    const bool inverse = pe_wide_sign(distance) < 0;
    const uint64_t above = (inverse ? under : over) / divisor;
    const uint64_t below = (inverse ? over : under) / divisor;
    struct pe_wide power = pe_wide_div_uint(pe_wide_of_uint(bits, above), below);

    if (!is_power_of_two(below))
        return power;
    const struct pe_wide exponent =
        pe_wide_cut(pe_wide_div_double(pe_wide_abs(distance), param(at->scheme, "scale_base")), 64);
    power.inexact = exponent.inexact;
    return power.inexact ? power : pe_wide_pow(power, exponent);
}

/* e^(distance ln zeta / scale_base); the exponent is below 2^10, so that 64 further bits suffice.
 */
static struct pe_wide scale_real(unsigned bits, const void *context, size_t index)
{
    const struct pe_scale_at *at = context;
    const struct pe_wide distance = distance_of(at);

    (void)index;
    if (pe_wide_sign(distance) == 0)
        return pe_wide_of_uint(bits, 1);
    const struct pe_wide exact = rational_power(bits, at, distance);
    if (!exact.inexact)
        return exact;
    const struct pe_wide exponent =
        pe_wide_mul(pe_wide_cut(distance, bits + 64), decay(bits + 64, at->scheme, at->pair));
    return pe_wide_cut(pe_wide_exp(exponent), bits);
}

/* In double-doubles: the distance has a relative error of 2^-102, its product with the decay, at
 * most 100, one of 2^-100, and the exponential one of 2^-93 and its own. */
static void scale_at(struct pe_scale *out, const struct pe_scale_at *at)
{
    const struct state *state = state_of(at->scheme);
    const double *t = at->position.part;
    const struct pe_exact near = pe_two_sum(t[0], -center_of(at));
    const struct pe_exact distance = pe_exact_add(near, (struct pe_exact){t[1], t[2]});
    const struct pe_exact exponent = pe_exact_multiply(
        at->sign < 0 ? pe_exact_negate(distance) : distance,
        (struct pe_exact){state->decays[at->pair], state->decays[state->padded + at->pair]});
    /* Where a rounded position and the center cancel, the low parts are not enough. */
    const bool usable = t[1] == 0 || fabs(distance.hi) > fabs(near.hi) / 2;

    *out = (struct pe_scale){.value = {1, 0}};
    if (t[1] == 0 && distance.hi == 0)
        return;
    out->value = (struct pe_exact){0, 0};
    if (usable && fabs(exponent.hi) < 100 && fabs(exponent.hi) > 0x1p-800)
        out->value = pe_exact_exp(exponent);
    out->error = 2 * PE_EXP_ERROR_EXACT;
    out->real = scale_real;
    out->context = at;
}

static double scale_reach(const struct pe_scheme *scheme, double position, bool is_delta)
{
    const double center = is_delta ? 0 : param(scheme, "t_center");

    return fabs(position - center) / param(scheme, "scale_base") * pe_log(3.5);
}

/* The first pair has the least zeta, 2 / 7. */
static void scale_all(struct pe_table_scales *out, const struct pe_scheme *scheme, bool is_delta)
{
    const struct state *state = state_of(scheme);

    out->high = state->decays;
    out->low = state->decays + state->padded;
    out->largest = fabs(state->decays[0]);
    out->center = is_delta ? 0 : param(scheme, "t_center");
}

/* Beyond e^100 wide numbers are used; up to SAMPLES positions are sampled. */
static double scale_cost(const struct pe_scheme *scheme, const struct pe_positions *positions)
{
    enum { SAMPLES = 64, DOUBLES = 650, WIDE = 2000 };
    const size_t samples = pe_min(positions->count, SAMPLES);
    double beyond = 0;

    for (size_t i = 0; i < samples; i++) {
        const size_t index = positions->count / samples * i;
        beyond += scale_reach(scheme, pe_position_of(positions, index).part[0], false) > 100;
    }
    return DOUBLES + (WIDE - DOUBLES) * (samples > 0 ? beyond / (double)samples : 0);
}

static const struct pe_rotary_scale_kind scale = {
    .at = scale_at, .all = scale_all, .reach = scale_reach, .cost = scale_cost};
static const struct pe_rotary_kind rotary = {.scale = &scale, .infer = pe_rotary_infer_dim};

extern const struct pe_encoding pe_encoding_xpos;
const struct pe_encoding pe_encoding_xpos = {
    .info.name = "xpos",
    .info.family = "rotary",
    .info.title =
        "Extrapolatable position embedding: rope with queries scaled by zeta^p and keys by zeta^-p",
    .info.formula =
        "q: zeta_i^p rope(t), k: zeta_i^-p rope(t), zeta_i = (2i + 0.4 dim) / (1.4 dim), "
        "p = (t - t_center) / scale_base",
    .info.source = "Sun et al. 2022, A Length-Extrapolatable Transformer, arXiv:2212.10554",
    PE_INFO_PARAMS(params),
    .info.example = "dim=4&t_center=2",
    .rotary = &rotary,
    .state_size = sizeof(struct state),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .cost = cost,
    .close = close_all,
};
