/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/table_use.h"
#include "api/config/config.h"
#include "api/handlers/sides.h"
#include "posenc/comparison.h"

static const struct pe_param params_list[] = {
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
    {.name = "per_pair",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Tell the largest differences of every pair too."},
    {.name = "per_position",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Tell the largest differences of every position too."},
};

static const char own[] = "a b tensors dtype tensor";

/* Rows are compared in so many stripes, whatever the threads, so that sums are the same. */
enum { STRIPES = 16, CHUNK_ELEMENTS = 1 << 14 };

struct stripe {
    struct pe_comparison sum;
    struct pe_maxima by_column;
    unsigned char *rows[2]; /* a chunk of a, one of b */
    struct pe_error err;
};

struct state {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    struct api_request *request;
    struct pe_params params, answer_params;
    struct api_side sides[2];
    enum pe_dtype dtype;
    size_t output; /* being compared */
    size_t chunk_rows;
    struct stripe stripes[STRIPES];
    struct pe_maxima by_row, by_pair;
    struct pe_comparison sum;
    size_t first_output; /* the one of the first divergence */
};

static void state_release(void *what)
{
    struct state *state = what;

    api_side_free(&state->sides[0]);
    api_side_free(&state->sides[1]);
    pe_params_free(&state->params);
}

/* ---- the work ------------------------------------------------------------------------------- */

static void stripe_run(struct pe_job *job, size_t index)
{
    struct state *state = (struct state *)job;
    struct stripe *stripe = &state->stripes[index];
    const struct pe_output *output = &state->sides[0].outputs[state->output];
    const size_t begin = output->rows * index / STRIPES, end = output->rows * (index + 1) / STRIPES;

    for (size_t row = begin; row < end; row += state->chunk_rows) {
        const size_t rows = end - row < state->chunk_rows ? end - row : state->chunk_rows;
        for (size_t i = 0; i < 2; i++)
            if (api_side_rows(&state->sides[i], state->output, row, row + rows, state->dtype,
                              stripe->rows[i], state->request->work, &stripe->err))
                return;
        pe_compare(&stripe->sum, state->dtype, stripe->rows[0], stripe->rows[1], row, rows,
                   output->row_elements, &state->by_row, &stripe->by_column, &stripe->err);
    }
}

static size_t pair_of(const struct state *state, size_t column)
{
    for (size_t i = 0; i < 2; i++) {
        const struct pe_scheme *scheme = state->sides[i].scheme;
        const size_t pair = scheme ? pe_scheme_column_pair(scheme, column) : SIZE_MAX;
        if (pair != SIZE_MAX)
            return pair;
    }
    return column;
}

/* Joins what the stripes found, in their order. */
static void stripes_join(struct state *state)
{
    const size_t columns = state->sides[0].outputs[state->output].row_elements;

    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &state->stripes[i];
        const bool was_first = state->sum.diverges;
        const size_t row = state->sum.row, column = state->sum.column;
        pe_comparison_join(&state->sum, &stripe->sum);
        if (state->sum.diverges &&
            (!was_first || state->sum.row != row || state->sum.column != column))
            state->first_output = state->output;
        for (size_t at = 0; state->by_pair.abs && at < columns; at++) {
            const size_t pair = pair_of(state, at);
            state->by_pair.abs[pair] = fmax(state->by_pair.abs[pair], stripe->by_column.abs[at]);
            state->by_pair.ulp[pair] = fmax(state->by_pair.ulp[pair], stripe->by_column.ulp[at]);
        }
    }
}

static bool maxima_take(struct state *state, struct pe_maxima *maxima, size_t count)
{
    maxima->abs = api_arena_take(state->request->arena, (count + 1) * sizeof(double));
    maxima->ulp = api_arena_take(state->request->arena, (count + 1) * sizeof(double));
    return maxima->abs && maxima->ulp;
}

static enum api_status rooms_take(struct state *state, struct api_error *err)
{
    const struct pe_output *output = state->sides[0].outputs;
    const size_t columns = output->row_elements;
    const bool per_pair = pe_param_number(&state->params, "per_pair") != 0;
    bool took = true;
    size_t size;

    state->chunk_rows = columns < CHUNK_ELEMENTS && columns > 0 ? CHUNK_ELEMENTS / columns : 1;
    size = state->chunk_rows * columns * pe_dtype_info(state->dtype)->size + 1;
    for (size_t i = 0; i < STRIPES && took; i++) {
        struct stripe *stripe = &state->stripes[i];
        stripe->rows[0] = api_arena_room(state->request->arena, size);
        stripe->rows[1] = api_arena_room(state->request->arena, size);
        took = stripe->rows[0] && stripe->rows[1] &&
               (!per_pair || maxima_take(state, &stripe->by_column, columns));
    }
    if (took && per_pair)
        took = maxima_take(state, &state->by_pair, columns);
    if (took && pe_param_number(&state->params, "per_position") != 0)
        took = maxima_take(state, &state->by_row, output->rows);
    return took ? API_OK : api_fail(err, API_OUT_OF_MEMORY, "", "no memory for a comparison");
}

static enum api_status compare(struct state *state, struct api_error *err)
{
    const double tolerance = pe_param_number(&state->params, "tolerance");

    for (size_t i = 0; i < 2; i++)
        if (state->sides[i].scheme &&
            pe_scheme_prepare(state->sides[i].scheme, state->request->work, &err->core))
            return api_failed(err);
    if (rooms_take(state, err))
        return api_failed(err);
    state->job =
        (struct pe_job){.run = stripe_run, .blocks = STRIPES, .work = state->request->work};
    for (state->output = 0; state->output < state->sides[0].outputs_count; state->output++) {
        for (size_t i = 0; i < STRIPES; i++) {
            struct stripe *stripe = &state->stripes[i];
            const size_t columns = state->sides[0].outputs[state->output].row_elements;
            stripe->sum =
                (struct pe_comparison){.size = sizeof(stripe->sum), .tolerance = tolerance};
            if (stripe->by_column.abs) {
                memset(stripe->by_column.abs, 0, columns * sizeof(double));
                memset(stripe->by_column.ulp, 0, columns * sizeof(double));
            }
        }
        if (!pe_pool_run(state->request->settings->pool, &state->job))
            return api_core(err, pe_work_check(state->request->work, &err->core));
        for (size_t i = 0; i < STRIPES; i++)
            if (state->stripes[i].err.status) {
                err->core = state->stripes[i].err;
                return api_failed(err);
            }
        stripes_join(state);
    }
    return API_OK;
}

/* ---- what is asked -------------------------------------------------------------------------- */

/* That of the tensors, the coarser one of two; else f32. */
static enum pe_dtype dtype_default(const struct state *state)
{
    const struct api_tensor *a = state->sides[0].tensor, *b = state->sides[1].tensor;

    if (a && b)
        return a->tensor.dtype > b->tensor.dtype ? a->tensor.dtype : b->tensor.dtype;
    return a ? a->tensor.dtype : b ? b->tensor.dtype : PE_F32;
}

/* Has a side's table made its rows of this parameter? */
static bool is_taken(const struct state *state, const char *name)
{
    for (size_t i = 0; i < 2; i++)
        if (state->sides[i].view && pe_params_find(&state->sides[i].view_params, name) >= 0)
            return true;
    return false;
}

/* Positions that are said must be those of the rows, where no encoding has looked at them. */
static enum api_status places_match(const struct state *state, struct api_error *err)
{
    const struct pe_value *list = pe_param_value(&state->params, "positions");
    const struct pe_value *length = pe_param_value(&state->params, "length");
    const size_t rows = state->sides[0].outputs->rows;

    if ((!list->given || is_taken(state, "positions") || list->list_count == rows) &&
        (!length->given || is_taken(state, "length") || length->number == (double)rows))
        return API_OK;
    return api_fail(
        err, API_SHAPE_MISMATCH, list->given ? "parameter:positions" : "parameter:length",
        "%s says %.0f positions, the tables have %zu rows", list->given ? "positions" : "length",
        list->given ? (double)list->list_count : length->number, rows);
}

static enum api_status sides_match(const struct state *state, struct api_error *err)
{
    const struct api_side *a = &state->sides[0], *b = &state->sides[1];
    const struct pe_output *x = a->outputs, *y = b->outputs;

    if (a->outputs_count != b->outputs_count)
        return api_fail(err, API_SHAPE_MISMATCH, "parameter:b",
                        "a has %zu tables and b has %zu; cos and sin are stacked as [2, n, w], or "
                        "part=cos (or sin) asks for one of them",
                        a->outputs_count, b->outputs_count);
    if (x->rows == y->rows && x->row_elements == y->row_elements)
        return places_match(state, err);
    return api_fail(err, API_SHAPE_MISMATCH, "parameter:b",
                    "a is [%zu, %zu], b is [%zu, %zu]: rows are positions, columns the width",
                    x->rows, x->row_elements, y->rows, y->row_elements);
}

static enum api_status sides_read(struct state *state, struct api_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->answer_params};
    struct api_request *request = state->request;

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_answer_params(request, &state->answer_params);
    if (api_side_read(request, "a", &state->sides[0], err) ||
        api_side_read(request, "b", &state->sides[1], err) || api_bind(request, sets, 2, own, err))
        return api_failed(err);
    for (size_t i = 0; i < request->tensors_count; i++)
        if (state->sides[0].tensor != &request->tensors[i] &&
            state->sides[1].tensor != &request->tensors[i] &&
            !api_table_is_posted(&state->sides[0].params, request->tensors[i].name) &&
            !api_table_is_posted(&state->sides[1].params, request->tensors[i].name))
            return api_fail(err, API_CONFLICT, "parameter:tensors",
                            "tensor '%.60s' is neither a nor b; name it as tensor:%.60s",
                            request->tensors[i].name, request->tensors[i].name);
    if (api_request_dtype(request, dtype_default(state), &state->dtype, err) ||
        pe_params_finish(&state->params, &err->core) ||
        api_answer_apply(request, &state->answer_params, NULL, err))
        return api_failed(err);
    /* Tensors first: what the other side needs may be read off them. */
    for (size_t i = 0; i < 2; i++)
        if (state->sides[i].tensor && api_side_open(request, &state->sides[i], NULL, NULL, 0, err))
            return api_failed(err);
    for (size_t i = 0; i < 2; i++)
        if (!state->sides[i].tensor &&
            api_side_open(request, &state->sides[i], &state->sides[1 - i], &state->params,
                          state->dtype, err))
            return api_failed(err);
    return sides_match(state, err);
}

/* ---- what is told --------------------------------------------------------------------------- */

static json_t *maxima_json(const struct pe_maxima *maxima, size_t count)
{
    json_t *abs = json_array(), *ulp = json_array();

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(abs, api_number_json(maxima->abs[i]));
        json_array_append_new(ulp, api_number_json(maxima->ulp[i]));
    }
    return json_pack("{so so}", "max_abs", abs, "max_ulp", ulp);
}

/* The position of a row, where one is known: of an encoding's own, else of what was said. */
static double position_of(const struct state *state, size_t row)
{
    const struct api_side *side = &state->sides[state->sides[0].view ? 0 : 1];
    const struct pe_value *list = pe_param_value(&state->params, "positions");

    if (side->view)
        return pe_view_position(side->view, row);
    if (list->given && row < list->list_count)
        return list->list[row];
    return pe_param_number(&state->params, "start") +
           pe_param_number(&state->params, "step") * (double)row;
}

static json_t *divergence_json(const struct state *state)
{
    const struct pe_comparison *sum = &state->sum;
    const struct api_side *side = &state->sides[state->sides[0].view ? 0 : 1];

    if (!sum->diverges)
        return json_null();
    return json_pack("{so ss so sI sI so so}", "position",
                     api_number_json(position_of(state, sum->row)), "table",
                     side->outputs[state->first_output].name, "pair",
                     json_integer((json_int_t)pair_of(state, sum->column)), "row",
                     (json_int_t)sum->row, "column", (json_int_t)sum->column, "a",
                     api_number_json(sum->a), "b", api_number_json(sum->b));
}

static size_t pairs_count(const struct state *state)
{
    size_t most = 0;

    for (size_t at = 0; at < state->sides[0].outputs->row_elements; at++)
        most = pair_of(state, at) + 1 > most ? pair_of(state, at) + 1 : most;
    return most;
}

static json_t *report_make(struct state *state)
{
    const struct pe_comparison *sum = &state->sum;
    json_t *warnings = json_array();
    json_t *report = json_pack(
        "{so so ss sI sI so so so so}", "a", api_side_json(&state->sides[0]), "b",
        api_side_json(&state->sides[1]), "dtype", pe_dtype_info(state->dtype)->name, "elements",
        (json_int_t)sum->elements, "unequal", (json_int_t)sum->unequal, "max_abs",
        api_number_json(sum->max_abs), "max_ulp", api_number_json(sum->max_ulp), "rms",
        api_number_json(pe_comparison_rms(sum)), "first_divergence", divergence_json(state));

    if (state->by_pair.abs)
        json_object_set_new(report, "per_pair", maxima_json(&state->by_pair, pairs_count(state)));
    if (state->by_row.abs)
        json_object_set_new(report, "per_position",
                            maxima_json(&state->by_row, state->sides[0].outputs->rows));
    for (size_t i = 0; i < 2; i++) {
        const struct api_side *side = &state->sides[i];
        api_scheme_warnings(side->scheme, warnings);
        if (side->config)
            json_array_extend(warnings, side->config->warnings);
    }
    json_object_set_new(report, "warnings", warnings);
    return report;
}

/* ---- the two phases -------------------------------------------------------------------------- */

/* Every element of both sides is made once, or read. */
static void cost_tell(const struct state *state, struct api_result *result)
{
    const size_t count = state->sides[0].outputs_count;

    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < count; j++) {
            const struct pe_output *output = &state->sides[i].outputs[j];
            const size_t work = output->element_work > 1 ? output->element_work : 1;
            uint64_t elements, operations;
            if (!pe_size_multiply(output->rows, output->row_elements, &elements) ||
                !pe_size_multiply(elements, work, &operations))
                elements = operations = UINT64_MAX;
            if (i == 0 && __builtin_add_overflow(result->elements, elements, &result->elements))
                result->elements = UINT64_MAX;
            if (__builtin_add_overflow(result->operations, operations, &result->operations))
                result->operations = UINT64_MAX;
        }
}

static enum api_status comparison_open(struct api_request *request, struct api_result *result,
                                       struct api_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for a comparison");
    state->request = request;
    if (sides_read(state, err))
        return api_failed(err);
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
    return API_OK;
}

static enum api_status comparison_prepare(struct api_request *request, struct api_result *result,
                                          struct api_error *err)
{
    struct state *state = result->state;

    (void)request;
    if (compare(state, err))
        return api_failed(err);
    result->report = report_make(state);
    return API_OK;
}

const struct api_handler api_handler_comparison = {comparison_open, comparison_prepare};
