/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_JSON_H
#define API_FORMATS_JSON_H

/* Arrays of elements in a JSON body. They are read directly into memory and hidden from the JSON
 * library, whose values take 40 bytes a number and round it to a double. */

#include "api/memory/arena.h"
#include "posenc/dtype.h"
#include "posenc/status.h"

/* A buffer that grows while an array of unknown length is read, shared by all arrays of a body. */
struct api_json_scratch {
    struct api_arena *arena;
    unsigned char *bytes; /* freed by api_json_scratch_drop */
    size_t size;
};

void api_json_scratch_drop(struct api_json_scratch *scratch);

/* An array of elements. All elements are at one depth (the rank), and all arrays of a depth have
 * one length. */
struct api_json_array {
    struct pe_tensor tensor; /* data in the arena */
    size_t elements;
    size_t end;        /* the byte after the closing bracket, or that of the fault */
    const char *fault; /* a constant sentence; NULL: none */
};

/* Reads the array whose bracket is at text[begin]; the text has `size` bytes and may go on after
 * it. On failure *array has the fault and its place. */
enum pe_status api_json_array_read(struct api_json_array *array, const unsigned char *text,
                                   size_t begin, size_t size, enum pe_dtype dtype,
                                   struct api_json_scratch *scratch);

/* An array or a base64 string that is hidden from the JSON library, with brackets or quotes. */
struct api_json_span {
    size_t begin, end;
    bool base64;
    const char *list;            /* the member of the body that it is; NULL: data of a tensor */
    struct api_json_array array; /* without data: it could not be read */
};

struct api_json_spans {
    struct api_json_span *list; /* in the arena, dropped after use */
    size_t count, tensors;
};

/* Finds and reads, in order, the value of "data" of each member of the top-level "tensors", in the
 * dtype that precedes it, and long lists of numbers at the top level, as f64. base64 strings of
 * tensors are found and not decoded. Text that is not JSON yields the spans before the fault.
 * PE_MALFORMED for nesting over API_NESTING_MAX, PE_TOO_LARGE for more than tensors_max tensors or
 * API_KEYS_MAX keys. */
enum pe_status api_json_spans_find(struct api_json_spans *spans, const unsigned char *text,
                                   size_t size, size_t tensors_max,
                                   struct api_json_scratch *scratch, struct pe_error *err);

#endif
