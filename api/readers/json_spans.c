/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/readers/reader.h"

/* Elements never become JSON values (40 bytes a number, and a double between the text and a float):
 * their arrays are found here, taken out of the text that the JSON library sees, and read in one
 * pass by json_data.c. This scan judges nothing but depth and number; what it cannot follow is left
 * in for the library to report. */

enum { KEYS_MAX = 1 << 16 }; /* tensors_max tensors of four keys each, and plenty of room */

struct scan {
    const unsigned char *text;
    size_t at, size;
    size_t depth, keys;
    bool on_path[API_NESTING_MAX + 1]; /* is the container at this depth on the way to "data"? */
    bool value_on_path;
};

/* The index behind the closing quote, or size. */
static size_t string_end(const unsigned char *text, size_t at, size_t size)
{
    for (at++; at < size && text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return at < size ? at + 1 : size;
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

static void scan_string(struct scan *scan)
{
    const size_t begin = scan->at;
    const unsigned char *key = scan->text + begin + 1, *key_end;

    scan->at = string_end(scan->text, begin, scan->size);
    key_end = scan->text + scan->at - 1;
    while (scan->at < scan->size && isspace(scan->text[scan->at]))
        scan->at++;
    scan->value_on_path = false;
    if (scan->at == scan->size || scan->text[scan->at] != ':')
        return;
    scan->at++;
    scan->keys++;
    if (!scan->depth || !scan->on_path[scan->depth])
        return;
    scan->value_on_path = scan->depth == 1   ? key_is(key, key_end, "tensors")
                          : scan->depth == 3 ? key_is(key, key_end, "data")
                                             : scan->depth == 2;
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

static enum pe_status span_add(struct api_json_spans *spans, size_t begin, size_t end, size_t max,
                               struct pe_error *err)
{
    /* The room doubles whenever the count reaches a power of two. */
    if ((spans->count & (spans->count - 1)) == 0) {
        const size_t room = spans->count ? 2 * spans->count : 1;
        struct api_json_span *list = realloc(spans->list, room * sizeof(*list));
        if (!list)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read the body");
        spans->list = list;
    }
    if (spans->count >= max)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "the request has more than %zu tensors (--tensors-max)", max);
    spans->list[spans->count++] = (struct api_json_span){begin, end};
    return PE_OK;
}

static enum pe_status scan_open(struct scan *scan, struct api_json_spans *spans, size_t max,
                                struct pe_error *err)
{
    const bool is_array = scan->text[scan->at] == '[';
    size_t end, deepest;

    if (is_array && scan->depth == 3 && scan->value_on_path) {
        end = array_end(scan->text, scan->at, scan->size, &deepest);
        if (deepest > API_NESTING_MAX)
            return too_deep(err);
        if (end && span_add(spans, scan->at, end, max, err))
            return err->status;
        scan->at = end ? end : scan->size;
        return PE_OK;
    }
    if (scan->depth == API_NESTING_MAX)
        return too_deep(err);
    scan->depth++;
    scan->on_path[scan->depth] = !is_array && (scan->depth == 1 || scan->value_on_path);
    scan->value_on_path = false;
    scan->at++;
    return PE_OK;
}

enum pe_status api_json_spans_find(struct api_json_spans *spans, const unsigned char *text,
                                   size_t size, size_t spans_max, struct pe_error *err)
{
    struct scan scan = {.text = text, .size = size};

    *spans = (struct api_json_spans){NULL, 0};
    while (scan.at < size && !err->status) {
        switch (text[scan.at]) {
        case '"':
            scan_string(&scan);
            break;
        case '{':
        case '[':
            scan_open(&scan, spans, spans_max, err);
            break;
        case '}':
        case ']':
            scan.depth -= scan.depth > 0;
            scan.at++;
            break;
        default:
            scan.at++;
        }
        if (scan.keys > KEYS_MAX)
            return pe_fail(err, PE_TOO_LARGE, "", "the body has more than %d keys", KEYS_MAX);
    }
    return err->status;
}
