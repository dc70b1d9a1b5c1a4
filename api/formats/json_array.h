/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_JSON_ARRAY_H
#define API_FORMATS_JSON_ARRAY_H

#include "api/memory/arena.h"
#include "posenc/dtype.h"
#include "posenc/status.h"

/* Memory that grows with what is read, before anything is known about how much it will be. One
 * serves all arrays of a body. */
struct api_json_scratch {
    struct api_arena *arena;
    unsigned char *bytes; /* dropped by api_json_scratch_drop */
    size_t size;
};

void api_json_scratch_drop(struct api_json_scratch *scratch);

/* An array of elements, nested to one depth (the rank), all arrays of a depth of one length. */
struct api_json_array {
    struct pe_tensor tensor; /* data in the arena */
    size_t elements;
    size_t end;        /* the byte behind the closing bracket; or where the fault is */
    const char *fault; /* a constant sentence; NULL: there is none */
};

/* Reads the array whose bracket stands at text[begin]; the text has `size` bytes and may go on
 * behind the array. Fails with the sentence and its place in *array. */
enum pe_status api_json_array_read(struct api_json_array *array, const unsigned char *text,
                                   size_t begin, size_t size, enum pe_dtype dtype,
                                   struct api_json_scratch *scratch);

#endif
