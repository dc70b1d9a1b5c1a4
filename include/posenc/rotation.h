/* SPDX-License-Identifier: MIT */
#ifndef POSENC_ROTATION_H
#define POSENC_ROTATION_H

#include "posenc/layouts.h"
#include "posenc/pool.h"
#include "posenc/schemes.h"

/* Rotation of queries and keys: pairs of elements rotate by the angles of their position. */

/* Begins as zeros: every option is off. Set both layouts: zero is PE_LAYOUT_HALF, and a wrong
 * layout gives wrong numbers without an error. */
struct pe_rotation_spec {
    size_t size;                    /* sizeof(struct pe_rotation_spec), for later versions */
    const struct pe_scheme *scheme; /* rotary and prepared; NULL is fine with cos and sin */
    enum pe_layout layout;          /* of input pairs */
    enum pe_layout output_layout;   /* of output pairs */
    struct pe_positions positions;  /* of the tokens, or the distances they move */
    bool is_delta;                  /* positions are distances to move by: no attention factor */
    bool inverse;                   /* undo a rotation, its attention factor included */
    bool is_key; /* keys, which some schemes scale by the inverse of the queries' factor */
    bool without_attention_factor;
    /* [rows, rotary_dim / 2], instead of the scheme: token t takes row t. Both or neither. */
    const struct pe_tensor *cos, *sin;
};

/* cos and sin of one spec for every position, for tensors of one dtype. Immutable: any number of
 * threads may rotate with it. */
struct pe_rotation;

PE_DECLARATIONS_BEGIN

/* Computes the table of positions.count * max(1, positions.batch) rows, on the pool if not NULL.
 * `dtype` is that of the tensors to rotate. Positions, cos and sin are copied. PE_MISSING without
 * a scheme or with one of cos and sin; PE_UNSUPPORTED for a scheme that is not rotary and a dtype
 * that is no float; PE_INVALID for a scheme that is not prepared, an invalid layout, cos or sin
 * without data, or a wrong `size`; PE_CONFLICT for options that cos and sin do not support;
 * PE_SHAPE_MISMATCH, PE_OUT_OF_RANGE, PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_rotation_new(struct pe_rotation **rotation,
                                      const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                      struct pe_pool *pool, struct pe_work *work,
                                      struct pe_error *err);
PE_API void pe_rotation_free(struct pe_rotation *rotation);

/* Estimated nanoseconds of one core for pe_rotation_new; the scheme may be unprepared. */
PE_API double pe_rotation_work(const struct pe_rotation_spec *spec, enum pe_dtype dtype);

/* Do the positions fit the tensor? sequence == positions.count, batch == positions.batch unless
 * that is 0 or 1, head_dim >= rotary_dim. `name` is the tensor's, for the error: PE_SHAPE_MISMATCH,
 * PE_CONFLICT for another dtype than the rotation's. Any thread. */
PE_API enum pe_status pe_rotation_check(const struct pe_rotation *rotation,
                                        const struct pe_axes *axes, enum pe_dtype dtype,
                                        const char *name, struct pe_error *err);

/* Rotates in place the tokens [begin, end) of batch * heads_outer * sequence, in memory order, of a
 * tensor of the rotation's dtype, stored at `data`. The same bytes for any split. Any
 * thread, for tokens of its own. PE_SHAPE_MISMATCH as pe_rotation_check, PE_OUT_OF_RANGE for tokens
 * that are not there, PE_TOO_LARGE, PE_CANCELLED: some are rotated then. */
PE_API enum pe_status pe_rotate(const struct pe_rotation *rotation, void *data,
                                const struct pe_axes *axes, size_t begin, size_t end,
                                struct pe_work *work, struct pe_error *err);

PE_DECLARATIONS_END

#endif
