/* SPDX-License-Identifier: MIT */
#ifndef CORE_POSITIONS_WALK_H
#define CORE_POSITIONS_WALK_H

#include "posenc/position_ids.h"

/* Where text goes on behind a grid: as the spec has it, or behind its larger side in tokens, its
 * largest id, all of its tokens, or its larger side in patches. */
enum pe_ids_advance {
    PE_IDS_AS_ASKED,
    PE_IDS_BY_GRID,
    PE_IDS_BY_LARGEST,
    PE_IDS_BY_TOKENS,
    PE_IDS_BY_PATCHES
};

/* How ids are made wrongly. Zeros: not at all. */
struct pe_ids_slip {
    int shift;
    enum pe_ids_advance advance;
    bool no_mask, no_bounds, no_start, no_delta, swapped_ids, swapped_grids, by_columns, flat,
        no_seconds, from_zero;
};

/* A token as it is come to. */
struct pe_ids_token {
    size_t row, index; /* of those that were asked for */
    int64_t ids[3];
    bool padding;
};

/* What is done with each token in turn; false: no more are wanted. */
struct pe_ids_sink {
    bool (*take)(void *context, const struct pe_ids_token *token);
    void *context;
    int64_t *deltas; /* NULL: not wanted */
};

/* Goes through the tokens of a checked spec. */
enum pe_status pe_ids_walk(const struct pe_ids_spec *spec, const struct pe_ids_slip *slip,
                           const struct pe_ids_sink *sink, struct pe_work *work,
                           struct pe_error *err);

/* Reads a caller's spec into ours, and refuses what no walk would take. */
enum pe_status pe_ids_spec_read(struct pe_ids_spec *ours, const struct pe_ids_spec *given,
                                struct pe_error *err);

#endif
