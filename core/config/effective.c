/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/config/layers.h"

/* Looks up what a config and the class of its model tell of layers. */

static const struct pe_config_layers models[] = {
#define MODEL_LAYERS(model_type, keys, layers, turning, traits)                                    \
    {model_type, keys, layers, turning, traits},
#include "core/config/model_layers.def"
#undef MODEL_LAYERS
    {0},
};

static const char *const trait_keys[] = {
#define TRAIT_BY_KEY(trait, key, takes_text, take) key,
#define TRAIT_BY_CLASS(trait, key, takes_text, take)
#include "core/config/attention_traits.def"
#undef TRAIT_BY_KEY
#undef TRAIT_BY_CLASS
    NULL,
};

const struct pe_config_layers *pe_config_layers_of(const struct pe_config_scope *scope)
{
    const char *model_type = pe_config_model_type(scope);

    if (scope->top->config->models) /* an architecture of GGUF is no class of Hugging Face */
        return NULL;
    for (const struct pe_config_layers *at = models; model_type && at->model_type; at++)
        if (strcmp(at->model_type, model_type) == 0)
            return at;
    return NULL;
}

/* The value in "key=value" as JSON would have it; without one, null. */
static struct pe_config_value value_parse(const char *text, size_t size)
{
    char *end;
    double number;

    if (size == 0)
        return (struct pe_config_value){0};
    if ((size == 4 && memcmp(text, "true", 4) == 0) || (size == 5 && memcmp(text, "false", 5) == 0))
        return (struct pe_config_value){PE_CONFIG_BOOL, {.truth = size == 4}};
    number = strtod_l(text, &end, pe_locale());
    if (end == text + size)
        return (struct pe_config_value){PE_CONFIG_NUMBER, {.number = number}};
    return (struct pe_config_value){PE_CONFIG_TEXT, {.text = text}};
}

/* Finds "key" or "key=value" in a list of them. */
static bool listed(const char *list, const char *key, struct pe_config_value *value)
{
    const size_t size = strlen(key);
    struct pe_name name;

    while (pe_text_next(&list, ' ', &name)) {
        if (name.size < size || memcmp(name.at, key, size) != 0 ||
            (name.size > size && name.at[size] != '='))
            continue;
        *value = name.size > size ? value_parse(name.at + size + 1, name.size - size - 1)
                                  : (struct pe_config_value){0};
        return true;
    }
    return false;
}

/* A member of any value: null too says something. */
static const struct pe_config_member *member_of(const struct pe_config_scope *scope,
                                                const char *key)
{
    static const char rope[] = "rope.";
    const size_t prefix = strlen(rope);
    const struct pe_config_member *member;

    if (strcmp(key, "rope.original_max_position_embeddings") == 0)
        return pe_config_first(scope, "flat rope", key + prefix);
    if (strncmp(key, rope, prefix) == 0)
        return pe_config_member_at(scope->rope, key + prefix, strlen(key) - prefix);
    member = pe_config_member_at(scope->text, key, strlen(key));
    return member || pe_config_member(scope->text, "model_type")
               ? member
               : pe_config_member_at(scope->top, key, strlen(key));
}

/* masking_utils.py, which makes the masks of nearly all models of transformers, reads this key. */
static const char of_masks[] = "is_causal";

struct pe_config_told pe_config_tell(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    struct pe_config_told told = {0};

    if (row && !listed(row->keys, key, &told.value) && strcmp(key, of_masks) != 0)
        return told;
    if (scope->rope && strncmp(key, "rope.", strlen("rope.")) == 0)
        told.value = (struct pe_config_value){0}; /* a rope object replaces that of the class */
    told.member = member_of(scope, key);
    if (told.member)
        told.value = told.member->value;
    return told;
}

struct pe_config_told pe_config_trait(const struct pe_config_scope *scope, const char *trait)
{
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    struct pe_config_told told = {0};

    if (row && listed(row->traits, trait, &told.value) && told.value.kind == PE_CONFIG_NULL)
        told.value = (struct pe_config_value){PE_CONFIG_BOOL, {.truth = true}};
    return told;
}

void pe_config_layer_keys_note(struct pe_config_reading *reading)
{
    const struct pe_config_layers *row = pe_config_layers_of(&reading->scope);
    struct pe_name name;

    for (size_t i = 0; pe_config_layer_keys[i]; i++)
        pe_config_note(reading, pe_config_tell(&reading->scope, pe_config_layer_keys[i]).member);
    for (const char *const *key = trait_keys; *key; key++)
        pe_config_note(reading, pe_config_tell(&reading->scope, *key).member);
    pe_config_note(reading, pe_config_member(reading->scope.text, "layer_types"));
    pe_config_note(reading, pe_config_member(reading->scope.text, "layers_block_type"));
    for (const char *at = row ? row->keys : ""; pe_text_next(&at, ' ', &name);) {
        const char *sign = memchr(name.at, '=', name.size);
        pe_config_note(reading, pe_config_member_at(reading->scope.text, name.at,
                                                    sign ? (size_t)(sign - name.at) : name.size));
    }
}
