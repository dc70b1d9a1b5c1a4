/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/text.h"
#include "core/config/attention_traits.h"
#include "core/exact/elementary.h"

/* Reads what attention does beside positions, step by step, and in which layers it does so. */

static bool is_true(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_BOOL && value->as.truth;
}

/* ---- where it holds -------------------------------------------------------------------------- */

static bool is_of(const struct pe_config_kind *kind, const char *word)
{
    return !kind->layer_type || strstr(kind->layer_type, word);
}

/* Does a trait that has a condition hold in these layers? "turning", "still", or a type. */
static bool holds(const struct pe_config_scope *scope, const char *condition,
                  const struct pe_config_kind *kind)
{
    const struct pe_config_told told = pe_config_trait(scope, condition);
    const char *text = told.value.kind == PE_CONFIG_TEXT ? told.value.as.text : "";
    const struct pe_name name = {text, strcspn(text, " ")};

    if (name.size == 0)
        return true;
    if (pe_text_lists("turning still", ' ', name.at, name.size))
        return (*name.at == 't') == kind->turns;
    return kind->layer_type && strlen(kind->layer_type) == name.size &&
           memcmp(kind->layer_type, name.at, name.size) == 0;
}

/* Layers see by a window or by chunks only where their type says so. */
static void kind_limit(const struct pe_config_scope *scope, const struct pe_config_kind *kind,
                       struct pe_attention_traits *traits)
{
    if (!is_of(kind, "sliding") && !is_of(kind, "window"))
        traits->window = 0;
    if (!is_of(kind, "chunk"))
        traits->chunk = 0;
    if (!holds(scope, "temperature-if", kind) || !(traits->temperature.strength > 0) ||
        !(traits->temperature.length > 0))
        traits->temperature = (struct pe_temperature){0};
    if (!holds(scope, "qk_norm-if", kind))
        traits->qk_norm = (struct pe_qk_norm){0};
    traits->sinks &= holds(scope, "sinks-if", kind);
}

static double told_number(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_told told = pe_config_tell(scope, key);

    return pe_config_number(&told.value);
}

/* Does the rope object name a type of scaling? */
static bool is_scaled(const struct pe_config_scope *scope)
{
    static const char plain[] = "default";
    const struct pe_config_told type = pe_config_tell(scope, "rope.rope_type"),
                                old = pe_config_tell(scope, "rope.type");
    const struct pe_config_value *value =
        type.value.kind == PE_CONFIG_NULL ? &old.value : &type.value;

    return value->kind == PE_CONFIG_TEXT && strncmp(value->as.text, plain, sizeof(plain) - 1) != 0;
}

/* YaRN's mscale by mscale_all_dim, squared, of models whose code multiplies the scale by it. */
static double multiplier(const struct pe_config_scope *scope)
{
    const struct pe_config_told of_model = pe_config_trait(scope, "mscale"),
                                by_width = pe_config_trait(scope, "scale-by-width");
    const double factor = told_number(scope, "rope.factor");
    const double ln = factor > 1 ? pe_exact_log1p(pe_two_sum(factor, -1)).hi : 0;
    const double once = 0.1 * told_number(scope, "rope.mscale_all_dim") * ln + 1;

    if (pe_config_is_number(&by_width.value))
        return pe_config_number(&by_width.value);
    return is_true(&of_model.value) && is_scaled(scope) ? once * once : 1;
}

/* Heads of two parts, of which one rotates. Not told where a model that is not known may multiply
 * the scale. */
static int64_t width_of(const struct pe_config_scope *scope)
{
    const struct pe_config_told differs = pe_config_trait(scope, "width-by-layer");
    const double still = told_number(scope, "qk_nope_head_dim"),
                 turning = told_number(scope, "qk_rope_head_dim");

    if (is_true(&differs.value) ||
        (!pe_config_layers_of(scope) && told_number(scope, "rope.mscale_all_dim") != 0))
        return -1;
    return still >= 1 && turning >= 1 && still + turning < 0x1p31 ? (int64_t)(still + turning) : 0;
}

/* The first of two keys that is a number above 0; else 0. */
static double size_told(const struct pe_config_scope *scope, const char *key, const char *other)
{
    const double size = told_number(scope, key);

    return size > 0 ? size : fmax(told_number(scope, other), 0);
}

/* Puts a number in place of a scale of 1 over the width of a head. */
static void by_width_settle(struct pe_config_reading *reading, struct pe_attention_traits *traits)
{
    const struct pe_config_scope *scope = &reading->scope;
    const double head = told_number(scope, "head_dim");
    const double width = head > 0 ? head
                                  : size_told(scope, "hidden_size", "n_embd") /
                                        size_told(scope, "num_attention_heads", "n_head");

    if (traits->scale != PE_SCALE_BY_WIDTH)
        return;
    traits->scale = width > 0 && isfinite(width) ? 1 / width : NAN;
    if (isnan(traits->scale))
        pe_config_warn(reading, "scores are divided by the width of a head, which the config does "
                                "not tell: give scale");
}

static bool is_told(const struct pe_attention_traits *traits, const char *name)
{
    const struct {
        const char *name;
        bool told;
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
            return rows[i].told;
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

static struct pe_config_told step_tell(const struct pe_config_reading *reading,
                                       const struct pe_trait_step *step)
{
    return step->by_class ? pe_config_trait(&reading->scope, step->key)
                          : pe_config_tell(&reading->scope, step->key);
}

static void step_take(struct pe_config_reading *reading, const struct pe_trait_step *step,
                      struct pe_attention_traits *traits)
{
    const struct pe_config_told told = step_tell(reading, step);

    if (told.member && (told.value.kind >= PE_CONFIG_OBJECT ||
                        (told.value.kind == PE_CONFIG_TEXT && !step->takes_text)))
        pe_config_warn(reading, "%s is neither a number nor a boolean, and is not read", step->key);
    else if (told.member || told.value.kind != PE_CONFIG_NULL)
        step->take(traits, &told.value);
    if (isinf(traits->scale)) {
        pe_config_warn(reading, "%s is 0, of which no scale comes: it is not read", step->key);
        traits->scale = NAN;
    }
}

/* Sources of what is told, in the order of the steps. */
static void sources_note(struct pe_config_reading *reading,
                         const struct pe_attention_traits *traits)
{
    reading->trait_sources_count = 0;
    for (const struct pe_trait_step *step = pe_trait_steps; step->trait; step++) {
        const struct pe_config_told told = step_tell(reading, step);
        if (told.value.kind != PE_CONFIG_NULL && is_told(traits, step->trait))
            source_note(reading, step->trait, told.member);
    }
}

enum pe_status pe_config_kind_traits(struct pe_config_reading *reading,
                                     const struct pe_config_kind *kind,
                                     struct pe_attention_traits *traits, struct pe_error *err)
{
    struct pe_attention_traits own = {.size = traits->size, .scale = NAN, .causal = true};
    const size_t size = own.size < sizeof(own) ? own.size : sizeof(own);

    for (const struct pe_trait_step *step = pe_trait_steps; step->trait; step++)
        step_take(reading, step, &own);
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
