/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "core/encodings/rope/rope.h"

#define ROPE_TYPE(name, also) extern const struct pe_rope_type pe_rope_type_##name;
#include "core/encodings/rope/rope_types.def"
#undef ROPE_TYPE

static const struct pe_rope_type *const types[] = {
#define ROPE_TYPE(name, also) &pe_rope_type_##name,
#include "core/encodings/rope/rope_types.def"
#undef ROPE_TYPE
};

/* "default,linear,..." out of the list: each name behind a comma, the first comma skipped. */
#define ROPE_TYPE(name, also) "," #name also
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

static bool names(const char *list, const char *name)
{
    return pe_text_lists(list, ',', name, strlen(name));
}

/* How many rope_params.def lists; an encoding's own parameters stand behind them. */
enum {
    ROPE_PARAMS = sizeof((const struct pe_param[]){
#include "core/encodings/rope/rope_params.def"
                  }) /
                  sizeof(struct pe_param)
};

/* Refuses parameters that the type would silently ignore, asks for those it needs, and leaves out
 * the defaults of other types: the parameters told of a scheme can be given to make it again. */
static enum pe_status type_check(struct pe_scheme *scheme, struct pe_error *err)
{
    static const char *const common = "dim,base,rotary_dim,partial_rotary_factor,rope_type,"
                                      "max_position_embeddings,arithmetic";
    const struct pe_rope_type *type = pe_rope_type_of(scheme);
    char where[sizeof(err->where)];

    for (size_t i = 0; i < ROPE_PARAMS; i++) {
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

/* Factors below 1 make frequencies faster; frequencies that are given may be anything. */
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

static struct pe_powers powers_of(const struct pe_rope_type *type)
{
    return (struct pe_powers){.share = type->share ? type->share : pe_rope_share,
                              .scaled = type->scaled};
}

/* base frequency / scaled frequency of a pair; with arithmetic=hf, of the float32 values. */
struct pe_wide pe_rope_freq_factor(unsigned bits, const void *context, size_t pair)
{
    static const struct pe_powers plain = {.share = pe_rope_share};
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

double pe_rope_work(const struct pe_scheme *scheme)
{
    const double one = pe_rope_type_of(scheme)->work;

    return (double)pe_waves_of(scheme)->pairs * (one > 0 ? one : PE_FREQUENCY_WORK);
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
        .work = type->work,
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
