/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_TICKS_H
#define API_PICTURES_TICKS_H

#include <stdbool.h>
#include <stddef.h>

/* Marks of axes. Functions of the C library that round differently from machine to machine are not
 * called. */

enum { API_TICKS_MAX = 24, API_TICK_SIZE = 40 };

struct api_tick {
    double value;
    char label[API_TICK_SIZE]; /* "" where it has none */
};

struct api_ticks {
    struct api_tick list[API_TICKS_MAX];
    size_t count;
};

/* The decadic logarithm of a number greater than 0, to 1e-15 of it. */
double api_log10(double value);

/* Multiples of 1, 2 or 5 times a power of ten within [least, most], about `wanted` of them and
 * never more than API_TICKS_MAX. whole: none lie between integers. */
void api_ticks_linear(struct api_ticks *ticks, double least, double most, size_t wanted,
                      bool whole);

/* Powers of ten whose exponents lie within [least, most], and of fewer than three decades twice and
 * five times those too; the value is the exponent. */
void api_ticks_decades(struct api_ticks *ticks, double least, double most, size_t wanted);

/* Shortest digits, and a minus of the length of a plus. */
void api_tick_print(char label[API_TICK_SIZE], double value);

#endif
