/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/config/reading.h"

/* The keys of a config that engines read differently. */

#define ROPE_UTILS "huggingface/transformers, src/transformers/modeling_rope_utils.py, v5.23.0"
#define ROTARY     "vllm-project/vllm, vllm/model_executor/layers/rotary_embedding/"
#define CONVERSION                                                                                 \
    "ggml-org/llama.cpp, conversion/base.py, 00bd27a621f92be9a99d24d7c5117a263b9b3c01"
#define OF_LLAMA "ggml-org/llama.cpp, conversion/llama.py, 0274f0fc7d7fbab69c33ccf757cf7f3d036c17aa"
#define MISTRAL_MASKS                                                                              \
    "huggingface/transformers, src/transformers/models/mistral/modeling_mistral.py, v5.23.0"

/* Models whose YaRN is DeepseekScalingRotaryEmbedding in vLLM 0.33.0. */
#define DEEPSEEK_YARN                                                                              \
    NAMES("axk1", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots3_note", "dots3_note_text",   \
          "glm4_moe_lite", "glm_moe_dsa", "kimi_k2", "kimi_k25", "longcat_flash")

#define TYPE  NAMES("rope_type", "type")
#define FALSE NAMES("false")

static const struct row {
    enum {
        IN_ROPE,
        IN_FLAT_ROPE,     /* a rope object without objects of types of layers */
        IN_TYPE_OF_LAYER, /* the object of one type of layers */
        BESIDE_TYPES,     /* beside these objects */
        IN_TEXT,
    } place;
    const char *const *keys;   /* the first that the place has */
    const char *const *values; /* for which the row holds; NULL: any number */
    const char *unless;        /* a key of the rope object beside which all engines agree */
    const char *const *models; /* NULL: all */
    const char *const *others; /* for which it does not hold; NULL: none */
    const char *engine, *reads;
    const char *source; /* repository, path, commit or tag */
} rows[] = {
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("dynamic"),
     .unless = "alpha",
     .engine = "transformers",
     .reads = "the base grows with the longest sequence so far, beyond max_position_embeddings "
              "(seq_len here)",
     .source = ROPE_UTILS},
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("dynamic"),
     .unless = "alpha",
     .engine = "vllm",
     .reads = "one base for all positions and sequences, computed once",
     .source = ROTARY "dynamic_ntk_scaling_rope.py, v0.33.0"},
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("dynamic"),
     .unless = "alpha",
     .engine = "llama.cpp",
     .reads = "its conversion writes no scaling for this type",
     .source = CONVERSION},
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("longrope", "su"),
     .engine = "transformers",
     .reads = "long_factor where the sequence is longer than original_max_position_embeddings, "
              "else short_factor (seq_len here)",
     .source = ROPE_UTILS},
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("longrope", "su"),
     .engine = "vllm",
     .reads = "long_factor for every sequence where max_model_len is above "
              "original_max_position_embeddings",
     .source = ROTARY "phi3_long_rope_scaled_rope.py, v0.33.0"},
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("ntk"),
     .unless = "alpha",
     .engine = "transformers",
     .reads = "there is no such rope_type",
     .source = ROPE_UTILS},
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("ntk"),
     .unless = "alpha",
     .engine = "vllm",
     .reads = "a fixed stretch of base and positions (ntk_fixed)",
     .source = ROTARY "ntk_scaling_rope.py, v0.33.0"},
    {.place = IN_ROPE,
     .keys = TYPE,
     .values = NAMES("ntk"),
     .unless = "alpha",
     .engine = "llama.cpp",
     .reads = "its conversion has no such type and writes no scaling",
     .source = CONVERSION},
    {.place = IN_FLAT_ROPE,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .engine = "transformers",
     .reads = "the ends of YaRN's ramp are not rounded to whole pairs",
     .source = ROPE_UTILS},
    {.place = IN_FLAT_ROPE,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .others = DEEPSEEK_YARN,
     .engine = "vllm",
     .reads = "the same: neither end of the ramp is rounded",
     .source = ROTARY "yarn_scaling_rope.py, v0.33.0"},
    {.place = IN_FLAT_ROPE,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .models = DEEPSEEK_YARN,
     .engine = "vllm",
     .reads = "its YaRN of these models does not read this key: both ends of the ramp are rounded "
              "to whole pairs",
     .source = ROTARY "deepseek_scaling_rope.py, v0.33.0"},
    {.place = IN_FLAT_ROPE,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .engine = "llama.cpp",
     .reads =
         "its conversion does not write this key, and its YaRN rounds both ends to whole pairs",
     .source = CONVERSION},
    {.place = IN_TYPE_OF_LAYER,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .engine = "transformers",
     .reads = "it is not read here but beside the objects of the types of layers: the ends of "
              "YaRN's ramp are rounded to whole pairs",
     .source = ROPE_UTILS},
    {.place = IN_TYPE_OF_LAYER,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .engine = "llama.cpp",
     .reads =
         "its conversion does not write this key, and its YaRN rounds both ends to whole pairs",
     .source = CONVERSION},
    {.place = BESIDE_TYPES,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .engine = "transformers",
     .reads = "the ends of YaRN's ramp are not rounded to whole pairs, in layers of any type",
     .source = ROPE_UTILS},
    {.place = BESIDE_TYPES,
     .keys = NAMES("truncate"),
     .values = FALSE,
     .engine = "llama.cpp",
     .reads =
         "its conversion does not write this key, and its YaRN rounds both ends to whole pairs",
     .source = CONVERSION},
    {.place = IN_TEXT,
     .keys = NAMES("sliding_window"),
     .models = NAMES("mistral", "mixtral"),
     .engine = "transformers",
     .reads = "all layers see by this window",
     .source = MISTRAL_MASKS},
    {.place = IN_TEXT,
     .keys = NAMES("sliding_window"),
     .models = NAMES("mistral", "mixtral"),
     .engine = "llama.cpp",
     .reads = "its conversion writes no window: all layers see all keys",
     .source = OF_LLAMA},
};

static const struct pe_config_node *place_get(const struct pe_config_scope *scope,
                                              const struct row *row)
{
    switch (row->place) {
    case IN_ROPE:
        return scope->rope;
    case IN_FLAT_ROPE:
        return scope->rope_by_layer_type ? NULL : scope->rope;
    case IN_TYPE_OF_LAYER:
        return scope->rope_by_layer_type ? scope->rope : NULL;
    case BESIDE_TYPES:
        return scope->rope_by_layer_type;
    case IN_TEXT:
        break;
    }
    return scope->text;
}

static const struct pe_config_member *member_find(const struct pe_config_scope *scope,
                                                  const struct row *row)
{
    const struct pe_config_member *found = NULL;

    for (const char *const *key = row->keys; *key && !found; key++)
        found = pe_config_member(place_get(scope, row), *key);
    return found;
}

static bool counts(const struct pe_config_value *value, const char *const *values)
{
    const char *text = value->kind == PE_CONFIG_TEXT   ? value->as.text
                       : value->kind == PE_CONFIG_BOOL ? value->as.truth ? "true" : "false"
                                                       : "";

    return values ? pe_config_lists(values, text) : pe_config_is_number(value);
}

static bool applies(const struct pe_config_reading *reading, const struct row *row,
                    const struct pe_config_member *member)
{
    const char *model = reading->model_type ? reading->model_type : "";

    return member && counts(&member->value, row->values) &&
           (!row->models || pe_config_lists(row->models, model)) &&
           !pe_config_lists(row->others, model) &&
           (!row->unless || !pe_config_member(reading->scope.rope, row->unless));
}

bool pe_config_reader(struct pe_config_reading *reading, size_t index,
                      struct pe_config_reader *reader)
{
    size_t found = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct pe_config_member *member = member_find(&reading->scope, &rows[i]);
        if (!applies(reading, &rows[i], member) || found++ < index)
            continue;
        pe_config_path(member, reader->key, sizeof(reader->key));
        reader->engine = rows[i].engine;
        reader->reads = rows[i].reads;
        reader->source = rows[i].source;
        return true;
    }
    return false;
}
