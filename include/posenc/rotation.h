/* SPDX-License-Identifier: MIT */
#ifndef POSENC_ROTATION_H
#define POSENC_ROTATION_H

#include "posenc/layouts.h"
#include "posenc/pool.h"
#include "posenc/schemes.h"

/* Rotation of queries and keys: pairs of numbers are turned by the angle of their position. */

/* Begins as zeros: every option is off. Choose both layouts on purpose: zero is PE_LAYOUT_HALF, and
 * a wrong layout gives wrong numbers and no error. */
struct pe_rotation_spec {
    size_t size; /* sizeof(struct pe_rotation_spec), for later versions to tell what is there */
    const struct pe_scheme *scheme; /* rotary and prepared; NULL is fine with cos and sin */
    enum pe_layout layout;          /* of the pairs in */
    enum pe_layout output_layout;   /* of the pairs out */
    struct pe_positions positions;  /* of the tokens, or how far they move */
    bool is_delta;                  /* positions are distances to move by: no attention factor */
    bool inverse;                   /* undo a rotation, its attention factor included */
    bool is_key; /* of keys, which some schemes scale by the inverse of what queries have */
    bool without_attention_factor;
    /* [rows, rotary_dim / 2], instead of the scheme: token t takes row t. Both or neither. */
    const struct pe_tensor *cos, *sin;
};

/* cos and sin of one spec for every position, ready to rotate tensors of one dtype. Immutable once
 * made: any number of threads may rotate with it. */
struct pe_rotation;

PE_DECLARATIONS_BEGIN

/* Computes the table of positions.count * max(1, positions.batch) rows, on the pool if not NULL.
 * `dtype` is that of the tensors to rotate. Positions, cos and sin are not kept. PE_MISSING without
 * a scheme or with one of cos and sin; PE_UNSUPPORTED for a scheme that is not rotary and a dtype
 * that is no float; PE_INVALID for a scheme that is not prepared, a layout that is none, cos or sin
 * without data, or a struct of another kind; PE_CONFLICT for what a table of cos and sin cannot do;
 * PE_SHAPE_MISMATCH, PE_OUT_OF_RANGE, PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_rotation_new(struct pe_rotation **rotation,
                                      const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                      struct pe_pool *pool, struct pe_work *work,
                                      struct pe_error *err);
PE_API void pe_rotation_free(struct pe_rotation *rotation);

/* Nanoseconds of one core, about, that pe_rotation_new of such a spec takes; the scheme may be
 * unprepared. */
PE_API double pe_rotation_work(const struct pe_rotation_spec *spec, enum pe_dtype dtype);

/* Do the positions fit the tensor? sequence == positions.count, batch == positions.batch unless
 * that is 0 or 1, head_dim >= rotary_dim. `name` is the tensor's, for the error: PE_SHAPE_MISMATCH,
 * PE_CONFLICT for another dtype than the rotation's. Any thread. */
PE_API enum pe_status pe_rotation_check(const struct pe_rotation *rotation,
                                        const struct pe_axes *axes, enum pe_dtype dtype,
                                        const char *name, struct pe_error *err);

/* Rotates in place the tokens [begin, end) of batch * heads_outer * sequence, in memory order, of a
 * tensor of the rotation's dtype, all of which lies at `data`. The same bytes for any cut. Any
 * thread, for tokens of its own. PE_SHAPE_MISMATCH as pe_rotation_check, PE_OUT_OF_RANGE for tokens
 * that are not there, PE_TOO_LARGE, PE_CANCELLED: some are rotated then. */
PE_API enum pe_status pe_rotate(const struct pe_rotation *rotation, void *data,
                                const struct pe_axes *axes, size_t begin, size_t end,
                                struct pe_work *work, struct pe_error *err);

PE_DECLARATIONS_END

#endif
