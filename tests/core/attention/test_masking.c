/* SPDX-License-Identifier: MIT */

/* Visible keys of a query for every small sequence, window and chunk: the interval against a test
 * of each key. */

#include <limits.h>
#include <stdio.h>

#include "core/attention/attention.h"
#include "tests/check_main.h"

enum { KEYS = 9, NO_WINDOW = -2 };

/* floor(a / b) */
static int64_t chunk_of(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static bool is_visible(const struct pe_attention_spec *spec, int64_t first, int64_t at, int64_t key)
{
    if (spec->causal && key > at)
        return false;
    if (spec->has_window && spec->window_left >= 0 && at - key > spec->window_left)
        return false;
    if (spec->has_window && spec->window_right >= 0 && key - at > spec->window_right)
        return false;
    if (spec->chunk == 0 || spec->chunk > INT64_MAX) /* the chunk holds every key */
        return true;
    return chunk_of(key - first, (int64_t)spec->chunk) ==
           chunk_of(at - first, (int64_t)spec->chunk);
}

static void visible_keys_check(const struct pe_attention *attention,
                               const struct pe_attention_sequence *sequence, size_t query)
{
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_key_range visible = pe_visible_keys(attention, sequence, query);
    const int64_t at = sequence->offset + (int64_t)query;

    ck_assert_msg(visible.begin <= visible.end && visible.end <= sequence->key_end,
                  "keys [%zu, %zu) of %zu", visible.begin, visible.end, sequence->key_end);
    for (size_t key = 0; key < KEYS; key++) {
        const bool in = key >= sequence->key_first && key < sequence->key_end &&
                        is_visible(spec, (int64_t)sequence->key_first, at, (int64_t)key);
        ck_assert_msg(
            in == (key >= visible.begin && key < visible.end),
            "keys [%zu, %zu), query at %lld, causal %d, window %lld %lld, chunk %llu: key "
            "%zu is %svisible",
            sequence->key_first, sequence->key_end, (long long)at, spec->causal,
            (long long)spec->window_left, (long long)spec->window_right,
            (unsigned long long)spec->chunk, key, in ? "not " : "");
    }
}

static void positions_check(const struct pe_attention *attention)
{
    for (size_t first = 0; first < 4; first++)
        for (size_t end = first; end <= KEYS; end += first == 2 ? 1 : 3)
            for (int64_t offset = -6; offset < 2 * KEYS; offset++) {
                const struct pe_attention_sequence sequence = {0, 3, first, end, offset};
                for (size_t query = 0; query < 3; query += 2)
                    visible_keys_check(attention, &sequence, query);
            }
}

/* Limits from one key to more than there are; -1 and 0 are no limit. */
static const int64_t lefts[] = {NO_WINDOW, -1, 0, 1, 2, 5, INT64_MAX};
static const int64_t rights[] = {-1, 0, 1, 4, INT64_MAX};
static const uint64_t chunks[] = {0, 1, 2, 3, 5, 100, UINT64_MAX};

TEST_LOOP(2, visible_keys)
{
    for (size_t left = 0; left < COUNT_OF(lefts); left++)
        for (size_t right = 0; right < COUNT_OF(rights); right++)
            for (size_t chunk = 0; chunk < COUNT_OF(chunks); chunk++) {
                static struct pe_attention attention;
                attention.spec.causal = _i;
                attention.spec.has_window = lefts[left] != NO_WINDOW;
                attention.spec.window_left = lefts[left];
                attention.spec.window_right = rights[right];
                attention.spec.chunk = chunks[chunk];
                positions_check(&attention);
            }
}

/* The sequence of each query, among empty ones. */
TEST(sequence_of_a_query)
{
    for (unsigned i = 0; i < 1u << 12; i++) {
        static struct pe_attention attention;
        struct pe_attention_sequence sequences[6];
        size_t end = 0;
        for (size_t k = 0; k < 6; k++) {
            sequences[k].first = end;
            end += i >> (2 * k) & 3;
            sequences[k].end = end;
        }
        attention.sequences = sequences;
        attention.sequences_count = 6;
        for (size_t query = 0; query < end; query++) {
            const struct pe_attention_sequence *of = pe_sequence_of_query(&attention, query);
            ck_assert_uint_le(of->first, query);
            ck_assert_uint_gt(of->end, query);
        }
    }
}

/* The estimate is an upper bound. */
TEST(visible_keys_estimated)
{
    for (size_t i = 0; i < COUNT_OF(lefts) * COUNT_OF(rights) * COUNT_OF(chunks); i++) {
        static struct pe_attention attention;
        const struct pe_attention_sequence sequence = {0, 5000, 0, 5000, 0};
        struct pe_attention_spec *spec = &attention.spec;
        spec->window_left = lefts[i % COUNT_OF(lefts)];
        spec->has_window = spec->window_left != NO_WINDOW;
        spec->window_right = rights[i / COUNT_OF(lefts) % COUNT_OF(rights)];
        spec->chunk = chunks[i / COUNT_OF(lefts) / COUNT_OF(rights)];
        spec->k.shape[2] = 5000;
        for (int causal = 0; causal < 2; causal++) {
            spec->causal = causal;
            const double estimated = pe_visible_keys_estimate(spec);
            ck_assert_double_le(estimated, 5000);
            for (size_t query = 0; query < 5000; query += 7) {
                const struct pe_key_range visible = pe_visible_keys(&attention, &sequence, query);
                ck_assert_msg((double)(visible.end - visible.begin) <= estimated,
                              "%zu keys visible, %g estimated", visible.end - visible.begin,
                              estimated);
            }
        }
    }
}
