/* SPDX-License-Identifier: MIT */
#ifndef API_DEFLATE_SYMBOLS_H
#define API_DEFLATE_SYMBOLS_H

#include "api/deflate/bits.h"
#include "api/deflate/huffman.h"

/* Symbols of a block with codes of its own (RFC 1951, 3.2.5 to 3.2.7): literals, matches and
 * an end. */

enum {
    API_MATCH_MAX = 258,
    API_WINDOW = 32768,
    API_END = 256, /* the symbol that ends a block */
    API_DISTANCES = 30,
    API_CODES_ROOM = 1024, /* bytes, that both codes are told in */
};

/* A symbol, and bits behind it: each 1 << few symbols have one bit more than those before. */
struct api_symbol {
    unsigned symbol, extra, bits;
};

static inline struct api_symbol api_symbol_of(unsigned rest, unsigned few)
{
    const unsigned wide = rest > 0 ? 31U - (unsigned)__builtin_clz(rest) : 0;
    const unsigned bits = wide > few ? wide - few : 0;

    return (struct api_symbol){(bits << few) + (rest >> bits), rest & ((1U << bits) - 1), bits};
}

/* The greatest length has a symbol of its own. */
static inline struct api_symbol api_length_symbol(unsigned length)
{
    struct api_symbol made = api_symbol_of(length - 3, 2);

    if (length == API_MATCH_MAX)
        return (struct api_symbol){285, 0, 0};
    made.symbol += API_END + 1;
    return made;
}

static inline struct api_symbol api_distance_symbol(unsigned distance)
{
    return api_symbol_of(distance - 1, 1);
}

/* Begins a block and tells both codes. */
void api_codes_put(struct api_bits *bits, bool last, const struct api_code *literals,
                   const struct api_code *distances);

#endif
