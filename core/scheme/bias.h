/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_BIAS_H
#define CORE_SCHEME_BIAS_H

#include "core/exact/correct_rounding.h"
#include "core/scheme/scheme.h"

/* Kind bias: numbers added to attention logits, or the row ("bucket") of a learned table that each
 * distance key - query belongs to. */

/* Numbers that all heads share at each distance |key - query| of a range, computed once, by the
 * first row that needs them. */
struct pe_bias_common;

/* One row of biases: of one head and one query, for keys key_begin .. key_begin + key_count - 1. */
struct pe_bias_part {
    const struct pe_scheme *scheme;
    size_t head;
    double query; /* its position, an integer within +-2^53; a key's position is its index */
    size_t key_begin, key_count;
    enum pe_dtype dtype;           /* a floating one */
    struct pe_bias_common *common; /* of pe_bias_common_new; NULL: `row` computes every number */
};

/* Estimated nanoseconds of finding a bucket and reading the table there. */
enum { PE_BUCKET_COST = 12 };

struct pe_bias_kind {
    /* How many heads a scheme has; 0: weights are not given yet. NULL: any number is possible. */
    size_t (*heads)(const struct pe_scheme *scheme);

    /* Writes a row, each number rounded once; the bytes do not depend on how the keys are split.
     * Returns PE_CANCELLED within some milliseconds, or PE_OUT_OF_MEMORY. Any thread. NULL: the
     * encoding has buckets only. */
    enum pe_status (*row)(const struct pe_bias_part *part, void *out, struct pe_work *work,
                          struct pe_error *err);
    bool by_distance; /* a row depends on key - query alone: one row serves many queries */

    /* The slope of a head (context: the scheme). NULL: the encoding has no slopes. */
    pe_real *slope;

    /* Size of the numbers that heads share at one distance, and how those of the distances [first,
     * end) are computed for rows of a dtype. 0 and NULL: heads share nothing that takes time. */
    size_t common_size;
    enum pe_status (*common_make)(const struct pe_scheme *scheme, int64_t first, int64_t end,
                                  enum pe_dtype dtype, void *common, struct pe_work *work,
                                  struct pe_error *err);

    /* Estimated nanoseconds of one number of a row, and of the shared numbers of one distance.
     * Required with `row` and with `common_make`. */
    double (*cost)(const struct pe_scheme *scheme, enum pe_dtype dtype);
    double (*common_cost)(const struct pe_scheme *scheme, enum pe_dtype dtype);

    /* The bucket of a distance key - query. NULL: there is no learned table. */
    int64_t (*bucket)(const struct pe_scheme *scheme, int64_t distance);

    /* How many rows the tables of vectors have (DeBERTa); the row of a bucket is bucket + half of
     * that. NULL: the encoding has no vectors. */
    size_t (*vectors_count)(const struct pe_scheme *scheme);

    /* How many rows the learned table of biases [buckets, heads] has, which is given to the scheme:
     * its state begins with struct pe_weights, and `row` is pe_weights_row. NULL: there is none. */
    size_t (*buckets_count)(const struct pe_scheme *scheme);

    /* Derives parameters that are not given from the shapes. Required with `row`. */
    enum pe_status (*infer)(struct pe_params *params, const struct pe_attention_spec *spec,
                            struct pe_error *err);
};

/* True where the encoding has numbers to add, and not buckets alone. */
static inline bool pe_bias_is_known(const struct pe_encoding *encoding)
{
    return encoding->bias && encoding->bias->row;
}

/* Estimated nanoseconds of a number of the view or of attention; of a bucket where there are no
 * biases. */
double pe_bias_cost(const struct pe_scheme *scheme, enum pe_dtype dtype);

/* ---- heads ---------------------------------------------------------------------------------- */

#define PE_PARAM_HEADS                                                                             \
    {                                                                                              \
        .name = "heads", .aliases = "num_heads,n_heads,num_attention_heads,n_head",                \
        .type = PE_INTEGER, .min = 1, .max = 1 << 16, .required = true,                            \
        .doc = "The number of attention heads.",                                                   \
    }

/* `heads` of the kind; 0 where any number is possible. */
size_t pe_bias_heads(const struct pe_scheme *scheme);

/* The parameter heads: `heads` and `infer` of an encoding that has it. */
size_t pe_heads_count(const struct pe_scheme *scheme);
enum pe_status pe_bias_infer_heads(struct pe_params *params, const struct pe_attention_spec *spec,
                                   struct pe_error *err);

/* Checks that each of the named lists, if given, has one number for all heads or one for each.
 * `lists` ends with NULL. */
enum pe_status pe_heads_check(const struct pe_scheme *scheme, const char *const *lists,
                              struct pe_error *err);

/* The number of a head in such a list; NAN: the list is absent. */
double pe_head_number(const struct pe_scheme *scheme, const char *list, size_t head);

/* ---- numbers that heads share ---------------------------------------------------------------- */

/* Shared numbers of rows whose distances key - query lie in [first, end). *common is NULL where the
 * encoding has none, or where they would take more than 8 MiB. They are charged to the work when
 * they are computed (NULL: to none). */
enum pe_status pe_bias_common_new(struct pe_bias_common **common, const struct pe_scheme *scheme,
                                  int64_t first, int64_t end, enum pe_dtype dtype,
                                  struct pe_work *work, struct pe_error *err);
/* Estimated nanoseconds of computing them; NULL: 0. */
double pe_bias_common_cost(const struct pe_bias_common *common);
/* Bytes that they take once they are computed; NULL: 0. */
size_t pe_bias_common_size(const struct pe_bias_common *common);
void pe_bias_common_free(struct pe_bias_common *common);

/* The numbers of |key - query| = distance, computed first if need be; *numbers is NULL where the
 * distance is out of the range, or common is NULL. */
enum pe_status pe_bias_common_at(struct pe_bias_common *common, int64_t distance,
                                 const void **numbers, struct pe_work *work, struct pe_error *err);

/* ---- weights: learned biases, one for each bucket and head ----------------------------------- */

/* The state of a scheme that is given weights begins with it. */
struct pe_weights {
    double *values; /* [heads][buckets]; NULL: not given */
    size_t heads;
};

/* NULL: the scheme takes no weights, or has none yet. */
const struct pe_weights *pe_weights_of(const struct pe_scheme *scheme);

/* True for a scheme that takes weights and has none yet, so that only its buckets are known. */
bool pe_weights_lack(const struct pe_scheme *scheme);

/* Copies [buckets, heads]; see pe_scheme_give. */
enum pe_status pe_weights_give(struct pe_scheme *scheme, const struct pe_tensor *weights,
                               struct pe_work *work, struct pe_error *err);
/* The `close` of a state that begins with them and owns nothing more. */
void pe_weights_close(void *state);

/* `heads`, `row` and `cost` of such a bias: the weights themselves, rounded once. */
size_t pe_weights_heads(const struct pe_scheme *scheme);
double pe_weights_cost(const struct pe_scheme *scheme, enum pe_dtype dtype);
enum pe_status pe_weights_row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                              struct pe_error *err);

#endif
