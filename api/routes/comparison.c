/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/table_use.h"
#include "api/config/config.h"
#include "api/formats/formats.h"
#include "api/request/request.h"
#include "api/routes/comparison_report.h"

/* The first ones are the grids of tables whose rows are points; no other takes them. */
enum { GRID_PARAMS = 3 };

static const struct pe_param params_list[] = {
    {.name = "width",
     .type = PE_INTEGER,
     .min = 0,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "rope-2d: how many x the grid has."},
    {.name = "height",
     .type = PE_INTEGER,
     .min = 0,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "rope-2d: how many y the grid has."},
    {.name = "shape",
     .type = PE_NUMBERS,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "sinusoidal-nd: how many coordinates each axis of the grid has."},
    PE_PARAMS_POSITIONS,
    {.name = "part",
     .type = PE_CHOICE,
     .choices = "both,cos,sin",
     .fallback = "both",
     .doc = "Rotary: which of cos and sin."},
    {.name = "duplicate",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Rotary: each row twice side by side, rotary_dim wide, as Hugging Face keeps it."},
    {.name = "tolerance",
     .type = PE_NUMBER,
     .min = 0,
     .max = 1e300,
     .fallback = "0",
     .doc = "How far apart two values may be before they count as diverging."},
    {.name = "tolerance_of",
     .type = PE_CHOICE,
     .choices = "none,f32-angle,bf16-cache,f16-q",
     .fallback = "none",
     .doc = "How the values that are judged were computed: how many lie outside of the interval "
            "that its rounding leaves them, by proved bounds."},
    {.name = "per_element",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Tell the interval of every element too."},
    {.name = "per_pair",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Tell the largest differences of every pair too."},
    {.name = "per_position",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Tell the largest differences of every position too."},
    {.name = "axes",
     .type = PE_TEXT,
     .doc = "Of two posted tensors of a cache of keys and values, a letter an axis: l layer, k key "
            "or value, b batch or block, h head, s position, d last; lkbhsd, lbhsd or bhsd by "
            "their rank if absent. per_head tells the largest differences of each layer and head."},
};

static const char own[] = "a b tensors dtype tensor";
static const char own_rotated[] = "a b tensors dtype tensor positions"; /* by api_places */

enum { CHUNK_ELEMENTS = 1 << 14 };

static void state_release(void *what)
{
    struct comparison_state *state = what;

    pe_tolerance_free(state->tolerance);
    api_side_free(&state->sides[0]);
    api_side_free(&state->sides[1]);
    pe_params_free(&state->params);
}

/* ---- the work ------------------------------------------------------------------------------- */

static void stripe_run(struct pe_job *job, size_t index)
{
    struct comparison_state *state = (struct comparison_state *)job;
    struct comparison_stripe *stripe = &state->stripes[index];
    const struct pe_output *output = &state->sides[0].outputs[state->output];
    const size_t begin = output->rows * index / COMPARISON_STRIPES,
                 end = output->rows * (index + 1) / COMPARISON_STRIPES;

    for (size_t row = begin; row < end; row += state->chunk_rows) {
        const size_t rows = end - row < state->chunk_rows ? end - row : state->chunk_rows;
        for (size_t i = 0; i < 2; i++)
            if (api_side_rows(&state->sides[i], state->output, row, row + rows, state->dtype,
                              stripe->rows[i], state->request->work, &stripe->err))
                return;
        if (pe_compare(&stripe->sum, state->dtype, stripe->rows[0], stripe->rows[1], row, rows,
                       output->row_elements, &state->by_row, &stripe->by_column,
                       state->request->work, &stripe->err))
            return;
        if (state->tolerance)
            (state->rotated.source ? comparison_rotated_judge
                                   : comparison_tolerance_judge)(state, stripe, row, rows);
    }
}

/* Joins what the stripes found, in their order. */
static void stripes_join(struct comparison_state *state)
{
    const size_t columns = state->sides[0].outputs[state->output].row_elements;

    for (size_t i = 0; i < COMPARISON_STRIPES; i++) {
        struct comparison_stripe *stripe = &state->stripes[i];
        const bool was_first = state->sum.diverges;
        const size_t row = state->sum.row, column = state->sum.column;
        pe_comparison_join(&state->sum, &stripe->sum);
        comparison_tolerance_join(state, stripe);
        if (state->sum.diverges &&
            (!was_first || state->sum.row != row || state->sum.column != column))
            state->first_output = state->output;
        for (size_t at = 0; state->by_pair.abs && at < columns; at++) {
            const size_t pair = comparison_pair(state, at);
            state->by_pair.abs[pair] = fmax(state->by_pair.abs[pair], stripe->by_column.abs[at]);
            state->by_pair.ulp[pair] = fmax(state->by_pair.ulp[pair], stripe->by_column.ulp[at]);
        }
    }
}

static bool maxima_take(struct comparison_state *state, struct pe_maxima *maxima, size_t count)
{
    maxima->abs = api_arena_take(state->request->arena, (count + 1) * sizeof(double));
    maxima->ulp = api_arena_take(state->request->arena, (count + 1) * sizeof(double));
    return maxima->abs && maxima->ulp;
}

static enum pe_status rooms_take(struct comparison_state *state, struct pe_error *err)
{
    const struct pe_output *output = state->sides[0].outputs;
    const size_t columns = output->row_elements;
    const bool per_pair = pe_param_number(&state->params, "per_pair") != 0;
    bool took = true;
    size_t size;

    state->chunk_rows = columns < CHUNK_ELEMENTS && columns > 0 ? CHUNK_ELEMENTS / columns : 1;
    size = state->chunk_rows * columns * pe_dtype_info(state->dtype)->size + 1;
    for (size_t i = 0; i < COMPARISON_STRIPES && took; i++) {
        struct comparison_stripe *stripe = &state->stripes[i];
        stripe->rows[0] = api_arena_buffer(state->request->arena, size);
        stripe->rows[1] = api_arena_buffer(state->request->arena, size);
        took = stripe->rows[0] && stripe->rows[1] &&
               (!per_pair || maxima_take(state, &stripe->by_column, columns));
    }
    if (took && per_pair)
        took = maxima_take(state, &state->by_pair, columns);
    if (took && (pe_param_number(&state->params, "per_position") != 0 || state->heads.rank > 0))
        took = maxima_take(state, &state->by_row, output->rows);
    return took ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a comparison");
}

static enum pe_status compare(struct comparison_state *state, struct pe_error *err)
{
    const double tolerance = pe_param_number(&state->params, "tolerance");

    for (size_t i = 0; i < 2; i++)
        if (state->sides[i].scheme &&
            pe_scheme_prepare(state->sides[i].scheme, state->request->work, err))
            return err->status;
    if (comparison_tolerance_prepare(state, err) ||
        (state->rotated.source && comparison_rotated_prepare(state, err)) || rooms_take(state, err))
        return err->status;
    state->job = (struct pe_job){
        .run = stripe_run, .blocks = COMPARISON_STRIPES, .work = state->request->work};
    for (state->output = 0; state->output < state->sides[0].outputs_count; state->output++) {
        for (size_t i = 0; i < COMPARISON_STRIPES; i++) {
            struct comparison_stripe *stripe = &state->stripes[i];
            const size_t columns = state->sides[0].outputs[state->output].row_elements;
            stripe->sum =
                (struct pe_comparison){.size = sizeof(stripe->sum), .tolerance = tolerance};
            stripe->outside = (struct comparison_outside){0};
            if (stripe->by_column.abs) {
                memset(stripe->by_column.abs, 0, columns * sizeof(double));
                memset(stripe->by_column.ulp, 0, columns * sizeof(double));
            }
        }
        if (!pe_pool_run(api_pool(state->request->api), &state->job))
            return pe_work_check(state->request->work, err);
        for (size_t i = 0; i < COMPARISON_STRIPES; i++)
            if (state->stripes[i].err.status) {
                *err = state->stripes[i].err;
                return err->status;
            }
        stripes_join(state);
    }
    return PE_OK;
}

/* ---- what is asked -------------------------------------------------------------------------- */

/* The default dtype: the coarser one of the posted tensors; else f32. */
static enum pe_dtype dtype_default(const struct comparison_state *state)
{
    const struct api_tensor *a = state->sides[0].tensor, *b = state->sides[1].tensor;

    if (a && b)
        return a->tensor.dtype > b->tensor.dtype ? a->tensor.dtype : b->tensor.dtype;
    return a ? a->tensor.dtype : b ? b->tensor.dtype : PE_F32;
}

/* Did a side's view take the parameter, so that it need not be checked again? */
static bool is_taken(const struct comparison_state *state, const char *name)
{
    for (size_t i = 0; i < 2; i++)
        if (state->sides[i].view && pe_params_find(&state->sides[i].view_params, name) >= 0)
            return true;
    return false;
}

/* Positions that are said must be those of the rows, where no encoding has looked at them. */
static enum pe_status places_match(const struct comparison_state *state, struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(&state->params, "positions");
    const struct pe_value *length = pe_param_value(&state->params, "length");
    const size_t rows = state->sides[0].outputs->rows;

    if ((!list->given || is_taken(state, "positions") || list->list_count == rows) &&
        (!length->given || is_taken(state, "length") || length->number == (double)rows))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, list->given ? "parameter:positions" : "parameter:length",
                   "%s says %.0f positions, the tables have %zu rows",
                   list->given ? "positions" : "length",
                   list->given ? (double)list->list_count : length->number, rows);
}

static enum pe_status sides_match(const struct comparison_state *state, struct pe_error *err)
{
    const struct api_side *a = &state->sides[0], *b = &state->sides[1];
    const struct pe_output *x = a->outputs, *y = b->outputs;

    if (a->outputs_count != b->outputs_count)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:b",
                       "a has %zu tables and b has %zu; cos and sin are stacked as [2, n, w], or "
                       "part=cos (or sin) asks for one of them",
                       a->outputs_count, b->outputs_count);
    if (x->rows == y->rows && x->row_elements == y->row_elements)
        return state->rotated.source ? PE_OK : places_match(state, err);
    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:b",
                   "a is [%zu, %zu], b is [%zu, %zu]: rows are positions, columns the width",
                   x->rows, x->row_elements, y->rows, y->row_elements);
}

/* A grid that no side has a use for is a mistake. */
static enum pe_status grids_check(const struct comparison_state *state, struct pe_error *err)
{
    const struct api_side *a = &state->sides[0], *b = &state->sides[1];

    for (size_t i = 0; i < GRID_PARAMS; i++) {
        const char *name = params_list[i].name;
        char where[sizeof(err->where)];
        if (state->rotated.source || !state->params.values[i].given ||
            pe_params_find(&a->view_params, name) >= 0 ||
            pe_params_find(&b->view_params, name) >= 0)
            continue;
        snprintf(where, sizeof(where), "parameter:%s", name);
        return pe_fail(err, PE_CONFLICT, where, "neither table has a %s; leave it out", name);
    }
    return PE_OK;
}

/* The parameters of a rotation's tokens are those of api_places. */
static enum pe_status params_read(struct comparison_state *state, struct pe_error *err)
{
    struct comparison_rotated *rotated = &state->rotated;
    struct pe_params *sets[] = {&state->params, &state->answer_params, &rotated->places_params};
    const bool rotates = rotated->source;
    size_t first = 0;

    while (rotates && strcmp(params_list[first].name, "part") != 0)
        first++;
    pe_params_init(&state->params, params_list + first,
                   sizeof(params_list) / sizeof(params_list[0]) - first);
    api_answer_params(state->request, &state->answer_params);
    api_places_params(&rotated->places_params);
    rotated->places.from_zero = true;
    return api_bind(state->request, sets, rotates ? 3 : 2, rotates ? own_rotated : own, err) ||
                   (rotates &&
                    api_places_read(state->request, &rotated->places_params, &rotated->places, err))
               ? err->status
               : PE_OK;
}

static enum pe_status sides_read(struct comparison_state *state, struct pe_error *err)
{
    struct api_request *request = state->request;

    api_metadata_drop_encoding(request);
    if (api_side_read(request, "a", &state->sides[0], err) ||
        api_side_read(request, "b", &state->sides[1], err))
        return err->status;
    comparison_rotated_find(state);
    if (params_read(state, err))
        return err->status;
    for (size_t i = 0; i < request->tensors_count; i++)
        if (&request->tensors[i] != state->rotated.source &&
            !api_places_hold(&state->rotated.places, request->tensors[i].name) &&
            !api_side_holds(&state->sides[0], &request->tensors[i]) &&
            !api_side_holds(&state->sides[1], &request->tensors[i]) &&
            !api_table_is_posted(&state->sides[0].params, request->tensors[i].name) &&
            !api_table_is_posted(&state->sides[1].params, request->tensors[i].name))
            return pe_fail(err, PE_CONFLICT, "parameter:tensors",
                           "tensor '%.60s' is neither a nor b; name it as tensor:%.60s",
                           request->tensors[i].name, request->tensors[i].name);
    if (api_request_dtype(request, false, dtype_default(state), &state->dtype, err) ||
        pe_params_finish(&state->params, err) ||
        api_answer_apply(request, &state->answer_params, NULL, err))
        return err->status;
    /* Tensors first: what the other side needs may be read off them. */
    for (size_t i = 0; i < 2; i++)
        if (state->sides[i].tensor && api_side_open(request, &state->sides[i], NULL, NULL, 0, err))
            return err->status;
    for (size_t i = 0; i < 2; i++)
        if (!state->sides[i].tensor && !state->rotated.source &&
            api_side_open(request, &state->sides[i], &state->sides[1 - i], &state->params,
                          state->dtype, err))
            return err->status;
    if (state->rotated.source && comparison_rotated_open(state, err))
        return err->status;
    return grids_check(state, err) || sides_match(state, err) ||
                   comparison_heads_read(state, err) ||
                   (state->rotated.source && comparison_rotated_places(state, err))
               ? err->status
               : comparison_tolerance_open(state, err);
}

/* ---- the two phases -------------------------------------------------------------------------- */

/* Each element of both sides is made, or read, once; the sides are of one shape. */
static void cost_tell(const struct comparison_state *state, struct api_result *result)
{
    const struct api_side *a = &state->sides[0];
    const unsigned __int128 elements =
        (unsigned __int128)a->outputs->rows * a->outputs->row_elements * a->outputs_count;

    result->elements = elements < UINT64_MAX ? (uint64_t)elements : UINT64_MAX;
    result->work =
        pe_comparison_work((double)elements) + (double)elements * comparison_tolerance_work(state);
    for (size_t i = 0; i < 2; i++)
        result->work += api_side_work(&state->sides[i]);
}

static enum pe_status comparison_open(struct api_request *request, struct api_result *result,
                                      struct pe_error *err)
{
    struct comparison_state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a comparison");
    state->request = request;
    if (sides_read(state, err))
        return err->status;
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    result->operation = "comparison";
    result->encoding_name = api_side_name(&state->sides[0]);
    result->dtype = state->dtype;
    result->subject = "the comparison";
    for (size_t i = 0; i < 2; i++)
        if (state->sides[i].encoding)
            api_result_widths(result, &state->sides[i].params);
    cost_tell(state, result);
    return PE_OK;
}

static enum pe_status comparison_prepare(struct api_request *request, struct api_result *result,
                                         struct pe_error *err)
{
    struct comparison_state *state = result->state;

    (void)request;
    if (compare(state, err))
        return err->status;
    result->report = comparison_report(state);
    return PE_OK;
}

const struct api_handler api_handler_comparison = {comparison_open, comparison_prepare};
