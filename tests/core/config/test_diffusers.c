/* SPDX-License-Identifier: MIT */
#include "core/config/reading.h"
#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

/* The classes themselves are run by the suite `diffusers`. */

/* The scheme of the reading, of sines over a grid for latents of 4 x 6 patches. */
static struct pe_scheme *opened(const struct pe_diffusers_class *class)
{
    const struct pe_encoding *encoding = pe_encoding_find(class->encoding);
    struct pe_params params = {0};
    struct pe_scheme *scheme;

    pe_params_init(&params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    if (class->sines.sample > 0) {
        const size_t height = (size_t)pe_params_find(&params, "height"),
                     width = (size_t)pe_params_find(&params, "width");
        ck_assert(!pe_params_set_number(&params, height, 4, &err));
        ck_assert(!pe_params_set_number(&params, width, 6, &err));
        params.values[height].given = params.values[width].given = true;
    }
    ck_assert_msg(!pe_config_scheme(&scheme, reading, &params, &err), "%s", err.detail);
    pe_params_free(&params);
    return scheme;
}

static void unused_refuse(void *context, const char *path)
{
    ck_assert_msg(false, "%s: %s is called unused", *(const char *const *)context, path);
}

/* Every class of the list, by the values of its constructor, is read or refused with its note. */
TEST(every_class)
{
    size_t read = 0, refused = 0;

    for (const struct pe_diffusers_class *at = pe_diffusers_classes; at->name; at++) {
        begin();
        text(top, "_class_name", at->name);
        text(top, "_diffusers_version", "0.35.0");
        if (at->needs)
            ck_assert(!pe_config_set_bool(top, at->needs, true, &err));
        if (at->sines.scale == PE_SINES_SCALE_NEEDED)
            pairs_add("interpolation_scale=2");
        if (at->encoding && at->sines.sample > 0 && at->sines.patch == 0)
            pairs_add("patch_size=2");
        pe_config_reading_free(reading);
        if (!at->encoding) {
            ck_assert_int_eq(pe_config_read(&reading, config, NULL, false, &err), PE_UNSUPPORTED);
            ck_assert_msg(strstr(err.detail, at->note) != NULL, "%s: %s", at->name, err.detail);
            refused++;
            continue;
        }
        ck_assert_msg(!pe_config_read(&reading, config, NULL, false, &err), "%s", err.detail);
        ck_assert_pstr_eq(pe_config_layout(reading), at->layout);
        struct pe_scheme *scheme = opened(at);
        pe_config_unused(reading, unused_refuse, (void *)&(const char *){at->name});
        const struct pe_params *params = pe_scheme_params(scheme);
        ck_assert_str_eq(pe_encoding_info(pe_scheme_encoding(scheme))->name, at->encoding);
        const double under = at->width[1] ? at->fallback[1] : 1;
        if (at->width[0])
            ck_assert(pe_param_number(params, "dim") == (at->together || at->sines.sample > 0
                                                             ? at->fallback[0] * under
                                                             : at->fallback[0] / under));
        pe_scheme_free(scheme);
        read++;
    }
    ck_assert(read >= 64 && refused >= 9);
}

static const struct {
    const char *pairs, *param, *origin;
    double value;
} read_so[] = {
    {"_class_name=FluxTransformer2DModel rope_theta=5", "base", "key _class_name", 10000},
    {"_class_name=Flux2Transformer2DModel rope_theta=5", "base", "key rope_theta", 5},
    {"_class_name=WanTransformer3DModel attention_head_dim=96", "dim", "key attention_head_dim",
     96},
    {"_class_name=Lumina2Transformer2DModel", "dim", "key _class_name", 96},
    /* text_config is no part of a model of diffusers, and its rope_scaling no scaling */
    {"_class_name=Flux2Transformer2DModel text_config.rope_theta=7 rope_scaling.factor=8", "base",
     "key _class_name", 2000},
};

/* What Transformer2DModel is by its norm_type. */
TEST(remapped)
{
    static const struct {
        const char *pairs, *name;
    } rows[] = {
        {"_class_name=Transformer2DModel norm_type=ada_norm_zero", "DiTTransformer2DModel"},
        {"_class_name=Transformer2DModel norm_type=ada_norm_single", "PixArtTransformer2DModel"},
        {"_class_name=Transformer2DModel norm_type=layer_norm", "Transformer2DModel"},
        {"_class_name=Transformer2DModel", "Transformer2DModel"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin();
        pairs_add(rows[i].pairs);
        const struct pe_config_scope scope = pe_config_scope_of(config);
        ck_assert_str_eq(pe_config_diffusers_find(&scope)->name, rows[i].name);
    }
}

TEST(keys)
{
    for (size_t i = 0; i < COUNT_OF(read_so); i++) {
        begin();
        pairs_add(read_so[i].pairs);
        reading = read_layer(NULL, false);
        struct pe_scheme *scheme = scheme_of(reading);
        ck_assert(pe_param_number(pe_scheme_params(scheme), read_so[i].param) == read_so[i].value);
        ck_assert_str_eq(origin(reading, read_so[i].param), read_so[i].origin);
        pe_scheme_free(scheme);
    }
}

/* Widths of axes that are shares of a head, and lists. */
TEST(widths)
{
    static const struct {
        const char *pairs;
        double widths[4];
    } rows[] = {
        {"_class_name=WanTransformer3DModel", {44, 42, 42}},
        {"_class_name=WanTransformer3DModel attention_head_dim=32", {12, 10, 10}},
        {"_class_name=CogVideoXTransformer3DModel use_rotary_positional_embeddings=true",
         {16, 24, 24}},
        {"_class_name=CogView4Transformer2DModel", {20, 20}},
        {"_class_name=MiniMaxH3Transformer3DModel rope_freq_dim=7", {14, 14, 14}},
        {"_class_name=HunyuanVideoTransformer3DModel", {16, 56, 56}},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin();
        pairs_add(rows[i].pairs);
        reading = read_layer(NULL, false);
        struct pe_scheme *scheme = scheme_of(reading);
        const struct pe_value *list = pe_param_value(pe_scheme_params(scheme), "axes_dim");
        for (size_t axis = 0; axis < list->list_count; axis++)
            ck_assert(list->list[axis] == rows[i].widths[axis]);
        pe_scheme_free(scheme);
    }
}

static const struct {
    const char *pairs, *where, *word;
    enum pe_status status;
} refused[] = {
    {"_class_name=FluxPipeline", "key:_class_name", "transformer", PE_UNSUPPORTED},
    {"_class_name=LTX2VideoTransformer3DModel rope_type=split", "key:_class_name", "interleaved",
     PE_UNSUPPORTED},
    {"_class_name=CogVideoXTransformer3DModel", "key:_class_name", "sines", PE_UNSUPPORTED},
    {"_class_name=CogVideoXTransformer3DModel use_rotary_positional_embeddings=false",
     "key:_class_name", "sines", PE_UNSUPPORTED},
    {"_class_name=DiTTransformer2DModel", "parameter:height", "divided by patch_size", PE_MISSING},
    {"_class_name=SanaTransformer2DModel", "config", "adds no positions", PE_UNSUPPORTED},
    {"_class_name=SanaTransformer2DModel interpolation_scale=null", "key:interpolation_scale",
     "adds no positions", PE_UNSUPPORTED},
    {"_class_name=SD3ControlNetModel use_pos_embed=false", "key:use_pos_embed", "adds no positions",
     PE_UNSUPPORTED},
    {"_class_name=FluxTransformer2DModel attention_head_dim=64", "config", "its code fails",
     PE_UNSUPPORTED},
    {"_class_name=HiDreamImageTransformer2DModel attention_head_dim=96", "config", "its code fails",
     PE_UNSUPPORTED},
    {"_class_name=MiniMaxH3Transformer3DModel attention_head_dim=64", "config", "its code fails",
     PE_UNSUPPORTED},
    {"_class_name=FluxTransformer2DModel attention_head_dim=null", "key:attention_head_dim",
     "above 0", PE_INVALID},
    {"_class_name=FluxTransformer2DModel attention_head_dim=2.5", "key:attention_head_dim",
     "above 0", PE_INVALID},
    {"_class_name=FluxTransformer2DModel axes_dims_rope=null", "key:axes_dims_rope", "list",
     PE_INVALID},
    {"_class_name=ZImageTransformer2DModel n_heads=x", "key:n_heads", "above 0", PE_INVALID},
};

TEST(refusals)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct pe_params params = {0};
        struct pe_scheme *scheme = NULL;
        begin();
        pairs_add(refused[i].pairs);
        pe_config_reading_free(reading);
        reading = NULL;
        if (pe_config_read(&reading, config, NULL, false, &err) == PE_OK)
            pe_config_scheme(&scheme, reading, &params, &err);
        ck_assert_msg(err.status == refused[i].status, "%s: %s", refused[i].pairs, err.detail);
        ck_assert_str_eq(err.where, refused[i].where);
        ck_assert_msg(strstr(err.detail, refused[i].word) != NULL, "%s", err.detail);
        pe_params_free(&params);
    }
}

/* Attention of these models has no mask; their keys about layers are not those of a language model.
 */
TEST(attention)
{
    struct pe_attention_traits traits = SIZED(pe_attention_traits, .scale = 0);

    begin();
    pairs_add("_class_name=FluxTransformer2DModel sliding_window=8 num_hidden_layers=3");
    reading = read_layer(NULL, false);
    ck_assert(!pe_config_traits(reading, &traits, &err));
    ck_assert(!traits.causal && traits.window == 0);
}

CHECK_WAY(.before = begin, .after = end);
