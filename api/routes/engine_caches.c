/* SPDX-License-Identifier: MIT */
#include "api/routes/engine_caches.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/request/parameters.h"

/* ---- which cache is posted ------------------------------------------------------------------- */

static bool is_posted(struct api_request *request, enum pe_rotary_cache cache)
{
    const char *const *names = pe_rotary_cache_info(cache)->tensors;

    return api_request_tensor(request, names[0]) ||
           (names[1] && api_request_tensor(request, names[1]));
}

/* cos and sin may be any table: they are hf's where the parameter `cache` names it. */
static enum pe_status cache_find(struct api_request *request, const struct pe_params *params,
                                 int *cache, struct pe_error *err)
{
    const struct pe_value *named = pe_param_value(params, "cache");

    *cache = named->present ? (int)named->number : -1;
    for (int i = 0; i < PE_ROTARY_CACHES; i++) {
        if (i == *cache || !is_posted(request, (enum pe_rotary_cache)i) ||
            (i == PE_CACHE_HF && *cache < 0))
            continue;
        if (*cache >= 0)
            return pe_fail(err, PE_CONFLICT, "parameter:cache",
                           "the tensors are two caches, %s's and %s's; post one",
                           pe_rotary_cache_info((enum pe_rotary_cache) * cache)->name,
                           pe_rotary_cache_info((enum pe_rotary_cache)i)->name);
        *cache = i;
    }
    if (*cache >= 0 && *cache != PE_CACHE_HF && is_posted(request, PE_CACHE_HF))
        return pe_fail(err, PE_CONFLICT, "parameter:cache",
                       "cos and sin are posted beside %s; post one of them",
                       pe_rotary_cache_info((enum pe_rotary_cache) * cache)->tensors[0]);
    return PE_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

int api_engine_cache_named(const char *name)
{
    static const struct pe_param param = API_PARAM_CACHE;
    struct pe_params params;

    pe_params_init(&params, &param, 1);
    return pe_params_set_text(&params, 0, name, &(struct pe_error){0})
               ? -1
               : (int)params.values[0].number;
}

bool api_engine_cache_holds(enum pe_rotary_cache cache, const char *tensor)
{
    const char *const *names = pe_rotary_cache_info(cache)->tensors;

    return strcmp(names[0], tensor) == 0 || (names[1] && strcmp(names[1], tensor) == 0);
}

enum pe_status api_engine_cache_read(struct api_request *request, enum pe_rotary_cache cache,
                                     struct api_tensor parts[2], struct pe_error *err)
{
    const char *const *names = pe_rotary_cache_info(cache)->tensors;
    const struct pe_tensor *tensors[2] = {NULL, NULL};
    struct pe_tensor made[2];

    for (size_t i = 0; i < 2 && names[i]; i++) {
        const struct api_tensor *found = api_request_tensor(request, names[i]);
        tensors[i] = found ? &found->tensor : NULL;
    }
    if (pe_rotary_cache_parts(cache, tensors, made, err))
        return err->status;
    parts[0] = (struct api_tensor){cache == PE_CACHE_GGML ? names[0] : "cos", made[0]};
    parts[1] = (struct api_tensor){"sin", made[1]};
    if (cache == PE_CACHE_ONNX || cache == PE_CACHE_GGML)
        return PE_OK;
    for (size_t i = 0; i < 2; i++) {
        made[i].data = api_arena_buffer(
            request->arena,
            made[i].shape[0] * made[i].shape[1] * pe_dtype_info(made[i].dtype)->size + 1);
        if (!made[i].data)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", parts[i].name);
        parts[i].tensor.data = made[i].data;
    }
    pe_rotary_cache_split(cache, tensors, made);
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

/* Replaces one tensor or two by cos and sin. */
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

enum pe_status api_stacked_table_split(struct api_request *request, struct pe_error *err)
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

enum pe_status api_engine_cache_replace(struct api_request *request, const struct pe_params *params,
                                        struct pe_error *err)
{
    struct api_tensor parts[2];
    int cache;

    if (cache_find(request, params, &cache, err) || cache < 0)
        return err->status;
    const enum pe_rotary_cache found = (enum pe_rotary_cache)cache;
    if (found == PE_CACHE_GGML)
        return is_posted(request, found)
                   ? PE_OK
                   : pe_fail(err, PE_MISSING, "tensor:rope_freqs.weight",
                             "a cache of ggml has a tensor rope_freqs.weight");
    return api_engine_cache_read(request, found, parts, err) ||
                   parts_put(request, pe_rotary_cache_info(found)->tensors, parts, err)
               ? err->status
               : PE_OK;
}

/* ---- frequencies ---------------------------------------------------------------------------- */

static const struct list_tensor {
    const char *tensor, *param;
} list_tensors[] = {{"inv_freq", "inv_freq"}, {"rope_freqs.weight", "freq_factors"}};

static enum pe_status list_set(struct api_request *request, const struct list_tensor *row,
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
    values = (double *)(void *)api_arena_buffer(request->arena,
                                                (tensor->shape[0] + 1) * sizeof(*values));
    if (!values)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", row->tensor);
    pe_to_f64(values, tensor->data, tensor->dtype, tensor->shape[0]);
    if (!params->values[type].given && pe_params_set_text(params, (size_t)type, "custom", err))
        return err->status;
    return pe_params_set_list(params, (size_t)list, values, tensor->shape[0], err);
}

enum pe_status api_posted_frequencies(struct api_request *request, struct pe_params *params,
                                      struct pe_error *err)
{
    for (size_t i = 0; i < sizeof(list_tensors) / sizeof(list_tensors[0]); i++) {
        const struct api_tensor *tensor = api_request_tensor(request, list_tensors[i].tensor);
        if (!tensor)
            continue;
        if (list_set(request, &list_tensors[i], &tensor->tensor, params, err))
            return err->status;
        tensor_drop(request, list_tensors[i].tensor);
    }
    return PE_OK;
}

/* ---- factors as a sample --------------------------------------------------------------------- */

enum pe_status api_factors_open(struct api_request *request, struct api_factors *factors,
                                struct pe_error *err)
{
    static const char name[] = "rope_freqs.weight", where[] = "tensor:rope_freqs.weight";
    struct api_tensor *tensor = api_request_tensor(request, name);

    *factors = (struct api_factors){0};
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
    tensor->tensor.data =
        api_arena_buffer(request->arena, tensor->tensor.shape[0] * sizeof(double));
    return tensor->tensor.data ? PE_OK
                               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", name);
}

enum pe_status api_factors_apply(struct api_request *request, const struct api_factors *factors,
                                 const struct pe_scheme *scheme, struct pe_error *err)
{
    const double base = scheme ? pe_param_number(pe_scheme_params(scheme), "base") : NAN;

    if (!factors->posted)
        return PE_OK;
    if (isnan(base))
        return pe_fail(
            err, PE_MISSING, "parameter:encoding",
            "factors divide frequencies; encoding, or config, is required for their base");
    return pe_rotary_factors_apply(factors->posted, base, factors->inv_freq->tensor.data,
                                   request->work, err);
}

/* ---- axes of keys and values in reports ------------------------------------------------------ */

json_t *api_kv_place_json(const struct pe_kv_axes *axes, const char *among, size_t place)
{
    json_t *object = json_object();

    for (unsigned i = 0; i + 1 < axes->rank; i++) {
        const char name[] = {axes->letters[i], '\0'};
        if (strchr(among, *name))
            json_object_set_new(
                object, name,
                json_integer((json_int_t)pe_kv_axes_coordinate(axes, among, place, *name)));
    }
    return object;
}

void api_kv_heads_report(const struct pe_kv_axes *axes, json_t *report)
{
    char letters[sizeof(PE_KV_HEADS)] = "";
    json_t *shape = json_array();
    size_t used = 0;

    for (unsigned i = 0; i + 1 < axes->rank; i++)
        if (strchr(PE_KV_HEADS, axes->letters[i])) {
            letters[used++] = axes->letters[i];
            json_array_append_new(shape, json_integer((json_int_t)axes->shape[i]));
        }
    json_object_set_new(report, "axes", json_string(letters));
    json_object_set_new(report, "shape", shape);
}
