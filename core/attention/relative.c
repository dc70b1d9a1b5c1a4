/* SPDX-License-Identifier: MIT */
#include "core/attention/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/least.h"
#include "core/base/memory.h"

/* ---- checks --------------------------------------------------------------------------------- */

/* [rows, columns], as `shape` says in words */
static enum pe_status table_check(const struct pe_tensor *tensor, const char *name,
                                  const char *shape, size_t rows, size_t columns,
                                  const struct pe_tensor *q, struct pe_error *err)
{
    char where[24];

    snprintf(where, sizeof(where), "tensor:%s", name);
    if (tensor->rank != 2 || tensor->shape[0] != rows || tensor->shape[1] != columns)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must be %s = [%zu, %zu], it has %u dimensions%s %zu x %zu", name, shape,
                       rows, columns, tensor->rank, tensor->rank < 2 ? "," : ":", tensor->shape[0],
                       tensor->rank < 2 ? 1 : tensor->shape[1]);
    if (tensor->dtype != q->dtype)
        return pe_fail(err, PE_INVALID, where, "%s is %s, q is %s; all tensors need one dtype",
                       name, pe_dtype_name(tensor->dtype), pe_dtype_name(q->dtype));
    if (!tensor->data)
        return pe_fail(err, PE_INVALID, where, "%s has no data", name);
    return PE_OK;
}

/* Refuses tensors of another encoding than this one. */
static enum pe_status strangers_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;
    const bool clips = encoding && pe_clipped_of(encoding);
    const bool by_distance = encoding && pe_distances_of(encoding);
    const struct {
        const char *name, *owner;
        const struct pe_tensor *tensor;
        bool known;
    } tensors[] = {{"rel_k", "shaw", &spec->rel_k, clips},
                   {"rel_v", "shaw", &spec->rel_v, clips},
                   {"w_r", "transformer-xl", &spec->w_r, by_distance},
                   {"pos_bias_u", "transformer-xl", &spec->pos_bias_u, by_distance},
                   {"pos_bias_v", "transformer-xl", &spec->pos_bias_v, by_distance}};
    char where[24];

    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
        if (tensors[i].tensor->rank == 0 || tensors[i].known)
            continue;
        snprintf(where, sizeof(where), "tensor:%s", tensors[i].name);
        return pe_fail(err, PE_CONFLICT, where,
                       "%s belongs to a relative encoding such as %s, not to %s", tensors[i].name,
                       tensors[i].owner, encoding ? encoding->info.name : "none");
    }
    return PE_OK;
}

/* The scheme's own vectors serve keys and values alike. */
static enum pe_status made_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_scheme *scheme = spec->scheme;
    const size_t dim = scheme->encoding->rows->width(scheme);
    const bool values = spec->output == PE_ATTENTION_OUTPUT;

    if (spec->rel_k.rank > 0 || spec->rel_v.rank > 0)
        return pe_fail(err, PE_CONFLICT, spec->rel_k.rank > 0 ? "tensor:rel_k" : "tensor:rel_v",
                       "the vectors of this %s are made, not learned; leave rel_k and rel_v out",
                       scheme->encoding->info.name);
    if (spec->q.shape[3] != dim || (values && spec->v.shape[3] != dim))
        return pe_fail(err, PE_SHAPE_MISMATCH, spec->q.shape[3] != dim ? "tensor:q" : "tensor:v",
                       "%s has %zu columns, the vectors of %s have %zu",
                       spec->q.shape[3] != dim ? "q" : "v",
                       spec->q.shape[3] != dim ? spec->q.shape[3] : spec->v.shape[3],
                       scheme->encoding->info.name, dim);
    return PE_OK;
}

static enum pe_status clipped_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    static const char shape[] = "[2 * max_relative_position + 1, head_dim]";
    const struct pe_scheme *scheme = spec->scheme;
    const struct pe_clipped *clipped = pe_clipped_of(scheme->encoding);
    const size_t rows = 2 * clipped->clip(scheme) + 1;

    if (clipped->makes_vectors(scheme))
        return made_check(spec, err);
    if (spec->rel_k.rank == 0)
        return pe_fail(err, PE_MISSING, "tensor:rel_k", "%s needs the tensor rel_k [%zu, %zu]",
                       scheme->encoding->info.name, rows, spec->q.shape[3]);
    if (table_check(&spec->rel_k, "rel_k", shape, rows, spec->q.shape[3], &spec->q, err))
        return err->status;
    if (spec->output != PE_ATTENTION_OUTPUT || spec->rel_v.rank == 0)
        return PE_OK;
    return table_check(&spec->rel_v, "rel_v", shape, rows, spec->v.shape[3], &spec->q, err);
}

static enum pe_status by_distance_check(const struct pe_attention_spec *spec, struct pe_error *err)
{
    const struct pe_scheme *scheme = spec->scheme;
    const size_t heads = spec->q.shape[1], head_dim = spec->q.shape[3];
    const size_t dim = scheme->encoding->rows->width(scheme);

    if (pe_distances_of(scheme->encoding)->past_only(scheme) && !spec->causal)
        return pe_fail(err, PE_CONFLICT, "parameter:direction",
                       "direction=past has no rows for keys behind a query; ask for causal or for "
                       "direction=both");
    if (spec->w_r.rank == 0 && dim != head_dim)
        return pe_fail(err, PE_MISSING, "tensor:w_r",
                       "rows of dim=%zu meet queries of %zu columns through the tensor w_r [%zu, "
                       "%zu]",
                       dim, head_dim, heads * head_dim, dim);
    if ((spec->w_r.rank > 0 && table_check(&spec->w_r, "w_r", "[heads * head_dim, dim]",
                                           heads * head_dim, dim, &spec->q, err)) ||
        (spec->pos_bias_u.rank > 0 &&
         table_check(&spec->pos_bias_u, "pos_bias_u", "[heads, head_dim]", heads, head_dim,
                     &spec->q, err)) ||
        (spec->pos_bias_v.rank > 0 &&
         table_check(&spec->pos_bias_v, "pos_bias_v", "[heads, head_dim]", heads, head_dim,
                     &spec->q, err)))
        return err->status;
    return PE_OK;
}

enum pe_status pe_attention_relatives_check(const struct pe_attention_spec *spec,
                                            struct pe_error *err)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;

    if (strangers_check(spec, err))
        return err->status;
    if (!encoding || !encoding->relative)
        return PE_OK;
    return encoding->relative->clipped ? clipped_check(spec, err) : by_distance_check(spec, err);
}

/* ---- distances ------------------------------------------------------------------------------ */

enum pe_status pe_attention_reach(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;

    if (attention->queries == 0 || attention->keys == 0 || !scheme || !scheme->encoding->relative)
        return PE_OK;
    attention->relative = true;
    if (pe_clipped_of(scheme->encoding)) {
        attention->most = (int64_t)pe_clipped_of(scheme->encoding)->clip(scheme);
        attention->least = -attention->most;
    } else { /* every distance that there is */
        attention->least = -(attention->query_start + (int64_t)attention->queries - 1);
        attention->most = (int64_t)attention->keys - 1 - attention->query_start;
        if (fmax(fabs((double)attention->least), fabs((double)attention->most)) > 0x1p53 - 1)
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:query_start",
                           "distances must lie within +-(2^53 - 1)");
    }
    return PE_OK;
}

void pe_attention_query_bias(const struct pe_attention *attention, const struct pe_tensor *bias,
                             size_t head, char *rows)
{
    const size_t dim = attention->head_dim, first = head % attention->heads * dim;
    const size_t size = pe_dtype_info(bias->dtype)->size;

    if (bias->rank == 0)
        return;
    for (size_t c = 0; c < dim; c++) {
        const char *from = (const char *)bias->data + (first + c) * size;
        double value;
        pe_to_f64(&value, from, bias->dtype, 1);
        if (attention->type == PE_F64)
            for (size_t i = 0; i < attention->queries; i++)
                ((double *)rows)[i * dim + c] += value;
        else
            for (size_t i = 0; i < attention->queries; i++)
                ((float *)rows)[i * dim + c] += (float)value;
    }
}

/* ---- clipped: one table for all heads ------------------------------------------------------- */

/* Rows in the order of key - query, so that a query meets one slice of them whatever the sign. */
static enum pe_status table_pack(struct pe_attention *attention, const struct pe_tensor *tensor,
                                 struct pe_packed *packed, bool transposed, const char *where,
                                 struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t buckets = tensor->shape[0], columns = tensor->shape[1];
    const bool reversed = pe_clipped_of(scheme->encoding)->sign(scheme) < 0;

    if (pe_attention_packed_new(attention, packed, 1, transposed ? columns : buckets,
                                transposed ? buckets : columns, where, err))
        return err->status;
    char *rows =
        pe_memory_take(attention->work, buckets * columns, attention->size, "vectors", err);
    if (!rows)
        return err->status;
    for (size_t bucket = 0; bucket < buckets; bucket++)
        pe_attention_read(attention, rows + bucket * columns * attention->size, tensor,
                          (reversed ? buckets - 1 - bucket : bucket) * columns, columns);
    if (transposed)
        pe_attention_panels_transpose(attention, packed, 0, rows);
    else
        pe_attention_panels_write(attention, packed, 0, rows);
    pe_memory_give(attention->work, rows, buckets * columns, attention->size);
    return PE_OK;
}

/* The vectors of a scheme that makes them, correctly rounded to the type of the arithmetic. */
static enum pe_status made_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_scheme *scheme = attention->spec.scheme;
    const struct pe_positions all = {
        .step = 1, .count = 2 * pe_clipped_of(scheme->encoding)->clip(scheme) + 1};
    const struct pe_rows_part part = {&all, 0, all.count, attention->type};
    const size_t count = all.count * attention->head_dim;
    struct pe_tensor made = {
        .dtype = attention->type, .rank = 2, .shape = {all.count, attention->head_dim}};

    made.data = pe_memory_take(attention->work, count, attention->size, "vectors", err);
    if (!made.data)
        return err->status;
    if (!scheme->encoding->rows->fill(scheme, &part, made.data, attention->work, err) &&
        !table_pack(attention, &made, &attention->rel_k, true, "", err) &&
        attention->spec.output == PE_ATTENTION_OUTPUT)
        table_pack(attention, &made, &attention->rel_v, false, "", err);
    pe_memory_give(attention->work, made.data, count, attention->size);
    return err->status;
}

static enum pe_status clipped_pack(struct pe_attention *attention, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;

    if (pe_clipped_of(spec->scheme->encoding)->makes_vectors(spec->scheme))
        return made_pack(attention, err);
    if (table_pack(attention, &spec->rel_k, &attention->rel_k, true, "tensor:rel_k", err))
        return err->status;
    if (spec->output != PE_ATTENTION_OUTPUT || spec->rel_v.rank == 0)
        return PE_OK;
    return table_pack(attention, &spec->rel_v, &attention->rel_v, false, "tensor:rel_v", err);
}

/* ---- by distance: W_r R of every head, a panel of distances at a time ------------------------ */

struct projection {
    struct pe_job job;
    struct pe_attention *attention;
    char *weights; /* in the type of the arithmetic; NULL: no projection */
    size_t dim;
    _Atomic int status; /* of a block that failed */
};

/* The rows of the distances that a panel has, from the farthest one behind, as columns. */
static enum pe_status distances_write(const struct projection *projection, size_t panel, char *to,
                                      struct pe_error *err)
{
    const struct pe_attention *attention = projection->attention;
    const struct pe_scheme *scheme = attention->spec.scheme;
    const size_t columns = attention->rel_k.columns, width = attention->width;
    const size_t first = panel * width, count = pe_least(columns - first, width);
    const struct pe_positions all = {
        .start = -(double)attention->least, .step = -1, .count = columns};
    const struct pe_rows_part part = {&all, first, first + count, attention->type};
    struct pe_packed packed = {.data = to, .depth = projection->dim, .columns = count};
    const size_t size = count * projection->dim * attention->size;
    char *rows = pe_memory_take(attention->work, 1, size, "the rows of the distances", err);

    if (!rows)
        return err->status;
    if (!scheme->encoding->rows->fill(scheme, &part, rows, attention->work, err))
        pe_attention_panels_transpose(attention, &packed, 0, rows);
    pe_memory_give(attention->work, rows, 1, size);
    return err->status;
}

/* The panel of every head: the rows of its distances times the weights. */
static enum pe_status panel_project(const struct projection *projection, size_t panel,
                                    struct pe_error *err)
{
    enum { DEPTH_STEP = 256 };
    const struct pe_attention *attention = projection->attention;
    const struct pe_packed *packed = &attention->rel_k;
    const size_t dim = projection->dim, offset = panel * packed->depth * PE_PANEL_SIZE;
    char *distances = NULL;

    if (!projection->weights)
        return distances_write(projection, panel, (char *)packed->data + offset, err);
    if (posix_memalign((void **)&distances, PE_PANEL_SIZE, dim * PE_PANEL_SIZE) != 0)
        return pe_no_memory(err, "the rows of the distances");
    if (!distances_write(projection, panel, distances, err))
        for (size_t head = 0; head < attention->heads; head++)
            for (size_t at = 0; at < dim; at += DEPTH_STEP)
                attention->kernels.gemm(
                    (char *)packed->data + head * packed->head_size + offset, attention->width,
                    projection->weights + (head * packed->depth * dim + at) * attention->size, dim,
                    distances + at * PE_PANEL_SIZE, packed->depth, pe_least(dim - at, DEPTH_STEP),
                    at > 0);
    free(distances);
    return err->status;
}

static void project_run(struct pe_job *job, size_t panel)
{
    struct projection *projection = (struct projection *)job;
    struct pe_error err = {0};

    if (panel_project(projection, panel, &err))
        atomic_store(&projection->status, err.status);
}

static enum pe_status by_distance_pack(struct pe_attention *attention, struct pe_pool *pool,
                                       struct pe_error *err)
{
    const struct pe_tensor *weights = &attention->spec.w_r;
    struct projection projection = {
        .job = {.run = project_run, .work = attention->work},
        .attention = attention,
        .dim = attention->spec.scheme->encoding->rows->width(attention->spec.scheme)};
    const size_t heads = weights->rank > 0 ? attention->heads : 1;
    size_t count = 0;

    if (pe_attention_packed_new(attention, &attention->rel_k, heads, attention->head_dim,
                                (size_t)(attention->most - attention->least) + 1, "tensor:k", err))
        return err->status;
    if (weights->rank > 0) {
        count = weights->shape[0] * weights->shape[1];
        attention->rel_k_stride = attention->rel_k.head_size;
        projection.weights =
            pe_memory_take(attention->work, count, attention->size, "a copy of w_r", err);
        if (!projection.weights)
            return err->status;
        pe_attention_read(attention, projection.weights, weights, 0, count);
    }
    projection.job.blocks = attention->rel_k.panels;
    const bool all = pe_pool_run(pool, &projection.job);
    const int status = atomic_load(&projection.status);
    pe_memory_give(attention->work, projection.weights, count, attention->size);
    if (pe_work_check(attention->work, err))
        return err->status;
    if (status == PE_OUT_OF_MEMORY)
        return pe_no_memory(err, "the rows of the distances");
    return all && !status ? PE_OK
                          : pe_fail(err, PE_INTERNAL, "", "attention could not be prepared");
}

enum pe_status pe_attention_relatives_pack(struct pe_attention *attention, struct pe_pool *pool,
                                           struct pe_error *err)
{
    if (!attention->relative)
        return PE_OK;
    return pe_clipped_of(attention->spec.scheme->encoding) ? clipped_pack(attention, err)
                                                           : by_distance_pack(attention, pool, err);
}
