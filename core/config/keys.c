/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/config/reading.h"

/* Finds the keys of keys.def in the places that it names, and the effective values of keys about
 * layers: the config's, else those of the model's class. */

const enum pe_config_place pe_in_rope[] = {PE_PLACE_ROPE, PE_PLACES_END};
const enum pe_config_place pe_in_text[] = {PE_PLACE_TEXT, PE_PLACES_END};
const enum pe_config_place pe_in_rope_text[] = {PE_PLACE_ROPE, PE_PLACE_TEXT, PE_PLACES_END};
const enum pe_config_place pe_in_text_top[] = {PE_PLACE_TEXT, PE_PLACE_TOP, PE_PLACES_END};
const enum pe_config_place pe_in_text_outer[] = {PE_PLACE_TEXT, PE_PLACE_OUTER, PE_PLACES_END};
const enum pe_config_place pe_in_rope_text_outer[] = {PE_PLACE_ROPE, PE_PLACE_TEXT, PE_PLACE_OUTER,
                                                      PE_PLACES_END};
const enum pe_config_place pe_in_flat_rope[] = {PE_PLACE_FLAT, PE_PLACE_ROPE, PE_PLACES_END};
const enum pe_config_place pe_in_layer_text_outer[] = {PE_PLACE_LAYER, PE_PLACE_TEXT,
                                                       PE_PLACE_OUTER, PE_PLACES_END};

static const char *const minus_ones[] = {
#define CONFIG_MINUS_ONE(key) key,
#include "core/config/keys.def"
    NULL,
};

/* Keys and the models to which a list of keys.def limits them. */
struct limited {
    const char *key;
    const char *const *models;
};

static const struct limited dead[] = {
#define CONFIG_DEAD(models, key) {key, models},
#include "core/config/keys.def"
    {0},
};

static const struct limited only_of[] = {
#define CONFIG_ONLY_OF(key, models) {key, models},
#include "core/config/keys.def"
    {0},
};

static const struct limited not_of[] = {
#define CONFIG_NOT_OF(key, models) {key, models},
#include "core/config/keys.def"
    {0},
};

static const struct limited in_rope[] = {
#define CONFIG_IN_ROPE(key, models) {key, models},
#include "core/config/keys.def"
    {0},
};

static const char *const *const rebuilt_rope =
#define CONFIG_REBUILT_ROPE(models) models
#include "core/config/keys.def"
    ;

static const char *const beside_rope[] = {
#define CONFIG_BESIDE_ROPE(key) key,
#include "core/config/keys.def"
    NULL,
};

/* ---- places ---------------------------------------------------------------------------------- */

bool pe_config_lists(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static const struct pe_config_node *place_get(const struct pe_config_scope *scope,
                                              enum pe_config_place place)
{
    switch (place) {
    case PE_PLACE_ROPE:
        return scope->rope;
    case PE_PLACE_FLAT:
        return scope->rope_by_layer_type ? NULL : scope->text;
    case PE_PLACE_LAYER:
        return scope->layer;
    case PE_PLACE_TEXT:
        return scope->text;
    case PE_PLACE_OUTER:
        return pe_config_member(scope->text, "model_type") ? scope->text : scope->top;
    case PE_PLACE_TOP:
    case PE_PLACES_END:
        break;
    }
    return scope->top;
}

/* ---- which keys count ------------------------------------------------------------------------ */

/* The model_type of the scope's class of Hugging Face; NULL: the model is not in the list, or is an
 * architecture of GGUF, whose keys may have the names of any class. */
static const char *hf_model_type(const struct pe_config_scope *scope)
{
    return scope->model && !scope->top->config->models ? scope->model->model_type : NULL;
}

bool pe_config_is_among(const struct pe_config_scope *scope, const char *const *models)
{
    const char *name = hf_model_type(scope);

    return name && pe_config_lists(models, name);
}

static bool is_limited(const struct limited *list, const struct pe_config_scope *scope,
                       const char *key)
{
    const char *name = hf_model_type(scope);

    for (const struct limited *at = list; name && at->key; at++)
        if (strcmp(key, at->key) == 0 && pe_config_lists(at->models, name))
            return true;
    return false;
}

static bool is_foreign(const struct pe_config_scope *scope, const char *key)
{
    const char *name = hf_model_type(scope);

    for (const struct limited *at = only_of; name && at->key; at++)
        if (strcmp(key, at->key) == 0)
            return !pe_config_lists(at->models, name);
    return is_limited(not_of, scope, key);
}

static bool is_dead(const struct pe_config_scope *scope, const char *key)
{
    return is_limited(dead, scope, key);
}

/* Does the rope object of the class hold, which has this key? */
static bool is_of_class(const struct pe_config_scope *scope, const char *key)
{
    const bool part = strcmp(key, "partial_rotary_factor") == 0;

    return scope->class_rope &&
           (strcmp(key, "rope_theta") == 0 || (part && pe_config_class_default(scope->model, key)));
}

bool pe_config_rebuilds_rope(const struct pe_config_scope *scope)
{
    return pe_config_is_among(scope, rebuilt_rope);
}

/* A key beside the rope object that a class of CONFIG_REBUILT_ROPE does not read. */
static bool is_rebuilt_without(const struct pe_config_scope *scope, const char *key)
{
    const bool kept = scope->rope_by_layer_type && scope->rope_by_layer_type->owner;

    return pe_config_rebuilds_rope(scope) &&
           strcmp(key, kept ? "rope_theta" : "partial_rotary_factor") == 0;
}

static bool is_displaced(const struct pe_config_scope *scope, bool within_rope, const char *key)
{
    if (scope->top->config->models) /* metadata of GGUF */
        return false;
    return within_rope ? pe_config_lists(beside_rope, key)
                       : is_limited(in_rope, scope, key) || is_of_class(scope, key) ||
                             is_rebuilt_without(scope, key);
}

bool pe_config_is_displaced(const struct pe_config_scope *scope,
                            const struct pe_config_member *member)
{
    return is_displaced(scope, scope->rope && member->in == scope->rope, member->name.text);
}

bool pe_config_is_dead(const struct pe_config_scope *scope, const struct pe_config_member *member)
{
    return is_dead(scope, member->name.text);
}

bool pe_config_is_foreign(const struct pe_config_scope *scope,
                          const struct pe_config_member *member)
{
    return is_foreign(scope, member->name.text);
}

/* null and, for some keys, -1 mean "not given". */
static bool is_given(const char *key, const struct pe_config_value *value)
{
    return value->kind != PE_CONFIG_NULL &&
           !(pe_config_lists(minus_ones, key) && value->kind == PE_CONFIG_INTEGER &&
             value->as.integer == -1);
}

/* The member of a key that has a value; NULL: none. */
static const struct pe_config_member *value_at(const struct pe_config_scope *scope,
                                               enum pe_config_place place, const char *key)
{
    const struct pe_config_member *member =
        pe_config_member_at(place_get(scope, place), key, strlen(key));

    return member && is_given(key, &member->value) && !is_dead(scope, key) &&
                   !is_foreign(scope, key) && !is_displaced(scope, place == PE_PLACE_ROPE, key)
               ? member
               : NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Sets *key to the key that was found, and *places to the place that it was in. */
static const struct pe_config_member *first(const struct pe_config_scope *scope,
                                            const enum pe_config_place **places,
                                            const char *const *keys, const char **key)
{
    for (; **places != PE_PLACES_END; ++*places)
        for (const char *const *at = keys; *at; at++) {
            const struct pe_config_member *member = value_at(scope, **places, *at);
            *key = *at;
            if (member)
                return member;
        }
    return NULL;
}

const struct pe_config_member *pe_config_first(const struct pe_config_scope *scope,
                                               const enum pe_config_place *places,
                                               const char *const *keys)
{
    const char *key;

    return first(scope, &places, keys, &key);
}

void pe_config_note(struct pe_config_reading *reading, const struct pe_config_member *member)
{
    for (; member; member = member->in->owner)
        reading->read[member->number] = true;
}

/* Depth is bounded by that of a config. */
void pe_config_note_whole(struct pe_config_reading *reading, const struct pe_config_member *member)
{
    const struct pe_config_node *object = member ? pe_config_object(member) : NULL;

    pe_config_note(reading, member);
    for (const struct pe_config_member *at = object ? object->first : NULL; at; at = at->next)
        pe_config_note_whole(reading, at);
}

/* Notes the same key of a later place, and warns where its value differs. The value of single
 * layers is expected to. */
static void shadow_note(struct pe_config_reading *reading, const struct pe_config_member *found,
                        const struct pe_config_member *other)
{
    char path[PE_CONFIG_PATH_SIZE], shadow[PE_CONFIG_PATH_SIZE];

    if (!other || other == found) /* the part about text may be the top */
        return;
    pe_config_note_whole(reading, other);
    if (found->in != reading->scope.layer && !pe_config_equal(&found->value, &other->value))
        pe_config_warn(reading, "%s and %s differ; the first is read",
                       pe_config_path(found, path, sizeof(path)),
                       pe_config_path(other, shadow, sizeof(shadow)));
}

const struct pe_config_member *pe_config_find(struct pe_config_reading *reading,
                                              const enum pe_config_place *places,
                                              const char *const *keys)
{
    const char *key;
    const struct pe_config_member *found = first(&reading->scope, &places, keys, &key);

    pe_config_note(reading, found);
    while (found && *++places != PE_PLACES_END) {
        shadow_note(reading, found, value_at(&reading->scope, *places, key));
        if (*places == PE_PLACE_OUTER) /* some files repeat there what the part about text has */
            shadow_note(reading, found, value_at(&reading->scope, PE_PLACE_TOP, key));
    }
    return found;
}

/* ---- the class of a model -------------------------------------------------------------------- */

#define NONE                                                                                       \
    {                                                                                              \
        0                                                                                          \
    }
#define NUMBER(x)                                                                                  \
    {                                                                                              \
        PE_CONFIG_NUMBER,                                                                          \
        {                                                                                          \
            .number = (x)                                                                          \
        }                                                                                          \
    }
#define TRUE                                                                                       \
    {                                                                                              \
        PE_CONFIG_BOOL,                                                                            \
        {                                                                                          \
            .truth = true                                                                          \
        }                                                                                          \
    }
#define FALSE                                                                                      \
    {                                                                                              \
        PE_CONFIG_BOOL,                                                                            \
        {                                                                                          \
            .truth = false                                                                         \
        }                                                                                          \
    }
#define TEXT(string)                                                                               \
    {                                                                                              \
        PE_CONFIG_TEXT,                                                                            \
        {                                                                                          \
            .text = (string)                                                                       \
        }                                                                                          \
    }
#define KEYS(...)                                                                                  \
    (const struct pe_class_key[])                                                                  \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, NONE                                                                             \
        }                                                                                          \
    }
#define RUNS(...)                                                                                  \
    (const struct pe_layer_run[])                                                                  \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, 0                                                                                \
        }                                                                                          \
    }

static const struct pe_config_layers classes[] = {
#define MODEL_LAYERS(name, ...) {.model_type = (name), __VA_ARGS__},
#include "core/config/model_layers.def"
#undef MODEL_LAYERS
    {0},
};

/* Classes of diffusers and timm have no mask, and their blocks are of several sorts, which are not
 * counted. */
static const struct pe_config_layers unmasked_layers = {.count_key = "", .both_ways = true};

const struct pe_config_layers *pe_config_layers_of(const struct pe_config_scope *scope)
{
    const char *model_type = pe_config_model_type(scope);

    if (scope->diffusers || scope->timm)
        return &unmasked_layers;
    if (scope->top->config->models) /* an architecture of GGUF is no class of Hugging Face */
        return NULL;
    for (const struct pe_config_layers *at = classes; model_type && at->model_type; at++)
        if (strcmp(at->model_type, model_type) == 0)
            return at;
    return NULL;
}

/* Is the model one of pictures, whose patches see each other? */
static bool is_of_pictures(const struct pe_config_model *model)
{
    static const char ending[] = "_vision";
    const size_t size = model ? strlen(model->model_type) : 0, end = sizeof(ending) - 1;

    return model && model->encoding &&
           (strcmp(model->encoding, "rope-2d") == 0 ||
            (size > end && strcmp(model->model_type + size - end, ending) == 0 &&
             strcmp(model->encoding, "rope") != 0));
}

const struct pe_config_layers *pe_config_class_of(const struct pe_config_scope *scope)
{
    static const struct pe_config_layers none = {0}, of_pictures = {.both_ways = true};
    const struct pe_config_layers *row = pe_config_layers_of(scope);

    if (row)
        return row;
    return is_of_pictures(scope->model) ? &of_pictures : &none;
}

/* Finds the class's value of a key; false: its code does not read the key. */
static bool class_value(const struct pe_config_layers *row, const char *key,
                        struct pe_config_value *value)
{
    if (strcmp(row->count_key, key) == 0) {
        if (row->count > 0)
            *value = (struct pe_config_value)NUMBER(row->count);
        return true;
    }
    for (const struct pe_class_key *at = row->keys; at && at->key; at++)
        if (strcmp(at->key, key) == 0) {
            *value = at->value;
            return true;
        }
    return false;
}

/* ---- effective values ------------------------------------------------------------------------ */

/* The member of a key, whatever its value: null is a value too. */
static const struct pe_config_member *member_of(const struct pe_config_scope *scope,
                                                const char *key)
{
    static const char rope[] = "rope.";
    const size_t prefix = strlen(rope);
    const struct pe_config_member *member;

    if (strcmp(key, "rope.original_max_position_embeddings") == 0)
        return pe_config_first(scope, pe_in_flat_rope, NAMES(key + prefix));
    if (strncmp(key, rope, prefix) == 0)
        return pe_config_member_at(scope->rope, key + prefix, strlen(key) - prefix);
    member = pe_config_member_at(scope->text, key, strlen(key));
    return member || pe_config_member(scope->text, "model_type")
               ? member
               : pe_config_member_at(scope->top, key, strlen(key));
}

/* Read by masking_utils.py, which makes the masks of nearly all models of transformers. */
static const char of_masks[] = "is_causal";

struct pe_config_effective pe_config_effective(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    struct pe_config_effective found = {0};

    if (row && !class_value(row, key, &found.value) && strcmp(key, of_masks) != 0)
        return found;
    if (scope->rope && strncmp(key, "rope.", strlen("rope.")) == 0)
        found.value = (struct pe_config_value){0}; /* a rope object replaces the class's */
    found.member = member_of(scope, key);
    if (found.member)
        found.value = found.member->value;
    return found;
}

double pe_config_effective_number(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_effective found = pe_config_effective(scope, key);

    return pe_config_number(&found.value);
}
