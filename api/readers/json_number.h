/* SPDX-License-Identifier: MIT */
#ifndef API_READERS_JSON_NUMBER_H
#define API_READERS_JSON_NUMBER_H

#include "core/dtype.h"
#include "core/status.h"

/* Reads one JSON element at *at, writes it to out in the dtype and moves *at behind it. A float is
 * rounded once from its text, whatever the dtype; an integer is exact or refused, 64.0 and 6.4e1
 * being integers. "NaN", "Infinity" and "-Infinity" in quotes are floats. The text must go on
 * behind `end` - 1 with something that is no number, which a closing bracket at end - 1 gives.
 * PE_MALFORMED, PE_INVALID or PE_OUT_OF_RANGE with a constant sentence in *fault. */
enum pe_status api_json_element_read(const unsigned char **at, const unsigned char *end,
                                     enum pe_dtype dtype, void *out, const char **fault);

#endif
