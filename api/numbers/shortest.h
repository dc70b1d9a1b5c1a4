/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_SHORTEST_H
#define API_NUMBERS_SHORTEST_H

/* The shortest decimal that reads back as a float, and the nearest of the shortest.
 *
 * Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles", 2020). Every number
 * between the two midpoints around a value c * 2^q reads back as that value. With 10^k the largest
 * power not wider than this interval, the interval has a multiple of 10^k and at most one of
 * 10^(k+1), which is the shortest if it exists. Numbers are multiples of 10^k / 4 rounded to odd:
 * the last bit records an inexact result, which keeps every comparison correct. */

#include <stdbool.h>
#include <stdint.h>

#include "api/numbers/decimal.h"

/* digits * 10^exponent; may end with zeros. */
struct api_shortest {
    uint64_t digits;
    int exponent;
};

/* floor(log10(2^e)), and that of 3/4 * 2^e, for |e| <= 1650. */
static inline int api_shortest_log10(int e, bool three_quarters)
{
    return (e * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

/* 10^k rounded up, to 64 bits and to 128. */
static inline uint64_t api_shortest_power_64(int k)
{
    const struct api_power *power = api_power(k);

    return power->high + ((uint64_t)k > API_POWER_EXACT_MAX || power->low != 0);
}

static inline struct api_power api_shortest_power_128(int k)
{
    struct api_power power = *api_power(k);

    power.low += (uint64_t)k > API_POWER_EXACT_MAX; /* never from all ones, as a test checks */
    return power;
}

static inline uint64_t api_shortest_scale_64(uint64_t power, uint32_t n)
{
    const unsigned __int128 product = (unsigned __int128)power * n;

    return (uint64_t)(product >> 64) | ((uint32_t)((uint64_t)product >> 32) > 1);
}

static inline uint64_t api_shortest_scale_128(struct api_power power, uint64_t n)
{
    const unsigned __int128 low = (unsigned __int128)power.low * n;
    const unsigned __int128 product = (unsigned __int128)power.high * n + (uint64_t)(low >> 64);

    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* Chooses among the multiples of 10^k and of 10^(k+1) around the value. below, value and above are
 * in quarters of 10^k. odd: the interval is open. */
static inline struct api_shortest api_shortest_choose(uint64_t below, uint64_t value,
                                                      uint64_t above, bool odd, int k)
{
    const uint64_t first = below + odd, last = above - odd, floor = value / 4;

    /* Both lengths are equally likely, so no branch. */
    const uint64_t tens = floor / 10;
    const bool tens_down = first <= 40 * tens, tens_up = 40 * tens + 40 <= last;
    const bool down = first <= 4 * floor, up = 4 * floor + 4 <= last;
    const uint64_t middle = 4 * floor + 2;
    const bool nearer_up = value > middle || (value == middle && (floor & 1));
    const uint64_t shorter = tens + tens_up, longer = floor + (down != up ? up : nearer_up);
    const bool is_shorter = floor >= 10 && tens_down != tens_up;

    return (struct api_shortest){is_shorter ? shorter : longer, k + is_shorter};
}

/* bits: of a finite f32 that is not zero; the sign is ignored. */
static inline struct api_shortest api_shortest_f32(uint32_t bits)
{
    const uint32_t fraction = bits & 0x7fffff, biased = bits >> 23 & 0xff;
    const uint32_t c = biased ? fraction | 0x800000 : fraction;
    const int q = (biased ? (int)biased : 1) - 150;
    const bool uneven = fraction == 0 && biased > 1; /* the next smaller float is nearer */
    const int k = api_shortest_log10(q, uneven);
    const int shift = q + api_power_exponent(-k) + 1;
    const uint64_t power = api_shortest_power_64(-k);

    return api_shortest_choose(api_shortest_scale_64(power, (4 * c - 2 + uneven) << shift),
                               api_shortest_scale_64(power, (4 * c) << shift),
                               api_shortest_scale_64(power, (4 * c + 2) << shift), c & 1, k);
}

/* The same of an f64. */
static inline struct api_shortest api_shortest_f64(uint64_t bits)
{
    const uint64_t fraction = bits & 0xfffffffffffff, biased = bits >> 52 & 0x7ff;
    const uint64_t c = biased ? fraction | 0x10000000000000 : fraction;
    const int q = (biased ? (int)biased : 1) - 1075;
    const bool uneven = fraction == 0 && biased > 1;
    const int k = api_shortest_log10(q, uneven);
    const int shift = q + api_power_exponent(-k) + 1;
    const struct api_power power = api_shortest_power_128(-k);

    return api_shortest_choose(api_shortest_scale_128(power, (4 * c - 2 + uneven) << shift),
                               api_shortest_scale_128(power, (4 * c) << shift),
                               api_shortest_scale_128(power, (4 * c + 2) << shift), c & 1, k);
}

#endif
