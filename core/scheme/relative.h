/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_RELATIVE_H
#define CORE_SCHEME_RELATIVE_H

#include "core/scheme/encoding.h"

/* Kind relative: vectors of distances, which queries meet beside keys, and which weights may add up
 * beside values. */

/* Distances beyond a number share a vector: rel_k and rel_v have 2 * clip + 1 rows, and the row of
 * a query and a key is clip(sign * (key - query)) + clip. All members are required. */
struct pe_clipped {
    size_t (*clip)(const struct pe_scheme *scheme);
    int (*sign)(const struct pe_scheme *scheme); /* 1 or -1 */
    /* Does the scheme make these rows itself? They are those of its kind rows at 0 .. 2 * clip. */
    bool (*makes_vectors)(const struct pe_scheme *scheme);
};

/* Each distance query - key has a vector of its own: the row of kind rows at that position. All
 * members are required. */
struct pe_distances {
    bool (*past_only)(const struct pe_scheme *scheme); /* none of a negative distance */
};

struct pe_relative_kind {
    /* One of the two, the other NULL. */
    const struct pe_clipped *clipped;
    const struct pe_distances *distances;

    /* Sets the parameters that the shapes tell, unless they are given. Required. */
    enum pe_status (*infer)(struct pe_params *params, const struct pe_attention_spec *spec,
                            struct pe_error *err);
};

/* The `infer` of vectors that are clipped, and of those that are not. */
enum pe_status pe_relative_infer_clipped(struct pe_params *params,
                                         const struct pe_attention_spec *spec,
                                         struct pe_error *err);
enum pe_status pe_relative_infer_distances(struct pe_params *params,
                                           const struct pe_attention_spec *spec,
                                           struct pe_error *err);

/* The kind's members of a scheme; NULL: it is not of the kind, or has the other sort. */
const struct pe_clipped *pe_clipped_of(const struct pe_encoding *encoding);
const struct pe_distances *pe_distances_of(const struct pe_encoding *encoding);

/* The row of a query and a key in the tables of clipped vectors, by key - query. */
int64_t pe_clipped_row(const struct pe_scheme *scheme, int64_t distance);

#endif
