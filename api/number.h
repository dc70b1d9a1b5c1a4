/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBER_H
#define API_NUMBER_H

#include <stddef.h>

#include "core/dtype.h"

enum { API_NUMBER_MAX = 32 }; /* characters that any number needs, the end of the string included */

/* Writes a number as JSON and returns its length: the shortest digits that read back as the same
 * value, as f32 of f32, f16 and bf16 and as f64 otherwise; NaN and the infinities as the strings
 * "NaN", "Infinity" and "-Infinity"; integers exactly; bool as true or false. */
size_t api_number_print(char *out, enum pe_dtype dtype, const void *element);

/* The same for a double at hand. */
size_t api_double_print(char *out, double value);

/* The most characters that an element of a dtype needs, without the end of the string. */
size_t api_number_room(enum pe_dtype dtype);

#endif
