/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "core/base/work.h"
#include "core/scheme/bias.h"
#include "core/tables/log_buckets.h"

static const struct pe_param params[] = {
    {.name = "num_buckets",
     .aliases = "relative_attention_num_buckets",
     .type = PE_INTEGER,
     .min = 2,
     .max = 4096,
     .fallback = "32",
     .doc =
         "The number of buckets; with bidirectional=true half of them belong to each direction."},
    {.name = "max_distance",
     .aliases = "relative_attention_max_distance",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 30,
     .fallback = "128",
     .unit = "positions",
     .doc = "The distance from which on all distances belong to the last bucket."},
    {.name = "bidirectional",
     .type = PE_BOOLEAN,
     .fallback = "true",
     .doc = "Whether keys after the query have their own buckets, as in encoders. With false, as "
            "in decoders, they share bucket 0 with distance 0."},
};

struct state {
    struct pe_weights weights;
    int64_t *bounds; /* distances at which the wider buckets begin */
    size_t bounds_count;
    int64_t exact;  /* how many buckets of a direction hold one distance */
    int64_t offset; /* of the buckets of keys after the query; 0: they share bucket 0 */
};

static void close_all(void *state)
{
    pe_weights_close(state);
    free(((struct state *)state)->bounds);
}

static size_t buckets(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "num_buckets");
}

static bool is_bidirectional(const struct pe_scheme *scheme)
{
    return pe_param_number(&scheme->params, "bidirectional") != 0;
}

/* Buckets of one direction; the first half of them hold one distance each. */
static size_t side(const struct pe_scheme *scheme)
{
    return is_bidirectional(scheme) ? buckets(scheme) / 2 : buckets(scheme);
}

static size_t farthest(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "max_distance");
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t exact = side(scheme) / 2;

    if (exact < 1)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:num_buckets",
                       "each direction has half of num_buckets, and half of those hold one "
                       "distance: %zu are too few, 4 are not",
                       buckets(scheme));
    if (farthest(scheme) <= exact)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:max_distance",
                       "the first %zu distances have a bucket of their own: max_distance lies "
                       "above them, got %zu",
                       exact, farthest(scheme));
    return PE_OK;
}

static double prepare_cost(const struct pe_scheme *scheme)
{
    const size_t parts = side(scheme) - side(scheme) / 2;

    return pe_log_buckets_cost(parts);
}

/* exact + floor(ln(n / exact) / ln(max_distance / exact) (side - exact)) is at least exact + k from
 * n = exact (max_distance / exact)^(k / (side - exact)) on; the last bucket has no end. */
static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    const size_t exact = side(scheme) / 2, parts = side(scheme) - exact;
    struct state *state = scheme->state;

    if (pe_spend(work, prepare_cost(scheme), err))
        return err->status;
    state->bounds = pe_memory_take(work, parts, sizeof(*state->bounds), "buckets", err);
    for (size_t k = 1; state->bounds && k < parts && !pe_work_check(work, err); k++)
        state->bounds[k - 1] =
            pe_log_bucket_bound(exact, farthest(scheme), parts, k, PE_BOUND_AT_LEAST);
    state->bounds_count = parts - 1;
    state->exact = (int64_t)exact;
    state->offset = is_bidirectional(scheme) ? (int64_t)side(scheme) : 0;
    return err->status;
}

static int64_t bucket(const struct pe_scheme *scheme, int64_t distance)
{
    const struct state *state = scheme->state;
    const int64_t offset = distance > 0 ? state->offset : 0;
    const int64_t n = distance < 0 ? -distance : state->offset > 0 ? distance : 0;

    if (n < state->exact)
        return offset + n;
    return offset + state->exact + (int64_t)pe_bounds_passed(state->bounds, state->bounds_count, n);
}

static const struct pe_bias_kind bias = {.heads = pe_weights_heads,
                                         .row = pe_weights_row,
                                         .by_distance = true,
                                         .cost = pe_weights_cost,
                                         .bucket = bucket,
                                         .buckets_count = buckets,
                                         .infer = pe_bias_infer_heads};

extern const struct pe_encoding pe_encoding_t5;
const struct pe_encoding pe_encoding_t5 = {
    .info.name = "t5",
    .info.family = "bias",
    .info.title =
        "A learned bias for each bucket of distances, with wider buckets for longer distances",
    .info.formula =
        "bias[h, i, j] = W[bucket(j - i), h]; of B buckets a direction the first e = B div "
        "2 hold one distance each, then e + floor(ln(n/e) / ln(max_distance/e) (B - e)), "
        "at most B - 1",
    .info.source = "Raffel et al. 2020, Exploring the Limits of Transfer Learning with a Unified "
                   "Text-to-Text Transformer, arXiv:1910.10683, section 2.1",
    PE_INFO_PARAMS(params),
    .bias = &bias,
    .state_size = sizeof(struct state),
    .check = check,
    .prepare = prepare,
    .cost = prepare_cost,
    .close = close_all,
};
