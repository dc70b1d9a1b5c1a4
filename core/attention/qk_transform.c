/* SPDX-License-Identifier: MIT */
/* What happens to rows of q and k before they are multiplied: root mean square norm, rotation,
 * temperature. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/errors.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/exact/elementary.h"
#include "core/rotation/rotation.h"

/* Between two checks of the work, 2 ms: logarithms; elements that are normed or scaled. */
enum { CHECK_FACTORS = 1 << 12, CHECK_ELEMENTS = 1 << 19 };

/* The steps of q, or of k. */
struct steps {
    struct pe_rotation **rotations; /* one for all batch rows, or one each; NULL: no rotation */
    size_t rotations_count;
    double *weights; /* [head_dim] of the norm; NULL: no norm */
    double *factors; /* [factors_rows, queries] of the temperature; NULL: none */
    size_t factors_rows, tokens;
};

struct pe_qk_transform {
    struct pe_attention *attention;
    struct steps q, k;
};

/* ---- positions ------------------------------------------------------------------------------- */

/* Positions of packed sequences: 0 at the first key of each. */
static void packed_positions(const struct pe_attention *attention, bool is_key, double *values)
{
    for (size_t i = 0; i < attention->sequences_count; i++) {
        const struct pe_attention_sequence *at = &attention->sequences[i];
        const size_t first = is_key ? at->key_first : at->first;
        const size_t end = is_key ? at->key_end : at->end;
        const int64_t start = is_key ? 0 : at->offset + (int64_t)at->first - (int64_t)at->key_first;
        for (size_t t = first; t < end; t++)
            values[t] = (double)(start + (int64_t)(t - first));
    }
}

/* Positions posted for q, or for k; count 0: none. */
static const struct pe_positions *given_of(const struct pe_attention *attention, bool is_key)
{
    const struct pe_attention_spec *spec = &attention->spec;

    return is_key && spec->key_positions.count > 0 ? &spec->key_positions : &spec->positions;
}

static size_t axes_of(const struct pe_positions *given)
{
    return given->axes > 1 ? given->axes : 1;
}

/* Batch rows with positions of their own; 1: all have the same. */
static size_t rows_of(const struct pe_positions *given)
{
    return given->count > 0 && given->batch > 1 ? given->batch : 1;
}

/* Positions of the tokens of a batch row. They are those posted, or lie in *values, which
 * positions_free releases. */
static enum pe_status positions_of(const struct pe_attention *attention, bool is_key, size_t batch,
                                   struct pe_positions *positions, double **values,
                                   struct pe_error *err)
{
    const struct pe_positions *given = given_of(attention, is_key);
    const size_t tokens = is_key ? attention->keys : attention->queries;
    const size_t axes = axes_of(given), rows = rows_of(given);

    *values = NULL;
    *positions = (struct pe_positions){
        .start = is_key ? 0 : (double)attention->query_start, .step = 1, .count = tokens};
    if (given->count > 0 && (rows == 1 || !given->values)) {
        *positions = *given;
        return PE_OK;
    }
    if (given->count == 0 && attention->spec.cu_seqlens.rank == 0)
        return PE_OK;
    *values = pe_memory_take(attention->work, axes * tokens, sizeof(**values), "positions", err);
    if (!*values)
        return err->status;
    if (given->count == 0)
        packed_positions(attention, is_key, *values);
    for (size_t i = 0; given->count > 0 && i < axes; i++)
        memcpy(*values + i * tokens, given->values + (i * rows + batch) * tokens,
               tokens * sizeof(**values));
    positions->values = *values;
    positions->axes = given->axes;
    return PE_OK;
}

static void positions_free(const struct pe_attention *attention, bool is_key, double *values)
{
    const size_t tokens = is_key ? attention->keys : attention->queries;

    pe_memory_give(attention->work, values, axes_of(given_of(attention, is_key)) * tokens,
                   sizeof(*values));
}

/* ---- steps ----------------------------------------------------------------------- */

static enum pe_status rotation_make(struct pe_qk_transform *transform, bool is_key, size_t batch,
                                    struct pe_rotation **rotation, struct pe_pool *pool,
                                    struct pe_error *err)
{
    const struct pe_attention *attention = transform->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    struct pe_rotation_spec rotated = {
        .size = sizeof(rotated),
        .scheme = spec->scheme,
        .layout = spec->layout,
        .output_layout = spec->layout,
        .is_key = is_key,
    };
    double *values;

    if (!positions_of(attention, is_key, batch, &rotated.positions, &values, err))
        pe_rotation_new(rotation, &rotated, attention->type, pool, attention->work, err);
    positions_free(attention, is_key, values);
    return err->status;
}

static enum pe_status rotations_make(struct pe_qk_transform *transform, bool is_key,
                                     struct pe_pool *pool, struct pe_error *err)
{
    struct steps *steps = is_key ? &transform->k : &transform->q;
    const size_t rows = rows_of(given_of(transform->attention, is_key));

    steps->rotations = calloc(rows, sizeof(struct pe_rotation *));
    if (!steps->rotations)
        return pe_no_memory(err, "a rotation");
    steps->rotations_count = rows;
    for (size_t i = 0; i < rows; i++)
        if (rotation_make(transform, is_key, i, &steps->rotations[i], pool, err))
            return err->status;
    return PE_OK;
}

/* Queries and keys at the same positions share one table of cos and sin. */
static bool share_positions(const struct pe_attention *attention)
{
    const struct pe_attention_spec *spec = &attention->spec;

    if (spec->scheme->encoding->rotary->scale || attention->queries != attention->keys)
        return false;
    if (spec->positions.count > 0)
        return spec->key_positions.count == 0;
    return spec->cu_seqlens.rank > 0 ? spec->cu_seqlens_k.rank == 0 : attention->query_start == 0;
}

static enum pe_status weights_make(struct pe_qk_transform *transform, bool is_key,
                                   struct pe_error *err)
{
    const struct pe_attention *attention = transform->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_tensor *tensor = is_key ? &spec->k_norm : &spec->q_norm;
    struct steps *steps = is_key ? &transform->k : &transform->q;

    if (spec->norm == PE_NORM_NONE)
        return PE_OK;
    steps->weights = pe_memory_take(attention->work, attention->head_dim, sizeof(*steps->weights),
                                    "weights of a norm", err);
    if (!steps->weights)
        return err->status;
    if (tensor->rank > 0)
        pe_to_f64(steps->weights, tensor->data, tensor->dtype, attention->head_dim);
    for (size_t c = 0; c < attention->head_dim; c++)
        steps->weights[c] = tensor->rank > 0 ? steps->weights[c] + spec->norm_offset : 1;
    return PE_OK;
}

static enum pe_status factors_row(const struct pe_attention *attention, double *factors,
                                  const struct pe_positions *positions, struct pe_error *err)
{
    const struct pe_temperature *t = &attention->spec.temperature;

    for (size_t i = 0; i < attention->queries; i++) {
        if (i % CHECK_FACTORS == 0 && pe_work_check(attention->work, err))
            return err->status;
        const double at = positions->values ? positions->values[i]
                                            : positions->start + positions->step * (double)i;
        const double lengths = floor((at + t->offset) / t->length);
        if (!(lengths >= 0 && lengths <= 0x1p60))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:temperature_length",
                           "a temperature needs positions of %g or more, and there is a query at "
                           "%.17g",
                           0 - t->offset, at);
        factors[i] =
            1 + t->strength * (lengths > 0 ? pe_exact_log1p((struct pe_exact){lengths, 0}).hi : 0);
    }
    return PE_OK;
}

static enum pe_status factors_make(struct pe_qk_transform *transform, struct pe_error *err)
{
    const struct pe_attention *attention = transform->attention;
    const size_t rows = rows_of(given_of(attention, false)), tokens = attention->queries;

    if (attention->spec.temperature.strength == 0)
        return PE_OK;
    transform->q.factors_rows = rows;
    transform->q.factors = pe_memory_take(attention->work, rows * tokens,
                                          sizeof(*transform->q.factors), "temperatures", err);
    for (size_t i = 0; transform->q.factors && i < rows && !err->status; i++) {
        struct pe_positions positions;
        double *values;
        if (!positions_of(attention, false, i, &positions, &values, err))
            factors_row(attention, transform->q.factors + i * tokens, &positions, err);
        positions_free(attention, false, values);
    }
    return err->status;
}

enum pe_status pe_qk_transform_new(struct pe_qk_transform **out, struct pe_attention *attention,
                                   struct pe_pool *pool, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    struct pe_qk_transform *transform = *out = calloc(1, sizeof(*transform));

    if (!transform)
        return pe_no_memory(err, "an attention");
    transform->attention = attention;
    transform->q.tokens = attention->queries;
    transform->k.tokens = attention->keys;
    if (weights_make(transform, false, err) || weights_make(transform, true, err) ||
        factors_make(transform, err) || !spec->scheme || !spec->scheme->encoding->rotary ||
        rotations_make(transform, true, pool, err))
        return err->status;
    if (!share_positions(attention))
        return rotations_make(transform, false, pool, err);
    transform->q.rotations = transform->k.rotations;
    transform->q.rotations_count = transform->k.rotations_count;
    return PE_OK;
}

static void rotations_free(struct steps *steps)
{
    for (size_t i = 0; i < steps->rotations_count; i++)
        pe_rotation_free(steps->rotations[i]);
    free(steps->rotations);
}

void pe_qk_transform_free(struct pe_qk_transform *transform)
{
    if (!transform)
        return;
    struct pe_work *work = transform->attention->work;
    const size_t dim = transform->attention->head_dim;
    if (transform->q.rotations != transform->k.rotations)
        rotations_free(&transform->q);
    rotations_free(&transform->k);
    pe_memory_give(work, transform->q.weights, dim, sizeof(double));
    pe_memory_give(work, transform->k.weights, dim, sizeof(double));
    pe_memory_give(work, transform->q.factors, transform->q.factors_rows * transform->q.tokens,
                   sizeof(double));
    free(transform);
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool pe_attention_copies_queries(const struct pe_attention_spec *spec)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;

    return (spec->q.dtype != PE_F64 && spec->q.dtype != PE_F32) || (encoding && encoding->rotary) ||
           spec->norm != PE_NORM_NONE || spec->temperature.strength != 0 ||
           spec->pos_bias_u.rank > 0 || spec->pos_bias_v.rank > 0;
}

bool pe_qk_transform_changes_keys(const struct pe_qk_transform *transform)
{
    return transform->k.rotations || transform->k.weights;
}

/* Rows to transform: `begin` is the token of the first. */
struct run {
    char *rows;
    size_t batch, begin, count;
};

/* Divides each row by its root mean square and multiplies by the weights, in double. */
#define NORM(REAL)                                                                                 \
    for (size_t t = 0; t < run->count; t++) {                                                      \
        REAL *row = (REAL *)run->rows + t * dim;                                                   \
        double sum = 0;                                                                            \
        for (size_t c = 0; c < dim; c++)                                                           \
            sum += (double)row[c] * (double)row[c];                                                \
        const double root = sqrt(sum / (double)dim + epsilon);                                     \
        for (size_t c = 0; c < dim; c++)                                                           \
            row[c] = (REAL)((double)row[c] / root * steps->weights[c]);                            \
    }

static void norm_apply(const struct pe_qk_transform *transform, const struct steps *steps,
                       const struct run *run)
{
    const size_t dim = transform->attention->head_dim;
    const double epsilon = transform->attention->spec.norm_epsilon;

    if (transform->attention->type == PE_F64)
        NORM(double)
    else
        NORM(float)
}

static void factors_apply(const struct pe_qk_transform *transform, const struct steps *steps,
                          const struct run *run)
{
    const size_t dim = transform->attention->head_dim;
    const double *factors =
        steps->factors + (steps->factors_rows > 1 ? run->batch : 0) * steps->tokens + run->begin;

    for (size_t i = 0; i < run->count * dim; i++)
        if (transform->attention->type == PE_F64)
            ((double *)run->rows)[i] *= factors[i / dim];
        else
            ((float *)run->rows)[i] = (float)((double)((float *)run->rows)[i] * factors[i / dim]);
}

enum pe_status pe_qk_transform_apply(const struct pe_qk_transform *transform, bool is_key,
                                     size_t batch, char *rows, size_t begin, size_t count,
                                     struct pe_work *work, struct pe_error *err)
{
    const struct steps *steps = is_key ? &transform->k : &transform->q;
    const struct pe_attention *attention = transform->attention;
    const size_t most = CHECK_ELEMENTS / (attention->head_dim + 1) + 1;
    const enum pe_attention_norm norm = attention->spec.norm;

    for (size_t at = 0; at < count && !pe_work_check(work, err); at += most) {
        const struct run run = {rows + at * attention->head_dim * attention->size, batch,
                                begin + at, pe_min(count - at, most)};
        if (norm == PE_NORM_BEFORE)
            norm_apply(transform, steps, &run);
        if (steps->rotations &&
            pe_rotate_rows(steps->rotations[steps->rotations_count > 1 ? batch : 0], run.rows,
                           attention->head_dim, run.begin, run.count, work, err))
            return err->status;
        if (norm == PE_NORM_AFTER)
            norm_apply(transform, steps, &run);
        if (steps->factors)
            factors_apply(transform, steps, &run);
    }
    return err->status;
}
