/* SPDX-License-Identifier: MIT */

/* The layers of configs, their attention, and the keys that engines read differently. */

#include <math.h>

#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

/* Where a trait came from. */
static const char *trait_origin(const char *trait)
{
    static char out[200];
    const struct pe_config_source *source;

    for (size_t i = 0; (source = pe_config_trait_source(reading, i)); i++)
        if (strcmp(source->param, trait) == 0)
            return snprintf(out, sizeof(out), "%s", source->key ? source->key : "class"), out;
    return "usual";
}

static struct pe_attention_traits traits_of(const char *layer_type)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};

    read_layer(layer_type, false);
    ck_assert_msg(!pe_config_traits(reading, &traits, &err), "%s", err.detail);
    return traits;
}

TEST(test_gemma2)
{
    struct pe_attention_traits traits;

    model("gemma2");
    pairs_add("query_pre_attn_scalar=144 use_bidirectional_attention=null");
    traits = traits_of("sliding_attention");
    ck_assert_double_eq(traits.scale, 1.0 / 12);
    ck_assert_double_eq(traits.softcap, 50);
    ck_assert_int_eq(traits.window, 4096);
    ck_assert(traits.causal && !traits.sinks && !traits.qk_norm.kind);
    ck_assert_str_eq(trait_origin("scale"), "query_pre_attn_scalar");
    ck_assert_str_eq(trait_origin("softcap"), "class");
    ck_assert_str_eq(trait_origin("sinks"), "usual");
}

/* Which window is meant has to be said, where both kinds of layers rotate. */
TEST(test_layers_that_differ)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};

    model("gemma2");
    read_layer(NULL, false);
    ck_assert_int_eq(pe_config_traits(reading, &traits, &err), PE_MISSING);
    ck_assert_str_eq(err.where, "parameter:layer_type");
    err = (struct pe_error){0};
    ck_assert_int_eq(traits_of("full_attention").window, 0);
    begin();
    model("cohere2");
    ck_assert_int_eq(traits_of(NULL).window, 4096);
}

TEST(test_null_is_none)
{
    model("gemma2");
    pairs_add("attn_logit_softcapping=null sliding_window=null");
    ck_assert_double_eq(traits_of(NULL).softcap, 0);
    ck_assert_int_eq(traits_of(NULL).window, 0);
}

static struct pe_attention_traits traits_of_kind(size_t index)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};
    struct pe_config_kinds *kinds;

    ck_assert_msg(!pe_config_kinds_new(&kinds, config, &err), "%s", err.detail);
    read_layer(NULL, false);
    ck_assert(!pe_config_kind_traits(reading, pe_config_kind(kinds, index), &traits, &err));
    pe_config_kinds_free(kinds);
    return traits;
}

TEST(test_llama4)
{
    struct pe_attention_traits traits;

    pairs_add("model_type=llama4 text_config.model_type=llama4_text text_config.floor_scale=4096");
    traits = traits_of_kind(0);
    ck_assert_int_eq(traits.chunk, 8192);
    ck_assert_double_eq(traits.temperature.strength, 0);
    ck_assert(traits.qk_norm.kind == PE_QK_NORM_RMS && traits.qk_norm.after);
    ck_assert_double_eq(traits.qk_norm.eps, 1e-5);
    ck_assert(isnan(traits.scale));
    traits = traits_of_kind(1);
    ck_assert_int_eq(traits.chunk, 0);
    ck_assert_int_eq(traits.qk_norm.kind, PE_QK_NORM_NONE);
    ck_assert_double_eq(traits.temperature.strength, 0.1);
    ck_assert_double_eq(traits.temperature.length, 4096);
    ck_assert_double_eq(traits.temperature.offset, 1);
}

/* "TYPE 0 3, TYPE 1 2 (still)": kinds, and the numbers of their layers. */
static const char *kinds_told(void)
{
    static char out[400];
    struct pe_config_kinds *kinds;
    const struct pe_config_kind *kind;

    *out = '\0';
    ck_assert_msg(!pe_config_kinds_new(&kinds, config, &err), "%s", err.detail);
    for (size_t i = 0; (kind = pe_config_kind(kinds, i)); i++) {
        sprintf(out + strlen(out), "%s%s%s", i > 0 ? ", " : "",
                i == pe_config_kinds_usual(kinds) ? "*" : "",
                kind->layer_type ? kind->layer_type : "-");
        for (size_t at = 0; at < kind->count; at++)
            sprintf(out + strlen(out), " %zu", kind->layers[at]);
        strcat(out, !kind->attends ? " (no attention)" : !kind->turns ? " (still)" : "");
    }
    pe_config_kinds_free(kinds);
    return out;
}

TEST(test_kinds)
{
    static const char *const cases[][2] = {
        {"model_type=llama num_hidden_layers=2", "*- 0 1"},
        {"model_type=somebody rope_theta=5", "*-"},
        {"model_type=llama num_hidden_layers=1.5", "*-"},
        {"model_type=llama num_hidden_layers=0.5", "*-"},
        {"model_type=cohere2 num_hidden_layers=5",
         "*sliding_attention 0 1 2 4, full_attention 3 (still)"},
        {"model_type=beam num_hidden_layers=5",
         "*sliding_attention 0 1 2 3, full_attention 4 (still)"},
        {"model_type=qwen3_next num_hidden_layers=4",
         "linear_attention 0 1 2 (no attention), *full_attention 3"},
        {"model_type=smollm3 num_hidden_layers=3 no_rope_layer_interval=2",
         "*full_attention 0 2, full_attention 1 (still)"},
        {"model_type=gemma3_text num_hidden_layers=3 sliding_window_pattern=2",
         "sliding_attention 0 2, *full_attention 1"},
        {"model_type=gemma3_text num_hidden_layers=3 sliding_window_pattern=1.5",
         "*sliding_attention 0 1 2"},
        {"model_type=smollm3 num_hidden_layers=3 no_rope_layer_interval=2.5",
         "*full_attention 0 1 2"},
        {"model_type=gemma3_text num_hidden_layers=2 sliding_window_pattern=0",
         "*sliding_attention 0 1"},
        {"model_type=gemma3_text num_hidden_layers=2 sliding_window_pattern=1e300",
         "*sliding_attention 0 1"},
        {"model_type=modernbert num_hidden_layers=2 global_attn_every_n_layers=1e300",
         "*full_attention 0, sliding_attention 1"},
        {"model_type=zamba2 num_hidden_layers=3", "*-"},
        {"model_type=somebody rope_parameters.a.rope_theta=5 rope_parameters.b.rope_theta=6",
         "*a, b"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        begin();
        pairs_add(cases[i][0]);
        ck_assert_str_eq(kinds_told(), cases[i][1]);
    }
}

/* Dead keys: the code of Llama reads no window. */
TEST(test_dead_keys)
{
    model("llama");
    pairs_add("sliding_window=128 attn_logit_softcapping=30");
    ck_assert_int_eq(traits_of(NULL).window, 0);
    ck_assert_double_eq(traits_of(NULL).softcap, 0);
}

TEST(test_a_model_that_is_not_known)
{
    model("somebody");
    pairs_add("rope_theta=10000 sliding_window=128 attention_multiplier=0.5");
    ck_assert_int_eq(traits_of(NULL).window, 128);
    ck_assert_double_eq(traits_of(NULL).scale, 0.5);
}

TEST(test_a_value_of_a_wrong_type)
{
    model("mistral");
    object(top, "sliding_window");
    ck_assert_int_eq(traits_of(NULL).window, 0);
    ck_assert_str_eq(pe_config_warning(reading, 0),
                     "sliding_window is neither a number nor a boolean, and is not read");
}

/* A size of a window or chunk that is a fraction is not read. */
TEST(test_a_fraction_of_a_window)
{
    static const char *const rows[][2] = {{"mistral", "sliding_window"},
                                          {"llama4_text", "attention_chunk_size"}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char warning[100];
        size_t at = 0;
        const char *text;
        begin();
        model(rows[i][0]);
        number(top, rows[i][1], 6.5);
        const struct pe_attention_traits traits = traits_of(NULL);
        ck_assert_int_eq(traits.window, 0);
        ck_assert_int_eq(traits.chunk, 0);
        snprintf(warning, sizeof(warning), "%s is not a whole number, and is not read", rows[i][1]);
        while ((text = pe_config_warning(reading, at)) && strcmp(text, warning) != 0)
            at++;
        ck_assert_msg(text != NULL, "%s", warning);
    }
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

#define YARN_WITHIN                                                                                \
    "model_type=gemma3_text head_dim=8 rope_parameters.sliding_attention.rope_type=default "       \
    "rope_parameters.full_attention.rope_type=yarn rope_parameters.full_attention.factor=8"

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

/* What an engine reads of truncate: false in the YaRN of a model; NULL: no difference is listed. */
static const char *truncate_read_by(const char *model_type, const char *engine)
{
    static struct pe_config_reader reader;
    char pairs[200];

    snprintf(pairs, sizeof(pairs),
             "model_type=%s head_dim=8 qk_rope_head_dim=8 rope_parameters.rope_type=yarn "
             "rope_parameters.factor=8 rope_parameters.truncate=false",
             model_type);
    begin();
    pairs_add(pairs);
    reading = read_layer(NULL, false);
    for (size_t i = 0; pe_config_reader(reading, i, &reader); i++)
        if (strcmp(reader.engine, engine) == 0)
            return reader.reads;
    return NULL;
}

TEST(test_readers_of_truncate_by_model)
{
    ck_assert_ptr_nonnull(strstr(truncate_read_by("llama", "vllm"), "neither end"));
    ck_assert_ptr_nonnull(strstr(truncate_read_by("deepseek_v3", "vllm"), "both ends"));
    ck_assert_ptr_nonnull(strstr(truncate_read_by("deepseek_v3", "transformers"), "not rounded"));
    ck_assert_ptr_nonnull(strstr(truncate_read_by("deepseek_v3", "llama.cpp"), "both ends"));
}

/* The rotary of an indexer beside that of attention, as the code of transformers 5.23.0 has it. */
TEST(test_rotary_of_an_indexer)
{
    static const struct {
        const char *pairs, *layer_type, *attention, *indexer;
        int64_t width;
        bool last;
    } rows[] = {
        {"model_type=deepseek_v32", NULL, "interleaved", "half", 128, false},
        {"model_type=axk2 index_head_dim=64", NULL, "interleaved", "half", 64, false},
        {"model_type=glm_moe_dsa", NULL, "interleaved", "interleaved", 128, false},
        {"model_type=hy_v4", NULL, "half", "half", 128, false},
        {"model_type=deepseek_v4 rope_parameters.main.rope_theta=5 "
         "rope_parameters.compress.rope_theta=7",
         "compressed_sparse_attention", "interleaved", "interleaved", 128, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pe_config_rotary rotary;
        begin();
        pairs_add("qk_rope_head_dim=8");
        pairs_add(rows[i].pairs);
        reading = read_layer(rows[i].layer_type, false);
        ck_assert_str_eq(pe_config_layout(reading), rows[i].attention);
        ck_assert(pe_config_rotary(reading, 0, &rotary));
        ck_assert_str_eq(rotary.where, "indexer");
        ck_assert_str_eq(rotary.layout, rows[i].indexer);
        ck_assert_int_eq(rotary.width, rows[i].width);
        ck_assert(rotary.last == rows[i].last && (rotary.note != NULL) == rows[i].last);
        ck_assert(!rotary.layer_type || strcmp(rotary.layer_type, rows[i].layer_type) == 0);
        ck_assert(!pe_config_rotary(reading, 1, &rotary));
    }
    begin();
    pairs_add("model_type=llama head_dim=8");
    reading = read_layer(NULL, false);
    ck_assert(!pe_config_rotary(reading, 0, &(struct pe_config_rotary){0}));
}

CHECK_WAY(.before = begin, .after = end);
