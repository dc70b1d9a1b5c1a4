/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_PRINT_H
#define API_NUMBERS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "posenc/dtype.h"

/* Bytes that printing a number may write, including after its text: words are stored at once. */
enum { API_NUMBER_MAX = 48 };

/* Writes a number as JSON, ended by a zero byte, and returns its length: the shortest digits that
 * read back as the same value, and the nearest of those (f16 and bf16 as f32); NaN and infinities
 * as the strings "NaN", "Infinity" and "-Infinity"; integers exactly; bool as true or false. */
size_t api_number_print(char *out, enum pe_dtype dtype, const void *element);
size_t api_double_print(char *out, double value);

/* Writes elements separated by commas, with `pairs` as [re,im], and returns the end of the text. No
 * zero byte; up to API_NUMBER_MAX bytes after the end may be overwritten. */
char *api_numbers_print(char *to, enum pe_dtype dtype, const void *elements, size_t count,
                        bool pairs);

/* The most characters of an element of a dtype. */
size_t api_number_length_max(enum pe_dtype dtype);

#endif
