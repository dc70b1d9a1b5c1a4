/* SPDX-License-Identifier: MIT */
#include "core/config/reading.h"
#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

/* The models themselves are run by the suite `diffusers`. */

/* The scheme of a config, with the size of a grid where it is asked for. */
static enum pe_status opened(struct pe_scheme **scheme, const double *grid)
{
    struct pe_params params = {0};
    enum pe_status status;

    pe_config_reading_free(reading);
    reading = NULL;
    memset(&err, 0, sizeof(err));
    *scheme = NULL;
    status = pe_config_read(&reading, config, NULL, false, &err);
    if (status)
        return status;
    if (grid) {
        const struct pe_encoding *encoding = pe_encoding_find(pe_config_encoding(reading));
        pe_params_init(&params, pe_encoding_info(encoding)->params,
                       pe_encoding_info(encoding)->params_count);
        const int size = pe_params_find(&params, "axes_size");
        if (size >= 0) {
            ck_assert(!pe_params_set_list(&params, (size_t)size, grid, 2, &err));
            params.values[size].given = true;
        }
    }
    status = pe_config_scheme(scheme, reading, &params, &err);
    pe_params_free(&params);
    return status;
}

/* Every architecture of the list is read, or refused with a reason. */
TEST(every_architecture)
{
    static const double grid[2] = {3, 5};
    size_t read = 0, refused = 0;

    for (const struct pe_timm_model *at = pe_timm_models; at->name; at++) {
        struct pe_scheme *scheme;
        begin();
        text(top, "architecture", at->name);
        object(top, "pretrained_cfg");
        if (opened(&scheme, NULL) == PE_OK ||
            (err.status == PE_MISSING && opened(&scheme, grid) == PE_OK)) {
            ck_assert(pe_param_number(pe_scheme_params(scheme), "dim") ==
                      at->embed_dim / at->num_heads);
            ck_assert(pe_param_number(pe_scheme_params(scheme), "base") == at->rope_temperature);
            ck_assert_str_eq(pe_config_layout(reading),
                             at->rope_rotate_half || at->of == PE_TIMM_AXIAL ? "half"
                                                                             : "interleaved");
            pe_scheme_free(scheme);
            read++;
            continue;
        }
        ck_assert_msg(err.status == PE_UNSUPPORTED, "%s: %s", at->name, err.detail);
        ck_assert_msg(strstr(err.detail, at->name) != NULL, "%s", err.detail);
        refused++;
    }
    ck_assert(read >= 60 && refused >= 20);
}

#define EVA "architecture=eva02_tiny_patch14_224 pretrained_cfg.tag=x"

TEST(arguments)
{
    static const struct {
        const char *pairs, *param, *origin;
        double value;
    } rows[] = {
        {EVA, "base", "key architecture", 10000},
        {EVA " model_args.rope_temperature=100.5", "base", "key model_args.rope_temperature",
         100.5},
        {EVA " model_args.num_heads=2", "dim", "derived model_args.num_heads", 96},
        {EVA "rope_temperature=7", "base", "key architecture", 10000},
        /* a file without pretrained_cfg is an older one, unless transformers wraps it */
        {"architecture=eva02_tiny_patch14_224 model_args.rope_temperature=7", "base",
         "key architecture", 10000},
        {"model_type=timm_wrapper architecture=eva02_tiny_patch14_224 "
         "model_args.rope_temperature=7",
         "base", "key model_args.rope_temperature", 7},
        /* nulls of a wrapper are dropped */
        {"model_type=timm_wrapper architecture=eva02_tiny_patch14_224 "
         "model_args.use_rot_pos_emb=null model_args.num_heads=null model_args.unknown=null",
         "dim", "key architecture", 64},
        {EVA " model_args.num_classes=0 model_args.depth=3", "base", "key architecture", 10000},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pe_scheme *scheme;
        begin();
        pairs_add(rows[i].pairs);
        ck_assert_msg(opened(&scheme, NULL) == PE_OK, "%s: %s", rows[i].pairs, err.detail);
        ck_assert(pe_param_number(pe_scheme_params(scheme), rows[i].param) == rows[i].value);
        ck_assert_str_eq(origin(reading, rows[i].param), rows[i].origin);
        pe_scheme_free(scheme);
    }
}

#define REFUSED(args) EVA " model_args." args

TEST(refusals)
{
    static const struct {
        const char *pairs;
        enum pe_status status;
        const char *word;
    } rows[] = {
        {"architecture=vit_small_patch16_dinov3", PE_MISSING, "axes_size is required"},
        {REFUSED("dynamic_img_size=true"), PE_MISSING, "axes_size is required"},
        {REFUSED("use_naflex=true"), PE_UNSUPPORTED, "use_naflex"},
        {REFUSED("rope_ref_feat_shape=7"), PE_UNSUPPORTED, "no argument"},
        {REFUSED("num_head=2"), PE_UNSUPPORTED, "no argument num_head"},
        {REFUSED("img_sise=448"), PE_UNSUPPORTED, "no argument img_sise"},
        {REFUSED("rope_type=axial"), PE_UNSUPPORTED, "fails"},
        {REFUSED("rope_type=mixed"), PE_UNSUPPORTED, "learned"},
        {REFUSED("use_rot_pos_emb=false"), PE_UNSUPPORTED, "nothing rotates"},
        {REFUSED("num_heads=5"), PE_UNSUPPORTED, "fails"},
        {REFUSED("rope_temperature=null"), PE_INVALID, "number"},
        {REFUSED("rope_grid_indexing=yx"), PE_INVALID, "ij or xy"},
        {REFUSED("rope_rotate_half=7"), PE_INVALID, "true or false"},
        {REFUSED("img_size=-3"), PE_INVALID, "whole numbers"},
        {EVA " model_args=7", PE_INVALID, "object"},
        {"architecture=resnet50", PE_UNSUPPORTED, "resnet50"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pe_scheme *scheme;
        begin();
        pairs_add(rows[i].pairs);
        ck_assert_msg(opened(&scheme, NULL) == rows[i].status, "%s: %s", rows[i].pairs, err.detail);
        ck_assert_msg(strstr(err.detail, rows[i].word) != NULL, "%s", err.detail);
    }
}

/* Patches of a picture see each other, whatever the config says of layers. */
TEST(attention)
{
    static const char *const configs[] = {
        EVA " num_hidden_layers=3 sliding_window=8",
        "model_type=dinov3_vit num_hidden_layers=3",
        "model_type=pixtral num_hidden_layers=3",
        "model_type=minimax_m3_vl_vision num_hidden_layers=3",
    };

    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        struct pe_attention_traits traits = SIZED(pe_attention_traits, .scale = 0);
        begin();
        pairs_add(configs[i]);
        reading = read_layer(NULL, false);
        ck_assert(!pe_config_traits(reading, &traits, &err));
        ck_assert(!traits.causal);
    }
}

CHECK_WAY(.before = begin, .after = end);
