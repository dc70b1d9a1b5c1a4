/* SPDX-License-Identifier: MIT */

/* Extensions of configs to longer contexts. tests/integration has every model type. */

#include <math.h>

#include "posenc/extension.h"
#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

CHECK_WAY(.before = begin, .after = end);

static struct pe_extension *extension;

static enum pe_status extend(const char *pairs, int64_t to, const char *type)
{
    begin();
    pairs_add(pairs);
    return pe_extension_new(&extension, config, to, type, NULL, &err);
}

static void extended(const char *pairs, int64_t to, const char *type)
{
    ck_assert_msg(!extend(pairs, to, type), "%s: %s", err.where, err.detail);
}

/* The entry of a patch by a path of keys. */
static struct pe_config_entry entry_at(int form, const char *path)
{
    const struct pe_config_node *node = pe_extension_patch(extension, form);
    struct pe_config_entry entry;
    char copy[200], *rest = copy;

    ck_assert_ptr_nonnull(node);
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *key; (key = strsep(&rest, "."));) {
        memset(&entry, 0, sizeof(entry));
        do
            ck_assert_msg(pe_config_next(node, &entry), "no %s", path);
        while (strcmp(entry.key, key) != 0);
        node = entry.node;
    }
    return entry;
}

static void has_number(int form, const char *path, double number)
{
    ck_assert_double_eq(entry_at(form, path).number, number);
}

#define LLAMA                                                                                      \
    "model_type=llama hidden_size=256 num_attention_heads=4 num_hidden_layers=2 "                  \
    "max_position_embeddings=4096 "

TEST(test_a_patch_in_both_forms)
{
    extended(LLAMA "rope_theta=500000", 16384, NULL);
    ck_assert_str_eq(pe_extension_type(extension), "yarn");
    ck_assert_int_eq(pe_extension_from(extension), 4096);
    ck_assert_double_eq(pe_extension_factor(extension), 4);
    has_number(4, "max_position_embeddings", 16384);
    has_number(4, "rope_scaling.factor", 4);
    has_number(4, "rope_scaling.original_max_position_embeddings", 4096);
    ck_assert_str_eq(entry_at(4, "rope_scaling.rope_type").text, "yarn");
    has_number(5, "max_position_embeddings", 16384);
    has_number(5, "rope_parameters.rope_theta", 500000);
    ck_assert_str_eq(entry_at(5, "rope_parameters.rope_type").text, "yarn");
    ck_assert_ptr_null(pe_extension_reason(extension, 4));
    ck_assert_ptr_null(pe_extension_reason(extension, 5));
    pe_extension_free(extension);
}

TEST(test_values_beside_the_scaling_move_with_the_form)
{
    extended("model_type=phi hidden_size=256 num_attention_heads=4 max_position_embeddings=2048 "
             "rope_parameters.rope_type=default rope_parameters.rope_theta=20000 "
             "rope_parameters.partial_rotary_factor=0.5",
             8192, "linear");
    ck_assert_int_eq(entry_at(4, "rope_parameters").kind, PE_ENTRY_NULL);
    has_number(4, "rope_theta", 20000);
    has_number(4, "partial_rotary_factor", 0.5);
    ck_assert_str_eq(entry_at(4, "rope_scaling.rope_type").text, "linear");
    has_number(5, "rope_parameters.partial_rotary_factor", 0.5);
    pe_extension_free(extension);
}

/* The frequencies of YaRN by its paper: those with more than beta_fast rotations in the original
 * context stay, those with fewer than beta_slow are divided by the factor. */
TEST(test_pairs_that_change_and_those_that_do_not)
{
    const struct pe_extension_layers *layers;
    const double base = 500000, from = 4096, to = 16384;
    const double slow = pow(base, -31 / 32.0);

    extended(LLAMA "rope_theta=500000", (int64_t)to, "yarn");
    layers = pe_extension_layers(extension, 0);
    ck_assert_ptr_null(pe_extension_layers(extension, 1));
    ck_assert_uint_eq(layers->count, 2);
    ck_assert_uint_eq(layers->of, 32);
    ck_assert_uint_eq(layers->last, 31);
    ck_assert_uint_eq(layers->pairs, 31 - layers->first + 1);
    ck_assert(from * pow(base, -(double)layers->first / 32) / (2 * M_PI) < 32);
    ck_assert(layers->radians > (to - 1) * slow * 0.74);
    ck_assert(fabs(layers->factor_after - (0.1 * log(4) + 1)) < 1e-12);
    ck_assert_int_eq(layers->cache, PE_CACHE_VOID);
    pe_extension_free(extension);
}

TEST(test_every_pair_changes_with_linear_scaling)
{
    const struct pe_extension_layers *layers;

    extended(LLAMA "rope_theta=500000", 8192, "linear");
    layers = pe_extension_layers(extension, 0);
    ck_assert_uint_eq(layers->pairs, 32);
    ck_assert_double_eq(layers->radians, 8191 * 0.5);
    ck_assert_double_eq(layers->factor_after, 1);
    pe_extension_free(extension);
}

TEST(test_dynamic_scaling_leaves_the_context)
{
    struct pe_config_entry entry = {0};

    extended(LLAMA "rope_theta=500000", 8192, "dynamic");
    while (pe_config_next(pe_extension_patch(extension, 4), &entry))
        ck_assert_str_ne(entry.key, "max_position_embeddings");
    ck_assert_uint_eq(pe_extension_layers(extension, 0)->pairs, 31);
    pe_extension_free(extension);
}

TEST(test_layers_of_a_short_window_are_not_scaled)
{
    const struct pe_extension_layers *layers;
    size_t valid = 0, voids = 0;

    extended("model_type=gemma3_text hidden_size=256 num_attention_heads=4 head_dim=64 "
             "num_hidden_layers=6 max_position_embeddings=32768 rope_theta=1000000 "
             "rope_local_base_freq=10000 sliding_window=512 sliding_window_pattern=6",
             65536, NULL);
    for (size_t i = 0; (layers = pe_extension_layers(extension, i)); i++) {
        valid += layers->cache == PE_CACHE_VALID ? layers->count : 0;
        voids += layers->cache == PE_CACHE_VOID ? layers->count : 0;
    }
    ck_assert_uint_eq(valid, 5);
    ck_assert_uint_eq(voids, 1);
    ck_assert_str_eq(entry_at(5, "rope_parameters.sliding_attention.rope_type").text, "default");
    ck_assert_str_eq(entry_at(5, "rope_parameters.full_attention.rope_type").text, "yarn");
    pe_extension_free(extension);
}

TEST(test_layers_without_positions_are_compared_with_their_like)
{
    const struct pe_extension_layers *layers;
    size_t rotating = 0, others = 0;

    extended("model_type=smollm3 hidden_size=256 num_attention_heads=4 num_hidden_layers=8 "
             "no_rope_layer_interval=4 max_position_embeddings=4096 "
             "rope_parameters.rope_type=default rope_parameters.rope_theta=2000000",
             8192, NULL);
    for (size_t i = 0; (layers = pe_extension_layers(extension, i)); i++) {
        rotating += layers->rotates && layers->cache == PE_CACHE_VOID ? layers->count : 0;
        others += !layers->rotates && layers->cache == PE_CACHE_VALID ? layers->count : 0;
    }
    ck_assert_uint_eq(rotating, 6);
    ck_assert_uint_eq(others, 2);
    pe_extension_free(extension);
}

TEST(test_a_context_under_another_key)
{
    extended("model_type=dbrx d_model=256 n_heads=4 max_seq_len=2048 rope_theta=10000", 4096, NULL);
    has_number(4, "max_seq_len", 4096);
    pe_extension_free(extension);
}

TEST(test_an_override_is_the_rope_object_and_the_context_in_their_place)
{
    struct pe_config_entry text = {0}, rope = {0};

    extended("model_type=llava text_config.model_type=llama text_config.hidden_size=256 "
             "text_config.num_attention_heads=4 text_config.max_position_embeddings=4096",
             10240, NULL);
    ck_assert_double_eq(pe_extension_factor(extension), 2.5);
    ck_assert(pe_config_next(pe_extension_override(extension), &text));
    ck_assert_str_eq(text.key, "text_config");
    ck_assert(pe_config_next(text.node, &rope));
    ck_assert_str_eq(rope.key, "rope_parameters");
    ck_assert(pe_config_next(text.node, &rope));
    ck_assert_str_eq(rope.key, "max_position_embeddings");
    ck_assert_double_eq(rope.number, 10240);
    ck_assert(!pe_config_next(text.node, &rope));
    pe_extension_free(extension);
}

TEST(test_what_is_refused)
{
    static const struct {
        const char *pairs;
        int64_t to;
        const char *type;
        enum pe_status status;
        const char *detail;
    } cases[] = {
        {LLAMA "rope_scaling.rope_type=linear rope_scaling.factor=2", 8192, NULL, PE_CONFLICT,
         "rope_scaling.rope_type"},
        {"model_type=apertus hidden_size=256 num_attention_heads=4 max_position_embeddings=65536",
         131072, NULL, PE_CONFLICT, "class"},
        {LLAMA "rope_theta=10000", 4096, NULL, PE_OUT_OF_RANGE, "4096"},
        {LLAMA "rope_theta=10000", -1, NULL, PE_OUT_OF_RANGE, "4096"},
        {LLAMA "rope_theta=10000", 8192, "longrope", PE_INVALID, "search"},
        {LLAMA "rope_theta=10000", 8192, "no", PE_INVALID, "yarn"},
        {"model_type=llama hidden_size=256 num_attention_heads=4", 8192, NULL, PE_MISSING,
         "max_position_embeddings"},
        {"model_type=gpt2 n_embd=64 n_positions=1024", 8192, NULL, PE_UNSUPPORTED, "learned"},
        {"model_type=bloom n_head=4 hidden_size=64", 8192, NULL, PE_UNSUPPORTED, "alibi"},
        {"model_type=esm hidden_size=64 num_attention_heads=4 max_position_embeddings=1024 "
         "position_embedding_type=rotary",
         8192, NULL, PE_UNSUPPORTED, "esm reads no scaling"},
        {"model_type=phi3 hidden_size=256 num_attention_heads=4 max_position_embeddings=16384",
         32768, NULL, PE_UNSUPPORTED, "original_max_position_embeddings"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_msg(extend(cases[i].pairs, cases[i].to, cases[i].type) == cases[i].status,
                      "%zu: %d %s", i, err.status, err.detail);
        ck_assert_msg(strstr(err.detail, cases[i].detail) != NULL, "%zu: %s", i, err.detail);
        pe_extension_free(extension);
    }
}
