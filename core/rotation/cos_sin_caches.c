/* SPDX-License-Identifier: MIT */
#include "posenc/engine_caches.h"

#include <stdio.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/work.h"
#include "posenc/encodings.h"
#include "posenc/schemes.h"
#include "posenc/views.h"

static const struct pe_rotary_cache_info caches[] = {
    [PE_CACHE_HF] = {"hf", {"cos", "sin"}, 2},
    [PE_CACHE_VLLM] = {"vllm", {"cos_sin_cache", NULL}, 2},
    [PE_CACHE_META] = {"meta", {"freqs_cis", NULL}, 3},
    [PE_CACHE_ONNX] = {"onnx", {"cos_cache", "sin_cache"}, 2},
    [PE_CACHE_GGML] = {"ggml", {"rope_freqs.weight", NULL}, 1},
};

const struct pe_rotary_cache_info *pe_rotary_cache_info(enum pe_rotary_cache cache)
{
    return (unsigned)cache < PE_ROTARY_CACHES ? &caches[cache] : NULL;
}

static enum pe_status tensor_check(const struct pe_rotary_cache_info *info,
                                   const struct pe_tensor *tensor, size_t index,
                                   struct pe_error *err)
{
    const char *name = info->tensors[index];
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", name);
    if (!tensor)
        return pe_fail(err, PE_MISSING, where, "a cache of %s has a tensor %s", info->name, name);
    if (!pe_dtype_is_float(tensor->dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "%s must be f64, f32, f16 or bf16", name);
    if (tensor->rank == info->rank)
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s has rank %u, that of %s has %u", name,
                   tensor->rank, info->name, info->rank);
}

static enum pe_status width_refuse(const struct pe_rotary_cache_info *info, const char *what,
                                   struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", info->tensors[0]);
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s of %s %s", info->tensors[0], info->name,
                   what);
}

/* Do both halves of every row have the same bytes? */
static bool has_rows_twice(const struct pe_tensor *tensor)
{
    const size_t half = tensor->shape[1] / 2 * pe_dtype_info(tensor->dtype)->size;
    const unsigned char *row = tensor->data;

    if (tensor->shape[1] % 2 != 0)
        return false;
    for (size_t i = 0; i < tensor->shape[0]; i++, row += 2 * half)
        if (memcmp(row, row + half, half) != 0)
            return false;
    return true;
}

static struct pe_tensor part_of(const struct pe_tensor *like, size_t pairs)
{
    return (struct pe_tensor){.dtype = like->dtype, .rank = 2, .shape = {like->shape[0], pairs}};
}

enum pe_status pe_rotary_cache_parts(enum pe_rotary_cache cache,
                                     const struct pe_tensor *const tensors[2],
                                     struct pe_tensor parts[2], struct pe_error *err)
{
    const struct pe_rotary_cache_info *info = pe_rotary_cache_info(cache);

    parts[0] = parts[1] = (struct pe_tensor){0};
    if (!info)
        return pe_fail(err, PE_INVALID, "parameter:cache", "there is no such cache");
    if (tensor_check(info, tensors[0], 0, err) ||
        (info->tensors[1] && tensor_check(info, tensors[1], 1, err)))
        return err->status;
    const struct pe_tensor *first = tensors[0], *second = tensors[1];
    if (cache == PE_CACHE_META && first->shape[2] != 2)
        return width_refuse(info, "must be [n, d / 2, 2], real and imaginary parts", err);
    if ((cache == PE_CACHE_META || cache == PE_CACHE_VLLM) &&
        (first->shape[1] == 0 || (cache == PE_CACHE_VLLM && first->shape[1] % 2 != 0)))
        return width_refuse(info, "must have an even width, and not 0", err);
    if (cache == PE_CACHE_HF && !(has_rows_twice(first) && has_rows_twice(second)))
        return width_refuse(info, "must have each row twice side by side", err);
    if (cache == PE_CACHE_ONNX || cache == PE_CACHE_GGML) {
        parts[0] = *first;
        parts[1] = second ? *second : parts[1];
        return PE_OK;
    }
    parts[0] = part_of(first, cache == PE_CACHE_META ? first->shape[1] : first->shape[1] / 2);
    parts[1] = second ? part_of(second, second->shape[1] / 2) : parts[0];
    return PE_OK;
}

/* Pair k of a row is its element first + k * step. */
static void columns_copy(const struct pe_tensor *from, size_t first, size_t step,
                         const struct pe_tensor *to)
{
    const size_t size = pe_dtype_info(from->dtype)->size;
    const size_t rows = to->shape[0], pairs = to->shape[1];
    const size_t width = from->rank == 3 ? 2 * pairs : from->shape[1];
    char *out = to->data;

    for (size_t row = 0; row < rows; row++, out += pairs * size) {
        const char *in = (const char *)from->data + (row * width + first) * size;
        for (size_t pair = 0; pair < pairs && step > 1; pair++)
            memcpy(out + pair * size, in + pair * step * size, size);
        if (step == 1)
            memcpy(out, in, pairs * size);
    }
}

void pe_rotary_cache_split(enum pe_rotary_cache cache, const struct pe_tensor *const tensors[2],
                           const struct pe_tensor parts[2])
{
    if (cache == PE_CACHE_ONNX || cache == PE_CACHE_GGML)
        return;
    const bool complex = cache == PE_CACHE_META;
    const struct pe_tensor *second = cache == PE_CACHE_HF ? tensors[1] : tensors[0];
    const size_t sin = cache == PE_CACHE_HF ? 0 : complex ? 1 : parts[0].shape[1];
    columns_copy(tensors[0], 0, complex ? 2 : 1, &parts[0]);
    columns_copy(second, sin, complex ? 2 : 1, &parts[1]);
}

/* rope with the frequencies of the base, divided by the factors. */
static enum pe_status divided_open(const struct pe_tensor *factors, const double *values,
                                   double base, struct pe_scheme **scheme, struct pe_work *work,
                                   struct pe_error *err)
{
    const struct pe_encoding *rope = pe_encoding_find("rope");
    const size_t count = factors->shape[0];
    struct pe_params params;

    pe_params_init(&params, pe_encoding_info(rope)->params, pe_encoding_info(rope)->params_count);
    if (pe_params_infer(&params, "dim", 2 * (double)count, err) ||
        pe_params_infer(&params, "base", base, err) ||
        pe_params_set_text(&params, (size_t)pe_params_find(&params, "rope_type"), "custom", err) ||
        pe_params_set_list(&params, (size_t)pe_params_find(&params, "freq_factors"), values, count,
                           err) ||
        pe_scheme_open(scheme, rope, &params, work, err))
        *scheme = NULL;
    pe_params_free(&params);
    return err->status;
}

enum pe_status pe_rotary_factors_apply(const struct pe_tensor *factors, double base, void *inv_freq,
                                       struct pe_work *work, struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find("rope"), "frequencies");
    const struct pe_params none = {.list = pe_view_info(type)->params};
    struct pe_scheme *scheme = NULL;
    struct pe_view *view = NULL;
    double *values;

    if (tensor_check(&caches[PE_CACHE_GGML], factors, 0, err))
        return err->status;
    values = pe_memory_take(work, factors->shape[0], sizeof(*values), "the factors", err);
    if (!values)
        return err->status;
    pe_to_f64(values, factors->data, factors->dtype, factors->shape[0]);
    if (divided_open(factors, values, base, &scheme, work, err) == PE_OK &&
        pe_scheme_prepare(scheme, work, err) == PE_OK &&
        pe_view_new(&view, scheme, type, &none, factors->dtype, work, err) == PE_OK)
        pe_view_fill(view, 0, 0, 1, inv_freq, work, err);
    pe_view_free(view);
    pe_scheme_free(scheme);
    pe_memory_give(work, values, factors->shape[0], sizeof(*values));
    return err->status;
}
