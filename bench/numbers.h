/* SPDX-License-Identifier: MIT */
#ifndef BENCH_NUMBERS_H
#define BENCH_NUMBERS_H

/* The calls of posencd and jansson that bench/numbers.cc times, behind a face that C++ can see.
 * false: the call failed. */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ROWS = 15625, COLUMNS = 64, COUNT = ROWS * COLUMNS };

/* The text of one number; returns its length, room for 64 is wanted. */
size_t posencd_number(char *out, float number);

/* A body {"tensors":{"q":...}} to floats. posencd leaves them in its own memory and copies them out
 * only if `out` is given. */
bool posencd_parse(const char *body, size_t size, float *out);
bool jansson_parse(const char *body, size_t size, float *out);

/* The numbers of [1,2,...]. */
bool posencd_scan(const char *text, size_t size, float *out);

/* ROWS x COLUMNS floats as JSON into `room` bytes. */
bool posencd_print(const float *floats, char *out, size_t room);
bool jansson_print(const float *floats, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
