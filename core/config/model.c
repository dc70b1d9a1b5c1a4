/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "core/config/reading.h"

/* Decides which part of a config is about text, and its model, encoding and layout. */

/* Among the models of a row: a model that is not in model_types.def. */
#define UNKNOWN_MODEL ""

#define DEFAULTS(...)                                                                              \
    (const struct pe_class_default[])                                                              \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

#define HEADS(width, count)                                                                        \
    {"hidden_size", #width},                                                                       \
    {                                                                                              \
        "num_attention_heads", #count                                                              \
    }

const struct pe_config_model pe_config_models[] = {
#define MODEL_TYPE(name, ...) {.model_type = (name), __VA_ARGS__},
#include "core/config/model_types.def"
#undef MODEL_TYPE
    {0},
};

static const struct rule {
    const char *key, *value, *encoding;
    const char *const *models;
    bool only_of; /* these models, and not of unknown ones */
} rules[] = {
#define CONFIG_RULE(key, value, encoding, models)         {key, value, encoding, models, false},
#define CONFIG_RULE_ONLY_OF(key, value, encoding, models) {key, value, encoding, models, true},
#include "core/config/keys.def"
    {0},
};

static const struct warning {
    const char *key, *value, *encoding;
    const char *const *models;
    const char *text;
} warnings[] = {
#define CONFIG_WARN(key, value, encoding, models, text) {key, value, encoding, models, text},
#include "core/config/keys.def"
    {0},
};

static const struct denied {
    const char *key;
    const char *const *values, *const *models;
    const char *reason;
} denials[] = {
#define CONFIG_DENIED(key, values, models, reason) {key, values, models, reason},
#include "core/config/keys.def"
    {0},
};

static const struct indicator {
    const char *key, *encoding;
} indicators[] = {
#define CONFIG_INDICATOR(key, encoding) {key, encoding},
#include "core/config/keys.def"
    {0},
};

static const struct layout_switch {
    const char *key, *when_true, *when_false;
} switches[] = {
#define CONFIG_LAYOUT(key, when_true, when_false) {key, when_true, when_false},
#include "core/config/keys.def"
    {0},
};

static const char *const text_keys[] = {
#define CONFIG_TEXT_PART(key) key,
#include "core/config/keys.def"
    NULL,
};

/* ---- the part about text, and the model ------------------------------------------------------ */

/* The part of an object that is about text; NULL: none, or empty. */
static const struct pe_config_node *text_within(const struct pe_config_node *object)
{
    for (const char *const *key = text_keys; *key; key++) {
        const struct pe_config_node *inner = pe_config_object(pe_config_member(object, *key));
        if (inner && inner->count > 0)
            return inner;
    }
    return NULL;
}

static const struct pe_config_model *model_find(const struct pe_config_model *models,
                                                const char *model_type)
{
    for (; model_type && models->model_type; models++)
        if (strcmp(models->model_type, model_type) == 0)
            return models;
    return NULL;
}

const struct pe_config_model *pe_config_model_find(const char *model_type)
{
    return model_find(pe_config_models, model_type);
}

const char *pe_config_class_default(const struct pe_config_model *model, const char *name)
{
    const struct pe_class_default *at = model ? model->defaults : NULL;

    for (; at && at->name; at++)
        if (strcmp(at->name, name) == 0)
            return at->value;
    return NULL;
}

/* The row of a vision tower, whose object may have the model_type of the full model. */
static const struct pe_config_model *tower_find(const struct pe_config_scope *scope,
                                                const struct pe_config_model *models)
{
    const char *type = pe_config_model_type(scope);
    char name[80];

    if (!type || !pe_config_member(scope->text, "patch_size") ||
        pe_config_member(scope->text, "vocab_size"))
        return NULL;
    snprintf(name, sizeof(name), "%.60s_vision", type);
    return model_find(models, name);
}

struct pe_config_scope pe_config_scope_of(const struct pe_config *config)
{
    const struct pe_config_model *models = config->models ? config->models : pe_config_models;
    struct pe_config_scope scope = {.top = config->top};

    if (pe_config_is_diffusers(&scope)) {
        scope.text = scope.top;
        scope.diffusers = pe_config_diffusers_find(&scope);
        return scope;
    }
    if (pe_config_is_timm(&scope)) {
        scope.text = scope.top;
        scope.timm = pe_config_timm_find(&scope);
        return scope;
    }
    for (const struct pe_config_node *at = config->top; at; at = text_within(at))
        scope.text = at;
    scope.model = tower_find(&scope, models);
    if (!scope.model)
        scope.model = model_find(models, pe_config_model_type(&scope));
    return scope;
}

/* An inner model_type hides the outer one even where it is no text. */
const char *pe_config_model_type(const struct pe_config_scope *scope)
{
    const struct pe_config_member *inner = pe_config_member(scope->text, "model_type");

    return pe_config_text(inner ? inner : pe_config_member(scope->top, "model_type"));
}

static void model_choose(struct pe_config_reading *reading)
{
    const struct pe_config_scope *scope = &reading->scope;

    reading->model_type = pe_config_model_type(scope);
    reading->model = scope->model;
    pe_config_note(reading, pe_config_member(scope->top, "model_type"));
    pe_config_note(reading, pe_config_member(scope->text, "model_type"));
    pe_config_note(reading, scope->text->owner);
    if (scope->text->owner && strncmp(scope->text->owner->name.text, "decoder", 7) == 0)
        pe_config_warn(reading,
                       "%s is read; other parts of this config may have positions of their own",
                       scope->text->owner->name.text);
    reading->layout = reading->model ? reading->model->layout : NULL;
    reading->layout_source = (struct pe_config_source){"layout", PE_CONFIG_MODEL, NULL};
    if (reading->model && reading->model->note && reading->model->encoding)
        pe_config_warn(reading, "%s", reading->model->note);
}

static void layout_switch(struct pe_config_reading *reading)
{
    const bool nothing_rotates = reading->model && !reading->layout;
    char path[PE_CONFIG_PATH_SIZE];

    for (const struct layout_switch *at = switches; at->key && !nothing_rotates; at++) {
        const struct pe_config_member *found = pe_config_find(reading, pe_in_text, NAMES(at->key));
        if (!found || found->value.kind != PE_CONFIG_BOOL)
            continue;
        reading->layout = found->value.as.truth ? at->when_true : at->when_false;
        reading->layout_source = pe_config_source_make(reading, "layout", PE_CONFIG_KEY,
                                                       pe_config_path(found, path, sizeof(path)));
    }
}

/* ---- the encoding ---------------------------------------------------------------------------- */

/* A text or a boolean as text; NULL: another value. */
static const char *value_text(const struct pe_config_value *value)
{
    if (value->kind == PE_CONFIG_BOOL)
        return value->as.truth ? "true" : "false";
    return value->kind == PE_CONFIG_TEXT ? value->as.text : NULL;
}

static bool value_is(const struct pe_config_member *member, const char *text)
{
    const char *value = member ? value_text(&member->value) : NULL;

    return value && strcmp(value, text) == 0;
}

/* Is the model one of these? */
static bool is_listed(const struct pe_config_reading *reading, const char *const *models)
{
    return pe_config_lists(models, reading->model ? reading->model->model_type : UNKNOWN_MODEL);
}

/* Does the code of the model read the key of a rule? The code of an unknown model may. */
static bool is_alive(const struct pe_config_reading *reading, const struct rule *rule)
{
    return (!reading->model && !rule->only_of) || is_listed(reading, rule->models);
}

/* A model with a learned table may have had another one by an older release of its code. */
static bool type_matters(const struct pe_config_reading *reading)
{
    const char *encoding = reading->model ? reading->model->encoding : "learned";
    bool alive = encoding && strcmp(encoding, "learned") == 0;

    for (const struct rule *at = rules; at->key; at++)
        alive |= strcmp(at->key, "position_embedding_type") == 0 && is_alive(reading, at);
    return alive;
}

static enum pe_status keys_decide(struct pe_config_reading *reading, struct pe_error *err)
{
    const struct pe_config_member *found;

    for (const struct rule *at = rules; !reading->family && at->key; at++)
        if (is_alive(reading, at) &&
            value_is(pe_config_find(reading, pe_in_text_top, NAMES(at->key)), at->value))
            reading->family = at->encoding;
    if (reading->family || !type_matters(reading))
        return PE_OK;
    found = pe_config_find(reading, pe_in_text_top, NAMES("position_embedding_type"));
    if (pe_config_text(found) && (!reading->model || !value_is(found, "absolute")))
        return pe_config_fail(found, PE_UNSUPPORTED, err,
                              "position_embedding_type %.40s is not offered by this version",
                              pe_config_text(found));
    return PE_OK;
}

static void indicators_decide(struct pe_config_reading *reading)
{
    for (const struct indicator *at = indicators; !reading->family && at->key; at++)
        if (pe_config_member(reading->scope.text, at->key) ||
            pe_config_member(reading->scope.top, at->key))
            reading->family = at->encoding;
}

static enum pe_status model_refuse(const struct pe_config_reading *reading, struct pe_error *err)
{
    return pe_config_fail(NULL, PE_UNSUPPORTED, err, "%s: %s", reading->model->model_type,
                          reading->model->note);
}

/* Is it one of the refused values? Without a list, all but null and false. */
static bool denies(const struct denied *row, const struct pe_config_value *value)
{
    const char *text = value_text(value);

    if (row->values)
        return text && pe_config_lists(row->values, text);
    return value->kind != PE_CONFIG_NULL && (value->kind != PE_CONFIG_BOOL || value->as.truth);
}

/* Fails where a key means positions that no encoding of the library describes. */
static enum pe_status denied_refuse(struct pe_config_reading *reading, struct pe_error *err)
{
    for (const struct denied *at = denials; at->key; at++) {
        const struct pe_config_member *found =
            pe_config_first(&reading->scope, pe_in_text_top, NAMES(at->key));
        const struct pe_config_value value =
            found ? found->value : pe_config_effective(&reading->scope, at->key).value;
        if (at->models && !is_listed(reading, at->models))
            continue;
        if (at->models)
            pe_config_note(reading, found);
        if (denies(at, &value))
            return pe_config_fail(found, PE_UNSUPPORTED, err, "%s", at->reason);
    }
    return PE_OK;
}

static void warnings_report(struct pe_config_reading *reading)
{
    for (const struct warning *at = warnings; at->key; at++) {
        const struct pe_config_member *found =
            pe_config_first(&reading->scope, pe_in_text_top, NAMES(at->key));
        if (strcmp(at->encoding, reading->family) != 0 ||
            (at->models && !is_listed(reading, at->models)))
            continue;
        pe_config_note(reading, found);
        if (value_is(found, at->value))
            pe_config_warn(reading, "%s", at->text);
    }
}

/* By the keys that the model's code reads, else by the model, else by keys that only one encoding
 * has. */
static enum pe_status family_choose(struct pe_config_reading *reading, struct pe_error *err)
{
    char reason[96] = "there is no model_type";

    if (reading->model_type)
        snprintf(reason, sizeof(reason), "model_type %.60s is not known", reading->model_type);
    if (denied_refuse(reading, err) || keys_decide(reading, err))
        return err->status;
    if (!reading->family && reading->model && !reading->model->encoding)
        return model_refuse(reading, err);
    if (!reading->family && reading->model)
        reading->family = reading->model->encoding;
    indicators_decide(reading);
    if (!reading->family)
        return pe_config_fail(
            NULL, PE_UNSUPPORTED, err,
            "cannot determine the positional encoding from this config: %s, and there is no "
            "rope_theta, rope_scaling or rope_parameters",
            reason);
    if (!reading->model)
        pe_config_warn(reading, "%s: read by its keys, the layout is unknown", reason);
    if (reading->model && reading->model->encoding &&
        strcmp(reading->model->encoding, reading->family) != 0)
        reading->layout = NULL;
    reading->name = reading->family;
    warnings_report(reading);
    return PE_OK;
}

enum pe_status pe_config_model_choose(struct pe_config_reading *reading, struct pe_error *err)
{
    for (size_t i = 0; i < reading->config->notes_count; i++)
        pe_config_warn(reading, "%s", reading->config->notes[i]);
    if (pe_config_is_diffusers(&reading->scope))
        return pe_config_diffusers_choose(reading, err);
    if (pe_config_is_timm(&reading->scope))
        return pe_config_timm_choose(reading, err);
    model_choose(reading);
    layout_switch(reading);
    return family_choose(reading, err);
}
