/* SPDX-License-Identifier: MIT */
/* Rows of q and k once they are read: root mean square norm, rotation, temperature. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/fail.h"
#include "core/base/least.h"
#include "core/base/memory.h"
#include "core/base/spend.h"
#include "core/exact/elementary.h"
#include "core/rotation/spec.h"

/* Logarithms between two looks at the work, and elements that are normed or scaled: 2 ms. */
enum { CHECK_FACTORS = 1 << 12, CHECK_ELEMENTS = 1 << 19 };

/* Of q, or of k. */
struct turn {
    struct pe_rotation **rotations; /* one for all batch rows, or one each; NULL: nothing rotates */
    size_t rotations_count;
    double *weights; /* [head_dim] of the norm; NULL: no norm */
    double *factors; /* [factors_rows, queries] of the temperature; NULL: none */
    size_t factors_rows, tokens;
};

struct pe_turns {
    struct pe_attention *attention;
    struct turn q, k;
};

static const struct turn *turn_of(const struct pe_turns *turns, bool is_key)
{
    return is_key ? &turns->k : &turns->q;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* The positions of the tokens of packed sequences, from 0 on at the first key of each. */
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

/* Positions that are posted for q, or for k; count 0: none are. */
static const struct pe_positions *given_of(const struct pe_attention *attention, bool is_key)
{
    const struct pe_attention_spec *spec = &attention->spec;

    return is_key && spec->key_positions.count > 0 ? &spec->key_positions : &spec->positions;
}

static size_t axes_of(const struct pe_positions *given)
{
    return given->axes > 1 ? given->axes : 1;
}

/* How many batch rows have positions of their own; 1: all have the same. */
static size_t rows_of(const struct pe_positions *given)
{
    return given->count > 0 && given->batch > 1 ? given->batch : 1;
}

/* Where the tokens of a batch row stand: *positions points to *values, which the caller frees, or
 * to those that were posted. */
static enum pe_status places_of(const struct pe_attention *attention, bool is_key, size_t batch,
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

static void places_free(const struct pe_attention *attention, bool is_key, double *values)
{
    const size_t tokens = is_key ? attention->keys : attention->queries;

    pe_memory_give(attention->work, values, axes_of(given_of(attention, is_key)) * tokens,
                   sizeof(*values));
}

/* ---- what is made once ----------------------------------------------------------------------- */

static enum pe_status rotation_make(struct pe_turns *turns, bool is_key, size_t batch,
                                    struct pe_rotation **rotation, struct pe_pool *pool,
                                    struct pe_error *err)
{
    const struct pe_attention *attention = turns->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    struct pe_rotation_spec asked = {
        .size = sizeof(asked),
        .scheme = spec->scheme,
        .layout = spec->layout,
        .output_layout = spec->layout,
        .is_key = is_key,
    };
    double *values;

    if (!places_of(attention, is_key, batch, &asked.positions, &values, err))
        pe_rotation_new(rotation, &asked, attention->type, pool, attention->work, err);
    places_free(attention, is_key, values);
    return err->status;
}

static enum pe_status rotations_make(struct pe_turns *turns, bool is_key, struct pe_pool *pool,
                                     struct pe_error *err)
{
    struct turn *turn = is_key ? &turns->k : &turns->q;
    const size_t rows = rows_of(given_of(turns->attention, is_key));

    turn->rotations = calloc(rows, sizeof(struct pe_rotation *));
    if (!turn->rotations)
        return pe_no_memory(err, "a rotation");
    turn->rotations_count = rows;
    for (size_t i = 0; i < rows; i++)
        if (rotation_make(turns, is_key, i, &turn->rotations[i], pool, err))
            return err->status;
    return PE_OK;
}

/* One table of cos and sin serves queries and keys that stand at the same places. */
static bool share_places(const struct pe_attention *attention)
{
    const struct pe_attention_spec *spec = &attention->spec;

    if (spec->scheme->encoding->rotary->scale || attention->queries != attention->keys)
        return false;
    if (spec->positions.count > 0)
        return spec->key_positions.count == 0;
    return spec->cu_seqlens.rank > 0 ? spec->cu_seqlens_k.rank == 0 : attention->query_start == 0;
}

static enum pe_status weights_make(struct pe_turns *turns, bool is_key, struct pe_error *err)
{
    const struct pe_attention *attention = turns->attention;
    const struct pe_attention_spec *spec = &attention->spec;
    const struct pe_tensor *tensor = is_key ? &spec->k_norm : &spec->q_norm;
    struct turn *turn = is_key ? &turns->k : &turns->q;

    if (spec->norm == PE_NORM_NONE)
        return PE_OK;
    turn->weights = pe_memory_take(attention->work, attention->head_dim, sizeof(*turn->weights),
                                   "weights of a norm", err);
    if (!turn->weights)
        return err->status;
    if (tensor->rank > 0)
        pe_to_f64(turn->weights, tensor->data, tensor->dtype, attention->head_dim);
    for (size_t c = 0; c < attention->head_dim; c++)
        turn->weights[c] = tensor->rank > 0 ? turn->weights[c] + spec->norm_offset : 1;
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
        const double whole = floor((at + t->offset) / t->length);
        if (!(whole >= 0 && whole <= 0x1p60))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:temperature_length",
                           "a temperature needs positions of %g or more, and there is a query at "
                           "%.17g",
                           0 - t->offset, at);
        factors[i] =
            1 + t->strength * (whole > 0 ? pe_exact_log1p((struct pe_exact){whole, 0}).hi : 0);
    }
    return PE_OK;
}

static enum pe_status factors_make(struct pe_turns *turns, struct pe_error *err)
{
    const struct pe_attention *attention = turns->attention;
    const size_t rows = rows_of(given_of(attention, false)), tokens = attention->queries;

    if (attention->spec.temperature.strength == 0)
        return PE_OK;
    turns->q.factors_rows = rows;
    turns->q.factors = pe_memory_take(attention->work, rows * tokens, sizeof(*turns->q.factors),
                                      "temperatures", err);
    for (size_t i = 0; turns->q.factors && i < rows && !err->status; i++) {
        struct pe_positions positions;
        double *values;
        if (!places_of(attention, false, i, &positions, &values, err))
            factors_row(attention, turns->q.factors + i * tokens, &positions, err);
        places_free(attention, false, values);
    }
    return err->status;
}

enum pe_status pe_turns_new(struct pe_turns **out, struct pe_attention *attention,
                            struct pe_pool *pool, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &attention->spec;
    struct pe_turns *turns = *out = calloc(1, sizeof(*turns));

    if (!turns)
        return pe_no_memory(err, "an attention");
    turns->attention = attention;
    turns->q.tokens = attention->queries;
    turns->k.tokens = attention->keys;
    if (weights_make(turns, false, err) || weights_make(turns, true, err) ||
        factors_make(turns, err) || !spec->scheme || !spec->scheme->encoding->rotary ||
        rotations_make(turns, true, pool, err))
        return err->status;
    if (!share_places(attention))
        return rotations_make(turns, false, pool, err);
    turns->q.rotations = turns->k.rotations;
    turns->q.rotations_count = turns->k.rotations_count;
    return PE_OK;
}

static void rotations_free(struct turn *turn)
{
    for (size_t i = 0; i < turn->rotations_count; i++)
        pe_rotation_free(turn->rotations[i]);
    free(turn->rotations);
}

void pe_turns_free(struct pe_turns *turns)
{
    if (!turns)
        return;
    struct pe_work *work = turns->attention->work;
    const size_t dim = turns->attention->head_dim;
    if (turns->q.rotations != turns->k.rotations)
        rotations_free(&turns->q);
    rotations_free(&turns->k);
    pe_memory_give(work, turns->q.weights, dim, sizeof(double));
    pe_memory_give(work, turns->k.weights, dim, sizeof(double));
    pe_memory_give(work, turns->q.factors, turns->q.factors_rows * turns->q.tokens, sizeof(double));
    free(turns);
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool pe_attention_changes_queries(const struct pe_attention_spec *spec)
{
    const struct pe_encoding *encoding = spec->scheme ? spec->scheme->encoding : NULL;

    return (spec->q.dtype != PE_F64 && spec->q.dtype != PE_F32) || (encoding && encoding->rotary) ||
           spec->norm != PE_NORM_NONE || spec->temperature.strength != 0 ||
           spec->pos_bias_u.rank > 0 || spec->pos_bias_v.rank > 0;
}

bool pe_turns_change_keys(const struct pe_turns *turns)
{
    return turns->k.rotations || turns->k.weights;
}

/* Rows that are turned: `begin` is the token of the first. */
struct run {
    char *rows;
    size_t batch, begin, count;
};

/* Each row over the root of its mean square, times weights: sums and products in double. */
#define NORM(REAL)                                                                                 \
    for (size_t t = 0; t < run->count; t++) {                                                      \
        REAL *row = (REAL *)run->rows + t * dim;                                                   \
        double sum = 0;                                                                            \
        for (size_t c = 0; c < dim; c++)                                                           \
            sum += (double)row[c] * (double)row[c];                                                \
        const double root = sqrt(sum / (double)dim + epsilon);                                     \
        for (size_t c = 0; c < dim; c++)                                                           \
            row[c] = (REAL)((double)row[c] / root * turn->weights[c]);                             \
    }

static void norm_apply(const struct pe_turns *turns, const struct turn *turn, const struct run *run)
{
    const size_t dim = turns->attention->head_dim;
    const double epsilon = turns->attention->spec.norm_epsilon;

    if (turns->attention->type == PE_F64)
        NORM(double)
    else
        NORM(float)
}

static void factors_apply(const struct pe_turns *turns, const struct turn *turn,
                          const struct run *run)
{
    const size_t dim = turns->attention->head_dim;
    const double *factors =
        turn->factors + (turn->factors_rows > 1 ? run->batch : 0) * turn->tokens + run->begin;

    for (size_t i = 0; i < run->count * dim; i++)
        if (turns->attention->type == PE_F64)
            ((double *)run->rows)[i] *= factors[i / dim];
        else
            ((float *)run->rows)[i] = (float)((double)((float *)run->rows)[i] * factors[i / dim]);
}

enum pe_status pe_turns_apply(const struct pe_turns *turns, bool is_key, size_t batch, char *rows,
                              size_t begin, size_t count, struct pe_work *work,
                              struct pe_error *err)
{
    const struct turn *turn = turn_of(turns, is_key);
    const struct pe_attention *attention = turns->attention;
    const size_t most = CHECK_ELEMENTS / (attention->head_dim + 1) + 1;
    const enum pe_attention_norm norm = attention->spec.norm;

    for (size_t at = 0; at < count && !pe_work_check(work, err); at += most) {
        const struct run run = {rows + at * attention->head_dim * attention->size, batch,
                                begin + at, pe_least(count - at, most)};
        if (norm == PE_NORM_BEFORE)
            norm_apply(turns, turn, &run);
        if (turn->rotations &&
            pe_rotate_rows(turn->rotations[turn->rotations_count > 1 ? batch : 0], run.rows,
                           attention->head_dim, run.begin, run.count, work, err))
            return err->status;
        if (norm == PE_NORM_AFTER)
            norm_apply(turns, turn, &run);
        if (turn->factors)
            factors_apply(turns, turn, &run);
    }
    return err->status;
}
