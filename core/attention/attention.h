/* SPDX-License-Identifier: MIT */
#ifndef CORE_ATTENTION_ATTENTION_H
#define CORE_ATTENTION_ATTENTION_H

/* The files of attention: check.c and options.c judge a spec, attention.c owns the memory, work.c
 * tells what it costs. sight.c knows which keys a query sees. pack.c prepares all that blocks read,
 * tokens.c the rows of q and k among it. fill.c computes blocks of rows with rows.c (logits and
 * weights), relative.c (vectors of distances), disentangled.c (DeBERTa's) and added.c (masks and
 * biases that are posted); scratch.c has the memory of one. projection.c makes the q, k and v of
 * learned weights, and is called by itself. */

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
    PE_ATTENTION_ROWS_MAX = 96, /* queries in a block, at most */
    PE_ATTENTION_ROWS_MIN = 24, /* fewer and the keys are read for too little work */
};

/* A matrix of `depth` rows cut into panels of columns; see kernels/attention.h. One after the
 * other for every head. */
struct pe_packed {
    void *data;        /* the copy; NULL: none, the rows are read where the caller has them */
    const char *first; /* the first panel, wherever it is; NULL: there is no matrix */
    size_t depth, columns;
    size_t panels;     /* of one matrix */
    size_t row_stride; /* elements from a row of a panel to the next */
    size_t panel_size; /* bytes from panel to panel */
    size_t head_size;  /* bytes of one matrix */
    atomic_bool odd;   /* has a NaN or an infinity, which 0 does not erase */
    atomic_bool large; /* has a number of 2^PE_LARGE_EXPONENT or more */
};

static inline const char *pe_packed_panel(const struct pe_packed *packed, size_t head, size_t panel)
{
    return packed->first + head * packed->head_size + panel * packed->panel_size;
}

/* `count` panels of a head, from `panel` on, from row `depth` on: as gemm takes them. */
static inline struct pe_panels pe_packed_panels(const struct pe_packed *packed, size_t head,
                                                size_t panel, size_t count, size_t depth,
                                                size_t element)
{
    return (struct pe_panels){pe_packed_panel(packed, head, panel) +
                                  depth * packed->row_stride * element,
                              packed->row_stride, packed->panel_size / element, count, 0};
}

/* The kernels of one type of arithmetic. */
struct pe_attention_kernels {
#define KERNEL_OF(name, like) __typeof__(((struct pe_kernels *)0)->like) name
    KERNEL_OF(gemm, gemm_f32);
    KERNEL_OF(transpose, transpose_f32);
    KERNEL_OF(odd, odd_f32);
    KERNEL_OF(logits, logits_f32);
    KERNEL_OF(softmax, softmax_f32);
    KERNEL_OF(softcap, softcap_f32);
    KERNEL_OF(sum, sum_f32);
    KERNEL_OF(divide, divide_f32);
#undef KERNEL_OF
};

/* A row of a block: its largest logit, its sums. */
struct pe_attention_row {
    double max;                             /* of its logits */
    double sum, sink;                       /* of its weights, and the weight of its sink */
    double partials[PE_ATTENTION_PARTIALS]; /* in the type of the arithmetic */
};

/* Memory of one block being filled, in one piece behind the struct. */
struct pe_attention_scratch {
    struct pe_attention_scratch *next; /* in the list of those not in use */
    char *logits;                      /* rows_max * logits_stride */
    char *relative; /* rows_max * relative_stride: Q aK^T, later the weight of each bucket */
    char *bias;     /* logits_stride: of one row */
    char *tile;     /* pe_attention_tile_rows rows of a panel: rows of distances times keys */
    char *output;   /* rows_max * output_stride */
    char *q;        /* rows_max * head_dim, twice: q as it meets k, and as it meets rel_k */
    struct pe_attention_row *rows; /* rows_max */
};

/* The list of free scratch blocks, with its own lock. */
struct pe_scratches;

/* Queries and keys that see each other; one for all where nothing is packed. */
struct pe_attention_sequence {
    size_t first, end; /* queries */
    size_t key_first, key_end;
    int64_t offset; /* a query stands at the key of its index + offset */
};

/* Keys [begin, end) that a query sees, but for masks. */
struct pe_attention_sight {
    size_t begin, end;
};

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
    struct pe_attention_sequence whole, *sequences; /* `whole`, or as many as are packed */
    size_t sequences_count;
    int64_t position_least, position_most; /* of the queries, among the keys */
    bool relative;
    int64_t least, most; /* relative: distances key - query beyond them share a vector; rows of a
                            disentangled one: 0 and the last */

    struct pe_turns *turns;        /* of the rows of q and k */
    bool q_changes;                /* blocks turn a copy of their rows of q, or convert them */
    struct pe_packed k, v;         /* k transposed: depth head_dim, columns keys */
    struct pe_packed rel_k, rel_v; /* rows in the order of key - query; rel_k transposed */
    size_t rel_k_stride;           /* bytes from head to head; 0: all share one */
    char *biases;       /* of a bias by distance: one vector a head, see pe_attention_bias */
    size_t bias_stride; /* elements */
    char *pos_query;    /* disentangled: [rows, heads * head_dim]; its pos_key is rel_k */
    int32_t *rows_of;   /* disentangled: the row of each distance, as `biases` are laid out */
    double *sinks;      /* one a head; NULL: none */

    bool streams;                                         /* no L2 cache has keys and values */
    size_t rows_max;                                      /* queries in a block */
    size_t logits_stride, relative_stride, output_stride; /* elements, whole panels */
    size_t scratch_size, scratch_row_size; /* bytes of a scratch, and more for each row */
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

/* How many distances there are between queries and keys. */
static inline size_t pe_attention_distances(const struct pe_attention *attention)
{
    return attention->keys + (size_t)(attention->position_most - attention->position_least);
}

/* Biases by distance, one vector a head: it starts at (farthest position of a query, key 0), and a
 * query at an earlier position starts as many elements further on. Zeros follow, so that every row
 * is whole panels. */
static inline char *pe_attention_bias(const struct pe_attention *attention, size_t head,
                                      int64_t position)
{
    return attention->biases +
           (head * attention->bias_stride + (size_t)(attention->position_most - position)) *
               attention->size;
}

/* Rows of distances that the queries of a block and the keys of a panel have between them. */
static inline size_t pe_attention_tile_rows(const struct pe_attention *attention)
{
    return attention->pos_query ? attention->rows_max + attention->width : 0;
}

/* Memory that lives as long as the attention and is charged to its work, aligned as kernels ask for
 * it; NULL: PE_OUT_OF_MEMORY, the error names `where`. free() it. */
void *pe_attention_take(struct pe_attention *attention, size_t size, const char *where,
                        struct pe_error *err);

/* As many scratches as can be in use at once, so that filling need not ask for memory; of fewer
 * rows where memory is short. */
enum pe_status pe_scratches_new(struct pe_attention *attention, size_t threads,
                                struct pe_error *err);
void pe_scratches_free(struct pe_scratches *scratches);
/* NULL: PE_OUT_OF_MEMORY. Any thread. */
struct pe_attention_scratch *pe_scratch_take(const struct pe_attention *attention,
                                             struct pe_error *err);
void pe_scratch_return(const struct pe_attention *attention, struct pe_attention_scratch *scratch);

/* ---- who sees whom (sight.c) ----------------------------------------------------------------- */

/* Reads cu_seqlens into the sequences, and sets the range of positions. */
enum pe_status pe_attention_sequences_read(struct pe_attention *attention, struct pe_error *err);
const struct pe_attention_sequence *pe_attention_sequence_of(const struct pe_attention *attention,
                                                             size_t query);
/* begin and end never fall from one query of a sequence to the next. */
struct pe_attention_sight pe_attention_sight(const struct pe_attention *attention,
                                             const struct pe_attention_sequence *sequence,
                                             size_t query);
/* How many keys the product of a query meets, at most and about, by the spec alone. */
double pe_attention_keys_seen(const struct pe_attention_spec *spec);

/* ---- rows of q and k (tokens.c) -------------------------------------------------------------- */

/* Steps that rows of q and of k go through once they are read: norm, rotation, temperature. */
struct pe_turns;

enum pe_status pe_turns_new(struct pe_turns **turns, struct pe_attention *attention,
                            struct pe_pool *pool, struct pe_error *err);
void pe_turns_free(struct pe_turns *turns);
bool pe_turns_change_keys(const struct pe_turns *turns);
bool pe_attention_changes_queries(const struct pe_attention_spec *spec);
/* Rows [begin, begin + count) of one head of a batch row, in place: `rows` has those alone. */
enum pe_status pe_turns_apply(const struct pe_turns *turns, bool is_key, size_t batch, char *rows,
                              size_t begin, size_t count, struct pe_work *work,
                              struct pe_error *err);

/* ---- packing --------------------------------------------------------------------------------- */

/* Memory for so many matrices; `where` is for the error. */
enum pe_status pe_attention_packed_new(struct pe_attention *attention, struct pe_packed *packed,
                                       size_t heads, size_t depth, size_t columns,
                                       const char *where, struct pe_error *err);
/* Fills the matrix of a head from rows[depth][columns], or from rows[columns][depth].
 * PE_CANCELLED, here and below. */
enum pe_status pe_attention_panels_write(const struct pe_attention *attention,
                                         struct pe_packed *packed, size_t head, const char *rows,
                                         struct pe_error *err);
enum pe_status pe_attention_panels_transpose(const struct pe_attention *attention,
                                             struct pe_packed *packed, size_t head,
                                             const char *rows, struct pe_error *err);
/* Sets packed->odd and packed->large if any of the rows of a head is. */
enum pe_status pe_attention_odd_find(const struct pe_attention *attention, struct pe_packed *packed,
                                     const char *rows, struct pe_error *err);
/* Elements of a tensor in the type of the arithmetic: a row; or any number, with looks at the
 * work. */
void pe_attention_read(const struct pe_attention *attention, char *to,
                       const struct pe_tensor *tensor, size_t first, size_t count);
enum pe_status pe_attention_read_all(const struct pe_attention *attention, char *to,
                                     const struct pe_tensor *tensor, size_t first, size_t count,
                                     struct pe_error *err);

/* ---- checks (check.c) ------------------------------------------------------------------------ */

/* Shapes, the scheme's included, and numbers, before any work; and all of it, with data. */
enum pe_status pe_attention_shapes_check(const struct pe_attention_spec *spec,
                                         struct pe_error *err);
enum pe_status pe_attention_check(const struct pe_attention_spec *spec, struct pe_error *err);
/* The part about everything behind spec->output (options.c). */
enum pe_status pe_attention_options_check(const struct pe_attention_spec *spec,
                                          struct pe_error *err);
/* Looks for NaN and infinity in masks, biases and sinks. */
enum pe_status pe_attention_added_scan(struct pe_attention *attention, struct pe_error *err);

/* ---- relative positions ---------------------------------------------------------------------- */

/* Does the scheme lend rows of vectors to DeBERTa's tensors? */
static inline bool pe_attention_disentangles(const struct pe_attention_spec *spec)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;

    return encoding && encoding->bias && encoding->bias->vectors_count;
}

/* Which distances have a vector of their own, once query_start is known. */
enum pe_status pe_attention_reach(struct pe_attention *attention, struct pe_error *err);
enum pe_status pe_attention_relatives_pack(struct pe_attention *attention, struct pe_pool *pool,
                                           struct pe_error *err);

enum pe_status pe_disentangled_pack(struct pe_attention *attention, struct pe_error *err);

/* Sets how long the elements of a result take, and what is packed for them, by the shapes alone. */
void pe_attention_work_tell(const struct pe_attention_spec *spec, struct pe_output *result);

/* Allocates and fills q, k, v, rel_k, rel_v, biases and sinks from the checked spec. */
enum pe_status pe_attention_pack(struct pe_attention *attention, struct pe_pool *pool,
                                 struct pe_error *err);

/* ---- filling --------------------------------------------------------------------------------- */

struct pe_attention_block {
    const struct pe_attention *attention;
    const struct pe_attention_scratch *scratch;
    const struct pe_attention_sequence *sequence;
    size_t head, first, count; /* queries first .. first + count of one head and sequence */
    size_t from, keys;         /* keys that one of them sees are in [from, keys), whole panels from
                                  `from` on */
    struct pe_work *work;
    const char *q, *q_relative; /* rows as they meet k, and as they meet rel_k */
};

static inline char *pe_block_logits(const struct pe_attention_block *block, size_t row)
{
    return block->scratch->logits + row * block->attention->logits_stride * block->attention->size;
}

static inline char *pe_block_output(const struct pe_attention_block *block, size_t row)
{
    return block->scratch->output + row * block->attention->output_stride * block->attention->size;
}

/* The elements, as a pace has them, that a product of the block's queries with a panel costs. */
static inline size_t pe_block_product(const struct pe_attention_block *block, size_t depth)
{
    return (block->count * depth * block->attention->width + 15) / 16;
}

/* The position of a row's query among the keys. */
static inline int64_t pe_block_position(const struct pe_attention_block *block, size_t row)
{
    return block->sequence->offset + (int64_t)(block->first + row);
}

static inline struct pe_attention_sight pe_block_sight(const struct pe_attention_block *block,
                                                       size_t row)
{
    return pe_attention_sight(block->attention, block->sequence, block->first + row);
}

/* One behind the last element of rows that kernels work on. */
static inline size_t pe_block_end(const struct pe_attention_block *block)
{
    return pe_attention_whole(block->attention, block->keys);
}

/* Keys of a block that go through a step together: whole panels between two multiples of a number,
 * whatever the first one is. */
struct pe_chunk {
    size_t begin, end;
};

/* The chunk behind another, or the first behind {0, 0}; false: there is none. */
bool pe_chunk_next(const struct pe_attention_block *block, struct pe_chunk *chunk);

/* Logits, then weights of a block (rows.c), chunk after chunk: products of q and k are finished,
 * the largest of each row being found; beside its sink they become weights, which are still to be
 * divided by their sum. PE_CANCELLED. */
void pe_block_rows_begin(const struct pe_attention_block *block);
enum pe_status pe_block_logits_finish(const struct pe_attention_block *block,
                                      const struct pe_chunk *chunk, struct pe_error *err);
enum pe_status pe_block_weigh(const struct pe_attention_block *block, const struct pe_chunk *chunk,
                              struct pe_error *err);
double pe_block_divisor(const struct pe_attention_block *block, size_t row);

/* Elements [begin, end) of a row take a value. */
void pe_attention_spread(const struct pe_attention *attention, char *row, size_t begin, size_t end,
                         double value);
/* output (+)= a * the rows [depth_begin, depth_begin + depth) of a packed matrix. PE_CANCELLED,
 * here and below. */
enum pe_status pe_block_product_add(const struct pe_attention_block *block, size_t row, size_t rows,
                                    const char *a, size_t a_stride, const struct pe_packed *packed,
                                    size_t head, size_t depth_begin, size_t depth,
                                    struct pe_error *err);

/* Rows of logits begin with the product of queries and vectors of distances. */
enum pe_status pe_block_relative_logits(const struct pe_attention_block *block,
                                        struct pe_error *err);
/* Adds weights times the vectors of distances to values. */
enum pe_status pe_block_relative_values(const struct pe_attention_block *block, size_t row,
                                        size_t rows, size_t from, size_t keys,
                                        struct pe_error *err);
/* Adds c2p and p2c to logits. */
enum pe_status pe_block_disentangled(const struct pe_attention_block *block, size_t kv_head,
                                     struct pe_error *err);
/* Adds what mask and bias have for the keys [begin, end) of a row of logits. */
void pe_block_added(const struct pe_attention_block *block, size_t row, size_t begin, size_t end);

/* Fills `count` <= rows_max rows of one head and sequence, from query `first`. PE_CANCELLED,
 * PE_OUT_OF_MEMORY. */
enum pe_status pe_attention_block(const struct pe_attention *attention,
                                  const struct pe_attention_scratch *scratch, size_t head,
                                  size_t first, size_t count, char *out, struct pe_work *work,
                                  struct pe_error *err);

#endif
