/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_PRINT_H
#define API_NUMBERS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "posenc/dtype.h"

/* Memory that printing may write to, behind the text as well: whole words are stored. */
enum { API_NUMBER_MAX = 48 };

/* Writes a number as JSON and returns its length, a zero byte behind it: the shortest digits that
 * read back as the same value, and the nearest of those to it, as f32 of f32, f16 and bf16 and as
 * f64 otherwise; NaN and the infinities as the strings "NaN", "Infinity" and "-Infinity"; integers
 * exactly; bool as true or false. */
size_t api_number_print(char *out, enum pe_dtype dtype, const void *element);

/* Writes an f64 as api_number_print does. */
size_t api_double_print(char *out, double value);

/* Elements separated by commas, in `pairs` as [re,im]; returns the end. No zero byte, and up to
 * API_NUMBER_MAX bytes behind the end are written to. */
char *api_numbers_print(char *to, enum pe_dtype dtype, const void *elements, size_t count,
                        bool pairs);

/* The most characters that an element of a dtype needs, without the end of the string. */
size_t api_number_room(enum pe_dtype dtype);

#endif
