/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_POWERS_H
#define API_NUMBERS_POWERS_H

#include <stdint.h>

/* Powers of ten to 128 bits, for numbers to text and back. */
enum { API_POWER_MIN = -342, API_POWER_MAX = 324 };

/* 10^k is (high * 2^64 + low + f) * 2^(api_power_exponent(k) - 127) with 0 <= f < 1; the top bit of
 * high is set. f is 0 for k from 0 to API_POWER_EXACT_MAX and for no other k. */
struct api_power {
    uint64_t high, low;
};

enum { API_POWER_EXACT_MAX = 55 }; /* 5^55 < 2^128 < 5^56 */

/* Computed before main, constant from then on. Index k - API_POWER_MIN. */
extern struct api_power api_powers[API_POWER_MAX - API_POWER_MIN + 1];

/* 10^0 .. 10^19, all that 64 bits hold. */
extern const uint64_t api_tens[20];

static inline const struct api_power *api_power(int k)
{
    return &api_powers[k - API_POWER_MIN];
}

/* floor(log2(10^k)) for |k| <= 1233. */
static inline int api_power_exponent(int k)
{
    return (k * 1741647) >> 19;
}

#endif
