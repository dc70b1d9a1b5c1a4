/* SPDX-License-Identifier: MIT */
#include "api/routes/sides.h"

#include <stdio.h>
#include <string.h>

#include "api/arguments/table_use.h"
#include "api/config/config.h"
#include "api/response/blocks.h"

/* ---- which ---------------------------------------------------------------------------------- */

static enum pe_status tensor_find(struct api_request *request, struct api_side *side,
                                  const char *name, struct pe_error *err)
{
    char where[sizeof(err->where)];

    side->tensor = api_request_tensor(request, name);
    snprintf(where, sizeof(where), "parameter:%s", side->key);
    if (!side->tensor)
        return pe_fail(err, PE_MISSING, where,
                       "%s names the tensor '%.60s', which is not in the request", side->key, name);
    snprintf(where, sizeof(where), "tensor:%.80s", name);
    if (!pe_dtype_is_float(side->tensor->tensor.dtype))
        return pe_fail(err, PE_UNSUPPORTED, where,
                       "%.60s is %s; f64, f32, f16 and bf16 are compared", name,
                       pe_dtype_info(side->tensor->tensor.dtype)->name);
    return PE_OK;
}

static enum pe_status cache_find(struct api_request *request, struct api_side *side,
                                 const char *name, struct pe_error *err)
{
    const int cache = api_engine_cache_named(name);
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "parameter:%s", side->key);
    if (cache < 0)
        return pe_fail(err, PE_INVALID, where,
                       "%s names no cache: it is cache:hf, vllm, meta, onnx or ggml", side->key);
    side->is_cache = true;
    side->cache = (enum pe_rotary_cache)cache;
    side->tensor = &side->parts[0];
    return api_engine_cache_read(request, side->cache, side->parts, err);
}

bool api_side_holds(const struct api_side *side, const struct api_tensor *tensor)
{
    return side->tensor == tensor ||
           (side->is_cache && api_engine_cache_holds(side->cache, tensor->name));
}

enum pe_status api_side_read(struct api_request *request, const char *key, struct api_side *side,
                             struct pe_error *err)
{
    const char *text = api_request_text(request, key);
    char where[sizeof(err->where)];

    static const struct pe_param layouts[] = {
        {.name = "layout", .type = PE_CHOICE, .choices = API_LAYOUTS, .doc = API_LAYOUT_DOC}};

    side->key = key;
    if (text && strncmp(text, "tensor:", 7) == 0)
        return tensor_find(request, side, text + 7, err);
    if (text && strncmp(text, "cache:", 6) == 0)
        return cache_find(request, side, text + 6, err);
    pe_params_init(&side->layout, layouts, 1);
    if (api_function_encoding_at(request, key, &side->encoding, &side->params, &side->layout,
                                 &side->config, err))
        return err->status;
    if (pe_encoding_view(side->encoding, "table"))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", key);
    return pe_fail(err, PE_UNSUPPORTED, where, "%s has no table, and tables are what is compared",
                   pe_encoding_info(side->encoding)->name);
}

/* ---- its shape ------------------------------------------------------------------------------ */

/* Its parts are a table each: cos and sin; or the factors, one row. */
static enum pe_status cache_open(struct api_side *side, struct pe_error *err)
{
    const struct pe_tensor *cos = &side->parts[0].tensor, *sin = &side->parts[1].tensor;
    const bool factors = side->cache == PE_CACHE_GGML;

    if (!factors && (cos->shape[0] != sin->shape[0] || cos->shape[1] != sin->shape[1] ||
                     cos->dtype != sin->dtype))
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:sin",
                       "cos and sin of a cache have one shape and dtype");
    side->outputs_count = factors ? 1 : 2;
    for (size_t i = 0; i < side->outputs_count; i++)
        side->tables[i] = (struct pe_output){.name = side->parts[i].name,
                                             .dtype = cos->dtype,
                                             .rank = 2,
                                             .rows = factors ? 1 : cos->shape[0],
                                             .row_elements = cos->shape[cos->rank - 1]};
    side->outputs = side->tables;
    return PE_OK;
}

static enum pe_status tensor_open(struct api_side *side, struct pe_error *err)
{
    const struct pe_tensor *tensor = &side->tensor->tensor;
    const bool stacked = tensor->rank == 3 && tensor->shape[0] == 2 && !side->is_rotation;
    size_t rows = 1; /* the reader has checked that the elements can be counted */
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", side->tensor->name);
    if (tensor->rank >= 2 && tensor->shape[tensor->rank - 1] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "rows of tensor %.60s are 0 wide",
                       side->tensor->name);
    if (tensor->rank < 2 || (tensor->rank == 3 && !stacked && !side->is_rotation))
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "a table is [positions, width], cos and sin of one are [2, positions, "
                       "width], a cache of keys and values has rank 4 to 6; %.60s has rank %u",
                       side->tensor->name, tensor->rank);
    side->outputs_count = stacked ? 2 : 1;
    for (unsigned axis = stacked; axis + 1 < tensor->rank; axis++)
        rows *= tensor->shape[axis];
    for (size_t i = 0; i < side->outputs_count; i++)
        side->tables[i] = (struct pe_output){.name = !stacked ? "table"
                                                     : i == 0 ? "cos"
                                                              : "sin",
                                             .dtype = tensor->dtype,
                                             .rank = 2,
                                             .rows = rows,
                                             .row_elements = tensor->shape[tensor->rank - 1]};
    side->outputs = side->tables;
    return PE_OK;
}

/* Hands the common parameters that the view has to it. */
static enum pe_status params_hand(struct pe_params *view, const struct pe_params *common,
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

/* Beside ggml's factors stand an encoding's own. */
static enum pe_status factors_infer(struct api_side *side, size_t pairs, struct pe_error *err)
{
    const int cache = pe_params_find(&side->view_params, "cache");

    if (cache < 0)
        return pe_fail(err, PE_CONFLICT, "parameter:a", "%s has no factors of frequencies",
                       pe_encoding_info(side->encoding)->name);
    return pe_params_set_text(&side->view_params, (size_t)cache, "ggml", err) ||
                   pe_params_infer(&side->params, "dim", 2 * (double)pairs, err)
               ? err->status
               : PE_OK;
}

/* Infers the number of positions and the width from the tensor on the other side. */
static enum pe_status tensor_infer(struct api_side *side, const struct api_side *other,
                                   const struct pe_params *common, struct pe_error *err)
{
    const bool halves = pe_encoding_has(side->encoding, PE_KIND_ROTARY) &&
                        pe_param_number(common, "duplicate") == 0;
    size_t width;

    if (!other->tensor)
        return PE_OK;
    width = other->outputs->row_elements;
    if (other->is_cache && other->cache == PE_CACHE_GGML)
        return factors_infer(side, width, err);
    if (!pe_param_given(common, "positions") &&
        pe_params_infer(&side->view_params, "length", (double)(other->outputs->rows), err))
        return err->status;
    return pe_params_infer(&side->params, "dim", (double)(halves ? 2 * width : width), err);
}

enum pe_status api_side_open(struct api_request *request, struct api_side *side,
                             const struct api_side *other, const struct pe_params *common,
                             enum pe_dtype dtype, struct pe_error *err)
{
    const struct pe_view_type *type;
    const struct api_stored_table *stored;

    if (side->tensor)
        return side->is_cache ? cache_open(side, err) : tensor_open(side, err);
    type = pe_encoding_view(side->encoding, "table");
    pe_params_init(&side->view_params, pe_view_info(type)->params,
                   pe_view_info(type)->params_count);
    if (params_hand(&side->view_params, common, err) || tensor_infer(side, other, common, err) ||
        pe_params_finish(&side->view_params, err) ||
        api_scheme_open(side->config, side->encoding, &side->params, request->work, &side->scheme,
                        err) ||
        api_table_give(request, side->scheme, &stored, err) ||
        pe_view_new(&side->view, side->scheme, type, &side->view_params, dtype, request->work, err))
        return err->status;
    side->outputs = pe_view_output(side->view, 0);
    while (pe_view_output(side->view, side->outputs_count))
        side->outputs_count++;
    return PE_OK;
}

/* ---- its rows ------------------------------------------------------------------------------- */

enum { CHUNK = 256 };

enum pe_status api_side_rows(const struct api_side *side, size_t output, size_t row_begin,
                             size_t row_end, enum pe_dtype dtype, void *out, struct pe_work *work,
                             struct pe_error *err)
{
    const size_t size = pe_dtype_info(dtype)->size;
    const struct pe_output *table = &side->outputs[output];
    double values[CHUNK];

    if (!side->tensor)
        return pe_view_fill(side->view, output, row_begin, row_end, out, work, err);
    const size_t from_size = pe_dtype_info(table->dtype)->size;
    const size_t count = (row_end - row_begin) * table->row_elements;
    const struct pe_tensor *tensor =
        side->is_cache ? &side->parts[output].tensor : &side->tensor->tensor;
    const size_t before = side->is_cache ? 0 : output * table->rows;
    const char *from =
        (const char *)tensor->data + (before + row_begin) * table->row_elements * from_size;
    if (table->dtype == dtype) {
        memcpy(out, from, count * size);
        return PE_OK;
    }
    for (size_t at = 0; at < count; at += CHUNK) {
        const size_t some = count - at < CHUNK ? count - at : CHUNK;
        pe_to_f64(values, from + at * from_size, table->dtype, some);
        pe_from_f64((char *)out + at * size, dtype, values, some);
    }
    return PE_OK;
}

json_t *api_side_json(const struct api_side *side)
{
    json_t *shape;

    if (side->scheme)
        return api_scheme_json(side->scheme);
    shape = json_array();
    for (unsigned axis = 0; axis < side->tensor->tensor.rank; axis++)
        json_array_append_new(shape, json_integer((json_int_t)side->tensor->tensor.shape[axis]));
    return json_pack("{ss ss so}", side->is_cache ? "cache" : "tensor",
                     side->is_cache ? pe_rotary_cache_info(side->cache)->name : side->tensor->name,
                     "dtype", pe_dtype_info(side->tensor->tensor.dtype)->name, "shape", shape);
}

/* Nanoseconds of an element that is read, rotated and read again; cos and sin included. */
enum { ROTATED_WORK = 8 };

double api_side_work(const struct api_side *side)
{
    const struct pe_output *first = side->outputs;

    if (side->view)
        return pe_scheme_work(side->scheme) + pe_view_work(side->view);
    if (side->scheme) /* a tensor that it rotates */
        return pe_scheme_work(side->scheme) +
               ROTATED_WORK * (double)first->rows * (double)first->row_elements;
    return (double)side->outputs_count * pe_output_work(first, first->rows);
}

const char *api_side_name(const struct api_side *side)
{
    return side->encoding ? pe_encoding_info(side->encoding)->name : "none";
}

void api_side_free(struct api_side *side)
{
    pe_view_free(side->view);
    pe_scheme_free(side->scheme);
    pe_params_free(&side->view_params);
}
