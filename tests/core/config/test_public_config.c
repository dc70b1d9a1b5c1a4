/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/core/public_fixture.h"

static void count_path(void *context, const char *path)
{
    ck_assert_str_ne(path, "");
    ++*(size_t *)context;
}

/* A config of rope with 8 heads of 16. */
static struct pe_config *config_new(const char *model_type)
{
    struct pe_config *config;
    struct pe_config_node *top;

    ACCEPTED(pe_config_new(&config, NULL, &err));
    top = pe_config_top(config);
    ACCEPTED(pe_config_set_text(top, "model_type", model_type, &err));
    ACCEPTED(pe_config_set_integer(top, "hidden_size", 128, &err));
    ACCEPTED(pe_config_set_integer(top, "num_attention_heads", 8, &err));
    return config;
}

TEST(values_refuse)
{
    struct pe_config *config;
    struct pe_config_node *top, *object, *list;

    ACCEPTED(pe_config_new(&config, NULL, &err));
    top = pe_config_top(config);
    REFUSED(PE_INVALID, pe_config_set_null(top, NULL, &err));
    REFUSED(PE_INVALID, pe_config_set_bool(top, NULL, true, &err));
    REFUSED(PE_INVALID, pe_config_set_integer(top, NULL, INT64_MIN, &err));
    REFUSED(PE_INVALID, pe_config_set_number(top, NULL, NAN, &err));
    REFUSED(PE_INVALID, pe_config_set_text(top, "text", NULL, &err));
    REFUSED(PE_INVALID, pe_config_set_object(top, NULL, &object, &err));
    REFUSED(PE_INVALID, pe_config_set_list(top, NULL, &list, &err));
    REFUSED(PE_INVALID, pe_config_set_numbers(top, NULL, NULL, 0, &err));
    ACCEPTED(pe_config_set_list(top, "list", &list, &err));
    REFUSED(PE_CONFLICT, pe_config_set_null(top, "list", &err));
    ACCEPTED(pe_config_set_number(list, NULL, NAN, &err));
    ACCEPTED(pe_config_set_numbers(list, NULL, NULL, 0, &err));
    ck_assert_ptr_null(pe_config_layer_type(config, SIZE_MAX));
    pe_config_free(config);
    pe_config_free(NULL);
}

/* Nothing follows the last value of an object or a list, nor the first of an empty one. */
TEST(values_end)
{
    struct pe_config *config;
    struct pe_config_node *top, *list;
    struct pe_config_entry entry = {0}, item = {0};

    ACCEPTED(pe_config_new(&config, NULL, &err));
    top = pe_config_top(config);
    ck_assert(!pe_config_next(top, &entry));
    ACCEPTED(pe_config_set_list(top, "list", &list, &err));
    ck_assert(!pe_config_next(list, &item));
    ACCEPTED(pe_config_set_null(list, NULL, &err));
    entry = item = (struct pe_config_entry){0};
    ck_assert(pe_config_next(top, &entry) && entry.kind == PE_ENTRY_LIST);
    ck_assert_str_eq(entry.key, "list");
    ck_assert(pe_config_next(list, &item) && item.kind == PE_ENTRY_NULL && !item.key);
    ck_assert(!pe_config_next(top, &entry) && !pe_config_next(list, &item));
    pe_config_free(config);
}

/* A file of one key, whose value is a text. */
TEST(gguf_is_taken_whole)
{
    static const char file[] = "GGUF\3\0\0\0"
                               "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                               "\24\0\0\0\0\0\0\0general.architecture\10\0\0\0"
                               "\4\0\0\0\0\0\0\0gpt2";
    const size_t size = sizeof(file) - 1;

    for (size_t cut = 0; cut <= size; cut++) {
        struct pe_config_reading *reading;
        struct pe_config *config;
        ACCEPTED(pe_config_new(&config, NULL, &err));
        if (cut < size) {
            REFUSED(PE_INVALID, pe_config_set_gguf(config, file, cut, &err));
        } else {
            ACCEPTED(pe_config_set_gguf(config, file, cut, &err));
            REFUSED(PE_CONFLICT, pe_config_set_gguf(config, file, cut, &err));
            ACCEPTED(pe_config_read(&reading, config, NULL, false, &err));
            ck_assert_str_eq(pe_config_encoding(reading), "learned");
            pe_config_reading_free(reading);
        }
        pe_config_free(config);
    }
}

/* So many levels are taken as the refusal of one more says, the config itself among them. */
TEST(depth_ends)
{
    struct pe_error deep = {0};
    struct pe_config *config;
    struct pe_config_node *node;
    size_t depth, most;

    for (int is_list = 0; is_list < 2; is_list++) {
        ACCEPTED(pe_config_new(&config, NULL, &err));
        node = pe_config_top(config);
        deep = (struct pe_error){0};
        for (depth = 1; depth < 5000; depth++) {
            const char *key = depth == 1 || !is_list ? "x" : NULL;
            if ((is_list ? pe_config_set_list : pe_config_set_object)(node, key, &node, &deep))
                break;
        }
        ck_assert_int_eq(deep.status, PE_TOO_LARGE);
        ck_assert_msg(sscanf(deep.detail, "the config is more than %zu levels", &most) == 1 &&
                          most == depth,
                      "%zu levels: %s", depth, deep.detail);
        pe_config_free(config);
    }
}

TEST(readings_refuse)
{
    struct pe_params params = {0}, other;
    struct pe_config *config = config_new("llama"), *empty;
    struct pe_config_reading *reading;
    struct pe_scheme *scheme;
    size_t unused = 0;
    int64_t size;

    ACCEPTED(pe_config_new(&empty, NULL, &err));
    REFUSED(PE_UNSUPPORTED, pe_config_read(&reading, empty, NULL, false, &err));
    ck_assert_ptr_null(reading);
    pe_config_free(empty);
    REFUSED(PE_CONFLICT, pe_config_read(&reading, config, "sliding_attention", false, &err));
    ACCEPTED(pe_config_read(&reading, config, NULL, true, &err));
    ck_assert_ptr_null(pe_config_source(reading, SIZE_MAX));
    ck_assert_ptr_null(pe_config_warning(reading, SIZE_MAX));
    REFUSED(PE_NOT_FOUND, pe_config_size(reading, "length", &size, &err));
    ck_assert(!pe_config_is_weights(reading));
    ACCEPTED(pe_config_attention(reading, false, &err));
    ACCEPTED(pe_params_parse(&other, "alibi", "heads=2", &err));
    REFUSED(PE_INVALID, pe_config_fill(reading, &other, &err));
    REFUSED(PE_INVALID, pe_config_scheme(&scheme, reading, &other, &err));
    ck_assert_ptr_null(scheme);
    ACCEPTED(pe_config_scheme(&scheme, reading, &params, &err));
    ck_assert_uint_eq(pe_scheme_head_dim(scheme), 16);
    ck_assert_str_eq(pe_config_encoding(reading), "rope");
    ck_assert_str_eq(pe_config_layout(reading), "half");
    ck_assert_ptr_nonnull(pe_config_layout_source(reading));
    pe_config_unused(reading, count_path, &unused);
    ck_assert_uint_eq(unused, 0);
    pe_scheme_free(scheme);
    pe_params_free(&other);
    pe_params_free(&params);
    pe_config_reading_free(reading);
    pe_config_reading_free(NULL);
    pe_config_free(config);
}

static size_t unused_count(const struct pe_config_reading *reading)
{
    size_t unused = 0;

    pe_config_unused(reading, count_path, &unused);
    return unused;
}

/* Readings of a config have one account of its keys where they are told to; their work is counted,
 * and warnings have an end. */
TEST(readings_of_one_config)
{
    struct pe_config_reading *readings[2], *other;
    struct pe_config *config = config_new("llama"), *another = config_new("llama");
    struct pe_params params = {0};
    struct pe_scheme *scheme;
    size_t warnings = 0;
    char key[20];

    for (int i = 0; i < 100 && snprintf(key, sizeof(key), "rope_%d", i) > 0; i++)
        ACCEPTED(pe_config_set_bool(pe_config_top(config), key, true, &err));
    ck_assert(pe_config_read_work(config) > pe_config_read_work(another));
    for (size_t i = 0; i < 2; i++)
        ACCEPTED(pe_config_read(&readings[i], config, NULL, false, &err));
    ACCEPTED(pe_config_read(&other, another, NULL, false, &err));
    ACCEPTED(pe_config_scheme(&scheme, readings[0], &params, &err));
    while (pe_config_warning(readings[0], warnings))
        warnings++;
    ck_assert_uint_eq(warnings, 65);
    ck_assert_ptr_nonnull(strstr(pe_config_warning(readings[0], 64), "are left out"));
    ck_assert_uint_gt(unused_count(readings[1]), unused_count(readings[0]));
    pe_config_read_by(other, readings[0]);
    ck_assert_uint_lt(unused_count(other), 100);
    pe_config_read_by(readings[1], readings[0]);
    ck_assert_uint_eq(unused_count(readings[1]), 100);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    for (size_t i = 0; i < 2; i++)
        pe_config_reading_free(readings[i]);
    pe_config_reading_free(other);
    pe_config_free(config);
    pe_config_free(another);
}

/* A value of each type under a key; PE_CONFLICT where the key is there. */
static void value_set(struct pe_config_node *top, const char *key, size_t type)
{
    struct pe_config_node *inner;
    struct pe_error err = {0};

    if (type == 0)
        pe_config_set_null(top, key, &err);
    else if (type == 1)
        pe_config_set_bool(top, key, true, &err);
    else if (type == 2)
        pe_config_set_integer(top, key, INT64_MIN, &err);
    else if (type == 3)
        pe_config_set_number(top, key, NAN, &err);
    else if (type == 4)
        pe_config_set_number(top, key, 1e300, &err);
    else if (type == 5)
        pe_config_set_text(top, key, "", &err);
    else if (type == 6)
        pe_config_set_object(top, key, &inner, &err);
    else
        pe_config_set_list(top, key, &inner, &err);
}

enum { TYPES = 8 };

/* The status of a config with that value in it. */
static enum pe_status value_try(const char *key, size_t type)
{
    struct pe_config *config = config_new("llama");
    struct pe_config_reading *reading = NULL;
    struct pe_params params = {0};
    struct pe_scheme *scheme = NULL;
    struct pe_error tried = {0};

    value_set(pe_config_top(config), key, type);
    if (!pe_config_read(&reading, config, NULL, type % 2, &tried) &&
        !pe_config_scheme(&scheme, reading, &params, &tried))
        pe_scheme_prepare(scheme, NULL, &tried);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    pe_config_reading_free(reading);
    pe_config_free(config);
    return tried.status;
}

TEST(keys_with_any_value)
{
    static const char *const keys[] = {
        "head_dim",       "rope_theta",      "partial_rotary_factor",   "rope_scaling",
        "layer_types",    "rope_parameters", "max_position_embeddings", "text_config",
        "attn_config",    "rotary_dim",      "rope_local_base_freq",    "position_embedding_type",
        "rotary_emb_base"};
    size_t read = 0, refused = 0;

    for (size_t i = 0; i < TYPES * COUNT_OF(keys); i++) {
        const enum pe_status status = value_try(keys[i / TYPES], i % TYPES);
        ck_assert_int_ne(status, PE_INTERNAL);
        ++*(status ? &refused : &read);
    }
    ck_assert_msg(read > 20 && refused > 20, "%zu read, %zu refused", read, refused);
}

TEST(kinds_of_layers)
{
    struct pe_config *config = config_new("gpt_oss");
    struct pe_config_node *top = pe_config_top(config);
    struct pe_config_kinds *kinds;
    struct pe_config_reading *reading;
    struct pe_attention_traits traits = {.size = sizeof(traits)}, small = {.size = 1};
    struct pe_config_reader reader;
    struct pe_config_rotary rotary;
    const struct pe_config_kind *kind;
    size_t layers = 0, count = 0;

    ACCEPTED(pe_config_set_integer(top, "num_hidden_layers", 4, &err));
    ACCEPTED(pe_config_set_integer(top, "head_dim", 16, &err));
    ACCEPTED(pe_config_kinds_new(&kinds, config, &err));
    for (; (kind = pe_config_kind(kinds, count)); count++)
        layers += kind->count;
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(layers, 4);
    ck_assert_ptr_null(pe_config_kind(kinds, SIZE_MAX));
    kind = pe_config_kind(kinds, pe_config_kinds_usual(kinds));
    ck_assert_str_eq(kind->layer_type, "full_attention");
    ACCEPTED(pe_config_read(&reading, config, "sliding_attention", false, &err));
    ck_assert_str_eq(pe_config_layer_meant(reading), "sliding_attention");
    ck_assert_str_eq(pe_config_text_part(reading), "");
    ACCEPTED(pe_config_traits(reading, &traits, &err));
    ck_assert_int_eq(traits.window, 128);
    ck_assert(traits.sinks);
    ck_assert_str_eq(pe_config_trait_source(reading, 0)->param, "window");
    ck_assert_ptr_null(pe_config_trait_source(reading, SIZE_MAX));
    ACCEPTED(pe_config_kind_traits(reading, kind, &traits, &err));
    ck_assert_int_eq(traits.window, 0);
    ACCEPTED(pe_config_traits(reading, &small, &err)); /* of an older program: no more is written */
    ck_assert_int_eq(small.window, 0);
    ck_assert(!pe_config_reader(reading, SIZE_MAX, &reader));
    ck_assert(!pe_config_rotary(reading, 0, &rotary));
    pe_config_reading_free(reading);
    pe_config_kinds_free(kinds);
    pe_config_kinds_free(NULL);
    pe_config_free(config);
}
