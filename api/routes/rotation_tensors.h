/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ROTATION_TENSORS_H
#define API_ROUTES_ROTATION_TENSORS_H

/* The tensors of a rotation: their axes and positions, and cos and sin for them. */

#include "api/routes/rotation_asked.h"
#include "api/routes/rotation_kept.h"

/* One tensor on its way through. */
struct rotation_entry {
    const struct api_tensor *tensor;
    struct pe_axes axes;
    size_t elements, rows_per_token;
    enum pe_dtype arithmetic, out; /* the dtype rotated in, the wider one; and the answer's */
    unsigned char *data;           /* of `arithmetic`: the request's own bytes, or a wider copy */
    struct pe_rotation_spec spec, undo_spec; /* of `asked`, with the positions of the entry */
    struct api_rotation rotation, undo; /* undo comes first, where there is something to undo */
};

struct rotation_state {
    struct api_request *request;
    struct rotation_asked asked;
    struct pe_scheme *scheme, *from_scheme;
    struct rotation_entry *entries;
    size_t count;
    struct pe_output *outputs;
    unsigned char **in_place;
    size_t rows_together;
    double work; /* nanoseconds that cos and sin take which were not found */
};

/* Entries, outputs and rows_together, by the shapes. */
enum pe_status rotation_tensors_read(struct rotation_state *state, struct pe_error *err);

/* The entries' positions, which are known with the schemes, and which of them are keys. */
enum pe_status rotation_tensors_place(struct rotation_state *state, struct pe_error *err);

/* Looks for cos and sin in the cache. *at_hand: none is left to make. */
enum pe_status rotation_tensors_find(struct rotation_state *state, bool *at_hand,
                                     struct pe_error *err);

/* Makes cos and sin that were not found, and wider copies of tensors where they are needed.
 * *in_place: no output is of another dtype than its entry is rotated in. */
enum pe_status rotation_tensors_make(struct rotation_state *state, bool *in_place,
                                     struct pe_error *err);

#endif
