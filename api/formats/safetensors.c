/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/formats/reader.h"
#include "api/numbers/text.h"
#include "api/response/blocks.h"
#include "posenc/posenc.h"

/* https://github.com/huggingface/safetensors: a little-endian length of 8 bytes, a header (JSON:
 * name -> dtype, shape, data_offsets) padded with blanks to a multiple of 8, the elements. */

enum { LENGTH_SIZE = 8 };

/* ---- writing -------------------------------------------------------------------------------- */

/* Metadata are strings: other values as JSON text, and lists without brackets, as in a query. */
static bool metadata_add(json_t *metadata, const char *key, const json_t *value)
{
    struct api_text text = {0};
    bool added;

    if (json_is_string(value))
        api_text_put(&text, json_string_value(value));
    else
        api_text_json(&text, value, true);
    if (json_is_array(value) && text.size > 1) {
        text.bytes[text.size - 1] = '\0';
        memmove(text.bytes, text.bytes + 1, text.size - 1);
    }
    added = !text.failed && json_object_set_new(metadata, key, json_string(text.bytes)) == 0;
    api_text_free(&text);
    return added;
}

/* NULL: out of memory. */
static json_t *metadata_make(const struct api_request *request, const struct api_result *result)
{
    json_t *metadata = json_object();
    bool done = metadata != NULL;
    const char *name;
    json_t *value;
    char key[80];

    for (size_t i = 0; done && i < request->passed_metadata_count; i++)
        json_object_set_new(metadata, request->passed_metadata[i].name,
                            json_string(request->passed_metadata[i].value));
    if (result->attention)
        done = done && metadata_add(metadata, "attention", result->attention);
    if (result->golden)
        done = done && metadata_add(metadata, "golden", result->golden);
    json_object_foreach(result->encoding, name, value)
    {
        snprintf(key, sizeof(key), "posenc.%.64s", strcmp(name, "name") == 0 ? "encoding" : name);
        done = done && metadata_add(metadata, key, value);
    }
    if (done)
        return metadata;
    json_decref(metadata);
    return NULL;
}

/* {"dtype": "F32", "shape": [4, 64], "data_offsets": [0, 1024]} */
static json_t *tensor_make(const struct pe_output *output, uint64_t begin)
{
    size_t shape[PE_RANK_MAX + 1];
    const unsigned rank = api_output_shape(output, shape);
    json_t *axes = json_array();

    for (unsigned axis = 0; axes && axis < rank; axis++)
        json_array_append_new(axes, json_integer((json_int_t)shape[axis]));
    return json_pack("{ss so s[II]}", "dtype", pe_dtype_info(output->dtype)->safetensors, "shape",
                     axes, "data_offsets", (json_int_t)begin,
                     (json_int_t)(begin + api_output_size(output)));
}

static json_t *header_make(const struct api_request *request, const struct api_result *result)
{
    json_t *header = json_object(), *metadata = metadata_make(request, result);
    uint64_t offset = 0;

    if (!metadata) {
        json_decref(header);
        return NULL;
    }
    if (json_object_size(metadata) > 0)
        json_object_set_new(header, "__metadata__", metadata);
    else
        json_decref(metadata);
    for (size_t i = 0; header && i < result->outputs_count; i++) {
        json_object_set_new(header, result->outputs[i].name,
                            tensor_make(&result->outputs[i], offset));
        offset += api_output_size(&result->outputs[i]);
    }
    return header;
}

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    static const char blanks[] = "        ";
    struct api_text text = {0};
    json_t *header = header_make(request, result);
    unsigned char *prefix;
    uint64_t length;
    size_t size;

    if (!header)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_text_add(&text, blanks, LENGTH_SIZE);
    api_text_json(&text, header, false);
    json_decref(header);
    api_text_add(&text, blanks, (8 - (text.size & 7)) & 7);
    size = text.size;
    prefix = (unsigned char *)api_text_take(&text, request->arena);
    if (!prefix)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    length = size - LENGTH_SIZE;
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        prefix[i] = (unsigned char)(length >> (8 * i));
    return api_blocks_render(request, result, prefix, size, response, err);
}

const struct api_format api_format_safetensors = {
    .name = "safetensors",
    .media_type = "application/x-safetensors",
    .extension = "safetensors",
    .binary = true,
    .is_file = true,
    .render = render,
};

/* ---- reading -------------------------------------------------------------------------------- */

/* As the format demands, the tensors must fill the data exactly, without holes or overlaps. */

struct range {
    uint64_t begin, end;
};

static uint64_t header_length(const unsigned char *body)
{
    uint64_t length = 0;

    for (int i = LENGTH_SIZE - 1; i >= 0; i--)
        length = length << 8 | body[i];
    return length;
}

static enum pe_status fail(struct pe_error *err, const char *name, const char *fault)
{
    char where[sizeof(err->where)];

    return pe_fail(err, PE_MALFORMED, api_tensor_where(name, where, sizeof(where)),
                   "safetensors header, tensor %.60s: %s", name, fault);
}

static enum pe_status metadata_read(struct api_request *request, json_t *json, struct pe_error *err)
{
    static const char prefix[] = "posenc.";
    const size_t count = json_object_size(json);
    struct api_pair *pairs = api_arena_take(request->arena, (2 * count + 1) * sizeof(*pairs));
    const char *key;
    json_t *value;

    if (!json_is_object(json))
        return fail(err, "__metadata__", "must be an object of strings");
    if (!pairs)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the metadata");
    request->metadata = pairs;
    request->passed_metadata = pairs + count;
    json_object_foreach(json, key, value)
    {
        if (!json_is_string(value))
            return fail(err, "__metadata__", "has a value that is no string");
        if (strncmp(key, prefix, sizeof(prefix) - 1) == 0)
            request->metadata[request->metadata_count++] =
                (struct api_pair){key + sizeof(prefix) - 1, json_string_value(value)};
        else
            request->passed_metadata[request->passed_metadata_count++] =
                (struct api_pair){key, json_string_value(value)};
    }
    return PE_OK;
}

static bool unsigned_read(const json_t *json, uint64_t *out)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0)
        return false;
    *out = (uint64_t)json_integer_value(json);
    return true;
}

/* The dtypes of the format as a list behind its first two characters. */
static const char dtypes[] =
#define X(name, text, size, safetensors, npy, aliases) ", " safetensors
    PE_DTYPE_MAP(X)
#undef X
    ;

static enum pe_status dtype_read(const json_t *json, const char *name, enum pe_dtype *out,
                                 struct pe_error *err)
{
    char fault[100];

    for (int dtype = 0; json_is_string(json) && dtype < PE_DTYPES; dtype++)
        if (strcmp(pe_dtype_info((enum pe_dtype)dtype)->safetensors, json_string_value(json)) ==
            0) {
            *out = (enum pe_dtype)dtype;
            return PE_OK;
        }
    snprintf(fault, sizeof(fault), "dtype must be one of %s", dtypes + 2);
    return fail(err, name, fault);
}

static enum pe_status shape_read(const json_t *json, const char *name, struct pe_tensor *tensor,
                                 struct pe_error *err)
{
    if (!json_is_array(json) || json_array_size(json) > PE_RANK_MAX)
        return fail(err, name, "shape must be an array of at most 8 lengths");
    tensor->rank = (unsigned)json_array_size(json);
    for (unsigned i = 0; i < tensor->rank; i++) {
        uint64_t length;
        if (!unsigned_read(json_array_get(json, i), &length) || (size_t)length != length)
            return fail(err, name, "shape has a length that is no whole number from 0");
        tensor->shape[i] = (size_t)length;
    }
    return PE_OK;
}

static enum pe_status entry_read(json_t *json, struct api_tensor *tensor, struct range *range,
                                 uint64_t data_size, struct pe_error *err)
{
    const json_t *offsets = json_object_get(json, "data_offsets");
    size_t elements, size;

    if (!json_is_object(json) || json_object_size(json) != 3 || !json_is_array(offsets) ||
        json_array_size(offsets) != 2 ||
        !unsigned_read(json_array_get(offsets, 0), &range->begin) ||
        !unsigned_read(json_array_get(offsets, 1), &range->end))
        return fail(err, tensor->name, "must have dtype, shape and data_offsets: [begin, end]");
    if (dtype_read(json_object_get(json, "dtype"), tensor->name, &tensor->tensor.dtype, err) ||
        shape_read(json_object_get(json, "shape"), tensor->name, &tensor->tensor, err))
        return err->status;
    if (range->begin > range->end || range->end > data_size)
        return fail(err, tensor->name, "data_offsets run backwards or past the end of the file");
    if (!pe_shape_elements(tensor->tensor.shape, tensor->tensor.rank, &elements) ||
        !pe_size_multiply(elements, pe_dtype_info(tensor->tensor.dtype)->size, &size) ||
        size != range->end - range->begin)
        return fail(err, tensor->name, "data_offsets do not span what shape and dtype need");
    return PE_OK;
}

static int range_compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The sorted ranges must be contiguous from 0 to the end. */
static enum pe_status ranges_check(const struct range *ranges, size_t count, uint64_t data_size,
                                   struct range *sorted, struct pe_error *err)
{
    uint64_t end = 0;

    if (count > 0) {
        memcpy(sorted, ranges, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), range_compare);
    }
    for (size_t i = 0; i < count; end = sorted[i++].end)
        if (sorted[i].begin != end)
            return pe_fail(err, PE_MALFORMED, "",
                           "the safetensors file has %s at byte %llu of its data",
                           sorted[i].begin < end ? "an overlap" : "a hole",
                           (unsigned long long)sorted[i].begin);
    if (end != data_size)
        return pe_fail(err, PE_MALFORMED, "",
                       "the safetensors file has %llu bytes behind its last tensor",
                       (unsigned long long)(data_size - end));
    return PE_OK;
}

static enum pe_status tensors_read(struct api_request *request, json_t *header, uint64_t data_size,
                                   struct range **out, struct pe_error *err)
{
    const size_t count =
        json_object_size(header) - (json_object_get(header, "__metadata__") != NULL);
    struct range *ranges;
    const char *name;
    json_t *json;

    if (api_reader_tensors(request, count, err))
        return err->status;
    *out = ranges = api_arena_take(request->arena, (2 * count + 1) * sizeof(*ranges));
    if (!ranges)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu tensors", count);
    json_object_foreach(header, name, json)
    {
        struct api_tensor *tensor = &request->tensors[request->tensors_count];
        if (strcmp(name, "__metadata__") == 0) {
            if (metadata_read(request, json, err))
                return err->status;
            continue;
        }
        tensor->name = name;
        if (entry_read(json, tensor, &ranges[request->tensors_count], data_size, err))
            return err->status;
        request->tensors_count++;
    }
    return ranges_check(ranges, count, data_size, ranges + count, err);
}

/* Tensors stay in the body if they are aligned. A header whose length is not a multiple of 8
 * misaligns all of them, so the data is moved over it. Tensors with an unaligned offset are
 * copied. */
static enum pe_status data_place(struct api_request *request, const struct range *ranges,
                                 size_t data_begin, struct pe_error *err)
{
    unsigned char *data = request->body + data_begin;

    if (data_begin % 8 != 0)
        data = memmove(request->body, data, request->body_size - data_begin);
    for (size_t i = 0; i < request->tensors_count; i++) {
        struct pe_tensor *tensor = &request->tensors[i].tensor;
        const size_t size = ranges[i].end - ranges[i].begin;
        tensor->data = data + ranges[i].begin;
        if (ranges[i].begin % pe_dtype_info(tensor->dtype)->size == 0)
            continue;
        tensor->data = api_arena_buffer(request->arena, size);
        if (!tensor->data)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for an unaligned tensor");
        memcpy(tensor->data, data + ranges[i].begin, size);
    }
    return PE_OK;
}

static enum pe_status safetensors_read(struct api_request *request, struct pe_error *err)
{
    const unsigned char *body = request->body;
    struct range *ranges = NULL;
    uint64_t length;
    json_t *header;

    if (request->body_size < LENGTH_SIZE)
        return pe_fail(err, PE_MALFORMED, "", "a safetensors file has 8 bytes at least, got %zu",
                       request->body_size);
    length = header_length(body);
    if (length > request->body_size - LENGTH_SIZE)
        return pe_fail(err, PE_MALFORMED, "",
                       "the safetensors header has %llu bytes by its length, the body has %zu",
                       (unsigned long long)length, request->body_size);
    if (length > API_SAFETENSORS_HEADER_MAX)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "the safetensors header has %llu bytes, the limit is %d",
                       (unsigned long long)length, API_SAFETENSORS_HEADER_MAX);
    if (api_json_object_read(request, "the safetensors header", (const char *)body + LENGTH_SIZE,
                             length, NULL, &header, err) ||
        tensors_read(request, header, request->body_size - LENGTH_SIZE - length, &ranges, err))
        return err->status;
    return data_place(request, ranges, LENGTH_SIZE + length, err);
}

static bool safetensors_sniff(const unsigned char *bytes, size_t size)
{
    size_t at = LENGTH_SIZE;

    if (size <= LENGTH_SIZE || header_length(bytes) > size - LENGTH_SIZE)
        return false;
    while (at < size && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    return at < size && bytes[at] == '{';
}

static size_t safetensors_text_size(const unsigned char *bytes, size_t size)
{
    if (size < LENGTH_SIZE)
        return 0;
    return header_length(bytes) < size - LENGTH_SIZE ? header_length(bytes) : size - LENGTH_SIZE;
}

const struct api_reader api_reader_safetensors = {
    .name = "safetensors",
    .media_type = "application/x-safetensors",
    .sniff = safetensors_sniff,
    .text_size = safetensors_text_size,
    .read = safetensors_read,
};

/* ---- the encoding in metadata --------------------------------------------------------------- */

static const char *value_of(const struct api_pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

/* Does the name belong to the encoding? A rotation's layout is stored beside its parameters. */
static bool belongs_to(const struct pe_encoding *encoding, const char *name)
{
    const struct pe_encoding_info *info = pe_encoding_info(encoding);

    for (size_t i = 0; i < info->params_count; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return true;
    return strcmp(name, "encoding") == 0 || strcmp(name, "layout") == 0;
}

void api_metadata_drop_encoding(struct api_request *request)
{
    const char *name = value_of(request->metadata, request->metadata_count, "encoding");
    const struct pe_encoding *encoding = name ? pe_encoding_find(name) : NULL;
    size_t kept = 0;

    for (size_t i = 0; encoding && i < request->metadata_count; i++)
        if (!belongs_to(encoding, request->metadata[i].name))
            request->metadata[kept++] = request->metadata[i];
    if (encoding)
        request->metadata_count = kept;
}

bool api_metadata_names_encoding(const struct api_request *request)
{
    return value_of(request->metadata, request->metadata_count, "encoding") &&
           !value_of(request->query, request->query_count, "encoding") &&
           !json_object_get(request->json, "encoding") && !request->config;
}
