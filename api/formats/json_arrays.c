/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/formats/formats.h"
#include "api/formats/json.h"
#include "api/numbers/scan.h"
#include "posenc/work.h"

/* ---- one array ------------------------------------------------------------------------------ */

/* Cancellation is checked after so many elements, about 1 ms. Longer arrays are kept where they
 * were read. */
enum { CHECK_ELEMENTS = 1 << 16, COPIED_MAX = 256 << 10 };

/* Nanoseconds of a character on the slow path of api_json_run_read, in addition to the cost of each
 * character of a body. */
#define SLOW_COST 4

/* An array being read in one pass. */
struct nest {
    struct api_json_array *array;
    struct api_json_run run;
    struct api_json_scratch *scratch;
    enum pe_dtype dtype;
    unsigned depth, leaf;          /* leaf: the depth of the elements; 0: not known yet */
    size_t count[PE_RANK_MAX + 1]; /* values so far in the open array of each depth */
    size_t shape[PE_RANK_MAX + 1];
    bool shape_known[PE_RANK_MAX + 1];
};

static enum pe_status fail(struct nest *nest, enum pe_status status, const char *fault)
{
    nest->array->fault = fault;
    return status;
}

static enum pe_status ragged(struct nest *nest)
{
    return fail(nest, PE_SHAPE_MISMATCH, "the arrays of one level differ in length or depth");
}

void api_json_scratch_drop(struct api_json_scratch *scratch)
{
    api_arena_buffer_drop(scratch->arena, scratch->bytes);
    scratch->bytes = NULL;
    scratch->size = 0;
}

/* At first for numbers of eight characters, as most are longer; then double, but never more than
 * the remaining text can hold at two characters an element. */
static size_t size_wanted(const struct nest *nest, size_t element_size)
{
    const size_t text_size = (size_t)(nest->run.end - nest->run.at);
    const size_t first = text_size / 8 + 8, most = nest->run.count + text_size / 2 + 1;
    const size_t count = nest->run.count == 0 ? first : 2 * nest->run.count;

    return (count < most ? count : most) * element_size;
}

static enum pe_status buffer_grow(struct nest *nest)
{
    struct api_json_scratch *scratch = nest->scratch;
    const size_t element_size = pe_dtype_info(nest->dtype)->size;
    const size_t used = nest->run.count * element_size, size = size_wanted(nest, element_size);
    unsigned char *bytes = scratch->bytes;

    if (scratch->size < used + element_size) {
        bytes = bytes ? api_arena_buffer_resize(scratch->arena, bytes, used, size)
                      : api_arena_buffer(scratch->arena, size);
        if (!bytes)
            return fail(nest, PE_OUT_OF_MEMORY, "no memory for the elements");
        scratch->bytes = bytes;
        scratch->size = size;
    }
    nest->run.out = bytes + used;
    nest->run.capacity = scratch->size / element_size - nest->run.count;
    if (nest->run.capacity > CHECK_ELEMENTS)
        nest->run.capacity = CHECK_ELEMENTS;
    return PE_OK;
}

/* Large arrays keep the buffer; small ones are copied out of it, so that the next array can use
 * it. */
static unsigned char *elements_take(struct api_json_scratch *scratch, size_t used)
{
    unsigned char *bytes = scratch->bytes;

    if (used < COPIED_MAX) {
        bytes = api_arena_buffer(scratch->arena, used > 0 ? used : 1);
        return bytes && used > 0 ? memcpy(bytes, scratch->bytes, used) : bytes;
    }
    bytes = api_arena_buffer_resize(scratch->arena, bytes, used, used);
    *scratch = (struct api_json_scratch){.arena = scratch->arena};
    return bytes;
}

/* Charges the numbers of the slow path, which are not known before they are read. */
static enum pe_status slow_charge(struct nest *nest)
{
    struct pe_work *work = api_arena_work(nest->scratch->arena);
    const size_t slow = nest->run.slow;

    nest->run.slow = 0;
    if (pe_work_spend(work, (uint64_t)slow * SLOW_COST, &(struct pe_error){0}) == PE_OK)
        return PE_OK;
    return pe_work_ended(work)
               ? fail(nest, PE_INTERNAL, "the work ended")
               : fail(nest, PE_TOO_LARGE,
                      "to read these numbers takes more work than --work-max allows; write them "
                      "with fewer digits, or send fewer at once");
}

static enum pe_status elements_read(struct nest *nest)
{
    const size_t before = nest->run.count;
    enum pe_status status = PE_OK;

    if (!nest->leaf)
        nest->leaf = nest->depth;
    if (nest->depth != nest->leaf)
        return ragged(nest);
    if (nest->run.capacity == 0)
        status = pe_work_ended(api_arena_work(nest->scratch->arena))
                     ? fail(nest, PE_INTERNAL, "the work ended")
                     : buffer_grow(nest);
    if (status == PE_OK)
        status = api_json_run_read(&nest->run, nest->dtype);
    if (status == PE_OK && nest->run.slow > 0)
        status = slow_charge(nest);
    nest->count[nest->depth] += nest->run.count - before;
    return status && !nest->array->fault ? fail(nest, status, nest->run.fault) : status;
}

static enum pe_status array_open(struct nest *nest)
{
    if (nest->depth == PE_RANK_MAX)
        return fail(nest, PE_INVALID, "more than 8 dimensions");
    if (nest->leaf && nest->depth == nest->leaf)
        return ragged(nest);
    nest->run.at++;
    nest->count[++nest->depth] = 0;
    return PE_OK;
}

static enum pe_status array_close(struct nest *nest)
{
    const unsigned depth = nest->depth;

    nest->run.at++;
    if (!nest->leaf)
        nest->leaf = depth; /* [] or [[], []] */
    if (nest->shape_known[depth] && nest->shape[depth] != nest->count[depth])
        return ragged(nest);
    nest->shape[depth] = nest->count[depth];
    nest->shape_known[depth] = true;
    nest->depth--;
    nest->count[nest->depth]++;
    return PE_OK;
}

static enum pe_status nest_read(struct nest *nest)
{
    bool value_next = true, may_close = false;
    enum pe_status status;

    do {
        nest->run.at = api_json_space_skip(nest->run.at, nest->run.end);
        if (nest->run.at == nest->run.end)
            return fail(nest, PE_MALFORMED, "the array is not closed");
        const unsigned char next = *nest->run.at;
        if (next == ',' && !value_next) {
            nest->run.at++;
            value_next = true;
            may_close = false;
            continue;
        }
        const bool opens = value_next && next == '[';
        if (opens)
            status = array_open(nest);
        else if (next == ']' && (may_close || !value_next))
            status = array_close(nest);
        else if (value_next)
            status = elements_read(nest);
        else
            status = fail(nest, PE_MALFORMED, "a comma or a bracket is expected");
        if (status)
            return status;
        value_next = may_close = opens;
    } while (nest->depth > 0);
    return PE_OK;
}

enum pe_status api_json_array_read(struct api_json_array *array, const unsigned char *text,
                                   size_t begin, size_t size, enum pe_dtype dtype,
                                   struct api_json_scratch *scratch)
{
    struct nest nest = {.array = array,
                        .run = {.at = text + begin, .end = text + size},
                        .scratch = scratch,
                        .dtype = dtype};
    struct pe_tensor *tensor = &array->tensor;
    enum pe_status status;

    *array = (struct api_json_array){.tensor.dtype = dtype};
    status = nest_read(&nest);
    array->end = (size_t)(nest.run.at - text);
    if (status)
        return status;
    const size_t used = nest.run.count * pe_dtype_info(dtype)->size;
    array->elements = nest.run.count;
    tensor->rank = nest.leaf;
    memcpy(tensor->shape, nest.shape + 1, nest.leaf * sizeof(*tensor->shape));
    tensor->data = elements_take(scratch, used);
    return tensor->data ? PE_OK : fail(&nest, PE_OUT_OF_MEMORY, "no memory for the elements");
}

/* ---- all arrays of a body ------------------------------------------------------------------- */

/* The scan checks nesting and counts alone. Text that it cannot follow stays in for the JSON
 * library to report, and an array that cannot be read is reported when its tensor is made. */

enum {
    CHECK_SIZE = 1 << 20, /* bytes between two checks for cancellation */
    LIST_SIZE_MIN = 1024, /* shorter lists are left to the library */
    LIST_NAME_MAX = 64,   /* longer names are not those of parameters */
};

struct scan {
    const unsigned char *text;
    size_t at, size;
    size_t depth, keys;
    bool on_path[API_NESTING_MAX + 1]; /* can the container at this depth contain "data"? */
    bool value_on_path;
    bool dtype_next, base64_next;                 /* the value of "dtype" or "base64" follows */
    enum pe_dtype dtype;                          /* of the open tensor; f32 until it is named */
    const unsigned char *list_key, *list_key_end; /* of the following value at depth 1 */
    struct api_json_spans *spans;
    struct api_json_scratch *scratch;
    size_t tensors_max;
    size_t next_check;
};

/* The index after the closing quote, which has an even number of backslashes before it; or
 * size. */
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

/* Compares a key, with its \u escapes, with a name of lower case letters. */
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

/* The index after the bracket that closes the array at `at`; 0: none. */
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
    /* The list doubles whenever its count reaches a power of two. */
    if (!spans->count || (spans->count & (spans->count - 1)) == 0) {
        const size_t capacity = spans->count ? 2 * spans->count : 1;
        struct api_arena *arena = scan->scratch->arena;
        struct api_json_span *list = (void *)api_arena_buffer(arena, capacity * sizeof(*list));
        if (!list)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read the body");
        if (spans->count > 0)
            memcpy(list, spans->list, spans->count * sizeof(*list));
        api_arena_buffer_drop(arena, (unsigned char *)spans->list);
        spans->list = list;
    }
    spans->list[spans->count++] = *span;
    spans->tensors += !span->list;
    return PE_OK;
}

/* Takes strings of base64 digits alone; others are left to the library. */
static void base64_take(struct scan *scan, size_t begin, size_t end, struct pe_error *err)
{
    const struct api_json_span span = {.begin = begin, .end = end, .base64 = true};

    if (end - begin >= 2 && scan->text[end - 1] == '"' &&
        api_base64_only(scan->text + begin + 1, scan->text + end - 1))
        span_add(scan, &span, err);
}

/* A string, and the colon after a key. */
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

/* False: not a long list of finite numbers, and left to the library. */
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
        scan->next_check = 0; /* cancellation may be the reason */
        return status == PE_TOO_LARGE;
    }
    span.end = array->end;
    if (span.end - span.begin < LIST_SIZE_MIN || array->tensor.rank > 2 || !is_finite(array)) {
        api_arena_buffer_drop(arena, array->tensor.data);
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
    if (scan->depth <= 3) /* a tensor opens; shapes are deeper */
        scan->dtype = PE_F32;
    scan->at++;
    return PE_OK;
}

static enum pe_status work_check(struct scan *scan, struct pe_error *err)
{
    if (scan->at < scan->next_check)
        return PE_OK;
    scan->next_check = scan->at + CHECK_SIZE;
    return pe_work_check(api_arena_work(scan->scratch->arena), err);
}

enum pe_status api_json_spans_find(struct api_json_spans *spans, const unsigned char *text,
                                   size_t size, size_t tensors_max,
                                   struct api_json_scratch *scratch, struct pe_error *err)
{
    struct scan scan = {
        .text = text, .size = size, .spans = spans, .scratch = scratch, .tensors_max = tensors_max};

    *spans = (struct api_json_spans){NULL, 0, 0};
    while (scan.at < size && work_check(&scan, err) == PE_OK && !err->status) {
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
