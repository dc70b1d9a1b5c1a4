/* SPDX-License-Identifier: MIT */
#ifndef POSENC_POSENC_H
#define POSENC_POSENC_H

/* libposenc: positional encodings for Transformers, exact.
 *
 *   struct pe_params params;
 *   struct pe_scheme *scheme = NULL;
 *   struct pe_error err = {0};
 *
 *   pe_params_parse(&params, "rope", "dim=128 base=500000", &err);
 *   pe_scheme_new(&scheme, "rope", &params, &err);
 *   ... views of it, rotations and attention with it ...
 *   pe_scheme_free(scheme);
 *
 * Schemes, views, rotations and attentions are immutable once made: any number of threads may fill,
 * rotate and read through one at a time. Every function that can fail returns an enum pe_status and
 * describes the failure in the caller's struct pe_error. */

#include "posenc/dtype.h"
#include "posenc/status.h"

struct pe_encoding;
struct pe_pool;

/* ---- parameters ------------------------------------------------------------------------------ */

enum { PE_PARAMS_MAX = 32 };

struct pe_param; /* a description: name, type, range, default; see encoding.h */

struct pe_value {
    bool given;    /* by the caller; else the default, if there is one, is in `number` */
    bool present;  /* given, or has a default */
    double number; /* numbers, integers, booleans (0, 1) and choices (index from 0) */
    double *list;  /* lists; owned */
    size_t list_count;
    size_t rows; /* a list of lists: how many, all of one length; 0: a flat one */
    char *text;  /* text; owned */
};

/* Values for a list of descriptions; owned memory hangs off it: pe_params_free after use. */
struct pe_params {
    const struct pe_param *list;
    size_t count;
    struct pe_value values[PE_PARAMS_MAX];
};

/* Reads "name=value" pairs separated by white space or '&' for an encoding, with its defaults. */
enum pe_status pe_params_parse(struct pe_params *params, const char *encoding, const char *text,
                               struct pe_error *err);
void pe_params_free(struct pe_params *params);

/* ---- schemes --------------------------------------------------------------------------------- */

/* An encoding with its parameters resolved: frequencies, attention factor, slopes. */
struct pe_scheme;

/* PE_NOT_FOUND for an unknown encoding; PE_MISSING, PE_OUT_OF_RANGE, PE_CONFLICT, PE_INVALID for
 * parameters. The parameters are read, not kept. */
enum pe_status pe_scheme_new(struct pe_scheme **scheme, const char *encoding,
                             const struct pe_params *params, struct pe_error *err);
void pe_scheme_free(struct pe_scheme *scheme);

/* Gives an encoding of buckets (t5) its learned weights [buckets, heads], which are copied: before
 * any view or attention is made of it. PE_CONFLICT where the encoding has no use for them. */
enum pe_status pe_scheme_weights(struct pe_scheme *scheme, const struct pe_tensor *weights,
                                 struct pe_error *err);

/* What a learned table must be: [rows, width] of a floating dtype, finite, not empty. `where` is
 * for the error. */
enum pe_status pe_table_check(const struct pe_tensor *table, const char *where,
                              struct pe_error *err);

/* Gives an encoding of a learned table (learned, hierarchical) a table that was checked, before any
 * view is made of it; the elements must outlive the scheme. PE_CONFLICT where the encoding has no
 * use for one, PE_SHAPE_MISMATCH where the parameter dim says otherwise. */
enum pe_status pe_scheme_table(struct pe_scheme *scheme, const struct pe_tensor *table,
                               struct pe_error *err);

/* Positions t = start + i * step for i < count, as real numbers without rounding; or, where values
 * is not NULL, those values. batch > 1: values has batch rows of count; axes > 1: that many times
 * as many, [axes][batch][count]. |t| <= 2^53 - 1. */
struct pe_positions {
    double start, step;
    const double *values;
    size_t count;
    size_t batch; /* 0 and 1 mean the same positions for every batch row */
    size_t axes;  /* coordinates of a position; 0 and 1: a position is one number */
};

/* ---- views: tables, frequencies, biases ------------------------------------------------------ */

enum { PE_OUTPUTS_MAX = 4 };

/* One named tensor of a view. Rows are what can be filled on their own: all dimensions but the
 * last (of a rank-1 tensor: one row). A complex tensor's row holds (real, imaginary) pairs. */
struct pe_output {
    const char *name;
    enum pe_dtype dtype;
    bool complex;
    unsigned rank;
    size_t shape[PE_RANK_MAX];
    size_t rows;
    size_t row_elements; /* of dtype; twice the last dimension where complex */
    size_t element_work; /* operations that an element takes; 0 and 1: it is simply written */
};

struct pe_scalar {
    const char *name;
    double value;
};

/* A view is fixed in shape when made and filled row by row in any order. */
struct pe_view;

/* view: "table", "frequencies", "bias" or an analysis such as "similarity"; params: of that view
 * (pe_view_params), not kept.
 * The scheme must outlive the view. PE_UNSUPPORTED where the encoding has no such view. */
enum pe_status pe_view_new(struct pe_view **view, const struct pe_scheme *scheme, const char *name,
                           const struct pe_params *params, enum pe_dtype dtype,
                           struct pe_error *err);
void pe_view_free(struct pe_view *view);

/* NULL and false past the last one. Scalars (the attention factor) need a prepared scheme. */
const struct pe_output *pe_view_output(const struct pe_view *view, size_t index);
bool pe_view_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

/* Writes rows [row_begin, row_end) of one output, row_elements * size each, correctly rounded to
 * its dtype, the same bytes on every machine and however the rows are cut. */
void pe_view_fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                  void *out);

/* ---- rotation -------------------------------------------------------------------------------- */

enum pe_layout { PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED };

/* A tensor seen as [batch][outer heads][sequence][inner heads][head_dim]: bhsd has its heads
 * outside, bshd inside. */
struct pe_axes {
    size_t batch, heads_outer, sequence, heads_inner, head_dim;
};

/* axes: bhsd, bshd, thd, shd, hsd; or bsd and sd, whose d is heads * head_dim (head_dim > 0). */
enum pe_status pe_axes_parse(struct pe_axes *out, const char *axes, const struct pe_tensor *tensor,
                             size_t head_dim, struct pe_error *err);

struct pe_rotation_spec {
    const struct pe_scheme *scheme; /* rotary */
    enum pe_layout layout;          /* of the pairs in */
    enum pe_layout output_layout;   /* of the pairs out */
    struct pe_positions positions;  /* of the tokens, or how far they move */
    bool is_delta; /* positions are distances to move by: the factor A is left out */
    bool inverse;  /* undo a rotation, its factor A included */
    bool is_key;   /* of keys, which some schemes scale by the inverse of what queries have */
    bool without_attention_factor;
    /* [rows, rotary_dim / 2], instead of the scheme: token t takes row t. NULL: neither */
    const struct pe_tensor *cos, *sin;
};

/* cos and sin of one spec for every position, ready to rotate tensors of one dtype. */
struct pe_rotation;

/* Computes the table of positions.count * max(1, positions.batch) rows, on the pool if not NULL. */
enum pe_status pe_rotation_new(struct pe_rotation **rotation, const struct pe_rotation_spec *spec,
                               enum pe_dtype dtype, struct pe_pool *pool, struct pe_error *err);
void pe_rotation_free(struct pe_rotation *rotation);

/* Do the positions fit the tensor? sequence == positions.count, batch == positions.batch or it is
 * 1, head_dim >= rotary_dim. `name` is the tensor's, for the error. */
enum pe_status pe_rotation_check(const struct pe_rotation *rotation, const struct pe_axes *axes,
                                 enum pe_dtype dtype, const char *name, struct pe_error *err);

/* Rotates in place the tokens [begin, end) of batch * heads_outer * sequence, in memory order. */
void pe_rotate(const struct pe_rotation *rotation, void *data, const struct pe_axes *axes,
               size_t begin, size_t end);

/* ---- attention ------------------------------------------------------------------------------- */

enum pe_attention_output { PE_ATTENTION_SCORES, PE_ATTENTION_WEIGHTS, PE_ATTENTION_OUTPUT };

/* softmax(scale * q.k + position) v. q is [b, h, s, d], k [b, hk, n, d], v [b, hk, n, dv], of one
 * floating dtype, h a multiple of hk. Queries stand at positions query_start + row, keys at their
 * own index. f64 is computed in f64, all else in f32 and rounded once; the same bytes on every
 * machine, for any number of threads and any cut of the rows, for finite input. */
struct pe_attention_spec {
    const struct pe_scheme *scheme; /* rotary, bias, relative, or NULL: no position at all */
    enum pe_layout layout;          /* rotary only */
    struct pe_tensor q, k, v;       /* v.rank 0: absent; only the output needs it */
    struct pe_tensor rel_k, rel_v;  /* shaw: [2 * max_relative_position + 1, d], rank 0: absent */
    struct pe_tensor w_r;           /* transformer-xl: [h * d, dim], projects the rows of distances;
                                     * rank 0: they are used as they are, of width d */
    struct pe_tensor pos_bias_u;    /* transformer-xl: [h, d], added to q where it meets k ... */
    struct pe_tensor pos_bias_v;    /* ... and where it meets a distance; rank 0: nothing is */
    bool causal;
    double scale;       /* NAN: 1 / sqrt(d); else 1e-30 .. 1e30 */
    double query_start; /* NAN: n - s, so that the queries are the last rows */
    enum pe_attention_output output;
};

struct pe_attention;

/* Does an encoding have a part in attention? Tables have none: they are added before. */
bool pe_attention_takes(const struct pe_encoding *encoding);

/* Packs the keys (rotated where the scheme rotates) and the values, on the pool if not NULL. The
 * scheme must outlive the attention, and q as long as it is filled; the other tensors are not
 * kept. Errors name "tensor:NAME" or "parameter:NAME". */
enum pe_status pe_attention_new(struct pe_attention **attention,
                                const struct pe_attention_spec *spec, struct pe_pool *pool,
                                struct pe_error *err);
void pe_attention_free(struct pe_attention *attention);

/* scores and weights: [b, h, s, n]; output: [b, h, s, dv]; in q's dtype. Rows are b * h * s. */
const struct pe_output *pe_attention_output(const struct pe_attention *attention);

/* Writes rows [row_begin, row_end). A masked score is -inf; a row masked whole gives zero weights.
 * false: memory for the block's scratch was short, and out is undefined. */
bool pe_attention_fill(const struct pe_attention *attention, size_t row_begin, size_t row_end,
                       void *out);

/* Rows x [b, s, d] times weight [h * w, d], as a linear layer does it, the heads apart: out
 * [b, h, s, w], whose data is the caller's. f64, or f32 computed in f32. */
enum pe_status pe_project(const struct pe_tensor *x, const struct pe_tensor *weight,
                          struct pe_pool *pool, const struct pe_tensor *out, struct pe_error *err);

/* ---- layouts --------------------------------------------------------------------------------- */

/* Permutes the first `width` elements of each of `rows` rows of row_elements in place, between pair
 * layouts, bit for bit. width is even and at most row_elements. */
void pe_layout_convert(void *data, enum pe_dtype dtype, size_t rows, size_t row_elements,
                       size_t width, enum pe_layout from, enum pe_layout to);

/* Which element of `from` stands at `index` of `to`; those behind `width` stay. */
size_t pe_layout_source(size_t index, size_t width, enum pe_layout from, enum pe_layout to);

/* ---- threads --------------------------------------------------------------------------------- */

/* W workers, one queue of jobs cut into blocks; blocks go round-robin over the jobs waiting, so
 * that a small job never waits for a large one. */
struct pe_job {
    void (*run)(struct pe_job *job, size_t block); /* on any worker; blocks run side by side */
    void (*done)(struct pe_job *job); /* once, on the worker of the last block; may be NULL */
    size_t blocks;                    /* 0: done is called at once, by the submitter */
    /* the rest is the pool's */
    struct pe_job *next, *previous;
    size_t next_block, blocks_left;
    bool cancelled, awaited, ended;
};

/* workers 0: one for each CPU this process may run on. pin: each to a CPU of its own. */
enum pe_status pe_pool_new(struct pe_pool **pool, size_t workers, bool pin, struct pe_error *err);
void pe_pool_free(struct pe_pool *pool); /* runs what is queued, then ends */
size_t pe_pool_workers(const struct pe_pool *pool);
size_t pe_pool_depth(struct pe_pool *pool); /* jobs submitted and not done */

/* Queues a job and returns. The job is the caller's and must live until `done` was called. */
void pe_pool_submit(struct pe_pool *pool, struct pe_job *job);

/* Hands out no more blocks of a job; `done` is called as ever, once those running have ended. */
void pe_pool_cancel(struct pe_pool *pool, struct pe_job *job);

/* Runs a job to its end, the caller taking part; safe inside a block. pool NULL: no one else. */
void pe_pool_run(struct pe_pool *pool, struct pe_job *job);

/* ---- about ----------------------------------------------------------------------------------- */

#define PE_VERSION "0.1.0"

const char *pe_version(void);
/* "scalar", "sse2", "avx2", "avx512" or "neon": what the CPU has, or the lower one that the
 * environment variable POSENC_ISA names. */
const char *pe_isa_name(void);

#endif
