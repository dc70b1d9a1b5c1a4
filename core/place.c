/* SPDX-License-Identifier: MIT */
#include "core/place.h"

#include <stdint.h>
#include <stdlib.h>

/* Rows are made cos beside sin first, so many at once that what a call of rows.c costs does not
 * show; short of memory, one pair after another. */
enum { ROWS_AT_ONCE = 1024, PAIRS_ON_STACK = 64 };

#define SPREAD(type)                                                                               \
    static void spread_##type(type *out, const type *from, size_t first, size_t count,             \
                              size_t apart, size_t row)                                            \
    {                                                                                              \
        for (size_t i = 0; i < count && first + i * apart < row; i++)                              \
            out[first + i * apart] = from[i];                                                      \
    }

SPREAD(uint16_t)
SPREAD(uint32_t)
SPREAD(uint64_t)

static void spread(void *out, const void *from, size_t size, size_t first, size_t count,
                   const struct pe_places *places)
{
    if (size == 2)
        spread_uint16_t(out, from, first, count, places->apart, places->row);
    else if (size == 4)
        spread_uint32_t(out, from, first, count, places->apart, places->row);
    else
        spread_uint64_t(out, from, first, count, places->apart, places->row);
}

static void row_place(const struct pe_frequencies *f, const struct pe_positions *positions,
                      size_t row, enum pe_amplitude amplitude, enum pe_dtype dtype,
                      const struct pe_places *places, void *out)
{
    const size_t pairs = pe_frequencies_count(f), size = pe_dtype_info(dtype)->size;
    double cos[PAIRS_ON_STACK], sin[PAIRS_ON_STACK];

    for (size_t begin = 0; begin < pairs; begin += PAIRS_ON_STACK) {
        const size_t count = pairs - begin < PAIRS_ON_STACK ? pairs - begin : PAIRS_ON_STACK;
        pe_frequencies_pairs(f, positions, row, begin, begin + count, amplitude, dtype, cos, sin);
        spread(out, cos, size, places->cos + begin * places->apart, count, places);
        spread(out, sin, size, places->sin + begin * places->apart, count, places);
    }
}

void pe_frequencies_place(const struct pe_frequencies *f, const struct pe_positions *positions,
                          size_t begin, size_t end, enum pe_amplitude amplitude,
                          enum pe_dtype dtype, const struct pe_places *places, void *out)
{
    const size_t pairs = pe_frequencies_count(f), size = pe_dtype_info(dtype)->size;
    const size_t at_once = end - begin < ROWS_AT_ONCE ? end - begin : ROWS_AT_ONCE;
    char *cos = at_once > 1 ? malloc(2 * at_once * pairs * size) : NULL;

    for (size_t row = begin; row < end; row += at_once) {
        const size_t count = end - row < at_once ? end - row : at_once;
        char *sin = cos + at_once * pairs * size,
             *to = (char *)out + (row - begin) * places->row * size;
        if (cos)
            pe_frequencies_cos_sin(f, positions, row, row + count, amplitude, dtype, pairs, cos,
                                   sin);
        for (size_t i = 0; i < count; i++, to += places->row * size) {
            if (!cos) {
                row_place(f, positions, row + i, amplitude, dtype, places, to);
                continue;
            }
            spread(to, cos + i * pairs * size, size, places->cos, pairs, places);
            spread(to, sin + i * pairs * size, size, places->sin, pairs, places);
        }
    }
    free(cos);
}
