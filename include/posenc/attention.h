/* SPDX-License-Identifier: MIT */
#ifndef POSENC_ATTENTION_H
#define POSENC_ATTENTION_H

#include "posenc/layouts.h"
#include "posenc/pool.h"
#include "posenc/views.h"

/* Attention with positions: softmax(scale * q.k + position) v. */

enum pe_attention_output { PE_ATTENTION_SCORES, PE_ATTENTION_WEIGHTS, PE_ATTENTION_OUTPUT };

/* q is [b, h, s, d], k [b, hk, n, d], v [b, hk, n, dv], of one floating dtype, h a multiple of hk.
 * Queries stand at positions query_start + row, keys at their own index. f64 is computed in f64,
 * all else in f32 and rounded once; the same bytes on every machine, for any number of threads and
 * any cut of the rows, for finite input. */
struct pe_attention_spec {
    size_t size; /* sizeof(struct pe_attention_spec), for later versions to tell what is there */
    const struct pe_scheme
        *scheme;              /* rotary, bias or relative, prepared; NULL: no position at all */
    enum pe_layout layout;    /* rotary only */
    struct pe_tensor q, k, v; /* v.rank 0: absent; only the output needs it */
    struct pe_tensor rel_k, rel_v; /* shaw: [2 * max_relative_position + 1, d], rank 0: absent */
    struct pe_tensor w_r;          /* transformer-xl: [h * d, dim], projects the rows of distances;
                                    * rank 0: they are used as they are, of width d */
    struct pe_tensor pos_bias_u;   /* transformer-xl: [h, d], added to q where it meets k ... */
    struct pe_tensor pos_bias_v;   /* ... and where it meets a distance; rank 0: nothing is */
    bool causal;
    double scale;       /* set it to NAN for 1 / sqrt(d); else 1e-30 .. 1e30: zero is refused */
    double query_start; /* set it to NAN for n - s: the queries are the last rows */
    enum pe_attention_output output;
};

struct pe_attention;

PE_DECLARATIONS_BEGIN

/* Sets the parameters of an encoding that the shapes of the spec's tensors tell, unless they are
 * given: dim, heads, max_relative_position. The spec's scheme is not looked at. PE_SHAPE_MISMATCH
 * where q has not 4 dimensions; PE_OUT_OF_RANGE and the like where an encoding cannot have them. */
PE_API enum pe_status pe_attention_infer(const struct pe_encoding *encoding,
                                         struct pe_params *params,
                                         const struct pe_attention_spec *spec,
                                         struct pe_error *err);

/* The answer's name, dtype and shape, before any work: the shapes of q, k and v are checked as
 * pe_attention_new does, and whether attention takes the scheme, which may be unprepared; the
 * tensors may be without data. `output` is the caller's, of output_size bytes, its name a constant.
 * Any thread. PE_SHAPE_MISMATCH, PE_MISSING, PE_INVALID, PE_UNSUPPORTED, PE_TOO_LARGE. */
PE_API enum pe_status pe_attention_shape(const struct pe_attention_spec *spec,
                                         struct pe_output *output, size_t output_size,
                                         struct pe_error *err);

/* Packs the keys (rotated where the scheme rotates) and the values, on the pool if not NULL. q and
 * the scheme must live as long as it is filled; the other tensors are not kept. Errors name
 * "tensor:NAME" or "parameter:NAME": PE_SHAPE_MISMATCH, PE_OUT_OF_RANGE, PE_MISSING, PE_INVALID,
 * PE_CONFLICT, PE_UNSUPPORTED, PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_attention_new(struct pe_attention **attention,
                                       const struct pe_attention_spec *spec, struct pe_pool *pool,
                                       struct pe_work *work, struct pe_error *err);
PE_API void pe_attention_free(struct pe_attention *attention);

/* scores and weights: [b, h, s, n]; output: [b, h, s, dv]; in q's dtype. Rows are b * h * s. Lives
 * as long as the attention. */
PE_API const struct pe_output *pe_attention_output(const struct pe_attention *attention);

/* Writes rows [row_begin, row_end). A masked score is -inf; a row masked whole gives zero weights.
 * Any thread, several at once, in any order. PE_OUT_OF_RANGE, PE_CANCELLED, PE_OUT_OF_MEMORY: `out`
 * is undefined then. */
PE_API enum pe_status pe_attention_fill(const struct pe_attention *attention, size_t row_begin,
                                        size_t row_end, void *out, struct pe_work *work,
                                        struct pe_error *err);

/* Rows x [b, s, d] times weight [h * w, d], as a linear layer does it, the heads apart: out
 * [b, h, s, w], whose data is the caller's. One floating dtype; f64 is computed in f64, all else in
 * f32 and rounded once. PE_SHAPE_MISMATCH, PE_UNSUPPORTED for dtypes, PE_INVALID without data,
 * PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY: `out` is undefined then. */
PE_API enum pe_status pe_project(const struct pe_tensor *x, const struct pe_tensor *weight,
                                 struct pe_pool *pool, const struct pe_tensor *out,
                                 struct pe_work *work, struct pe_error *err);

PE_DECLARATIONS_END

#endif
