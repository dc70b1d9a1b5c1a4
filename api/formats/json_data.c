/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "api/formats/reader.h"

static enum pe_status fail(const char *name, size_t at, enum pe_status status, const char *what,
                           struct pe_error *err)
{
    char where[sizeof(err->where)];

    if (status == PE_OUT_OF_MEMORY)
        return pe_fail(err, status, "", "no memory for the elements of %.60s", name);
    return pe_fail(err, status, api_tensor_where(name, where, sizeof(where)),
                   "data of %.60s, byte %zu of the body: %s", name, at, what);
}

/* Does the array fill the shape that was given, nested or flat? An empty one cannot be nested below
 * its dimension of 0: [[[], []]] is all there is of [1, 2, 0, 4]. */
static bool fits(const struct api_json_array *array, const struct pe_tensor *tensor, size_t *count)
{
    const struct pe_tensor *read = &array->tensor;
    bool same = read->rank <= tensor->rank && (read->rank == tensor->rank || array->elements == 0);

    *count = 1;
    for (unsigned i = 0; i < tensor->rank; i++) {
        same = same && (i >= read->rank || tensor->shape[i] == read->shape[i]);
        *count *= tensor->shape[i];
    }
    return same || (read->rank == 1 && array->elements == *count);
}

enum pe_status api_json_data_read(struct api_request *request, const char *name,
                                  struct api_json_span *span, bool shaped,
                                  struct api_json_scratch *scratch, struct pe_tensor *tensor,
                                  struct pe_error *err)
{
    struct api_json_array *array = &span->array;
    enum pe_status status;
    char text[96];
    size_t count;

    if (!array->tensor.data || array->tensor.dtype != tensor->dtype) {
        api_arena_room_drop(request->arena, array->tensor.data);
        status = api_json_array_read(array, request->body, span->begin, span->end, tensor->dtype,
                                     scratch);
        if (status)
            return fail(name, array->end, status, array->fault, err);
    }
    if (shaped && !fits(array, tensor, &count)) {
        snprintf(text, sizeof(text), "%zu elements, nested %u deep, do not fill its shape (%zu)",
                 array->elements, array->tensor.rank, count);
        return fail(name, array->end, PE_SHAPE_MISMATCH, text, err);
    }
    if (shaped)
        tensor->data = array->tensor.data;
    else
        *tensor = array->tensor;
    return PE_OK;
}
