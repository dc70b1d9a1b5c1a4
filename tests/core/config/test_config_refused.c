/* SPDX-License-Identifier: MIT */

/* Values and configs that are refused, where the failure is said to be, and what is warned of. */

#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

static void fails(enum pe_status status, const char *where, const char *part)
{
    ck_assert_msg(err.status == status && !strcmp(err.where, where) && strstr(err.detail, part),
                  "%s, %s: %s", pe_status_code(err.status), err.where, err.detail);
    err = (struct pe_error){0};
}

TEST(test_values_refused)
{
    struct pe_config_node *rope = object(top, "rope_scaling"), *inner = top;

    number(rope, "factor", 2);
    pe_config_set_number(rope, "factor", 2, &err);
    fails(PE_CONFLICT, "key:rope_scaling.factor", "rope_scaling.factor is given twice");
    pe_config_set_object(top, "rope_scaling", &inner, &err);
    fails(PE_CONFLICT, "key:rope_scaling", "twice");
    ck_assert_ptr_null(inner);
    pe_config_set_number(top, NULL, 2, &err);
    fails(PE_INVALID, "config", "needs a key");
    pe_config_set_number(NULL, "factor", 2, &err);
    fails(PE_INVALID, "config", "must lie in an object");
    pe_config_set_text(top, "type", NULL, &err);
    fails(PE_INVALID, "config", "no text");
    for (inner = top; inner; pe_config_set_object(inner, "a", &inner, &err))
        ck_assert_int_eq(err.status, PE_OK);
    fails(PE_TOO_LARGE, "config", "2048 levels");
}

TEST(test_readings_refused)
{
    struct pe_config_node *rope;

    whole(top, "hidden_size", 8);
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_UNSUPPORTED, "config", "cannot determine the positional encoding from this config");
    ck_assert_ptr_null(reading);
    text(top, "model_type", "llama");
    pe_config_read(&reading, config, "full_attention", false, &err);
    fails(PE_CONFLICT, "parameter:layer_type", "the same positions");
    rope = object(top, "rope_parameters");
    object(rope, "a");
    object(rope, "b");
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_MISSING, "parameter:layer_type", "differ: a, b");
    pe_config_read(&reading, config, "c", false, &err);
    fails(PE_INVALID, "parameter:layer_type", "no layer_type 'c'; it has a, b");
    begin();
    text(top, "model_type", "bert");
    text(top, "position_embedding_type", "relative_key");
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_UNSUPPORTED, "key:position_embedding_type", "relative_key is not offered");
    begin();
    model("nanochat");
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_UNSUPPORTED, "config", "the other way round");
    begin();
    model("gemma4_vision");
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_UNSUPPORTED, "config", "each half of a head");
    begin();
    model("wav2vec2-conformer");
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_UNSUPPORTED, "config", "unless position_embeddings_type is rotary");
    begin();
    model("gemma4_text");
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_UNSUPPORTED, "config", "the layers of gemma4_text differ");
    begin();
    model("llama");
    text(top, "rope_scaling", "linear");
    pe_config_read(&reading, config, NULL, false, &err);
    fails(PE_INVALID, "key:rope_scaling", "must be an object");
}

/* A value of the config that a parameter does not take, at its key. */
TEST(test_parameters_refused)
{
    static const struct {
        const char *type;
        double factor;
        enum pe_status status;
        const char *where, *part;
    } table[] = {
        {"nope", 2, PE_UNSUPPORTED, "key:rope_scaling.type", "'nope' is not offered"},
        {"axial", 2, PE_UNSUPPORTED, "key:rope_scaling.type", "of pictures"},
        {"linear", -1, PE_OUT_OF_RANGE, "key:rope_scaling.factor", "rope_scaling.factor: factor"},
        {"linear", 2, PE_UNKNOWN_PARAMETER, "key:rope_scaling.z", "no parameter of rope"},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct pe_params params = {0};
        struct pe_config_node *rope;
        struct pe_scheme *scheme;
        begin();
        model("llama");
        rope = object(top, "rope_scaling");
        text(rope, "type", table[i].type);
        number(rope, "factor", table[i].factor);
        number(rope, "z", 1);
        reading = read_layer(NULL, true);
        pe_config_scheme(&scheme, reading, &params, &err);
        fails(table[i].status, table[i].where, table[i].part);
        ck_assert_ptr_null(scheme);
        pe_params_free(&params);
    }
}

/* A width is a quotient of two keys, which has to be whole. */
TEST(test_quotient_refused)
{
    struct pe_params params = {0};

    text(top, "model_type", "llama");
    whole(top, "hidden_size", 10);
    whole(top, "num_attention_heads", 4);
    reading = read_layer(NULL, false);
    pe_config_fill(reading, &params, &err);
    fails(PE_INVALID, "key:hidden_size",
          "hidden_size must be a whole multiple of num_attention_heads, for dim is their quotient");
    pe_params_free(&params);
}

TEST(test_list_refused)
{
    struct pe_params params = {0};
    struct pe_config_node *rope, *list;

    model("qwen2_vl");
    rope = object(top, "rope_scaling");
    ck_assert(!pe_config_set_list(rope, "mrope_section", &list, &err));
    whole(list, NULL, 2);
    text(list, NULL, "two");
    reading = read_layer(NULL, false);
    pe_config_fill(reading, &params, &err);
    fails(PE_INVALID, "key:rope_scaling.mrope_section",
          "element 1 of mrope_section is not a number");
    pe_params_free(&params);
}

/* What neither the traits of a model nor attention here have is told, and a scale unless that is
 * given. */
TEST(test_attention)
{
    static const struct {
        const char *pairs;
        bool scale_given;
        const char *key; /* NULL: no warning */
    } table[] = {
        {"scale_attn_by_inverse_layer_idx=true", false, "scale_attn_by_inverse_layer_idx"},
        {"scale_attn_by_inverse_layer_idx=true", true, NULL},
        {"scale_attn_by_inverse_layer_idx=false", false, NULL},
        {"attention_multiplier=0.0078125 sliding_window=4096", false, NULL},
        {"use_logn_attn=true", true, "use_logn_attn"},
        {"use_logn_attn=false", true, NULL},
        {"rope_scaling.mscale_all_dim=1", false, NULL}, /* llama's code does not read it */
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        begin();
        model("llama");
        pairs_add(table[i].pairs);
        reading = read_layer(NULL, false);
        ck_assert(!pe_config_attention(reading, table[i].scale_given, &err));
        const char *warning = pe_config_warning(reading, 0);
        ck_assert_msg(!warning == !table[i].key, "%s: %s", table[i].pairs, warning);
        ck_assert_msg(!warning || !strncmp(warning, table[i].key, strlen(table[i].key)), "%s",
                      warning);
    }
}

/* Everything that can be short of memory, at each limit up to what is enough. */
static enum pe_status within(struct pe_work *work)
{
    struct pe_config_reading *made = NULL;
    struct pe_config_node *node;
    struct pe_params params = {0};
    struct pe_scheme *scheme = NULL;
    struct pe_config *limited;
    char long_text[3000];

    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    if (pe_config_new(&limited, work, &err))
        return err.status;
    node = pe_config_top(limited);
    if (!pe_config_set_text(node, "model_type", "deepseek_v3", &err) &&
        !pe_config_set_bool(node, "rope_interleave", true, &err) &&
        !pe_config_set_text(node, "other", long_text, &err) &&
        !pe_config_set_object(node, "rope_scaling", &node, &err) &&
        !pe_config_set_text(node, "type", "linear", &err) &&
        !pe_config_set_integer(node, "factor", 2, &err) &&
        !pe_config_set_numbers(node, long_text, (double[300]){1}, 300, &err) &&
        !pe_config_read(&made, limited, NULL, false, &err))
        pe_config_scheme(&scheme, made, &params, &err);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    pe_config_reading_free(made);
    pe_config_free(limited);
    return err.status;
}

TEST(test_memory)
{
    struct pe_work_limits limits = {.size = sizeof(limits)};
    size_t refused = 0;

    for (limits.memory_max = 64;; limits.memory_max += 512) {
        struct pe_work *work;
        enum pe_status status;
        err = (struct pe_error){0};
        ck_assert(!pe_work_new(&work, &limits, &err));
        status = within(work);
        ck_assert_uint_eq(pe_work_memory(work), 0);
        pe_work_free(work);
        if (!status)
            break;
        ck_assert_msg(status == PE_OUT_OF_MEMORY, "%s", err.detail);
        refused++;
    }
    ck_assert_uint_gt(limits.memory_max, 3000 * 2 + 300 * sizeof(double));
    ck_assert_uint_gt(refused, 20);
}

CHECK_WAY(.before = begin, .after = end);
