/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/scheme_fixture.h"

static void expect_refused(const struct pe_attention_spec *spec, const char *change,
                           enum pe_status expected, const char *where, const char *says)
{
    struct pe_attention *attention = (struct pe_attention *)spec;
    struct pe_error err = {0};
    const enum pe_status status = pe_attention_new(&attention, spec, NULL, NULL, &err);

    ck_assert_msg(status == expected && err.status == status, "%s: %s, %s", change,
                  pe_status_code(status), err.detail);
    ck_assert_ptr_null(attention);
    ck_assert_str_eq(err.where, where);
    ck_assert_msg(strstr(err.detail, says), "%s: '%s' does not say '%s'", change, err.detail, says);
}

/* A good request with this scheme that a change breaks. */
#define REFUSED(of, change, status, where, says)                                                   \
    do {                                                                                           \
        struct pe_attention_spec spec = spec_of(&p, &in, of);                                      \
        const struct pe_tensor rel = {PE_F32, 2, {9, 8}, spec.q.data};                             \
        if (of == shaw)                                                                            \
            spec.rel_k = rel;                                                                      \
        change;                                                                                    \
        expect_refused(&spec, #change, status, where, says);                                       \
    } while (0)

TEST(refused)
{
    const struct problem p =
        PROBLEM(.dtype = PE_F32, .batch = 1, .heads = 4, .kv_heads = 2, .queries = 5, .keys = 5,
                .head_dim = 8, .value_dim = 6, .query_start = NAN, .scale = NAN,
                .output = PE_ATTENTION_OUTPUT);
    struct pe_scheme *none = NULL, *shaw = scheme_new("shaw", "max_relative_position=4"),
                     *alibi = scheme_new("alibi", "heads=8"), *rope = scheme_new("rope", "dim=16"),
                     *table = scheme_new("sinusoidal", "dim=8");
    const struct pe_tensor absent = {0};
    OWNED_INPUTS in = inputs_new(&p);

    REFUSED(none, spec.k = absent, PE_MISSING, "tensor:k", "k");
    REFUSED(none, spec.q.rank = 3, PE_SHAPE_MISMATCH, "tensor:q", "3");
    REFUSED(none, spec.k.dtype = PE_F16, PE_INVALID, "tensor:k", "f16");
    REFUSED(none, spec.q.dtype = PE_I64, PE_UNSUPPORTED, "tensor:q", "i64");
    REFUSED(none, spec.k.shape[0] = 2, PE_SHAPE_MISMATCH, "tensor:k", "expected 1");
    REFUSED(none, spec.k.shape[1] = 3, PE_SHAPE_MISMATCH, "tensor:k", "multiple of the 3");
    REFUSED(none, spec.k.shape[1] = 0, PE_SHAPE_MISMATCH, "tensor:k", "multiple of the 0");
    REFUSED(none, spec.k.shape[3] = 7, PE_SHAPE_MISMATCH, "tensor:k", "expected 8");
    REFUSED(none, spec.q.shape[3] = spec.k.shape[3] = 0, PE_SHAPE_MISMATCH, "tensor:q",
            "at least 1");
    REFUSED(none, spec.v = absent, PE_MISSING, "tensor:v", "v");
    REFUSED(none, spec.v.shape[2] = 6, PE_SHAPE_MISMATCH, "tensor:v", "expected 5");
    REFUSED(none, spec.v.shape[1] = 1, PE_SHAPE_MISMATCH, "tensor:v", "expected 2");
    REFUSED(none, spec.rel_k = rel, PE_CONFLICT, "tensor:rel_k", "shaw");
    REFUSED(shaw, spec.rel_k = absent, PE_MISSING, "tensor:rel_k", "[9, 8]");
    REFUSED(shaw, spec.rel_k.shape[0] = 8, PE_SHAPE_MISMATCH, "tensor:rel_k", "[9, 8]");
    REFUSED(shaw, spec.rel_k.rank = 1, PE_SHAPE_MISMATCH, "tensor:rel_k", "[9, 8]");
    REFUSED(shaw, spec.rel_v = rel, PE_SHAPE_MISMATCH, "tensor:rel_v", "[9, 6]");
    REFUSED(alibi, , PE_SHAPE_MISMATCH, "tensor:q", "4");
    REFUSED(rope, , PE_SHAPE_MISMATCH, "tensor:q", "16");
    REFUSED(table, , PE_UNSUPPORTED, "parameter:encoding", "embeddings");
    REFUSED(none, spec.scale = 0, PE_OUT_OF_RANGE, "parameter:scale", "got 0");
    REFUSED(none, spec.scale = -1, PE_OUT_OF_RANGE, "parameter:scale", "got -1");
    REFUSED(none, spec.scale = INFINITY, PE_OUT_OF_RANGE, "parameter:scale", "got inf");
    REFUSED(none, spec.query_start = 0.5, PE_INVALID, "parameter:query_start", "0.5");
    REFUSED(none, spec.query_start = -INFINITY, PE_OUT_OF_RANGE, "parameter:query_start", "2^53");
    REFUSED(none, spec.query_start = 0x1p53 - 2, PE_OUT_OF_RANGE, "parameter:query_start", "2^53");
    REFUSED(none, spec.mask = rel, PE_SHAPE_MISMATCH, "tensor:mask", "[1, 4, 5, 5]");
    REFUSED(none, spec.bias.rank = 5, PE_SHAPE_MISMATCH, "tensor:bias", "whole or 1");
    REFUSED(none, spec.sinks = rel, PE_SHAPE_MISMATCH, "tensor:sinks", "[heads] = [4]");
    REFUSED(none, spec.softcap = NAN, PE_OUT_OF_RANGE, "parameter:softcap", "nan");
    REFUSED(none, spec.has_window = true;
            spec.window_left = -2, PE_OUT_OF_RANGE, "parameter:window_left", "-2");
    REFUSED(none, spec.temperature.strength = 1, PE_OUT_OF_RANGE, "parameter:temperature_length",
            "between 1");
    REFUSED(none, spec.norm = (enum pe_attention_norm)3, PE_INVALID, "parameter:norm", "before");
    REFUSED(none, spec.cu_seqlens = rel, PE_SHAPE_MISMATCH, "tensor:cu_seqlens", "one list");
    REFUSED(none, spec.cu_seqlens = ((struct pe_tensor){PE_I32, 1, {0}, spec.q.data}),
            PE_SHAPE_MISMATCH, "tensor:cu_seqlens", "one list");
    for (int dtype = 0; dtype < PE_DTYPES; dtype++)
        if (dtype == PE_F16 || dtype == PE_BF16 || dtype == PE_BOOL)
            REFUSED(none, spec.cu_seqlens = ((struct pe_tensor){dtype, 1, {2}, spec.q.data}),
                    PE_INVALID, "tensor:cu_seqlens", "must be i32");
    REFUSED(none, spec.positions.count = 5, PE_CONFLICT, "parameter:positions", "turns nothing");
    REFUSED(none, spec.pos_query = rel, PE_CONFLICT, "tensor:pos_query", "deberta-log");
    REFUSED(none, spec.q.shape[2] = (size_t)1 << 61, PE_TOO_LARGE, "tensor:q", "63 bits");
    /* No tensor holds an element; the answer would have 2^80. */
    REFUSED(none, spec.q.shape[2] = spec.k.shape[2] = (size_t)1 << 40;
            spec.output = PE_ATTENTION_SCORES, PE_TOO_LARGE, "tensor:k", "63 bits");
    REFUSED(none, spec.q.shape[2] = spec.k.shape[2] = spec.v.shape[2] = (size_t)1 << 40;
            spec.mask =
                ((struct pe_tensor){PE_F32, 2, {(size_t)1 << 40, (size_t)1 << 40}, in.q.data}),
            PE_TOO_LARGE, "tensor:mask", "63 bits");
    /* Packed keys of one column take a whole panel each. */
    REFUSED(none, spec.q.shape[1] = spec.k.shape[1] = (size_t)1 << 53;
            spec.q.shape[2] = spec.k.shape[2] = 1; spec.v = absent;
            spec.output = PE_ATTENTION_SCORES, PE_TOO_LARGE, "tensor:k",
            "9007199254740992 heads of 8 x 1 elements");
    pe_scheme_free(shaw);
    pe_scheme_free(alibi);
    pe_scheme_free(rope);
    pe_scheme_free(table);
    pe_attention_free(NULL);
}

/* Positions and packed sequences that do not fit the tokens, and ones that would be ignored. */
TEST(tokens_refused)
{
    static double positions[16];
    static int32_t ends[] = {0, 2, 5, 5, 9};
    const struct pe_tensor list = {PE_I32, 1, {3}, ends};
    const struct problem p =
        PROBLEM(.dtype = PE_F32, .batch = 2, .heads = 2, .kv_heads = 2, .queries = 5, .keys = 4,
                .head_dim = 8, .value_dim = 8, .query_start = NAN, .scale = NAN,
                .output = PE_ATTENTION_SCORES);
    struct pe_scheme *none = NULL, *shaw = NULL, *rope = scheme_new("rope", "dim=8"),
                     *alibi = scheme_new("alibi", "heads=2");
    OWNED_INPUTS in = inputs_new(&p);

#define POSITIONS(rows, tokens)                                                                    \
    ((struct pe_positions){.values = positions, .batch = (rows), .count = (tokens)})
    REFUSED(rope, spec.positions = POSITIONS(1, 4), PE_SHAPE_MISMATCH, "parameter:positions",
            "positions are 4, and q has 5 tokens");
    REFUSED(rope, spec.positions = POSITIONS(3, 5), PE_SHAPE_MISMATCH, "parameter:positions",
            "positions has 3 rows, and the batch is 2");
    REFUSED(rope, spec.positions = POSITIONS(1, 5); spec.key_positions = POSITIONS(2, 5),
                                                    PE_SHAPE_MISMATCH, "parameter:key_positions",
                                                    "key_positions are 5, and k has 4 tokens");
    REFUSED(rope, spec.positions = POSITIONS(1, 5); spec.key_positions = POSITIONS(3, 4),
                                                    PE_SHAPE_MISMATCH, "parameter:key_positions",
                                                    "key_positions has 3 rows");
    REFUSED(rope, spec.key_positions = POSITIONS(1, 4), PE_MISSING, "parameter:positions",
            "q needs positions too");
    REFUSED(rope, spec.positions = POSITIONS(1, 5), PE_MISSING, "parameter:key_positions",
            "positions are those of 5 queries; 4 keys need key_positions");
    REFUSED(alibi, spec.positions = POSITIONS(1, 5), PE_CONFLICT, "parameter:positions",
            "alibi turns nothing");
    REFUSED(none, spec.temperature = ((struct pe_temperature){0.1, 4, 1});
            spec.key_positions = POSITIONS(1, 4), PE_CONFLICT, "parameter:key_positions",
            "turns nothing");
    REFUSED(none, spec.cu_seqlens_k = list, PE_MISSING, "tensor:cu_seqlens",
            "the queries need cu_seqlens");
    REFUSED(none, spec.cu_seqlens = list, PE_SHAPE_MISMATCH, "tensor:cu_seqlens", "q has batch 2");
    /* The batch of 1. */
#define ONE spec.q.shape[0] = spec.k.shape[0] = spec.v.shape[0] = 1
    REFUSED(none, ONE; spec.cu_seqlens = list;
            spec.query_start = 0, PE_CONFLICT, "parameter:query_start", "leave out query_start");
    REFUSED(none, ONE; spec.cu_seqlens = list, PE_MISSING, "tensor:cu_seqlens_k",
                       "there are 5 queries and 4 keys");
    REFUSED(none, ONE; spec.cu_seqlens = spec.cu_seqlens_k = list;
            spec.cu_seqlens_k.shape[0] = 2, PE_SHAPE_MISMATCH, "tensor:cu_seqlens_k",
            "has 2 entries, cu_seqlens 3");
    REFUSED(none, ONE; spec.cu_seqlens = spec.cu_seqlens_k = list;
            spec.cu_seqlens.data = NULL, PE_INVALID, "tensor:cu_seqlens", "cu_seqlens has no data");
    REFUSED(none, spec.bias = ((struct pe_tensor){PE_F32, 1, {4}, NULL}), PE_INVALID, "tensor:bias",
            "bias has no data");
    REFUSED(none, spec.mask = ((struct pe_tensor){PE_BOOL, 1, {4}, NULL}), PE_INVALID,
            "tensor:mask", "mask has no data");
#undef ONE
#undef POSITIONS
    pe_scheme_free(rope);
    pe_scheme_free(alibi);
}

/* Everything behind `output` is off in a spec of a program that was built before it was there. */
TEST(shorter_specs_are_taken)
{
    const struct problem p =
        PROBLEM(.dtype = PE_F32, .batch = 1, .heads = 2, .kv_heads = 2, .queries = 3, .keys = 3,
                .head_dim = 4, .value_dim = 4, .query_start = NAN, .scale = NAN,
                .output = PE_ATTENTION_OUTPUT, .position = NOWHERE);
    OWNED_INPUTS in = inputs_new(&p);
    struct pe_attention_spec spec = spec_of(&p, &in, NULL);
    struct pe_attention *attention;
    struct pe_error err = {0};
    float full[24], shorter[24];

    ck_assert(!pe_attention_new(&attention, &spec, NULL, NULL, &err));
    ck_assert(!pe_attention_fill(attention, 0, 6, full, NULL, &err));
    pe_attention_free(attention);
    spec.size = offsetof(struct pe_attention_spec, has_window);
    spec.chunk = 1; /* is not read */
    ck_assert(!pe_attention_new(&attention, &spec, NULL, NULL, &err));
    ck_assert(!pe_attention_fill(attention, 0, 6, shorter, NULL, &err));
    pe_attention_free(attention);
    ck_assert_mem_eq(full, shorter, sizeof(full));
}

/* Whether attention takes an encoding is known before its scheme is prepared. */
TEST(refused_before_any_work)
{
    const struct pe_encoding *encoding = pe_encoding_find("sinusoidal");
    struct pe_attention_spec spec = {.size = sizeof(spec),
                                     .q = {PE_F32, 4, {1, 1, 2, 8}},
                                     .k = {PE_F32, 4, {1, 1, 2, 8}},
                                     .output = PE_ATTENTION_SCORES};
    struct pe_params params;
    struct pe_scheme *scheme;
    struct pe_output output;
    struct pe_error err = {0};

    pe_params_init(&params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    ck_assert_int_eq(pe_params_infer(&params, "dim", 8, &err), PE_OK);
    ck_assert_int_eq(pe_scheme_open(&scheme, encoding, &params, NULL, &err), PE_OK);
    spec.scheme = scheme;
    ck_assert_int_eq(pe_attention_shape(&spec, &output, sizeof(output), &err), PE_UNSUPPORTED);
    ck_assert_str_eq(err.where, "parameter:encoding");
    pe_scheme_free(scheme);
}

static void expect_made(const struct pe_attention_spec *spec)
{
    struct pe_attention *attention;
    struct pe_error err = {0};

    ck_assert_msg(!pe_attention_new(&attention, spec, NULL, NULL, &err), "%s", err.detail);
    pe_attention_free(attention);
}

TEST(transformer_xl_refused)
{
    const struct problem p =
        PROBLEM(.position = TRANSFORMER_XL, .dtype = PE_F32, .batch = 1, .heads = 2, .kv_heads = 2,
                .queries = 3, .keys = 3, .head_dim = 4, .value_dim = 6, .row_dim = 10,
                .query_start = NAN, .scale = NAN);
    OWNED_INPUTS in = inputs_new(&p);
    struct pe_scheme *scheme = scheme_new("transformer-xl", "dim=10"), *past, *narrow, *computed;
    const struct pe_attention_spec good = spec_of(&p, &in, scheme);
    struct pe_attention_spec spec = good;

    expect_made(&spec);
    spec.w_r.rank = 0;
    expect_refused(&spec, "", PE_MISSING, "tensor:w_r", "");
    spec = good;
    spec.w_r.shape[1] = 9;
    expect_refused(&spec, "", PE_SHAPE_MISMATCH, "tensor:w_r", "");
    spec = good;
    spec.pos_bias_u.shape[0] = 1;
    expect_refused(&spec, "", PE_SHAPE_MISMATCH, "tensor:pos_bias_u", "");
    spec = good;
    spec.pos_bias_v.dtype = PE_F16;
    expect_refused(&spec, "", PE_INVALID, "tensor:pos_bias_v", "");
    spec = good;
    spec.query_start = -0x1p53 + 1;
    expect_refused(&spec, "", PE_OUT_OF_RANGE, "parameter:query_start", "");
    spec = good;
    spec.rel_k = spec.w_r;
    expect_refused(&spec, "", PE_CONFLICT, "tensor:rel_k", "");
    spec = good;
    spec.scheme = NULL;
    expect_refused(&spec, "", PE_CONFLICT, "tensor:w_r", "");
    spec = good;
    spec.scheme = past = scheme_new("transformer-xl", "dim=10 direction=past");
    expect_refused(&spec, "", PE_CONFLICT, "parameter:direction", "");
    spec.causal = true;
    expect_made(&spec);
    spec =
        SIZED(pe_attention_spec, .q = in.q, .k = in.k, .v = in.v, .scale = NAN, .query_start = NAN);
    spec.scheme = narrow = scheme_new("shaw", "max_relative_position=2 vectors=sinusoidal dim=6");
    expect_refused(&spec, "", PE_SHAPE_MISMATCH, "tensor:q", "");
    spec.scheme = computed = scheme_new("shaw", "max_relative_position=2 vectors=sinusoidal dim=4");
    expect_made(&spec);
    spec.output = PE_ATTENTION_OUTPUT;
    expect_refused(&spec, "", PE_SHAPE_MISMATCH, "tensor:v", "");
    spec.rel_v = in.w_r;
    expect_refused(&spec, "", PE_CONFLICT, "tensor:rel_v", "");
    pe_scheme_free(computed);
    pe_scheme_free(narrow);
    pe_scheme_free(past);
    pe_scheme_free(scheme);
}
