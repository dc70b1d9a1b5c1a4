/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_DECIMAL_H
#define API_NUMBERS_DECIMAL_H

/* Powers of ten, and the conversion of a decimal to the nearest binary float, ties to even, in one
 * rounding for f64, f32, f16 and bf16. After Daniel Lemire, "Number parsing at a gigabyte per
 * second" (2021), with intervals in place of its case analysis: digits times a truncated power of
 * ten bound the value from both sides, and the result is final if both bounds round to the same
 * number. */

#include <stdbool.h>
#include <stdint.h>

#include "api/base/compiler.h"
#include "posenc/dtype.h"

/* ---- powers of ten --------------------------------------------------------------------------- */

enum { API_POWER_MIN = -342, API_POWER_MAX = 324 };

/* 10^k to 128 bits: (high * 2^64 + low + f) * 2^(api_power_exponent(k) - 127) with 0 <= f < 1, and
 * the top bit of high set. f is 0 exactly for 0 <= k <= API_POWER_EXACT_MAX. */
struct api_power {
    uint64_t high, low;
};

enum { API_POWER_EXACT_MAX = 55 }; /* 5^55 < 2^128 < 5^56 */

/* Computed before main; index k - API_POWER_MIN. */
extern struct api_power api_powers[API_POWER_MAX - API_POWER_MIN + 1];

/* 10^0 to 10^19, the powers that fit into 64 bits. */
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

/* ---- decimal to binary ----------------------------------------------------------------------- */

/* digits * 10^exponent; with `more`, above it by less than one unit of the last digit. */
struct api_decimal {
    uint64_t digits;
    int64_t exponent;
    bool more;
};

/* A binary float format of sign, exponent and fraction. */
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

/* The bits of a normal number; a carry out of the significant bits raises the exponent. */
static inline uint64_t api_binary_bits(struct api_binary to, int exponent, uint64_t significant)
{
    return ((uint64_t)(exponent - to.exponent_min) << (to.precision - 1)) + significant;
}

/* The fast path: one multiplication by the upper half of the power. digits > 0. False: the result
 * is not normal, or too near a tie. */
API_WRAPS("one comparison for two: a negative difference becomes a large one")
static inline __attribute__((always_inline)) bool
api_decimal_quick(uint64_t digits, int64_t power, struct api_binary to, uint64_t *bits)
{
    const int drop = 64 - to.precision, shift = __builtin_clzll(digits);
    const uint64_t half = UINT64_C(1) << (drop - 1);

    if (power < API_POWER_MIN || power > API_POWER_MAX)
        return false;
    const unsigned __int128 product =
        (unsigned __int128)(digits << shift) * api_power((int)power)->high;
    const int low = !(product >> 127); /* the product has 127 bits */
    const uint64_t high = (uint64_t)(product << low >> 64);
    const uint64_t rest = high & (2 * half - 1);
    const int exponent = api_power_exponent((int)power) - shift + 64 - low;
    /* The value is in [high, high + 3). */
    if (rest - (half - 2) <= 2 || exponent < to.exponent_min || exponent > 1 - to.exponent_min)
        return false;
    *bits = api_binary_bits(to, exponent, (high >> drop) + (rest > half));
    return *bits < api_binary_infinity(to);
}

/* The general path, with 128 bits: overflow is infinity. False: a tie lies between the bounds, and
 * pe_from_text has to decide. */
bool api_decimal_round(const struct api_decimal *decimal, struct api_binary to, uint64_t *bits);

#endif
