/* SPDX-License-Identifier: MIT */

/* The tables of the rules about configs, row by row: each name in them must exist, since a row with
 * another name would never apply. Then the rules at work. */

#include <stdlib.h>

#include "core/config/reading.h"
#include "core/scheme/bias.h"
#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

/* Is a name one of the sizes of quotients? */
static bool is_size(const char *name)
{
    const struct {
        const char *const *over, *const *under;
        const char *factor;
    } ratios[] = {
#define CONFIG_RATIO(encoding, param, over, under, factor) {over, under, factor},
#include "core/config/keys.def"
    };
    bool found = false;

    for (size_t i = 0; i < COUNT_OF(ratios); i++)
        found |= pe_config_lists(ratios[i].over, name) || pe_config_lists(ratios[i].under, name) ||
                 (ratios[i].factor && !strcmp(ratios[i].factor, name));
    return found;
}

/* A default is a parameter of the encoding and a value that it takes, or a size. */
static void default_check(const struct pe_encoding *encoding, const struct pe_class_default *row)
{
    struct pe_params params;
    struct pe_error failure = {0};
    int index;

    if (strncmp(row->name, "mrope", 5) == 0) /* makes mrope of rope */
        encoding = pe_encoding_find("mrope");
    pe_params_init(&params, encoding->info.params, encoding->info.params_count);
    if (is_size(row->name)) {
        ck_assert_msg(atoi(row->value) > 0, "%s", row->value);
        return;
    }
    index = pe_params_find(&params, row->name);
    ck_assert_msg(index >= 0, "%s", row->name);
    ck_assert_msg(!pe_params_set_text(&params, (size_t)index, row->value, &failure), "%s",
                  failure.detail);
    pe_params_free(&params);
}

TEST(test_model_types)
{
    size_t rows = 0;

    for (const struct pe_config_model *at = pe_config_models; at->model_type; at++, rows++) {
        const struct pe_encoding *encoding;
        if (!at->encoding) {
            ck_assert_msg(at->note, "%s is refused without a reason", at->model_type);
            continue;
        }
        encoding = pe_encoding_find(at->encoding);
        ck_assert_msg(encoding, "%s: %s", at->model_type, at->encoding);
        ck_assert_msg(!at[1].model_type || strcmp(at->model_type, at[1].model_type) < 0,
                      "%s is out of order", at->model_type);
        ck_assert(!at->layout || !strcmp(at->layout, "half") || !strcmp(at->layout, "interleaved"));
        ck_assert_msg((encoding->rotary != NULL) == (at->layout != NULL), "%s", at->model_type);
        ck_assert((at->sliding_base > 1) == (at->sliding == PE_SLIDING_BASE));
        ck_assert_ptr_eq(pe_config_model_find(at->model_type), at);
        for (const struct pe_class_default *row = at->defaults; row && row->name; row++)
            default_check(encoding, row);
    }
    printf("%zu model types\n", rows);
}

/* heads of a bias by buckets is a parameter of its view: the weights have as many as they have. */
TEST(test_parameters)
{
    static const struct {
        const char *encoding, *param;
    } keys[] = {
#define CONFIG_KEY(encoding, param, places, keys)          {encoding, param},
#define CONFIG_RATIO(encoding, param, over, under, factor) {encoding, param},
#define CONFIG_MULTIPLIER(encoding, param, key)            {encoding, param},
#include "core/config/keys.def"
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct pe_encoding *encoding = pe_encoding_find(keys[i].encoding);
        struct pe_params params;
        ck_assert_msg(encoding, "%s", keys[i].encoding);
        if (encoding->learned ||
            (encoding->bias && encoding->bias->buckets_count && !strcmp(keys[i].param, "heads")))
            continue; /* a learned table has the size that it has */
        pe_params_init(&params, encoding->info.params, encoding->info.params_count);
        ck_assert_msg(pe_params_find(&params, keys[i].param) >= 0, "%s %s", keys[i].encoding,
                      keys[i].param);
    }
}

TEST(test_encodings)
{
    static const char *const names[] = {
#define CONFIG_RULE(key, value, encoding, models)         encoding,
#define CONFIG_RULE_ONLY_OF(key, value, encoding, models) encoding,
#define CONFIG_INDICATOR(key, encoding)                   encoding,
#define CONFIG_VARIANT_KEY(key, encoding)                 encoding,
#define CONFIG_WEIGHTS(encoding)                          encoding,
#include "core/config/keys.def"
    };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        ck_assert_msg(pe_encoding_find(names[i]), "%s", names[i]);
}

/* A name that is no model's would never be met. */
TEST(test_models_of_rules)
{
    const char *const *const lists[] = {
#define CONFIG_CLASS_VALUE(models, key, value)                            models,
#define CONFIG_QUOTIENT_HEADS(models)                                     models,
#define CONFIG_FREQUENCY_WIDTH(models, reads_head, beside)                models,
#define CONFIG_UNMEASURED_NORMS(models)                                   models,
#define CONFIG_DEAD(models, key)                                          models,
#define CONFIG_ONLY_OF(key, models)                                       models,
#define CONFIG_IN_ROPE(key, models)                                       models,
#define CONFIG_NO_ROPE(models)                                            models,
#define CONFIG_BASE_SWITCHES(models)                                      models,
#define CONFIG_SCALED_PART(models)                                        models,
#define CONFIG_PART_ROPE(model_type, base, own_rope)                      NAMES(model_type),
#define CONFIG_TYPE_DEFAULT(model_type, layer_type, scales, param, value) NAMES(model_type),
#include "core/config/keys.def"
    };

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const char *const *name = lists[i]; *name; name++)
            ck_assert_msg(pe_config_model_find(*name), "%s", *name);
}

/* ---- the rules at work ----------------------------------------------------------------------- */

/* "layer types|encoding|layout|origin of param|warnings|unused", each list joined by commas. */
static void joined(const char *param, char *out, size_t size)
{
    const char *layers[] = {pe_config_layer_type(config, 0), pe_config_layer_type(config, 1)};
    reading = read_layer(layers[0], false);
    const char *layout = pe_config_layout(reading);
    char unused[200] = "";
    size_t used;

    pe_scheme_free(scheme_of(reading));
    used = (size_t)snprintf(out, size, "%s,%s|%s|%s|%s|", layers[0] ? layers[0] : "",
                            layers[1] ? layers[1] : "", pe_config_encoding(reading),
                            layout ? layout : "", origin(reading, param));
    for (size_t i = 0; pe_config_warning(reading, i); i++)
        used += (size_t)snprintf(out + used, size - used, "%s,", pe_config_warning(reading, i));
    pe_config_unused(reading, path_join, unused);
    snprintf(out + used, size - used, "|%s", unused);
}

static const struct {
    const char *pairs, *param, *told;
} ruled[] = {
    /* the part about text is read even where nothing in it is */
    {"model_type=llama head_dim=8 text_config.depth=1", "dim",
     ",|rope|half|key head_dim||text_config.depth "},
    /* -1 says that it is not given */
    {"model_type=deberta-v2 position_buckets=8 max_relative_positions=-1 "
     "max_position_embeddings=16",
     "max_relative_positions",
     ",|deberta-log||key max_position_embeddings||max_relative_positions "},
    {"model_type=deberta-v2 position_buckets=8 max_relative_positions=16 "
     "max_position_embeddings=32",
     "max_relative_positions",
     ",|deberta-log||key max_relative_positions||max_position_embeddings "},
    /* layers without scaling do not differ where there is none */
    {"model_type=olmo3 head_dim=8", "base", ",|rope|half|model -||"},
    {"model_type=olmo3 head_dim=8 rope_scaling.rope_type=linear rope_scaling.factor=2", "factor",
     "full_attention,sliding_attention|rope|half|key rope_scaling.factor||"},
    /* a key of the rope object that is the parameter's by another name is no unknown one */
    {"model_type=nomic_bert head_dim=8 rope_scaling.rotary_emb_fraction=0.5",
     "partial_rotary_factor", ",|rope|half|key rope_scaling.rotary_emb_fraction||"},
    {"model_type=llama head_dim=8 partial_rotary_factor=0.5", "partial_rotary_factor",
     ",|rope|half|nowhere|partial_rotary_factor is not read: the code of llama turns whole heads "
     "where nothing scales,|"},
    {"model_type=llama head_dim=8 partial_rotary_factor=0.5 rope_scaling.type=linear "
     "rope_scaling.factor=2",
     "partial_rotary_factor", ",|rope|half|key partial_rotary_factor||"},
    /* the scaling of the class counts, where the config has no rope object */
    {"model_type=gpt_oss head_dim=8 partial_rotary_factor=0.5", "partial_rotary_factor",
     ",|rope|half|key partial_rotary_factor||"},
    {"model_type=apertus head_dim=8 partial_rotary_factor=0.5", "partial_rotary_factor",
     ",|rope|half|key partial_rotary_factor||"},
    {"model_type=gpt_oss head_dim=8 partial_rotary_factor=0.5 rope_scaling.rope_type=default",
     "partial_rotary_factor",
     ",|rope|half|nowhere|partial_rotary_factor is not read: the code of gpt_oss turns whole heads "
     "where nothing scales,|"},
    {"model_type=mistral head_dim=8 kv_channels=4", "dim",
     ",|rope|half|key head_dim||kv_channels "},
    /* with alpha, dynamic is ntk, and the factor has no part in it */
    {"model_type=llama head_dim=8 rope_scaling.type=dynamic rope_scaling.alpha=1000 "
     "rope_scaling.factor=2",
     "alpha",
     ",|rope|half|key rope_scaling.alpha|"
     "rope_scaling.factor has no part in this rope_type and is not read,|"},
    /* a model_type that is no text hides the one further out */
    {"model_type=llama text_config.model_type=null text_config.head_dim=8 "
     "text_config.rope_theta=5",
     "base",
     ",|rope||key text_config.rope_theta|"
     "there is no model_type: read by its keys, the layout is unknown,|"},
    /* a switch of layouts means nothing where the model turns nothing */
    {"model_type=bloom n_head=2 rope_interleave=true", "heads",
     ",|alibi||key n_head|rope_interleave is not read, and may be about positions,|"
     "rope_interleave "},
    {"model_type=falcon alibi=true num_attention_heads=2", "heads",
     ",|alibi||key num_attention_heads|the code of Falcon divides scores and alibi together by "
     "the square root of head_dim: its bias is this one divided so, "
     "bias_before_scale of attention,|"},
    {"model_type=chatglm kv_channels=8 rope_ratio=50", "base",
     ",|rope|interleaved|derived 10000 * rope_ratio||"},
    {"model_type=mpt d_model=16 n_heads=2 attn_config.rope=true attn_config.rope_theta=50", "base",
     ",|rope||key attn_config.rope_theta||"},
    {"model_type=mpt d_model=16 n_heads=2 attn_config.rope=true "
     "attn_config.rope_hf_config.type=linear attn_config.rope_hf_config.factor=2",
     "factor", ",|rope||key attn_config.rope_hf_config.factor||"},
    /* transformers v5.23.0, modeling_modernbert.py reads no position_embedding_type */
    {"model_type=modernbert head_dim=64 position_embedding_type=absolute", "base",
     "full_attention,sliding_attention|rope|half|model -||position_embedding_type "},
    /* Llama 4 Scout: no ramp between the two lengths, transformers v5.23.0,
     * modeling_rope_utils.py, _compute_llama3_parameters */
    {"model_type=llama4_text head_dim=8 rope_scaling.rope_type=llama3 "
     "rope_scaling.factor=16 rope_scaling.low_freq_factor=1 rope_scaling.high_freq_factor=1 "
     "rope_scaling.original_max_position_embeddings=8192",
     "factor",
     ",|rope|interleaved|key rope_scaling.factor|some layers of this model have no positions: "
     "no_rope_layers lists them,|"},
    {"model_type=zamba2 use_mem_rope=true attention_head_dim=8 kv_channels=4", "dim",
     ",|rope|half|key attention_head_dim||kv_channels "},
    /* the code of a known model decides, and reads its own keys alone */
    {"model_type=llama head_dim=8 position_embedding_type=absolute rotary=false", "dim",
     ",|rope|half|key head_dim|rotary is not read, and may be about positions,|"
     "position_embedding_type rotary "},
    {"model_type=esm position_embedding_type=rotary hidden_size=8 num_attention_heads=2", "dim",
     ",|rope|half|derived hidden_size / num_attention_heads||"},
    {"model_type=minimax_m3_vl_text rotary_dim=4 head_dim=8", "rotary_dim",
     ",|rope|half|nowhere||rotary_dim "},
    {"model_type=zaya head_dim=8 partial_rotary_factor=0.5 rope_parameters.hybrid.rope_theta=5 "
     "rope_parameters.hybrid.rope_type=default",
     "partial_rotary_factor",
     "hybrid,|rope|half|nowhere|partial_rotary_factor is not read: where nothing scales, the code "
     "of zaya reads that of the rope object alone,|"},
    /* two keys of a parameter: the class of a known model reads one of them */
    {"model_type=bailing_hybrid max_position_embeddings=7 model_max_length=9 head_dim=8 "
     "qk_rope_head_dim=8",
     "max_position_embeddings",
     ",|rope|interleaved|key model_max_length||"
     "max_position_embeddings head_dim "},
    {"head_dim=8 rope_theta=5 rotary_emb_base=6 max_position_embeddings=7 model_max_length=9",
     "max_position_embeddings",
     ",|rope||key model_max_length|there is no model_type: read by its keys, the layout is "
     "unknown,rope_theta and rotary_emb_base differ; the first is read,model_max_length and "
     "max_position_embeddings differ; the first is read,|"},
    /* what tells layers and attention is read, whoever looks: nothing is unused or warned of */
    {"model_type=mistral_large4_text qk_rope_head_dim=4 no_rope_layer_interval=4", "dim",
     ",|rope|interleaved|key qk_rope_head_dim|some layers of this model have no positions: "
     "no_rope_layers lists them,|"},
    {"model_type=clvp_encoder hidden_size=128 projection_dim=128 num_attention_heads=2 "
     "use_rotary_embedding=true",
     "dim",
     ",|rope|half|derived hidden_size / num_attention_heads|this model turns values as it does "
     "queries and keys,|"},
    {"model_type=clvp_encoder num_attention_heads=6 hidden_size=768 head_dim=48", "rotary_dim",
     ",|rope|half|derived projection_dim / (2 num_attention_heads)|this model turns values as it "
     "does queries and keys,|head_dim "},
    {"model_type=clvp_encoder num_attention_heads=6 hidden_size=768 projection_dim=384",
     "rotary_dim", ",|rope|half|model -|this model turns values as it does queries and keys,|"},
    /* widths of heads and rope objects that these classes do not read */
    {"model_type=wav2vec2-bert position_embeddings_type=rotary hidden_size=64 "
     "num_attention_heads=2 head_dim=48",
     "dim", ",|rope|half|derived hidden_size / num_attention_heads||head_dim "},
    {"model_type=seamless_m4t position_embeddings_type=rotary hidden_size=64 "
     "speech_encoder_attention_heads=2 head_dim=48",
     "dim", ",|rope|half|derived hidden_size / speech_encoder_attention_heads||head_dim "},
    {"model_type=sapiens2 hidden_size=64 num_attention_heads=2 head_dim=48 rope_theta=5 "
     "rope_parameters.rope_theta=7",
     "base",
     ",|rope-2d|half|key rope_theta|its coordinates are centres of patches: 2 pi ((2 i + 1) / n - "
     "1) is that of the i-th of n; rope-nd with unit=turn, axes_coordinates=centres and axes_size "
     "takes i itself,rope_parameters is not read: the code of sapiens2 has no rope "
     "object,|head_dim "},
    /* rope objects that the class makes anew, unless each type of layer has one */
    {"model_type=step3p5 head_dim=8 rope_theta=5 partial_rotary_factor=0.5 "
     "rope_parameters.rope_type=linear rope_parameters.rope_theta=7 rope_parameters.factor=2",
     "base",
     ",|rope|half|key rope_theta|rope_parameters has no object for each type of layer, and the "
     "code of step3p5 reads nothing else there: it uses its default RoPE parameters,"
     "partial_rotary_factor is not read: transformers 5.23 looks for it in rope_parameters alone,"
     "|partial_rotary_factor "},
    {"model_type=step3p7 text_config.head_dim=8 text_config.rope_theta=5 "
     "text_config.partial_rotary_factor=0.5 "
     "text_config.rope_parameters.full_attention.rope_theta=7",
     "base",
     "full_attention,|rope|half|key text_config.rope_parameters.full_attention.rope_theta|"
     "text_config.rope_theta is not read: transformers 5.23 looks for it in rope_parameters alone,"
     "|text_config.rope_theta "},
    {"model_type=step3p5 head_dim=8 rope_parameters.truncate=false "
     "rope_parameters.full_attention.rope_type=yarn rope_parameters.full_attention.factor=2 "
     "rope_parameters.full_attention.original_max_position_embeddings=64 "
     "rope_parameters.full_attention.truncate=false",
     "truncate",
     "full_attention,|rope|half|default -|rope_parameters.truncate is not read: the class of "
     "step3p5 keeps only the objects of the types of layers,"
     "rope_parameters.full_attention.truncate is not read: no code of step3p5 looks for it there,"
     "|"},
    {"model_type=roformer hidden_size=16 num_attention_heads=2 rotary_value=true", "dim",
     ",|rope|interleaved|derived hidden_size / num_attention_heads|rotary_value is true: this "
     "model turns values as it does queries and keys,|"},
    {"model_type=molmo2_text head_dim=8 num_hidden_layers=2 rope_scaling.rope_type=linear "
     "rope_scaling.factor=2",
     "factor", ",|rope|half|key rope_scaling.factor||"},
    /* transformers v5.23.0, modeling_minimax_m3_vl.py: 2 * ((dim // 3) // 2) of each coordinate */
    {"model_type=minimax_m3_vl_vision hidden_size=64 num_attention_heads=2 "
     "rope_parameters.rope_type=axial rope_parameters.rope_theta=50",
     "rotary_dim", ",|mrope|half|derived dim / 6||"},
    /* the top of a config whose part about text is a model of its own is about all of it */
    {"model_type=llava head_dim=6 text_config.model_type=llama text_config.hidden_size=16 "
     "text_config.num_attention_heads=2",
     "dim",
     ",|rope|half|derived text_config.hidden_size / text_config.num_attention_heads||"
     "head_dim "},
    /* sizes that only the class tells, of the part about text or of the whole */
    {"model_type=llava text_config.model_type=llama text_config.depth=2", "dim",
     ",|rope|half|model -|the config has no key of a width: dim is the default of the class of "
     "llama,|text_config.depth "},
    {"model_type=llava text_config.hidden_size=64", "dim",
     ",|rope|half|derived text_config.hidden_size / the num_attention_heads of the class|dim is "
     "text_config.hidden_size / the num_attention_heads of the class: the config has one of the "
     "two sizes alone,|"},
    {"model_type=qwen2_5_omni thinker_config.text_config.rope_theta=5", "base",
     ",|mrope|half|key thinker_config.text_config.rope_theta|the config has no key of a width: dim "
     "is "
     "the default of the class of qwen2_5_omni,|"},
    /* scaling of the class, unless the config has its own */
    {"model_type=gpt_oss", "factor",
     ",|rope|half|model -|the config has no key of a width: dim is "
     "the default of the class of gpt_oss,|"},
    {"model_type=gpt_oss rope_parameters.rope_type=default", "factor",
     ",|rope|half|nowhere|the config has no key of a width: dim is "
     "the default of the class of gpt_oss,|"},
    /* towers of pictures, as their files have them and as transformers 5 writes them */
    {"model_type=pixtral head_dim=64 rope_parameters.rope_type=axial "
     "rope_parameters.rope_theta=10000",
     "variant", ",|rope-2d|half|model -||"},
    {"model_type=sam2_video memory_attention_hidden_size=64 memory_attention_downsample_rate=2 "
     "memory_attention_num_attention_heads=4",
     "dim",
     ",|rope-2d|interleaved|derived memory_attention_hidden_size / "
     "memory_attention_downsample_rate / memory_attention_num_attention_heads||"},
    /* a tower whose model_type is that of the whole */
    {"model_type=qwen2_vl embed_dim=64 hidden_size=96 num_heads=4 patch_size=14", "dim",
     ",|rope-2d|half|derived embed_dim / num_heads||hidden_size patch_size "},
    /* coordinates of the class, in the order of its own */
    {"model_type=ernie4_5_vl_moe_text rope_theta=5 hidden_size=256 num_attention_heads=2",
     "mrope_section", ",|mrope|interleaved|model -||"},
    /* of an encoder and a decoder */
    {"model_type=t5gemma encoder.head_dim=8 decoder.model_type=t5_gemma_module decoder.head_dim=16",
     "dim",
     ",|rope|half|key decoder.head_dim|decoder is read; other parts of this config may have "
     "positions of their own,|encoder "},
    {"model_type=wav2vec2-conformer position_embeddings_type=rotary rotary_embedding_base=5", "dim",
     ",|rope|half|model -|the config has no key of a width: dim is the default "
     "of the class of wav2vec2-conformer,|"},
    /* what engines call ntk */
    {"model_type=llama head_dim=8 rope_scaling.type=ntk rope_scaling.factor=2 "
     "rope_scaling.mixed_b=0.5",
     "mixed_b", ",|rope|half|key rope_scaling.mixed_b||"},
    {"model_type=llama head_dim=8 rope_scaling.type=ntk rope_scaling.alpha=2", "alpha",
     ",|rope|half|key rope_scaling.alpha||"},
    {"model_type=llama4_vision_model hidden_size=64 num_attention_heads=4 rope_theta=50", "dim",
     ",|rope-2d|interleaved|derived hidden_size / num_attention_heads||"},
    /* two names of one type; the second one means what it says only alone */
    {"model_type=llama head_dim=8 rope_scaling.rope_type=linear rope_scaling.type=yarn "
     "rope_scaling.factor=2",
     "rope_type",
     ",|rope|half|key rope_scaling.rope_type|rope_scaling.rope_type and rope_scaling.type "
     "differ; the first is read,|"},
    {"model_type=phimoe head_dim=4 rope_scaling.type=linear rope_scaling.factor=2 "
     "rope_scaling.short_mscale=1.2 rope_scaling.long_mscale=1.4",
     "attention_factor",
     ",|rope|half|nowhere|rope_scaling.short_mscale is left out: attention_factor has no "
     "meaning for rope_type linear,|"},
    {"model_type=qwen kv_channels=8 rotary_emb_base=50 use_dynamic_ntk=true", "base",
     ",|rope|half|key rotary_emb_base|use_dynamic_ntk: beyond seq_length the model's code "
     "stretches the base by the length of the sequence, which is not read here,|"},
    /* what the class reads in the rope object alone, and what beside it alone */
    {"model_type=gpt_neox hidden_size=64 num_attention_heads=4 rope_theta=5", "base",
     ",|rope|half|default -|rope_theta is not read: transformers 5.23 looks for it in "
     "rope_parameters alone,|rope_theta "},
    {"model_type=gpt_neox hidden_size=64 num_attention_heads=4 partial_rotary_factor=0.5",
     "partial_rotary_factor",
     ",|rope|half|model -|partial_rotary_factor is not read: transformers 5.23 looks for it in "
     "rope_parameters alone,|partial_rotary_factor "},
    {"model_type=gpt_neox hidden_size=64 num_attention_heads=4 rope_parameters.rotary_pct=0.5",
     "partial_rotary_factor",
     ",|rope|half|model -|rope_parameters.rotary_pct is not read: it is one of those beside the "
     "rope object,|"},
    {"model_type=minimax_m2 head_dim=8 rope_parameters.rotary_dim=4", "rotary_dim",
     ",|rope|half|nowhere|rope_parameters.rotary_dim is not read: it is one of those beside the "
     "rope object,|"},
    /* classes with a rope object of their own where a config has none */
    {"model_type=cwm head_dim=8 rope_theta=5", "base",
     ",|rope|half|model -|rope_theta is not read: transformers 5.23 looks for it in "
     "rope_parameters alone,|rope_theta "},
    {"model_type=cwm head_dim=8 rope_theta=5 rope_parameters.rope_type=default", "base",
     ",|rope|half|key rope_theta||"},
    {"model_type=moonshine_streaming hidden_size=64 num_attention_heads=4 "
     "rope_parameters.rope_type=default",
     "partial_rotary_factor", ",|rope|interleaved|nowhere||"},
    {"model_type=glmasr text_config.model_type=llama text_config.head_dim=8 "
     "text_config.rope_theta=5",
     "base",
     ",|rope|half|model -|text_config.rope_theta is not read: transformers 5.23 looks for it in "
     "rope_parameters alone,|text_config.rope_theta "},
    /* the top beside a part about text that is a model of its own */
    {"model_type=llava text_config.model_type=llama text_config.head_dim=8 rope_theta=5", "base",
     ",|rope|half|default -|rope_theta is not read, and may be about positions,|rope_theta "},
    {"model_type=llava text_config.model_type=llama text_config.head_dim=8 "
     "text_config.rope_theta=5 rope_theta=5",
     "base", ",|rope|half|key text_config.rope_theta||"},
    /* which of two rope objects, and which none */
    {"model_type=llama head_dim=8 rope_parameters.rope_theta=5 rope_scaling.rope_type=linear "
     "rope_scaling.factor=2",
     "factor",
     ",|rope|half|key rope_scaling.factor|rope_scaling and rope_parameters are both there; the "
     "first is read,|"},
    {"model_type=esm position_embedding_type=rotary hidden_size=8 num_attention_heads=2 "
     "rope_scaling.rope_type=linear rope_scaling.factor=2",
     "factor",
     ",|rope|half|nowhere|rope_scaling is not read: the code of esm has no rope object,|"},
    {"model_type=cohere2_moe head_dim=8 rope_scaling.rope_type=linear rope_scaling.factor=2",
     "factor",
     ",|rope|interleaved|nowhere|only layers of sliding attention rotate in this "
     "model,rope_scaling is not read: transformers 5.23 looks for it in rope_parameters "
     "alone,|rope_scaling "},
    /* an original length that no key has */
    {"model_type=llama head_dim=8 max_position_embeddings=64 rope_scaling.rope_type=llama3 "
     "rope_scaling.factor=2 rope_scaling.low_freq_factor=1 rope_scaling.high_freq_factor=4",
     "original_max_position_embeddings", ",|rope|half|key max_position_embeddings||"},
    /* rope_scaling of a class that has a rope object for each type of layer */
    {"model_type=gemma3_text head_dim=8 rope_scaling.rope_type=yarn rope_scaling.factor=2 "
     "rope_scaling.truncate=false max_position_embeddings=128",
     "truncate",
     "full_attention,sliding_attention|rope|half|default -|rope_scaling.truncate is not read: "
     "transformers 5.23 looks for it beside the objects of the types of layers,|"},
    {"model_type=gemma3_text head_dim=8 rope_scaling.type=linear rope_scaling.factor=2", "factor",
     "full_attention,sliding_attention|rope|half|nowhere|rope_scaling.type is not read: the code "
     "of gemma3_text reads rope_type, and nothing scales without it,|"},
    {"model_type=muse_glimmer_text head_dim=8 rope_parameters.rope_theta=5", "base",
     ",|rope|half|key rope_parameters.rope_theta||"},
};

TEST(test_rules)
{
    for (size_t i = 0; i < COUNT_OF(ruled); i++) {
        char told[600];
        begin();
        pairs_add(ruled[i].pairs);
        joined(ruled[i].param, told, sizeof(told));
        ck_assert_str_eq(told, ruled[i].told);
    }
}

/* A value that the caller gave is not left out when the type of scaling has no use for it. */
TEST(test_given_in_vain)
{
    struct pe_params params = {0};
    struct pe_scheme *scheme;
    int index;

    pairs_add("model_type=llama head_dim=8 rope_scaling.type=linear rope_scaling.factor=2");
    reading = read_layer(NULL, false);
    pe_params_init(&params, pe_encoding_find("rope")->info.params,
                   pe_encoding_find("rope")->info.params_count);
    index = pe_params_find(&params, "low_freq_factor");
    ck_assert(!pe_params_set_number(&params, (size_t)index, 2, &err));
    ck_assert(pe_config_scheme(&scheme, reading, &params, &err) == PE_CONFLICT);
    ck_assert_str_eq(err.where, "parameter:low_freq_factor");
    ck_assert_ptr_null(pe_config_warning(reading, 0));
    pe_params_free(&params);
}

/* Asked for twice, a size is told once. */
TEST(test_origins)
{
    int64_t size;

    pairs_add("model_type=bert max_position_embeddings=512");
    reading = read_layer(NULL, false);
    for (int i = 0; i < 40; i++)
        ck_assert(!pe_config_size(reading, "length", &size, &err));
    ck_assert_ptr_nonnull(pe_config_source(reading, 0));
    ck_assert_ptr_null(pe_config_source(reading, 1));
}

TEST(test_sizes_of_nothing)
{
    int64_t size;

    pairs_add("model_type=bert max_position_embeddings=0");
    reading = read_layer(NULL, false);
    ck_assert_int_eq(pe_config_size(reading, "length", &size, &err), PE_INVALID);
    ck_assert_str_eq(err.where, "key:max_position_embeddings");
    ck_assert_str_eq(origin(reading, "length"), "nowhere");
}

/* Parameters that a config has filled are no caller's where they come back for the scheme, and what
 * stands at the top alone is told once. */
TEST(test_filled_once)
{
    struct pe_params params = {0};
    struct pe_scheme *scheme;
    char unused[100] = "";

    pairs_add("model_type=llama head_dim=8 rope_theta=500 odd=1");
    reading = read_layer(NULL, false);
    ck_assert(!pe_config_fill(reading, &params, &err));
    ck_assert(!pe_config_fill(reading, &params, &err));
    ck_assert(!pe_config_scheme(&scheme, reading, &params, &err));
    ck_assert_str_eq(origin(reading, "base"), "key rope_theta");
    ck_assert_str_eq(origin(reading, "rope_type"), "default -");
    pe_config_unused(reading, path_join, unused);
    ck_assert_str_eq(unused, "odd ");
    ck_assert_ptr_null(pe_config_warning(reading, 0));
    pe_scheme_free(scheme);
    pe_params_free(&params);
}

TEST(test_many_warnings)
{
    char name[16];

    model("llama");
    struct pe_config_node *rope = object(top, "rope_scaling");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "x%02d", i);
        whole(rope, name, i);
    }
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(pe_config_warning(reading, 0),
                     "rope_scaling.x00 is no parameter of rope and is not read");
    ck_assert_str_eq(pe_config_warning(reading, 19),
                     "rope_scaling.x19 is no parameter of rope and is not read");
    ck_assert_ptr_null(pe_config_warning(reading, 20));
}

/* ---- readings that differ from what keys look like ------------------------------------------- */

/* Each row is what the classes of transformers 5.23.0 do; tests/parity/test_stirred.py runs them.
 */

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

/* Layers whose base differs by their type, where the class puts rope_scaling into objects of types.
 */
TEST(test_bases_by_type)
{
    static const struct {
        const char *pairs, *layer_type;
        double base, rope_type;
    } rows[] = {
        {"model_type=olmo3 rope_theta=5", "sliding_attention", 500000, 0},
        {"model_type=olmo3 rope_theta=5", "full_attention", 5, 0},
        {"model_type=gemma3_text rope_theta=5", "sliding_attention", 10000, 0},
        {"model_type=gemma3n_text rope_theta=5 rope_local_base_freq=7", "sliding_attention", 7, 0},
        {"model_type=modernbert global_rope_theta=5 rope_scaling.rope_type=linear "
         "rope_scaling.factor=2",
         "full_attention", 5, 1},
        {"model_type=modernbert local_rope_theta=5 rope_scaling.rope_type=linear "
         "rope_scaling.factor=2",
         "sliding_attention", 5, 1},
        {"model_type=gemma3_text rope_parameters.full_attention.rope_theta=5 "
         "rope_parameters.sliding_attention.rope_type=default",
         "sliding_attention", 10000, 0},
        {"model_type=neomme rope_parameters.full_attention.rope_type=default "
         "rope_parameters.sliding_attention.rope_theta=5",
         "full_attention", 1000000, 0},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pe_scheme *scheme;
        begin();
        pairs_add("head_dim=8 hidden_size=64 num_attention_heads=8");
        pairs_add(rows[i].pairs);
        reading = read_layer(rows[i].layer_type, false);
        scheme = scheme_of(reading);
        ck_assert_msg(pe_param_number(pe_scheme_params(scheme), "base") == rows[i].base, "%s",
                      rows[i].pairs);
        ck_assert(pe_param_number(pe_scheme_params(scheme), "rope_type") == rows[i].rope_type);
        pe_scheme_free(scheme);
    }
}

CHECK_WAY(.before = begin, .after = end);
