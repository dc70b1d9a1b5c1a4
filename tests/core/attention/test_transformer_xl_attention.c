/* SPDX-License-Identifier: MIT */

/* ((q + u) k + (q + v) W_r R(i - j)) scale: against the formula, one query and key at a time. */

#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/scheme_fixture.h"

static struct problem problem_xl(unsigned i)
{
    struct problem p = problem_of(i);

    p.position = TRANSFORMER_XL;
    p.row_dim = i % 3 ? 1 + i * 7 % 300 : 0;
    p.no_u = i % 5 == 0;
    p.no_v = i % 7 == 0;
    return p;
}

/* Grouped heads, causal or not, queries before, among and behind the keys, rows wider and narrower
 * than heads, or the rows themselves. */
TEST(equals_the_formula)
{
    size_t compared = 0;

    for (unsigned i = 0; i < 90; i++) {
        const struct problem p = problem_xl(i);
        compared += attention_compare(&p, NULL);
    }
    printf("transformer-xl: %zu elements equal to the formula\n", compared);
    ck_assert_uint_gt(compared, 100000);
}

/* One key that every query is far from, and one query far before all keys. */
TEST(far_away)
{
    for (int i = 0; i < 2; i++) {
        const struct problem p =
            PROBLEM(.position = TRANSFORMER_XL, .dtype = PE_F64, .batch = 1, .heads = 1,
                    .kv_heads = 1, .queries = i ? 1 : 5, .keys = i ? 5 : 1, .head_dim = 4,
                    .value_dim = 2, .query_start = i ? -100000 : 100000, .scale = NAN,
                    .output = PE_ATTENTION_SCORES);
        attention_compare(&p, NULL);
    }
}

/* The same bytes however the rows are cut and whoever projects the distances. */
TEST(same_bytes)
{
    struct pe_error err = {0};
    struct pe_pool *pool;

    ck_assert(!pe_pool_new(&pool, 3, false, &err));
    for (unsigned i = 0; i < 24; i++) {
        const struct problem p = problem_xl(i);
        OWNED_INPUTS in = inputs_new(&p);
        size_t size, other_size;
        OWNED_MEMORY void *alone = attention_run(&p, &in, NULL, 1000, &size);
        OWNED_MEMORY void *other = attention_run(&p, &in, pool, 7, &other_size);
        ck_assert(size == other_size && memcmp(alone, other, size) == 0);
    }
    pe_pool_free(pool);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void expect(const struct pe_attention_spec *spec, enum pe_status status, const char *where)
{
    struct pe_attention *attention;
    struct pe_error err = {0};

    ck_assert_msg(pe_attention_new(&attention, spec, NULL, NULL, &err) == status, "%s: %s",
                  pe_status_code(err.status), err.detail);
    ck_assert_msg(strcmp(err.where, where) == 0, "%s: %s", err.where, err.detail);
    pe_attention_free(attention);
}

TEST(refused)
{
    const struct problem p =
        PROBLEM(.position = TRANSFORMER_XL, .dtype = PE_F32, .batch = 1, .heads = 2, .kv_heads = 2,
                .queries = 3, .keys = 3, .head_dim = 4, .value_dim = 6, .row_dim = 10,
                .query_start = NAN, .scale = NAN);
    OWNED_INPUTS in = inputs_new(&p);
    struct pe_scheme *scheme = scheme_new("transformer-xl", "dim=10"), *past, *narrow, *made;
    const struct pe_attention_spec good = spec_of(&p, &in, scheme);
    struct pe_attention_spec spec = good;

    expect(&spec, PE_OK, "");
    spec.w_r.rank = 0;
    expect(&spec, PE_MISSING, "tensor:w_r");
    spec = good;
    spec.w_r.shape[1] = 9;
    expect(&spec, PE_SHAPE_MISMATCH, "tensor:w_r");
    spec = good;
    spec.pos_bias_u.shape[0] = 1;
    expect(&spec, PE_SHAPE_MISMATCH, "tensor:pos_bias_u");
    spec = good;
    spec.pos_bias_v.dtype = PE_F16;
    expect(&spec, PE_INVALID, "tensor:pos_bias_v");
    spec = good;
    spec.query_start = -0x1p53 + 1;
    expect(&spec, PE_OUT_OF_RANGE, "parameter:query_start");
    spec = good;
    spec.rel_k = spec.w_r;
    expect(&spec, PE_CONFLICT, "tensor:rel_k");
    spec = good;
    spec.scheme = NULL;
    expect(&spec, PE_CONFLICT, "tensor:w_r");
    spec = good;
    spec.scheme = past = scheme_new("transformer-xl", "dim=10 direction=past");
    expect(&spec, PE_CONFLICT, "parameter:direction");
    spec.causal = true;
    expect(&spec, PE_OK, "");
    spec =
        SIZED(pe_attention_spec, .q = in.q, .k = in.k, .v = in.v, .scale = NAN, .query_start = NAN);
    spec.scheme = narrow = scheme_new("shaw", "max_relative_position=2 vectors=sinusoidal dim=6");
    expect(&spec, PE_SHAPE_MISMATCH, "tensor:q");
    spec.scheme = made = scheme_new("shaw", "max_relative_position=2 vectors=sinusoidal dim=4");
    expect(&spec, PE_OK, "");
    spec.output = PE_ATTENTION_OUTPUT;
    expect(&spec, PE_SHAPE_MISMATCH, "tensor:v");
    spec.rel_v = in.w_r;
    expect(&spec, PE_CONFLICT, "tensor:rel_v");
    pe_scheme_free(made);
    pe_scheme_free(narrow);
    pe_scheme_free(past);
    pe_scheme_free(scheme);
}
