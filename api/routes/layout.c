/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/routes/handler.h"

/* "concatenated", a layout of tables of sines and cosines, is half. */
#define LAYOUTS "half=neox=rotate_half=hf=gpt_neox=concatenated,interleaved=gptj=meta=gpt_j"

#define PARAMS_LAYOUT                                                                              \
    {.name = "from_layout",                                                                        \
     .type = PE_CHOICE,                                                                            \
     .choices = LAYOUTS,                                                                           \
     .required = true,                                                                             \
     .doc = "The layout of the pairs in the request."},                                            \
        {.name = "to_layout",                                                                      \
         .type = PE_CHOICE,                                                                        \
         .choices = LAYOUTS,                                                                       \
         .required = true,                                                                         \
         .doc = "The layout of the pairs in the answer."},                                         \
        {.name = "head_dim",                                                                       \
         .aliases = "dim",                                                                         \
         .type = PE_INTEGER,                                                                       \
         .min = 2,                                                                                 \
         .max = API_LAYOUT_ELEMENTS_MAX,                                                           \
         .unit = "elements",                                                                       \
         .doc = "The number of elements in a head."},                                              \
    {                                                                                              \
        .name = "rotary_dim", .type = PE_INTEGER, .min = 2, .max = API_LAYOUT_ELEMENTS_MAX,        \
        .unit = "elements",                                                                        \
        .doc = "The number of elements of a head that are rotated, counted from the first; all "   \
               "of them if absent."                                                                \
    }

static const struct pe_param table_params[] = {
    PARAMS_LAYOUT,
    {.name = "heads",
     .aliases = "num_heads,n_heads,num_attention_heads,n_head",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 16,
     .fallback = "1",
     .doc = "The number of heads side by side."},
};

static const struct pe_param function_params[] = {
    PARAMS_LAYOUT,
    {.name = "kind",
     .type = PE_CHOICE,
     .choices = "activations,projection_rows,table",
     .required = true,
     .doc = "activations, with heads along the last axis; projection_rows, with heads along the "
            "first axis, as in the weight or bias of a projection; or table, whose last axis is "
            "one row of pairs."},
    {.name = "axes",
     .type = PE_CHOICE,
     .choices = "bhsd,bshd,thd,shd,hsd,bsd,sd",
     .doc = "For kind activations: the axes of the tensors. With h, axis d is the elements of a "
            "head and gives head_dim."},
};

enum { KIND_ACTIVATIONS, KIND_PROJECTION_ROWS, KIND_TABLE };

struct entry {
    const struct api_tensor *tensor;
    struct pe_layout_change change;
};

struct state {
    struct api_request *request;
    struct pe_params params, answer_params;
    struct pe_layout_change change; /* for tensors the layouts alone */
    int kind;
    size_t heads; /* of the permutation */
    struct entry *entries;
    struct pe_output *outputs;
};

static size_t count_of(const struct state *state, const char *name)
{
    const struct pe_value *value = pe_param_value(&state->params, name);

    return value->given ? (size_t)value->number : 0;
}

/* The width of the pairs: rotary_dim, or the head. */
static enum pe_status width_resolve(const struct state *state, size_t head_dim, size_t *width,
                                    struct pe_error *err)
{
    const size_t given = count_of(state, "rotary_dim");

    *width = given ? given : head_dim;
    if (*width <= head_dim && *width % 2 == 0 && *width >= 2)
        return PE_OK;
    if (!given)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:head_dim",
                       "head_dim must be even, at least 2; got %zu", head_dim);
    return pe_fail(err, PE_OUT_OF_RANGE, "parameter:rotary_dim",
                   "with head_dim %zu, rotary_dim must be even and from 2 to %zu; got %zu",
                   head_dim, head_dim, given);
}

static enum pe_status params_read(struct state *state, const struct pe_param *list, size_t count,
                                  const char *own, struct api_result *result, struct pe_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->answer_params};

    pe_params_init(&state->params, list, count);
    api_answer_params(state->request, &state->answer_params);
    api_metadata_drop_encoding(state->request);
    if (api_bind(state->request, sets, 2, own, err) || pe_params_finish(&state->params, err))
        return err->status;
    state->change.size = sizeof(state->change);
    state->change.from = (enum pe_layout)pe_param_number(&state->params, "from_layout");
    state->change.to = (enum pe_layout)pe_param_number(&state->params, "to_layout");
    return api_answer_apply(state->request, &state->answer_params, result, err);
}

/* ---- the permutation itself ----------------------------------------------------------------- */

static bool permutation_fill(struct api_result *result, size_t output, size_t row_begin,
                             size_t row_end, void *out)
{
    const struct state *state = result->state;

    (void)output;
    return row_begin == row_end ||
           !pe_layout_permutation(&state->change, state->heads, out, &(struct pe_error){0});
}

static enum pe_status permutation_open(struct state *state, struct pe_error *err)
{
    const size_t head_dim = state->change.head_dim = count_of(state, "head_dim");

    state->heads = (size_t)pe_param_number(&state->params, "heads");
    if (head_dim == 0)
        return pe_fail(err, PE_MISSING, "parameter:head_dim", "head_dim is required");
    if (width_resolve(state, head_dim, &state->change.width, err))
        return err->status;
    if (state->heads > API_LAYOUT_ELEMENTS_MAX / head_dim)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:heads",
                       "heads times head_dim is at most %d, got %zu times %zu",
                       API_LAYOUT_ELEMENTS_MAX, state->heads, head_dim);
    state->outputs[0] = (struct pe_output){.name = "permutation",
                                           .dtype = PE_I64,
                                           .rank = 1,
                                           .shape = {state->heads * head_dim},
                                           .rows = 1,
                                           .row_elements = state->heads * head_dim};
    return PE_OK;
}

static const char *tag_make(const struct state *state)
{
    const struct api_request *request = state->request;
    struct api_hash hash;

    api_hash_start(&hash);
    api_hash_text(&hash, request->api->revision);
    api_hash_text(&hash, request->route->pattern);
    api_hash_text(&hash, request->format->media_type);
    api_hash_params(&hash, &state->params);
    api_hash_params(&hash, &state->answer_params);
    api_hash_coding(&hash, request->response_coding);
    return api_hash_etag(&hash, request->arena);
}

static struct state *state_new(struct api_request *request, struct api_result *result,
                               size_t outputs)
{
    struct state *state = api_arena_take(request->arena, sizeof(*state));

    if (!state)
        return NULL;
    state->request = request;
    state->outputs = api_arena_take(request->arena, outputs * sizeof(*state->outputs));
    state->entries = api_arena_take(request->arena, outputs * sizeof(*state->entries));
    result->state = state;
    result->pure = true;
    result->outputs = state->outputs;
    result->operation = result->file_stem = "layout";
    return state->outputs && state->entries ? state : NULL;
}

static enum pe_status table_open(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    struct state *state = state_new(request, result, 1);

    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a layout");
    if (params_read(state, table_params, sizeof(table_params) / sizeof(table_params[0]), "", result,
                    err) ||
        permutation_open(state, err))
        return err->status;
    result->fill = permutation_fill;
    result->outputs_count = 1;
    result->dtype = PE_I64;
    result->etag = tag_make(state);
    result->cache_control = api_request_text(request, "revision")
                                ? "public, max-age=31536000, immutable"
                                : "public, max-age=3600";
    return PE_OK;
}

const struct api_handler api_handler_layout_table = {table_open, NULL};

/* ---- tensors -------------------------------------------------------------------------------- */

static bool layout_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                             size_t row_end, void *out)
{
    const struct state *state = result->state;
    const struct entry *entry = &state->entries[output];

    return !pe_layout_fill(&entry->change, &entry->tensor->tensor, row_begin, row_end, out,
                           &(struct pe_error){0});
}

/* The width of a head, by parameters or by the shape. */
static enum pe_status head_resolve(const struct state *state, const struct api_tensor *tensor,
                                   size_t length, size_t *head_dim, struct pe_error *err)
{
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    const size_t given = count_of(state, "head_dim");
    struct pe_axes parsed;
    char name[16];

    *head_dim = given;
    if (axes->given && state->kind != KIND_ACTIVATIONS)
        return pe_fail(err, PE_CONFLICT, "parameter:axes",
                       "axes are those of activations; leave them out with any other kind");
    if (axes->given) {
        pe_choice_name(axes - state->params.values + state->params.list, (size_t)axes->number, name,
                       sizeof(name));
        if (pe_axes_parse(&parsed, name, &tensor->tensor, given, err))
            return err->status;
        *head_dim = parsed.head_dim;
    } else if (state->kind == KIND_TABLE && !given) {
        *head_dim = length;
    }
    return *head_dim ? PE_OK
                     : pe_fail(err, PE_MISSING, "parameter:head_dim",
                               "head_dim is required: axis d of %.60s holds any number of heads "
                               "where kind is not table",
                               tensor->name);
}

static enum pe_status entry_read(struct state *state, const struct api_tensor *tensor,
                                 struct entry *entry, struct pe_error *err)
{
    const struct pe_tensor *from = &tensor->tensor;
    char where[sizeof(err->where)];
    size_t axis, length, head_dim;

    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    if (from->rank == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "%.60s has no axes", tensor->name);
    if (from->shape[from->rank - 1] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "axis d of tensor %.60s is 0", tensor->name);
    axis = state->kind == KIND_PROJECTION_ROWS ? 0 : from->rank - 1;
    length = from->shape[axis];
    entry->tensor = tensor;
    entry->change = state->change;
    entry->change.first_axis = state->kind == KIND_PROJECTION_ROWS;
    if (head_resolve(state, tensor, length, &head_dim, err) ||
        width_resolve(state, head_dim, &entry->change.width, err))
        return err->status;
    entry->change.head_dim = head_dim;
    if (length % head_dim == 0 && (state->kind != KIND_TABLE || length == head_dim))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, where,
                   state->kind == KIND_TABLE ? "axis %zu of %.60s is %zu, not head_dim %zu"
                                             : "axis %zu of %.60s is %zu, no multiple of head_dim "
                                               "%zu",
                   axis, tensor->name, length, head_dim);
}

static enum pe_status entries_read(struct state *state, struct pe_error *err)
{
    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        const struct pe_tensor *from = &tensor->tensor;
        struct pe_output *output = &state->outputs[i];
        if (entry_read(state, tensor, &state->entries[i], err))
            return err->status;
        *output = (struct pe_output){
            .name = tensor->name, .dtype = from->dtype, .rank = from->rank, .rows = 1};
        memcpy(output->shape, from->shape, from->rank * sizeof(*from->shape));
        output->row_elements = from->shape[from->rank - 1];
        output->element_work = pe_layout_work(&state->entries[i].change, from);
        for (unsigned axis = 0; axis + 1 < from->rank; axis++)
            output->rows *= from->shape[axis];
    }
    return PE_OK;
}

static enum pe_status layout_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    struct state *state;

    /* Stored tables become tensors of the request, before these are counted. */
    if (api_function_start(request, "", err))
        return err->status;
    state = state_new(request, result, request->tensors_count);
    if (!state)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a layout");
    if (params_read(state, function_params, sizeof(function_params) / sizeof(function_params[0]),
                    "tensors tensor tables", result, err))
        return err->status;
    state->kind = (int)pe_param_number(&state->params, "kind");
    if (entries_read(state, err))
        return err->status;
    result->fill = layout_rows_fill;
    result->outputs_count = request->tensors_count;
    result->dtype = state->outputs[0].dtype;
    return PE_OK;
}

const struct api_handler api_handler_layout = {layout_open, NULL};
