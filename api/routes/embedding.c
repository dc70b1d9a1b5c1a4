/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/routes/handler.h"
#include "posenc/layouts.h"

static const struct pe_param params_list[] = {
    {.name = "merge_mode",
     .type = PE_CHOICE,
     .choices = "add,mul,concat",
     .fallback = "add",
     .doc = "The operation that joins a row p of the table to an embedding x. add: xscale x + p. "
            "mul: x (p + 1). concat: x followed by p."},
    {.name = "xscale",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .fallback = "1",
     .doc = "For merge_mode add: the factor of x; sqrt(dim) in Attention Is All You Need."},
    {.name = "seed",
     .type = PE_INTEGER,
     .min = 0,
     .max = 0x1p53 - 1,
     .fallback = "0",
     .doc = "For tokens: the seed of the vectors of the words."},
};

static const char own[] = "encoding tensors positions tokens tensor dtype " API_CONFIG_OWN;
static const char later[] = "cu_seqlens";

/* Elements computed at once. */
enum { CHUNK_ELEMENTS = 4096 };

struct state {
    struct api_request *request;
    const struct pe_encoding *encoding;
    struct pe_params encoding_params, view_params, params, places_params, answer_params;
    struct api_token_positions places;
    struct api_tensor generated;
    const struct api_tensor *x;
    const json_t *tokens;
    struct pe_axes axes; /* batch, sequence, and head_dim for the width of x */
    enum pe_merge merge;
    double xscale;
    enum pe_dtype arithmetic, out;
    struct pe_scheme *scheme;
    struct pe_view *view;
    size_t table_rows, width; /* of the encoding's rows */
    struct pe_output output;
};

static void state_release(void *context)
{
    struct state *state = context;

    pe_view_free(state->view);
    pe_scheme_free(state->scheme);
    pe_params_free(&state->view_params);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Rows whose rows of the table are consecutive. */
static bool run_fill(const struct state *state, size_t row, size_t rows, char *scratch, char *out)
{
    const struct pe_tensor *x = &state->x->tensor;
    const size_t d = state->axes.head_dim, size = pe_dtype_info(state->arithmetic)->size;
    const size_t table_row = state->table_rows > 0 ? row % state->table_rows : 0;
    char *wide = scratch, *table = wide + rows * d * size,
         *merged = table + rows * state->width * size;
    struct pe_error err = {0};

    pe_convert(wide, state->arithmetic,
               (const char *)x->data + row * d * pe_dtype_info(x->dtype)->size, x->dtype, rows * d);
    if (pe_view_fill(state->view, 0, table_row, table_row + rows, table, state->request->work,
                     &err) ||
        pe_merge_rows(state->merge, state->xscale, state->arithmetic, rows, wide, d, table,
                      state->width, merged, &err))
        return false;
    pe_convert(out, state->out, merged, state->arithmetic, rows * state->output.row_elements);
    return true;
}

static bool embedding_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                                size_t row_end, void *out)
{
    const struct state *state = result->state;
    const size_t columns = state->axes.head_dim + state->width + state->output.row_elements;
    const size_t most = columns < CHUNK_ELEMENTS && columns > 0 ? CHUNK_ELEMENTS / columns : 1;
    char *scratch = malloc(most * columns * sizeof(double) + 1);
    bool done = scratch != NULL;

    (void)output;
    for (size_t row = row_begin; done && row < row_end;) {
        const size_t left = state->table_rows - row % state->table_rows;
        size_t rows = row_end - row < most ? row_end - row : most;
        rows = rows < left ? rows : left;
        done = run_fill(state, row, rows, scratch, out);
        out = (char *)out + rows * state->output.row_elements * pe_dtype_info(state->out)->size;
        row += rows;
    }
    free(scratch);
    return done;
}

/* ---- parameters and tensors ------------------------------------------------------------------ */

static enum pe_status params_read(struct state *state, struct pe_error *err)
{
    struct pe_params *sets[] = {&state->encoding_params, &state->params, &state->places_params,
                                &state->answer_params};
    struct api_request *request = state->request;

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_token_positions_params(&state->places_params);
    api_answer_params(request, &state->answer_params);
    if (api_function_refuse(request, later, err) || api_config_open(request, err) ||
        api_function_encoding(request, NULL, &state->encoding, &state->encoding_params,
                              &state->params, err))
        return err->status;
    if (!pe_encoding_has(state->encoding, PE_KIND_ROWS))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "%s has no row for each position that could join an embedding; an absolute "
                       "encoding such as sinusoidal does",
                       pe_encoding_info(state->encoding)->name);
    if (api_bind(request, sets, 4, own, err) ||
        api_config_fill(request->config, state->encoding, &state->encoding_params, err) ||
        pe_params_finish(&state->params, err) || api_tokens_read(request, &state->tokens, err))
        return err->status;
    state->places.from_zero = state->tokens != NULL;
    state->merge = (enum pe_merge)pe_param_number(&state->params, "merge_mode");
    state->xscale = pe_param_number(&state->params, "xscale");
    if (state->merge != PE_MERGE_ADD && state->xscale != 1)
        return pe_fail(err, PE_CONFLICT, "parameter:xscale",
                       "xscale scales what is added to; leave it out with merge_mode mul and "
                       "concat");
    if (!state->tokens && pe_param_number(&state->params, "seed") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:seed",
                       "seed makes vectors for tokens, and no tokens are given");
    return api_token_positions_read(request, &state->places_params, &state->places, err);
}

/* Tensors beside the embeddings: positions, or a learned table. */
static bool is_input(const struct state *state, const char *tensor)
{
    return api_token_positions_hold(&state->places, tensor) ||
           api_table_is_posted(&state->encoding_params, tensor);
}

static size_t inputs_count(const struct state *state)
{
    size_t count = 0;

    for (size_t i = 0; i < state->request->tensors_count; i++)
        count += is_input(state, state->request->tensors[i].name);
    return count;
}

static enum pe_status tokens_take(struct state *state, struct pe_error *err)
{
    const int dim = pe_params_find(&state->encoding_params, "dim");

    if (inputs_count(state) < state->request->tensors_count)
        return pe_fail(err, PE_CONFLICT, "parameter:tokens",
                       "tokens and a tensor x are given: only one of them can be embedded");
    if (dim < 0 || !state->encoding_params.values[dim].given)
        return pe_fail(err, PE_MISSING, "parameter:dim",
                       "dim, the width of the tokens' vectors, is required");
    state->generated =
        api_tokens_tensor(state->tokens, (size_t)state->encoding_params.values[dim].number);
    state->x = &state->generated;
    return PE_OK;
}

static enum pe_status tensor_take(struct state *state, struct pe_error *err)
{
    char where[sizeof(err->where)];

    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        if (is_input(state, tensor->name))
            continue;
        if (state->x)
            return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                           "one tensor is embedded at a time, here are %.40s and %.40s",
                           state->x->name, tensor->name);
        if (!pe_dtype_is_float(tensor->tensor.dtype))
            return pe_fail(err, PE_UNSUPPORTED, where,
                           "%.60s is %s; embeddings are f64, f32, f16 or bf16", tensor->name,
                           pe_dtype_info(tensor->tensor.dtype)->name);
        if (tensor->tensor.rank < 2 || tensor->tensor.rank > 3)
            return pe_fail(err, PE_SHAPE_MISMATCH, where,
                           "embeddings are [s, d] or [b, s, d]; %.60s has rank %u", tensor->name,
                           tensor->tensor.rank);
        if (tensor->tensor.shape[tensor->tensor.rank - 1] == 0)
            return pe_fail(err, PE_SHAPE_MISMATCH, where, "axis d of tensor %.60s is 0",
                           tensor->name);
        state->x = tensor;
    }
    return state->x ? PE_OK
                    : pe_fail(err, PE_MISSING, "parameter:tensors",
                              "embeddings x [b, s, d] in tensors are required, or tokens with dim");
}

static enum pe_status x_take(struct state *state, struct pe_error *err)
{
    const struct pe_tensor *x;
    unsigned rank;

    if (state->tokens ? tokens_take(state, err) : tensor_take(state, err))
        return err->status;
    x = &state->x->tensor;
    rank = x->rank;
    state->axes =
        (struct pe_axes){rank == 3 ? x->shape[0] : 1, 1, x->shape[rank - 2], 1, x->shape[rank - 1]};
    if (api_request_dtype(state->request, false, x->dtype, &state->out, err))
        return err->status;
    state->arithmetic = x->dtype == PE_F64 || state->out == PE_F64 ? PE_F64 : PE_F32;
    return state->merge == PE_MERGE_CONCAT ? PE_OK
                                           : pe_params_infer(&state->encoding_params, "dim",
                                                             (double)(state->axes.head_dim), err);
}

/* ---- the encoding's rows -------------------------------------------------------------------- */

static enum pe_status param_set(struct state *state, const char *name, double value, double usual,
                                struct pe_error *err)
{
    const int index = pe_params_find(&state->view_params, name);

    if (value == usual)
        return PE_OK;
    if (index < 0)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "the table of %s is not made by %s of positions",
                       pe_encoding_info(state->encoding)->name, name);
    return pe_params_set_number(&state->view_params, (size_t)index, value, err);
}

static enum pe_status positions_set(struct state *state, const struct pe_positions *positions,
                                    struct pe_error *err)
{
    const size_t batch = positions->batch > 1 ? positions->batch : 1;
    const int list = pe_params_find(&state->view_params, "positions");

    state->table_rows = positions->count * batch;
    if (!positions->values)
        return param_set(state, "length", (double)positions->count, -1, err) ||
                       param_set(state, "start", positions->start, 0, err) ||
                       param_set(state, "step", positions->step, 1, err)
                   ? err->status
                   : PE_OK;
    if (list < 0)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "the table of %s is not made of positions",
                       pe_encoding_info(state->encoding)->name);
    return pe_params_set_list(&state->view_params, (size_t)list, positions->values,
                              state->table_rows, err);
}

static enum pe_status view_open(struct state *state, struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(state->encoding, "table");
    const struct api_stored_table *stored;
    struct pe_positions positions;

    if (api_token_positions_fit(state->request, &state->places, &state->axes, state->x->name,
                                &positions, err))
        return err->status;
    pe_params_init(&state->view_params, pe_view_info(type)->params,
                   pe_view_info(type)->params_count);
    if (positions_set(state, &positions, err) || pe_params_finish(&state->view_params, err) ||
        api_scheme_open(state->request->config, state->encoding, &state->encoding_params,
                        state->request->work, &state->scheme, err) ||
        api_table_give(state->request, state->scheme, &stored, err) ||
        pe_view_new(&state->view, state->scheme, type, &state->view_params, state->arithmetic,
                    state->request->work, err))
        return err->status;
    state->width = pe_view_output(state->view, 0)->row_elements;
    if (state->merge != PE_MERGE_CONCAT && state->width != state->axes.head_dim)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:dim",
                       "rows of %s are %zu wide, those of %.60s %zu",
                       pe_encoding_info(state->encoding)->name, state->width, state->x->name,
                       state->axes.head_dim);
    return PE_OK;
}

#define MERGE_COST 0.4 /* estimated nanoseconds of an element that is added or copied */

static void result_set(struct state *state, struct api_result *result)
{
    const struct pe_tensor *x = &state->x->tensor;
    struct pe_output *output = &state->output;

    *output = (struct pe_output){.name = state->x->name, .dtype = state->out, .rank = x->rank};
    memcpy(output->shape, x->shape, x->rank * sizeof(*x->shape));
    output->row_elements =
        state->axes.head_dim + (state->merge == PE_MERGE_CONCAT ? state->width : 0);
    output->shape[x->rank - 1] = output->row_elements;
    output->rows = state->axes.batch * state->axes.sequence;
    output->element_work = MERGE_COST + pe_view_output(state->view, 0)->element_work *
                                            (double)state->width / (double)output->row_elements;
    output->once_work = pe_view_output(state->view, 0)->once_work;
    result->work = pe_scheme_work(state->scheme);
    result->outputs = output;
    result->outputs_count = 1;
    result->fill = embedding_rows_fill;
    result->pure = true;
    result->file_stem = result->operation = "embedding";
    result->encoding_name = pe_encoding_info(state->encoding)->name;
    result->dtype = state->out;
}

/* ---- the two phases -------------------------------------------------------------------------- */

static enum pe_status embedding_open(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for an embedding");
    state->request = request;
    if (params_read(state, err) || api_answer_apply(request, &state->answer_params, result, err) ||
        x_take(state, err))
        return err->status;
    if (state->tokens)
        api_result_widths(result, &state->encoding_params);
    if (view_open(state, err))
        return err->status;
    result_set(state, result);
    return api_function_describe(request, result, state->scheme, NULL, err);
}

static enum pe_status embedding_prepare(struct api_request *request, struct api_result *result,
                                        struct pe_error *err)
{
    struct state *state = result->state;

    if (state->tokens &&
        api_tokens_fill(request, state->tokens, (uint64_t)pe_param_number(&state->params, "seed"),
                        &state->generated, err))
        return err->status;
    return pe_scheme_prepare(state->scheme, request->work, err);
}

const struct api_handler api_handler_embedding = {embedding_open, embedding_prepare};
