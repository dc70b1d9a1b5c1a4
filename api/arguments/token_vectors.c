/* SPDX-License-Identifier: MIT */
#include "api/arguments/arguments.h"

#include <stdio.h>
#include <string.h>

#include "api/base/compiler.h"
#include "api/memory/json.h"
#include "api/request/parameters.h"
#include "api/response/etag.h"

/* "a,b" of a query or of metadata. */
static enum pe_status text_split(struct api_request *request, const char *text, json_t **list,
                                 struct pe_error *err)
{
    json_t *found = json_array();

    *list = NULL;
    if (!api_json_keep(request->arena, found))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the tokens");
    while (*text) {
        const size_t length = strcspn(text, ",");
        json_array_append_new(found, json_stringn(text, length));
        text += length + (text[length] != '\0');
    }
    *list = found;
    return PE_OK;
}

enum pe_status api_tokens_read(struct api_request *request, const json_t **list,
                               struct pe_error *err)
{
    json_t *json = json_object_get(request->json, "tokens");
    const char *text = api_request_text(request, "tokens");

    *list = NULL;
    if (!json && !text)
        return PE_OK;
    if (!json && text_split(request, text, &json, err))
        return err->status;
    for (size_t i = 0; i < json_array_size(json); i++)
        if (!json_is_string(json_array_get(json, i)))
            return pe_fail(err, PE_INVALID, "pointer:/tokens", "token %zu is not a string", i);
    if (json_array_size(json) == 0)
        return pe_fail(err, PE_INVALID, "pointer:/tokens",
                       "tokens must be a list of strings, one at least");
    *list = json;
    return PE_OK;
}

/* splitmix64: every state gives another number, and neighbours have nothing in common. */
API_WRAPS("a generator works modulo 2^64")
static uint64_t number_next(uint64_t *state)
{
    uint64_t number = *state += 0x9e3779b97f4a7c15;

    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

static void vector_fill(float *out, size_t dim, const char *token, uint64_t seed)
{
    struct api_hash hash;
    uint64_t state;

    api_hash_start(&hash);
    api_hash_bytes(&hash, &seed, sizeof(seed));
    api_hash_bytes(&hash, token, strlen(token));
    state = (uint64_t)hash.state ^ (uint64_t)(hash.state >> 64);
    for (size_t i = 0; i < dim; i++)
        out[i] = (float)((int32_t)(number_next(&state) >> 40) - (1 << 23)) * 0x1p-23f;
}

struct api_tensor api_tokens_tensor(const json_t *list, size_t dim)
{
    return (struct api_tensor){
        .name = "x",
        .tensor = {.dtype = PE_F32, .rank = 3, .shape = {1, json_array_size(list), dim}}};
}

enum pe_status api_tokens_fill(struct api_request *request, const json_t *list, uint64_t seed,
                               struct api_tensor *tensor, struct pe_error *err)
{
    const size_t count = tensor->tensor.shape[1], dim = tensor->tensor.shape[2];
    float *data = NULL;
    size_t size;

    if (pe_shape_elements(tensor->tensor.shape, 3, &size) &&
        pe_size_multiply(size + 1, sizeof(*data), &size))
        data = (float *)(void *)api_arena_buffer(request->arena, size);
    if (!data)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the vectors of %zu tokens", count);
    for (size_t i = 0; i < count; i++)
        vector_fill(data + i * dim, dim, json_string_value(json_array_get(list, i)), seed);
    tensor->tensor.data = data;
    return PE_OK;
}
