/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/wraps.h"
#include "core/config/layers.h"

/* Finds the rope object of a config, and chooses between layers whose positions differ. There are
 * two ways of writing that: the rope object has an object for each type of layer; or layers of
 * sliding attention have a base of their own or no scaling, by a key or by the model's class. */

static const struct within {
    const char *key, *encoding;
} within[] = {
#define CONFIG_WITHIN(key, encoding) {key, encoding},
#include "core/config/keys.def"
    {0},
};

static const struct named {
    const char *key, *rope_type;
} named[] = {
#define CONFIG_NAMED(key, rope_type) {key, rope_type},
#include "core/config/keys.def"
    {0},
};

static const char *const sliding_layers[] = {"full_attention", "sliding_attention"};
static const char sliding_keys[] = "rope_local_base_freq local_rope_theta";
static const char rope_keys[] = "rope_parameters rope_scaling attn_config.rope_hf_config";

/* The row of an object that is a rope object by its name; NULL: it is none. */
static const struct named *named_row(const struct pe_config_node *object)
{
    for (const struct named *at = named; at->key && object && object->owner; at++)
        if (strcmp(at->key, object->owner->name.text) == 0)
            return at;
    return NULL;
}

const char *pe_config_named_type(const struct pe_config_node *rope)
{
    const struct named *row = named_row(rope);

    return row ? row->rope_type : NULL;
}

/* The rope object of a config that has none of the usual names; NULL: there is none. */
static const struct pe_config_node *named_find(const struct pe_config_scope *scope)
{
    for (const struct named *at = named; at->key; at++) {
        const struct pe_config_node *object =
            pe_config_object(pe_config_member(scope->text, at->key));
        if (object)
            return object;
    }
    return NULL;
}

static enum pe_status rope_find(struct pe_config_reading *reading, struct pe_error *err)
{
    const struct pe_config_member *found = pe_config_find(reading, "text top", rope_keys), *other;
    char path[PE_CONFIG_PATH_SIZE], behind[PE_CONFIG_PATH_SIZE];

    reading->scope.rope = found ? pe_config_object(found) : named_find(&reading->scope);
    if (!found) {
        pe_config_note(reading, reading->scope.rope ? reading->scope.rope->owner : NULL);
        return PE_OK;
    }
    pe_config_path(found, path, sizeof(path));
    if (!reading->scope.rope)
        return pe_config_fail(found, PE_INVALID, err, "%s must be an object", path);
    if (strcmp(found->name.text, "rope_parameters") != 0)
        return PE_OK;
    other = pe_config_find(reading, "text top", "rope_scaling");
    pe_config_note_whole(reading, other);
    if (other)
        pe_config_warn(reading, "%s and %s are both there; the first is read", path,
                       pe_config_path(other, behind, sizeof(behind)));
    return PE_OK;
}

/* ---- types of layers ------------------------------------------------------------------------- */

/* The member of the rope object that is the index-th object among them. */
PE_WRAPS("counts down past 0")
static const char *layer_within(const struct pe_config_scope *scope, size_t index)
{
    if (!scope->rope)
        return NULL;
    for (const struct pe_config_member *at = scope->rope->first; at; at = at->next)
        if (pe_config_object(at) && index-- == 0)
            return at->name.text;
    return NULL;
}

/* Do layers differ by the model's class in a way that only the config describes? */
static bool needs_layers(const struct pe_config_model *model)
{
    return model && strcmp(model->sliding, "?") == 0;
}

/* Do layers of sliding attention differ from the others? */
static bool sliding_differs(const struct pe_config_scope *scope,
                            const struct pe_config_model *model)
{
    const char *of_model = model ? model->sliding : "";

    if (pe_config_first(scope, "text top", sliding_keys))
        return true;
    return strcmp(of_model, "=") == 0 ? scope->rope != NULL
                                      : *of_model != '\0' && !needs_layers(model);
}

const struct pe_config_node *pe_config_rope(const struct pe_config_scope *scope)
{
    const struct pe_config_member *found = pe_config_first(scope, "text top", rope_keys);

    return found ? pe_config_object(found) : named_find(scope);
}

const char *pe_config_layer_type(const struct pe_config *config, size_t index)
{
    struct pe_config_scope scope = pe_config_scope_of(config);
    const char *name;

    scope.rope = pe_config_rope(&scope);
    name = layer_within(&scope, index);
    if (name || layer_within(&scope, 0))
        return name;
    return index < 2 && sliding_differs(&scope, scope.model) ? sliding_layers[index] : NULL;
}

static enum pe_status layer_unknown(const struct pe_config *config, const char *wanted,
                                    struct pe_error *err)
{
    char names[200] = "";
    size_t used = 0;
    const char *name;

    for (size_t i = 0; used < sizeof(names) && (name = pe_config_layer_type(config, i)); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.60s", i > 0 ? ", " : "",
                                 name);
    if (!wanted)
        return pe_fail(err, PE_MISSING, "parameter:layer_type",
                       "layer_type is required, the layers of this config differ: %s", names);
    return pe_fail(err, PE_INVALID, "parameter:layer_type",
                   "this config has no layer_type '%.60s'; it has %s", wanted, names);
}

/* The layers of a type that the model has, whether their positions differ from others' or not. */
static enum pe_status type_find(const struct pe_config *config, const char *type, bool *known,
                                bool *turns, struct pe_error *err)
{
    struct pe_config_memory memory = {.work = config->memory.work};
    struct pe_config_scope scope = pe_config_scope_of(config);
    struct pe_config_layer_list list;

    scope.rope = pe_config_rope(&scope);
    *known = *turns = false;
    if (pe_config_layers_list(&scope, &memory, &list, err) == PE_OK)
        for (size_t i = 0; i < list.count; i++)
            if (pe_config_is_type(&list.layers[i], type)) {
                *known = true;
                *turns |= list.layers[i].turns;
            }
    pe_config_memory_free(&memory);
    return err->status;
}

static enum pe_status still_refuse(const struct pe_config_reading *reading, const char *wanted,
                                   struct pe_error *err)
{
    bool known, turns;

    if (!wanted || type_find(reading->config, wanted, &known, &turns, err))
        return wanted ? err->status : PE_OK;
    return known && !turns ? pe_fail(err, PE_UNSUPPORTED, "parameter:layer_type",
                                     "layers of type %.60s have no positions in this model", wanted)
                           : PE_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* The only object of the rope object needs no name. */
static enum pe_status layer_enter(struct pe_config_reading *reading, const char *wanted,
                                  struct pe_error *err)
{
    const char *name = wanted                             ? wanted
                       : layer_within(&reading->scope, 1) ? NULL
                                                          : layer_within(&reading->scope, 0);
    const struct pe_config_node *layer =
        name ? pe_config_object(pe_config_member(reading->scope.rope, name)) : NULL;

    if (!layer)
        return layer_unknown(reading->config, wanted, err);
    reading->scope.around = reading->scope.rope;
    reading->scope.rope = layer;
    return PE_OK;
}

static void sliding_enter(struct pe_config_reading *reading, const struct pe_config_member *base)
{
    const char *of_model = reading->model ? reading->model->sliding : "";

    if (reading->scope.rope) /* it is of the other layers */
        pe_config_note_whole(reading, reading->scope.rope->owner);
    reading->scope.rope = NULL;
    reading->sliding_member = base;
    if (base)
        reading->sliding_base = base->value;
    else if (strcmp(of_model, "=") != 0)
        reading->sliding_base =
            (struct pe_config_value){PE_CONFIG_INTEGER, {.integer = strtol(of_model, NULL, 10)}};
}

static bool type_is_known(const struct pe_config *config, const char *type)
{
    bool known, turns;

    return type_find(config, type, &known, &turns, &(struct pe_error){0}) == PE_OK && known;
}

/* Where layers differ by their class, it reads objects for each type, and rope_scaling; of a flat
 * rope_parameters nothing. */
static void flat_warn(struct pe_config_reading *reading)
{
    const struct pe_config_member *found = pe_config_find(reading, "text top", "rope_parameters");
    const struct pe_config_node *flat = pe_config_object(found);

    if (flat && flat->first && reading->model && *reading->model->sliding)
        pe_config_warn(reading,
                       "rope_parameters has no object for each type of layer, and the code of %s "
                       "reads nothing else there: it turns its layers by their defaults",
                       reading->model_type);
}

static enum pe_status sliding_choose(struct pe_config_reading *reading, const char *wanted,
                                     struct pe_error *err)
{
    const struct pe_config_member *base = pe_config_find(reading, "text top", sliding_keys);

    flat_warn(reading);
    if (!base && needs_layers(reading->model))
        return pe_config_fail(NULL, PE_UNSUPPORTED, err,
                              "the layers of %s differ, and this config does not tell how: it has "
                              "no rope_parameters with an object for each type of layer",
                              reading->model_type);
    if (!sliding_differs(&reading->scope, reading->model))
        return wanted && !type_is_known(reading->config, wanted)
                   ? pe_fail(err, PE_CONFLICT, "parameter:layer_type",
                             "all layers of this config have the same positions; leave "
                             "layer_type out")
                   : PE_OK;
    if (wanted && strcmp(wanted, sliding_layers[1]) == 0)
        sliding_enter(reading, base);
    else if (!wanted || strcmp(wanted, sliding_layers[0]) != 0)
        return layer_unknown(reading->config, wanted, err);
    return PE_OK;
}

/* ---- keys of single layers --------------------------------------------------------------------
 */

static long layer_first(const struct pe_config_node *types, const char *layer_type)
{
    long index = 0;

    for (const struct pe_config_item *at = types->first_item; at; at = at->next, index++)
        if (at->value.kind == PE_CONFIG_TEXT && strcmp(at->value.as.text, layer_type) == 0)
            return index;
    return -1;
}

/* Finds the object of per_layer_config for the first layer of the type described. Its keys are
 * numbers of layers, which transformers writes as "05". */
static void layer_find(struct pe_config_reading *reading)
{
    const struct pe_config_node *text = reading->scope.text;
    const struct pe_config_member *types = pe_config_member(text, "layer_types");
    const struct pe_config_node *each =
        pe_config_object(pe_config_member(text, "per_layer_config"));
    long first;

    if (!each || !reading->layer_type || !types || types->value.kind != PE_CONFIG_LIST)
        return;
    first = layer_first(types->value.as.node, reading->layer_type);
    for (const struct pe_config_member *at = each->first; at; at = at->next) {
        char *end;
        if (strtol(at->name.text, &end, 10) == first && !*end && first >= 0)
            reading->scope.layer = pe_config_object(at);
    }
}

bool pe_config_class_has(const struct pe_config_model *model, const char *key)
{
    const char *rest = model ? model->defaults : "";
    struct pe_name pair;

    while (pe_text_next(&rest, ' ', &pair))
        if (pair.size > strlen(key) && memcmp(pair.at, key, strlen(key)) == 0 &&
            pair.at[strlen(key)] == '=')
            return true;
    return false;
}

enum pe_status pe_config_layers_choose(struct pe_config_reading *reading, const char *layer_type,
                                       struct pe_error *err)
{
    if (rope_find(reading, err) ||
        (layer_within(&reading->scope, 0) ? layer_enter(reading, layer_type, err)
                                          : sliding_choose(reading, layer_type, err)) ||
        still_refuse(reading, layer_type, err))
        return err->status;
    reading->layer_type = layer_type;
    layer_find(reading);
    for (const struct within *at = within; at->key && strcmp(reading->family, "rope") == 0; at++)
        if (pe_config_member(reading->scope.rope, at->key) ||
            pe_config_class_has(reading->model, at->key))
            reading->name = at->encoding;
    return PE_OK;
}
