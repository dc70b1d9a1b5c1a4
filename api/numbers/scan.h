/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_SCAN_H
#define API_NUMBERS_SCAN_H

#include <stddef.h>

#include "posenc/dtype.h"
#include "posenc/status.h"

/* Elements of a JSON array, one after the other, from text into memory. */
struct api_json_run {
    const unsigned char *at, *end; /* the text */
    unsigned char *out;            /* where the next element goes */
    size_t room;                   /* elements that `out` has room for yet */
    size_t count;                  /* elements read */
    size_t slow;                   /* characters of elements that took several times as long */
    const char *fault;             /* why the one at `at` could not be: a constant sentence */
};

enum { API_JSON_SLOW_MAX = 1 << 20 };

/* Reads elements and the commas between them, white space allowed, until something else follows an
 * element (`at` is there), something that is no element follows a comma (`at` is at the comma), or
 * the room is full or API_JSON_SLOW_MAX characters were slow (at the comma likewise), which is a
 * few milliseconds. At least one element is wanted, and there is room.
 *
 * A float is rounded once from its text, whatever the dtype; an integer is exact or refused, 64.0
 * and 6.4e1 being integers. "NaN", "Infinity" and "-Infinity" in quotes are floats. A number must
 * be followed by something. PE_MALFORMED, PE_INVALID or PE_OUT_OF_RANGE with `at` at the
 * element. */
enum pe_status api_json_run_read(struct api_json_run *run, enum pe_dtype dtype);

/* One element by all the rules, without haste: what the run leaves to it. Moves *at behind it. */
enum pe_status api_json_element_read(const unsigned char **at, const unsigned char *end,
                                     enum pe_dtype dtype, void *out, const char **fault);

static inline const unsigned char *api_json_space_skip(const unsigned char *at,
                                                       const unsigned char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

#endif
