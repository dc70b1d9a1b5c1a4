/* SPDX-License-Identifier: MIT */
#ifndef CORE_ATTENTION_ATTENTION_H
#define CORE_ATTENTION_ATTENTION_H

/* The files of attention: infer.c takes parameters from the shapes, attention.c checks a spec and
 * owns the memory, work.c tells what it costs, pack.c prepares all that blocks read, relative.c
 * that of relative positions, fill.c computes blocks of rows, scratch.c has the memory of one;
 * projection.c makes the q, k and v of learned weights, and is called by itself. */

#include <stdatomic.h>

#include "core/kernels/attention.h"
#include "core/kernels/kernel.h"
#include "core/kinds/bias.h"
#include "core/kinds/relative.h"
#include "core/kinds/rotary.h"
#include "core/kinds/rows.h"
#include "posenc/attention.h"
#include "posenc/rotation.h"

enum { PE_ATTENTION_ROWS_MAX = 96 }; /* queries in a block, at most */

/* A matrix of `depth` rows cut into panels of columns; see kernels/attention.h. One after the
 * other for every head. */
struct pe_packed {
    void *data;
    size_t depth, columns;
    size_t panels;    /* of one matrix */
    size_t head_size; /* bytes of one matrix */
    atomic_bool odd;  /* has a NaN or an infinity, which 0 does not erase */
};

/* The kernels of one type of arithmetic. */
struct pe_attention_kernels {
#define KERNEL_OF(name, like) __typeof__(((struct pe_kernels *)0)->like) name
    KERNEL_OF(gemm, gemm_f32);
    KERNEL_OF(logits, logits_f32);
    KERNEL_OF(softmax, softmax_f32);
    KERNEL_OF(sum, sum_f32);
    KERNEL_OF(divide, divide_f32);
#undef KERNEL_OF
};

/* Memory of one block being filled, in one piece behind the struct. */
struct pe_attention_scratch {
    struct pe_attention_scratch *next; /* in the list of those not in use */
    char *logits;                      /* rows_max * logits_stride */
    char *relative; /* rows_max * relative_stride: Q aK^T, later the weight of each bucket */
    char *bias;     /* logits_stride: of one row */
    char *output;   /* rows_max * output_stride */
};

/* The list of free scratch blocks, with its own lock. */
struct pe_scratches;

struct pe_attention {
    struct pe_attention_spec spec;
    struct pe_work *work; /* that it was made with */
    struct pe_output result;
    enum pe_dtype type; /* of the arithmetic: f64 or f32 */
    size_t size;        /* of an element of it */
    size_t width;       /* columns of a panel */
    struct pe_attention_kernels kernels;

    size_t heads, kv_heads; /* of one batch row */
    size_t queries, keys, head_dim;
    double scale;
    int64_t query_start;
    bool relative;
    int64_t least, most; /* relative: distances key - query beyond them share a vector */

    const char *q; /* in `type`, rotated: q_copy, or the caller's where that is the same */
    char *q_copy;
    const char *q_relative; /* meets rel_k: q, or a copy with another bias */
    char *q_relative_copy;
    struct pe_packed k, v;         /* k transposed: depth head_dim, columns keys */
    struct pe_packed rel_k, rel_v; /* rows in the order of key - query; rel_k transposed */
    size_t rel_k_stride;           /* bytes from head to head; 0: all share one */
    char *biases;       /* of a bias by distance: one vector a head, see pe_attention_bias */
    size_t bias_stride; /* elements */

    size_t rows_max;                                      /* queries in a block */
    size_t logits_stride, relative_stride, output_stride; /* elements, whole panels */
    size_t scratch_size;
    struct pe_scratches *scratches;
    struct pe_bias_common *common; /* of a bias; NULL: nothing */
    size_t charged;                /* bytes that the work was charged */
};

/* Rounds up to whole panels. */
static inline size_t pe_attention_whole(const struct pe_attention *attention, size_t columns)
{
    return (columns + attention->width - 1) / attention->width * attention->width;
}

static inline size_t pe_attention_batch_heads(const struct pe_attention *attention)
{
    return attention->spec.q.shape[0] * attention->heads;
}

static inline size_t pe_attention_kv_heads(const struct pe_attention *attention)
{
    return attention->spec.q.shape[0] * attention->kv_heads;
}

/* Biases by distance, one vector a head: it starts at (last query, key 0), and each earlier query
 * starts one element further on. Zeros follow, so that every row is whole panels. */
static inline char *pe_attention_bias(const struct pe_attention *attention, size_t head,
                                      size_t query)
{
    return attention->biases +
           (head * attention->bias_stride + attention->queries - 1 - query) * attention->size;
}

/* Memory that lives as long as the attention and is charged to its work, aligned as kernels ask for
 * it; NULL: PE_OUT_OF_MEMORY, the error names `where`. free() it. */
void *pe_attention_take(struct pe_attention *attention, size_t size, const char *where,
                        struct pe_error *err);

/* As many scratches as can be in use at once, so that filling need not ask for memory. */
enum pe_status pe_scratches_new(struct pe_attention *attention, size_t threads,
                                struct pe_error *err);
void pe_scratches_free(struct pe_scratches *scratches);
/* NULL: PE_OUT_OF_MEMORY. Any thread. */
struct pe_attention_scratch *pe_scratch_take(const struct pe_attention *attention,
                                             struct pe_error *err);
void pe_scratch_return(const struct pe_attention *attention, struct pe_attention_scratch *scratch);

/* Memory for so many matrices; `where` is for the error. */
enum pe_status pe_attention_packed_new(struct pe_attention *attention, struct pe_packed *packed,
                                       size_t heads, size_t depth, size_t columns,
                                       const char *where, struct pe_error *err);
/* Fills the matrix of a head from rows[depth][columns], or from rows[columns][depth]. */
void pe_attention_panels_write(const struct pe_attention *attention, struct pe_packed *packed,
                               size_t head, const char *rows);
void pe_attention_panels_transpose(const struct pe_attention *attention, struct pe_packed *packed,
                                   size_t head, const char *rows);
/* Elements of a tensor in the type of the arithmetic. */
void pe_attention_read(const struct pe_attention *attention, char *to,
                       const struct pe_tensor *tensor, size_t first, size_t count);
/* Adds the row of a head, where there is a bias, to every one of its queries. */
void pe_attention_query_bias(const struct pe_attention *attention, const struct pe_tensor *bias,
                             size_t head, char *rows);

/* Are the tensors of relative positions there, and those alone, and do they fit? */
enum pe_status pe_attention_relatives_check(const struct pe_attention_spec *spec,
                                            struct pe_error *err);
/* Which distances have a vector of their own, once query_start is known. */
enum pe_status pe_attention_reach(struct pe_attention *attention, struct pe_error *err);
enum pe_status pe_attention_relatives_pack(struct pe_attention *attention, struct pe_pool *pool,
                                           struct pe_error *err);

/* Sets how long the elements of a result take, and what is packed for them, by the shapes alone. */
void pe_attention_work_tell(const struct pe_attention_spec *spec, struct pe_output *result);

/* Allocates and fills q, k, v, rel_k, rel_v and biases from the checked spec. */
enum pe_status pe_attention_pack(struct pe_attention *attention, struct pe_pool *pool,
                                 struct pe_error *err);

/* Fills `count` <= rows_max rows of one head, from query `first`. PE_CANCELLED, PE_OUT_OF_MEMORY.
 */
enum pe_status pe_attention_block(const struct pe_attention *attention,
                                  const struct pe_attention_scratch *scratch, size_t head,
                                  size_t first, size_t count, char *out, struct pe_work *work,
                                  struct pe_error *err);

#endif
