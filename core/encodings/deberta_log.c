/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "core/base/params.h"
#include "core/base/work.h"
#include "core/scheme/bias.h"
#include "core/tables/log_buckets.h"

enum { DIRECTION_QUERY_MINUS_KEY, DIRECTION_KEY_MINUS_QUERY };

static const struct pe_param params[] = {
    {.name = "position_buckets",
     .aliases = "bucket_size,num_buckets",
     .type = PE_INTEGER,
     .min = 2,
     .max = 4096,
     .fallback = "256",
     .doc = "The number of buckets of each direction. The first half of them hold one distance "
            "each, the others are logarithmic."},
    {.name = "max_relative_positions",
     .aliases = "max_position,max_position_embeddings",
     .type = PE_INTEGER,
     .min = 3,
     .max = 1 << 30,
     .fallback = "512",
     .unit = "positions",
     .doc = "The end of the logarithmic buckets: all distances from here on belong to the first or "
            "last row of the table."},
    {.name = "direction",
     .type = PE_CHOICE,
     .fallback = "i-j",
     .choices = "i-j,j-i",
     .doc = "The sign of a distance. j-i: position of the key minus that of the query. i-j: "
            "position of the query minus that of the key. The default is that of the paper."},
};

struct state {
    int64_t *bounds; /* distances at which the wider buckets begin */
    size_t bounds_count;
};

static void close_all(void *state)
{
    free(((struct state *)state)->bounds);
}

static long integer(const struct pe_scheme *scheme, const char *name)
{
    return (long)pe_param_number(&scheme->params, name);
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const long middle = integer(scheme, "position_buckets") / 2;
    const long farthest = integer(scheme, "max_relative_positions") - 1;

    if (farthest > middle)
        return PE_OK;
    return pe_fail(err, PE_OUT_OF_RANGE, "parameter:max_relative_positions",
                   "the first %ld distances have a bucket of their own: max_relative_positions - 1 "
                   "lies above them, got %ld",
                   middle, farthest + 1);
}

static double prepare_cost(const struct pe_scheme *scheme)
{
    return pe_log_buckets_cost((size_t)integer(scheme, "position_buckets") / 2);
}

/* middle + ceil(ln(n / middle) / ln(farthest / middle) (middle - 1)) exceeds middle + k where n
 * exceeds middle (farthest / middle)^(k / (middle - 1)), up to the last bucket. */
static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    const long buckets = integer(scheme, "position_buckets"), middle = buckets / 2;
    const long farthest = integer(scheme, "max_relative_positions") - 1;
    struct state *state = scheme->state;

    if (pe_spend(work, prepare_cost(scheme), err))
        return err->status;
    state->bounds_count = middle > 1 ? (size_t)(buckets - middle) : 0;
    state->bounds =
        pe_memory_take(work, state->bounds_count, sizeof(*state->bounds), "buckets", err);
    for (size_t k = 0; state->bounds && k < state->bounds_count && !pe_work_check(work, err); k++)
        state->bounds[k] =
            pe_log_bucket_bound((unsigned long)middle, (unsigned long)farthest,
                                (unsigned long)middle - 1, (unsigned long)k, PE_BOUND_ABOVE);
    return err->status;
}

/* The row of the table less the middle one: -buckets .. buckets - 1. */
static int64_t bucket(const struct pe_scheme *scheme, int64_t distance)
{
    const struct state *state = scheme->state;
    const bool negate = pe_param_choice(&scheme->params, "direction") == DIRECTION_QUERY_MINUS_KEY;
    const int64_t buckets = integer(scheme, "position_buckets"), middle = buckets / 2;
    const int64_t r = negate ? -distance : distance, n = r < 0 ? -r : r;

    if (n <= middle)
        return r;
    const int64_t far = middle + (int64_t)pe_bounds_passed(state->bounds, state->bounds_count, n);
    return r < 0 ? -far : far < buckets ? far : buckets - 1;
}

static size_t vectors_count(const struct pe_scheme *scheme)
{
    return 2 * (size_t)integer(scheme, "position_buckets");
}

static const struct pe_bias_kind bias = {.bucket = bucket, .vectors_count = vectors_count};

extern const struct pe_encoding pe_encoding_deberta_log;
const struct pe_encoding pe_encoding_deberta_log = {
    .info.name = "deberta-log",
    .info.family = "bias",
    .info.title = "Signed buckets of distances, with wider buckets for longer distances",
    .info.formula = "r = i - j, m = position_buckets div 2: r where |r| <= m, else sign(r) (m + "
                    "ceil(ln(|r|/m) / ln((max_relative_positions - 1)/m) (m - 1))), within "
                    "[-position_buckets, position_buckets - 1]",
    .info.source = "He et al. 2021, DeBERTa, arXiv:2006.03654; buckets of DeBERTa-v2's code",
    PE_INFO_PARAMS(params),
    .bias = &bias,
    .state_size = sizeof(struct state),
    .check = check,
    .prepare = prepare,
    .cost = prepare_cost,
    .close = close_all,
};
