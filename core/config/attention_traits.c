/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sanitizer.h"
#include "core/config/reading.h"
#include "core/exact/elementary.h"

/* The traits of attention beside positions: scale, softcap, window, norms..., by the keys of a
 * config and the class of its model, for layers of a kind. */

/* A scale of 1 over the width of a head, until that width is known. */
enum { SCALE_BY_WIDTH = -1 };

/* ---- values of keys -------------------------------------------------------------------------- */

static bool is_true(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_BOOL && value->as.truth;
}

/* null is false too, as it is in Python. */
static bool is_false(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_NULL || (value->kind == PE_CONFIG_BOOL && !value->as.truth);
}

static void scale_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (pe_config_is_number(value))
        traits->scale = pe_config_number(value);
}

static void scalar_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (pe_config_is_number(value))
        traits->scale = 1 / sqrt(fmax(pe_config_number(value), 0));
}

static void unscaled_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_false(value))
        traits->scale = 1;
}

/* Scores over the width of a head, and not over its root. */
static void by_width_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_true(value))
        traits->scale = SCALE_BY_WIDTH;
    else if (traits->scale == SCALE_BY_WIDTH)
        traits->scale = NAN;
}

static void over_layer_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->scale_over_layer = is_true(value);
}

static void softcap_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->softcap = pe_config_number(value);
}

static void window_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    const double window = pe_config_number(value);

    traits->window = window >= 1 && window < 0x1p53 ? (int64_t)window : 0;
}

static void half_window_take(struct pe_attention_traits *traits,
                             const struct pe_config_value *value)
{
    window_take(traits, value);
    traits->window /= 2;
}

static void window_switch(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_false(value))
        traits->window = 0;
}

static void chunk_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    const double chunk = pe_config_number(value);

    traits->chunk = chunk >= 1 && chunk < 0x1p53 ? (int64_t)chunk : 0;
}

static void both_ways_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    const bool all = value->kind == PE_CONFIG_TEXT && strcmp(value->as.text, "all") == 0;

    traits->causal = !is_true(value) && !all;
}

static void causal_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->causal &= !is_false(value);
}

static void decoder_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->causal |= is_true(value);
}

static void strength_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->temperature.strength = pe_config_number(value);
}

static void length_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->temperature.length = pe_config_number(value);
}

static void from_1_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    length_take(traits, value);
    traits->temperature.offset = 1;
}

static void temperature_switch(struct pe_attention_traits *traits,
                               const struct pe_config_value *value)
{
    if (is_false(value))
        traits->temperature = (struct pe_temperature){0};
}

static void eps_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (traits->qk_norm.kind)
        traits->qk_norm.eps = pe_config_number(value);
}

static void norm_switch(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_false(value))
        traits->qk_norm = (struct pe_qk_norm){0};
}

/* ---- traits of the class --------------------------------------------------------------------- */

static bool class_scale_take(struct pe_attention_traits *traits,
                             const struct pe_config_layers *model)
{
    if (model->scale != 0)
        traits->scale = model->scale;
    return model->scale != 0;
}

static bool class_scales_bias_take(struct pe_attention_traits *traits,
                                   const struct pe_config_layers *model)
{
    traits->scales_bias |= model->scales_bias;
    return model->scales_bias;
}

static bool class_sinks_take(struct pe_attention_traits *traits,
                             const struct pe_config_layers *model)
{
    traits->sinks |= model->sinks;
    return model->sinks;
}

static bool class_both_ways_take(struct pe_attention_traits *traits,
                                 const struct pe_config_layers *model)
{
    traits->causal &= !model->both_ways;
    return model->both_ways;
}

/* Some classes halve a window where a key makes attention not causal. */
static bool class_window_take(struct pe_attention_traits *traits,
                              const struct pe_config_layers *model)
{
    if (model->both_ways_window.halved && !traits->causal && traits->window > 0)
        traits->window = traits->window / 2 + model->both_ways_window.plus;
    return model->both_ways_window.halved;
}

static bool class_norm_take(struct pe_attention_traits *traits,
                            const struct pe_config_layers *model)
{
    if (model->qk_norm.kind)
        traits->qk_norm = model->qk_norm;
    return model->qk_norm.kind;
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* A trait by the value of a key, or by the class of the model. The order of the table is that of
 * evaluation: a switch follows the keys that it overrides. */
static const struct step {
    const char *trait;
    const char *key; /* NULL: of the class */
    void (*take)(struct pe_attention_traits *traits, const struct pe_config_value *value);
    bool takes_text; /* beside numbers and booleans */
    bool is_whole;   /* numbers are whole */
    bool (*class_take)(struct pe_attention_traits *traits, const struct pe_config_layers *model);
} steps[] = {
    {.trait = "scale", .class_take = class_scale_take},
    {.trait = "scale", .key = "attention_multiplier", .take = scale_take},
    {.trait = "scale", .key = "attn_config.softmax_scale", .take = scale_take},
    {.trait = "scale", .key = "query_pre_attn_scalar", .take = scalar_take},
    {.trait = "scale", .key = "scale_attn_weights", .take = unscaled_take},
    {.trait = "scale", .key = "mup_scale_qk_dot_by_d", .take = by_width_take},
    {.trait = "scale", .key = "scale_qk_dot_by_d", .take = by_width_take},
    {.trait = "scale_over_layer",
     .key = "scale_attn_by_inverse_layer_idx",
     .take = over_layer_take},
    {.trait = "scales_bias", .class_take = class_scales_bias_take},
    {.trait = "softcap", .key = "attn_logit_softcapping", .take = softcap_take},
    {.trait = "softcap", .key = "attn_logit_soft_cap", .take = softcap_take},
    {.trait = "softcap", .key = "attention_logit_cap", .take = softcap_take},
    {.trait = "window", .key = "sliding_window", .take = window_take, .is_whole = true},
    {.trait = "window", .key = "local_attention", .take = half_window_take, .is_whole = true},
    {.trait = "window", .key = "use_sliding_window", .take = window_switch},
    {.trait = "chunk", .key = "attention_chunk_size", .take = chunk_take, .is_whole = true},
    {.trait = "sinks", .class_take = class_sinks_take},
    {.trait = "causal", .class_take = class_both_ways_take},
    {.trait = "causal",
     .key = "use_bidirectional_attention",
     .take = both_ways_take,
     .takes_text = true},
    {.trait = "window", .class_take = class_window_take},
    {.trait = "causal", .key = "is_decoder", .take = decoder_take},
    {.trait = "causal", .key = "is_causal", .take = causal_take},
    {.trait = "temperature", .key = "attn_scale", .take = strength_take},
    {.trait = "temperature", .key = "floor_scale", .take = from_1_take},
    {.trait = "temperature", .key = "attn_temperature_tuning", .take = temperature_switch},
    {.trait = "temperature", .key = "rope.llama_4_scaling_beta", .take = strength_take},
    {.trait = "temperature", .key = "rope.original_max_position_embeddings", .take = length_take},
    {.trait = "temperature", .key = "llama_4_scaling.beta", .take = strength_take},
    {.trait = "temperature",
     .key = "llama_4_scaling.original_max_position_embeddings",
     .take = length_take},
    {.trait = "qk_norm", .class_take = class_norm_take},
    {.trait = "qk_norm", .key = "rms_norm_eps", .take = eps_take},
    {.trait = "qk_norm", .key = "norm_eps", .take = eps_take},
    {.trait = "qk_norm", .key = "layer_norm_eps", .take = eps_take},
    {.trait = "qk_norm", .key = "qk_layernorm", .take = norm_switch},
    {.trait = "qk_norm", .key = "use_qk_norm", .take = norm_switch},
    {0},
};

PE_WRAPS("counts down past 0")
const char *pe_config_trait_key(size_t index)
{
    for (const struct step *step = steps; step->trait; step++)
        if (step->key && index-- == 0)
            return step->key;
    return NULL;
}

/* ---- layers of a kind ------------------------------------------------------------------------ */

static bool is_of(const struct pe_config_kind *kind, const char *word)
{
    return !kind->layer_type || strstr(kind->layer_type, word);
}

/* Does a trait that the class has only in some layers hold in these? */
static bool holds(const struct pe_layer_where *where, const struct pe_config_kind *kind)
{
    switch (where->which) {
    case PE_WHERE_ALL:
        return true;
    case PE_WHERE_ROTATING:
        return kind->turns;
    case PE_WHERE_NOPE:
        return !kind->turns;
    case PE_WHERE_TYPE:
        return kind->layer_type && strcmp(kind->layer_type, where->type) == 0;
    }
    return true;
}

/* Clears the traits that layers of this kind do not have. */
static void kind_limit(const struct pe_config_scope *scope, const struct pe_config_kind *kind,
                       struct pe_attention_traits *traits)
{
    const struct pe_config_layers *model = pe_config_class_of(scope);

    if (!is_of(kind, "sliding") && !is_of(kind, "window"))
        traits->window = 0;
    if (!is_of(kind, "chunk"))
        traits->chunk = 0;
    if (!holds(&model->temperature_where, kind) || !(traits->temperature.strength > 0) ||
        !(traits->temperature.length > 0))
        traits->temperature = (struct pe_temperature){0};
    if (!holds(&model->qk_norm_where, kind))
        traits->qk_norm = (struct pe_qk_norm){0};
    traits->sinks &= holds(&model->sinks_where, kind);
}

/* Does the rope object name a type of scaling? */
static bool is_scaled(const struct pe_config_scope *scope)
{
    const struct pe_config_effective type = pe_config_effective(scope, "rope.rope_type"),
                                     old = pe_config_effective(scope, "rope.type");
    const struct pe_config_value *value =
        type.value.kind == PE_CONFIG_NULL ? &old.value : &type.value;

    return value->kind == PE_CONFIG_TEXT && strcmp(value->as.text, "default") != 0;
}

/* The factor of the scale: that of the class, if it has one; else, of classes that use it, the
 * square of YaRN's mscale by mscale_all_dim; else 1. */
static double multiplier(const struct pe_config_scope *scope)
{
    const struct pe_config_layers *model = pe_config_class_of(scope);
    const double factor = pe_config_effective_number(scope, "rope.factor");
    const double ln = factor > 1 ? pe_exact_log1p(pe_two_sum(factor, -1)).hi : 0;
    const double once = 0.1 * pe_config_effective_number(scope, "rope.mscale_all_dim") * ln + 1;

    if (model->scale_by_width != 0)
        return model->scale_by_width;
    return model->scale_by_mscale && is_scaled(scope) ? once * once : 1;
}

/* The width of a head of two parts, of which one rotates; 0: that of the encoding; -1: unknown,
 * for heads of several widths, or a model without a row whose code may multiply the scale. */
static int64_t width_of(const struct pe_config_scope *scope)
{
    const double still = pe_config_effective_number(scope, "qk_nope_head_dim"),
                 rotated = pe_config_effective_number(scope, "qk_rope_head_dim");

    if (pe_config_class_of(scope)->width_by_layer ||
        (!pe_config_layers_of(scope) &&
         pe_config_effective_number(scope, "rope.mscale_all_dim") != 0))
        return -1;
    return still >= 1 && rotated >= 1 && still + rotated < 0x1p31 ? (int64_t)(still + rotated) : 0;
}

/* The first of two keys that is a number above 0; else 0. */
static double first_size(const struct pe_config_scope *scope, const char *key, const char *other)
{
    const double size = pe_config_effective_number(scope, key);

    return size > 0 ? size : fmax(pe_config_effective_number(scope, other), 0);
}

/* Replaces SCALE_BY_WIDTH with the number. */
static void by_width_settle(struct pe_config_reading *reading, struct pe_attention_traits *traits)
{
    const struct pe_config_scope *scope = &reading->scope;
    const double head = pe_config_effective_number(scope, "head_dim");
    const double width = head > 0 ? head
                                  : first_size(scope, "hidden_size", "n_embd") /
                                        first_size(scope, "num_attention_heads", "n_head");

    if (traits->scale != SCALE_BY_WIDTH)
        return;
    traits->scale = width > 0 && isfinite(width) ? 1 / width : NAN;
    if (isnan(traits->scale))
        pe_config_warn(reading, "scores are divided by the width of a head, which the config does "
                                "not have: give scale");
}

/* Has a trait another value than the usual one? */
static bool is_unusual(const struct pe_attention_traits *traits, const char *name)
{
    const struct {
        const char *name;
        bool unusual;
    } rows[] = {
        {"scale", !isnan(traits->scale)},
        {"scale_over_layer", traits->scale_over_layer},
        {"scales_bias", traits->scales_bias},
        {"softcap", traits->softcap > 0},
        {"window", traits->window > 0},
        {"chunk", traits->chunk > 0},
        {"causal", !traits->causal},
        {"sinks", traits->sinks},
        {"temperature", traits->temperature.strength != 0},
        {"qk_norm", traits->qk_norm.kind != PE_QK_NORM_NONE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].unusual;
    return false;
}

static const char *const *const unmeasured_norms =
#define CONFIG_UNMEASURED_NORMS(models) models
#include "core/config/keys.def"
    ;

static void norms_warn(struct pe_config_reading *reading, const struct pe_attention_traits *traits)
{
    const char *name = reading->model ? reading->model->model_type : "";

    if (!traits->qk_norm.kind && pe_config_lists(unmeasured_norms, name))
        pe_config_warn(reading,
                       "the code of %s has norms of queries and keys, in some layers or in all, "
                       "which are not described here: pass q and k as they are after the norms",
                       name);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void source_note(struct pe_config_reading *reading, const char *trait,
                        const struct pe_config_member *member)
{
    char path[PE_CONFIG_PATH_SIZE];
    size_t at = 0;

    while (at < reading->trait_sources_count &&
           strcmp(reading->trait_sources[at].param, trait) != 0)
        at++;
    if (at < reading->trait_sources_count || at == PE_CONFIG_TRAITS_MAX)
        return;
    reading->trait_sources[reading->trait_sources_count++] =
        pe_config_source_make(reading, trait, member ? PE_CONFIG_KEY : PE_CONFIG_MODEL,
                              member ? pe_config_path(member, path, sizeof(path)) : NULL);
}

static void key_take(struct pe_config_reading *reading, const struct step *step,
                     struct pe_attention_traits *traits)
{
    const struct pe_config_effective found = pe_config_effective(&reading->scope, step->key);

    if (found.member && (found.value.kind >= PE_CONFIG_OBJECT ||
                         (found.value.kind == PE_CONFIG_TEXT && !step->takes_text)))
        pe_config_warn(reading, "%s is neither a number nor a boolean, and is not read", step->key);
    else if (step->is_whole &&
             floor(pe_config_number(&found.value)) != pe_config_number(&found.value))
        pe_config_warn(reading, "%s is not a whole number, and is not read", step->key);
    else if (found.member || found.value.kind != PE_CONFIG_NULL)
        step->take(traits, &found.value);
    if (isinf(traits->scale)) {
        pe_config_warn(reading, "%s is not above 0 and gives no scale: give scale", step->key);
        traits->scale = NAN;
    }
}

static void steps_take(struct pe_config_reading *reading, struct pe_attention_traits *traits)
{
    const struct pe_config_layers *model = pe_config_class_of(&reading->scope);

    for (const struct step *step = steps; step->trait; step++)
        if (step->key)
            key_take(reading, step, traits);
        else
            step->class_take(traits, model);
}

/* Does the config or the class declare the value that a step reads? */
static bool is_declared(const struct pe_config_reading *reading, const struct step *step,
                        const struct pe_config_member **member)
{
    struct pe_attention_traits unused = {0};
    struct pe_config_effective found;

    *member = NULL;
    if (!step->key)
        return step->class_take(&unused, pe_config_class_of(&reading->scope));
    found = pe_config_effective(&reading->scope, step->key);
    *member = found.member;
    return found.value.kind != PE_CONFIG_NULL;
}

/* Notes the first declared source of each unusual trait, in the order of the steps. */
static void sources_note(struct pe_config_reading *reading,
                         const struct pe_attention_traits *traits)
{
    const struct pe_config_member *member;

    reading->trait_sources_count = 0;
    for (const struct step *step = steps; step->trait; step++)
        if (is_unusual(traits, step->trait) && is_declared(reading, step, &member))
            source_note(reading, step->trait, member);
}

enum pe_status pe_config_kind_traits(struct pe_config_reading *reading,
                                     const struct pe_config_kind *kind,
                                     struct pe_attention_traits *traits, struct pe_error *err)
{
    struct pe_attention_traits own = {.size = traits->size, .scale = NAN, .causal = true};
    const size_t size = own.size < sizeof(own) ? own.size : sizeof(own);

    steps_take(reading, &own);
    by_width_settle(reading, &own);
    own.scale_multiplier = multiplier(&reading->scope);
    own.width = width_of(&reading->scope);
    pe_config_layer_keys_note(reading);
    norms_warn(reading, &own);
    own.window = kind->window > 0 ? kind->window : own.window;
    kind_limit(&reading->scope, kind, &own);
    sources_note(reading, &own);
    memcpy(traits, &own, size);
    return pe_config_memory_check(reading, err);
}

static bool is_alike(const struct pe_attention_traits *a, const struct pe_attention_traits *b)
{
    return a->window == b->window && a->chunk == b->chunk && a->sinks == b->sinks;
}

/* The kind of layers to use where no type is named. PE_MISSING: several kinds rotate, and their
 * attention differs. */
static enum pe_status intended_find(struct pe_config_reading *reading,
                                    const struct pe_config_kinds *kinds,
                                    const struct pe_config_kind **intended, struct pe_error *err)
{
    struct pe_attention_traits first = {.size = sizeof(first)}, other = {.size = sizeof(other)};
    const struct pe_config_kind *kind;

    *intended = NULL;
    for (size_t i = 0; (kind = pe_config_kind(kinds, i)); i++) {
        if (!kind->turns)
            continue;
        if (pe_config_kind_traits(reading, kind, *intended ? &other : &first, err))
            return err->status;
        if (*intended && !is_alike(&first, &other))
            return pe_fail(err, PE_MISSING, "parameter:layer_type",
                           "layer_type is required, the attention of the layers differs: %.60s, "
                           "%.60s",
                           (*intended)->layer_type, kind->layer_type);
        *intended = *intended ? *intended : kind;
    }
    *intended = *intended ? *intended : pe_config_kind(kinds, 0);
    return PE_OK;
}

enum pe_status pe_config_traits(struct pe_config_reading *reading,
                                struct pe_attention_traits *traits, struct pe_error *err)
{
    const struct pe_config_kind named = {
        .layer_type = reading->layer_type, .attends = true, .turns = true};
    const struct pe_config_kind *kind = &named;
    struct pe_config_kinds *kinds = NULL;
    enum pe_status status;

    if (!reading->layer_type && pe_config_kinds_new(&kinds, reading->config, err))
        return err->status;
    status = (kinds && intended_find(reading, kinds, &kind, err)) ||
                     pe_config_kind_traits(reading, kind, traits, err)
                 ? err->status
                 : PE_OK;
    pe_config_kinds_free(kinds);
    return status;
}

const struct pe_config_source *pe_config_trait_source(const struct pe_config_reading *reading,
                                                      size_t index)
{
    return index < reading->trait_sources_count ? &reading->trait_sources[index] : NULL;
}

/* ---- scales that this library does not apply ------------------------------------------------- */

static const struct scale {
    const char *key;
    const char *const *values; /* NULL: any but null and false */
    const char *text;
    bool is_known; /* to model_layers.def, for models that have a row there */
} scales[] = {
#define CONFIG_SCALES(key, values, text) {key, values, text, false},
#define CONFIG_MAY_SCALE(key, text)      {key, NULL, text, true},
#include "core/config/keys.def"
    {0},
};

static bool value_counts(const struct pe_config_member *member, const char *const *values)
{
    const bool is_bool = member->value.kind == PE_CONFIG_BOOL;
    const char *text = is_bool ? member->value.as.truth ? "true" : "false" : pe_config_text(member);

    if (values)
        return text && pe_config_lists(values, text);
    return pe_config_is_number(&member->value) || (is_bool && member->value.as.truth);
}

/* Is the meaning of a key known, by the row of this model or by a value of 0? */
static bool is_settled(const struct pe_config_reading *reading, const struct scale *row,
                       const struct pe_config_member *member)
{
    return row->is_known &&
           (pe_config_layers_of(&reading->scope) || pe_config_number(&member->value) == 0);
}

enum pe_status pe_config_attention(struct pe_config_reading *reading, bool scale_given,
                                   struct pe_error *err)
{
    char path[PE_CONFIG_PATH_SIZE];

    for (const struct scale *at = scales; at->key && !scale_given; at++) {
        const struct pe_config_member *found =
            pe_config_first(&reading->scope, pe_in_text_top, NAMES(at->key));
        if (!found || !value_counts(found, at->values) || is_settled(reading, at, found))
            continue;
        pe_config_note(reading, found);
        pe_config_warn(reading, "%s is not read by attention, give scale: %s",
                       pe_config_path(found, path, sizeof(path)), at->text);
    }
    return pe_config_memory_check(reading, err);
}
