/* SPDX-License-Identifier: MIT */
#ifndef CORE_ATTENTION_ATTENTION_H
#define CORE_ATTENTION_ATTENTION_H

/* softmax(q k^T + bias + mask) v, computed in blocks of query rows:
 *
 *   check.c             validates a spec
 *   cost.c              estimates nanoseconds from shapes
 *   attention.c         creates an attention, sizes and owns its buffers, fills rows
 *   packing.c           copies k and v into panels, tabulates biases by distance
 *   qk_transform.c      norm, rotation and temperature of rows of q and k
 *   masking.c           visible keys: sequences, causal, window, chunk; posted masks and biases
 *   query_block.c       logits, softmax and outputs of one block of queries
 *   relative_vectors.c  vectors of distances: Shaw, Transformer-XL, DeBERTa
 *   projection.c        pe_project, apart from the others */

#include <stdatomic.h>

#include "core/kernels/attention.h"
#include "core/kernels/kernel.h"
#include "core/scheme/bias.h"
#include "core/scheme/relative.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"
#include "posenc/attention.h"
#include "posenc/rotation.h"

enum {
    PE_ATTENTION_ROWS_MAX = 96, /* queries in a block */
    PE_ATTENTION_ROWS_MIN = 24, /* with fewer, reading the keys dominates */
};

/* Matrices of `depth` rows, one a head, cut into panels of columns: see kernels/attention.h. */
struct pe_packed {
    void *data;        /* the copy; NULL: `first` points into the caller's tensor */
    const char *first; /* first panel; NULL: no matrix */
    size_t depth, columns;
    size_t panels;         /* of one matrix */
    size_t row_stride;     /* elements between rows of a panel */
    size_t panel_size;     /* bytes between panels */
    size_t head_size;      /* bytes of one matrix */
    atomic_bool nonfinite; /* holds a NaN or an infinity, for which 0 x is not 0 */
    atomic_bool large;     /* holds a number of 2^PE_LARGE_EXPONENT or more */
};

static inline const char *pe_packed_panel(const struct pe_packed *packed, size_t head, size_t panel)
{
    return packed->first + head * packed->head_size + panel * packed->panel_size;
}

/* `count` panels of a head from `panel` on, beginning at row `depth`, as gemm takes them. */
static inline struct pe_panels pe_packed_panels(const struct pe_packed *packed, size_t head,
                                                size_t panel, size_t count, size_t depth,
                                                size_t element)
{
    return (struct pe_panels){pe_packed_panel(packed, head, panel) +
                                  depth * packed->row_stride * element,
                              packed->row_stride, packed->panel_size / element, count, 0};
}

/* The kernels for the type of the arithmetic. */
struct pe_attention_kernels {
#define KERNEL_OF(name, like) __typeof__(((struct pe_kernels *)0)->like) name
    KERNEL_OF(gemm, gemm_f32);
    KERNEL_OF(transpose, transpose_f32);
    KERNEL_OF(find_nonfinite, find_nonfinite_f32);
    KERNEL_OF(logits, logits_f32);
    KERNEL_OF(softmax, softmax_f32);
    KERNEL_OF(softcap, softcap_f32);
    KERNEL_OF(sum, sum_f32);
    KERNEL_OF(divide, divide_f32);
#undef KERNEL_OF
};

/* Softmax state of one row of a block. */
struct pe_softmax_row {
    double max;                             /* of the logits */
    double sum, sink;                       /* sum of the weights; weight of the sink */
    double partials[PE_ATTENTION_PARTIALS]; /* in the type of the arithmetic */
};

/* Buffers of one block being computed. Struct and buffers are one allocation. */
struct pe_attention_scratch {
    struct pe_attention_scratch *next; /* in the list of free ones */
    char *logits;                      /* rows_max * logits_stride */
    char *relative; /* rows_max * relative_stride: Q aK^T, later the weight of each bucket */
    char *bias;     /* logits_stride: of one row */
    char *p2c;      /* pe_p2c_rows rows of a panel: rows of distances times keys */
    char *output;   /* rows_max * output_stride */
    char *q;        /* 2 * rows_max * head_dim: q for the product with k, q for that with rel_k */
    struct pe_softmax_row *rows; /* rows_max */
};

/* Free scratches, with a lock. */
struct pe_scratch_list;

/* Queries and the keys that they may see; a single one unless sequences are packed. */
struct pe_attention_sequence {
    size_t first, end; /* queries */
    size_t key_first, key_end;
    int64_t offset; /* query i is at the position of key i + offset */
};

/* Keys [begin, end). */
struct pe_key_range {
    size_t begin, end;
};

struct pe_attention {
    struct pe_attention_spec spec;
    struct pe_work *work; /* charged for the buffers */
    struct pe_output result;
    enum pe_dtype type; /* of the arithmetic: f64 or f32 */
    size_t size;        /* bytes of an element of `type` */
    size_t width;       /* columns of a panel */
    struct pe_attention_kernels kernels;

    size_t heads, kv_heads; /* of one batch row */
    size_t queries, keys, head_dim;
    double scale;
    int64_t query_start;
    struct pe_attention_sequence single, *sequences; /* &single, or an array where packed */
    size_t sequences_count;
    int64_t position_min, position_max; /* of the queries, among the keys */
    bool relative;                      /* logits begin with Q aK^T */
    int64_t least, most; /* relative: distances (key - query) beyond them share a vector.
                            Disentangled: 0 and the last row */

    struct pe_qk_transform *qk_transform;
    bool copies_queries;           /* blocks transform or convert a copy of their rows of q */
    struct pe_packed k, v;         /* k transposed: depth head_dim, columns keys */
    struct pe_packed rel_k, rel_v; /* rows in the order of key - query; rel_k transposed */
    size_t rel_k_stride;           /* bytes between heads; 0: one matrix for all heads */
    char *biases;                  /* by distance: one vector a head, see pe_distance_biases */
    size_t bias_stride;            /* elements */
    char *pos_query;               /* disentangled: [rows, heads * head_dim]; pos_key is rel_k */
    int32_t *distance_rows; /* disentangled: the row of each distance, in the order of `biases` */
    double *sinks;          /* one a head; NULL: none */

    bool streams;                                         /* k and v exceed the L2 cache */
    size_t rows_max;                                      /* queries in a block */
    size_t logits_stride, relative_stride, output_stride; /* elements, full panels */
    size_t scratch_size, scratch_row_size; /* bytes of a scratch, fixed and for each row */
    struct pe_scratch_list *scratches;
    struct pe_bias_common *common; /* what rows of a bias share; NULL: nothing */
    size_t charged;                /* bytes charged to `work` by pe_attention_alloc */
};

/* Rounds up to full panels. */
static inline size_t pe_panel_align(const struct pe_attention *attention, size_t columns)
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

/* The number of distances between queries and keys. */
static inline size_t pe_attention_distances(const struct pe_attention *attention)
{
    return attention->keys + (size_t)(attention->position_max - attention->position_min);
}

/* Biases of a query at `position`, from key 0 on. One vector a head serves all queries: it begins
 * with (position_max, key 0), and earlier queries begin further on. It ends with zeros, so that
 * every row is full panels. */
static inline char *pe_distance_biases(const struct pe_attention *attention, size_t head,
                                       int64_t position)
{
    return attention->biases +
           (head * attention->bias_stride + (size_t)(attention->position_max - position)) *
               attention->size;
}

/* Rows of distances between the queries of a block and the keys of a panel. */
static inline size_t pe_p2c_rows(const struct pe_attention *attention)
{
    return attention->pos_query ? attention->rows_max + attention->width : 0;
}

/* Memory for free(), aligned for kernels and charged to the attention's work. NULL:
 * PE_OUT_OF_MEMORY at `where`. */
void *pe_attention_alloc(struct pe_attention *attention, size_t size, const char *where,
                         struct pe_error *err);

/* ---- check.c --------------------------------------------------------------------------------- */

/* Shapes, scheme and numbers, for a spec whose tensors may lack data. */
enum pe_status pe_attention_shapes_check(const struct pe_attention_spec *spec,
                                         struct pe_error *err);
/* The same and data. */
enum pe_status pe_attention_check(const struct pe_attention_spec *spec, struct pe_error *err);

/* Do distances have rows of vectors in the tensors pos_key and pos_query (DeBERTa)? */
static inline bool pe_is_disentangled(const struct pe_attention_spec *spec)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;

    return encoding && encoding->bias && encoding->bias->vectors_count;
}

/* ---- cost.c ---------------------------------------------------------------------------------- */

/* Sets the estimated nanoseconds of an element and of packing, from shapes alone. */
void pe_attention_cost_set(const struct pe_attention_spec *spec, struct pe_output *result);

/* ---- masking.c ------------------------------------------------------------------------------- */

/* Reads cu_seqlens into the sequences, and sets the range of positions. */
enum pe_status pe_sequences_read(struct pe_attention *attention, struct pe_error *err);
const struct pe_attention_sequence *pe_sequence_of_query(const struct pe_attention *attention,
                                                         size_t query);
/* Visible keys of a query, apart from posted masks. begin and end do not decrease from one query of
 * a sequence to the next. */
struct pe_key_range pe_visible_keys(const struct pe_attention *attention,
                                    const struct pe_attention_sequence *sequence, size_t query);
/* An upper estimate of the keys that a query is multiplied with. */
double pe_visible_keys_estimate(const struct pe_attention_spec *spec);

/* Refuses NaN and +inf in masks, biases and sinks. */
enum pe_status pe_added_check(struct pe_attention *attention, struct pe_error *err);

/* ---- qk_transform.c -------------------------------------------------------------------------- */

/* Norm, rotation and temperature: steps from rows as posted to rows as multiplied. */
struct pe_qk_transform;

enum pe_status pe_qk_transform_new(struct pe_qk_transform **transform,
                                   struct pe_attention *attention, struct pe_pool *pool,
                                   struct pe_error *err);
void pe_qk_transform_free(struct pe_qk_transform *transform);
bool pe_qk_transform_changes_keys(const struct pe_qk_transform *transform);
/* Do blocks need a copy of their rows of q, to transform or convert? */
bool pe_attention_copies_queries(const struct pe_attention_spec *spec);
/* Transforms rows [begin, begin + count) of one head of a batch row in place; `rows` points to the
 * first of them. */
enum pe_status pe_qk_transform_apply(const struct pe_qk_transform *transform, bool is_key,
                                     size_t batch, char *rows, size_t begin, size_t count,
                                     struct pe_work *work, struct pe_error *err);

/* ---- packing.c ------------------------------------------------------------------------------- */

/* Allocates `heads` matrices; errors name `where`. */
enum pe_status pe_packed_new(struct pe_attention *attention, struct pe_packed *packed, size_t heads,
                             size_t depth, size_t columns, const char *where, struct pe_error *err);
/* Fills the matrix of a head from values rows[depth][columns], and sets packed->nonfinite and
 * packed->large if the head has such elements. PE_CANCELLED, here and below. */
enum pe_status pe_packed_store_values(const struct pe_attention *attention,
                                      struct pe_packed *packed, size_t head, const char *rows,
                                      struct pe_error *err);
/* Fills the matrix of a head from rows[columns][depth]. */
enum pe_status pe_packed_transpose(const struct pe_attention *attention, struct pe_packed *packed,
                                   size_t head, const char *rows, struct pe_error *err);
/* Elements of a tensor, converted to the type of the arithmetic. The second checks the work. */
void pe_elements_read(const struct pe_attention *attention, char *to,
                      const struct pe_tensor *tensor, size_t first, size_t count);
enum pe_status pe_elements_read_all(const struct pe_attention *attention, char *to,
                                    const struct pe_tensor *tensor, size_t first, size_t count,
                                    struct pe_error *err);

/* Packs everything that blocks read from the checked spec. */
enum pe_status pe_attention_pack(struct pe_attention *attention, struct pe_pool *pool,
                                 struct pe_error *err);

/* A job whose blocks pack. */
struct pe_packing {
    struct pe_job job;
    struct pe_attention *attention;
    _Atomic int status; /* of a failed block */
};

/* Runs it. Where a block was out of memory, the error names `where` and `purpose`. */
enum pe_status pe_packing_run(struct pe_packing *packing, struct pe_pool *pool, const char *where,
                              const char *purpose, struct pe_error *err);

/* ---- query_block.c --------------------------------------------------------------------------- */

struct pe_query_block {
    const struct pe_attention *attention;
    const struct pe_attention_scratch *scratch;
    const struct pe_attention_sequence *sequence;
    size_t head, first, count; /* queries first .. first + count of one head and sequence */
    size_t key_begin, key_end; /* holds every visible key; key_begin is the first of a panel */
    struct pe_work *work;
    const char *q, *q_relative; /* rows for the products with k and with rel_k */
};

static inline char *pe_block_logits(const struct pe_query_block *block, size_t row)
{
    return block->scratch->logits + row * block->attention->logits_stride * block->attention->size;
}

static inline char *pe_block_relative(const struct pe_query_block *block, size_t row)
{
    return block->scratch->relative +
           row * block->attention->relative_stride * block->attention->size;
}

/* The position of a row's query among the keys. */
static inline int64_t pe_block_position(const struct pe_query_block *block, size_t row)
{
    return block->sequence->offset + (int64_t)(block->first + row);
}

/* Sets elements [begin, end) of a row to a value. */
void pe_row_fill(const struct pe_attention *attention, char *row, size_t begin, size_t end,
                 double value);

/* out (+)= rows of q times the panels [panel, panel_end) of a matrix with head_dim rows. `out` is
 * where the product with the first panel begins. PE_CANCELLED, here and below. */
enum pe_status pe_block_multiply(const struct pe_query_block *block, const char *rows,
                                 const struct pe_packed *packed, size_t head, size_t panel,
                                 size_t panel_end, char *out, size_t out_stride, bool adds,
                                 struct pe_error *err);
/* output += a * the rows [depth_begin, depth_begin + depth) of a matrix. */
enum pe_status pe_block_output_add(const struct pe_query_block *block, size_t row, size_t rows,
                                   const char *a, size_t a_stride, const struct pe_packed *packed,
                                   size_t head, size_t depth_begin, size_t depth,
                                   struct pe_error *err);

/* Adds the posted mask and bias to logits [begin, end) of a row (masking.c). */
void pe_block_mask_add(const struct pe_query_block *block, size_t row, size_t begin, size_t end);

/* Fills `count` <= rows_max rows of one head and sequence, from query `first` on. */
enum pe_status pe_query_block_fill(const struct pe_attention *attention,
                                   const struct pe_attention_scratch *scratch, size_t head,
                                   size_t first, size_t count, char *out, struct pe_work *work,
                                   struct pe_error *err);

/* ---- relative_vectors.c ---------------------------------------------------------------------- */

/* Sets relative, least and most; query_start is set. */
enum pe_status pe_relative_range_set(struct pe_attention *attention, struct pe_error *err);
enum pe_status pe_relative_pack(struct pe_attention *attention, struct pe_pool *pool,
                                struct pe_error *err);

/* Sets rows of logits to the product of queries and vectors of distances. */
enum pe_status pe_block_relative_logits(const struct pe_query_block *block, struct pe_error *err);
/* Adds weights times the vectors of distances to the output. */
enum pe_status pe_block_relative_values(const struct pe_query_block *block, size_t row, size_t rows,
                                        size_t key_begin, size_t key_end, struct pe_error *err);
/* Adds DeBERTa's content-to-position and position-to-content terms to logits. */
enum pe_status pe_block_disentangled_add(const struct pe_query_block *block, size_t kv_head,
                                         struct pe_error *err);

#endif
