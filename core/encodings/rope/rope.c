/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "core/encodings/rope/rope.h"
#include "core/exact/correct_rounding.h"
#include "core/exact/elementary.h"

static const struct pe_param params[] = {
#include "core/encodings/rope/rope_params.def"
};

/* ---- the list of types ---------------------------------------------------------------------- */

#define ROPE_TYPE(name, aliases) extern const struct pe_rope_type pe_rope_type_##name;
#include "core/encodings/rope/rope_types.def"
#undef ROPE_TYPE

static const struct pe_rope_type *const types[] = {
#define ROPE_TYPE(name, aliases) &pe_rope_type_##name,
#include "core/encodings/rope/rope_types.def"
#undef ROPE_TYPE
};

/* A comma before each name; users skip the first. */
#define ROPE_TYPE(name, aliases) "," #name aliases
const char pe_rope_type_choices[] =
#include "core/encodings/rope/rope_types.def"
    ;
#undef ROPE_TYPE

const struct pe_rope_type *pe_rope_type_at(size_t index)
{
    return index < sizeof(types) / sizeof(types[0]) ? types[index] : NULL;
}

const struct pe_rope_type *pe_rope_type_of(const struct pe_scheme *scheme)
{
    return types[(size_t)pe_rope_param(scheme, "rope_type")];
}

/* ---- helpers of types ----------------------------------------------------------------------- */

struct pe_wide pe_rope_factor(unsigned bits, const struct pe_scheme *scheme)
{
    const double given = pe_rope_param(scheme, "factor");
    const double most = pe_rope_param(scheme, "max_position_embeddings");

    return isnan(given) ? pe_wide_div_double(pe_wide_of(bits, most), pe_rope_original(scheme))
                        : pe_wide_of(bits, given);
}

enum pe_status pe_rope_list_check(const struct pe_scheme *scheme, const char *name,
                                  const char *hint, struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(&scheme->params, name);
    const size_t pairs = pe_waves_of(scheme)->pairs;
    char where[64];

    if (!list->present || list->list_count == pairs)
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return pe_fail(err, PE_SHAPE_MISMATCH, where,
                   "%s has %zu numbers, one for each of the %zu pairs is needed%s", name,
                   list->list_count, pairs, hint);
}

void pe_rope_factor_warn(struct pe_scheme *scheme, const char *says)
{
    const double factor = pe_rope_param(scheme, "factor");

    if (factor < 1)
        pe_scheme_warn(scheme, "factor %g is below 1: %s", factor, says);
}

/* The rate of B^(-2 pair / rotary_dim), from ln B. */
static struct pe_wide rate_of(struct pe_wide logarithm, const struct pe_scheme *scheme)
{
    return pe_wide_scale(pe_wide_div_uint(logarithm, pe_rotary_of(scheme)->rotary_dim), 1);
}

static struct pe_wide base_log(unsigned bits, const struct pe_scheme *scheme)
{
    return pe_wide_log(pe_wide_of(bits, pe_rope_param(scheme, "base")));
}

void pe_rope_compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    out->number[0] = rate_of(base_log(bits, context), context);
}

void pe_rope_compute_shared_stretched(struct pe_shared *out, const struct pe_scheme *scheme,
                                      struct pe_wide stretch)
{
    const size_t dim = pe_rotary_of(scheme)->rotary_dim;
    const struct pe_wide more =
        pe_wide_div_uint(pe_wide_mul_uint(pe_wide_log(stretch), dim), dim - 2);

    out->number[0] =
        rate_of(pe_wide_add(base_log(pe_wide_precision(&stretch), scheme), more), scheme);
}

enum pe_status pe_rope_stretch_check(const struct pe_scheme *scheme, double stretch,
                                     const char *name, struct pe_error *err)
{
    const double dim = (double)pe_rotary_of(scheme)->rotary_dim;
    const double base = pe_rope_param(scheme, "base");
    char where[64];

    if (dim == 2)
        return pe_fail(err, PE_OUT_OF_RANGE,
                       isnan(pe_rope_param(scheme, "rotary_dim")) ? "parameter:dim"
                                                                  : "parameter:rotary_dim",
                       "a stretched base needs two pairs at least, got one");
    if (pe_log(base) + dim / (dim - 2) * pe_log(stretch) <= pe_log(PE_ROPE_BASE_MAX))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return pe_fail(err, PE_OUT_OF_RANGE, where,
                   "%s makes the base larger than 1e30: %g stretched by %g", name, base, stretch);
}

/* Float32 in the order of operations of Hugging Face transformers, modeling_rope_utils.py: numbers
 * of a configuration are doubles until they meet a tensor, whose operations round to float32. */
float pe_rope_float32_power(const struct pe_scheme *scheme, double base, size_t pair)
{
    return pe_float32_power((float)base,
                            (float)(2 * pair) / (float)pe_rotary_of(scheme)->rotary_dim);
}

float pe_rope_float32_plain(const struct pe_scheme *scheme, double base, size_t pair)
{
    return 1 / pe_rope_float32_power(scheme, base, pair);
}

double pe_rope_stretched_base(const struct pe_scheme *scheme, double stretch)
{
    const double dim = (double)pe_rotary_of(scheme)->rotary_dim;

    return pe_rope_param(scheme, "base") * pe_float64_power(stretch, dim / (dim - 2));
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool names(const char *list, const char *name)
{
    return pe_text_lists(list, ',', name, strlen(name));
}

/* Refuses parameters that the type would ignore, requires those that it needs, and drops the
 * defaults of other types, so that the resolved parameters can be given again. An encoding's own
 * parameters follow those of rope. */
static enum pe_status type_check(struct pe_scheme *scheme, struct pe_error *err)
{
    static const char *const common = "dim,base,rotary_dim,partial_rotary_factor,rope_type,"
                                      "max_position_embeddings,arithmetic";
    const struct pe_rope_type *type = pe_rope_type_of(scheme);
    char where[sizeof(err->where)];

    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        const char *name = scheme->params.list[i].name;
        const bool given = scheme->params.values[i].given, required = names(type->required, name);
        const bool known = required || names(type->optional, name) || names(common, name);
        if (required ? given : known)
            continue;
        if (!known && !given) {
            scheme->params.values[i].present = false;
            continue;
        }
        snprintf(where, sizeof(where), "parameter:%s", name);
        return required ? pe_fail(err, PE_MISSING, where, "%s is required for rope_type %s", name,
                                  type->name)
                        : pe_fail(err, PE_CONFLICT, where,
                                  "%s has no meaning for rope_type %s; give the rope_type that it "
                                  "belongs to, or leave it out",
                                  name, type->name);
    }
    if (pe_rope_in_float32(scheme) && !type->float32)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:arithmetic",
                       "rope_type %s has real numbers only; leave arithmetic out", type->name);
    return type->check ? type->check(scheme, err) : PE_OK;
}

/* An upper bound of the frequencies: factors below 1 raise them, and given ones have any value. */
static double bound_of(const struct pe_scheme *scheme)
{
    static const char *const lists[] = {"short_factor", "long_factor", "freq_factors"};
    const struct pe_value *given = pe_param_value(&scheme->params, "inv_freq");
    double fastest = 1, least = fmin(1, pe_rope_param(scheme, "factor"));

    for (size_t i = 0; i < 3; i++) {
        const struct pe_value *list = pe_param_value(&scheme->params, lists[i]);
        for (size_t k = 0; list->present && k < list->list_count; k++)
            least = fmin(least, list->list[k]);
    }
    for (size_t k = 0; given->present && k < given->list_count; k++)
        fastest = fmax(fastest, given->list[k]);
    return fmax(fastest, 1 / least);
}

enum pe_status pe_rope_check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double dim = pe_rope_param(scheme, "dim");
    const double part = pe_rope_param(scheme, "partial_rotary_factor");
    const bool has_part = pe_param_given(&scheme->params, "partial_rotary_factor");
    double rotary = pe_rope_param(scheme, "rotary_dim");

    if (pe_param_given(&scheme->params, "rotary_dim") && has_part && rotary != floor(dim * part))
        return pe_fail(err, PE_CONFLICT, "parameter:partial_rotary_factor",
                       "partial_rotary_factor %g of %g is not rotary_dim %g", part, dim, rotary);
    if (pe_rope_type_of(scheme)->whole_head)
        rotary = dim;
    if (isnan(rotary))
        rotary = has_part ? floor(dim * part) : dim;
    if (rotary == dim && !has_part && fmod(dim, 2) != 0)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:dim", "dim must be even for %s; got %g",
                       scheme->encoding->info.name, dim);
    if (rotary > dim || rotary < 2 || fmod(rotary, 2) != 0)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:rotary_dim",
                       "with dim %.0f, rotary_dim must be even and from 2 to %.0f; got %.0f", dim,
                       dim, rotary);
    struct pe_rotary *state = scheme->state;
    state->head_dim = (size_t)dim;
    state->rotary_dim = (size_t)rotary;
    state->waves.pairs = state->rotary_dim / 2;
    state->waves.bound = bound_of(scheme);
    state->in_float32 = pe_rope_in_float32(scheme);
    return type_check(scheme, err);
}

/* ---- frequencies ----------------------------------------------------------------------------- */

static struct pe_powers powers_of(const struct pe_rope_type *type)
{
    return (struct pe_powers){.compute_shared = type->compute_shared ? type->compute_shared
                                                                     : pe_rope_compute_shared,
                              .scaled = type->scaled};
}

/* Unscaled over scaled frequency of a pair; with arithmetic=hf, of the float32 values. */
struct pe_wide pe_rope_freq_factor(unsigned bits, const void *context, size_t pair)
{
    static const struct pe_powers plain = {.compute_shared = pe_rope_compute_shared};
    const struct pe_scheme *scheme = context;
    const struct pe_powers powers = powers_of(pe_rope_type_of(scheme));

    if (pe_rope_in_float32(scheme)) {
        const float w = pe_rope_float32_plain(scheme, pe_rope_param(scheme, "base"), pair);
        float scaled;
        pe_frequencies_write(pe_waves_of(scheme)->frequencies, pair, PE_F32, &scaled, NULL);
        return pe_wide_div_double(pe_wide_of(bits, w), scaled);
    }
    return pe_wide_div(pe_powers_real(&plain, scheme, bits, pair),
                       pe_powers_real(&powers, scheme, bits, pair));
}

static struct pe_wide given_factor(unsigned bits, const void *context, size_t index)
{
    (void)index;
    return pe_wide_of(bits, pe_rope_param(context, "attention_factor"));
}

static float float32_frequency(const void *context, size_t pair)
{
    return pe_rope_type_of(context)->float32(context, pair);
}

double pe_rope_cost(const struct pe_scheme *scheme)
{
    const double one = pe_rope_type_of(scheme)->cost;

    return (double)pe_waves_of(scheme)->pairs * (one > 0 ? one : PE_FREQUENCY_COST);
}

enum pe_status pe_rope_prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    const struct pe_rope_type *type = pe_rope_type_of(scheme);
    const double given = pe_rope_param(scheme, "attention_factor");
    struct pe_waves *waves = scheme->state;
    const struct pe_frequencies_spec spec = {
        .count = waves->pairs,
        .powers = powers_of(type),
        .factor = isnan(given) ? type->factor : given_factor,
        .given = given,
        .float32 = pe_rope_in_float32(scheme) ? float32_frequency : NULL,
        .context = scheme,
        .cost = type->cost,
    };

    return pe_frequencies_new(&waves->frequencies, &spec, work, err);
}

double pe_rope_softmax_scale_multiplier(const struct pe_scheme *scheme)
{
    const struct pe_rope_type *type = pe_rope_type_of(scheme);

    return type->softmax_scale_multiplier ? type->softmax_scale_multiplier(scheme) : NAN;
}

double pe_rope_length(const struct pe_scheme *scheme)
{
    const struct pe_rope_type *type = pe_rope_type_of(scheme);

    return type->length ? type->length(scheme) : INFINITY;
}

/* ---- the encoding ---------------------------------------------------------------------------- */

static const struct pe_rotary_kind rotary = {
    .freq_factor = pe_rope_freq_factor,
    .softmax_scale_multiplier = pe_rope_softmax_scale_multiplier,
    .length = pe_rope_length,
    .infer = pe_rotary_infer_dim,
};

extern const struct pe_encoding pe_encoding_rope;
const struct pe_encoding pe_encoding_rope = {
    .info.name = "rope",
    .info.family = "rotary",
    .info.title = "Rotary position embedding: pairs of elements of queries and keys rotated by "
                  "their position",
    .info.formula =
        "(x0, x1) -> A (x0 cos tw - x1 sin tw, x0 sin tw + x1 cos tw), w_i = base^(-2i/dim)",
    .info.source = "Su et al. 2021, RoFormer, arXiv:2104.09864; scaled types as in Hugging Face "
                   "transformers, modeling_rope_utils.py",
    PE_INFO_PARAMS(params),
    .info.example = "dim=4",
    .rotary = &rotary,
    .state_size = sizeof(struct pe_rotary),
    .has_waves = true,
    .check = pe_rope_check,
    .prepare = pe_rope_prepare,
    .cost = pe_rope_cost,
    .close = pe_rotary_close,
};
