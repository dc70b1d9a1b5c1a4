/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_SCAN_H
#define API_NUMBERS_SCAN_H

#include <stddef.h>

#include "posenc/dtype.h"
#include "posenc/status.h"

/* Reads elements of a JSON array from text into memory. */
struct api_json_run {
    const unsigned char *at, *end; /* the text */
    unsigned char *out;            /* of the next element */
    size_t capacity;               /* elements that fit at `out` */
    size_t count;                  /* elements read */
    size_t slow;                   /* characters of elements that took the slow path */
    const char *fault;             /* why the element at `at` is refused: a constant sentence */
};

enum { API_JSON_SLOW_MAX = 1 << 20 };

/* Reads at least one element, and the commas and white space between elements. Stops
 * - after an element that no comma follows, with `at` after it and its white space;
 * - at a comma that a bracket or the end of the text follows;
 * - at a comma when the buffer is full or `slow` reached API_JSON_SLOW_MAX, a few milliseconds.
 *
 * Floats are rounded once from their text. Integers are exact or refused; 64.0 and 6.4e1 are
 * integers. "NaN", "Infinity" and "-Infinity" in quotes are floats. A number that ends the text is
 * refused. PE_MALFORMED, PE_INVALID or PE_OUT_OF_RANGE, with `at` at the element. */
enum pe_status api_json_run_read(struct api_json_run *run, enum pe_dtype dtype);

static inline const unsigned char *api_json_space_skip(const unsigned char *at,
                                                       const unsigned char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

#endif
