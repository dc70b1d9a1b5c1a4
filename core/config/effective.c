/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/config/layers.h"

/* The effective value of a key about layers: that of the config, else that of the model's class. */

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

static const struct pe_config_layers models[] = {
#define MODEL_LAYERS(name, ...) {.model_type = (name), __VA_ARGS__},
#include "core/config/model_layers.def"
#undef MODEL_LAYERS
    {0},
};

static const char *const trait_keys[] = {
#define TRAIT_BY_KEY(trait, key, takes_text, take) key,
#define TRAIT_BY_CLASS(trait, take)
#include "core/config/attention_traits.def"
#undef TRAIT_BY_KEY
#undef TRAIT_BY_CLASS
    NULL,
};

/* ---- the class of a model -------------------------------------------------------------------- */

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

const struct pe_config_layers *pe_config_class_of(const struct pe_config_scope *scope)
{
    static const struct pe_config_layers none = {0};
    const struct pe_config_layers *row = pe_config_layers_of(scope);

    return row ? row : &none;
}

/* Finds the value of the class for a key; false: its code does not read the key. */
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

/* ---- one key --------------------------------------------------------------------------------- */

/* The member of a key, whatever its value: null is a value too. */
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

struct pe_config_effective pe_config_effective(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    struct pe_config_effective found = {0};

    if (row && !class_value(row, key, &found.value) && strcmp(key, of_masks) != 0)
        return found;
    if (scope->rope && strncmp(key, "rope.", strlen("rope.")) == 0)
        found.value = (struct pe_config_value){0}; /* a rope object replaces that of the class */
    found.member = member_of(scope, key);
    if (found.member)
        found.value = found.member->value;
    return found;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void text_key_note(struct pe_config_reading *reading, const char *key)
{
    pe_config_note(reading, pe_config_member_at(reading->scope.text, key, strlen(key)));
}

void pe_config_layer_keys_note(struct pe_config_reading *reading)
{
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_layers *row = pe_config_layers_of(scope);

    for (size_t i = 0; pe_config_layer_keys[i]; i++)
        pe_config_note(reading, pe_config_effective(scope, pe_config_layer_keys[i]).member);
    for (const char *const *key = trait_keys; *key; key++)
        pe_config_note(reading, pe_config_effective(scope, *key).member);
    pe_config_note(reading, pe_config_member(scope->text, "layer_types"));
    pe_config_note(reading, pe_config_member(scope->text, "layers_block_type"));
    if (row)
        text_key_note(reading, row->count_key);
    for (const struct pe_class_key *at = row ? row->keys : NULL; at && at->key; at++)
        text_key_note(reading, at->key);
}
