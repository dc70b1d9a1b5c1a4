/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/formats/formats.h"
#include "api/formats/json.h"
#include "api/formats/reader.h"
#include "api/memory/json.h"

/* ---- objects -------------------------------------------------------------------------------- */

/* Replaces all but printable ASCII: jansson quotes text near an error and may cut it inside a
 * character. */
static void printable_keep(char *text)
{
    for (; *text; text++)
        if (!isprint((unsigned char)*text))
            *text = '?';
}

/* Hints for text that is usual in Python, JavaScript or word processors. */
static const struct {
    const char *near, *hint;
} hints[] = {
    {"'", "; strings and names stand in double quotes"},
    {"True", "; true must be lowercase"},
    {"False", "; false must be lowercase"},
    {"None", "; Python's None is null here"},
    {"undefined", "; it is null here"},
    {"NaN", "; JSON has no NaN and no Infinity; in data of a tensor they stand in quotes"},
    {"nan", "; JSON has no NaN and no Infinity; in data of a tensor they stand in quotes"},
    {"Inf", "; JSON has no NaN and no Infinity; in data of a tensor they stand in quotes"},
    {"inf", "; JSON has no NaN and no Infinity; in data of a tensor they stand in quotes"},
    {"-", "; JSON has no NaN and no Infinity, and a digit follows a minus sign"},
    {"]", "; no comma stands before the end of a list"},
    {"}", "; no comma stands before the end of an object"},
    {"(", "; a list stands in [brackets]"},
    {"/", "; JSON has no comments"},
    {"#", "; JSON has no comments"},
    {"_", "; digits are written without separators"},
    {"x", "; numbers are decimal"},
    {".", "; a digit stands before the point"},
    {"+", "; a number has no plus sign"},
    {"0", "; a number begins with no zero"},
    {"\xe2\x80", "; quotes are plain double ones: \""},
    {"\xc2\xab", "; quotes are plain double ones: \""},
    {"\xc2\xbb", "; quotes are plain double ones: \""},
    {"=", "; a name and its value have ':' between them"},
    {"\"", "; members are separated by commas"},
};

static const char *hint_of(const char *fault)
{
    const char *near = strstr(fault, "near '");

    if (strstr(fault, "near end of file"))
        return "; a bracket or a quote is not closed, or the body was cut";
    if (strstr(fault, "end of file expected"))
        return "; one object is sent, and nothing behind it";
    if (strncmp(fault, "'[' or '{'", 10) == 0)
        return "; the body is an object: {...}";
    if (!strstr(fault, "expected") && !strstr(fault, "token"))
        return "";
    for (size_t i = 0; near && i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strncmp(near + 6, hints[i].near, strlen(hints[i].near)) == 0)
            return hints[i].hint;
    if (near && strstr(fault, "string or '}' expected"))
        return "; names stand in double quotes";
    return "";
}

/* The text in pieces, with [] or "" in place of each span. */
struct pieces {
    const char *text, *at, *end;
    const struct api_json_spans *removed; /* NULL: none */
    size_t next;                          /* index of the next span */
};

static const char *piece_next(void *context, size_t *size)
{
    struct pieces *pieces = context;
    const bool has_span = pieces->removed && pieces->next < pieces->removed->count;
    const struct api_json_span *span = has_span ? &pieces->removed->list[pieces->next] : NULL;
    const char *run = pieces->at, *end = span ? pieces->text + span->begin : pieces->end;

    if (span && run == end) {
        pieces->at = pieces->text + span->end;
        pieces->next++;
        *size = 2;
        return span->base64 ? "\"\"" : "[]";
    }
    pieces->at = end;
    *size = (size_t)(end - run);
    return *size > 0 ? run : NULL;
}

enum pe_status api_json_object_read(struct api_request *request, const char *name, const char *text,
                                    size_t size, const struct api_json_spans *removed,
                                    json_t **json, struct pe_error *err)
{
    struct pieces pieces = {.at = text, .end = text + size, .text = text, .removed = removed};
    const struct api_json_text source = {piece_next, &pieces,
                                         request->settings->limits.json_values_max, request->work};
    json_error_t fault;
    size_t position;

    *json = api_json_parse_runs(&source, name, &fault, err);
    if (!*json && err->status)
        return err->status;
    if (!*json) {
        position = fault.position > 0 ? (size_t)fault.position : 0;
        for (size_t i = 0; removed && i < removed->count; i++)
            if (removed->list[i].begin < position)
                position += removed->list[i].end - removed->list[i].begin - 2;
        const char *hint = hint_of(fault.text);
        printable_keep(fault.text);
        return pe_fail(err, PE_MALFORMED, "", "%s is not JSON at byte %zu: %.160s%s", name,
                       position, fault.text, hint);
    }
    if (!api_json_keep_whole(request->arena, *json))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read %s", name);
    if (!json_is_object(*json))
        return pe_fail(err, PE_MALFORMED, "", "%s must be a JSON object: {...}", name);
    return PE_OK;
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* {"tensors": {"q": {"dtype": "f32", "shape": [2, 2], "data": [[1, 2], [3, 4]]}}, ...}: a tensor
 * has data, nested or flat, or base64 of its little-endian bytes, which needs a shape. */

struct source {
    struct api_request *request;
    struct api_json_spans *spans;
    size_t next_span;
    struct api_json_scratch *scratch;
    const char *name;
    struct pe_error *err;
};

static enum pe_status fail(struct source *source, enum pe_status status, const char *fault)
{
    char where[sizeof(source->err->where)];

    return pe_fail(source->err, status, api_tensor_where(source->name, where, sizeof(where)),
                   "tensor %.60s: %s", source->name, fault);
}

static enum pe_status fail_at(struct source *source, size_t at, enum pe_status status,
                              const char *fault)
{
    char where[sizeof(source->err->where)];

    if (status == PE_OUT_OF_MEMORY)
        return pe_fail(source->err, status, "", "no memory for the elements of %.60s",
                       source->name);
    return pe_fail(source->err, status, api_tensor_where(source->name, where, sizeof(where)),
                   "data of %.60s, byte %zu of the body: %s", source->name, at, fault);
}

/* Does the array, nested or flat, fill the shape? An empty array has no levels below its dimension
 * of 0: [[[], []]] is [1, 2, 0, 4]. */
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

/* Makes a tensor of its array, which is read again if that failed or was in another dtype. shaped:
 * the array may be flat, else its nesting gives the shape. */
static enum pe_status data_read(struct source *source, struct api_json_span *span, bool shaped,
                                struct pe_tensor *tensor)
{
    struct api_request *request = source->request;
    struct api_json_array *array = &span->array;
    enum pe_status status;
    char text[96];
    size_t count;

    if (!array->tensor.data || array->tensor.dtype != tensor->dtype) {
        api_arena_buffer_drop(request->arena, array->tensor.data);
        status = api_json_array_read(array, request->body, span->begin, span->end, tensor->dtype,
                                     source->scratch);
        if (status)
            return fail_at(source, array->end, status, array->fault);
    }
    if (shaped && !fits(array, tensor, &count)) {
        snprintf(text, sizeof(text), "%zu elements, nested %u deep, do not fill its shape (%zu)",
                 array->elements, array->tensor.rank, count);
        return fail_at(source, array->end, PE_SHAPE_MISMATCH, text);
    }
    if (shaped)
        tensor->data = array->tensor.data;
    else
        *tensor = array->tensor;
    return PE_OK;
}

static enum pe_status dtype_read(struct source *source, const json_t *json, enum pe_dtype *dtype)
{
    char fault[100];

    *dtype = PE_F32;
    if (!json)
        return PE_OK;
    if (json_is_string(json) && pe_dtype_find(json_string_value(json), dtype))
        return PE_OK;
    snprintf(fault, sizeof(fault), "dtype must be one of %s", api_reader_dtypes());
    return fail(source, PE_INVALID, fault);
}

static enum pe_status shape_read(struct source *source, const json_t *json,
                                 struct pe_tensor *tensor)
{
    size_t elements, size;

    if (!json_is_array(json) || json_array_size(json) == 0 || json_array_size(json) > PE_RANK_MAX)
        return fail(source, PE_INVALID, "shape must be an array of 1 to 8 whole numbers");
    tensor->rank = (unsigned)json_array_size(json);
    for (unsigned i = 0; i < tensor->rank; i++) {
        const json_t *length = json_array_get(json, i);
        const double number = json_is_number(length) ? json_number_value(length) : -1;
        if (!(number >= 0) || number > 0x1p53 || number != (double)(size_t)number)
            return fail(source, PE_INVALID, "shape must have whole numbers that are not negative");
        tensor->shape[i] =
            json_is_integer(length) ? (size_t)json_integer_value(length) : (size_t)number;
    }
    return api_reader_size(source->name, tensor, &elements, &size, source->err);
}

/* The next span of a tensor; jansson keeps the order of the text, and refused duplicate keys. NULL:
 * the next one is of the other type, or there is none. */
static struct api_json_span *span_next(struct source *source, bool base64)
{
    struct api_json_spans *spans = source->spans;

    while (source->next_span < spans->count && spans->list[source->next_span].list)
        source->next_span++;
    if (source->next_span == spans->count || spans->list[source->next_span].base64 != base64)
        return NULL;
    return &spans->list[source->next_span++];
}

/* A string that was hidden from the JSON library is empty here. */
static enum pe_status base64_read(struct source *source, const json_t *json,
                                  struct pe_tensor *tensor)
{
    const char *string = json_string_value(json);
    size_t elements, size, length = json_string_length(json);
    const struct api_json_span *span;
    char text[120];

    if (api_reader_size(source->name, tensor, &elements, &size, source->err))
        return source->err->status;
    if (!json_is_string(json))
        return fail(source, PE_INVALID, "base64 must be a string");
    if (length == 0 && (span = span_next(source, true))) {
        string = (const char *)source->request->body + span->begin + 1;
        length = span->end - span->begin - 2;
    }
    if (length / 4 < size / 3) { /* before a shape alone can take memory */
        snprintf(text, sizeof(text), "base64 holds fewer bytes than the %zu of shape and dtype",
                 size);
        return fail(source, PE_SHAPE_MISMATCH, text);
    }
    tensor->data = api_arena_buffer(source->request->arena, size ? size : 1);
    if (!tensor->data)
        return fail(source, PE_OUT_OF_MEMORY, "no memory for its elements");
    if (api_base64_decode(string, length, tensor->data, size))
        return PE_OK;
    snprintf(text, sizeof(text), "base64 is not the padded standard base64 of %zu bytes", size);
    return fail(source, PE_INVALID, text);
}

static enum pe_status keys_check(struct source *source, json_t *json)
{
    const char *key;
    json_t *value;
    char text[120];

    if (!json_is_object(json))
        return fail(
            source, PE_INVALID,
            "must be an object with data or base64, and with dtype and shape: {\"data\": [[...]]}");
    json_object_foreach(json, key, value)
    {
        if (strcmp(key, "dtype") && strcmp(key, "shape") && strcmp(key, "data") &&
            strcmp(key, "base64")) {
            snprintf(text, sizeof(text), "'%.40s' is none of dtype, shape, data, base64", key);
            return fail(source, PE_UNKNOWN_PARAMETER, text);
        }
    }
    return PE_OK;
}

static enum pe_status tensor_read(struct source *source, json_t *json, struct pe_tensor *tensor)
{
    json_t *shape, *data, *base64;
    struct api_json_span *span;

    if (keys_check(source, json) ||
        dtype_read(source, json_object_get(json, "dtype"), &tensor->dtype))
        return source->err->status;
    shape = json_object_get(json, "shape");
    data = json_object_get(json, "data");
    base64 = json_object_get(json, "base64");
    if (shape && shape_read(source, shape, tensor))
        return source->err->status;
    if (!data == !base64)
        return fail(source, data ? PE_CONFLICT : PE_MISSING, "needs either data or base64");
    if (base64 && !shape)
        return fail(source, PE_MISSING, "base64 needs a shape");
    if (base64)
        return base64_read(source, base64, tensor);
    if (!json_is_array(data))
        return fail(source, PE_INVALID, "data must be an array, nested or flat");
    span = span_next(source, false);
    if (!span)
        return fail(source, PE_INTERNAL, "its data was lost");
    return data_read(source, span, shape != NULL, tensor);
}

static enum pe_status tensors_read(struct source *source, json_t *tensors)
{
    struct api_request *request = source->request;
    const char *name;
    json_t *json;

    if (!json_is_object(tensors))
        return pe_fail(source->err, PE_INVALID, "pointer:/tensors",
                       "tensors must be an object: {\"q\": {\"data\": [...]}}");
    if (api_reader_tensors(request, json_object_size(tensors), source->err))
        return source->err->status;
    json_object_foreach(tensors, name, json)
    {
        struct api_tensor *tensor = &request->tensors[request->tensors_count];
        tensor->name = source->name = name;
        if (tensor_read(source, json, &tensor->tensor))
            return source->err->status;
        request->tensors_count++;
    }
    return PE_OK;
}

/* Keeps the elements of lists; in the JSON object they are []. */
static enum pe_status lists_keep(struct api_request *request, const struct api_json_spans *spans,
                                 struct pe_error *err)
{
    const size_t count = spans->count - spans->tensors;

    request->lists = api_arena_take(request->arena, (count + 1) * sizeof(*request->lists));
    if (!request->lists)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read the body");
    for (size_t i = 0; i < spans->count; i++)
        if (spans->list[i].list)
            request->lists[request->lists_count++] =
                (struct api_tensor){spans->list[i].list, spans->list[i].array.tensor};
    return PE_OK;
}

/* Parses the object without its spans, and then the tensors that the spans belong to. */
static enum pe_status envelope_read(struct api_request *request, struct source *source)
{
    json_t *tensors;

    if (lists_keep(request, source->spans, source->err))
        return source->err->status;
    if (api_json_object_read(request, "the body", (const char *)request->body, request->body_size,
                             source->spans, &request->json, source->err))
        return source->err->status;
    tensors = json_object_get(request->json, "tensors");
    return tensors ? tensors_read(source, tensors) : PE_OK;
}

static enum pe_status json_read(struct api_request *request, struct pe_error *err)
{
    const uint64_t max = request->settings->limits.tensors_max;
    struct api_json_scratch scratch = {.arena = request->arena};
    struct api_json_spans spans = {NULL, 0, 0};
    struct source source = {.request = request, .spans = &spans, .scratch = &scratch, .err = err};

    if (request->body_size == 0)
        return pe_fail(err, PE_MALFORMED, "", "the body is empty; a JSON object is expected");
    if (request->body_size >= 3 && memcmp(request->body, "\xef\xbb\xbf", 3) == 0)
        return pe_fail(err, PE_MALFORMED, "",
                       "the body begins with a byte order mark, which JSON "
                       "does not have");
    if (api_json_spans_find(&spans, request->body, request->body_size,
                            max < SIZE_MAX ? (size_t)max : SIZE_MAX, &scratch, err) == PE_OK)
        envelope_read(request, &source);
    api_json_scratch_drop(&scratch);
    api_arena_buffer_drop(request->arena, (unsigned char *)spans.list);
    return err->status;
}

static bool json_sniff(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr(" \t\r\n", bytes[i]) || bytes[i] == '\0')
            return bytes[i] == '{';
    return false;
}

static size_t json_text_size(const unsigned char *bytes, size_t size)
{
    (void)bytes;
    return size;
}

const struct api_reader api_reader_json = {
    .name = "json",
    .media_type = "application/json",
    .sniff = json_sniff,
    .text_size = json_text_size,
    .read = json_read,
};
