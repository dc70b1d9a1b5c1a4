/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/scheme_fixture.h"

#include "core/views/view.h"

static size_t compared;

static void compare(struct problem p)
{
    compared += attention_compare(&p, NULL);
}

/* Every output, both directions, causal or not, at random sizes; clips below, at and above the
 * length; queries before, among and after the keys. */
TEST(equals_the_naive_formula)
{
    unsigned state = 5;

    compared = 0;
    for (unsigned i = 0; i < 240; i += NUMBERS_STEP_OF(13)) {
        const size_t keys = (size_t)((draw(&state) + 1) * 75), queries = 1 + i % 120;
        const struct problem p =
            PROBLEM(.position = i % 2 ? SHAW : SHAW_BACKWARDS, .dtype = i % 5 ? PE_F32 : PE_F64,
                    .batch = 1 + i % 2, .heads = 2, .kv_heads = 1 + i % 2, .queries = queries,
                    .keys = keys, .head_dim = 1 + (size_t)((draw(&state) + 1) * 20),
                    .value_dim = 1 + (size_t)((draw(&state) + 1) * 35),
                    .clip = i % 7 == 0 ? 1000 : 1 + (size_t)((draw(&state) + 1) * 60),
                    .causal = i % 3 == 0, .no_rel_v = i % 11 == 0,
                    .query_start = i % 4 ? NAN : floor(draw(&state) * 200), .scale = NAN,
                    .output = (enum pe_attention_output)(i % 3), .seed = i);
        compare(p);
    }
    printf("shaw: %zu elements equal to the naive formula\n", compared);
    ck_assert_uint_gt(compared, 100000 / NUMBERS_STEP);
}

TEST(halves)
{
    for (unsigned i = 0; i < 12; i++)
        compare(PROBLEM(.position = i % 2 ? SHAW : SHAW_BACKWARDS,
                        .dtype = i < 6 ? PE_F16 : PE_BF16, .batch = 1, .heads = 2, .kv_heads = 2,
                        .queries = 20, .keys = 30, .head_dim = 16, .value_dim = 16, .clip = 4,
                        .query_start = NAN, .scale = NAN,
                        .output = (enum pe_attention_output)(i % 3), .seed = i));
}

/* NEZHA: row c of the sinusoidal table for clipped distance c, for keys and values. */
TEST(sinusoidal_vectors)
{
    unsigned state = 6;

    compared = 0;
    for (unsigned i = 0; i < 60; i++) {
        const size_t dim = 1 + (size_t)((draw(&state) + 1) * 20);
        compare(PROBLEM(.position = SHAW_SINUSOIDAL, .dtype = i % 5 ? PE_F32 : PE_F64, .batch = 1,
                        .heads = 2, .kv_heads = 1 + i % 2, .queries = 1 + i % 40,
                        .keys = (size_t)((draw(&state) + 1) * 30), .head_dim = dim,
                        .value_dim = dim, .clip = 1 + (size_t)((draw(&state) + 1) * 20),
                        .causal = i % 3 == 0, .query_start = i % 4 ? NAN : floor(draw(&state) * 50),
                        .scale = NAN, .output = (enum pe_attention_output)(i % 3), .seed = i));
    }
    printf("shaw: %zu elements with sinusoidal vectors\n", compared);
    ck_assert_uint_gt(compared, 10000);
}

/* The table is the first rows of sinusoidal, bit for bit. */
TEST(sinusoidal_table)
{
    static const char *const dims[] = {"dim=6", "dim=7 base=100", "dim=1"};
    char text[100];

    for (size_t i = 0; i < 3; i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            snprintf(text, sizeof(text), "max_relative_position=20 vectors=sinusoidal %s", dims[i]);
            OWNED_VIEWED made = viewed_new("shaw", text, "table", "", NULL, dtype);
            OWNED_VIEWED plain =
                viewed_new("sinusoidal", dims[i], "table", "length=41", NULL, dtype);
            ck_assert(made.output->rank == 2 && made.output->shape[0] == 41);
            ck_assert_uint_eq(made.count, plain.count);
            ck_assert(memcmp(made.data, plain.data, made.count * pe_dtype_info(dtype)->size) == 0);
        }
}

/* ---- the view -------------------------------------------------------------------------------- */

TEST(buckets)
{
    for (int backwards = 0; backwards < 2; backwards++) {
        struct problem p = PROBLEM(.position = backwards ? SHAW_BACKWARDS : SHAW, .queries = 5,
                                   .keys = 9, .clip = 3, .query_start = 2);
        OWNED_SCHEME scheme = scheme_open(&p);
        const struct pe_view_type *type = pe_encoding_view(scheme->encoding, "bias");
        struct pe_error err = {0};
        struct pe_params params;
        struct pe_view *view;
        int64_t out[5 * 9];

        pe_params_init(&params, type->info.params, type->info.params_count);
        const struct {
            const char *name;
            double value;
        } given[] = {{"query_length", 5}, {"key_length", 9}, {"query_start", 2}};
        for (size_t i = 0; i < 3; i++)
            ck_assert(!pe_params_set_number(&params, (size_t)pe_params_find(&params, given[i].name),
                                            given[i].value, &err));
        ck_assert(!pe_params_finish(&params, &err));
        ck_assert(!pe_scheme_prepare(scheme, NULL, &err));
        ck_assert_msg(!pe_view_new(&view, scheme,
                                   pe_encoding_view(pe_scheme_encoding(scheme), "bias"), &params,
                                   PE_F32, NULL, &err),
                      "%s", err.detail);
        const struct pe_output *output = pe_view_output(view, 0);
        ck_assert_str_eq(output->name, "buckets");
        ck_assert(output->dtype == PE_I64 && output->shape[0] == 5 && output->shape[1] == 9);
        pe_view_fill(view, 0, 0, 5, out, NULL, &(struct pe_error){0});
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < 9; j++)
                ck_assert_int_eq(out[i * 9 + j], (int64_t)bucket_of(&p, &(struct inputs){0}, i, j));
        ck_assert_int_eq(out[0], backwards ? 5 : 1);
        pe_view_free(view);
        pe_params_free(&params);
    }
}

TEST(parameters)
{
    static const struct refused cases[] = {
        {"", PE_MISSING, "max_relative_position"},
        {"max_relative_position=0", PE_OUT_OF_RANGE, "max_relative_position"},
        {"max_relative_position=65537", PE_OUT_OF_RANGE, "max_relative_position"},
        {"max_relative_position=4 direction=k-q", PE_INVALID, "direction"},
        {"max_relative_position=4 vectors=random", PE_INVALID, "vectors"},
        {"max_relative_position=4 base=100", PE_CONFLICT, "base"},
        {"max_relative_position=4 vectors=sinusoidal", PE_MISSING, "dim"},
        {"max_relative_position=4 vectors=sinusoidal dim=0", PE_OUT_OF_RANGE, "dim"},
        {"max_relative_position=4 vectors=sinusoidal dim=4 base=1", PE_OUT_OF_RANGE, "base"},
        {"max_relative_position=4 vectors=sinusoidal dim=4", PE_OK, ""},
    };

    refusals_check("shaw", cases, COUNT_OF(cases));
}
