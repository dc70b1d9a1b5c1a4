/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_BIAS_H
#define CORE_SCHEME_BIAS_H

#include "core/exact/correct_rounding.h"
#include "core/scheme/encoding.h"

/* Kind bias: numbers to add to attention's logits, or rows of a learned table that a query and a
 * key share (buckets). */

/* Numbers that all heads have in common at each distance |key - query| of a range: made once, by
 * the first row that needs them. */
struct pe_bias_common;

/* A row of biases asked for: of one head and one query, for keys begin .. begin + count. */
struct pe_bias_part {
    const struct pe_scheme *scheme;
    size_t head;
    double query; /* its position, a whole number within +-2^53; a key's is its index */
    size_t key_begin, key_count;
    enum pe_dtype dtype;           /* a floating one */
    struct pe_bias_common *common; /* of pe_bias_common_new; NULL: every number is made anew */
};

/* Nanoseconds that finding a bucket takes, about, and what a table has there. */
enum { PE_BUCKET_WORK = 12 };

struct pe_bias_kind {
    /* How many heads a scheme has; 0: weights are not given yet. NULL: any number will do. */
    size_t (*heads)(const struct pe_scheme *scheme);

    /* Writes a row, each number rounded once; whatever the cut of the keys. PE_CANCELLED within
     * some milliseconds, PE_OUT_OF_MEMORY. Any thread. NULL: no more is known here than buckets. */
    enum pe_status (*row)(const struct pe_bias_part *part, void *out, struct pe_work *work,
                          struct pe_error *err);
    bool by_distance; /* a row depends on key - query alone: one row serves many queries */

    /* The slope of a head (context: the scheme). NULL: there is none. */
    pe_real *slope;

    /* Bytes that heads have in common at one distance, and the numbers of the distances [first,
     * end) for rows of a dtype. NULL and 0: heads have nothing in common that takes time. */
    size_t common_size;
    enum pe_status (*common_make)(const struct pe_scheme *scheme, int64_t first, int64_t end,
                                  enum pe_dtype dtype, void *common, struct pe_work *work,
                                  struct pe_error *err);

    /* Nanoseconds, about, that a number takes, and that the numbers in common of one distance take.
     * `work` is required where `row` is, `common_work` where `common_make` is. */
    double (*work)(const struct pe_scheme *scheme, enum pe_dtype dtype);
    double (*common_work)(const struct pe_scheme *scheme, enum pe_dtype dtype);

    /* The row of a learned table that a query and a key have, by distance: key - query. NULL: there
     * is no such table. */
    int64_t (*bucket)(const struct pe_scheme *scheme, int64_t distance);

    /* How many rows of vectors queries and keys may meet, the row of a bucket being bucket + half
     * of them. NULL: no vectors are known for it. */
    size_t (*vectors_count)(const struct pe_scheme *scheme);

    /* How many rows a table of biases has, [buckets, heads], which is given to the scheme: its
     * state begins with struct pe_weights, and `row` is pe_weights_row. NULL: no biases are given.
     */
    size_t (*buckets_count)(const struct pe_scheme *scheme);

    /* Sets the parameters that the shapes tell, unless they are given. Required where `row` is. */
    enum pe_status (*infer)(struct pe_params *params, const struct pe_attention_spec *spec,
                            struct pe_error *err);
};

/* Are there numbers to add, and not buckets alone? */
static inline bool pe_bias_is_known(const struct pe_encoding *encoding)
{
    return encoding->bias && encoding->bias->row;
}

size_t pe_bias_heads(const struct pe_scheme *scheme);

/* The `infer` of an encoding with a parameter heads. */
enum pe_status pe_bias_infer_heads(struct pe_params *params, const struct pe_attention_spec *spec,
                                   struct pe_error *err);

/* Nanoseconds of a number that the view or attention asks for: of a bucket where biases lack. */
double pe_bias_work(const struct pe_scheme *scheme, enum pe_dtype dtype);

/* Numbers in common of the rows whose distances key - query lie in [first, end); *common NULL where
 * the encoding has none, or where they would take more than 8 MiB. They are charged to the work
 * (NULL: to none) when they are made. */
enum pe_status pe_bias_common_new(struct pe_bias_common **common, const struct pe_scheme *scheme,
                                  int64_t first, int64_t end, enum pe_dtype dtype,
                                  struct pe_work *work, struct pe_error *err);
/* Nanoseconds that making them takes, about; NULL: 0. */
double pe_bias_common_work(const struct pe_bias_common *common);
/* Bytes that they take once they are made; NULL: 0. */
size_t pe_bias_common_size(const struct pe_bias_common *common);
void pe_bias_common_free(struct pe_bias_common *common);

/* Of |key - query| = distance, made now if need be; *numbers NULL where the distance is not in the
 * range, or common is NULL. */
enum pe_status pe_bias_common_at(struct pe_bias_common *common, int64_t distance,
                                 const void **numbers, struct pe_work *work, struct pe_error *err);

/* ---- learned biases, one for each bucket of distances and each head ------------------------ */

/* The state of a scheme that is given weights begins with it. */
struct pe_weights {
    double *values; /* [heads][buckets]; NULL: not given */
    size_t heads;
};

/* NULL: the scheme has none, or none are given. */
const struct pe_weights *pe_weights_of(const struct pe_scheme *scheme);

/* Does it lack weights that it could be given, so that only buckets are known? */
bool pe_weights_lack(const struct pe_scheme *scheme);

/* Copies [buckets, heads]; see pe_scheme_give. */
enum pe_status pe_weights_give(struct pe_scheme *scheme, const struct pe_tensor *weights,
                               struct pe_work *work, struct pe_error *err);
/* The `close` of a state that begins with them and owns nothing more. */
void pe_weights_close(void *state);

/* `heads`, `row` and `work` of such a bias: the weights themselves, rounded once. */
size_t pe_weights_heads(const struct pe_scheme *scheme);
double pe_weights_work(const struct pe_scheme *scheme, enum pe_dtype dtype);
enum pe_status pe_weights_row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                              struct pe_error *err);

#endif
