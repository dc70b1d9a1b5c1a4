/* SPDX-License-Identifier: MIT */
#ifndef POSENC_ATTENTION_H
#define POSENC_ATTENTION_H

#include "posenc/layers.h"
#include "posenc/layouts.h"
#include "posenc/pool.h"
#include "posenc/views.h"

/* Attention with positions: softmax(cap(scale * q.k) + position + bias + mask) v. */

enum pe_attention_output { PE_ATTENTION_SCORES, PE_ATTENTION_WEIGHTS, PE_ATTENTION_OUTPUT };

/* Each head of q and of k is divided by its root mean square: not at all, before the rotation
 * (Qwen 3, Gemma 3), or after it (Llama 4). */
enum pe_attention_norm { PE_NORM_NONE, PE_NORM_BEFORE, PE_NORM_AFTER };

/* q is [b, h, s, d], k [b, hk, n, d], v [b, hk, n, dv], of one floating dtype, h a multiple of hk.
 * Queries are at positions query_start + row, keys at their index. f64 is computed in f64, other
 * dtypes in f32 and rounded once. Finite input gives the same bytes on every machine, for any
 * number of threads and any split of the rows. The other tensors have q's dtype or, where that is
 * f16 or bf16, f32. Members after `output` are off where they are zero. */
struct pe_attention_spec {
    size_t size;                    /* sizeof(struct pe_attention_spec), for later versions */
    const struct pe_scheme *scheme; /* rotary, bias or relative, prepared; NULL: no positions */
    enum pe_layout layout;          /* rotary only */
    struct pe_tensor q, k, v;       /* v.rank 0: absent; only the output needs it */
    struct pe_tensor rel_k, rel_v;  /* shaw: [2 * max_relative_position + 1, d], rank 0: absent */
    struct pe_tensor w_r;           /* transformer-xl: [h * d, dim], projects the rows of distances;
                                     * rank 0: rows of width d, not projected */
    struct pe_tensor pos_bias_u; /* transformer-xl: [h, d], added to q in the product with k ... */
    struct pe_tensor pos_bias_v; /* ... and in that with distances; rank 0: zero */
    bool causal;
    double scale;       /* set it to NAN for 1 / sqrt(d); else 1e-30 .. 1e30: zero is refused */
    double query_start; /* set it to NAN for n - s: the queries are the last rows */
    enum pe_attention_output output;

    /* Limits of the keys that a query sees, in addition to `causal`. The window counts keys before
     * and after the query's own position, as FlashAttention does; -1: all. chunk: only keys of the
     * same run of `chunk` positions; 0: none. */
    bool has_window;
    int64_t window_left, window_right;
    uint64_t chunk;
    /* Sequences packed in a batch of 1: [sequences + 1] integers of a dtype other than f16, bf16
     * and bool, from 0 to s; of keys from 0 to n (absent: the same). Keys of other sequences are
     * hidden; the last key of a sequence is at the position of its last query. query_start must be
     * NAN. */
    struct pe_tensor cu_seqlens, cu_seqlens_k;
    /* Added to the logits: rank 1 to 4, each axis that of [b, h, s, n] or 1, as NumPy broadcasts.
     * A mask may be bool, true where a key is visible. -inf hides a key; NaN and inf are refused.
     */
    struct pe_tensor mask, bias;

    double softcap; /* logits become softcap * tanh(logit / softcap) before biases; 0: none */
    bool bias_before_scale; /* the encoding's bias is added to q.k and scaled with it (Falcon) */
    struct pe_tensor sinks; /* [h]: logits in the softmax of each row, without values */
    struct pe_temperature temperature; /* strength 0: none; Llama 4 has offset 1 */

    enum pe_attention_norm norm;
    struct pe_tensor q_norm, k_norm; /* [d]: weights of the norm; rank 0: ones */
    double norm_epsilon;             /* added to the mean square, 0 .. 1 */
    double norm_offset;              /* added to the weights: 1 for Gemma */

    /* deberta-log: rows of distances, [2 * position_buckets, h * d], multiplied with queries (c2p)
     * and with keys (p2c); one at least. `scale` NAN is then 1 / sqrt(d * (1 + their number)). */
    struct pe_tensor pos_key, pos_query;

    /* Positions of queries and keys for rotary encodings and the temperature: [s] and [n], a row
     * for each of the batch, or several coordinates. count 0: the positions above, from 0 in each
     * sequence; of keys: those of the queries, if there are as many. */
    struct pe_positions positions, key_positions;
};

struct pe_attention;

/* Traits of a model that pe_attention_traits_apply does not apply. */
enum {
    PE_TRAITS_LAYER_SCALE = 1,  /* scale is to be divided by the layer's number, from 1 */
    PE_TRAITS_NORM = 2,         /* a layer norm, or a norm of all heads together */
    PE_TRAITS_NORM_WEIGHTS = 4, /* a norm whose weights q_norm and k_norm are absent */
    PE_TRAITS_SINKS = 8,        /* sinks, which are absent */
};

PE_DECLARATIONS_BEGIN

/* Infers the parameters dim, heads and max_relative_position of an encoding from the shapes of the
 * spec's tensors, unless they are given. The spec's scheme is not read. PE_SHAPE_MISMATCH unless q
 * has 4 dimensions; PE_OUT_OF_RANGE and the like for values that the encoding cannot have. */
PE_API enum pe_status pe_attention_infer(const struct pe_encoding *encoding,
                                         struct pe_params *params,
                                         const struct pe_attention_spec *spec,
                                         struct pe_error *err);

/* Sets scale, window, chunk, temperature, softcap, norm and bias_before_scale of a spec to the
 * traits of a model, where it has them. Set q's shape, the scheme, q_norm, k_norm and sinks first;
 * causal stays. *skipped: traits that are not applied, PE_TRAITS_NORM and so on. PE_INVALID where
 * the `size` of either struct is wrong. Any thread. */
PE_API enum pe_status pe_attention_traits_apply(const struct pe_attention_traits *traits,
                                                struct pe_attention_spec *spec, unsigned *skipped,
                                                struct pe_error *err);

/* The name, dtype and shape of the result: checks shapes and the scheme as pe_attention_new does,
 * for tensors that may lack data and a scheme that may be unprepared. `output` is the caller's, of
 * output_size bytes, its name a constant. Any thread. PE_SHAPE_MISMATCH, PE_MISSING, PE_INVALID,
 * PE_UNSUPPORTED, PE_TOO_LARGE. */
PE_API enum pe_status pe_attention_shape(const struct pe_attention_spec *spec,
                                         struct pe_output *output, size_t output_size,
                                         struct pe_error *err);

/* Packs the keys (rotated if the scheme rotates) and the values, on the pool if not NULL. q, v,
 * pos_bias_u, pos_bias_v, mask, bias and the scheme must outlive the last fill; the others are
 * copied. Errors name "tensor:NAME" or "parameter:NAME": PE_SHAPE_MISMATCH, PE_OUT_OF_RANGE,
 * PE_MISSING, PE_INVALID, PE_CONFLICT, PE_UNSUPPORTED, PE_TOO_LARGE, PE_CANCELLED,
 * PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_attention_new(struct pe_attention **attention,
                                       const struct pe_attention_spec *spec, struct pe_pool *pool,
                                       struct pe_work *work, struct pe_error *err);
PE_API void pe_attention_free(struct pe_attention *attention);

/* scores and weights: [b, h, s, n]; output: [b, h, s, dv]; in q's dtype. Rows are b * h * s. Lives
 * as long as the attention. */
PE_API const struct pe_output *pe_attention_output(const struct pe_attention *attention);

/* Writes rows [row_begin, row_end). The score of a hidden key is -inf; a row without visible keys
 * has weights of 0, as in torch's scaled_dot_product_attention. Any thread, several at once, in any
 * order. PE_OUT_OF_RANGE, PE_CANCELLED, PE_OUT_OF_MEMORY: `out` is undefined then. */
PE_API enum pe_status pe_attention_fill(const struct pe_attention *attention, size_t row_begin,
                                        size_t row_end, void *out, struct pe_work *work,
                                        struct pe_error *err);

/* A linear layer with its columns sorted by heads: x [b, s, d] times weight [h * w, d] is out
 * [b, h, s, w], whose data is the caller's. One floating dtype; f64 is computed in f64, others in
 * f32 and rounded once. PE_SHAPE_MISMATCH, PE_UNSUPPORTED for dtypes, PE_INVALID without data,
 * PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY: `out` is undefined then. */
PE_API enum pe_status pe_project(const struct pe_tensor *x, const struct pe_tensor *weight,
                                 struct pe_pool *pool, const struct pe_tensor *out,
                                 struct pe_work *work, struct pe_error *err);

/* Estimated nanoseconds of one core for pe_project, from shapes and dtype; 0: pe_project would
 * refuse them. */
PE_API double pe_project_work(const struct pe_tensor *x, const struct pe_tensor *weight);

PE_DECLARATIONS_END

#endif
