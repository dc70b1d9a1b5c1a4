/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/text.h"
#include "core/config/layers.h"
#include "core/exact/elementary.h"

/* The traits of attention: what it does beside positions, by the keys of a config and the class of
 * its model, and in which layers. The table of steps is attention_traits.def. */

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

/* How a trait comes of the value of a key, or of the class of the model. */
static const struct step {
    const char *trait;
    const char *key; /* NULL: of the class */
    bool takes_text; /* else a number or a boolean */
    void (*take)(struct pe_attention_traits *traits, const struct pe_config_value *value);
    bool (*class_take)(struct pe_attention_traits *traits, const struct pe_config_layers *model);
} steps[] = {
#define TRAIT_BY_KEY(trait, key, takes_text, take) {trait, key, takes_text, take, NULL},
#define TRAIT_BY_CLASS(trait, take)                {trait, NULL, true, NULL, take},
#include "core/config/attention_traits.def"
#undef TRAIT_BY_KEY
#undef TRAIT_BY_CLASS
    {0},
};

/* ---- where it holds -------------------------------------------------------------------------- */

static bool is_of(const struct pe_config_kind *kind, const char *word)
{
    return !kind->layer_type || strstr(kind->layer_type, word);
}

/* Does a trait that the class has in some layers alone hold in these? */
static bool holds(const struct pe_layer_where *where, const struct pe_config_kind *kind)
{
    switch (where->which) {
    case PE_WHERE_ALL:
        return true;
    case PE_WHERE_ROTATING:
        return kind->turns;
    case PE_WHERE_STILL:
        return !kind->turns;
    case PE_WHERE_TYPE:
        return kind->layer_type && strcmp(kind->layer_type, where->type) == 0;
    }
    return true;
}

/* Layers see by a window or by chunks only where their type says so. */
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

static double number_of(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_effective found = pe_config_effective(scope, key);

    return pe_config_number(&found.value);
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

/* YaRN's mscale by mscale_all_dim, squared, of models whose code multiplies the scale by it. */
static double multiplier(const struct pe_config_scope *scope)
{
    const struct pe_config_layers *model = pe_config_class_of(scope);
    const double factor = number_of(scope, "rope.factor");
    const double ln = factor > 1 ? pe_exact_log1p(pe_two_sum(factor, -1)).hi : 0;
    const double once = 0.1 * number_of(scope, "rope.mscale_all_dim") * ln + 1;

    if (model->scale_by_width != 0)
        return model->scale_by_width;
    return model->scale_by_mscale && is_scaled(scope) ? once * once : 1;
}

/* The width of a head of two parts, of which one rotates; 0: that of the encoding. -1, unknown, for
 * a model without a row whose code may multiply the scale. */
static int64_t width_of(const struct pe_config_scope *scope)
{
    const double still = number_of(scope, "qk_nope_head_dim"),
                 turning = number_of(scope, "qk_rope_head_dim");

    if (pe_config_class_of(scope)->width_by_layer ||
        (!pe_config_layers_of(scope) && number_of(scope, "rope.mscale_all_dim") != 0))
        return -1;
    return still >= 1 && turning >= 1 && still + turning < 0x1p31 ? (int64_t)(still + turning) : 0;
}

/* The first of two keys that is a number above 0; else 0. */
static double first_size(const struct pe_config_scope *scope, const char *key, const char *other)
{
    const double size = number_of(scope, key);

    return size > 0 ? size : fmax(number_of(scope, other), 0);
}

/* Puts a number in place of a scale of 1 over the width of a head. */
static void by_width_settle(struct pe_config_reading *reading, struct pe_attention_traits *traits)
{
    const struct pe_config_scope *scope = &reading->scope;
    const double head = number_of(scope, "head_dim");
    const double width = head > 0 ? head
                                  : first_size(scope, "hidden_size", "n_embd") /
                                        first_size(scope, "num_attention_heads", "n_head");

    if (traits->scale != SCALE_BY_WIDTH)
        return;
    traits->scale = width > 0 && isfinite(width) ? 1 / width : NAN;
    if (isnan(traits->scale))
        pe_config_warn(reading, "scores are divided by the width of a head, which the config does "
                                "not tell: give scale");
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

/* Norms of a model whose layers nobody has measured. */
static void norms_warn(struct pe_config_reading *reading, const struct pe_attention_traits *traits)
{
    static const char models[] =
#define CONFIG_NORMS(models) models
#include "core/config/keys.def"
        ;
    const char *name = reading->model ? reading->model->model_type : "";

    if (!traits->qk_norm.kind && pe_text_lists(models, ' ', name, strlen(name)))
        pe_config_warn(reading,
                       "the code of %s has norms of queries and keys, in some layers or in all, "
                       "which are not told here: post q and k as they are after them",
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
    else if (found.member || found.value.kind != PE_CONFIG_NULL)
        step->take(traits, &found.value);
    if (isinf(traits->scale)) {
        pe_config_warn(reading, "%s is 0, of which no scale comes: it is not read", step->key);
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

/* Does the config or the class of the model declare what a step reads? */
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

/* Notes the sources of unusual traits, in the order of the steps. */
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

/* The kind of layers that is meant where no type is named. PE_MISSING: several rotate, and their
 * attention differs. */
static enum pe_status meant_find(struct pe_config_reading *reading,
                                 const struct pe_config_kinds *kinds,
                                 const struct pe_config_kind **meant, struct pe_error *err)
{
    struct pe_attention_traits first = {.size = sizeof(first)}, other = {.size = sizeof(other)};
    const struct pe_config_kind *kind;

    *meant = NULL;
    for (size_t i = 0; (kind = pe_config_kind(kinds, i)); i++) {
        if (!kind->turns)
            continue;
        if (pe_config_kind_traits(reading, kind, *meant ? &other : &first, err))
            return err->status;
        if (*meant && !is_alike(&first, &other))
            return pe_fail(err, PE_MISSING, "parameter:layer_type",
                           "layer_type is required, the attention of the layers differs: %.60s, "
                           "%.60s",
                           (*meant)->layer_type, kind->layer_type);
        *meant = *meant ? *meant : kind;
    }
    *meant = *meant ? *meant : pe_config_kind(kinds, 0);
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
    status = (kinds && meant_find(reading, kinds, &kind, err)) ||
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
