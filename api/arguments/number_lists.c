/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/formats/formats.h"
#include "api/request/parameters.h"

/* Reads a list of numbers of a request: from a tensor, from JSON, or from text. */

#define NUMBER_MAX (0x1p53 - 1) /* a double holds every integer up to here */

enum {
    RANK_MAX = 3,
    RANGE_FREE = 4096, /* elements of a range that are expanded without a check */
};

struct source {
    struct api_request *request;
    const char *name;
    struct api_numbers *numbers;
    struct pe_error *err;
};

static enum pe_status fail(const struct source *source, enum pe_status status, const char *what)
{
    return pe_fail(source->err, status, source->numbers->where, "%s %s", source->name, what);
}

static double *values_take(const struct source *source, size_t count)
{
    size_t size;

    return pe_size_multiply(count + 1, sizeof(double), &size)
               ? api_arena_take(source->request->arena, size)
               : NULL;
}

static enum pe_status magnitudes_check(const struct source *source)
{
    const struct api_numbers *numbers = source->numbers;
    const size_t count = numbers->planes * numbers->rows * numbers->columns;

    for (size_t i = 0; i < count; i++)
        if (!(fabs(numbers->values[i]) <= NUMBER_MAX)) /* may have been rounded */
            return pe_fail(source->err, PE_OUT_OF_RANGE, numbers->where,
                           "%s must be within +-(2^53 - 1), got %.4g at index %zu", source->name,
                           numbers->values[i], i);
    return PE_OK;
}

/* `shape` has `rank` sizes, at most three. */
static enum pe_status numbers_set(const struct source *source, unsigned rank, const size_t *shape,
                                  const double *values)
{
    struct api_numbers *numbers = source->numbers;

    if (!values)
        return fail(source, PE_OUT_OF_MEMORY, "finds no memory");
    numbers->given = true;
    numbers->rank = rank;
    numbers->planes = rank > 2 ? shape[rank - 3] : 1;
    numbers->rows = rank > 1 ? shape[rank - 2] : 1;
    numbers->columns = rank > 0 ? shape[rank - 1] : 1;
    numbers->values = values;
    return magnitudes_check(source);
}

/* ---- a tensor ------------------------------------------------------------------------------- */

static enum pe_status tensor_numbers(const struct source *source, const struct api_tensor *tensor)
{
    const struct pe_tensor *from = &tensor->tensor;
    size_t count;
    double *values;

    source->numbers->where = api_arena_print(source->request->arena, "tensor:%.80s", tensor->name);
    if (!source->numbers->where)
        return pe_fail(source->err, PE_OUT_OF_MEMORY, "", "no memory for %s", source->name);
    source->numbers->tensor = tensor->name;
    if (from->dtype == PE_F16 || from->dtype == PE_BF16 || from->dtype == PE_BOOL)
        return fail(source, PE_INVALID, "as a tensor must be i32, i64, u32, u8, f32 or f64");
    if (from->rank > RANK_MAX)
        return fail(source, PE_SHAPE_MISMATCH, "as a tensor must be [s], [b, s] or [axes, b, s]");
    pe_shape_elements(from->shape, from->rank, &count);
    values = values_take(source, count);
    if (values)
        pe_to_f64(values, from->data, from->dtype, count);
    return numbers_set(source, from->rank, from->shape, values);
}

static enum pe_status tensor_named(const struct source *source, const char *name)
{
    const struct api_tensor *tensor = api_request_tensor(source->request, name);

    if (!tensor)
        return pe_fail(source->err, PE_MISSING, source->numbers->where,
                       "%s names the tensor '%.60s', which is not in the request", source->name,
                       name);
    return tensor_numbers(source, tensor);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* The sizes of nested lists, by the first list of each depth; returns the depth. */
static unsigned shape_read(const json_t *array, size_t *shape)
{
    unsigned rank = 0;

    for (; rank < RANK_MAX && json_is_array(array); array = json_array_get(array, 0))
        shape[rank++] = json_array_size(array);
    return rank;
}

static enum pe_status elements_read(const struct source *source, const json_t *json, unsigned rank,
                                    const size_t *shape, double **out)
{
    if (rank == 0 && !json_is_number(json))
        return fail(source, PE_INVALID, "must have numbers only, all lists of one depth");
    if (rank == 0) {
        *(*out)++ = json_number_value(json);
        return PE_OK;
    }
    if (!json_is_array(json) || json_array_size(json) != shape[0])
        return fail(source, PE_SHAPE_MISMATCH, "must have rows of one length");
    for (size_t i = 0; i < shape[0]; i++)
        if (elements_read(source, json_array_get(json, i), rank - 1, shape + 1, out))
            return source->err->status;
    return PE_OK;
}

/* A long list, which the parser has already read as a tensor. */
static enum pe_status long_numbers(const struct source *source, const struct pe_tensor *list)
{
    if (list->rank > RANK_MAX)
        return fail(source, PE_SHAPE_MISMATCH, "has lists too deep");
    return numbers_set(source, list->rank, list->shape, list->data);
}

static enum pe_status array_numbers(const struct source *source, const json_t *array)
{
    size_t shape[RANK_MAX], count;
    const unsigned rank = shape_read(array, shape);
    double *values = pe_shape_elements(shape, rank, &count) ? values_take(source, count) : NULL;
    double *at = values;

    if (values && elements_read(source, array, rank, shape, &at))
        return source->err->status;
    return numbers_set(source, rank, shape, values);
}

static enum pe_status scalar_numbers(const struct source *source, double number)
{
    double *values = values_take(source, 1);

    if (values)
        values[0] = number;
    return numbers_set(source, 0, NULL, values);
}

/* ---- text ----------------------------------------------------------------------------------- */

static enum pe_status list_numbers(const struct source *source, const struct pe_value *list)
{
    const bool flat = list->rows == 0;
    const size_t rows = flat ? 1 : list->rows, shape[] = {rows, list->list_count / rows};

    return numbers_set(source, flat ? 1 : 2, flat ? shape + 1 : shape, list->list);
}

/* Refuses a range with more elements than any tensor has positions, or ends of them. Without
 * tensors the answer is made of the list, and the limit of the format holds. */
static enum pe_status range_size_check(const struct source *source, const struct pe_value *range)
{
    const struct api_request *request = source->request;
    size_t most = 0;

    if (range->list_count <= RANGE_FREE)
        return PE_OK;
    for (size_t i = 0; i < request->tensors_count; i++) {
        const struct pe_tensor *tensor = &request->tensors[i].tensor;
        size_t count = 1;
        for (unsigned axis = 0; axis < tensor->rank; axis++)
            if (tensor->shape[axis] > 0 && !pe_size_multiply(count, tensor->shape[axis], &count))
                count = SIZE_MAX / 2;
        most = count > most ? count : most;
    }
    if (request->tensors_count == 0)
        return api_format_elements_check(request, range->list_count, source->err);
    if (range->list_count <= most + 1)
        return PE_OK;
    return pe_fail(source->err, PE_SHAPE_MISMATCH, source->numbers->where,
                   "%s has %zu entries, the longest tensor has %zu elements", source->name,
                   range->list_count, most);
}

/* Expands a range, because its numbers are read in any order. */
static enum pe_status range_numbers(const struct source *source, const struct pe_value *range)
{
    const size_t rows = range->rows, columns = range->list_count / (rows > 0 ? rows : 1);
    const size_t shape[] = {rows, columns};
    size_t size;

    if (range_size_check(source, range))
        return source->err->status;
    double *values = pe_size_multiply(range->list_count, sizeof(*values), &size)
                         ? (double *)(void *)api_arena_buffer(source->request->arena, size)
                         : NULL;

    if (values && pe_value_expand(range, values, source->request->work, source->err))
        return source->err->status;
    return numbers_set(source,
                       rows > 0      ? 2
                       : columns > 1 ? 1
                                     : 0,
                       rows > 0 ? shape : shape + 1, values);
}

/* "tensor:NAME", one number, or ranges; semicolons separate rows. The arena takes over the list. */
static enum pe_status text_numbers(const struct source *source, const char *text)
{
    const struct pe_param param = {.name = source->name,
                                   .type = PE_RANGES,
                                   .nested = true,
                                   .min = -NUMBER_MAX,
                                   .max = NUMBER_MAX};
    struct pe_params params;
    struct pe_value *value = &params.values[0];

    if (strncmp(text, "tensor:", 7) == 0)
        return tensor_named(source, text + 7);
    pe_params_init(&params, &param, 1);
    params.work = source->request->work;
    if (pe_params_set_text(&params, 0, text, source->err) == PE_OK && value->range) {
        range_numbers(source, value);
    } else if (!source->err->status) {
        value->lent = api_arena_defer(source->request->arena, free, value->list);
        if (!value->lent)
            fail(source, PE_OUT_OF_MEMORY, "finds no memory");
        else if (value->list_count == 1 && value->rows == 0)
            numbers_set(source, 0, NULL, value->list);
        else
            list_numbers(source, value);
    }
    pe_params_free(&params);
    return source->err->status;
}

/* ---- the argument ---------------------------------------------------------------------------- */

static const char *pair_value(const struct api_pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

static enum pe_status json_numbers(const struct source *source, json_t *json)
{
    if (json_is_string(json))
        return text_numbers(source, json_string_value(json));
    if (json_is_array(json)) {
        const struct pe_tensor *list = api_request_list(source->request, source->name);
        return list ? long_numbers(source, list) : array_numbers(source, json);
    }
    if (json_is_number(json))
        return scalar_numbers(source, json_number_value(json));
    if (json_is_object(json)) {
        source->numbers->object = json;
        return PE_OK;
    }
    return fail(source, PE_INVALID,
                "must be a number, a list, a list of lists, or \"tensor:NAME\"");
}

enum pe_status api_numbers_read(struct api_request *request, const char *name,
                                struct api_numbers *numbers, struct pe_error *err)
{
    const char *query = pair_value(request->query, request->query_count, name);
    const char *metadata = pair_value(request->metadata, request->metadata_count, name);
    const struct api_tensor *tensor = api_request_tensor(request, name);
    const struct source source = {request, name, numbers, err};
    json_t *json = json_object_get(request->json, name);
    char named[64];

    *numbers = (struct api_numbers){
        .where = api_arena_print(request->arena, json ? "pointer:/%s" : "parameter:%s", name)};
    if (!numbers->where)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %s", name);
    if ((query != NULL) + (metadata != NULL) + (json != NULL) > 1)
        return fail(&source, PE_CONFLICT, "is given twice");
    snprintf(named, sizeof(named), "tensor:%s", name);
    const char *text = query ? query : metadata ? metadata : json_string_value(json);
    if (tensor && (text || json) && !(text && strcmp(text, named) == 0))
        return fail(&source, PE_CONFLICT, "is given twice: as a parameter and as a tensor");
    if (tensor)
        return tensor_numbers(&source, tensor);
    if (query || metadata)
        return text_numbers(&source, text);
    return json ? json_numbers(&source, json) : PE_OK;
}

json_t *api_number_json(double number)
{
    if (isfinite(number))
        return json_real(number);
    return json_string(isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
}
