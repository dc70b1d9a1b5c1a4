/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_DECIMAL_H
#define API_NUMBERS_DECIMAL_H

/* A decimal to the bits of the nearest binary float, ties to even, rounded once whatever the
 * format: f64, f32, f16 and bf16 are one algorithm. After Daniel Lemire, "Number parsing at a
 * gigabyte per second" (2021), with intervals in place of its case analysis: digits times a
 * truncated power of ten bound the value from both sides, and the step is final wherever both
 * bounds round alike. */

#include <stdbool.h>
#include <stdint.h>

#include "api/base/wraps.h"
#include "api/numbers/powers.h"
#include "posenc/dtype.h"

/* digits * 10^exponent; with `more` up to one unit of the last digit above it. */
struct api_decimal {
    uint64_t digits;
    int64_t exponent;
    bool more;
};

/* A format of the bits sign, exponent, fraction. */
struct api_binary {
    int precision;    /* significant bits, the implicit one included */
    int exponent_min; /* of normal numbers */
};

static inline struct api_binary api_binary_of(enum pe_dtype dtype)
{
    return dtype == PE_F64   ? (struct api_binary){53, -1022}
           : dtype == PE_F32 ? (struct api_binary){24, -126}
           : dtype == PE_F16 ? (struct api_binary){11, -14}
                             : (struct api_binary){8, -126};
}

static inline uint64_t api_binary_infinity(struct api_binary to)
{
    return (uint64_t)(3 - 2 * to.exponent_min) << (to.precision - 1);
}

/* Of a normal number with `kept` as its significant bits; a carry out of them is right too. */
static inline uint64_t api_binary_bits(struct api_binary to, int exponent, uint64_t kept)
{
    return ((uint64_t)(exponent - to.exponent_min) << (to.precision - 1)) + kept;
}

/* One multiplication with the upper half of the power, which does for nearly all. False: the result
 * is not normal, or too near a tie. Digits are not 0. */
API_WRAPS("one comparison for two: below it is far above")
static inline __attribute__((always_inline)) bool
api_decimal_quick(uint64_t digits, int64_t power, struct api_binary to, uint64_t *bits)
{
    const int drop = 64 - to.precision, shift = __builtin_clzll(digits);
    const uint64_t half = UINT64_C(1) << (drop - 1);

    if (power < API_POWER_MIN || power > API_POWER_MAX)
        return false;
    const unsigned __int128 product =
        (unsigned __int128)(digits << shift) * api_power((int)power)->high;
    const int low = !(product >> 127); /* the top bit is the next one */
    const uint64_t high = (uint64_t)(product << low >> 64);
    const uint64_t rest = high & (2 * half - 1);
    const int exponent = api_power_exponent((int)power) - shift + 64 - low;
    /* The value is in [high, high + 3). */
    if (rest - (half - 2) <= 2 || exponent < to.exponent_min || exponent > 1 - to.exponent_min)
        return false;
    *bits = api_binary_bits(to, exponent, (high >> drop) + (rest > half));
    return *bits < api_binary_infinity(to);
}

/* With 128 bits and for every value: overflow is infinity. False: a tie lies within the bounds,
 * which pe_from_text decides. */
bool api_decimal_round(const struct api_decimal *decimal, struct api_binary to, uint64_t *bits);

#endif
