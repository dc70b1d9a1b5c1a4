/* SPDX-License-Identifier: MIT */

/* Keys about positions that have no effect: each is refused with its reason, or warned of by the
 * words of its name; and configs of other formats than config.json. */

#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

/* All warnings of a reading and its scheme. */
static const char *warnings_of(const char *pairs)
{
    static char all[2000];
    const char *text;

    begin();
    pairs_add(pairs);
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    *all = '\0';
    for (size_t i = 0; (text = pe_config_warning(reading, i)); i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s|", text);
    return all;
}

#define LOST(path) path " is not read, and may be about positions|"

static const struct {
    const char *pairs, *warnings;
} unread[] = {
    /* unknown names, in small letters and capitals, anywhere */
    {"use_2d_rope=true", LOST("use_2d_rope")},
    {"ropeTheta=5", LOST("ropeTheta")},
    {"x.y.position_bias=linear", LOST("x.y.position_bias")},
    {"x_rotary.base=5 x_rotary.dim=4", LOST("x_rotary")},
    {"alibi_slopes=false", LOST("alibi_slopes")},
    {"norope_layers=3", LOST("norope_layers")},
    {"beta_fast=32", LOST("beta_fast")}, /* a parameter, beside the rope object */
    {"layers.nope=true", LOST("layers.nope")},
    {"rope_parameters.full_attention.rope_type=default rope_parameters.rope_twist=5",
     LOST("rope_parameters.rope_twist")},
    /* names that only look similar */
    {"properties=1 ropey=null n_positions=3 dropout=4 decomposition=5 thetas_x=null", ""},
    {"relative_x=-1 rope_x=null", ""},
    /* parts of the model that have answers of their own */
    {"vision_config.rope_theta=5 audio.model_type=y audio.rope_theta=5 x.model_type=z x.rope_a=1",
     ""},
    /* a key that is read */
    {"rope_theta=10000", ""},
};

TEST(test_unread)
{
    for (size_t i = 0; i < COUNT_OF(unread); i++) {
        char pairs[400];
        snprintf(pairs, sizeof(pairs), "model_type=llama head_dim=8 %s", unread[i].pairs);
        ck_assert_msg(!strcmp(warnings_of(pairs), unread[i].warnings), "%s: %s", unread[i].pairs,
                      warnings_of(pairs));
    }
}

/* A list has objects too. */
TEST(test_unread_in_lists)
{
    struct pe_config_node *list, *inner;

    model("llama");
    ck_assert(!pe_config_set_list(top, "stages", &list, &err));
    ck_assert(!pe_config_set_object(list, NULL, &inner, &err));
    number(inner, "rope_theta", 5);
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(pe_config_warning(reading, 0),
                     "rope_theta is not read, and may be about positions");
}

static const struct {
    const char *model, *key, *kind;
    const char *right; /* a value of the kind */
    const char *wrong[5];
} kinds[] = {
    {"llama",
     "num_hidden_layers",
     "a whole number of layers from 1 to 65536",
     "4",
     {"1.5", "0", "65537", "true", "four"}},
    {"somebody",
     "n_layer",
     "a whole number of layers from 1 to 65536",
     "65536",
     {"1.5", "-2", "x"}},
    {"somebody", "n_layers", "a whole number of layers from 1 to 65536", "1", {"0.5", "x"}},
    {"smollm3", "no_rope_layer_interval", "a whole number", "4", {"1.5", "-1.5", "x", "true"}},
    {"smollm3", "no_rope_layers", "a list", "null", {"4", "x"}},
    {"newer", "layer_rope_theta", "a list", "null", {"5", "x"}},
    {"newer", "use_mem_rope", "a boolean", "true", {"1", "x"}},
    {"smollm3", "layer_types", "a list of names", "null", {"full_attention", "3", "true"}},
    {"somebody", "layers_block_type", "a list of names", "null", {"attention", "3"}},
    {"cohere2", "sliding_window_pattern", "a period of layers", "2", {"1.5", "six", "true"}},
    {"qwen3_next", "full_attention_interval", "a period of layers", "2", {"2.5", "x"}},
    {"qwen2", "max_window_layers", "a number", "2", {"x", "true"}},
};

static bool has_warning(const char *model, const char *key, const char *value, const char *kind)
{
    char pairs[200], warning[200];

    snprintf(pairs, sizeof(pairs), "model_type=%s head_dim=8 rope_theta=5 %s=%s", model, key,
             value);
    snprintf(warning, sizeof(warning), "%s is not %s, and is not read|", key, kind);
    return strstr(warnings_of(pairs), warning) != NULL;
}

/* Values of keys about layers that are of another kind, each key with its kind. */
TEST(test_values_of_another_kind)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        ck_assert_msg(!has_warning(kinds[i].model, kinds[i].key, kinds[i].right, kinds[i].kind),
                      "%s=%s", kinds[i].key, kinds[i].right);
        ck_assert(!has_warning(kinds[i].model, kinds[i].key, "null", kinds[i].kind));
        for (size_t at = 0; at < COUNT_OF(kinds[i].wrong) && kinds[i].wrong[at]; at++)
            ck_assert_msg(
                has_warning(kinds[i].model, kinds[i].key, kinds[i].wrong[at], kinds[i].kind),
                "%s=%s", kinds[i].key, kinds[i].wrong[at]);
    }
}

/* Lists of a config with as many entries as layers, fewer and more. */
TEST(test_entries_for_each_layer)
{
    static const struct {
        const char *key, *rest;
        bool has_names;
    } lists[] = {
        {"layer_types", "are left out", true},
        {"layers_block_type", "are left out", true},
        {"no_rope_layers", "rotate", false},
        {"layer_rope_theta", "rotate", false},
    };

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (size_t entries = 1; entries <= 4; entries++) {
            char want[200] = "";
            bool found = false;
            struct pe_config_node *list;
            begin();
            model("somebody");
            number(top, "num_hidden_layers", 3);
            number(top, "rope_theta", 5);
            ck_assert(!pe_config_set_list(top, lists[i].key, &list, &err));
            for (size_t at = 0; at < entries; at++)
                if (lists[i].has_names)
                    text(list, NULL, "full_attention");
                else
                    number(list, NULL, 5);
            reading = read_layer(NULL, false);
            pe_scheme_free(scheme_of(reading));
            if (entries < 3)
                snprintf(want, sizeof(want), "%s has entries for %zu of 3 layers: the others %s",
                         lists[i].key, entries, lists[i].rest);
            else if (entries > 3)
                snprintf(want, sizeof(want), "%s has 4 entries for 3 layers: the first 3 are read",
                         lists[i].key);
            const char *warning;
            for (size_t at = 0; (warning = pe_config_warning(reading, at)); at++) {
                found |= strcmp(warning, want) == 0;
                ck_assert_msg(*want || !strstr(warning, "entries"), "%s", warning);
            }
            ck_assert_msg(found == (*want != 0), "%s", want);
        }
}

static const struct {
    const char *pairs, *where, *word;
} denied[] = {
    {"model_type=chatglm position_encoding_2d=true hidden_size=64 num_attention_heads=4",
     "key:position_encoding_2d", "each half of a head"},
    {"model_type=chatglm position_encoding_2d=false hidden_size=64 num_attention_heads=4",
     "key:position_encoding_2d", "layout half"},
    {"model_type=zamba2", "config", "no part"},
    {"model_type=zamba2 use_mem_rope=false", "key:use_mem_rope", "no part"},
    {"model_type=clvp_encoder use_rotary_embedding=false", "key:use_rotary_embedding", "no part"},
    {"model_type=newer use_mem_rope=false rope_theta=5 head_dim=8", "key:use_mem_rope", "no part"},
    {"model_type=newer mla_use_nope=true rope_theta=5 head_dim=8", "key:mla_use_nope", "no part"},
    {"model_type=kimi_linear rope_theta=5 head_dim=8", "config", "no part of this model"},
    {"model_type=nemotron_h rope_theta=5 head_dim=8", "config", "no part of this model"},
    {"model_type=talkie rope_theta=5 head_dim=8", "config", "the other way round"},
    {"model_type=git rope_type=original scaling_factor=16 rope_theta=5 head_dim=8", "key:rope_type",
     "SGLang"},
    {"model_type=jais position_embedding_type=alibi n_head=4 alibi_scaling.factor=4",
     "key:alibi_scaling", "slopes"},
};

TEST(test_denied)
{
    for (size_t i = 0; i < COUNT_OF(denied); i++) {
        begin();
        pairs_add(denied[i].pairs);
        pe_config_reading_free(reading);
        ck_assert_int_eq(pe_config_read(&reading, config, NULL, false, &err), PE_UNSUPPORTED);
        ck_assert_str_eq(err.where, denied[i].where);
        ck_assert_msg(strstr(err.detail, denied[i].word) != NULL, "%s", err.detail);
    }
}

static const struct {
    const char *pairs, *param, *origin;
    double value;
} read_cases[] = {
    /* mlc-chat-config.json */
    {"model_type=llama model_config.head_dim=8 model_config.position_embedding_base=5", "base",
     "key model_config.position_embedding_base", 5},
    {"model_type=llama model_config.hidden_size=64 model_config.num_attention_heads=4", "dim",
     "derived model_config.hidden_size / model_config.num_attention_heads", 16},
    /* params.json of Mistral */
    {"dim=64 n_heads=4 rope_theta=5", "dim", "derived dim / n_heads", 16},
    {"head_dim=8 rope_theta=5 yarn.factor=4 yarn.original_max_position_embeddings=64", "rope_type",
     "key yarn", 0}, /* yarn */
    {"head_dim=8 rope_theta=5 yarn.factor=4 yarn.original_max_position_embeddings=64", "factor",
     "key yarn.factor", 4},
    {"head_dim=8 rope_theta=5 yarn.factor=4 yarn.original_max_position_embeddings=64 yarn.beta=7",
     "beta_fast", "key yarn.beta", 7},
    {"head_dim=8 rope_theta=5 yarn.factor=4 yarn.original_max_position_embeddings=64 yarn.alpha=3",
     "beta_slow", "key yarn.alpha", 3},
    {"head_dim=8 rope_theta=5 yarn.factor=4 yarn.original_max_position_embeddings=64 "
     "yarn.apply_scale=false",
     "attention_factor", "key yarn.apply_scale", 1},
    {"head_dim=8 rope_theta=5 yarn.factor=4 yarn.original_max_position_embeddings=64 "
     "yarn.apply_scale=true",
     "attention_factor", "nowhere", 0},
    /* config.json of OLMo */
    {"model_type=hf_olmo alibi=true rope=false n_heads=4 alibi_bias_max=4", "alibi_bias_max",
     "key alibi_bias_max", 4},
    {"model_type=hf_olmo alibi=false rope=true n_heads=4 d_model=64", "dim",
     "derived d_model / n_heads", 16},
};

TEST(test_keys_of_other_formats)
{
    for (size_t i = 0; i < COUNT_OF(read_cases); i++) {
        struct pe_params params = {0};
        begin();
        pairs_add(read_cases[i].pairs);
        reading = read_layer(NULL, false);
        ck_assert_msg(!pe_config_fill(reading, &params, &err), "%s", err.detail);
        ck_assert_str_eq(origin(reading, read_cases[i].param), read_cases[i].origin);
        const int at = pe_params_find(&params, read_cases[i].param);
        if (params.list[at].type == PE_CHOICE) {
            char name[40];
            pe_choice_name(&params.list[at], (size_t)params.values[at].number, name, sizeof(name));
            ck_assert_str_eq(name, "yarn");
        } else {
            ck_assert_double_eq(params.values[at].number, read_cases[i].value);
        }
        pe_params_free(&params);
    }
}

static const struct {
    const char *pairs, *warning;
} by_class[] = {
    {"model_type=llama", "the config has no key of a width: dim is the default of the class of "
                         "llama"},
    {"model_type=llama hidden_size=64", "dim is hidden_size / the num_attention_heads of the "
                                        "class: the config has one of the two sizes alone"},
};

TEST(test_defaults_of_the_class)
{
    for (size_t i = 0; i < COUNT_OF(by_class); i++)
        ck_assert_ptr_nonnull(strstr(warnings_of(by_class[i].pairs), by_class[i].warning));
    ck_assert_str_eq(warnings_of("model_type=llama hidden_size=64 num_attention_heads=4"), "");
}

CHECK_WAY(.before = begin, .after = end);
