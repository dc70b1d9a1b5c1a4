/* SPDX-License-Identifier: MIT */

/* What configs tell of layers: their attention. */

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
    traits = traits_of(NULL);
    ck_assert_double_eq(traits.scale, 1.0 / 12);
    ck_assert_double_eq(traits.softcap, 50);
    ck_assert_int_eq(traits.window, 4096);
    ck_assert(traits.causal && !traits.sinks && !traits.qk_norm.kind);
    ck_assert_str_eq(trait_origin("scale"), "query_pre_attn_scalar");
    ck_assert_str_eq(trait_origin("softcap"), "class");
    ck_assert_str_eq(trait_origin("sinks"), "usual");
}

TEST(test_null_is_none)
{
    model("gemma2");
    pairs_add("attn_logit_softcapping=null sliding_window=null");
    ck_assert_double_eq(traits_of(NULL).softcap, 0);
    ck_assert_int_eq(traits_of(NULL).window, 0);
}

TEST(test_llama4)
{
    struct pe_attention_traits traits;

    pairs_add("model_type=llama4 text_config.model_type=llama4_text text_config.floor_scale=4096");
    traits = traits_of(NULL);
    ck_assert_int_eq(traits.chunk, 8192);
    ck_assert_double_eq(traits.temperature.strength, 0.1);
    ck_assert_double_eq(traits.temperature.length, 4096);
    ck_assert_double_eq(traits.temperature.offset, 1);
    ck_assert(traits.qk_norm.kind == PE_QK_NORM_RMS && traits.qk_norm.after);
    ck_assert_double_eq(traits.qk_norm.eps, 1e-5);
    ck_assert(isnan(traits.scale));
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
    struct pe_attention_traits traits = {.size = sizeof(traits)};

    model("mistral");
    text(top, "sliding_window", "wide");
    read_layer(NULL, false);
    ck_assert_int_eq(pe_config_traits(reading, &traits, &err), PE_INVALID);
    ck_assert_str_eq(err.where, "key:sliding_window");
}

CHECK_WAY(.before = begin, .after = end);
