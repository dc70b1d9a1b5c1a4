/* SPDX-License-Identifier: MIT */
#ifndef CORE_KINDS_ROTARY_H
#define CORE_KINDS_ROTARY_H

#include "core/scheme/encoding.h"
#include "core/tables/bulk.h"

/* cos and sin of a rotary encoding, whatever a position is made of. */

/* Sorts the pairs of scheme->frequencies by the coordinate that they turn with. */
enum pe_status pe_rotary_axes_prepare(struct pe_scheme *scheme, struct pe_error *err);
void pe_rotary_axes_free(struct pe_scheme *scheme);

/* Have these positions as many coordinates as the scheme's? `where` is for the error. */
enum pe_status pe_rotary_positions_check(const struct pe_scheme *scheme,
                                         const struct pe_positions *positions, const char *where,
                                         struct pe_error *err);

/* Where a scale is asked for. */
struct pe_scale_at {
    const struct pe_scheme *scheme;
    size_t pair;
    struct pe_position position;
    bool is_delta; /* the position is a distance */
    int sign;      /* 1, or -1 for its inverse: of keys, or to undo that of queries */
};

/* Do the scales of all positions lie within e^+-most? */
enum pe_status pe_rotary_reach_check(const struct pe_scheme *scheme,
                                     const struct pe_positions *positions, bool is_delta,
                                     double most, const char *where, struct pe_error *err);

/* What pe_rotary_fill makes rows of. */
struct pe_rotary_rows {
    const struct pe_scheme *scheme;
    const struct pe_positions *positions;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    bool is_delta;      /* positions are distances */
    bool inverse_scale; /* of keys, or to undo that of queries */
};

/* pe_table_fill of a scheme: each pair at the coordinate that it turns with. */
void pe_rotary_fill(const struct pe_table *table, const struct pe_rotary_rows *rows, size_t begin,
                    size_t end);

#endif
