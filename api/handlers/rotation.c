/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/config.h"
#include "api/function.h"
#include "api/places.h"
#include "api/rotations.h"

static const struct pe_param params_list[] = {
    {.name = "axes",
     .type = PE_CHOICE,
     .choices = "bhsd,bshd,thd,shd,hsd,bsd,sd",
     .doc = "The axes of the tensors; without h, d is heads * dim."},
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .required = true,
     .doc = API_LAYOUT_DOC},
    {.name = "output_layout",
     .type = PE_CHOICE,
     .choices = API_LAYOUTS,
     .doc = "The layout of the pairs in the answer; the same if absent."},
    {.name = "inverse", .type = PE_BOOLEAN, .fallback = "false", .doc = "Undo a rotation."},
    {.name = "apply_attention_factor",
     .type = PE_BOOLEAN,
     .fallback = "true",
     .doc = "Multiply by the scheme's attention factor."},
};

static const char own[] = "encoding tensors positions delta tensor dtype " API_CONFIG_OWN;
static const char later[] = "cu_seqlens from_encoding to_encoding cos sin";

/* A group of rows that every tensor's tokens divide; far above any real number of heads. */
enum { ROWS_TOGETHER_MAX = 1 << 16 };

/* One tensor on its way through. */
struct entry {
    const struct api_tensor *tensor;
    struct pe_axes axes;
    size_t elements, rows_per_token;
    enum pe_dtype work, out;            /* the dtype rotated in, the wider one; and the answer's */
    unsigned char *data;                /* of `work`: the request's own bytes, or a wider copy */
    const struct pe_rotation *rotation; /* NULL: no elements */
    struct pe_positions positions;
};

struct state {
    struct api_request *request;
    const struct pe_encoding *encoding;
    struct pe_params encoding_params, params, places_params, answer_params;
    struct api_places places;
    struct pe_rotation_spec spec;
    struct pe_scheme *scheme;
    struct entry *entries;
    size_t count;
    struct pe_output *outputs;
    unsigned char **in_place;
    struct api_result result;
};

static void state_release(void *what)
{
    struct state *state = what;

    pe_scheme_free(state->scheme);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void narrow(void *out, const struct entry *entry, size_t begin, size_t count)
{
    const unsigned char *from = entry->data + begin * pe_dtype_info(entry->work)->size;

    if (entry->work == entry->out)
        memcpy(out, from, count * pe_dtype_info(entry->work)->size);
    else if (entry->work == PE_F64)
        pe_from_f64(out, entry->out, (const double *)(const void *)from, count);
    else
        pe_from_f32(out, entry->out, (const float *)(const void *)from, count);
}

static bool rows_fill(struct api_result *result, size_t output, size_t row_begin, size_t row_end,
                      void *out)
{
    const struct state *state = result->state;
    const struct entry *entry = &state->entries[output];
    const size_t row_elements = result->outputs[output].row_elements;

    if (entry->rotation)
        pe_rotate(entry->rotation, entry->data, &entry->axes, row_begin / entry->rows_per_token,
                  row_end / entry->rows_per_token);
    if (!result->in_place && entry->elements > 0)
        narrow(out, entry, row_begin * row_elements, (row_end - row_begin) * row_elements);
    return true;
}

/* ---- parameters ----------------------------------------------------------------------------- */

static enum pe_status params_read(struct state *state, struct pe_error *err)
{
    struct pe_params *sets[] = {&state->encoding_params, &state->params, &state->places_params,
                                &state->answer_params};

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_places_params(&state->places_params);
    api_answer_params(state->request, &state->answer_params);
    if (api_function_start(state->request, later, err) || api_config_open(state->request, err) ||
        api_function_encoding(state->request, false, &state->encoding, &state->encoding_params,
                              &state->params, err))
        return err->status;
    if (!state->encoding->rotates)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "%s is not rotary and rotates nothing; a rotary encoding such as rope does",
                       state->encoding->name);
    if (api_bind(state->request, sets, 4, own, err) ||
        api_config_fill(state->request, state->encoding, &state->encoding_params, err) ||
        api_config_layout(state->request, &state->params, err) ||
        pe_params_finish(&state->params, err) ||
        api_places_read(state->request, &state->places_params, &state->places, err))
        return err->status;

    const struct pe_value *output_layout = pe_param_value(&state->params, "output_layout");
    state->spec.layout = (enum pe_layout)pe_param_number(&state->params, "layout");
    state->spec.output_layout =
        output_layout->present ? (enum pe_layout)output_layout->number : state->spec.layout;
    state->spec.inverse = pe_param_number(&state->params, "inverse") != 0;
    state->spec.without_attention_factor =
        pe_param_number(&state->params, "apply_attention_factor") == 0;
    state->spec.is_delta = state->places.is_delta;
    return PE_OK;
}

/* ---- tensors -------------------------------------------------------------------------------- */

static enum pe_dtype wider(enum pe_dtype a, enum pe_dtype b)
{
    if (a == b)
        return a;
    return a == PE_F64 || b == PE_F64 ? PE_F64 : PE_F32;
}

static enum pe_status entry_read(struct state *state, const struct api_tensor *tensor,
                                 struct entry *entry, struct pe_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    const struct pe_value *dim = pe_param_value(&state->encoding_params, "dim");
    char where[sizeof(err->where)], name[16];

    if (!pe_dtype_is_float(tensor->tensor.dtype)) {
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        return pe_fail(err, PE_UNSUPPORTED, where, "%.60s is %s; f64, f32, f16 and bf16 rotate",
                       tensor->name, pe_dtype_info(tensor->tensor.dtype)->name);
    }
    if (tensor->tensor.rank > 0 && tensor->tensor.shape[tensor->tensor.rank - 1] == 0) {
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "axis d of tensor %.60s is 0", tensor->name);
    }
    if (axes->present)
        pe_choice_name(&params_list[0], (size_t)axes->number, name, sizeof(name));
    entry->tensor = tensor;
    if (pe_axes_parse(&entry->axes, axes->present ? name : NULL, &tensor->tensor,
                      dim->given ? (size_t)dim->number : 0, err) ||
        api_function_infer(&state->encoding_params, "dim", entry->axes.head_dim, err) ||
        api_places_fit(state->request, &state->places, &entry->axes, tensor->name,
                       &entry->positions, err) ||
        api_request_dtype(state->request, tensor->tensor.dtype, &entry->out, err))
        return err->status;
    entry->work = wider(tensor->tensor.dtype, entry->out);
    pe_shape_elements(tensor->tensor.shape, tensor->tensor.rank, &entry->elements);
    return PE_OK;
}

static void output_set(struct pe_output *output, struct entry *entry)
{
    const struct pe_tensor *tensor = &entry->tensor->tensor;

    output->name = entry->tensor->name;
    output->dtype = entry->out;
    output->rank = tensor->rank;
    memcpy(output->shape, tensor->shape, tensor->rank * sizeof(*output->shape));
    output->row_elements = tensor->shape[tensor->rank - 1];
    output->rows = entry->elements / output->row_elements; /* head_dim is 2 at least by now */
    entry->rows_per_token = entry->axes.heads_inner * entry->axes.head_dim / output->row_elements;
}

static enum pe_status entries_read(struct state *state, struct pe_error *err)
{
    struct api_request *request = state->request;
    const size_t room = request->tensors_count;

    state->entries = api_arena_take(request->arena, room * sizeof(*state->entries));
    state->outputs = api_arena_take(request->arena, room * sizeof(*state->outputs));
    state->in_place = api_arena_take(request->arena, room * sizeof(*state->in_place));
    if (!state->entries || !state->outputs || !state->in_place)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu tensors", room);
    for (size_t i = 0; i < request->tensors_count; i++) {
        const struct api_tensor *tensor = &request->tensors[i];
        struct entry *entry = &state->entries[state->count];
        if (state->places.tensor && strcmp(state->places.tensor, tensor->name) == 0)
            continue;
        if (entry_read(state, tensor, entry, err))
            return err->status;
        output_set(&state->outputs[state->count++], entry);
    }
    if (state->count == 0)
        return pe_fail(err, PE_MISSING, "parameter:tensors",
                       "there is no tensor to rotate beside %s", state->places.tensor);
    return PE_OK;
}

/* Blocks of every tensor must hold whole tokens. */
static enum pe_status rows_group(struct state *state, struct pe_error *err)
{
    size_t together = 1;

    for (size_t i = 0; i < state->count; i++) {
        const size_t rows = state->entries[i].rows_per_token;
        size_t a = together, b = rows;
        while (b > 0) {
            const size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (rows > 0 &&
            (!pe_size_multiply(together / a, rows, &together) || together > ROWS_TOGETHER_MAX))
            return pe_fail(err, PE_UNSUPPORTED, "",
                           "the numbers of heads have no common multiple up to %d; send the "
                           "tensors one by one",
                           ROWS_TOGETHER_MAX);
    }
    state->result.rows_together = together;
    return PE_OK;
}

/* ---- what takes time ------------------------------------------------------------------------ */

static enum pe_status entry_widen(struct state *state, struct entry *entry, struct pe_error *err)
{
    const struct pe_tensor *tensor = &entry->tensor->tensor;
    size_t size;

    entry->data = tensor->data;
    if (entry->work == tensor->dtype)
        return PE_OK;
    if (!pe_size_multiply(entry->elements, pe_dtype_info(entry->work)->size, &size) ||
        !(entry->data = api_arena_room(state->request->arena, size)))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to convert %.60s",
                       entry->tensor->name);
    if (entry->work == PE_F64)
        pe_to_f64((double *)(void *)entry->data, tensor->data, tensor->dtype, entry->elements);
    else
        pe_to_f32((float *)(void *)entry->data, tensor->data, tensor->dtype, entry->elements);
    return PE_OK;
}

/* Tensors of one dtype and the same tokens share cos and sin. */
static enum pe_status entry_rotation(struct state *state, struct entry *entry, struct pe_error *err)
{
    for (struct entry *at = state->entries; at < entry && !entry->rotation; at++)
        if (at->rotation && at->work == entry->work &&
            at->positions.count == entry->positions.count &&
            at->positions.batch == entry->positions.batch)
            entry->rotation = at->rotation;
    if (!entry->rotation) {
        state->spec.positions = entry->positions;
        if (api_rotation_get(state->request, state->scheme, &state->spec, entry->axes.head_dim,
                             entry->work, &entry->rotation, err))
            return err->status;
    }
    return pe_rotation_check(entry->rotation, &entry->axes, entry->work, entry->tensor->name, err);
}

static enum pe_status entries_prepare(struct state *state, struct pe_error *err)
{
    bool in_place = true;

    for (size_t i = 0; i < state->count; i++) {
        struct entry *entry = &state->entries[i];
        if (entry_widen(state, entry, err) ||
            (entry->elements > 0 && entry_rotation(state, entry, err)))
            return err->status;
        state->in_place[i] = entry->data;
        in_place = in_place && entry->work == entry->out;
    }
    state->result.in_place = in_place ? state->in_place : NULL;
    return PE_OK;
}

enum pe_status api_handle_rotation(struct api_request *request, struct api_response *response,
                                   struct api_result **result, struct pe_error *err)
{
    struct state *state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a rotation");
    state->request = request;
    state->result = (struct api_result){.fill = rows_fill, .file_stem = "rotation", .state = state};
    if (params_read(state, err) ||
        api_answer_apply(request, &state->answer_params, &state->result, err) ||
        entries_read(state, err) || rows_group(state, err))
        return err->status;
    state->result.outputs = state->outputs;
    state->result.outputs_count = state->count;
    if (api_config_scheme(request, state->encoding, &state->encoding_params, &state->scheme, err) ||
        api_result_check(request, &state->result, response, err))
        return err->status;
    state->spec.scheme = state->scheme;
    if (entries_prepare(state, err) ||
        api_function_describe(request, &state->result, state->scheme,
                              api_layout_name(state->spec.output_layout), err))
        return err->status;
    response->operation = "rotation";
    response->encoding = state->scheme->encoding->name;
    response->dtype = state->entries[0].out;
    *result = &state->result;
    return PE_OK;
}
