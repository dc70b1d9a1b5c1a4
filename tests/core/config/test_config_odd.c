/* SPDX-License-Identifier: MIT */

/* Configs that transformers reads otherwise than their keys look. Each row is what the classes of
 * transformers 5.23.0 do; tests/parity/test_stirred.py runs them. */

#include "core/base/text.h"
#include "core/config/reading.h"
#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

#define YARN_TOP                                                                                   \
    "head_dim=8 original_max_position_embeddings=2048 rope_parameters.rope_type=yarn "             \
    "rope_parameters.factor=8 rope_parameters.original_max_position_embeddings=1024"
#define YARN_WITHIN                                                                                \
    "model_type=gemma3_text head_dim=8 rope_parameters.sliding_attention.rope_type=default "       \
    "rope_parameters.full_attention.rope_type=yarn rope_parameters.full_attention.factor=8"

static const struct {
    const char *pairs, *layer_type, *param, *origin;
    double value;
    const char *warning; /* NULL: none */
} odd[] = {
    {"model_type=llama " YARN_TOP, NULL, "original_max_position_embeddings",
     "key original_max_position_embeddings", 2048,
     "original_max_position_embeddings and rope_parameters.original_max_position_embeddings "
     "differ; the first is read"},
    {YARN_WITHIN " original_max_position_embeddings=2048 "
                 "rope_parameters.full_attention.original_max_position_embeddings=1024",
     "full_attention", "original_max_position_embeddings",
     "key rope_parameters.full_attention.original_max_position_embeddings", 1024, NULL},
    {"model_type=phi3 head_dim=8 rope_scaling.type=longrope "
     "rope_scaling.original_max_position_embeddings=1024",
     NULL, "original_max_position_embeddings", "model -", 4096,
     "rope_scaling.original_max_position_embeddings is not read: the class of phi3 has 4096, "
     "which stands above it"},
    {YARN_WITHIN " rope_parameters.full_attention.truncate=false", "full_attention", "truncate",
     "nowhere", 0,
     "rope_parameters.full_attention.truncate is not read: transformers 5.23 looks for it beside "
     "the objects of the types of layers"},
    {YARN_WITHIN " rope_parameters.truncate=false", "full_attention", "truncate",
     "key rope_parameters.truncate", 0, NULL},
    /* heads of two parts: what turns, and what frequencies are made for */
    {"model_type=deepseek_v3 qk_rope_head_dim=4 head_dim=4", NULL, "dim", "key qk_rope_head_dim", 4,
     NULL},
    {"model_type=deepseek_v3 qk_rope_head_dim=4 head_dim=8 rope_parameters.rope_theta=5 "
     "rope_parameters.partial_rotary_factor=0.5",
     NULL, "dim", "key qk_rope_head_dim", 4,
     "4 elements turn, and the class of deepseek_v3 makes frequencies for 8 of head_dim and "
     "partial_rotary_factor: transformers 5.23 fails there"},
    {"model_type=deepseek_v3 head_dim=48", NULL, "dim", "model -", 64,
     "64 elements turn, and the class of deepseek_v3 makes frequencies for 48 of head_dim and "
     "partial_rotary_factor: transformers 5.23 fails there"},
    {"model_type=deepseek_v2 qk_rope_head_dim=4 head_dim=8", NULL, "dim", "key qk_rope_head_dim", 4,
     NULL},
    {"model_type=deepseek_v2 qk_rope_head_dim=4 partial_rotary_factor=0.5 "
     "rope_scaling.type=linear rope_scaling.factor=2",
     NULL, "dim", "key qk_rope_head_dim", 4,
     "4 elements turn, and the class of deepseek_v2 makes frequencies for 2 of head_dim and "
     "partial_rotary_factor: transformers 5.23 fails there"},
    {"model_type=mistral4 qk_rope_head_dim=4 qk_nope_head_dim=12", NULL, "dim",
     "key qk_rope_head_dim", 4, NULL},
    {"model_type=gptj n_embd=32 n_head=2 rotary_dim=8 head_dim=8", NULL, "dim",
     "derived n_embd / n_head", 16, NULL},
    {"model_type=gpt_neox hidden_size=32 num_attention_heads=2 head_dim=16 rotary_pct=0.25", NULL,
     "dim", "key head_dim", 16, NULL},
};

/* A name that is no model's would never be met. */
TEST(test_models_of_rules)
{
    const char *const *const lists[] = {
#define CONFIG_CLASS_VALUE(models, key, value)             models,
#define CONFIG_QUOTIENT_HEADS(models)                      models,
#define CONFIG_FREQUENCY_WIDTH(models, reads_head, beside) models,
#define CONFIG_UNMEASURED_NORMS(models)                    models,
#define CONFIG_DEAD(models, key)                           models,
#include "core/config/keys.def"
    };

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const char *const *name = lists[i]; *name; name++)
            ck_assert_msg(pe_config_model_find(*name), "%s", *name);
}

TEST(test_odd_readings)
{
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct pe_params params = {0};
        begin();
        pairs_add(odd[i].pairs);
        reading = read_layer(odd[i].layer_type, false);
        ck_assert_msg(!pe_config_fill(reading, &params, &err), "%s", err.detail);
        const char *warning = pe_config_warning(reading, 0);
        const int index = pe_params_find(&params, odd[i].param);
        ck_assert_str_eq(origin(reading, odd[i].param), odd[i].origin);
        ck_assert_double_eq(params.values[index].number, odd[i].value);
        ck_assert_msg(!warning == !odd[i].warning && (!warning || !strcmp(warning, odd[i].warning)),
                      "%s: %s", odd[i].pairs, warning);
        pe_params_free(&params);
    }
}

/* Frequencies for one width and heads of another, in the code of the model. */
TEST(test_two_widths_refused)
{
    struct pe_params params = {0};

    pairs_add("model_type=gpt_neox hidden_size=32 num_attention_heads=2 head_dim=8");
    reading = read_layer(NULL, false);
    ck_assert_int_eq(pe_config_fill(reading, &params, &err), PE_UNSUPPORTED);
    ck_assert_str_eq(err.where, "key:head_dim");
    ck_assert_ptr_nonnull(strstr(err.detail, "heads of gpt_neox are hidden_size / "));
    pe_params_free(&params);
}

/* Norms that nobody has measured are warned of, with attention and with the whole. */
TEST(test_norms_not_told)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};

    model("dots1");
    reading = read_layer(NULL, false);
    ck_assert(!pe_config_traits(reading, &traits, &err));
    ck_assert_int_eq(traits.qk_norm.kind, PE_QK_NORM_NONE);
    ck_assert_ptr_nonnull(strstr(pe_config_warning(reading, 0), "dots1 has norms of queries"));
}

/* Layers of one type with two windows are two kinds; a file tells them, or the class does. */
TEST(test_two_windows)
{
    static const struct {
        const char *pairs;
        size_t second; /* the first layer that has the other window */
        int64_t window;
    } table[] = {
        {"model_type=neomme", 1, 1024},
        {"model_type=neomme sliding_window=7 per_layer_config.03.sliding_window=9 "
         "per_layer_config.04.sliding_window=7 per_layer_config.05.sliding_window=null",
         3, 9},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct pe_attention_traits traits = {.size = sizeof(traits)};
        struct pe_config_kinds *kinds;
        begin();
        pairs_add(table[i].pairs);
        pairs_add("rope_parameters.sliding_attention.rope_theta=5 "
                  "rope_parameters.full_attention.rope_theta=6");
        reading = read_layer("sliding_attention", false);
        ck_assert(!pe_config_kinds_new(&kinds, config, &err));
        const struct pe_config_kind *other = pe_config_kind(kinds, 1);
        ck_assert_str_eq(other->layer_type, "sliding_attention");
        ck_assert_uint_eq(other->layers[0], table[i].second);
        ck_assert(!pe_config_kind_traits(reading, other, &traits, &err));
        ck_assert_int_eq(traits.window, table[i].window);
        ck_assert_int_eq(traits.qk_norm.kind, PE_QK_NORM_RMS);
        ck_assert_str_eq(pe_config_kind(kinds, 2)->layer_type, "full_attention");
        pe_config_kinds_free(kinds);
    }
}

/* "key engine: reads" of the first engine that reads truncate in its own way. */
static void reader_check(const char *pair, const char *key, const char *reads)
{
    struct pe_config_reader reader;

    begin();
    pairs_add(YARN_WITHIN);
    pairs_add(pair);
    reading = read_layer("full_attention", false);
    ck_assert(pe_config_reader(reading, 0, &reader));
    ck_assert_str_eq(reader.key, key);
    ck_assert_str_eq(reader.engine, "transformers");
    ck_assert_msg(strstr(reader.reads, reads) != NULL, "%s", reader.reads);
}

TEST(test_readers_of_truncate)
{
    reader_check("rope_parameters.full_attention.truncate=false",
                 "rope_parameters.full_attention.truncate", "it is not read here");
    reader_check("rope_parameters.truncate=false", "rope_parameters.truncate",
                 "are not rounded to whole pairs, in layers of any type");
}

CHECK_WAY(.before = begin, .after = end);
