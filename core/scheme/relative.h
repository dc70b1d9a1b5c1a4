/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_RELATIVE_H
#define CORE_SCHEME_RELATIVE_H

#include "core/scheme/scheme.h"

/* Kind relative: a vector for each distance, multiplied with queries beside the keys, and in some
 * encodings weighted and summed beside the values. */

/* Clipped distances: rel_k and rel_v have 2 * clip + 1 rows, and a query and a key use the row
 * clip(sign * (key - query)) + clip. All members are required. */
struct pe_clipped {
    size_t (*clip)(const struct pe_scheme *scheme);
    int (*sign)(const struct pe_scheme *scheme); /* 1 or -1 */
    /* True where the scheme computes these rows: those of its kind rows at 0 .. 2 * clip. False:
     * they are given. */
    bool (*makes_vectors)(const struct pe_scheme *scheme);
};

/* Unclipped distances: the vector of query - key is the row of kind rows at that position. All
 * members are required. */
struct pe_distances {
    bool (*past_only)(const struct pe_scheme *scheme); /* negative distances have no vector */
};

struct pe_relative_kind {
    /* One of the two, the other NULL. */
    const struct pe_clipped *clipped;
    const struct pe_distances *distances;

    /* Derives parameters that are not given from the shapes. Required. */
    enum pe_status (*infer)(struct pe_params *params, const struct pe_attention_spec *spec,
                            struct pe_error *err);
};

/* `infer` for clipped and for unclipped distances. */
enum pe_status pe_relative_infer_clipped(struct pe_params *params,
                                         const struct pe_attention_spec *spec,
                                         struct pe_error *err);
enum pe_status pe_relative_infer_distances(struct pe_params *params,
                                           const struct pe_attention_spec *spec,
                                           struct pe_error *err);

/* NULL: the encoding is not of the kind, or of the other sort. */
const struct pe_clipped *pe_clipped_of(const struct pe_encoding *encoding);
const struct pe_distances *pe_distances_of(const struct pe_encoding *encoding);

/* The row of a query and a key in tables of clipped vectors, by key - query. */
int64_t pe_clipped_row(const struct pe_scheme *scheme, int64_t distance);

#endif
