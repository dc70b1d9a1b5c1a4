/* SPDX-License-Identifier: MIT */
#ifndef API_HANDLERS_COMPARISON_REPORT_H
#define API_HANDLERS_COMPARISON_REPORT_H

#include "api/handlers/sides.h"
#include "posenc/comparison.h"
#include "posenc/pool.h"

/* Rows are compared in so many stripes, whatever the threads, so that sums are the same. */
enum { COMPARISON_STRIPES = 16 };

struct comparison_stripe {
    struct pe_comparison sum;
    struct pe_maxima by_column;
    unsigned char *rows[2]; /* a chunk of a, one of b */
    struct pe_error err;
};

/* The axes of two caches of keys and values. */
struct comparison_heads {
    unsigned rank; /* 0: the sides are tables */
    char axes[PE_RANK_MAX + 1];
    size_t shape[PE_RANK_MAX];
};

struct comparison_state {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    struct api_request *request;
    struct pe_params params, answer_params;
    struct api_side sides[2];
    enum pe_dtype dtype;
    size_t output; /* being compared */
    size_t chunk_rows;
    struct comparison_stripe stripes[COMPARISON_STRIPES];
    struct pe_maxima by_row, by_pair;
    struct pe_comparison sum;
    size_t first_output; /* the one of the first divergence */
    struct comparison_heads heads;
};

/* Reads the axes, where both sides are tensors of rank 4 or more. */
enum api_status comparison_heads_read(struct comparison_state *state, struct api_error *err);
/* {"axes": "lkh", "shape": [...], "max_abs": [...], "max_ulp": [...]}: the largest differences of
 * each layer, of keys and of values, and of each head; the caller's. */
json_t *comparison_heads_json(const struct comparison_state *state);
/* The index of a row on the axis s; 0 without one. */
double comparison_heads_position(const struct comparison_state *state, size_t row);
/* {"l": 3, "b": 0, ...}: where a row stands. */
json_t *comparison_heads_place(const struct comparison_state *state, size_t row);

/* The pair that a column belongs to, by the encoding of a side; the column itself where none knows.
 */
size_t comparison_pair(const struct comparison_state *state, size_t column);

/* The report of a comparison that is done, the caller's; NULL: memory is short. */
json_t *comparison_report(const struct comparison_state *state);

#endif
