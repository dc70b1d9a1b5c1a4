/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/frequencies.h"
#include "core/rope_type.h"
#include "core/text.h"
#include "core/views.h"

#define ROPE_TYPE(name) extern const struct pe_rope_type pe_rope_type_##name;
#include "core/rope_types.def"
#undef ROPE_TYPE

const struct pe_rope_type *const pe_rope_types[] = {
#define ROPE_TYPE(name) &pe_rope_type_##name,
#include "core/rope_types.def"
#undef ROPE_TYPE
    NULL,
};

/* "default,linear,..." out of the list: each name behind a comma, the first comma skipped. */
#define ROPE_TYPE(name) "," #name
static const char rope_type_choices[] =
#include "core/rope_types.def"
    ;
#undef ROPE_TYPE

/* Factors far outside any use; within them every frequency is below 2^63 and above 2^-200. */
#define SCALE_MIN  1e-9
#define SCALE_MAX  1e9
#define LENGTH_MAX (0x1p53 - 1)
#define BASE_MAX   1e30

static const struct pe_param params[] = {
    {.name = "dim",
     .aliases = "head_dim",
     .type = PE_INTEGER,
     .min = 2,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "Width of a head."},
    {.name = "base",
     .aliases = "rope_theta,rotary_emb_base,theta,max_wavelength",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = BASE_MAX,
     .fallback = "10000",
     .doc = "Frequencies are powers of it."},
    {.name = "rotary_dim",
     .type = PE_INTEGER,
     .min = 2,
     .max = 1 << 20,
     .unit = "elements",
     .doc = "How many elements of a head rotate, the first ones; all of them if absent."},
    {.name = "partial_rotary_factor",
     .aliases = "rotary_pct",
     .type = PE_NUMBER,
     .min = 0,
     .above_min = true,
     .max = 1,
     .doc = "rotary_dim as a part of dim, rounded down."},
    {.name = "rope_type",
     .aliases = "type",
     .type = PE_CHOICE,
     .choices = rope_type_choices + 1,
     .fallback = "default",
     .doc = "How the frequencies are scaled for long contexts."},
    {.name = "factor",
     .type = PE_NUMBER,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .doc = "How much longer the context becomes."},
    {.name = "alpha",
     .type = PE_NUMBER,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .doc = "ntk: what the base is stretched by, instead of factor."},
    {.name = "seq_len",
     .type = PE_INTEGER,
     .min = 0,
     .max = LENGTH_MAX,
     .unit = "positions",
     .doc = "dynamic, longrope: how long the whole sequence is; 0 or absent: not beyond the "
            "original."},
    {.name = "short_factor",
     .type = PE_NUMBERS,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .doc = "longrope: what each pair's frequency is divided by up to the original length."},
    {.name = "long_factor",
     .type = PE_NUMBERS,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .doc = "longrope: the same beyond it."},
    {.name = "low_freq_factor",
     .type = PE_NUMBER,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .doc = "llama3: waves longer than the original length over this are slowed by the factor."},
    {.name = "high_freq_factor",
     .type = PE_NUMBER,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .doc = "llama3: waves shorter than the original length over this are kept."},
    {.name = "original_max_position_embeddings",
     .type = PE_INTEGER,
     .min = 1,
     .max = LENGTH_MAX,
     .unit = "positions",
     .doc = "Context length that the model was first trained with."},
    {.name = "max_position_embeddings",
     .type = PE_INTEGER,
     .min = 1,
     .max = LENGTH_MAX,
     .unit = "positions",
     .doc = "Context length of the model."},
    {.name = "beta_fast",
     .type = PE_NUMBER,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .fallback = "32",
     .unit = "rotations",
     .doc = "yarn: pairs that turn more often are kept."},
    {.name = "beta_slow",
     .type = PE_NUMBER,
     .min = SCALE_MIN,
     .max = SCALE_MAX,
     .fallback = "1",
     .unit = "rotations",
     .doc = "yarn: pairs that turn less often are slowed by the factor."},
    {.name = "mscale",
     .type = PE_NUMBER,
     .min = 0,
     .max = SCALE_MAX,
     .doc = "yarn: magnitude of the attention factor; with mscale_all_dim."},
    {.name = "mscale_all_dim",
     .type = PE_NUMBER,
     .min = 0,
     .max = SCALE_MAX,
     .doc = "yarn: magnitude that the attention factor is divided by; also gives DeepSeek's "
            "softmax_scale_multiplier."},
    {.name = "truncate",
     .type = PE_BOOLEAN,
     .fallback = "true",
     .doc = "yarn: round the ends of the ramp to whole pairs."},
    {.name = "attention_factor",
     .type = PE_NUMBER,
     .min = 1e-9,
     .max = 1e9,
     .doc = "What cos and sin are multiplied by, instead of the scheme's own."},
};

const struct pe_rope_type *pe_rope_type_of(const struct pe_scheme *scheme)
{
    return pe_rope_types[(size_t)pe_param_number(&scheme->params, "rope_type")];
}

static bool names(const char *list, const char *name)
{
    return pe_text_lists(list, ",", name, strlen(name));
}

/* Refuses what the type would silently ignore, asks for what it needs, and leaves out the defaults
 * of other types: what is told of a scheme can be given to make it again. */
static enum pe_status type_check(struct pe_scheme *scheme, struct pe_error *err)
{
    static const char *const common = "dim,base,rotary_dim,partial_rotary_factor,rope_type,"
                                      "max_position_embeddings";
    const struct pe_rope_type *type = pe_rope_type_of(scheme);
    char where[sizeof(err->where)];

    for (size_t i = 0; i < scheme->params.count; i++) {
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
    return type->check ? type->check(scheme, err) : PE_OK;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
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
    if (rotary > dim || rotary < 2 || fmod(rotary, 2) != 0)
        return pe_fail(err, PE_OUT_OF_RANGE,
                       rotary == dim && !has_part ? "parameter:dim" : "parameter:rotary_dim",
                       "the part of a head that rotates must be even, at least 2 and at most dim: "
                       "got %g of %g",
                       rotary, dim);
    scheme->head_dim = (size_t)dim;
    scheme->rotary_dim = (size_t)rotary;
    scheme->pairs = scheme->rotary_dim / 2;
    return type_check(scheme, err);
}

void pe_rope_plain_frequency(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_scheme *scheme = context;

    mpfr_set_d(out, pe_rope_param(scheme, "base"), MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, 2 * pair, MPFR_RNDN);
    mpfr_div_ui(out, out, scheme->rotary_dim, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
}

void pe_rope_stretched_frequency(mpfr_ptr out, const struct pe_scheme *scheme, size_t pair)
{
    const size_t dim = scheme->rotary_dim;
    mpfr_t base;

    mpfr_init2(base, mpfr_get_prec(out));
    mpfr_set_d(base, pe_rope_param(scheme, "base"), MPFR_RNDN);
    mpfr_log(base, base, MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, dim, MPFR_RNDN);
    mpfr_div_ui(out, out, dim - 2, MPFR_RNDN);
    mpfr_add(out, out, base, MPFR_RNDN);
    mpfr_mul_ui(out, out, 2 * pair, MPFR_RNDN);
    mpfr_div_ui(out, out, dim, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
    mpfr_clear(base);
}

enum pe_status pe_rope_stretch_check(const struct pe_scheme *scheme, double stretch,
                                     const char *name, struct pe_error *err)
{
    const double dim = (double)scheme->rotary_dim, base = pe_rope_param(scheme, "base");
    char where[64];

    if (scheme->rotary_dim == 2)
        return pe_fail(err, PE_OUT_OF_RANGE,
                       isnan(pe_rope_param(scheme, "rotary_dim")) ? "parameter:dim"
                                                                  : "parameter:rotary_dim",
                       "a stretched base needs two pairs at least, got one");
    if (log(base) + dim / (dim - 2) * log(stretch) <= log(BASE_MAX))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return pe_fail(err, PE_OUT_OF_RANGE, where,
                   "%s makes the base larger than 1e30: %g stretched by %g", name, base, stretch);
}

void pe_rope_warn(struct pe_scheme *scheme, const char *format, double a, double b)
{
    snprintf(scheme->warnings[scheme->warnings_count++], sizeof(scheme->warnings[0]), format, a, b);
}

static void freq_factor(mpfr_ptr out, const void *context, size_t pair)
{
    mpfr_t scaled;

    mpfr_init2(scaled, mpfr_get_prec(out));
    pe_rope_type_of(context)->frequency(scaled, context, pair);
    pe_rope_plain_frequency(out, context, pair);
    mpfr_div(out, out, scaled, MPFR_RNDN);
    mpfr_clear(scaled);
}

static void given_factor(mpfr_ptr out, const void *context, size_t index)
{
    (void)index;
    mpfr_set_d(out, pe_rope_param(context, "attention_factor"), MPFR_RNDN);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    const struct pe_rope_type *type = pe_rope_type_of(scheme);
    const double given = pe_rope_param(scheme, "attention_factor");

    scheme->frequencies = pe_frequencies_new(scheme, scheme->pairs, type->frequency,
                                             isnan(given) ? type->factor : given_factor, given);
    return scheme->frequencies
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu frequencies", scheme->pairs);
}

static double softmax_scale_multiplier(const struct pe_scheme *scheme)
{
    const struct pe_rope_type *type = pe_rope_type_of(scheme);

    return type->softmax_scale_multiplier ? type->softmax_scale_multiplier(scheme) : NAN;
}

static bool turns(const struct pe_scheme *scheme)
{
    return scheme->pairs > 0;
}

static const struct pe_view_type *const views[] = {&pe_view_rotary_table,
                                                   &pe_view_rotary_frequencies,
                                                   &pe_view_similarity,
                                                   &pe_view_decay,
                                                   &pe_view_uniqueness,
                                                   &pe_view_wavelengths,
                                                   &pe_view_error,
                                                   &pe_view_shift,
                                                   NULL};

extern const struct pe_encoding pe_encoding_rope;
const struct pe_encoding pe_encoding_rope = {
    .name = "rope",
    .family = "rotary",
    .title = "Rotary position embedding: pairs of a query or key turn with its position",
    .formula = "(x0, x1) -> A (x0 cos tw - x1 sin tw, x0 sin tw + x1 cos tw), w_i = base^(-2i/dim)",
    .source = "Su et al. 2021, RoFormer, arXiv:2104.09864; scaled types as in Hugging Face "
              "transformers, modeling_rope_utils.py",
    .params = params,
    .params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .example = "dim=4",
    .check = check,
    .prepare = prepare,
    .turns = turns,
    .rotates = true,
    .freq_factor = freq_factor,
    .softmax_scale_multiplier = softmax_scale_multiplier,
};
