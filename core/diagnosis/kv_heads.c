/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/work.h"
#include "core/diagnosis/observations.h"

/* A cache of keys by layer and head. A cell is one head of one layer in one batch row. The first
 * cell is diagnosed, and its explanation tested on all others, which costs little; the first cell
 * that it does not explain is diagnosed next, and so on. Values must be unchanged. */

enum { STRIPES = 16, PIECE = 256 };

/* Nanoseconds of an element that is read before and after, and of a cell of any size. */
#define ELEMENT_WORK 30.0
#define CELL_WORK    20e3

struct cell {
    enum { CELL_OPEN, CELL_EXPLAINED, CELL_UNKNOWN } state;
    struct pe_kv_cell found;
};

/* A diagnosis of the first cell that those before it do not explain. */
struct explanation {
    struct pe_diagnosis *diagnosis;
    size_t cell;
    struct pe_token_samples tokens;
};

/* Memory of one thread: every STRIPES-th cell is a stripe's. */
struct stripe {
    struct pe_rotated_tokens tokens;
    struct pe_sample_buffers buffers;
    struct pe_error err;
};

struct pe_kv_diagnosis {
    struct pe_job job; /* first: a pointer to it points to the struct */
    struct pe_kv_spec spec;
    struct pe_pool *pool;
    struct pe_work *work;
    struct pe_allocations memory;
    size_t tokens, head_dim;
    struct pe_sampled_rows rows;
    size_t batch; /* rows of positions: 1 or all */
    struct pe_row_positions *positions;
    size_t count, heads_count;
    struct cell *cells;
    struct pe_kv_cell *heads;
    struct stripe *stripes;
    size_t explanations_count;
    struct explanation explanations[PE_KV_EXPLANATIONS_MAX];
    struct pe_kv_explanation outcome[PE_KV_EXPLANATIONS_MAX];
};

/* ---- shapes and cost ------------------------------------------------------------------------- */

static enum pe_status spec_read(struct pe_kv_spec *spec, const struct pe_kv_spec *given,
                                struct pe_error *err)
{
    if (pe_struct_read(spec, sizeof(*spec), given, err))
        return err->status;
    if (!spec->q || !spec->q_rotated)
        return pe_fail(err, PE_MISSING, spec->q ? "tensor:q_rotated" : "tensor:q",
                       "q and q_rotated go together; %s is missing", spec->q ? "q_rotated" : "q");
    if (pe_observed_tensor_check((struct pe_named_tensor){"q", spec->q}, err) ||
        pe_observed_tensor_check((struct pe_named_tensor){"q_rotated", spec->q_rotated}, err))
        return err->status;
    const struct pe_tensor *before = spec->q, *after = spec->q_rotated;
    if (spec->axes.rank == 0 || spec->axes.rank != before->rank ||
        memcmp(spec->axes.shape, before->shape, before->rank * sizeof(size_t)) != 0)
        return pe_fail(err, PE_INVALID, "parameter:axes", "axes are not those of q");
    if (before->rank != after->rank ||
        memcmp(before->shape, after->shape, before->rank * sizeof(size_t)) != 0)
        return pe_observed_refuse("q_rotated", "of the shape of q", err);
    if (pe_kv_axes_length(&spec->axes, 'k') > 2)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q",
                       "axis k has keys and, behind them, values; it has %zu entries",
                       pe_kv_axes_length(&spec->axes, 'k'));
    for (unsigned i = 0; i < before->rank; i++)
        if (before->shape[i] == 0)
            return pe_observed_refuse("q", "of one token and one head at least", err);
    return before->shape[before->rank - 1] < 2
               ? pe_observed_refuse("q", "of heads of two elements at least", err)
               : PE_OK;
}

enum pe_status pe_kv_diagnosis_check(const struct pe_kv_spec *given, double *nanoseconds,
                                     struct pe_error *err)
{
    struct pe_kv_spec spec;

    if (spec_read(&spec, given, err))
        return err->status;
    const struct pe_tensor *tensor = spec.q;
    const size_t pairs = tensor->shape[tensor->rank - 1] / 2;
    const size_t tokens = pe_kv_axes_length(&spec.axes, 's');
    const size_t cells = pe_kv_axes_places(&spec.axes, PE_KV_BATCH);
    const size_t few = cells < PE_KV_EXPLANATIONS_MAX ? cells : PE_KV_EXPLANATIONS_MAX;
    size_t elements = 0;

    pe_shape_elements(tensor->shape, tensor->rank, &elements);
    *nanoseconds = pe_diagnosis_work(pe_sampled_rows_count(tokens, pairs), pairs) * (double)few +
                   pe_diagnosis_rows_work(tokens, pairs, tensor->dtype) * (double)cells +
                   ELEMENT_WORK * (double)elements + CELL_WORK * (double)cells;
    return PE_OK;
}

/* ---- one cell -------------------------------------------------------------------------------- */

static size_t index_of(const struct pe_kv_diagnosis *cache, size_t cell, char letter)
{
    return pe_kv_axes_coordinate(&cache->spec.axes, PE_KV_BATCH, cell, letter);
}

static bool is_value(const struct pe_kv_diagnosis *cache, size_t cell)
{
    return index_of(cache, cell, 'k') == 1;
}

/* Moves tokens to a cell. */
static void cell_find(const struct pe_kv_diagnosis *cache, size_t cell,
                      struct pe_rotated_tokens *tokens)
{
    const struct pe_kv_axes *axes = &cache->spec.axes;

    tokens->heads =
        (struct pe_head_layout){.outer = 1, .inner = 1, .token_step = pe_kv_axes_stride(axes, 's')};
    for (const char *letter = PE_KV_BATCH; *letter; letter++)
        tokens->heads.first += index_of(cache, cell, *letter) * pe_kv_axes_stride(axes, *letter);
    tokens->positions = &cache->positions[cache->batch > 1 ? index_of(cache, cell, 'b') : 0];
}

/* The first element of a token that has changed; SIZE_MAX: none. Memory that was never written may
 * hold NaN before and after. */
static size_t change_find(const struct pe_rotated_tokens *tokens, size_t token, double *before,
                          double *after)
{
    const size_t at = pe_head_element(&tokens->heads, 0, token);
    double x[PIECE], y[PIECE];

    for (size_t j = 0; j < tokens->head_dim; j += PIECE) {
        const size_t left = tokens->head_dim - j, some = left < PIECE ? left : PIECE;
        pe_values_read(tokens->before.tensor, at + j, 1, some, x);
        pe_values_read(tokens->after.tensor, at + j, 1, some, y);
        for (size_t i = 0; i < some; i++)
            if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i]))) {
                *before = x[i];
                *after = y[i];
                return j + i;
            }
    }
    return SIZE_MAX;
}

/* Are values unchanged? */
static enum pe_status value_check(struct pe_kv_diagnosis *cache, struct cell *cell,
                                  struct stripe *stripe)
{
    const struct pe_positions *all = &stripe->tokens.positions->all;
    struct pe_bad_rows *bad = &cell->found.bad;

    *bad = (struct pe_bad_rows){0};
    for (size_t token = 0; token < cache->tokens; token++) {
        double before = 0, after = 0;
        if (token % PIECE == 0 && pe_work_check(cache->work, &stripe->err))
            return stripe->err.status;
        const size_t column = change_find(&stripe->tokens, token, &before, &after);
        if (column != SIZE_MAX && bad->count++ == 0)
            *bad = (struct pe_bad_rows){.count = 1,
                                        .row = token,
                                        .pair = column,
                                        .position = all->values
                                                        ? all->values[token]
                                                        : all->start + all->step * (double)token,
                                        .seen = after,
                                        .predicted = before};
    }
    if (bad->count > 0)
        cell->found.max_abs = fabs(bad->seen - bad->predicted);
    cell->found.verdict = bad->count > 0 ? PE_VERDICT_UNKNOWN : PE_VERDICT_MATCH;
    cell->state = bad->count > 0 ? CELL_UNKNOWN : CELL_EXPLAINED;
    return PE_OK;
}

/* Holds keys against the newest explanation. */
static enum pe_status key_check(struct pe_kv_diagnosis *cache, struct cell *cell,
                                struct stripe *stripe)
{
    const int newest = (int)cache->explanations_count - 1;
    const struct pe_diagnosis *diagnosis = cache->explanations[newest].diagnosis;
    const struct pe_sample *like = pe_diagnosis_finding(diagnosis, 0)->sample;
    const struct pe_token_rows *rows = like->all->context;
    const struct pe_head_pairs pairs[2] = {rows->sources[0].pairs};
    struct pe_held held = {.size = sizeof(held)};
    struct pe_token_rows context;
    struct pe_sample sample;

    if (pe_rotated_tokens_measure(&stripe->tokens, &cache->rows, &stripe->err))
        return stripe->err.status;
    if (pe_rotated_tokens_are_zero(&stripe->tokens)) {
        cell->state = CELL_UNKNOWN;
        return PE_OK;
    }
    if (pe_rotated_tokens_change_kept(&stripe->tokens, pairs))
        return PE_OK;
    pe_rotated_tokens_sample(&stripe->tokens, &cache->rows, pairs, cache->spec.layout,
                             &stripe->buffers, &context, &sample);
    if (pe_not_finite_check(&stripe->tokens.skipped, &sample, 1, &stripe->err) ||
        pe_diagnosis_hold(diagnosis, &sample, NULL, cache->work, &held, &stripe->err))
        return stripe->err.status;
    if (held.fits || newest == 0)
        cell->found.max_abs = held.max_abs;
    if (!held.fits)
        return PE_OK;
    cell->state = CELL_EXPLAINED;
    cell->found.explanation = newest;
    cell->found.verdict = held.verdict;
    cell->found.bad = held.bad;
    return PE_OK;
}

static void stripe_run(struct pe_job *job, size_t index)
{
    struct pe_kv_diagnosis *cache = (struct pe_kv_diagnosis *)job;
    struct stripe *stripe = &cache->stripes[index];

    for (size_t i = index; i < cache->count; i += STRIPES) {
        struct cell *cell = &cache->cells[i];
        if (cell->state != CELL_OPEN)
            continue;
        cell_find(cache, i, &stripe->tokens);
        if (pe_work_check(cache->work, &stripe->err) ||
            (is_value(cache, i) ? value_check(cache, cell, stripe)
                                : key_check(cache, cell, stripe)))
            return;
    }
}

/* Checks every open cell. */
static enum pe_status cells_check(struct pe_kv_diagnosis *cache, struct pe_error *err)
{
    cache->job = (struct pe_job){.run = stripe_run, .blocks = STRIPES, .work = cache->work};
    if (!pe_pool_run(cache->pool, &cache->job))
        return pe_work_check(cache->work, err);
    for (size_t i = 0; i < STRIPES && !err->status; i++)
        if (cache->stripes[i].err.status)
            *err = cache->stripes[i].err;
    return err->status;
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* Diagnoses a cell of keys that no explanation fits. */
static enum pe_status cell_diagnose(struct pe_kv_diagnosis *cache, size_t index,
                                    struct pe_error *err)
{
    struct explanation *by = &cache->explanations[cache->explanations_count];
    struct pe_rotated_tokens *tokens = &cache->stripes[0].tokens;
    struct cell *cell = &cache->cells[index];
    const struct pe_bad_rows *bad;

    cell_find(cache, index, tokens);
    if (pe_work_check(cache->work, err) || pe_rotated_tokens_measure(tokens, &cache->rows, err))
        return err->status;
    cell->state = CELL_UNKNOWN;
    if (pe_rotated_tokens_are_zero(tokens))
        return PE_OK;
    if (pe_rotated_tokens_samples(tokens, &cache->rows, cache->spec.expected, cache->spec.layout,
                                  &cache->memory, &by->tokens, err) ||
        by->tokens.count == 0)
        return err->status;
    if (pe_not_finite_check(&tokens->skipped, by->tokens.samples, by->tokens.count, err) ||
        pe_diagnose(&by->diagnosis, cache->spec.expected, by->tokens.samples, by->tokens.count,
                    cache->pool, cache->work, err))
        return err->status;
    if (!pe_diagnosis_finding(by->diagnosis, 0)) {
        pe_diagnosis_free(by->diagnosis);
        *by = (struct explanation){0};
        return PE_OK;
    }
    bad = pe_diagnosis_bad_rows(by->diagnosis);
    by->cell = index;
    cell->state = CELL_EXPLAINED;
    cell->found = (struct pe_kv_cell){
        .explanation = (int)cache->explanations_count++,
        .verdict = pe_diagnosis_verdict(by->diagnosis),
        .max_abs = pe_diagnosis_finding(by->diagnosis, 0)->max_abs,
        .bad = bad ? *bad : (struct pe_bad_rows){0},
    };
    return PE_OK;
}

/* Is a cell of the layer, batch row or head of one that stayed unknown? Then it is likely to be
 * unknown too. The first few are diagnosed in their order all the same. */
static bool is_beside_unknown(const struct pe_kv_diagnosis *cache, size_t cell)
{
    if (cache->explanations_count < PE_KV_EXPLANATIONS_MAX / 2)
        return false;
    for (size_t i = 0; i < cache->explanations_count; i++) {
        const size_t other = cache->explanations[i].cell;
        if (cache->cells[other].found.verdict != PE_VERDICT_UNKNOWN)
            continue;
        for (const char *letter = "lbh"; *letter; letter++)
            if (pe_kv_axes_length(&cache->spec.axes, *letter) > 1 &&
                index_of(cache, cell, *letter) == index_of(cache, other, *letter))
                return true;
    }
    return false;
}

/* Diagnoses open cells one after another; each explanation is tested on the others at once. */
static enum pe_status cells_diagnose(struct pe_kv_diagnosis *cache, bool beside_unknown,
                                     struct pe_error *err)
{
    for (size_t i = 0; i < cache->count; i++) {
        const size_t before = cache->explanations_count;
        if (before == PE_KV_EXPLANATIONS_MAX)
            break;
        if (cache->cells[i].state != CELL_OPEN || is_value(cache, i) ||
            (!beside_unknown && is_beside_unknown(cache, i)))
            continue;
        if (cell_diagnose(cache, i, err) ||
            (cache->explanations_count > before && cells_check(cache, err)))
            return err->status;
    }
    return PE_OK;
}

/* ---- the outcome ----------------------------------------------------------------------------- */

/* The positions of one batch row; memory is taken where its coordinates are not together. */
static enum pe_status batch_row_of(struct pe_kv_diagnosis *cache, size_t row,
                                   struct pe_positions *out, struct pe_error *err)
{
    const struct pe_positions *all = &cache->spec.positions;
    const size_t axes = all->axes > 1 ? all->axes : 1;
    double *values;

    *out = *all;
    out->batch = 1;
    if (all->batch <= 1)
        return PE_OK;
    out->values = all->values + row * all->count;
    if (axes == 1)
        return PE_OK;
    out->values = values =
        pe_allocations_take(&cache->memory, axes * all->count, sizeof(*values), err);
    for (size_t axis = 0; values && axis < axes; axis++)
        memcpy(values + axis * all->count, all->values + (axis * all->batch + row) * all->count,
               all->count * sizeof(*values));
    return err->status;
}

static enum pe_status positions_new(struct pe_kv_diagnosis *cache, struct pe_error *err)
{
    const struct pe_positions *all = &cache->spec.positions;
    const size_t rows = pe_kv_axes_length(&cache->spec.axes, 'b');

    cache->batch = all->batch > 1 ? all->batch : 1;
    if (all->count != cache->tokens || (cache->batch > 1 && (cache->batch != rows || !all->values)))
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:positions",
                       "positions are %zu for each of %zu batch rows, axis s has %zu and b %zu",
                       all->count, cache->batch, cache->tokens, rows);
    cache->positions =
        pe_allocations_take(&cache->memory, cache->batch, sizeof(*cache->positions), err);
    for (size_t row = 0; cache->positions && row < cache->batch; row++)
        if (batch_row_of(cache, row, &cache->positions[row].all, err) ||
            pe_row_positions_new(&cache->positions[row], &cache->rows, &cache->memory, err))
            return err->status;
    return err->status;
}

static enum pe_status memory_take(struct pe_kv_diagnosis *cache, struct pe_error *err)
{
    struct pe_allocations *memory = &cache->memory;

    cache->cells = pe_allocations_take(memory, cache->count, sizeof(*cache->cells), err);
    cache->heads = pe_allocations_take(memory, cache->heads_count, sizeof(*cache->heads), err);
    cache->stripes = pe_allocations_take(memory, STRIPES, sizeof(*cache->stripes), err);
    if (!cache->cells || !cache->heads || !cache->stripes)
        return err->status;
    for (size_t i = 0; i < cache->count; i++)
        cache->cells[i].found =
            (struct pe_kv_cell){.explanation = -1, .verdict = PE_VERDICT_UNKNOWN};
    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &cache->stripes[i];
        stripe->tokens = (struct pe_rotated_tokens){.before = {"q", cache->spec.q},
                                                    .after = {"q_rotated", cache->spec.q_rotated},
                                                    .sampled_heads = 1,
                                                    .head_dim = cache->head_dim};
        if (pe_rotated_tokens_new(&stripe->tokens, memory, err) ||
            pe_sample_buffers_new(&stripe->buffers, cache->rows.count, cache->head_dim, memory,
                                  err))
            return err->status;
    }
    return PE_OK;
}

/* A head as its first cell that is no match, with the bad rows of all and the largest error. */
static void head_join(struct pe_kv_cell *head, const struct pe_kv_cell *cell, bool is_first)
{
    const size_t bad = is_first ? 0 : head->bad.count;
    const double max_abs = is_first ? 0 : head->max_abs;

    if (is_first || (pe_verdict_is_good(head->verdict) && !pe_verdict_is_good(cell->verdict)))
        *head = *cell;
    head->bad.count = bad + cell->bad.count;
    head->max_abs = fmax(max_abs, cell->max_abs);
}

static void outcome_fill(struct pe_kv_diagnosis *cache)
{
    for (size_t i = 0; i < cache->explanations_count; i++)
        cache->outcome[i] = (struct pe_kv_explanation){cache->explanations[i].diagnosis,
                                                       cache->explanations[i].cell, 0};
    for (size_t i = 0; i < cache->count; i++) {
        struct pe_kv_cell *cell = &cache->cells[i].found;
        const size_t head = pe_kv_axes_project(&cache->spec.axes, PE_KV_BATCH, i, PE_KV_HEADS);
        cell->undecided = cache->cells[i].state == CELL_OPEN;
        if (cell->explanation >= 0)
            cache->outcome[cell->explanation].cells++;
        head_join(&cache->heads[head], cell, index_of(cache, i, 'b') == 0);
    }
}

static enum pe_status cache_diagnose(struct pe_kv_diagnosis *cache, struct pe_error *err)
{
    const struct pe_kv_axes *axes = &cache->spec.axes;

    cache->tokens = pe_kv_axes_length(axes, 's');
    cache->head_dim = axes->shape[axes->rank - 1];
    cache->count = pe_kv_axes_places(axes, PE_KV_BATCH);
    cache->heads_count = pe_kv_axes_places(axes, PE_KV_HEADS);
    /* A layer of many heads that do not rotate at all must not use up the explanations: cells
     * beside unknown ones come last. */
    if (pe_observed_pairs_check("q", (cache->head_dim + 1) / 2, err) ||
        pe_sampled_rows_new(&cache->rows, cache->tokens, (cache->head_dim + 1) / 2, &cache->memory,
                            err) ||
        positions_new(cache, err) || memory_take(cache, err) || cells_diagnose(cache, false, err) ||
        cells_diagnose(cache, true, err))
        return err->status;
    /* Values, where no explanation of keys has led to a check of all cells. */
    if (cache->explanations_count == 0 && cells_check(cache, err))
        return err->status;
    outcome_fill(cache);
    return PE_OK;
}

enum pe_status pe_diagnose_kv(struct pe_kv_diagnosis **out, const struct pe_kv_spec *spec,
                              struct pe_pool *pool, struct pe_work *work, struct pe_error *err)
{
    struct pe_kv_diagnosis *cache = pe_memory_take(work, 1, sizeof(*cache), "a diagnosis", err);

    *out = NULL;
    if (!cache)
        return err->status;
    cache->pool = pool;
    cache->work = work;
    cache->memory = (struct pe_allocations){.work = work, .purpose = "a diagnosis"};
    if (spec_read(&cache->spec, spec, err) || cache_diagnose(cache, err)) {
        pe_kv_diagnosis_free(cache);
        return err->status;
    }
    *out = cache;
    return PE_OK;
}

void pe_kv_diagnosis_free(struct pe_kv_diagnosis *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < PE_KV_EXPLANATIONS_MAX; i++)
        pe_diagnosis_free(cache->explanations[i].diagnosis);
    pe_allocations_free(&cache->memory);
    pe_memory_give(cache->work, cache, 1, sizeof(*cache));
}

const struct pe_kv_cell *pe_kv_diagnosis_cell(const struct pe_kv_diagnosis *diagnosis, size_t cell)
{
    return cell < diagnosis->count ? &diagnosis->cells[cell].found : NULL;
}

const struct pe_kv_cell *pe_kv_diagnosis_head(const struct pe_kv_diagnosis *diagnosis, size_t head)
{
    return head < diagnosis->heads_count ? &diagnosis->heads[head] : NULL;
}

size_t pe_kv_diagnosis_first_bad(const struct pe_kv_diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->count; i++)
        if (!pe_verdict_is_good(diagnosis->cells[i].found.verdict))
            return i;
    return SIZE_MAX;
}

const struct pe_kv_explanation *pe_kv_diagnosis_explanation(const struct pe_kv_diagnosis *diagnosis,
                                                            size_t index)
{
    return index < diagnosis->explanations_count ? &diagnosis->outcome[index] : NULL;
}
