/* SPDX-License-Identifier: MIT */
#ifndef API_DEFLATE_BITS_H
#define API_DEFLATE_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bits in a row, the first lowest (RFC 1951, 3.1.1). Room is the caller's care: a flush writes
 * eight bytes, of which the last may be nothing yet. */
struct api_bits {
    unsigned char *at; /* behind the bytes that are whole */
    uint64_t held;     /* bits behind them */
    unsigned count;    /* 7 at most after a flush, 64 before one */
};

enum { API_BITS_SLACK = 8 }; /* bytes that a flush may write behind `at` */

static inline void api_bits_add(struct api_bits *bits, uint64_t value, unsigned count)
{
    bits->held |= value << bits->count;
    bits->count += count;
}

static inline void api_bits_flush(struct api_bits *bits)
{
    memcpy(bits->at, &bits->held, sizeof(bits->held));
    bits->at += bits->count / 8;
    bits->held = bits->count < 64 ? bits->held >> (bits->count & ~7U) : 0;
    bits->count &= 7;
}

static inline void api_bits_put(struct api_bits *bits, uint64_t value, unsigned count)
{
    api_bits_add(bits, value, count);
    api_bits_flush(bits);
}

#endif
