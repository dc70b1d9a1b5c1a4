/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "core/base/params.h"
#include "core/config/reading.h"

/* Sets parameters that the caller left open from the keys of a config. */

static const struct key {
    const char *encoding, *param;
    const enum pe_config_place *places;
    const char *const *keys;
} keys[] = {
#define CONFIG_KEY(encoding, param, places, keys) {encoding, param, places, keys},
#include "core/config/keys.def"
    {0},
};

static const struct type_alias {
    const char *value, *beside, *stands_for, *without;
} type_aliases[] = {
#define CONFIG_TYPE_ALIAS(value, beside, stands_for, without) {value, beside, stands_for, without},
#include "core/config/keys.def"
    {0},
};

static const struct refused {
    const char *value, *beside;
    const char *const *models;
    const char *reason;
} refused[] = {
#define CONFIG_REFUSED_TYPE(value, beside, models, reason) {value, beside, models, reason},
#include "core/config/keys.def"
    {0},
};

static const struct redundant {
    const char *encoding, *key;
    const char *const *values;
} redundants[] = {
#define CONFIG_REDUNDANT(encoding, key, values) {encoding, key, values},
#include "core/config/keys.def"
    {0},
};

static const struct layer_key {
    const char *encoding, *param, *layer_type, *key;
} layer_keys[] = {
#define CONFIG_LAYER_KEY(encoding, param, layer_type, key) {encoding, param, layer_type, key},
#include "core/config/keys.def"
    {0},
};

static const char *const rotated_widths[] = {
#define CONFIG_ROTATED_WIDTH(key) key,
#include "core/config/keys.def"
    NULL,
};

static const struct by_length {
    const char *encoding, *param, *within, *beyond, *warning;
} by_lengths[] = {
#define CONFIG_BY_LENGTH(encoding, param, within, beyond, warning)                                 \
    {encoding, param, within, beyond, warning},
#include "core/config/keys.def"
    {0},
};

static const struct key_alias {
    const char *object, *key, *param, *when_false;
} key_aliases[] = {
#define CONFIG_KEY_ALIAS(object, key, param, when_false) {object, key, param, when_false},
#include "core/config/keys.def"
    {0},
};

static const char *const beside_types[] = {
#define CONFIG_BESIDE_TYPES(key) key,
#include "core/config/keys.def"
    NULL,
};

static const struct class_value {
    const char *const *models;
    const char *key;
    double value;
} class_values[] = {
#define CONFIG_CLASS_VALUE(models, key, value) {models, key, value},
#include "core/config/keys.def"
    {0},
};

static const struct type_default {
    const char *model_type, *layer_type;
    bool scales;
    const char *param, *value;
} type_defaults[] = {
#define CONFIG_TYPE_DEFAULT(model_type, layer_type, scales, param, value)                          \
    {model_type, layer_type, scales, param, value},
#include "core/config/keys.def"
    {0},
};

static const char *const *const base_switches =
#define CONFIG_BASE_SWITCHES(models) models
#include "core/config/keys.def"
    ;

static const char *const *const scaled_parts =
#define CONFIG_SCALED_PART(models) models
#include "core/config/keys.def"
    ;

/* ---- one value ------------------------------------------------------------------------------- */

static bool has_number(const struct pe_config_node *object, const char *key)
{
    const struct pe_config_member *member = pe_config_member(object, key);

    return member && pe_config_is_number(&member->value);
}

static const struct type_alias *type_alias_find(const struct pe_config_node *rope, const char *text)
{
    for (const struct type_alias *at = type_aliases; text && at->value; at++)
        if (strcmp(at->value, text) == 0 && (!*at->beside || has_number(rope, at->beside)))
            return at;
    return NULL;
}

static const struct refused *refused_find(const struct pe_config_scope *scope, const char *text)
{
    for (const struct refused *at = refused; text && at->value; at++)
        if (strcmp(at->value, text) == 0 && !has_number(scope->rope, at->beside) &&
            (!at->models || pe_config_is_among(scope, at->models)))
            return at;
    return NULL;
}

/* The rope type that the object names; NULL: none. */
static const char *type_text(const struct pe_config_node *rope)
{
    const struct pe_config_member *type = pe_config_member(rope, "rope_type");

    return pe_config_text(type ? type : pe_config_member(rope, "type"));
}

/* True for a key of the rope object that its type does not use. */
static bool is_unused(const struct pe_config_node *rope, const char *key)
{
    const struct type_alias *row = type_alias_find(rope, type_text(rope));

    return row && strcmp(row->without, key) == 0;
}

static enum pe_status list_set(const struct pe_config_filling *filling, size_t index,
                               const struct pe_config_node *node, struct pe_error *err)
{
    double *list = pe_config_take(&filling->reading->memory, (node->count + 1) * sizeof(*list));
    size_t count = 0;

    if (!list)
        return pe_no_memory(err, "the config");
    for (const struct pe_config_item *at = node->first_item; at; at = at->next) {
        if (!pe_config_is_number(&at->value))
            return pe_fail(err, PE_INVALID, "", "element %zu of %s is not a number", count,
                           filling->params->list[index].name);
        list[count++] = pe_config_number(&at->value);
    }
    return pe_params_set_list(filling->params, index, list, count, err);
}

static enum pe_status choice_set(const struct pe_config_filling *filling, size_t index,
                                 const char *text, struct pe_error *err)
{
    const struct type_alias *row = type_alias_find(filling->reading->scope.rope, text);

    return pe_params_set_text(filling->params, index, row ? row->stands_for : text, err);
}

static enum pe_status any_set(const struct pe_config_filling *filling, size_t index,
                              const struct pe_config_value *value, struct pe_error *err)
{
    struct pe_params *params = filling->params;
    const struct pe_param *param = &params->list[index];

    if (pe_config_is_number(value))
        return pe_params_set_number(params, index, pe_config_number(value), err);
    if (value->kind == PE_CONFIG_BOOL && param->type == PE_BOOLEAN)
        return pe_params_set_text(params, index, value->as.truth ? "true" : "false", err);
    if (value->kind == PE_CONFIG_TEXT && param->type == PE_CHOICE)
        return choice_set(filling, index, value->as.text, err);
    if (value->kind == PE_CONFIG_LIST && param->type == PE_NUMBERS)
        return list_set(filling, index, value->as.node, err);
    return pe_fail(err, PE_INVALID, "", "%s must be a %s", param->name,
                   param->type == PE_CHOICE    ? "string"
                   : param->type == PE_BOOLEAN ? "boolean"
                   : param->type == PE_NUMBERS ? "list of numbers"
                                               : "number");
}

enum pe_status pe_config_member_fill(const struct pe_config_filling *filling, size_t index,
                                     const struct pe_config_member *member)
{
    const struct pe_param *param = &filling->params->list[index];
    const char *text = pe_config_text(member);
    struct pe_error inner = {0};
    char path[PE_CONFIG_PATH_SIZE];

    if (param->type == PE_CHOICE && refused_find(&filling->reading->scope, text))
        return pe_config_fail(member, PE_UNSUPPORTED, filling->err, "%s",
                              refused_find(&filling->reading->scope, text)->reason);
    pe_config_path(member, path, sizeof(path));
    if (any_set(filling, index, &member->value, &inner) == PE_OK) {
        pe_config_source_set(filling->reading, param->name, PE_CONFIG_KEY, path);
        return PE_OK;
    }
    if (inner.status == PE_INVALID && param->type == PE_CHOICE && text)
        return pe_config_fail(member, PE_UNSUPPORTED, filling->err,
                              "%s '%.60s' is not offered by this version", param->name, text);
    return pe_config_fail(member, inner.status, filling->err, "%s: %s", path, inner.detail);
}

/* Sets a parameter from a number, with its source. */
static enum pe_status number_fill(const struct pe_config_filling *filling, size_t index,
                                  double number, enum pe_config_from from, const char *path)
{
    if (pe_params_set_number(filling->params, index, number, filling->err))
        return filling->err->status;
    pe_config_source_set(filling->reading, filling->params->list[index].name, from, path);
    return PE_OK;
}

/* ---- open parameters ------------------------------------------------------------------------- */

bool pe_config_is_rotary_part(const char *param)
{
    return strcmp(param, "rotary_dim") == 0 || strcmp(param, "partial_rotary_factor") == 0;
}

/* A caller who gives one of the rotary parts has given both. Where a config has both they must
 * agree, which the encoding checks. */
bool pe_config_is_open(const struct pe_config_filling *filling, int index)
{
    const struct pe_config_reading *reading = filling->reading;

    if (index < 0 || filling->params->values[index].given)
        return false;
    if (!pe_config_is_rotary_part(filling->params->list[index].name))
        return true;
    if (reading->dim_rotates_whole)
        return false;
    for (size_t i = 0; i < reading->sources_count; i++)
        if (reading->sources[i].from == PE_CONFIG_GIVEN &&
            pe_config_is_rotary_part(reading->sources[i].param))
            return false;
    return true;
}

static enum pe_status sliding_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const int index = pe_params_find(filling->params, "base");

    if (reading->sliding_base.kind == PE_CONFIG_NULL || !pe_config_is_open(filling, index))
        return PE_OK;
    if (reading->sliding_member)
        return pe_config_member_fill(filling, (size_t)index, reading->sliding_member);
    pe_config_source_set(reading, "base", PE_CONFIG_MODEL, NULL);
    return any_set(filling, (size_t)index, &reading->sliding_base, filling->err);
}

/* Sets the base where a list has the same one for each layer, and 0 where it has no positions. */
static enum pe_status layer_bases_fill(const struct pe_config_filling *filling)
{
    const struct pe_config_effective bases =
        pe_config_effective(&filling->reading->scope, "layer_rope_theta");
    const int index = pe_params_find(filling->params, "base");
    char path[PE_CONFIG_PATH_SIZE];
    double base = 0;

    if (!bases.member || bases.value.kind != PE_CONFIG_LIST || !pe_config_is_open(filling, index) ||
        pe_config_is_among(&filling->reading->scope, base_switches))
        return PE_OK;
    for (const struct pe_config_item *at = bases.value.as.node->first_item; at; at = at->next) {
        const double own = pe_config_number(&at->value);
        if (own != 0 && base != 0 && own != base)
            return PE_OK; /* layer_lists_warn in reading.c warns of these */
        base = own != 0 ? own : base;
    }
    return base == 0 ? PE_OK
                     : number_fill(filling, (size_t)index, base, PE_CONFIG_KEY,
                                   pe_config_path(bases.member, path, sizeof(path)));
}

/* Sets parameters from the keys about layers of the type described. */
static enum pe_status layer_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;

    for (const struct layer_key *at = layer_keys; at->encoding && reading->layer_type; at++) {
        const int index = pe_params_find(filling->params, at->param);
        const struct pe_config_member *found;
        if (strcmp(at->encoding, reading->family) != 0 ||
            strcmp(at->layer_type, reading->layer_type) != 0)
            continue;
        found = pe_config_find(reading, pe_in_text, NAMES(at->key));
        if (found && pe_config_is_open(filling, index) &&
            pe_config_member_fill(filling, (size_t)index, found))
            return filling->err->status;
    }
    return PE_OK;
}

/* True for a partial_rotary_factor that the model's code ignores, because it rotates full heads
 * unless the rope type scales; warns of it. The rope type is set before. */
static bool is_ignored_part(const struct pe_config_filling *filling,
                            const struct pe_config_member *found)
{
    const struct pe_config_model *model = filling->reading->model;
    const struct pe_config_scope *scope = &filling->reading->scope;
    const bool scales =
        pe_param_given(filling->params, "rope_type")
            ? pe_param_number(filling->params, "rope_type") > 0
            : !scope->rope && pe_config_class_default(model, "rope_type"); /* set later */
    const bool beside = found->in != scope->rope && pe_config_is_among(scope, scaled_parts);
    char path[PE_CONFIG_PATH_SIZE];

    if (strcmp(found->name.text, "partial_rotary_factor") != 0 || !model || scales ||
        (!model->whole_heads && !beside))
        return false;
    if (beside)
        pe_config_warn(filling->reading,
                       "%s is not read: where nothing scales, the code of %s reads that of the "
                       "rope object alone",
                       pe_config_path(found, path, sizeof(path)), model->model_type);
    else if (pe_config_number(&found->value) != 1)
        pe_config_warn(filling->reading,
                       "%s is not read: the code of %s turns whole heads where nothing scales",
                       pe_config_path(found, path, sizeof(path)), model->model_type);
    return true;
}

/* Warns of another key of the parameter with another value, where the code of the model is not
 * known: which of them it reads is unknown too. */
static void other_keys_warn(struct pe_config_reading *reading, const struct key *row,
                            const struct pe_config_member *found)
{
    char path[PE_CONFIG_PATH_SIZE], other_path[PE_CONFIG_PATH_SIZE];

    for (const char *const *key = row->keys; *key && !reading->model; key++) {
        const struct pe_config_member *other =
            pe_config_first(&reading->scope, row->places, NAMES(*key));
        if (!other || other == found || other->in != found->in ||
            pe_config_equal(&found->value, &other->value) ||
            pe_config_lists(rotated_widths, found->name.text))
            continue;
        pe_config_note(reading, other);
        pe_config_warn(reading, "%s and %s differ; the first is read",
                       pe_config_path(found, path, sizeof(path)),
                       pe_config_path(other, other_path, sizeof(other_path)));
    }
}

static enum pe_status keys_fill(const struct pe_config_filling *filling)
{
    for (const struct key *at = keys; at->encoding; at++) {
        const int index = pe_params_find(filling->params, at->param);
        const struct pe_config_member *found;
        if (strcmp(at->encoding, filling->reading->family) != 0)
            continue;
        found = pe_config_find(filling->reading, at->places, at->keys);
        if (found)
            other_keys_warn(filling->reading, at, found);
        if (!found || !pe_config_is_open(filling, index) || is_ignored_part(filling, found))
            continue;
        if (pe_config_member_fill(filling, (size_t)index, found))
            return filling->err->status;
        filling->reading->dim_rotates_whole |= pe_config_lists(rotated_widths, found->name.text);
    }
    return PE_OK;
}

/* ---- keys that transformers reads at another place ------------------------------------------- */

/* Does the rope object name a type of scaling that has an original length? */
static bool has_length(const struct pe_config_node *rope)
{
    const char *type = pe_config_text(pe_config_member(rope, "rope_type"));

    type = type ? type : pe_config_text(pe_config_member(rope, "type"));
    return type && pe_config_lists(NAMES("llama3", "yarn", "longrope", "su"), type);
}

static enum pe_status beside_types_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const bool has_use = reading->scope.rope_by_layer_type && has_length(reading->scope.rope);
    char path[PE_CONFIG_PATH_SIZE];

    for (const char *const *key = beside_types; *key && has_use; key++) {
        const struct pe_config_member *found =
            pe_config_member(reading->scope.rope_by_layer_type, *key);
        const int index = pe_params_find(filling->params, *key);
        if (!found || found->value.kind == PE_CONFIG_NULL || !pe_config_is_open(filling, index))
            continue;
        pe_config_note(reading, found);
        if (pe_config_rebuilds_rope(&reading->scope))
            pe_config_warn(reading,
                           "%s is not read: the class of %s keeps only the objects of the types "
                           "of layers",
                           pe_config_path(found, path, sizeof(path)), reading->model_type);
        else if (pe_config_member_fill(filling, (size_t)index, found))
            return filling->err->status;
    }
    return PE_OK;
}

static enum pe_status class_value_fill(const struct pe_config_filling *filling,
                                       const struct class_value *row)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *inner = pe_config_member(scope->rope, row->key);
    const int index = pe_params_find(filling->params, row->key);
    char path[PE_CONFIG_PATH_SIZE];

    if (!pe_config_is_among(scope, row->models) || scope->rope_by_layer_type ||
        !has_length(scope->rope) || pe_config_first(scope, pe_in_text, NAMES(row->key)) ||
        !pe_config_is_open(filling, index))
        return PE_OK;
    if (inner && pe_config_number(&inner->value) != row->value)
        pe_config_warn(reading, "%s is not read: the class of %s has %g, which stands above it",
                       pe_config_path(inner, path, sizeof(path)), scope->model->model_type,
                       row->value);
    return number_fill(filling, (size_t)index, row->value, PE_CONFIG_MODEL, NULL);
}

/* The defaults of the class for layers of the type described. */
static enum pe_status type_defaults_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const bool scales = pe_param_number(filling->params, "rope_type") > 0;

    for (const struct type_default *at = type_defaults; at->model_type && reading->layer_type;
         at++) {
        const int index = pe_params_find(filling->params, at->param);
        if (strcmp(at->layer_type, reading->layer_type) != 0 ||
            !pe_config_is_open(filling, index) || (scales && !at->scales) ||
            !pe_config_is_among(&reading->scope, NAMES(at->model_type)))
            continue;
        if (pe_params_set_text(filling->params, (size_t)index, at->value, filling->err))
            return filling->err->status;
        pe_config_source_set(reading, at->param, PE_CONFIG_MODEL, NULL);
    }
    return PE_OK;
}

/* The original length that no key has is max_position_embeddings. YaRN takes it by itself. */
static enum pe_status length_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const int index = pe_params_find(filling->params, "original_max_position_embeddings");
    const struct pe_config_member *found =
        pe_config_first(&reading->scope, pe_in_text, NAMES("max_position_embeddings"));
    char path[PE_CONFIG_PATH_SIZE];

    if (!has_length(reading->scope.rope) || !found || !pe_config_is_open(filling, index) ||
        !pe_config_is_number(&found->value) || reading->scope.top->config->models ||
        pe_config_lists(NAMES("yarn"), type_text(reading->scope.rope)))
        return PE_OK;
    return number_fill(filling, (size_t)index, pe_config_number(&found->value), PE_CONFIG_KEY,
                       pe_config_path(found, path, sizeof(path)));
}

static enum pe_status other_places_fill(const struct pe_config_filling *filling)
{
    if (beside_types_fill(filling))
        return filling->err->status;
    for (const struct class_value *row = class_values; row->models; row++)
        if (class_value_fill(filling, row))
            return filling->err->status;
    return PE_OK;
}

/* The effective value of a key about layers: that of the config, else that of the model's class. */

/* ---- rope objects with names of their own, and keys by length -------------------------------- */

/* A boolean: false gives the parameter a value, true leaves it open. */
static enum pe_status switch_fill(const struct pe_config_filling *filling,
                                  const struct key_alias *row, size_t index,
                                  const struct pe_config_member *found)
{
    char path[PE_CONFIG_PATH_SIZE];

    pe_config_path(found, path, sizeof(path));
    if (found->value.kind != PE_CONFIG_BOOL)
        return pe_config_fail(found, PE_INVALID, filling->err, "%s must be true or false", path);
    if (found->value.as.truth)
        return PE_OK;
    pe_config_source_set(filling->reading, row->param, PE_CONFIG_KEY, path);
    return pe_params_set_text(filling->params, index, row->when_false, filling->err);
}

static enum pe_status alias_fill(const struct pe_config_filling *filling,
                                 const struct key_alias *row)
{
    const struct pe_config_node *rope = filling->reading->scope.rope;
    const struct pe_config_member *found = pe_config_member(rope, row->key);
    const int index = pe_params_find(filling->params, row->param);

    if (!found || strcmp(rope->owner->name.text, row->object) != 0)
        return PE_OK;
    pe_config_note(filling->reading, found);
    if (found->value.kind == PE_CONFIG_NULL || !pe_config_is_open(filling, index))
        return PE_OK;
    return row->when_false ? switch_fill(filling, row, (size_t)index, found)
                           : pe_config_member_fill(filling, (size_t)index, found);
}

/* Sets the rope type by the name of the object, and parameters by their other names
 * in it. */
static enum pe_status named_fill(const struct pe_config_filling *filling)
{
    const struct pe_config_node *rope = filling->reading->scope.rope;
    const char *type = pe_config_named_type(rope);
    const int index = pe_params_find(filling->params, "rope_type");
    char path[PE_CONFIG_PATH_SIZE];

    if (!type || index < 0)
        return PE_OK;
    if (!filling->params->values[index].given) {
        if (pe_params_set_text(filling->params, (size_t)index, type, filling->err))
            return filling->err->status;
        pe_config_source_set(filling->reading, "rope_type", PE_CONFIG_KEY,
                             pe_config_path(rope->owner, path, sizeof(path)));
    }
    for (const struct key_alias *at = key_aliases; at->object; at++)
        if (alias_fill(filling, at))
            return filling->err->status;
    return PE_OK;
}

/* 0: not given. */
static double number_of(const struct pe_params *params, const char *name)
{
    return pe_param_given(params, name) ? pe_param_number(params, name) : 0;
}

static enum pe_status by_length_fill(const struct pe_config_filling *filling,
                                     const struct by_length *row)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_member *within, *beyond, *found;
    char path[PE_CONFIG_PATH_SIZE];
    const int index = pe_params_find(filling->params, row->param);

    within = pe_config_member(reading->scope.rope, row->within);
    beyond = pe_config_member(reading->scope.rope, row->beyond);
    if (!within || !beyond || strcmp(row->encoding, reading->family) != 0 ||
        !pe_config_is_open(filling, index))
        return PE_OK;
    pe_config_note(reading, within);
    pe_config_note(reading, beyond);
    found = number_of(filling->params, "seq_len") >
                    number_of(filling->params, "original_max_position_embeddings")
                ? beyond
                : within;
    pe_config_path(found, path, sizeof(path));
    if (!pe_config_is_number(&found->value))
        return pe_config_fail(found, PE_INVALID, filling->err, "%s must be a number", path);
    if (number_fill(filling, (size_t)index, pe_config_number(&found->value), PE_CONFIG_KEY, path))
        return filling->err->status;
    if (found == beyond)
        pe_config_warn(reading, "%s", row->warning);
    return PE_OK;
}

static enum pe_status by_lengths_fill(const struct pe_config_filling *filling)
{
    for (const struct by_length *at = by_lengths; at->encoding; at++)
        if (by_length_fill(filling, at))
            return filling->err->status;
    return PE_OK;
}

/* ---- the rope object ------------------------------------------------------------------------- */

/* True for a key that is not read because the config has a rope object for each layer type; warns
 * of it. */
static bool is_misplaced(struct pe_config_reading *reading, const struct pe_config_member *member)
{
    const struct pe_config_member *outer =
        pe_config_member(reading->scope.rope_by_layer_type, member->name.text);
    char path[PE_CONFIG_PATH_SIZE];

    if (!reading->scope.rope_by_layer_type || !pe_config_lists(beside_types, member->name.text))
        return false;
    if (pe_config_rebuilds_rope(&reading->scope))
        pe_config_warn(reading, "%s is not read: no code of %s looks for it there",
                       pe_config_path(member, path, sizeof(path)), reading->model_type);
    else if (!outer || !pe_config_equal(&outer->value, &member->value))
        pe_config_warn(reading,
                       "%s is not read: transformers 5.23 looks for it beside the objects of "
                       "the types of layers",
                       pe_config_path(member, path, sizeof(path)));
    return true;
}

/* Two names of one parameter in the rope object, as rope_type and type: the first was read. */
static void alias_check(struct pe_config_reading *reading, const struct pe_config_member *member,
                        const char *param)
{
    const struct pe_config_node *rope = reading->scope.rope;
    const struct pe_config_member *first = pe_config_member(rope, param);
    const char *one = pe_config_text(first), *other = pe_config_text(member);
    char path[PE_CONFIG_PATH_SIZE], behind[PE_CONFIG_PATH_SIZE];

    if (!first || first == member || (one && other && strcmp(one, other) == 0))
        return;
    if (!one && pe_config_equal(&first->value, &member->value))
        return;
    pe_config_warn(reading, "%s and %s differ; the first is read",
                   pe_config_path(first, path, sizeof(path)),
                   pe_config_path(member, behind, sizeof(behind)));
}

/* Does a member only repeat which encoding this is? */
static bool is_redundant(const struct pe_config_reading *reading,
                         const struct pe_config_member *member)
{
    const char *text = pe_config_text(member);

    for (const struct redundant *at = redundants; text && at->encoding; at++)
        if (strcmp(at->encoding, reading->family) == 0 && strcmp(at->key, member->name.text) == 0 &&
            pe_config_lists(at->values, text))
            return true;
    return false;
}

static enum pe_status rope_member_fill(const struct pe_config_filling *filling,
                                       const struct pe_config_member *member)
{
    struct pe_config_reading *reading = filling->reading;
    const int index = pe_params_find(filling->params, member->name.text);
    char path[PE_CONFIG_PATH_SIZE];

    if (reading->read[member->number] || member->value.kind == PE_CONFIG_NULL)
        return PE_OK;
    pe_config_note(reading, member);
    if (is_redundant(reading, member) || pe_config_is_dead(&reading->scope, member) ||
        is_misplaced(reading, member))
        return PE_OK;
    pe_config_path(member, path, sizeof(path));
    if (pe_config_is_foreign(&reading->scope, member))
        pe_config_warn(reading, "%s is a key of other models and is not read", path);
    else if (pe_config_is_displaced(&reading->scope, member))
        pe_config_warn(reading, "%s is not read: it is one of those beside the rope object", path);
    else if (is_unused(reading->scope.rope, member->name.text))
        pe_config_warn(reading, "%s has no part in this rope_type and is not read", path);
    else if (index >= 0 && pe_config_is_open(filling, index))
        return pe_config_member_fill(filling, (size_t)index, member);
    else if (index >= 0)
        alias_check(reading, member, filling->params->list[index].name);
    else if (reading->strict)
        return pe_config_fail(member, PE_UNKNOWN_PARAMETER, filling->err,
                              "%.120s is no parameter of %s", path, reading->name);
    else
        pe_config_warn(reading, "%s is no parameter of %s and is not read", path, reading->name);
    return PE_OK;
}

/* The other members of the rope object have the names of parameters, or mean nothing. */
static enum pe_status rope_fill(const struct pe_config_filling *filling)
{
    const struct pe_config_node *rope = filling->reading->scope.rope;

    pe_config_layer_keys_note(filling->reading);
    for (const struct pe_config_member *at = rope ? rope->first : NULL; at; at = at->next)
        if (rope_member_fill(filling, at))
            return filling->err->status;
    return PE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum pe_status params_check(const struct pe_config_reading *reading,
                                   struct pe_params *params, struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(reading->name);

    struct pe_work *work = params->work;

    if (!params->list)
        pe_params_init(params, encoding->info.params, encoding->info.params_count);
    params->work = work;
    if (params->list == encoding->info.params)
        return PE_OK;
    return pe_config_fail(NULL, PE_INVALID, err, "the parameters are of another encoding than %s",
                          reading->name);
}

enum pe_status pe_config_fill(struct pe_config_reading *reading, struct pe_params *params,
                              struct pe_error *err)
{
    const struct pe_config_filling filling = {reading, params, err};

    if (reading->filled)
        return PE_OK;
    if (params_check(reading, params, err))
        return err->status;
    reading->filled = true;
    for (size_t i = 0; i < params->count; i++)
        if (params->values[i].given)
            pe_config_source_set(reading, params->list[i].name, PE_CONFIG_GIVEN, NULL);
    if (reading->scope.diffusers)
        return pe_config_diffusers_fill(&filling) || pe_config_memory_check(reading, err)
                   ? err->status
                   : PE_OK;
    if (reading->scope.timm)
        return pe_config_timm_fill(&filling) || pe_config_memory_check(reading, err) ? err->status
                                                                                     : PE_OK;
    if (sliding_fill(&filling) || layer_bases_fill(&filling) || layer_fill(&filling) ||
        other_places_fill(&filling) || keys_fill(&filling) || named_fill(&filling) ||
        type_defaults_fill(&filling) || by_lengths_fill(&filling) || rope_fill(&filling) ||
        length_fill(&filling) || pe_config_derive(&filling))
        return err->status;
    pe_config_width_check(&filling);
    return pe_config_memory_check(reading, err);
}

/* ---- sizes of weights ------------------------------------------------------------------------ */

/* Notes the keys of every size as read, whichever of them is looked for first. */
static void sizes_note(struct pe_config_reading *reading)
{
    for (const struct key *at = keys; at->encoding; at++)
        if (strcmp(at->encoding, reading->name) == 0)
            pe_config_find(reading, at->places, at->keys);
}

static enum pe_status size_missing(const char *const *names, struct pe_error *err)
{
    char list[200] = "";
    size_t used = 0;

    for (; *names && used < sizeof(list); names++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, " %s", *names);
    return pe_config_fail(NULL, PE_MISSING, err, "the config has none of:%s", list);
}

enum pe_status pe_config_size(struct pe_config_reading *reading, const char *name, int64_t *size,
                              struct pe_error *err)
{
    const struct key *row = keys;
    const struct pe_config_member *found;
    char path[PE_CONFIG_PATH_SIZE];

    while (row->encoding &&
           (strcmp(row->encoding, reading->name) != 0 || strcmp(row->param, name) != 0))
        row++;
    if (!row->encoding)
        return pe_config_fail(NULL, PE_NOT_FOUND, err, "%s has no size '%.60s'", reading->name,
                              name);
    sizes_note(reading);
    pe_config_unread_warn(reading);
    pe_config_layer_kinds_warn(reading);
    found = pe_config_find(reading, row->places, row->keys);
    if (!found)
        return size_missing(row->keys, err);
    pe_config_path(found, path, sizeof(path));
    if (found->value.kind != PE_CONFIG_INTEGER || found->value.as.integer < 1)
        return pe_config_fail(found, PE_INVALID, err, "%s must be a whole number above 0", path);
    *size = found->value.as.integer;
    pe_config_source_set(reading, row->param, PE_CONFIG_KEY, path);
    return pe_config_memory_check(reading, err);
}
