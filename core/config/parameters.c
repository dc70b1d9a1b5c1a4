/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/text.h"
#include "core/config/layers.h"

/* Sets parameters that are left open from the keys of a config. */

static const struct key {
    const char *encoding, *param, *places, *keys;
} keys[] = {
#define CONFIG_KEY(encoding, param, places, keys) {encoding, param, places, keys},
#include "core/config/keys.def"
    {0},
};

static const struct renamed {
    const char *value, *beside, *stands_for, *without;
} values[] = {
#define CONFIG_VALUE(value, beside, stands_for, without) {value, beside, stands_for, without},
#include "core/config/keys.def"
    {0},
};

static const struct refused {
    const char *value, *beside, *reason;
} refused[] = {
#define CONFIG_REFUSED(value, beside, reason) {value, beside, reason},
#include "core/config/keys.def"
    {0},
};

static const struct says {
    const char *encoding, *key, *values;
} says[] = {
#define CONFIG_SAYS(encoding, key, values) {encoding, key, values},
#include "core/config/keys.def"
    {0},
};

static const struct of_layer {
    const char *encoding, *param, *layer_type, *key;
} of_layers[] = {
#define CONFIG_OF_LAYER(encoding, param, layer_type, key) {encoding, param, layer_type, key},
#include "core/config/keys.def"
    {0},
};

static const char *const turning[] = {
#define CONFIG_TURNING(key) key,
#include "core/config/keys.def"
    NULL,
};

/* ---- one value ------------------------------------------------------------------------------- */

static bool has_number(const struct pe_config_node *object, const char *key)
{
    const struct pe_config_member *member = pe_config_member(object, key);

    return member && pe_config_is_number(&member->value);
}

static const struct renamed *renamed_find(const struct pe_config_node *rope, const char *text)
{
    for (const struct renamed *at = values; text && at->value; at++)
        if (strcmp(at->value, text) == 0 && (!*at->beside || has_number(rope, at->beside)))
            return at;
    return NULL;
}

static const struct refused *refused_find(const struct pe_config_node *rope, const char *text)
{
    for (const struct refused *at = refused; text && at->value; at++)
        if (strcmp(at->value, text) == 0 && !has_number(rope, at->beside))
            return at;
    return NULL;
}

/* Has this key of the rope object no part in the meaning of its type? */
static bool is_without(const struct pe_config_node *rope, const char *key)
{
    const struct pe_config_member *type = pe_config_member(rope, "rope_type");
    const struct renamed *row =
        renamed_find(rope, pe_config_text(type ? type : pe_config_member(rope, "type")));

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
    const struct renamed *row = renamed_find(filling->reading->scope.rope, text);

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

    if (param->type == PE_CHOICE && refused_find(filling->reading->scope.rope, text))
        return pe_config_fail(member, PE_UNSUPPORTED, filling->err, "%s",
                              refused_find(filling->reading->scope.rope, text)->reason);
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

/* ---- what is open ---------------------------------------------------------------------------- */

static const char rotary_parts[] = "rotary_dim,partial_rotary_factor";

bool pe_config_is_rotary_part(const char *param)
{
    return pe_text_lists(rotary_parts, ',', param, strlen(param));
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
    if (reading->turns_whole)
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

/* Sets what a key says about layers of the type that is meant. */
static enum pe_status layer_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;

    for (const struct of_layer *at = of_layers; at->encoding && reading->layer_type; at++) {
        const int index = pe_params_find(filling->params, at->param);
        const struct pe_config_member *found;
        if (strcmp(at->encoding, reading->family) != 0 ||
            strcmp(at->layer_type, reading->layer_type) != 0)
            continue;
        found = pe_config_find(reading, "text", at->key);
        if (found && pe_config_is_open(filling, index) &&
            pe_config_member_fill(filling, (size_t)index, found))
            return filling->err->status;
    }
    return PE_OK;
}

static void turning_note(struct pe_config_reading *reading, const struct pe_config_member *found)
{
    for (const char *const *key = turning; *key; key++)
        reading->turns_whole |= strcmp(found->name.text, *key) == 0;
}

/* Is this a share of a head that the model's code leaves aside, for it turns whole heads where
 * nothing scales? Warns of it. The rope type is filled by now. */
static bool is_aside(const struct pe_config_filling *filling, const struct pe_config_member *found)
{
    const struct pe_config_model *model = filling->reading->model;
    const bool scales = pe_param_given(filling->params, "rope_type") &&
                        pe_param_number(filling->params, "rope_type") > 0;
    char path[PE_CONFIG_PATH_SIZE];

    if (strcmp(found->name.text, "partial_rotary_factor") != 0 ||
        !pe_config_class_has(model, "whole") || scales)
        return false;
    if (pe_config_number(&found->value) != 1)
        pe_config_warn(filling->reading,
                       "%s is not read: the code of %s turns whole heads where nothing scales",
                       pe_config_path(found, path, sizeof(path)), model->model_type);
    return true;
}

static enum pe_status keys_fill(const struct pe_config_filling *filling)
{
    for (const struct key *at = keys; at->encoding; at++) {
        const int index = pe_params_find(filling->params, at->param);
        const struct pe_config_member *found;
        if (strcmp(at->encoding, filling->reading->family) != 0)
            continue;
        found = pe_config_find(filling->reading, at->places, at->keys);
        if (!found || !pe_config_is_open(filling, index) || is_aside(filling, found))
            continue;
        if (pe_config_member_fill(filling, (size_t)index, found))
            return filling->err->status;
        turning_note(filling->reading, found);
    }
    return PE_OK;
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

/* Does a member say once more which encoding this is? */
static bool says_so(const struct pe_config_reading *reading, const struct pe_config_member *member)
{
    const char *text = pe_config_text(member);

    for (const struct says *at = says; text && at->encoding; at++)
        if (strcmp(at->encoding, reading->family) == 0 && strcmp(at->key, member->name.text) == 0 &&
            pe_text_lists(at->values, ' ', text, strlen(text)))
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
    if (says_so(reading, member) || pe_config_is_dead(&reading->scope, member) ||
        pe_config_is_misplaced(reading, member))
        return PE_OK;
    pe_config_path(member, path, sizeof(path));
    if (pe_config_is_foreign(&reading->scope, member))
        pe_config_warn(reading, "%s is a key of other models and is not read", path);
    else if (is_without(reading->scope.rope, member->name.text))
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
    if (sliding_fill(&filling) || pe_config_bases(&filling) || layer_fill(&filling) ||
        pe_config_odd_places(&filling) || keys_fill(&filling) || pe_config_named_fill(&filling) ||
        pe_config_by_length(&filling) || rope_fill(&filling) || pe_config_derive(&filling))
        return err->status;
    pe_config_width_check(&filling);
    return pe_config_memory_check(reading, err);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Notes as read the keys of every size, whichever of them is looked for first. */
static void sizes_note(struct pe_config_reading *reading)
{
    for (const struct key *at = keys; at->encoding; at++)
        if (strcmp(at->encoding, reading->name) == 0)
            pe_config_find(reading, at->places, at->keys);
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
    found = pe_config_find(reading, row->places, row->keys);
    if (!found)
        return pe_config_fail(NULL, PE_MISSING, err, "the config has none of: %s", row->keys);
    pe_config_path(found, path, sizeof(path));
    if (found->value.kind != PE_CONFIG_INTEGER || found->value.as.integer < 1)
        return pe_config_fail(found, PE_INVALID, err, "%s must be a whole number above 0", path);
    *size = found->value.as.integer;
    pe_config_source_set(reading, row->param, PE_CONFIG_KEY, path);
    return pe_config_memory_check(reading, err);
}
