/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/attention_reference.h"

/* Relations that hold of attention, over random parameters and tokens. */

enum { SEED = 20261, CASES = 60, TOKENS_MAX = 9 };

static size_t whole_between(size_t least, size_t most)
{
    return least + (size_t)(drand48() * (double)(most - least + 1));
}

/* Any but those that a line has to itself: all in their places, and all turned round. */
static void permutation_draw(size_t *permutation, size_t count)
{
    bool forwards, backwards;

    do {
        forwards = backwards = true;
        for (size_t i = 0; i < count; i++)
            permutation[i] = i;
        for (size_t i = count - 1; i > 0; i--) {
            const size_t other = whole_between(0, i), kept = permutation[i];
            permutation[i] = permutation[other];
            permutation[other] = kept;
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

/* The largest difference between the outputs, those of permuted tokens put back into their order.
 */
static double order_seen(enum position position, unsigned seed, bool reversed)
{
    const size_t tokens = whole_between(3, TOKENS_MAX), dim = 2 * whole_between(1, 8);
    const struct problem p =
        PROBLEM(.position = position, .dtype = PE_F64, .batch = 1, .heads = whole_between(1, 3),
                .kv_heads = 1, .queries = tokens, .keys = tokens, .head_dim = dim, .value_dim = dim,
                .clip = TOKENS_MAX, .query_start = NAN, .scale = NAN, .output = PE_ATTENTION_OUTPUT,
                .seed = seed);
    struct inputs in = inputs_new(&p), turned = inputs_new(&p);
    size_t permutation[TOKENS_MAX], size;
    double worst = 0;

    if (!reversed)
        permutation_draw(permutation, tokens);
    for (size_t i = 0; reversed && i < tokens; i++)
        permutation[i] = tokens - 1 - i;
    rows_permute(&turned.q, &in.q, permutation);
    rows_permute(&turned.k, &in.k, permutation);
    rows_permute(&turned.v, &in.v, permutation);
    double *a = attention_run(&p, &in, NULL, 100, &size);
    double *b = attention_run(&p, &turned, NULL, 100, &size);
    for (size_t row = 0; row < p.heads * tokens; row++)
        for (size_t c = 0; c < dim; c++) {
            const size_t moved = row / tokens * tokens + permutation[row % tokens];
            worst = fmax(worst, fabs(a[row * dim + c] - b[moved * dim + c]));
        }
    free(a);
    free(b);
    inputs_free(&in);
    inputs_free(&turned);
    return worst;
}

/* without position attention is blind to order: permuting the tokens (ABC, CBA) permutes the output
 * and nothing else; with any scheme it is not */
TEST(order)
{
    static const enum position schemes[] = {ROPE, ALIBI,      SHAW,         SHAW_BACKWARDS,
                                            T5,   KERPLE_LOG, KERPLE_POWER, SANDWICH};
    double blind = 0, mirrored = 0, least = INFINITY;
    size_t checked = 0;

    srand48(SEED);
    for (unsigned i = 0; i < CASES; i++) {
        blind = fmax(blind, fmax(order_seen(NOWHERE, i, false), order_seen(NOWHERE, i, true)));
        /* ALiBi's -slope |i - j| is the same from both ends. */
        mirrored = fmax(mirrored, order_seen(ALIBI, i, true));
        least = fmin(least, fmin(order_seen(ROPE, i, true), order_seen(SHAW, i, true)));
        for (size_t k = 0; k < COUNT_OF(schemes); k++, checked++)
            least = fmin(least, order_seen(schemes[k], i, false));
    }
    printf(
        "relation: blind to order without position, seed %d: at most %.3g without, at least %.3g "
        "with one of 8 schemes, %zu cases\n",
        SEED, blind, least, checked);
    ck_assert_double_lt(blind, 1e-13);
    ck_assert_double_lt(mirrored, 1e-13);
    ck_assert_double_gt(least, 1e-6);
    ck_assert_uint_eq(checked, CASES * 8);
}

/* skewed relative = naive gather: q . aK[clip(j - i)] at every query and key, rectangular and both
 * ways round, and the same of values */
TEST(skewed_is_gathered)
{
    size_t checked = 0;

    srand48(SEED);
    for (unsigned i = 0; i < CASES; i++) {
        const size_t heads = whole_between(1, 3);
        const struct problem p =
            PROBLEM(.position = i % 2 ? SHAW : SHAW_BACKWARDS, .dtype = (enum pe_dtype)(i / 2 % 4),
                    .batch = whole_between(1, 2), .heads = heads, .kv_heads = heads,
                    .queries = whole_between(1, 20), .keys = whole_between(1, 30),
                    .head_dim = 2 * whole_between(1, 9), .value_dim = whole_between(1, 17),
                    .clip = whole_between(1, 12), .causal = i % 3 == 0, .no_rel_v = i % 5 == 0,
                    .query_start = i % 4 ? NAN : (double)whole_between(0, 25), .scale = NAN,
                    .output = i % 3 ? PE_ATTENTION_SCORES : PE_ATTENTION_OUTPUT, .seed = i);
        checked += attention_compare(&p, NULL);
    }
    printf("relation: skewed relative = naive gather, seed %d, %zu elements\n", SEED, checked);
    ck_assert_uint_gt(checked, 100 * CASES);
}
