/* SPDX-License-Identifier: MIT */
#include "api/routes/engines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/request/parameters.h"

/* In the order of enum api_engine. */
static const struct layout {
    const char *name, *tensors[2];
    unsigned rank;
} layouts[] = {
    [API_ENGINE_HF] = {"hf", {"cos", "sin"}, 2},
    [API_ENGINE_VLLM] = {"vllm", {"cos_sin_cache", NULL}, 2},
    [API_ENGINE_META] = {"meta", {"freqs_cis", NULL}, 3},
    [API_ENGINE_ONNX] = {"onnx", {"cos_cache", "sin_cache"}, 2},
    [API_ENGINE_GGML] = {"ggml", {"rope_freqs.weight", NULL}, 1},
};

enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* ---- which ---------------------------------------------------------------------------------- */

static bool is_there(struct api_request *request, const struct layout *layout)
{
    return api_request_tensor(request, layout->tensors[0]) ||
           (layout->tensors[1] && api_request_tensor(request, layout->tensors[1]));
}

/* cos and sin alone may be any table: only the parameter says that they are hf's. */
static enum pe_status cache_find(struct api_request *request, const struct pe_params *params,
                                 int *cache, struct pe_error *err)
{
    const struct pe_value *told = pe_param_value(params, "cache");

    *cache = told->present ? (int)told->number : -1;
    for (int i = 0; i < LAYOUTS; i++) {
        if (i == *cache || !is_there(request, &layouts[i]) || (i == API_ENGINE_HF && *cache < 0))
            continue;
        if (*cache >= 0)
            return pe_fail(err, PE_CONFLICT, "parameter:cache",
                           "the tensors are two caches, %s's and %s's; post one",
                           layouts[*cache].name, layouts[i].name);
        *cache = i;
    }
    if (*cache >= 0 && *cache != API_ENGINE_HF && is_there(request, &layouts[API_ENGINE_HF]))
        return pe_fail(err, PE_CONFLICT, "parameter:cache",
                       "cos and sin are posted beside %s; post one of them",
                       layouts[*cache].tensors[0]);
    return PE_OK;
}

/* ---- its shape ------------------------------------------------------------------------------ */

static enum pe_status tensor_get(struct api_request *request, const struct layout *layout,
                                 size_t index, const struct pe_tensor **tensor,
                                 struct pe_error *err)
{
    const struct api_tensor *found = api_request_tensor(request, layout->tensors[index]);
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", layout->tensors[index]);
    if (!found)
        return pe_fail(err, PE_MISSING, where, "a cache of %s has a tensor %s", layout->name,
                       layout->tensors[index]);
    *tensor = &found->tensor;
    if (!pe_dtype_is_float(found->tensor.dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "%s must be f64, f32, f16 or bf16", found->name);
    if (found->tensor.rank == layout->rank)
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s has rank %u, that of %s has %u", found->name,
                   found->tensor.rank, layout->name, layout->rank);
}

static enum pe_status width_refuse(const struct layout *layout, const char *what,
                                   struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", layout->tensors[0]);
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s of %s %s", layout->tensors[0], layout->name,
                   what);
}

/* ---- cos and sin ---------------------------------------------------------------------------- */

/* Elements of a row that one of cos and sin takes: pair k is at first + k * step. */
struct columns {
    size_t first, step;
};

static enum pe_status part_copy(struct api_request *request, const struct pe_tensor *from,
                                struct columns columns, struct api_tensor *out,
                                struct pe_error *err)
{
    const size_t size = pe_dtype_info(from->dtype)->size;
    const size_t rows = out->tensor.shape[0], pairs = out->tensor.shape[1];
    const size_t width = from->rank == 3 ? 2 * pairs : from->shape[1];
    unsigned char *to = api_arena_room(request->arena, rows * pairs * size + 1);

    if (!to)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", out->name);
    out->tensor.data = to;
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *at =
            (const unsigned char *)from->data + (row * width + columns.first) * size;
        for (size_t pair = 0; pair < pairs && columns.step > 1; pair++)
            memcpy(to + (row * pairs + pair) * size, at + pair * columns.step * size, size);
        if (columns.step == 1)
            memcpy(to + row * pairs * size, at, pairs * size);
    }
    return PE_OK;
}

/* Do both halves of every row have the same bytes? */
static bool is_twice(const struct pe_tensor *tensor)
{
    const size_t half = tensor->shape[1] / 2 * pe_dtype_info(tensor->dtype)->size;
    const unsigned char *row = tensor->data;

    for (size_t i = 0; i < tensor->shape[0]; i++, row += 2 * half)
        if (memcmp(row, row + half, half) != 0)
            return false;
    return true;
}

static struct api_tensor part_of(const char *name, const struct pe_tensor *like, size_t pairs)
{
    return (struct api_tensor){name,
                               {.dtype = like->dtype, .rank = 2, .shape = {like->shape[0], pairs}}};
}

static enum pe_status one_split(struct api_request *request, const struct layout *layout,
                                struct api_tensor *cos, struct api_tensor *sin,
                                struct pe_error *err)
{
    const bool complex = layout->rank == 3;
    const struct pe_tensor *tensor;
    size_t pairs;

    if (tensor_get(request, layout, 0, &tensor, err))
        return err->status;
    if (complex && tensor->shape[2] != 2)
        return width_refuse(layout, "must be [n, d / 2, 2], real and imaginary parts", err);
    if (tensor->shape[1] == 0 || (!complex && tensor->shape[1] % 2 != 0))
        return width_refuse(layout, "must have an even width, and not 0", err);
    pairs = complex ? tensor->shape[1] : tensor->shape[1] / 2;
    *cos = part_of("cos", tensor, pairs);
    *sin = part_of("sin", tensor, pairs);
    return part_copy(request, tensor, (struct columns){0, complex ? 2 : 1}, cos, err) ||
                   part_copy(request, tensor,
                             (struct columns){complex ? 1 : pairs, complex ? 2 : 1}, sin, err)
               ? err->status
               : PE_OK;
}

static enum pe_status two_split(struct api_request *request, enum api_engine cache,
                                struct api_tensor *cos, struct api_tensor *sin,
                                struct pe_error *err)
{
    const struct layout *layout = &layouts[cache];
    const struct pe_tensor *of_cos, *of_sin;

    if (tensor_get(request, layout, 0, &of_cos, err) ||
        tensor_get(request, layout, 1, &of_sin, err))
        return err->status;
    *cos = (struct api_tensor){"cos", *of_cos};
    *sin = (struct api_tensor){"sin", *of_sin};
    if (cache == API_ENGINE_ONNX)
        return PE_OK;
    if (of_cos->shape[1] % 2 != 0 || of_sin->shape[1] % 2 != 0 || !is_twice(of_cos) ||
        !is_twice(of_sin))
        return width_refuse(layout, "must have each row twice side by side", err);
    *cos = part_of("cos", of_cos, of_cos->shape[1] / 2);
    *sin = part_of("sin", of_sin, of_sin->shape[1] / 2);
    return part_copy(request, of_cos, (struct columns){0, 1}, cos, err) ||
                   part_copy(request, of_sin, (struct columns){0, 1}, sin, err)
               ? err->status
               : PE_OK;
}

enum pe_status api_engine_read(struct api_request *request, enum api_engine cache,
                               struct api_tensor *cos, struct api_tensor *sin, struct pe_error *err)
{
    return layouts[cache].tensors[1] ? two_split(request, cache, cos, sin, err)
                                     : one_split(request, &layouts[cache], cos, sin, err);
}

int api_engine_named(const char *name)
{
    static const struct pe_param param = API_PARAM_CACHE;
    struct pe_params params;

    pe_params_init(&params, &param, 1);
    return pe_params_set_text(&params, 0, name, &(struct pe_error){0})
               ? -1
               : (int)params.values[0].number;
}

const char *api_engine_name(enum api_engine cache)
{
    return layouts[cache].name;
}

bool api_engine_holds(enum api_engine cache, const char *tensor)
{
    const char *const *names = layouts[cache].tensors;

    return strcmp(names[0], tensor) == 0 || (names[1] && strcmp(names[1], tensor) == 0);
}

enum pe_status api_engine_factors_read(struct api_request *request, struct api_tensor *factors,
                                       struct pe_error *err)
{
    const struct layout *layout = &layouts[API_ENGINE_GGML];
    const struct pe_tensor *tensor;

    if (tensor_get(request, layout, 0, &tensor, err))
        return err->status;
    *factors = (struct api_tensor){layout->tensors[0], *tensor};
    return PE_OK;
}

/* ---- among the tensors ---------------------------------------------------------------------- */

static void tensor_drop(struct api_request *request, const char *name)
{
    struct api_tensor *tensor = name ? api_request_tensor(request, name) : NULL;

    if (!tensor)
        return;
    memmove(tensor, tensor + 1,
            (size_t)(request->tensors + request->tensors_count - tensor - 1) * sizeof(*tensor));
    request->tensors_count--;
}

/* Puts cos and sin in the place of one tensor or two. */
static enum pe_status parts_put(struct api_request *request, const char *const names[2],
                                const struct api_tensor parts[2], struct pe_error *err)
{
    struct api_tensor *tensors;

    for (size_t i = 0; i < 2; i++)
        tensor_drop(request, names[i]);
    tensors = api_arena_take(request->arena, (request->tensors_count + 2) * sizeof(*tensors));
    if (!tensors)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the tensors");
    if (request->tensors_count > 0)
        memcpy(tensors, request->tensors, request->tensors_count * sizeof(*tensors));
    memcpy(tensors + request->tensors_count, parts, 2 * sizeof(*parts));
    request->tensors = tensors;
    request->tensors_count += 2;
    return PE_OK;
}

enum pe_status api_engine_unstack(struct api_request *request, struct pe_error *err)
{
    static const char *const names[2] = {"table", NULL};
    const struct api_tensor *table = api_request_tensor(request, names[0]);
    struct api_tensor parts[2] = {{.name = "cos"}, {.name = "sin"}};
    size_t elements = 1;

    if (!table || table->tensor.rank < 3 || table->tensor.shape[0] != 2)
        return PE_OK;
    for (unsigned axis = 1; axis < table->tensor.rank; axis++)
        elements *= table->tensor.shape[axis];
    for (size_t i = 0; i < 2; i++) {
        struct pe_tensor *part = &parts[i].tensor;
        *part = table->tensor;
        part->rank--;
        memmove(part->shape, part->shape + 1, part->rank * sizeof(*part->shape));
        part->data = (char *)part->data + i * elements * pe_dtype_info(part->dtype)->size;
    }
    return parts_put(request, names, parts, err);
}

enum pe_status api_engine_split(struct api_request *request, const struct pe_params *params,
                                struct pe_error *err)
{
    struct api_tensor parts[2];
    int cache;

    if (cache_find(request, params, &cache, err) || cache < 0)
        return err->status;
    if (cache == API_ENGINE_GGML)
        return is_there(request, &layouts[cache])
                   ? PE_OK
                   : pe_fail(err, PE_MISSING, "tensor:rope_freqs.weight",
                             "a cache of ggml has a tensor rope_freqs.weight");
    if (api_engine_read(request, (enum api_engine)cache, &parts[0], &parts[1], err))
        return err->status;
    return parts_put(request, layouts[cache].tensors, parts, err);
}

/* ---- frequencies ---------------------------------------------------------------------------- */

static const struct listed {
    const char *tensor, *param;
} listed[] = {{"inv_freq", "inv_freq"}, {"rope_freqs.weight", "freq_factors"}};

static enum pe_status list_set(struct api_request *request, const struct listed *row,
                               const struct pe_tensor *tensor, struct pe_params *params,
                               struct pe_error *err)
{
    const int type = pe_params_find(params, "rope_type"), list = pe_params_find(params, row->param);
    char where[sizeof(err->where)];
    double *values;

    snprintf(where, sizeof(where), "tensor:%s", row->tensor);
    if (type < 0 || list < 0)
        return pe_fail(err, PE_CONFLICT, where, "the encoding has no %s", row->param);
    if (params->values[list].given)
        return pe_fail(err, PE_CONFLICT, where, "%s is given twice: as a parameter and as a tensor",
                       row->param);
    if (tensor->rank != 1 || !pe_dtype_is_float(tensor->dtype))
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must be [pairs], of f64, f32, f16 or bf16", row->tensor);
    values =
        (double *)(void *)api_arena_room(request->arena, (tensor->shape[0] + 1) * sizeof(*values));
    if (!values)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", row->tensor);
    pe_to_f64(values, tensor->data, tensor->dtype, tensor->shape[0]);
    if (!params->values[type].given && pe_params_set_text(params, (size_t)type, "custom", err))
        return err->status;
    return pe_params_set_list(params, (size_t)list, values, tensor->shape[0], err);
}

enum pe_status api_engine_frequencies(struct api_request *request, struct pe_params *params,
                                      struct pe_error *err)
{
    for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
        const struct api_tensor *tensor = api_request_tensor(request, listed[i].tensor);
        if (!tensor)
            continue;
        if (list_set(request, &listed[i], &tensor->tensor, params, err))
            return err->status;
        tensor_drop(request, listed[i].tensor);
    }
    return PE_OK;
}

/* ---- factors as a sample ----------------------------------------------------------------------
 */

enum pe_status api_engine_factors_open(struct api_request *request,
                                       struct api_engine_factors *factors, struct pe_error *err)
{
    static const char name[] = "rope_freqs.weight", where[] = "tensor:rope_freqs.weight";
    struct api_tensor *tensor = api_request_tensor(request, name);

    *factors = (struct api_engine_factors){0};
    if (!tensor)
        return PE_OK;
    if (api_request_tensor(request, "inv_freq"))
        return pe_fail(err, PE_CONFLICT, where, "%s is posted beside inv_freq", name);
    if (tensor->tensor.rank != 1 || tensor->tensor.shape[0] == 0 ||
        !pe_dtype_is_float(tensor->tensor.dtype))
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s must be [pairs], of f64, f32, f16 or bf16", name);
    if (tensor->tensor.shape[0] > PE_SAMPLE_PAIRS_MAX)
        return pe_fail(err, PE_TOO_LARGE, where, "a diagnosis reads at most %d pairs, %s has %zu",
                       PE_SAMPLE_PAIRS_MAX, name, tensor->tensor.shape[0]);
    factors->copy = tensor->tensor;
    factors->posted = &factors->copy;
    factors->inv_freq = tensor;
    tensor->name = "inv_freq";
    tensor->tensor.data = api_arena_room(request->arena, tensor->tensor.shape[0] * sizeof(double));
    return tensor->tensor.data ? PE_OK
                               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", name);
}

/* rope whose frequencies are those of the base, divided by the factors. */
static enum pe_status divided_open(struct api_request *request, const struct pe_tensor *posted,
                                   double base, struct pe_scheme **scheme, struct pe_error *err)
{
    const struct pe_encoding *rope = pe_encoding_find("rope");
    const size_t count = posted->shape[0];
    double *values = api_arena_take(request->arena, count * sizeof(*values));
    struct pe_params params;

    if (!values)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the factors");
    pe_to_f64(values, posted->data, posted->dtype, count);
    pe_params_init(&params, pe_encoding_info(rope)->params, pe_encoding_info(rope)->params_count);
    if (pe_params_infer(&params, "dim", 2 * (double)count, err) ||
        pe_params_infer(&params, "base", base, err) ||
        pe_params_set_text(&params, (size_t)pe_params_find(&params, "rope_type"), "custom", err) ||
        pe_params_set_list(&params, (size_t)pe_params_find(&params, "freq_factors"), values, count,
                           err) ||
        pe_scheme_open(scheme, rope, &params, request->work, err))
        *scheme = NULL;
    pe_params_free(&params);
    return err->status;
}

enum pe_status api_engine_factors_make(struct api_request *request,
                                       const struct api_engine_factors *factors,
                                       const struct pe_scheme *scheme, struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find("rope"), "frequencies");
    const double base = scheme ? pe_param_number(pe_scheme_params(scheme), "base") : NAN;
    const struct pe_params none = {.list = pe_view_info(type)->params};
    struct pe_scheme *divided = NULL;
    struct pe_view *view = NULL;

    if (!factors->posted)
        return PE_OK;
    if (isnan(base))
        return pe_fail(err, PE_MISSING, "parameter:encoding",
                       "factors divide frequencies that encoding, or config, tells the base of");
    if (divided_open(request, factors->posted, base, &divided, err) == PE_OK &&
        pe_scheme_prepare(divided, request->work, err) == PE_OK &&
        pe_view_new(&view, divided, type, &none, factors->posted->dtype, request->work, err) ==
            PE_OK)
        pe_view_fill(view, 0, 0, 1, factors->inv_freq->tensor.data, request->work, err);
    pe_view_free(view);
    pe_scheme_free(divided);
    return err->status;
}
