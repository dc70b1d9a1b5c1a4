/* SPDX-License-Identifier: MIT */
#include "api/formats/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/memory/json.h"

enum pe_status api_reader_tensors(struct api_request *request, size_t count, struct pe_error *err)
{
    const uint64_t max = request->settings->limits.tensors_max;

    if (count > max)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "the request has %zu tensors, the limit is %llu (--tensors-max)", count,
                       (unsigned long long)max);
    request->tensors = api_arena_take(request->arena, (count + 1) * sizeof(*request->tensors));
    if (!request->tensors)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu tensors", count);
    request->tensors_count = 0;
    return PE_OK;
}

enum pe_status api_reader_size(const char *name, const struct pe_tensor *tensor, size_t *elements,
                               size_t *size, struct pe_error *err)
{
    char where[sizeof(err->where)];

    if (pe_shape_elements(tensor->shape, tensor->rank, elements) &&
        pe_size_multiply(*elements, pe_dtype_info(tensor->dtype)->size, size))
        return PE_OK;
    return pe_fail(err, PE_SHAPE_MISMATCH, api_tensor_where(name, where, sizeof(where)),
                   "the shape of %.60s has more elements than can be addressed", name);
}

const char *api_tensor_where(const char *name, char *out, size_t size)
{
    snprintf(out, size, "tensor:%.80s", name);
    return out;
}

const char *api_reader_tensor_name(const struct api_request *request)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, "tensor") == 0 && request->query[i].value[0])
            return request->query[i].value;
    return "x";
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* jansson quotes the text near an error, cut anywhere: only plain characters are passed on. */
static void plain_text(char *text)
{
    for (; *text; text++)
        if (!isprint((unsigned char)*text))
            *text = '?';
}

/* Slips in JSON of people who think of Python, JavaScript or a word processor. */
static const struct {
    const char *near, *says;
} slips[] = {
    {"'", "; strings and names stand in double quotes"},
    {"True", "; true is written small"},
    {"False", "; false is written small"},
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

static const char *slip_of(const char *fault)
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
    for (size_t i = 0; near && i < sizeof(slips) / sizeof(slips[0]); i++)
        if (strncmp(near + 6, slips[i].near, strlen(slips[i].near)) == 0)
            return slips[i].says;
    if (near && strstr(fault, "string or '}' expected"))
        return "; names stand in double quotes";
    return "";
}

/* The text without the spans that were read, in whose place stand [] or "". */
struct runs {
    const char *text, *at, *end;
    const struct api_json_spans *removed; /* NULL: none */
    size_t next;                          /* span */
};

static const char *run_next(void *context, size_t *size)
{
    struct runs *runs = context;
    const bool has_span = runs->removed && runs->next < runs->removed->count;
    const struct api_json_span *span = has_span ? &runs->removed->list[runs->next] : NULL;
    const char *run = runs->at, *end = span ? runs->text + span->begin : runs->end;

    if (span && run == end) {
        runs->at = runs->text + span->end;
        runs->next++;
        *size = 2;
        return span->base64 ? "\"\"" : "[]";
    }
    runs->at = end;
    *size = (size_t)(end - run);
    return *size > 0 ? run : NULL;
}

enum pe_status api_json_object_read(struct api_request *request, const char *what, const char *text,
                                    size_t size, const struct api_json_spans *removed,
                                    json_t **json, struct pe_error *err)
{
    struct runs runs = {.at = text, .end = text + size, .text = text, .removed = removed};
    const struct api_json_text source = {run_next, &runs, request->settings->limits.json_values_max,
                                         request->work};
    json_error_t fault;
    size_t position;

    *json = api_json_parse_runs(&source, what, &fault, err);
    if (!*json && err->status)
        return err->status;
    if (!*json) {
        position = fault.position > 0 ? (size_t)fault.position : 0;
        for (size_t i = 0; removed && i < removed->count; i++)
            if (removed->list[i].begin < position)
                position += removed->list[i].end - removed->list[i].begin - 2;
        const char *slip = slip_of(fault.text);
        plain_text(fault.text);
        return pe_fail(err, PE_MALFORMED, "", "%s is not JSON at byte %zu: %.160s%s", what,
                       position, fault.text, slip);
    }
    if (!api_json_keep_whole(request->arena, *json))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read %s", what);
    if (!json_is_object(*json))
        return pe_fail(err, PE_MALFORMED, "", "%s must be a JSON object: {...}", what);
    return PE_OK;
}
