/* SPDX-License-Identifier: MIT */
#ifndef CORE_DIAGNOSIS_OBSERVATIONS_H
#define CORE_DIAGNOSIS_OBSERVATIONS_H

/* Tensors as samples: observations.c reads tables and frequencies, rotated_tokens.c queries and
 * keys before and after a rotation, kv_heads.c every head of a cache. Many rows are sampled,
 * which bounds the time; the rest is read when all rows are checked. */

#include "core/base/work.h"
#include "core/diagnosis/diagnosis.h"

/* ---- observations.c -------------------------------------------------------------------------- */

/* Which dtypes hold every value that was read. */
struct pe_precision {
    bool loses[PE_BF16 + 1];
    bool is_informative; /* there was a value other than 0, 1 and -1 */
};
void pe_precision_note(struct pe_precision *precision, enum pe_dtype dtype, double value);
/* The coarsest dtype that holds every value read of tensors of a dtype: values were rounded to it,
 * whatever dtype they are stored in. */
enum pe_dtype pe_precision_dtype(const struct pe_precision *precision, enum pe_dtype dtype);

struct pe_named_tensor {
    const char *name; /* for errors */
    const struct pe_tensor *tensor;
};
/* Elements first + k * step of a tensor for k < count, in doubles. */
void pe_values_read(const struct pe_tensor *tensor, size_t first, size_t step, size_t count,
                    double *out);
/* The first of the elements that are not finite; count 0: there is none. */
struct pe_not_finite {
    size_t count;
    const char *name; /* of the tensor */
    size_t index;
};
/* The same, noted in `precision`, which may be NULL. An element that is not finite is INFINITY and
 * counted; with `skipped` NULL it is PE_INVALID. */
enum pe_status pe_finite_read(struct pe_named_tensor from, size_t first, size_t step, size_t count,
                              struct pe_precision *precision, struct pe_not_finite *skipped,
                              double *out, struct pe_error *err);
/* PE_INVALID where an element was skipped, unless all samples are uninitialised memory. */
enum pe_status pe_not_finite_check(const struct pe_not_finite *skipped,
                                   const struct pe_sample *samples, size_t count,
                                   struct pe_error *err);

/* Has it a floating dtype, a size and data? PE_UNSUPPORTED, PE_TOO_LARGE, PE_INVALID. */
enum pe_status pe_observed_tensor_check(struct pe_named_tensor of, struct pe_error *err);
/* "tensor:NAME", "NAME must be EXPECTED". */
enum pe_status pe_observed_refuse(const char *name, const char *expected, struct pe_error *err);
/* PE_TOO_LARGE beyond PE_SAMPLE_PAIRS_MAX. */
enum pe_status pe_observed_pairs_check(const char *name, size_t pairs, struct pe_error *err);

/* The rows that are sampled of `total`. */
struct pe_sampled_rows {
    size_t total, count;
    size_t *rows; /* [count] */
};
size_t pe_sampled_rows_count(size_t total, size_t pairs);
enum pe_status pe_sampled_rows_new(struct pe_sampled_rows *sampled, size_t total, size_t pairs,
                                   struct pe_allocations *memory, struct pe_error *err);

/* Positions of all rows, and of the sampled ones. */
struct pe_row_positions {
    struct pe_positions all; /* of one batch row */
    const double *sampled;   /* [axes, rows] */
};
/* Finds the sampled positions of positions->all. PE_OUT_OF_RANGE. */
enum pe_status pe_row_positions_new(struct pe_row_positions *positions,
                                    const struct pe_sampled_rows *sampled,
                                    struct pe_allocations *memory, struct pe_error *err);

/* ---- rotated_tokens.c ------------------------------------------------------------------------ */

/* The memory layout of heads that are rotated by the same angles. Element j of head [o][i] of a
 * token is at first + o * outer_step + i * inner_step + token * token_step + j; tokens count over
 * all batch rows. */
struct pe_head_layout {
    size_t first, outer, outer_step, inner, inner_step, token_step;
    size_t sequence, batch_step; /* tokens of a batch row, and the step to the next; 0: there is
                                    one row */
};
size_t pe_head_element(const struct pe_head_layout *heads, size_t head, size_t token);

/* The pairs of a head. Pair k < split is the elements k * step and k * step + second; the others,
 * which do not rotate, are 2k and 2k + 1. */
struct pe_head_pairs {
    enum pe_pairing pairing;
    const char *layout; /* "half" or "interleaved" */
    size_t pairs, step, second, split;
    size_t kept[2][2]; /* ranges [begin, end) of the elements in no pair, which must not change */
};

/* Tokens of some heads before and after a rotation. */
struct pe_rotated_tokens {
    struct pe_named_tensor before, after;
    struct pe_head_layout heads;
    size_t sampled_heads; /* so many of the heads make a sample */
    size_t head_dim;
    struct pe_rotated_tokens *keys; /* of the same tokens, if these are queries; NULL: none */
    const struct pe_row_positions *positions;
    bool skips_zeros;              /* in a sample a pair of zeros before counts as not observed */
    struct pe_precision precision; /* of the values after */
    struct pe_not_finite skipped;  /* of the values after */
    double *changes, *squares; /* [head_dim]: sums of squares over the sampled tokens, of changes
                                  and of values before */
};
/* Takes memory for the sums; the other members are set. */
enum pe_status pe_rotated_tokens_new(struct pe_rotated_tokens *tokens,
                                     struct pe_allocations *memory, struct pe_error *err);
/* Computes the sums and the precision. PE_INVALID: an element before is not finite; those after are
 * counted in `skipped`. Any thread, for tokens of its own. */
enum pe_status pe_rotated_tokens_measure(struct pe_rotated_tokens *tokens,
                                         const struct pe_sampled_rows *rows, struct pe_error *err);
/* After pe_rotated_tokens_measure: are all elements zeros? */
bool pe_rotated_tokens_are_zero(const struct pe_rotated_tokens *tokens);
/* Do elements that are in no pair change by more than noise? */
bool pe_rotated_tokens_change_kept(const struct pe_rotated_tokens *tokens,
                                   const struct pe_head_pairs *pairs);

/* The tokens of queries, or of keys, in one layout of pairs. */
struct pe_token_source {
    const struct pe_tensor *before, *after;
    struct pe_head_layout heads;
    struct pe_head_pairs pairs;
    size_t sampled_heads;
    double unrotated_noise; /* rms of the changes of kept elements in the sampled tokens */
};

/* The tokens of a sample: the context of its rows. */
struct pe_token_rows {
    struct pe_sample_rows all;
    size_t sources_count;
    struct pe_token_source sources[2];
    double weight; /* factor of a head's weights */
    enum pe_dtype precision;
};

/* Buffers of a sample: [rows, pairs] each. */
struct pe_sample_buffers {
    double *cos, *sin, *weight;
};
enum pe_status pe_sample_buffers_new(struct pe_sample_buffers *buffers, size_t rows,
                                     size_t head_dim, struct pe_allocations *memory,
                                     struct pe_error *err);

/* A sample of the tokens, whose pairs, and those of their keys, are in `pairs`; `expected` is the
 * expected layout or NULL. The context must stay in its place. Any thread, for buffers of its own.
 */
void pe_rotated_tokens_sample(const struct pe_rotated_tokens *tokens,
                              const struct pe_sampled_rows *rows,
                              const struct pe_head_pairs pairs[2], const char *expected,
                              const struct pe_sample_buffers *buffers,
                              struct pe_token_rows *context, struct pe_sample *sample);

/* The samples of tokens, TOKEN_SAMPLES_MAX at most, without keys two. */
enum { PE_TOKEN_SAMPLES_MAX = 4 };
struct pe_token_samples {
    size_t count;
    struct pe_token_rows rows[PE_TOKEN_SAMPLES_MAX];
    struct pe_sample samples[PE_TOKEN_SAMPLES_MAX];
};
/* Samples in both layouts, or with pairs across a head or within a part of it where the expected
 * scheme has others and the changed elements say so; of a single pair in the expected layout, since
 * both are equal; none where an odd last element has changed. The samples must stay in their place.
 * `expected` and `layout` may be NULL. PE_SHAPE_MISMATCH: heads are narrower than expected. */
enum pe_status pe_rotated_tokens_samples(const struct pe_rotated_tokens *tokens,
                                         const struct pe_sampled_rows *rows,
                                         const struct pe_scheme *expected, const char *layout,
                                         struct pe_allocations *memory,
                                         struct pe_token_samples *samples, struct pe_error *err);

#endif
