/* SPDX-License-Identifier: MIT */

/* The encodings, values and warnings of configs, and the tree of their values. */

#include <math.h>

#include "tests/check_main.h"
#include "tests/core/config_fixture.h"

static void llama3(struct pe_config_node *node)
{
    struct pe_config_node *rope = object(node, "rope_scaling");

    text(node, "model_type", "llama");
    whole(node, "hidden_size", 64);
    whole(node, "num_attention_heads", 8);
    whole(node, "max_position_embeddings", 131072);
    number(node, "rope_theta", 500000);
    text(rope, "rope_type", "llama3");
    number(rope, "factor", 8);
    number(rope, "low_freq_factor", 1);
    number(rope, "high_freq_factor", 4);
    whole(rope, "original_max_position_embeddings", 8192);
}

/* The angle by which a scheme of 8 dimensions turns a pair at a position below a half turn. */
static double angle(const struct pe_scheme *scheme, size_t pair, double position)
{
    double q[8] = {0};
    const struct pe_tensor tensor = {.dtype = PE_F64, .rank = 2, .shape = {1, 8}, .data = q};
    const struct pe_rotation_spec spec = SIZED(
        pe_rotation_spec, .scheme = scheme, .layout = PE_LAYOUT_HALF,
        .output_layout = PE_LAYOUT_HALF, .positions = {.start = position, .step = 1, .count = 1});
    struct pe_rotation *rotation;
    struct pe_axes axes;

    q[pair] = 1;
    ck_assert_msg(!pe_axes_parse(&axes, "sd", &tensor, 8, &err), "%s", err.detail);
    ck_assert_msg(!pe_rotation_new(&rotation, &spec, PE_F64, NULL, NULL, &err), "%s", err.detail);
    ck_assert_msg(!pe_rotate(rotation, q, &axes, 0, 1, NULL, &err), "%s", err.detail);
    pe_rotation_free(rotation);
    return atan2(q[pair + 4], q[pair]);
}

/* The frequency of a pair as the paper of Llama 3 scales it, in doubles. */
static double llama3_frequency(size_t pair)
{
    const double plain = pow(500000, -2 * (double)pair / 8), length = 8192 * plain / (2 * M_PI);
    const double smooth = (length - 1) / (4 - 1);

    return length < 1 ? plain / 8 : length > 4 ? plain : plain / 8 * (1 - smooth) + plain * smooth;
}

TEST(test_llama3)
{
    struct pe_scheme *scheme;

    llama3(top);
    ck_assert_ptr_null(pe_config_layer_type(config, 0));
    reading = read_layer(NULL, true);
    ck_assert_str_eq(pe_config_encoding(reading), "rope");
    ck_assert_str_eq(pe_config_layout(reading), "half");
    ck_assert_int_eq(pe_config_layout_source(reading)->from, PE_CONFIG_MODEL);
    scheme = scheme_of(reading);
    ck_assert_str_eq(origin(reading, "dim"), "derived hidden_size / num_attention_heads");
    ck_assert_str_eq(origin(reading, "base"), "key rope_theta");
    ck_assert_str_eq(origin(reading, "factor"), "key rope_scaling.factor");
    ck_assert_str_eq(origin(reading, "arithmetic"), "default -");
    ck_assert_str_eq(origin(reading, "beta_fast"), "nowhere");
    ck_assert_ptr_null(pe_config_warning(reading, 0));
    for (size_t pair = 0; pair < 4; pair++) {
        const double position = pair == 3 ? 16384 : 1, got = angle(scheme, pair, position);
        ck_assert_msg(fabs(got / (llama3_frequency(pair) * position) - 1) < 1e-12, "%zu: %.17g",
                      pair, got);
    }
    pe_scheme_free(scheme);
}

TEST(test_given_params_stay)
{
    struct pe_params params;

    llama3(top);
    reading = read_layer(NULL, false);
    ck_assert(!pe_params_parse(&params, "rope", "dim=16 rotary_dim=8 base=7", &err));
    ck_assert_msg(!pe_config_fill(reading, &params, &err), "%s", err.detail);
    ck_assert_str_eq(origin(reading, "base"), "given -");
    ck_assert_str_eq(origin(reading, "dim"), "given -");
    ck_assert_str_eq(origin(reading, "rope_type"), "key rope_scaling.rope_type");
    pe_params_free(&params);

    reading = read_layer(NULL, false);
    ck_assert(!pe_params_parse(&params, "alibi", "heads=2", &err));
    ck_assert(pe_config_fill(reading, &params, &err) == PE_INVALID);
    ck_assert_str_eq(err.detail, "the parameters are of another encoding than rope");
    pe_params_free(&params);
}

/* Two parameters say how much of a head turns: a caller who gives one has said it, and the config's
 * other one is left.
 */
TEST(test_given_rotary_part_stays)
{
    struct pe_params params;

    model("phi");
    whole(top, "rotary_dim", 2);
    reading = read_layer(NULL, false);
    ck_assert(!pe_params_parse(&params, "rope", "dim=8 partial_rotary_factor=0.75", &err));
    ck_assert_msg(!pe_config_fill(reading, &params, &err), "%s", err.detail);
    ck_assert_str_eq(origin(reading, "partial_rotary_factor"), "given -");
    ck_assert_str_eq(origin(reading, "rotary_dim"), "nowhere");
    pe_params_free(&params);
}

/* The first of the parts about text that has something in it is read before the top. */
TEST(test_part_about_text)
{
    object(top, "text_config");
    llama3(top);
    llama3(object(top, "language_config"));
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(origin(reading, "base"), "key language_config.rope_theta");
    ck_assert_str_eq(origin(reading, "factor"), "key language_config.rope_scaling.factor");
    ck_assert_ptr_null(pe_config_warning(reading, 0));
}

/* An empty part about text leaves the top to be read. */
TEST(test_empty_part_about_text)
{
    object(top, "text_config");
    llama3(top);
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(origin(reading, "base"), "key rope_theta");
}

/* ---- layers ---------------------------------------------------------------------------------- */

TEST(test_layers_of_the_model)
{
    static const struct {
        const char *layer_type, *base;
        double angle;
    } table[] = {
        {"full_attention", "model -", 1e-3},    /* (1e6)^(-1/2) */
        {"sliding_attention", "model -", 1e-2}, /* (1e4)^(-1/2) */
    };

    model("gemma3_text");
    for (size_t i = 0; i < 2; i++) {
        reading = read_layer(table[i].layer_type, false);
        OWNED_SCHEME scheme = scheme_of(reading);
        ck_assert_str_eq(pe_config_layer_type(config, i), table[i].layer_type);
        ck_assert_str_eq(origin(reading, "base"), table[i].base);
        ck_assert(fabs(angle(scheme, 2, 1) / table[i].angle - 1) < 1e-12);
    }
    ck_assert_ptr_null(pe_config_layer_type(config, 2));
}

TEST(test_layers_of_the_config)
{
    struct pe_config_node *rope;

    model("llama");
    rope = object(top, "rope_parameters");
    number(rope, "attention_factor", 1);
    number(object(rope, "far"), "rope_theta", 5);
    number(object(rope, "ne.ar"), "rope_theta", 6);
    ck_assert_str_eq(pe_config_layer_type(config, 0), "far");
    ck_assert_str_eq(pe_config_layer_type(config, 1), "ne.ar");
    ck_assert_ptr_null(pe_config_layer_type(config, 2));
    reading = read_layer("ne.ar", false);
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(origin(reading, "base"), "key rope_parameters.ne.ar.rope_theta");
}

/* The only object among a rope object's members is that of all layers, named or not. */
TEST(test_one_layer_type)
{
    static const char *const wanted[] = {NULL, "every"};

    model("llama");
    number(object(object(top, "rope_parameters"), "every"), "rope_theta", 5);
    for (size_t i = 0; i < 2; i++) {
        reading = read_layer(wanted[i], false);
        pe_scheme_free(scheme_of(reading));
        ck_assert_str_eq(origin(reading, "base"), "key rope_parameters.every.rope_theta");
    }
}

/* Keys under the first layer of a type, numbered as transformers writes it, are about all layers of
 * that type; so is a key for full attention. */
TEST(test_widths_of_layers)
{
    static const struct {
        const char *pairs, *full;
    } table[] = {
        {"per_layer_config.02.head_dim=16 per_layer_config.01.head_dim=4",
         "key per_layer_config.02.head_dim"},
        {"global_head_dim=16", "key global_head_dim"},
        {"per_layer_config.x.head_dim=16", "key head_dim"},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct pe_config_node *types;
        begin();
        pairs_add("model_type=gemma4_text head_dim=8 rope_parameters.full_attention.rope_theta=50 "
                  "rope_parameters.sliding_attention.rope_theta=5");
        pairs_add(table[i].pairs);
        ck_assert(!pe_config_set_list(top, "layer_types", &types, &err));
        text(types, NULL, "sliding_attention");
        text(types, NULL, "other");
        text(types, NULL, "full_attention");
        reading = read_layer("sliding_attention", false);
        pe_scheme_free(scheme_of(reading));
        ck_assert_str_eq(origin(reading, "dim"), "key head_dim");
        reading = read_layer("full_attention", false);
        pe_scheme_free(scheme_of(reading));
        ck_assert_str_eq(origin(reading, "dim"), table[i].full);
    }
}

/* Two factors by the length of the sequence, which the caller tells. */
TEST(test_factors_by_length)
{
    static const char *const keys[] = {"key rope_scaling.short_mscale",
                                       "key rope_scaling.long_mscale"};

    for (int i = 0; i < 2; i++) {
        struct pe_params params;
        struct pe_config_node *rope;
        begin();
        pairs_add("model_type=phimoe head_dim=4 rope_scaling.type=longrope "
                  "rope_scaling.short_mscale=1.25 rope_scaling.long_mscale=1.5 "
                  "rope_scaling.original_max_position_embeddings=100");
        rope = pe_config_member(top, "rope_scaling")->value.as.node;
        ck_assert(!pe_config_set_numbers(rope, "short_factor", (double[]){1, 1}, 2, &err));
        ck_assert(!pe_config_set_numbers(rope, "long_factor", (double[]){2, 2}, 2, &err));
        reading = read_layer(NULL, true);
        ck_assert(!pe_params_parse(&params, "rope", i ? "dim=4 seq_len=101" : "dim=4", &err));
        ck_assert_msg(!pe_config_fill(reading, &params, &err), "%s", err.detail);
        ck_assert_str_eq(origin(reading, "attention_factor"), keys[i]);
        pe_params_free(&params);
    }
}

/* ---- keys that say more than one thing ------------------------------------------------------- */

/* A config that tells rotary_dim has said how much of a head rotates. */
TEST(test_rotary_parts)
{
    model("minimax_m2");
    whole(top, "rotary_dim", 2);
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(origin(reading, "rotary_dim"), "key rotary_dim");
    ck_assert_str_eq(origin(reading, "partial_rotary_factor"), "nowhere");
}

TEST(test_class_of_the_model)
{
    model("phi");
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(origin(reading, "partial_rotary_factor"), "model -");
}

/* A key of the rope object that makes another encoding of it, with a list. */
TEST(test_mrope)
{
    struct pe_config_node *rope;

    model("qwen2_vl");
    rope = object(top, "rope_scaling");
    text(rope, "type", "mrope");
    ck_assert(!pe_config_set_numbers(rope, "mrope_section", (double[]){2, 1, 1}, 3, &err));
    reading = read_layer(NULL, true);
    ck_assert_str_eq(pe_config_encoding(reading), "mrope");
    pe_scheme_free(scheme_of(reading));
    ck_assert_str_eq(origin(reading, "mrope_section"), "key rope_scaling.mrope_section");
}

TEST(test_layout)
{
    model("deepseek_v3");
    ck_assert(!pe_config_set_bool(top, "rope_interleave", false, &err));
    reading = read_layer(NULL, false);
    ck_assert_str_eq(pe_config_layout(reading), "half");
    ck_assert_int_eq(pe_config_layout_source(reading)->from, PE_CONFIG_KEY);
    ck_assert_str_eq(pe_config_layout_source(reading)->key, "rope_interleave");
}

TEST(test_weights)
{
    int64_t size;

    text(top, "model_type", "bert");
    whole(top, "max_position_embeddings", 512);
    number(top, "hidden_size", 768);
    reading = read_layer(NULL, false);
    ck_assert(pe_config_is_weights(reading));
    ck_assert_str_eq(pe_config_encoding(reading), "learned");
    ck_assert_ptr_null(pe_config_layout(reading));
    ck_assert_ptr_null(pe_config_layout_source(reading));
    ck_assert(!pe_config_size(reading, "length", &size, &err));
    ck_assert_int_eq(size, 512);
    ck_assert_str_eq(origin(reading, "length"), "key max_position_embeddings");
    ck_assert(pe_config_size(reading, "height", &size, &err) == PE_NOT_FOUND);
    err = (struct pe_error){0};
    ck_assert(pe_config_size(reading, "dim", &size, &err) == PE_INVALID);
    ck_assert_str_eq(err.where, "key:hidden_size");
}

/* ---- remarks --------------------------------------------------------------------------------- */

TEST(test_remarks)
{
    static const char *const warnings[] = {
        "text_config.rope_theta and rope_theta differ; the first is read",
        "text_config.rope_scaling.a.b is no parameter of rope and is not read",
        "text_config.rope_scaling.low_freq_factor is left out: low_freq_factor has no meaning for "
        "rope_type linear",
        "text_config.rope_twist is not read, and may be about positions",
    };
    struct pe_config_node *inner = object(top, "text_config"), *rope, *list;
    char unused[200] = "";

    text(inner, "model_type", "llama");
    whole(inner, "head_dim", 8);
    whole(inner, "rope_theta", 5);
    number(top, "rope_theta", 5); /* as JSON tells 5 and 5.0 apart */
    rope = object(inner, "rope_scaling");
    text(rope, "type", "linear");
    number(rope, "factor", 2);
    number(rope, "a.b", 3);
    number(rope, "low_freq_factor", 3);
    ck_assert(!pe_config_set_null(rope, "nothing", &err));
    ck_assert(!pe_config_set_bool(inner, "rope_twist", true, &err));
    ck_assert(!pe_config_set_list(top, "layer_types", &list, &err));
    text(list, NULL, "full_attention");
    reading = read_layer(NULL, false);
    pe_scheme_free(scheme_of(reading));
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(pe_config_warning(reading, i), warnings[i]);
    ck_assert_ptr_null(pe_config_warning(reading, 4));
    pe_config_unused(reading, path_join, unused);
    ck_assert_str_eq(unused, "layer_types text_config.rope_twist ");
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Each of many keys of one object is found again. */
TEST(test_many_members)
{
    enum { MEMBERS = 20000 };
    char key[20];

    for (int i = 0; i < MEMBERS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert(!pe_config_set_integer(top, key, i, &err));
    }
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(pe_config_member(top, key)->value.as.integer, i);
    }
    ck_assert_ptr_null(pe_config_member(top, "k"));
    ck_assert_ptr_null(pe_config_member(top, "k20000"));
}

static void values_add(struct pe_config_node *node, const char *order, double last)
{
    struct pe_config_node *list;

    for (; *order; order++) {
        const char key[] = {*order, '\0'};
        ck_assert(!pe_config_set_list(node, key, &list, &err));
        ck_assert(!pe_config_set_null(list, NULL, &err));
        ck_assert(!pe_config_set_bool(list, NULL, true, &err));
        ck_assert(!pe_config_set_text(list, NULL, "text", &err));
        ck_assert(!pe_config_set_integer(list, NULL, 1, &err));
        ck_assert(!pe_config_set_number(list, NULL, last, &err));
    }
}

/* Objects are equal whatever the order of their keys; lists are not. */
TEST(test_equal)
{
    static const struct {
        const char *order;
        double last;
        bool equal;
    } table[] = {{"abc", 2, true}, {"cab", 2, true},   {"abd", 2, false},
                 {"ab", 2, false}, {"abcd", 2, false}, {"abc", 3, false}};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const char key[] = {(char)('0' + i), '\0'};
        values_add(object(top, key), table[i].order, table[i].last);
        ck_assert_int_eq(
            pe_config_equal(&pe_config_member(top, "0")->value, &pe_config_member(top, key)->value),
            table[i].equal);
    }
}

CHECK_WAY(.before = begin, .after = end);
