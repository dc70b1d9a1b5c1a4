/* SPDX-License-Identifier: MIT */
#include "api/numbers/decimal.h"
#include "api/base/wraps.h"

typedef unsigned __int128 wide;

/* The value is bits * 2^(exponent - 127), the top bit of bits set, or above that by less than
 * `slack` units; `exact`: it is that. No slack and not exact: it is above by less than one unit. */
struct bounds {
    wide bits, slack;
    int exponent;
    bool exact;
};

static struct bounds bounds_make(uint64_t digits, int power, bool more)
{
    const int shift = __builtin_clzll(digits);
    const bool power_exact = power >= 0 && power <= API_POWER_EXACT_MAX;

    digits <<= shift;
    const wide low = (wide)digits * api_power(power)->low;
    const wide bits = (wide)digits * api_power(power)->high + (uint64_t)(low >> 64);
    wide slack = power_exact ? 0 : 2;
    if (more) /* one unit of the digits, times a power below 2^128, over 2^64 */
        slack += (wide)1 << (64 + shift);
    const int up = !(bits >> 127);
    return (struct bounds){
        .bits = bits << up | (up ? (uint64_t)low >> 63 : 0),
        .slack = slack << up,
        .exponent = api_power_exponent(power) - shift + 64 - up,
        .exact = power_exact && !more && (uint64_t)(low << up) == 0,
    };
}

/* False: a tie lies between the bounds. */
API_WRAPS("a sum past 2^128 is looked for")
static bool round_bounds(const struct bounds *value, struct api_binary to, uint64_t *bits)
{
    const int missing = to.exponent_min - value->exponent;
    const int keep = to.precision - (missing > 0 ? missing : 0);

    if (value->exponent > 1 - to.exponent_min) {
        *bits = api_binary_infinity(to);
        return true;
    }
    if (keep < 0) { /* less than half of the least number, if not with its slack */
        *bits = 0;
        return keep < -1 || value->bits + value->slack > value->slack;
    }
    const wide half = (wide)1 << (127 - keep);
    const uint64_t kept = keep > 0 ? (uint64_t)(value->bits >> (128 - keep)) : 0;
    const wide rest = keep > 0 ? value->bits & (2 * half - 1) : value->bits;
    if (rest < half && half - rest < value->slack)
        return false;
    const bool up = rest > half || (rest == half && (!value->exact || (kept & 1)));
    *bits = missing > 0 ? kept + up : api_binary_bits(to, value->exponent, kept + up);
    return true;
}

bool api_decimal_round(const struct api_decimal *decimal, struct api_binary to, uint64_t *bits)
{
    const int64_t power = decimal->exponent;

    if (decimal->digits == 0 || power < API_POWER_MIN || power > API_POWER_MAX) {
        *bits = decimal->digits == 0 || power < 0 ? 0 : api_binary_infinity(to);
        return true;
    }
    const struct bounds bounds = bounds_make(decimal->digits, (int)power, decimal->more);
    return round_bounds(&bounds, to, bits);
}
