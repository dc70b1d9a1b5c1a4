/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/attention_reference.h"

/* ---- against the formula --------------------------------------------------------------------- */

TEST(equals_the_formula)
{
    struct pe_error err = {0};
    struct pe_pool *pool;
    size_t compared = 0;

    ck_assert(!pe_pool_new(&pool, 2, true, &err));
    for (unsigned i = 0; i < 216; i++) {
        struct problem p = problem_of(i);
        compared += attention_compare(&p, i % 2 ? pool : NULL);
    }
    pe_pool_free(pool);
    printf("none, rope, alibi: %zu elements equal to the formula\n", compared);
    ck_assert_uint_gt(compared, 100000);
}

/* A bias is added to the logits: encodings that are nothing else. */
TEST(equals_the_formula_with_a_bias)
{
    static const enum position biases[] = {T5, KERPLE_LOG, KERPLE_POWER, SANDWICH};

    for (size_t k = 0; k < COUNT_OF(biases); k++) {
        size_t compared = 0;
        for (unsigned i = 0; i < (biases[k] == T5 ? 120 : 60); i++) {
            struct problem p = problem_of(i);
            p.position = biases[k];
            compared += attention_compare(&p, NULL);
        }
        printf("position %d: %zu elements equal to the formula\n", biases[k], compared);
        ck_assert_uint_gt(compared, 50000);
    }
}

/* Everything that a model may have beside q, k and v, in many combinations. */
TEST(equals_the_formula_with_options)
{
    size_t compared = 0;

    for (unsigned i = 0; i < 420; i++) {
        const struct problem p = options_of(i);
        compared += attention_compare(&p, NULL);
    }
    printf("options: %zu elements equal to the formula\n", compared);
    ck_assert_uint_gt(compared, 1000000);
}

/* Keys enough that blocks have few rows, and that sums go in several steps of depth. */
TEST(many_keys)
{
    for (unsigned i = 0; i < 6; i++) {
        struct problem p =
            PROBLEM(.position = (enum position)(i % 4), .dtype = PE_F32, .batch = 1, .heads = 1,
                    .kv_heads = 1, .queries = 40, .keys = 30000, .head_dim = 4, .value_dim = 3,
                    .clip = 5000, .causal = i % 2, .query_start = i == 4 ? 17 : NAN, .scale = NAN,
                    .output = i < 4 ? PE_ATTENTION_OUTPUT : PE_ATTENTION_SCORES, .seed = i);
        ck_assert_uint_gt(attention_compare(&p, NULL), 100);
    }
}

/* ---- distance -------------------------------------------------------------------------------- */

/* One query vector at every row, one key vector at every key: rope's scores are constant along
 * diagonals, whatever the first position. */
/* Keys that are all alike, more of them than a piece of a row has: the first query sees one less.
 */
TEST(rows_of_several_pieces)
{
    enum { KEYS = (1 << 20) + 40 };
    OWNED_MEMORY float *ones = malloc(KEYS * sizeof(*ones)), *out = malloc(2 * KEYS * sizeof(*out));
    const struct pe_tensor keys = {PE_F32, 4, {1, 1, KEYS, 1}, ones};
    struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .q = {PE_F32, 4, {1, 1, 2, 1}, ones}, .k = keys, .v = keys,
              .causal = true, .scale = NAN, .query_start = NAN);
    struct pe_error err = {0};
    size_t wrong = 0;

    for (size_t i = 0; i < KEYS; i++)
        ones[i] = 1;
    for (int output = PE_ATTENTION_WEIGHTS; output <= PE_ATTENTION_OUTPUT; output++) {
        struct pe_attention *attention;
        spec.output = (enum pe_attention_output)output;
        ck_assert(!pe_attention_new(&attention, &spec, NULL, NULL, &err));
        ck_assert(!pe_attention_fill(attention, 0, 2, out, NULL, &err));
        pe_attention_free(attention);
        for (size_t i = 0; i < 2 * KEYS && output == PE_ATTENTION_WEIGHTS; i++)
            wrong += out[i] != (i < KEYS - 1 ? 1.0F / (KEYS - 1) : i >= KEYS ? 1.0F / KEYS : 0);
    }
    ck_assert(wrong == 0 && out[0] == 1 && out[1] == 1);
}

TEST(rope_depends_on_the_distance)
{
    enum { LENGTH = 40, DIM = 16 };
    struct problem p =
        PROBLEM(.position = ROPE, .dtype = PE_F64, .batch = 1, .heads = 1, .kv_heads = 1,
                .queries = LENGTH, .keys = LENGTH, .head_dim = DIM, .value_dim = 1,
                .query_start = NAN, .scale = 1, .output = PE_ATTENTION_SCORES, .seed = 8);
    OWNED_INPUTS in = inputs_new(&p);
    double spread = 0, across = 0;
    size_t size;

    for (size_t i = DIM; i < LENGTH * DIM; i++) {
        ((double *)in.q.data)[i] = ((double *)in.q.data)[i - DIM];
        ((double *)in.k.data)[i] = ((double *)in.k.data)[i - DIM];
    }
    OWNED_MEMORY double *s = attention_run(&p, &in, NULL, 7, &size);
    for (size_t i = 1; i < LENGTH; i++)
        for (size_t j = 1; j < LENGTH; j++) {
            spread = fmax(spread, fabs(s[i * LENGTH + j] - s[(i - 1) * LENGTH + j - 1]));
            across = fmax(across, fabs(s[i * LENGTH + j] - s[i * LENGTH + j - 1]));
        }
    printf("rope: along diagonals %.3g, across %.3g\n", spread, across);
    ck_assert(spread < 1e-12 && across > 0.1);
}

/* ---- odd values ------------------------------------------------------------------------------ */

/* What a row may not see does not touch it, not even a NaN times a weight of zero. */
TEST(nan_touches_only_what_sees_it)
{
    for (unsigned i = 0; i < 4; i++) {
        struct problem p =
            PROBLEM(.position = i % 2 ? SHAW : NOWHERE, .dtype = i < 2 ? PE_F32 : PE_F64,
                    .batch = 1, .heads = 1, .kv_heads = 1, .queries = 100, .keys = 100,
                    .head_dim = 8, .value_dim = 4, .clip = 10, .causal = true, .query_start = NAN,
                    .scale = NAN, .output = PE_ATTENTION_OUTPUT);
        OWNED_INPUTS in = inputs_new(&p);
        const double odd[] = {NAN, INFINITY};
        size_t size;
        OWNED_MEMORY char *clean = attention_run(&p, &in, NULL, 1000, &size);
        pe_from_f64((char *)in.v.data + 70 * size / 100, p.dtype, odd, 2);
        pe_from_f64((char *)in.q.data + 50 * 2 * size / 100, p.dtype, odd, 1);
        OWNED_MEMORY char *dirty = attention_run(&p, &in, NULL, 1000, &size);
        double row[4];
        for (size_t r = 0; r < 100; r++) {
            pe_to_f64(row, dirty + r * size / 100, p.dtype, 4);
            if (r == 50 || r >= 70)
                ck_assert_msg(isnan(row[0]), "row %zu", r);
            else
                ck_assert_msg(!memcmp(clean + r * size / 100, dirty + r * size / 100, size / 100),
                              "row %zu", r);
            if (r > 70)
                ck_assert_msg(!isfinite(row[1]) && isfinite(row[2]), "row %zu", r);
        }
    }
}

TEST(masked_whole)
{
    for (int output = 0; output < 3; output++) {
        const struct problem p =
            PROBLEM(.dtype = PE_F16, .batch = 1, .heads = 2, .kv_heads = 1, .queries = 6, .keys = 5,
                    .head_dim = 2, .value_dim = 5, .causal = true, .query_start = -3, .scale = NAN,
                    .output = (enum pe_attention_output)output, .position = NOWHERE);
        OWNED_INPUTS in = inputs_new(&p);
        size_t size;
        const uint16_t *out = attention_run(&p, &in, NULL, 4, &size);
        ck_assert_uint_eq(size, 2 * 6 * 5 * 2);
        for (size_t head = 0; head < 2; head++)
            for (size_t i = 0; i < 15; i++) /* rows at -3, -2, -1 see nothing */
                ck_assert_uint_eq(out[head * 30 + i], output == 0 ? 0xfc00 : 0);
        ck_assert_uint_ne(out[15], output == 0 ? 0xfc00 : 0);
        free((void *)out);
    }
}

TEST(empty)
{
    for (unsigned i = 0; i < 5 * 3 * 5; i++) {
        struct problem p = PROBLEM(.position = (enum position)(i % 5), .dtype = PE_F32, .batch = 2,
                                   .heads = 2, .kv_heads = 2, .queries = 3, .keys = 4,
                                   .head_dim = 4, .value_dim = 4, .clip = 2, .query_start = NAN,
                                   .scale = NAN, .output = (enum pe_attention_output)(i / 5 % 3));
        size_t *const sizes[] = {&p.batch, &p.heads, &p.queries, &p.keys, &p.value_dim};
        if (p.position == ALIBI && i / 15 == 1)
            continue; /* alibi has one head at least */
        *sizes[i / 15] = 0;
        p.kv_heads = p.heads;
        attention_compare(&p, NULL);
    }
}
