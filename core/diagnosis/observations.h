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
/* The same, noted in `precision`, which may be NULL. PE_INVALID: one is not finite. */
enum pe_status pe_finite_read(struct pe_named_tensor from, size_t first, size_t step, size_t count,
                              struct pe_precision *precision, double *out, struct pe_error *err);

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

/* Tokens of some heads before and after a rotation. */
struct pe_rotated_tokens {
    struct pe_named_tensor before, after;
    struct pe_head_layout heads;
    size_t sampled_heads; /* so many of the heads make a sample */
    size_t head_dim;
    const struct pe_row_positions *positions;
    bool skips_zeros;              /* in a sample a pair of zeros before counts as not observed */
    struct pe_precision precision; /* of the values after */
    double *changes, *squares; /* [head_dim]: sums of squares over the sampled tokens, of changes
                                  and of values before */
};
/* Takes memory for the sums; the other members are set. */
enum pe_status pe_rotated_tokens_new(struct pe_rotated_tokens *tokens,
                                     struct pe_allocations *memory, struct pe_error *err);
/* Computes the sums and the precision. PE_INVALID: an element is not finite. Any thread, for tokens
 * of its own. */
enum pe_status pe_rotated_tokens_measure(struct pe_rotated_tokens *tokens,
                                         const struct pe_sampled_rows *rows, struct pe_error *err);
/* After pe_rotated_tokens_measure: are all elements zeros? */
bool pe_rotated_tokens_are_zero(const struct pe_rotated_tokens *tokens);
/* Do elements after a width change by more than noise? */
bool pe_rotated_tokens_change_behind(const struct pe_rotated_tokens *tokens, size_t width);
/* The part of a head that rotates: the expected or the observed one. 0: an odd last element has
 * changed. */
size_t pe_rotated_tokens_width(const struct pe_rotated_tokens *tokens,
                               const struct pe_scheme *expected);

/* The tokens in one layout of pairs: the context of a sample's rows. */
struct pe_token_rows {
    struct pe_sample_rows all;
    const struct pe_tensor *before, *after;
    struct pe_head_layout heads;
    size_t pairs, second, step; /* pair k is the elements k * step and k * step + second */
    double weight;              /* factor of a head's weights */
    size_t head_dim;
    double unrotated_noise; /* rms of the changes after the pairs in the sampled tokens */
    enum pe_dtype precision;
};

/* Buffers of a sample: [rows, pairs] each. */
struct pe_sample_buffers {
    double *cos, *sin, *weight;
};
enum pe_status pe_sample_buffers_new(struct pe_sample_buffers *buffers, size_t rows,
                                     size_t head_dim, struct pe_allocations *memory,
                                     struct pe_error *err);

/* A sample of the tokens in one layout; `expected` is the expected layout or NULL. The context must
 * stay in its place. Any thread, for buffers of its own. */
void pe_rotated_tokens_sample(const struct pe_rotated_tokens *tokens,
                              const struct pe_sampled_rows *rows, bool half, size_t pairs,
                              const char *expected, const struct pe_sample_buffers *buffers,
                              struct pe_token_rows *context, struct pe_sample *sample);
/* Samples in both layouts; of a single pair in the expected one, since both are equal. */
enum pe_status pe_rotated_tokens_samples(const struct pe_rotated_tokens *tokens,
                                         const struct pe_sampled_rows *rows, size_t width,
                                         const char *expected, struct pe_allocations *memory,
                                         struct pe_token_rows contexts[2],
                                         struct pe_sample samples[2], size_t *count,
                                         struct pe_error *err);

#endif
