/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/reader.h"

/* Elements never become JSON values (40 bytes a number, and a double between the text and a float):
 * their arrays are read where they are found, in the one pass over the text, and the JSON library
 * sees [] in their place. This scan judges nothing but depth and number; what it cannot follow is
 * left in for the library to report, and an array that cannot be read is reported when its turn
 * comes. */

enum {
    TURN_SIZE = 1 << 20,  /* the work is looked at whenever so much was read */
    LIST_SIZE_MIN = 1024, /* shorter lists are left to the library, */
    LIST_NAME_MAX = 64,   /* and so are names that no parameter has */
};

struct scan {
    const unsigned char *text;
    size_t at, size;
    size_t depth, keys;
    bool on_path[API_NESTING_MAX + 1]; /* is the container at this depth on the way to "data"? */
    bool value_on_path;
    bool dtype_next;     /* the value of "dtype" follows */
    bool base64_next;    /* likewise */
    enum pe_dtype dtype; /* of the tensor that is open, as far as it was told */
    const unsigned char *list_key, *list_key_end; /* of the value at depth 1 that follows */
    struct api_json_spans *spans;
    struct api_json_scratch *scratch;
    size_t tensors_max;
    size_t turn_end;
};

/* The index behind the closing quote, or size. A quote is one if an even number of backslashes
 * stands before it. */
static size_t string_end(const unsigned char *text, size_t at, size_t size)
{
    const unsigned char *quote = text + at;

    while ((quote = memchr(quote + 1, '"', (size_t)(text + size - quote - 1)))) {
        size_t slashes = 0;
        while (quote[-1 - (ptrdiff_t)slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return (size_t)(quote + 1 - text);
    }
    return size;
}

/* Compares a key as written, escapes of ASCII included, with a name of lower case letters. */
static bool key_is(const unsigned char *at, const unsigned char *end, const char *name)
{
    for (; at < end && *name; name++) {
        if (*at != '\\') {
            if (*at++ != (unsigned char)*name)
                return false;
            continue;
        }
        if (end - at < 6 || at[1] != 'u')
            return false;
        char digits[5] = {(char)at[2], (char)at[3], (char)at[4], (char)at[5], '\0'};
        if (strspn(digits, "0123456789abcdefABCDEF") != 4 ||
            strtoul(digits, NULL, 16) != (unsigned char)*name)
            return false;
        at += 6;
    }
    return at == end && !*name;
}

static void dtype_note(struct scan *scan, const unsigned char *at, const unsigned char *end)
{
    char name[16];

    if ((size_t)(end - at) >= sizeof(name))
        return;
    memcpy(name, at, (size_t)(end - at));
    name[end - at] = '\0';
    pe_dtype_find(name, &scan->dtype);
}

static void key_note(struct scan *scan, const unsigned char *key, const unsigned char *end)
{
    scan->keys++;
    if (!scan->depth || !scan->on_path[scan->depth])
        return;
    scan->value_on_path = scan->depth == 1   ? key_is(key, end, "tensors")
                          : scan->depth == 3 ? key_is(key, end, "data")
                                             : scan->depth == 2;
    scan->dtype_next = scan->depth == 3 && key_is(key, end, "dtype");
    scan->base64_next = scan->depth == 3 && key_is(key, end, "base64");
    if (scan->depth == 1 && end - key <= LIST_NAME_MAX && !memchr(key, '\\', (size_t)(end - key))) {
        scan->list_key = key;
        scan->list_key_end = end;
    }
}

/* The index behind the bracket that closes the array at `at`; 0: it is not closed. */
static size_t array_end(const unsigned char *text, size_t at, size_t size, size_t *deepest)
{
    size_t depth = 0;

    *deepest = 0;
    while (at < size) {
        if (text[at] == '"') {
            at = string_end(text, at, size);
            continue;
        }
        depth += text[at] == '[';
        if (depth > *deepest)
            *deepest = depth;
        if (text[at++] == ']' && --depth == 0)
            return at;
    }
    return 0;
}

static enum pe_status too_deep(struct pe_error *err)
{
    return pe_fail(err, PE_MALFORMED, "", "the JSON is nested deeper than %d levels",
                   API_NESTING_MAX);
}

static enum pe_status span_add(struct scan *scan, const struct api_json_span *span,
                               struct pe_error *err)
{
    struct api_json_spans *spans = scan->spans;

    if (!span->list && spans->tensors == scan->tensors_max)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "the request has more than %zu tensors (--tensors-max)", scan->tensors_max);
    /* The room doubles whenever the count reaches a power of two. */
    if (!spans->count || (spans->count & (spans->count - 1)) == 0) {
        const size_t room = spans->count ? 2 * spans->count : 1;
        struct api_arena *arena = scan->scratch->arena;
        struct api_json_span *list = (void *)api_arena_room(arena, room * sizeof(*list));
        if (!list)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read the body");
        if (spans->count > 0)
            memcpy(list, spans->list, spans->count * sizeof(*list));
        api_arena_room_drop(arena, (unsigned char *)spans->list);
        spans->list = list;
    }
    spans->list[spans->count++] = *span;
    spans->tensors += !span->list;
    return PE_OK;
}

/* ---- strings ----------------------------------------------------------------------------------
 */

/* Only what decodes or has the wrong length: everything else is the library's to judge. */
static void base64_take(struct scan *scan, size_t begin, size_t end, struct pe_error *err)
{
    const struct api_json_span span = {.begin = begin, .end = end, .base64 = true};

    if (end - begin >= 2 && scan->text[end - 1] == '"' &&
        api_base64_only(scan->text + begin + 1, scan->text + end - 1))
        span_add(scan, &span, err);
}

/* A string, and the colon behind it if it is a key. */
static void scan_string(struct scan *scan, struct pe_error *err)
{
    const size_t begin = scan->at, end = string_end(scan->text, begin, scan->size);
    const unsigned char *text = scan->text + begin + 1, *text_end = scan->text + end - 1;
    const bool is_dtype = scan->dtype_next, is_base64 = scan->base64_next;

    scan->at = end;
    while (scan->at < scan->size && isspace(scan->text[scan->at]))
        scan->at++;
    scan->value_on_path = scan->dtype_next = scan->base64_next = false;
    scan->list_key = NULL;
    if (scan->at < scan->size && scan->text[scan->at] == ':') {
        scan->at++;
        key_note(scan, text, text_end);
    } else if (is_dtype && text_end > text) {
        dtype_note(scan, text, text_end);
    } else if (is_base64) {
        base64_take(scan, begin, end, err);
    }
}

/* ---- arrays --------------------------------------------------------------------------------- */

static enum pe_status data_take(struct scan *scan, struct pe_error *err)
{
    struct api_json_span span = {.begin = scan->at};
    size_t deepest = 0;

    if (api_json_array_read(&span.array, scan->text, scan->at, scan->size, scan->dtype,
                            scan->scratch) == PE_OK)
        span.end = span.array.end;
    else
        span.end = pe_work_check(api_arena_work(scan->scratch->arena), err)
                       ? 0
                       : array_end(scan->text, scan->at, scan->size, &deepest);
    if (err->status)
        return err->status;
    if (deepest > API_NESTING_MAX)
        return too_deep(err);
    scan->at = span.end ? span.end : scan->size;
    return span.end ? span_add(scan, &span, err) : PE_OK;
}

static bool is_finite(const struct api_json_array *array)
{
    const double *values = array->tensor.data;

    for (size_t i = 0; i < array->elements; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* False: no long list of numbers, or none that can be read; the library shall see it. */
static bool list_take(struct scan *scan, struct pe_error *err)
{
    struct api_arena *arena = scan->scratch->arena;
    struct api_json_span span = {.begin = scan->at};
    struct api_json_array *array = &span.array;

    const enum pe_status status =
        api_json_array_read(array, scan->text, scan->at, scan->size, PE_F64, scan->scratch);
    if (status == PE_TOO_LARGE)
        pe_fail(err, status, "", "a list at byte %zu of the body: %s", scan->at, array->fault);
    if (status) {
        scan->turn_end = 0; /* it may have ended with the work */
        return status == PE_TOO_LARGE;
    }
    span.end = array->end;
    if (span.end - span.begin < LIST_SIZE_MIN || array->tensor.rank > 2 || !is_finite(array)) {
        api_arena_room_drop(arena, array->tensor.data);
        return false;
    }
    span.list = api_arena_print(arena, "%.*s", (int)(scan->list_key_end - scan->list_key),
                                (const char *)scan->list_key);
    if (!span.list)
        pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read the body");
    else
        span_add(scan, &span, err);
    scan->at = span.end;
    return true;
}

static enum pe_status scan_open(struct scan *scan, struct pe_error *err)
{
    const bool is_array = scan->text[scan->at] == '[';

    if (is_array && scan->depth == 3 && scan->value_on_path)
        return data_take(scan, err);
    if (is_array && scan->depth == 1 && scan->list_key && list_take(scan, err))
        return err->status;
    if (scan->depth == API_NESTING_MAX)
        return too_deep(err);
    scan->depth++;
    scan->on_path[scan->depth] = !is_array && (scan->depth == 1 || scan->value_on_path);
    scan->value_on_path = scan->dtype_next = scan->base64_next = false;
    scan->list_key = NULL;
    if (scan->depth <= 3) /* the object of a tensor opens; a shape stands deeper */
        scan->dtype = PE_F32;
    scan->at++;
    return PE_OK;
}

/* Looks at the work now and then. */
static enum pe_status turn_check(struct scan *scan, struct pe_error *err)
{
    if (scan->at < scan->turn_end)
        return PE_OK;
    scan->turn_end = scan->at + TURN_SIZE;
    return pe_work_check(api_arena_work(scan->scratch->arena), err);
}

enum pe_status api_json_spans_find(struct api_json_spans *spans, const unsigned char *text,
                                   size_t size, size_t tensors_max,
                                   struct api_json_scratch *scratch, struct pe_error *err)
{
    struct scan scan = {
        .text = text, .size = size, .spans = spans, .scratch = scratch, .tensors_max = tensors_max};

    *spans = (struct api_json_spans){NULL, 0, 0};
    while (scan.at < size && turn_check(&scan, err) == PE_OK && !err->status) {
        switch (text[scan.at]) {
        case '"':
            scan_string(&scan, err);
            break;
        case '{':
        case '[':
            scan_open(&scan, err);
            break;
        case '}':
        case ']':
            scan.depth -= scan.depth > 0;
            scan.at++;
            break;
        default:
            scan.at++;
        }
        if (scan.keys > API_KEYS_MAX)
            return pe_fail(err, PE_TOO_LARGE, "", "the body has more than %d keys", API_KEYS_MAX);
    }
    return err->status;
}
