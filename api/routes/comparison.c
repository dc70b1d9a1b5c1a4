/* SPDX-License-Identifier: MIT */
#include "api/routes/comparison.h"

#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/formats/formats.h"
#include "api/request/request.h"

/* The first parameters are grids, of tables whose rows are points. */
enum { GRID_PARAMS = 3 };

static const struct pe_param params_list[] = {
    {.name = "width",
     .type = PE_INTEGER,
     .min = 0,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "For rope-2d: the number of columns of the grid."},
    {.name = "height",
     .type = PE_INTEGER,
     .min = 0,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "For rope-2d: the number of rows of the grid."},
    {.name = "shape",
     .type = PE_NUMBERS,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "For sinusoidal-nd, fourier and rope-nd: the number of coordinates on each axis of the "
            "grid."},
    PE_PARAMS_POSITIONS,
    {.name = "part",
     .type = PE_CHOICE,
     .choices = "both,cos,sin",
     .fallback = "both",
     .doc = "The tables that are compared, for rotary encodings: both, or cos or sin alone."},
    {.name = "duplicate",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "For rotary encodings: whether each row is repeated side by side, so that it has "
            "rotary_dim elements, as in Hugging Face transformers."},
    {.name = "tolerance",
     .type = PE_NUMBER,
     .min = 0,
     .max = 1e300,
     .fallback = "0",
     .doc = "The largest absolute difference of two values that do not count as diverging."},
    {.name = "tolerance_of",
     .type = PE_CHOICE,
     .choices = "none,f32-angle,bf16-cache,f16-q",
     .fallback = "none",
     .doc = "The arithmetic that computed the checked values. The answer counts the values outside "
            "of the interval that its rounding errors allow, by proved bounds."},
    {.name = "per_element",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether the answer has the interval of every element."},
    {.name = "per_pair",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether the answer has the largest differences of every pair."},
    {.name = "per_position",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether the answer has the largest differences of every position."},
    {.name = "axes",
     .type = PE_TEXT,
     .doc = "The axes of two posted tensors of a KV cache, one letter for each axis: l layer, k "
            "key or value, b batch or block, h head, s position, and d, the elements of a head, "
            "last. If absent lkbhsd, lbhsd or bhsd, by the rank. per_head of the answer has the "
            "largest differences of each layer and head."},
};

static const char own[] = "a b tensors dtype tensor";
static const char own_rotated[] = "a b tensors dtype tensor positions"; /* of api_token_positions */

static void state_release(void *what)
{
    struct comparison_state *state = what;

    pe_differences_free(state->differences);
    for (size_t i = 0; i < 2; i++) {
        pe_view_free(state->operands[i].view);
        pe_scheme_free(state->operands[i].scheme);
        pe_params_free(&state->operands[i].view_params);
    }
    pe_params_free(&state->params);
}

/* ---- operands: names ------------------------------------------------------------------------- */

static enum pe_status tensor_find(struct api_request *request, struct comparison_operand *operand,
                                  const char *name, struct pe_error *err)
{
    char where[sizeof(err->where)];

    operand->tensor = api_request_tensor(request, name);
    snprintf(where, sizeof(where), "parameter:%s", operand->key);
    if (!operand->tensor)
        return pe_fail(err, PE_MISSING, where,
                       "%s names the tensor '%.60s', which is not in the request", operand->key,
                       name);
    snprintf(where, sizeof(where), "tensor:%.80s", name);
    if (!pe_dtype_is_float(operand->tensor->tensor.dtype))
        return pe_fail(err, PE_UNSUPPORTED, where,
                       "%.60s is %s; f64, f32, f16 and bf16 are compared", name,
                       pe_dtype_info(operand->tensor->tensor.dtype)->name);
    return PE_OK;
}

static enum pe_status cache_find(struct api_request *request, struct comparison_operand *operand,
                                 const char *name, struct pe_error *err)
{
    const int cache = api_engine_cache_named(name);
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "parameter:%s", operand->key);
    if (cache < 0)
        return pe_fail(err, PE_INVALID, where,
                       "%s names no cache: it is cache:hf, vllm, meta, onnx or ggml", operand->key);
    operand->is_cache = true;
    operand->cache = (enum pe_rotary_cache)cache;
    operand->tensor = &operand->parts[0];
    return api_engine_cache_read(request, operand->cache, operand->parts, err);
}

/* Is a posted tensor this operand, or a part of it? */
static bool operand_has(const struct comparison_operand *operand, const struct api_tensor *tensor)
{
    return operand->tensor == tensor ||
           (operand->is_cache && api_engine_cache_holds(operand->cache, tensor->name));
}

/* Reads the member `key`: "tensor:NAME", "cache:ENGINE", or an encoding. */
static enum pe_status operand_read(struct api_request *request, const char *key,
                                   struct comparison_operand *operand, struct pe_error *err)
{
    const char *text = api_request_text(request, key);
    char where[sizeof(err->where)];

    static const struct pe_param layouts[] = {
        {.name = "layout", .type = PE_CHOICE, .choices = API_LAYOUTS, .doc = API_LAYOUT_DOC}};

    operand->key = key;
    if (text && strncmp(text, "tensor:", 7) == 0)
        return tensor_find(request, operand, text + 7, err);
    if (text && strncmp(text, "cache:", 6) == 0)
        return cache_find(request, operand, text + 6, err);
    pe_params_init(&operand->layout, layouts, 1);
    if (api_function_encoding_at(request, key, &operand->encoding, &operand->params,
                                 &operand->layout, &operand->config, err))
        return err->status;
    if (pe_encoding_view(operand->encoding, "table"))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", key);
    return pe_fail(err, PE_UNSUPPORTED, where, "%s has no table, and tables are what is compared",
                   pe_encoding_info(operand->encoding)->name);
}

static const char ending[] = "_rotated";

/* The tensor "q" where this one is "q_rotated"; NULL: there is none. */
static const struct api_tensor *source_of(struct api_request *request,
                                          const struct api_tensor *rotated)
{
    const size_t size = rotated ? strlen(rotated->name) : 0, end = sizeof(ending) - 1;

    if (size <= end || strcmp(rotated->name + size - end, ending) != 0)
        return NULL;
    for (size_t i = 0; i < request->tensors_count; i++)
        if (strlen(request->tensors[i].name) == size - end &&
            memcmp(request->tensors[i].name, rotated->name, size - end) == 0)
            return &request->tensors[i];
    return NULL;
}

/* Finds the tensor whose rotation is compared with an encoding: q of q_rotated. */
static void source_find(struct comparison_state *state)
{
    for (size_t i = 0; i < 2; i++) {
        const struct comparison_operand *operand = &state->operands[i],
                                        *other = &state->operands[1 - i];
        if (operand->tensor || !other->tensor || other->is_cache ||
            !pe_encoding_has(operand->encoding, PE_KIND_ROTARY))
            continue;
        state->rotated = i;
        state->source = source_of(state->request, other->tensor);
    }
}

/* ---- operands: shapes ------------------------------------------------------------------------ */

/* Tables of cos and sin; or of ggml's factors, one row. */
static enum pe_status cache_open(struct comparison_operand *operand, struct pe_error *err)
{
    const struct pe_tensor *cos = &operand->parts[0].tensor, *sin = &operand->parts[1].tensor;
    const bool factors = operand->cache == PE_CACHE_GGML;

    if (!factors && (cos->shape[0] != sin->shape[0] || cos->shape[1] != sin->shape[1] ||
                     cos->dtype != sin->dtype))
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:sin",
                       "cos and sin of a cache have one shape and dtype");
    operand->tables = factors ? 1 : 2;
    operand->rows = factors ? 1 : cos->shape[0];
    operand->columns = cos->shape[cos->rank - 1];
    for (size_t i = 0; i < operand->tables; i++) {
        operand->names[i] = operand->parts[i].name;
        operand->tensors[i] = operand->parts[i].tensor;
    }
    return PE_OK;
}

/* A table, cos and sin stacked, or (is_rows) a tensor of any rank whose last axis is a row. */
static enum pe_status tensor_open(struct comparison_operand *operand, bool is_rows,
                                  struct pe_error *err)
{
    const struct pe_tensor *tensor = &operand->tensor->tensor;
    const bool stacked = tensor->rank == 3 && tensor->shape[0] == 2 && !is_rows;
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", operand->tensor->name);
    if (tensor->rank >= 2 && tensor->shape[tensor->rank - 1] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "rows of tensor %.60s are 0 wide",
                       operand->tensor->name);
    if (tensor->rank < 2 || (tensor->rank == 3 && !stacked && !is_rows))
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "a table is [positions, width], cos and sin of one are [2, positions, "
                       "width], a cache of keys and values has rank 4 to 6; %.60s has rank %u",
                       operand->tensor->name, tensor->rank);
    operand->tables = stacked ? 2 : 1;
    operand->columns = tensor->shape[tensor->rank - 1];
    operand->rows = 1; /* the reader has checked that the elements can be counted */
    for (unsigned axis = stacked; axis + 1 < tensor->rank; axis++)
        operand->rows *= tensor->shape[axis];
    for (size_t i = 0; i < operand->tables; i++) {
        operand->names[i] = !stacked ? "table" : i == 0 ? "cos" : "sin";
        operand->tensors[i] = *tensor;
        if (stacked)
            operand->tensors[i] =
                (struct pe_tensor){tensor->dtype,
                                   2,
                                   {operand->rows, operand->columns},
                                   (char *)tensor->data + i * operand->rows * operand->columns *
                                                              pe_dtype_info(tensor->dtype)->size};
    }
    return PE_OK;
}

static enum pe_status posted_open(struct comparison_operand *operand, bool is_rows,
                                  struct pe_error *err)
{
    if (operand->is_cache ? cache_open(operand, err) : tensor_open(operand, is_rows, err))
        return err->status;
    operand->spec = (struct pe_operand){.size = sizeof(operand->spec),
                                        .tensors = operand->tensors,
                                        .tensors_count = operand->tables};
    return PE_OK;
}

/* Copies the common parameters that the view has. */
static enum pe_status params_copy(struct pe_params *view, const struct pe_params *common,
                                  struct pe_error *err)
{
    for (size_t i = 0; i < common->count; i++) {
        const int index = pe_params_find(view, common->list[i].name);
        if (index >= 0 && common->values[i].given &&
            pe_params_set_value(view, (size_t)index, &common->list[i], &common->values[i], err))
            return err->status;
    }
    return PE_OK;
}

/* Factors are compared with those of the encoding. */
static enum pe_status factors_infer(struct comparison_operand *operand, size_t pairs,
                                    struct pe_error *err)
{
    const int cache = pe_params_find(&operand->view_params, "cache");

    if (cache < 0)
        return pe_fail(err, PE_CONFLICT, "parameter:a", "%s has no factors of frequencies",
                       pe_encoding_info(operand->encoding)->name);
    return pe_params_set_text(&operand->view_params, (size_t)cache, "ggml", err) ||
                   pe_params_infer(&operand->params, "dim", 2 * (double)pairs, err)
               ? err->status
               : PE_OK;
}

/* Infers the number of positions and the width from a posted table on the other operand. */
static enum pe_status tensor_infer(struct comparison_operand *operand,
                                   const struct comparison_operand *other,
                                   const struct pe_params *common, struct pe_error *err)
{
    const bool halves = pe_encoding_has(operand->encoding, PE_KIND_ROTARY) &&
                        pe_param_number(common, "duplicate") == 0;
    size_t width;

    if (!other->tensor)
        return PE_OK;
    width = other->columns;
    if (other->is_cache && other->cache == PE_CACHE_GGML)
        return factors_infer(operand, width, err);
    if (!pe_param_given(common, "positions") &&
        pe_params_infer(&operand->view_params, "length", (double)other->rows, err))
        return err->status;
    return pe_params_infer(&operand->params, "dim", (double)(halves ? 2 * width : width), err);
}

/* Opens the table of an encoding. */
static enum pe_status view_open(struct comparison_state *state, struct comparison_operand *operand,
                                const struct comparison_operand *other, struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(operand->encoding, "table");
    struct api_request *request = state->request;
    const struct pe_output *output;
    const struct api_stored_table *stored;

    pe_params_init(&operand->view_params, pe_view_info(type)->params,
                   pe_view_info(type)->params_count);
    if (params_copy(&operand->view_params, &state->params, err) ||
        tensor_infer(operand, other, &state->params, err) ||
        pe_params_finish(&operand->view_params, err) ||
        api_scheme_open(operand->config, operand->encoding, &operand->params, request->work,
                        &operand->scheme, err) ||
        api_table_give(request, operand->scheme, &stored, err) ||
        pe_view_new(&operand->view, operand->scheme, type, &operand->view_params, state->dtype,
                    request->work, err))
        return err->status;
    for (; (output = pe_view_output(operand->view, operand->tables)); operand->tables++)
        operand->names[operand->tables] = output->name;
    operand->rows = pe_view_output(operand->view, 0)->rows;
    operand->columns = pe_view_output(operand->view, 0)->row_elements;
    operand->spec = (struct pe_operand){.size = sizeof(operand->spec), .view = operand->view};
    return PE_OK;
}

/* ---- the rotation of a posted tensor --------------------------------------------------------- */

static enum pe_status rotation_check(const struct comparison_state *state, struct pe_error *err)
{
    const struct pe_tensor *from = &state->source->tensor,
                           *to = &state->operands[1 - state->rotated].tensor->tensor;
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", state->source->name);
    if (!pe_dtype_is_float(from->dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "%.60s must be floating point; got %s",
                       state->source->name, pe_dtype_info(from->dtype)->name);
    if (from->rank != to->rank || from->rank < 2 || from->shape[from->rank - 1] == 0 ||
        memcmp(from->shape, to->shape, from->rank * sizeof(*from->shape)) != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%.60s and its rotation have one shape, of rank 2 to 6 (axes, of four bhsd "
                       "if absent)",
                       state->source->name);
    return PE_OK;
}

static enum pe_status rotation_axes(const struct comparison_state *state, struct pe_operand *spec,
                                    struct pe_error *err)
{
    const struct pe_params *params = &state->operands[state->rotated].params;
    const struct pe_tensor *tensor = &state->source->tensor;
    const struct pe_value *axes = pe_param_value(&state->params, "axes");
    const char *letters = axes->given ? axes->text : NULL;
    struct pe_kv_axes kv;

    spec->slabs = 1;
    if (tensor->rank <= 3)
        return pe_axes_parse(
            &spec->axes, letters, tensor,
            pe_param_given(params, "dim") ? (size_t)pe_param_number(params, "dim") : 0, err);
    return pe_kv_axes_parse(&kv, letters, tensor, err)
               ? err->status
               : pe_kv_axes_slabs(&kv, &spec->axes, &spec->slabs, err);
}

/* Opens the operand of the encoding as the source, which it will rotate. */
static enum pe_status rotation_open(struct comparison_state *state, struct pe_error *err)
{
    struct comparison_operand *operand = &state->operands[state->rotated];
    const struct pe_value *layout = pe_param_value(&operand->layout, "layout");

    if (rotation_check(state, err))
        return err->status;
    if (!layout->present)
        return pe_fail(err, PE_MISSING, "parameter:layout",
                       "layout is required in the encoding of %s: " API_LAYOUT_DOC, operand->key);
    operand->tensor = state->source;
    if (posted_open(operand, true, err) || rotation_axes(state, &operand->spec, err) ||
        pe_params_infer(&operand->params, "dim", (double)operand->spec.axes.head_dim, err) ||
        api_scheme_open(operand->config, operand->encoding, &operand->params, state->request->work,
                        &operand->scheme, err))
        return err->status;
    state->rotation = (struct pe_rotation_spec){.size = sizeof(state->rotation),
                                                .scheme = operand->scheme,
                                                .layout = (enum pe_layout)layout->number,
                                                .output_layout = (enum pe_layout)layout->number};
    operand->spec.rotation = &state->rotation;
    return PE_OK;
}

/* Reads the positions, once the scheme says how many coordinates they have. */
static enum pe_status rotation_places(struct comparison_state *state, struct pe_error *err)
{
    const struct comparison_operand *operand = &state->operands[state->rotated];
    const char *name = state->source->name;
    char where[sizeof(err->where)];

    state->places.axes_count = pe_scheme_axes(operand->scheme);
    if (api_token_positions_fit(state->request, &state->places, &operand->spec.axes, name,
                                &state->rotation.positions, err))
        return err->status;
    state->rotation.is_key = strcmp(name, "k") == 0;
    if (!pe_scheme_scales(operand->scheme) || state->rotation.is_key || strcmp(name, "q") == 0)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%.80s", name);
    return pe_fail(err, PE_INVALID, where,
                   "%s rotates queries and keys differently: call the tensor q or k, not %.60s",
                   pe_encoding_info(pe_scheme_encoding(operand->scheme))->name, name);
}

/* ---- both operands --------------------------------------------------------------------------- */

/* The default dtype: the coarser one of the posted tensors; else f32. */
static enum pe_dtype dtype_default(const struct comparison_state *state)
{
    const struct api_tensor *a = state->operands[0].tensor, *b = state->operands[1].tensor;

    if (a && b)
        return a->tensor.dtype > b->tensor.dtype ? a->tensor.dtype : b->tensor.dtype;
    return a ? a->tensor.dtype : b ? b->tensor.dtype : PE_F32;
}

/* Has a view checked the parameter? */
static bool is_taken(const struct comparison_state *state, const char *name)
{
    for (size_t i = 0; i < 2; i++)
        if (state->operands[i].view && pe_params_find(&state->operands[i].view_params, name) >= 0)
            return true;
    return false;
}

/* Positions that no view has checked must be as many as the rows. */
static enum pe_status places_match(const struct comparison_state *state, struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(&state->params, "positions");
    const struct pe_value *length = pe_param_value(&state->params, "length");
    const size_t rows = state->operands[0].rows;

    if ((!list->given || is_taken(state, "positions") || list->list_count == rows) &&
        (!length->given || is_taken(state, "length") || length->number == (double)rows))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, list->given ? "parameter:positions" : "parameter:length",
                   "%s says %.0f positions, the tables have %zu rows",
                   list->given ? "positions" : "length",
                   list->given ? (double)list->list_count : length->number, rows);
}

static enum pe_status operands_match(const struct comparison_state *state, struct pe_error *err)
{
    const struct comparison_operand *a = &state->operands[0], *b = &state->operands[1];

    if (a->tables != b->tables)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:b",
                       "a has %zu tables and b has %zu; cos and sin are stacked as [2, n, w], or "
                       "part=cos (or sin) asks for one of them",
                       a->tables, b->tables);
    if (a->rows == b->rows && a->columns == b->columns)
        return state->source ? PE_OK : places_match(state, err);
    return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:b",
                   "a is [%zu, %zu], b is [%zu, %zu]: rows are positions, columns the width",
                   a->rows, a->columns, b->rows, b->columns);
}

/* A grid that neither operand uses is an error. */
static enum pe_status grids_check(const struct comparison_state *state, struct pe_error *err)
{
    const struct comparison_operand *a = &state->operands[0], *b = &state->operands[1];

    for (size_t i = 0; i < GRID_PARAMS; i++) {
        const char *name = params_list[i].name;
        char where[sizeof(err->where)];
        if (state->source || !state->params.values[i].given ||
            pe_params_find(&a->view_params, name) >= 0 ||
            pe_params_find(&b->view_params, name) >= 0)
            continue;
        snprintf(where, sizeof(where), "parameter:%s", name);
        return pe_fail(err, PE_CONFLICT, where, "neither table has a %s; leave it out", name);
    }
    return PE_OK;
}

/* Positions of tokens are parameters of api_token_positions. */
static enum pe_status params_read(struct comparison_state *state, struct pe_error *err)
{
    struct pe_params *sets[] = {&state->params, &state->answer_params, &state->places_params};
    const bool rotates = state->source;
    size_t first = 0;

    while (rotates && strcmp(params_list[first].name, "part") != 0)
        first++;
    pe_params_init(&state->params, params_list + first,
                   sizeof(params_list) / sizeof(params_list[0]) - first);
    api_answer_params(state->request, &state->answer_params);
    api_token_positions_params(&state->places_params);
    state->places.from_zero = true;
    return api_bind(state->request, sets, rotates ? 3 : 2, rotates ? own_rotated : own, err) ||
                   (rotates && api_token_positions_read(state->request, &state->places_params,
                                                        &state->places, err))
               ? err->status
               : PE_OK;
}

/* Reads the axes of two KV caches, where both operands are tensors of rank 4 or more. */
static enum pe_status heads_read(struct comparison_state *state, struct pe_error *err)
{
    enum { RANK_MIN = 4 };
    const struct api_tensor *a = state->operands[0].tensor, *b = state->operands[1].tensor;
    const struct pe_value *value = pe_param_value(&state->params, "axes");
    const bool is_flat = state->source && a->tensor.rank < RANK_MIN;
    const bool deep_a = a && a->tensor.rank >= RANK_MIN, deep_b = b && b->tensor.rank >= RANK_MIN;

    if (!deep_a && !deep_b && value->given && !is_flat)
        return pe_fail(err, PE_CONFLICT, "parameter:axes",
                       "axes are those of two posted tensors of rank 4 to 6; leave them out");
    if (!deep_a && !deep_b)
        return PE_OK;
    if (!deep_a || !deep_b || a->tensor.rank != b->tensor.rank ||
        memcmp(a->tensor.shape, b->tensor.shape, a->tensor.rank * sizeof(*a->tensor.shape)) != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:b", "a and b have different shapes");
    return pe_kv_axes_parse(&state->heads, value->given ? value->text : NULL, &a->tensor, err);
}

static enum pe_status operands_read(struct comparison_state *state, struct pe_error *err)
{
    struct api_request *request = state->request;

    api_metadata_drop_encoding(request);
    if (operand_read(request, "a", &state->operands[0], err) ||
        operand_read(request, "b", &state->operands[1], err))
        return err->status;
    source_find(state);
    if (params_read(state, err))
        return err->status;
    for (size_t i = 0; i < request->tensors_count; i++)
        if (&request->tensors[i] != state->source &&
            !api_token_positions_hold(&state->places, request->tensors[i].name) &&
            !operand_has(&state->operands[0], &request->tensors[i]) &&
            !operand_has(&state->operands[1], &request->tensors[i]) &&
            !api_table_is_posted(&state->operands[0].params, request->tensors[i].name) &&
            !api_table_is_posted(&state->operands[1].params, request->tensors[i].name))
            return pe_fail(err, PE_CONFLICT, "parameter:tensors",
                           "tensor '%.60s' is neither a nor b; name it as tensor:%.60s",
                           request->tensors[i].name, request->tensors[i].name);
    if (api_request_dtype(request, false, dtype_default(state), &state->dtype, err) ||
        pe_params_finish(&state->params, err) ||
        api_answer_apply(request, &state->answer_params, NULL, err))
        return err->status;
    /* Tensors first: the width and length of the other operand may be inferred from them. */
    for (size_t i = 0; i < 2; i++)
        if (state->operands[i].tensor && posted_open(&state->operands[i], state->source, err))
            return err->status;
    for (size_t i = 0; i < 2; i++)
        if (!state->operands[i].tensor && !state->source &&
            view_open(state, &state->operands[i], &state->operands[1 - i], err))
            return err->status;
    if (state->source && rotation_open(state, err))
        return err->status;
    return grids_check(state, err) || operands_match(state, err) || heads_read(state, err) ||
                   (state->source && rotation_places(state, err))
               ? err->status
               : PE_OK;
}

/* ---- the two phases -------------------------------------------------------------------------- */

enum { INTERVALS_MAX = 1 << 16 };

static enum pe_status differences_open(struct comparison_state *state, struct pe_error *err)
{
    const struct comparison_operand *a = &state->operands[0], *b = &state->operands[1];
    const struct pe_params *params = &state->params;
    const double path = pe_param_number(params, "tolerance_of");
    const bool each = pe_param_number(params, "per_element") != 0;
    const size_t elements = a->tables * a->rows * a->columns;
    const struct pe_differences_spec spec = {.size = sizeof(spec),
                                             .a = &a->spec,
                                             .b = &b->spec,
                                             .dtype = state->dtype,
                                             .tolerance = pe_param_number(params, "tolerance"),
                                             .by_row = pe_param_number(params, "per_position") != 0,
                                             .by_pair = pe_param_number(params, "per_pair") != 0,
                                             .axes = state->heads.rank > 0 ? &state->heads : NULL,
                                             .has_path = path != 0,
                                             .path = path != 0 ? (enum pe_path)(path - 1) : 0,
                                             .keeps_intervals = each};

    if (each && !spec.has_path)
        return pe_fail(err, PE_CONFLICT, "parameter:per_element",
                       "per_element gives the intervals of tolerance_of, which is not given");
    if (pe_differences_new(&state->differences, &spec, state->request->work, err))
        return err->status;
    if (each && elements > INTERVALS_MAX)
        return pe_fail(err, PE_TOO_LARGE, "parameter:per_element",
                       "intervals of at most %d elements are given, these are %zu; ask for fewer "
                       "positions, or part=cos",
                       INTERVALS_MAX, elements);
    return PE_OK;
}

static enum pe_status comparison_open(struct api_request *request, struct api_result *result,
                                      struct pe_error *err)
{
    struct comparison_state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a comparison");
    state->request = request;
    if (operands_read(state, err) || differences_open(state, err))
        return err->status;
    const struct comparison_operand *a = &state->operands[0];
    const unsigned __int128 elements = (unsigned __int128)a->rows * a->columns * a->tables;
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    result->operation = "comparison";
    result->encoding_name = a->encoding ? pe_encoding_info(a->encoding)->name : "none";
    result->dtype = state->dtype;
    result->subject = "the comparison";
    for (size_t i = 0; i < 2; i++)
        if (state->operands[i].encoding)
            api_result_widths(result, &state->operands[i].params);
    result->elements = elements < UINT64_MAX ? (uint64_t)elements : UINT64_MAX;
    result->work = pe_differences_work(state->differences);
    return PE_OK;
}

static enum pe_status comparison_prepare(struct api_request *request, struct api_result *result,
                                         struct pe_error *err)
{
    struct comparison_state *state = result->state;

    for (size_t i = 0; i < 2; i++)
        if (state->operands[i].scheme &&
            pe_scheme_prepare(state->operands[i].scheme, request->work, err))
            return err->status;
    if (pe_differences_find(state->differences, api_pool(request->api), err))
        return err->status;
    result->report = comparison_report(state);
    return PE_OK;
}

const struct api_handler api_handler_comparison = {comparison_open, comparison_prepare};
