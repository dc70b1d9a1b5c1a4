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
    for (unsigned i = 0; i < 216; i += NUMBERS_STEP) {
        struct problem p = problem_of(i);
        compared += attention_compare(&p, i % 2 ? pool : NULL);
    }
    pe_pool_free(pool);
    printf("none, rope, alibi: %zu elements equal to the formula\n", compared);
    ck_assert_uint_gt(compared, 100000);
}

/* Encodings that are a bias of logits. */
TEST(equals_the_formula_with_a_bias)
{
    static const enum position biases[] = {T5, KERPLE_LOG, KERPLE_POWER, SANDWICH};

    for (size_t k = 0; k < COUNT_OF(biases); k++) {
        size_t compared = 0;
        for (unsigned i = 0; i < (biases[k] == T5 ? 120 : 60); i += NUMBERS_STEP) {
            struct problem p = problem_of(i);
            p.position = biases[k];
            compared += attention_compare(&p, NULL);
        }
        printf("position %d: %zu elements equal to the formula\n", biases[k], compared);
        ck_assert_uint_gt(compared, 50000);
    }
}

/* Options of models in many combinations. */
TEST(equals_the_formula_with_options)
{
    size_t compared = 0;

    for (unsigned i = 0; i < 420; i += NUMBERS_STEP) {
        const struct problem p = options_of(i);
        compared += attention_compare(&p, NULL);
    }
    printf("options: %zu elements equal to the formula\n", compared);
    ck_assert_uint_gt(compared, 1000000 / NUMBERS_STEP);
}

/* Caps whose quotient with the scale is no normal float: logits are scaled first. One leaves the
 * scores as they are, the other keeps their signs alone. */
TEST(caps_far_from_the_scale)
{
    static const double caps[] = {1e30, 1e-30}, scales[] = {0.3, 3.7};

    for (unsigned i = 0; i < 12; i++) {
        struct problem p = problem_of(i);
        p.dtype = i / 2 % 2 ? PE_F64 : PE_F32;
        p.scale = scales[i % 2];
        p.output = PE_ATTENTION_SCORES;
        p.options.softcap = caps[i % 2];
        ck_assert_uint_gt(attention_compare(&p, NULL), 10);
    }
}

/* So many keys that blocks have few rows and products several steps of depth. */
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

/* Equal keys, more of them than a piece of a row has; one is hidden from the first query. */
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

/* One query vector in every row, one key vector for every key: scores of rope are constant along
 * diagonals. */
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

/* ---- traits of models ------------------------------------------------------------------------ */

/* Gemma 2 and 3: a window that ends at the query, a cap, a norm with weights from 1. */
TEST(traits_of_a_causal_model)
{
    const struct pe_attention_traits traits =
        SIZED(pe_attention_traits, .scale = NAN, .scale_multiplier = 2, .softcap = 50, .window = 8,
              .causal = true, .chunk = 5, .temperature = {0.1, 8, 1}, .scales_bias = true,
              .qk_norm = {PE_QK_NORM_RMS, PE_QK_WEIGHT_FROM_1, false, false, 1e-5});
    struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .q = {PE_F32, 4, {1, 2, 3, 16}}, .q_norm = {PE_F32, 1, {16}});
    struct pe_error err = {0};
    unsigned skipped;

    ck_assert_msg(!pe_attention_traits_apply(&traits, &spec, &skipped, &err), "%s", err.detail);
    ck_assert_uint_eq(skipped, 0);
    ck_assert(spec.scale == 0.5 && spec.softcap == 50 && spec.chunk == 5);
    ck_assert(spec.has_window && spec.window_left == 7 && spec.window_right == -1);
    ck_assert(!spec.causal && !spec.bias_before_scale && spec.temperature.strength == 0.1);
    ck_assert(spec.norm == PE_NORM_BEFORE && spec.norm_epsilon == 1e-5 && spec.norm_offset == 1);
}

/* A window of both sides, a scale of its own, and traits that are not applied. */
TEST(traits_that_are_skipped)
{
    struct pe_attention_traits traits = SIZED(
        pe_attention_traits, .scale = 0.25, .scale_multiplier = 1, .scale_over_layer = true,
        .window = 8, .sinks = true, .qk_norm = {PE_QK_NORM_RMS, PE_QK_WEIGHT, true, false, 1e-6});
    struct pe_attention_spec spec = SIZED(pe_attention_spec, .q = {PE_F32, 4, {1, 2, 3, 16}});
    struct pe_error err = {0};
    unsigned skipped;

    ck_assert(!pe_attention_traits_apply(&traits, &spec, &skipped, &err));
    ck_assert_uint_eq(skipped, PE_TRAITS_LAYER_SCALE | PE_TRAITS_NORM_WEIGHTS | PE_TRAITS_SINKS);
    ck_assert(spec.scale == 0.25 && spec.window_left == 8 && spec.window_right == 8);
    ck_assert(spec.norm == PE_NORM_NONE);
    traits.qk_norm.whole = true;
    ck_assert(!pe_attention_traits_apply(&traits, &spec, &skipped, &err));
    ck_assert(skipped & PE_TRAITS_NORM && !(skipped & PE_TRAITS_NORM_WEIGHTS));
    traits.qk_norm = (struct pe_qk_norm){.kind = PE_QK_NORM_RMS, .after = true, .eps = 0.5};
    ck_assert(!pe_attention_traits_apply(&traits, &spec, &skipped, &err));
    ck_assert(!(skipped & (PE_TRAITS_NORM | PE_TRAITS_NORM_WEIGHTS)));
    ck_assert(spec.norm == PE_NORM_AFTER && spec.norm_epsilon == 0.5 && spec.norm_offset == 0);
    /* Members that a shorter spec lacks are not written. */
    spec = SIZED(pe_attention_spec, .q = {PE_F32, 4, {1, 2, 3, 16}});
    spec.size = offsetof(struct pe_attention_spec, has_window);
    ck_assert(!pe_attention_traits_apply(&traits, &spec, &skipped, &err));
    ck_assert(spec.scale == 0.25 && !spec.has_window);
}

/* ---- transformer-xl: ((q + u) k + (q + v) W_r R(i - j)) scale -------------------------------- */

static struct problem problem_xl(unsigned i)
{
    struct problem p = problem_of(i);

    p.position = TRANSFORMER_XL;
    p.row_dim = i % 3 ? 1 + i * 7 % 300 : 0;
    p.no_u = i % 5 == 0;
    p.no_v = i % 7 == 0;
    return p;
}

/* Grouped heads, causal or not, queries before, among and behind the keys; with w_r, wider or
 * narrower than heads, and without. */
TEST(transformer_xl_equals_the_formula)
{
    size_t compared = 0;

    for (unsigned i = 0; i < 90; i += NUMBERS_STEP) {
        const struct problem p = problem_xl(i);
        compared += attention_compare(&p, NULL);
    }
    printf("transformer-xl: %zu elements equal to the formula\n", compared);
    ck_assert_uint_gt(compared, 100000);
}

/* One key far before every query, and one query far before every key. */
TEST(transformer_xl_far_away)
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

/* The same bytes for any cut of rows and any number of threads that project distances. */
TEST(transformer_xl_same_bytes)
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

/* ---- relations ------------------------------------------------------------------------------- */

enum { SEED = 20261, CASES = 60, TOKENS_MAX = 9 };

static size_t integer_between(size_t least, size_t most)
{
    return least + (size_t)(drand48() * (double)(most - least + 1));
}

/* Any permutation but the identity and the reversal. */
static void permutation_draw(size_t *permutation, size_t count)
{
    bool forwards, backwards;

    do {
        forwards = backwards = true;
        for (size_t i = 0; i < count; i++)
            permutation[i] = i;
        for (size_t i = count - 1; i > 0; i--) {
            const size_t other = integer_between(0, i), moved = permutation[i];
            permutation[i] = permutation[other];
            permutation[other] = moved;
        }
        for (size_t i = 0; i < count; i++) {
            forwards = forwards && permutation[i] == i;
            backwards = backwards && permutation[i] == count - 1 - i;
        }
    } while (forwards || backwards);
}

/* Moves row i of each head to permutation[i]. */
static void rows_permute(struct pe_tensor *to, const struct pe_tensor *from,
                         const size_t *permutation)
{
    const size_t rows = from->shape[2], width = from->shape[3];

    for (size_t head = 0; head < from->shape[0] * from->shape[1]; head++)
        for (size_t row = 0; row < rows; row++)
            memcpy((double *)to->data + (head * rows + permutation[row]) * width,
                   (double *)from->data + (head * rows + row) * width, width * sizeof(double));
}

/* The largest difference between outputs and those of permuted tokens, in their former order. */
static double order_difference(enum position position, unsigned seed, bool reversed)
{
    const size_t tokens = integer_between(3, TOKENS_MAX), dim = 2 * integer_between(1, 8);
    const struct problem p =
        PROBLEM(.position = position, .dtype = PE_F64, .batch = 1, .heads = integer_between(1, 3),
                .kv_heads = 1, .queries = tokens, .keys = tokens, .head_dim = dim, .value_dim = dim,
                .clip = TOKENS_MAX, .query_start = NAN, .scale = NAN, .output = PE_ATTENTION_OUTPUT,
                .seed = seed);
    struct inputs in = inputs_new(&p), permuted = inputs_new(&p);
    size_t permutation[TOKENS_MAX], size;
    double worst = 0;

    if (!reversed)
        permutation_draw(permutation, tokens);
    for (size_t i = 0; reversed && i < tokens; i++)
        permutation[i] = tokens - 1 - i;
    rows_permute(&permuted.q, &in.q, permutation);
    rows_permute(&permuted.k, &in.k, permutation);
    rows_permute(&permuted.v, &in.v, permutation);
    double *a = attention_run(&p, &in, NULL, 100, &size);
    double *b = attention_run(&p, &permuted, NULL, 100, &size);
    for (size_t row = 0; row < p.heads * tokens; row++)
        for (size_t c = 0; c < dim; c++) {
            const size_t moved = row / tokens * tokens + permutation[row % tokens];
            worst = fmax(worst, fabs(a[row * dim + c] - b[moved * dim + c]));
        }
    free(a);
    free(b);
    inputs_free(&in);
    inputs_free(&permuted);
    return worst;
}

/* Without positions, permuting the tokens permutes the output and nothing else; with any scheme it
 * changes more. */
TEST(order)
{
    static const enum position schemes[] = {ROPE, ALIBI,      SHAW,         SHAW_BACKWARDS,
                                            T5,   KERPLE_LOG, KERPLE_POWER, SANDWICH};
    double unordered = 0, mirrored = 0, least = INFINITY;
    size_t checked = 0;

    srand48(SEED);
    for (unsigned i = 0; i < CASES; i++) {
        unordered = fmax(unordered, fmax(order_difference(NOWHERE, i, false),
                                         order_difference(NOWHERE, i, true)));
        /* ALiBi's -slope |i - j| is the same from both ends. */
        mirrored = fmax(mirrored, order_difference(ALIBI, i, true));
        least = fmin(least, fmin(order_difference(ROPE, i, true), order_difference(SHAW, i, true)));
        for (size_t k = 0; k < COUNT_OF(schemes); k++, checked++)
            least = fmin(least, order_difference(schemes[k], i, false));
    }
    printf(
        "relation: blind to order without position, seed %d: at most %.3g without, at least %.3g "
        "with one of 8 schemes, %zu cases\n",
        SEED, unordered, least, checked);
    ck_assert_double_lt(unordered, 1e-13);
    ck_assert_double_lt(mirrored, 1e-13);
    ck_assert_double_gt(least, 1e-6);
    ck_assert_uint_eq(checked, CASES * 8);
}

/* q . aK[clip(j - i)] at every query and key, in both directions, and likewise of values. */
TEST(relative_vectors_are_gathered)
{
    size_t checked = 0;

    srand48(SEED);
    for (unsigned i = 0; i < CASES; i++) {
        const size_t heads = integer_between(1, 3);
        const struct problem p =
            PROBLEM(.position = i % 2 ? SHAW : SHAW_BACKWARDS, .dtype = (enum pe_dtype)(i / 2 % 4),
                    .batch = integer_between(1, 2), .heads = heads, .kv_heads = heads,
                    .queries = integer_between(1, 20), .keys = integer_between(1, 30),
                    .head_dim = 2 * integer_between(1, 9), .value_dim = integer_between(1, 17),
                    .clip = integer_between(1, 12), .causal = i % 3 == 0, .no_rel_v = i % 5 == 0,
                    .query_start = i % 4 ? NAN : (double)integer_between(0, 25), .scale = NAN,
                    .output = i % 3 ? PE_ATTENTION_SCORES : PE_ATTENTION_OUTPUT, .seed = i);
        checked += attention_compare(&p, NULL);
    }
    printf("relation: skewed relative = naive gather, seed %d, %zu elements\n", SEED, checked);
    ck_assert_uint_gt(checked, 100 * CASES);
}

/* ---- NaN, infinity, nothing ------------------------------------------------------------------ */

/* Values of hidden keys have no effect, not even NaN times a weight of 0. */
TEST(hidden_nan_has_no_effect)
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

TEST(rows_without_visible_keys)
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
            for (size_t i = 0; i < 15; i++) /* rows at -3, -2, -1 have no visible key */
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
