/* SPDX-License-Identifier: MIT */
#include "api/routes/diagnosis_report.h"

#include <math.h>
#include <string.h>

#include "api/base/names.h"
#include "api/request/request.h"

/* A cache of keys by layer and head. A cell is one head of one layer in one batch row. The first
 * cell is diagnosed, and its explanation held against all the others, which costs little; the first
 * of those that it does not explain is diagnosed next, and so on. Of keys beside values, the values
 * must not have changed. */

enum { RANK_DEEP = 5, RANK_MAX = 6 };

/* Nanoseconds of an element that is read before and after, and of a cell of any size. */
#define ELEMENT_WORK 30.0
#define CELL_WORK    20e3

static bool are_asked(const struct diagnosis_state *state, const struct pe_tensor *tensor,
                      const char *letters)
{
    return pe_param_number(&state->params, "per_head") != 0 || tensor->rank >= RANK_DEEP ||
           (letters && (strchr(letters, 'l') || strchr(letters, 'k')));
}

static enum pe_status shapes_check(const struct diagnosis_heads *heads, struct pe_error *err)
{
    const struct pe_tensor *before = &heads->before->tensor, *after = &heads->after->tensor;

    if (before->rank != after->rank ||
        memcmp(before->shape, after->shape, before->rank * sizeof(size_t)) != 0)
        return api_readings_refuse("q_rotated", "of the shape of q", err);
    if (pe_kv_axes_length(&heads->axes, 'k') > 2)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:q",
                       "axis k has keys and, behind them, values; it has %zu entries",
                       pe_kv_axes_length(&heads->axes, 'k'));
    for (unsigned i = 0; i < before->rank; i++)
        if (before->shape[i] == 0)
            return api_readings_refuse("q", "of one token and one head at least", err);
    return before->shape[before->rank - 1] < 2
               ? api_readings_refuse("q", "of heads of two elements at least", err)
               : PE_OK;
}

/* Where heads are not told one by one, axes are those of a rotation. */
static enum pe_status axes_check(const char *letters, struct pe_error *err)
{
    static const char known[] = "bhsd,bshd,thd,shd,hsd,bsd,sd";

    if (!letters || api_names_have(known, ",", letters, strlen(letters)))
        return PE_OK;
    return pe_fail(err, PE_INVALID, "parameter:axes",
                   "axes must be one of %s, or a letter an axis beside per_head, got \"%.32s\"",
                   known, letters);
}

enum pe_status diagnosis_heads_open(struct diagnosis_state *state, struct pe_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    const char *letters = axes->given ? axes->text : NULL;
    struct diagnosis_heads *heads = &state->heads;

    heads->state = state;
    heads->before = api_request_tensor(state->request, "q");
    heads->after = api_request_tensor(state->request, "q_rotated");
    if (!heads->before || !heads->after)
        return pe_param_number(&state->params, "per_head") == 0
                   ? axes_check(letters, err)
                   : pe_fail(err, PE_CONFLICT, "parameter:per_head",
                             "q and q_rotated have heads; leave it out for anything else");
    if (!are_asked(state, &heads->before->tensor, letters))
        return axes_check(letters, err);
    if (pe_kv_axes_parse(&heads->axes, letters, &heads->before->tensor, err) ||
        shapes_check(heads, err))
        return err->status;
    heads->tokens = pe_kv_axes_length(&heads->axes, 's');
    heads->count = pe_kv_axes_places(&heads->axes, PE_KV_BATCH);
    return PE_OK;
}

double diagnosis_heads_work(const struct diagnosis_state *state)
{
    const struct diagnosis_heads *heads = &state->heads;
    const struct pe_tensor *tensor = &heads->before->tensor;
    const size_t pairs = tensor->shape[tensor->rank - 1] / 2;
    const size_t few =
        heads->count < DIAGNOSIS_EXPLANATIONS_MAX ? heads->count : DIAGNOSIS_EXPLANATIONS_MAX;
    size_t elements = 0;

    pe_shape_elements(tensor->shape, tensor->rank, &elements);
    return pe_diagnosis_work(api_readings_rows_of(heads->tokens, pairs), pairs) * (double)few +
           pe_diagnosis_rows_work(heads->tokens, pairs, tensor->dtype) * (double)heads->count +
           ELEMENT_WORK * (double)elements + CELL_WORK * (double)heads->count;
}

/* ---- one cell -------------------------------------------------------------------------------- */

static bool is_value(const struct diagnosis_heads *heads, size_t cell)
{
    return pe_kv_axes_coordinate(&heads->axes, PE_KV_BATCH, cell, 'k') == 1;
}

/* Moves to a cell. */
static void cell_go(const struct diagnosis_heads *heads, size_t index, struct api_cell *cell)
{
    const size_t row = pe_kv_axes_coordinate(&heads->axes, PE_KV_BATCH, index, 'b');

    cell->heads = api_cell_heads(&heads->axes, index);
    cell->places = &heads->places.rows[heads->places.count > 1 ? row : 0];
}

/* Of values: whether they stayed as they were. */
static enum pe_status value_judge(struct diagnosis_heads *heads, size_t index,
                                  struct diagnosis_stripe *stripe)
{
    struct diagnosis_cell *cell = &heads->cells[index];
    const struct pe_positions *all = &stripe->cell.places->all;

    if (api_cell_compare(&stripe->cell, heads->tokens, heads->state->request->work, &cell->bad,
                         &stripe->err))
        return stripe->err.status;
    if (cell->bad.count > 0) {
        cell->bad.position = all->values ? all->values[cell->bad.row]
                                         : all->start + all->step * (double)cell->bad.row;
        cell->max_abs = fabs(cell->bad.seen - cell->bad.predicted);
    }
    cell->verdict = cell->bad.count > 0 ? PE_VERDICT_UNKNOWN : PE_VERDICT_MATCH;
    cell->is = cell->bad.count > 0 ? CELL_UNKNOWN : CELL_HELD;
    return PE_OK;
}

/* Against the newest explanation. */
static enum pe_status key_hold(struct diagnosis_heads *heads, size_t index,
                               struct diagnosis_stripe *stripe)
{
    const struct diagnosis_state *state = heads->state;
    const int newest = (int)heads->explanations_count - 1;
    const struct diagnosis_explanation *by = &heads->explanations[newest];
    const struct pe_sample *like = pe_diagnosis_finding(by->diagnosis, 0)->sample;
    struct diagnosis_cell *cell = &heads->cells[index];
    struct pe_held held = {.size = sizeof(held)};
    struct api_tokens tokens;
    struct pe_sample sample;

    if (api_cell_look(&state->readings, &stripe->cell, &stripe->err))
        return stripe->err.status;
    if (api_cell_is_empty(&stripe->cell)) {
        cell->is = CELL_UNKNOWN;
        return PE_OK;
    }
    if (api_cell_changes_behind(&stripe->cell, 2 * like->pairs))
        return PE_OK;
    api_cell_read(&state->readings, &stripe->cell, strcmp(like->layout, "half") == 0, like->pairs,
                  &stripe->room, &tokens, &sample);
    if (pe_diagnosis_hold(by->diagnosis, &sample, NULL, state->request->work, &held, &stripe->err))
        return stripe->err.status;
    if (held.fits || newest == 0)
        cell->max_abs = held.max_abs;
    if (!held.fits)
        return PE_OK;
    cell->is = CELL_HELD;
    cell->explanation = newest;
    cell->verdict = held.verdict;
    cell->bad = held.bad;
    return PE_OK;
}

static void stripe_run(struct pe_job *job, size_t index)
{
    struct diagnosis_heads *heads = (struct diagnosis_heads *)job;
    struct diagnosis_stripe *stripe = &heads->stripes[index];

    for (size_t i = index; i < heads->count; i += DIAGNOSIS_STRIPES) {
        if (heads->cells[i].is != CELL_WAITS)
            continue;
        cell_go(heads, i, &stripe->cell);
        if (pe_work_check(heads->job.work, &stripe->err))
            return;
        if (is_value(heads, i) ? value_judge(heads, i, stripe) : key_hold(heads, i, stripe))
            return;
    }
}

/* ---- explanations ---------------------------------------------------------------------------- */

static enum pe_status samples_read(struct diagnosis_heads *heads, const struct api_cell *cell,
                                   size_t width, struct diagnosis_explanation *by,
                                   struct pe_error *err)
{
    const struct diagnosis_state *state = heads->state;
    const char *expected = state->layout;

    if (width > cell->head_dim)
        return api_readings_refuse("q", "as wide as what is expected to rotate, at least", err);
    for (int half = 1; half >= 0; half--) {
        struct api_cell_room room;
        /* Of a single pair both layouts are one. */
        if (width == 2 && (half ? expected && strcmp(expected, "half") != 0 : by->count > 0))
            continue;
        if (api_cell_room_take(&state->readings, cell->head_dim, &room, err))
            return err->status;
        api_cell_read(&state->readings, cell, half, width / 2, &room, &by->tokens[by->count],
                      &by->samples[by->count]);
        by->count++;
    }
    return PE_OK;
}

/* Diagnoses a cell that none of the others' explanations explains. */
static enum pe_status cell_diagnose(struct diagnosis_heads *heads, size_t index,
                                    struct pe_error *err)
{
    const struct diagnosis_state *state = heads->state;
    struct diagnosis_explanation *by = &heads->explanations[heads->explanations_count];
    struct diagnosis_cell *cell = &heads->cells[index];
    struct api_cell *posted = &heads->stripes[0].cell;
    const struct pe_bad_rows *bad;
    size_t width;

    cell_go(heads, index, posted);
    if (pe_work_check(state->request->work, err) || api_cell_look(&state->readings, posted, err))
        return err->status;
    cell->is = CELL_UNKNOWN;
    width = api_cell_is_empty(posted) ? 0 : api_cell_width(posted, state->scheme);
    if (width == 0)
        return PE_OK;
    if (samples_read(heads, posted, width, by, err) ||
        pe_diagnose(&by->diagnosis, state->scheme, by->samples, by->count,
                    api_pool(state->request->api), state->request->work, err))
        return err->status;
    if (!pe_diagnosis_finding(by->diagnosis, 0)) {
        pe_diagnosis_free(by->diagnosis);
        *by = (struct diagnosis_explanation){0};
        return PE_OK;
    }
    bad = pe_diagnosis_bad_rows(by->diagnosis);
    by->cell = index;
    cell->is = CELL_HELD;
    cell->explanation = (int)heads->explanations_count++;
    cell->verdict = pe_diagnosis_verdict(by->diagnosis);
    cell->max_abs = pe_diagnosis_finding(by->diagnosis, 0)->max_abs;
    cell->bad = bad ? *bad : (struct pe_bad_rows){0};
    return PE_OK;
}

static enum pe_status heads_run(struct diagnosis_heads *heads, struct pe_error *err)
{
    struct api_request *request = heads->state->request;

    heads->job =
        (struct pe_job){.run = stripe_run, .blocks = DIAGNOSIS_STRIPES, .work = request->work};
    if (!pe_pool_run(api_pool(request->api), &heads->job))
        return pe_work_check(request->work, err);
    for (size_t i = 0; i < DIAGNOSIS_STRIPES; i++)
        if (heads->stripes[i].err.status) {
            *err = heads->stripes[i].err;
            return err->status;
        }
    return PE_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum pe_status rooms_take(struct diagnosis_heads *heads, struct pe_error *err)
{
    const struct api_readings *readings = &heads->state->readings;
    struct api_arena *arena = heads->state->request->arena;
    const struct pe_tensor *tensor = &heads->before->tensor;
    const size_t head_dim = tensor->shape[tensor->rank - 1];

    heads->cells = api_arena_take(arena, heads->count * sizeof(*heads->cells));
    heads->stripes = api_arena_take(arena, DIAGNOSIS_STRIPES * sizeof(*heads->stripes));
    if (!heads->cells || !heads->stripes)
        return api_readings_no_memory(err);
    for (size_t i = 0; i < heads->count; i++)
        heads->cells[i] = (struct diagnosis_cell){.explanation = -1, .verdict = PE_VERDICT_UNKNOWN};
    for (size_t i = 0; i < DIAGNOSIS_STRIPES; i++) {
        struct diagnosis_stripe *stripe = &heads->stripes[i];
        stripe->cell =
            (struct api_cell){.before = heads->before, .after = heads->after, .head_dim = head_dim};
        if (api_cell_take(readings, &stripe->cell, err) ||
            api_cell_room_take(readings, head_dim, &stripe->room, err))
            return err->status;
    }
    return PE_OK;
}

/* Is a cell of the same layer, batch row or head as one that was diagnosed and is unknown? Then it
 * is likely to be unknown too. The first few are diagnosed in their order all the same. */
static bool is_beside_unknown(const struct diagnosis_heads *heads, size_t cell)
{
    if (heads->explanations_count < DIAGNOSIS_EXPLANATIONS_MAX / 2)
        return false;
    for (size_t i = 0; i < heads->explanations_count; i++) {
        const size_t other = heads->explanations[i].cell;
        for (const char *letter = "lbh";
             heads->cells[other].verdict == PE_VERDICT_UNKNOWN && *letter; letter++)
            if (pe_kv_axes_length(&heads->axes, *letter) > 1 &&
                pe_kv_axes_coordinate(&heads->axes, PE_KV_BATCH, cell, *letter) ==
                    pe_kv_axes_coordinate(&heads->axes, PE_KV_BATCH, other, *letter))
                return true;
    }
    return false;
}

/* Diagnoses the cells that wait, one after another, each held against the others at once. */
static enum pe_status cells_diagnose(struct diagnosis_heads *heads, bool beside_unknown,
                                     struct pe_error *err)
{
    for (size_t i = 0; i < heads->count; i++) {
        const size_t before = heads->explanations_count;
        if (before == DIAGNOSIS_EXPLANATIONS_MAX)
            break;
        if (heads->cells[i].is != CELL_WAITS || is_value(heads, i) ||
            (!beside_unknown && is_beside_unknown(heads, i)))
            continue;
        if (cell_diagnose(heads, i, err) ||
            (heads->explanations_count > before && heads_run(heads, err)))
            return err->status;
    }
    return PE_OK;
}

enum pe_status diagnosis_heads_make(struct diagnosis_state *state, struct pe_error *err)
{
    struct diagnosis_heads *heads = &state->heads;
    const struct pe_tensor *tensor = &heads->before->tensor;
    const struct api_sheet sheet = {pe_kv_axes_length(&heads->axes, 'b'), heads->tokens, 0};

    /* A layer of many heads that do not rotate at all must not use up what is looked for: those
     * beside an unknown one come last. */
    if (api_readings_batch(&state->readings, "q", &sheet, (tensor->shape[tensor->rank - 1] + 1) / 2,
                           &heads->places, err) ||
        rooms_take(heads, err) || cells_diagnose(heads, false, err) ||
        cells_diagnose(heads, true, err))
        return err->status;
    /* Values, where no key was there to be held against anything. */
    return heads->explanations_count > 0 ? PE_OK : heads_run(heads, err);
}

void diagnosis_heads_release(struct diagnosis_heads *heads)
{
    for (size_t i = 0; i < heads->explanations_count; i++)
        pe_diagnosis_free(heads->explanations[i].diagnosis);
}
