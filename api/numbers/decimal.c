/* SPDX-License-Identifier: MIT */
#include "api/numbers/decimal.h"

#include <stddef.h>

/* ---- powers of ten -------------------------------------------------------------------------- */

/* 10^k and 5^k have the same leading bits. Each power of five follows from its neighbour by an
 * exact multiplication, or by a division rounded down, which stays exact since the floor of a
 * floor's quotient is the floor of the full quotient. The 667 entries take about 30 us; as data
 * they would be 10 KB to be trusted. */

const uint64_t api_tens[20] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                               1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

struct api_power api_powers[API_POWER_MAX - API_POWER_MIN + 1];

/* Enough for 5^324 * 2^128, and for 2^1023 / 5^342 with more than 128 bits left; low limbs first.
 */
enum { LIMBS = 32 };

static void five_multiply(uint32_t *limbs)
{
    uint64_t carry = 0;

    for (size_t i = 0; i < LIMBS; i++) {
        carry += UINT64_C(5) * limbs[i];
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

API_WRAPS("counts down past 0")
static void five_divide(uint32_t *limbs)
{
    uint64_t remainder = 0;

    for (size_t i = LIMBS; i-- > 0;) {
        remainder = remainder << 32 | limbs[i];
        limbs[i] = (uint32_t)(remainder / 5);
        remainder %= 5;
    }
}

/* The first 128 bits from the top bit that is set. */
static struct api_power leading_bits(const uint32_t *limbs)
{
    size_t top = LIMBS - 1;

    while (limbs[top] == 0)
        top--;
    const int shift = __builtin_clz(limbs[top]);
    const uint64_t high = (uint64_t)limbs[top] << 32 | limbs[top - 1];
    const uint64_t low = (uint64_t)limbs[top - 2] << 32 | limbs[top - 3];
    const uint64_t next = (uint64_t)limbs[top - 4] << shift >> 32;

    if (shift == 0)
        return (struct api_power){high, low};
    return (struct api_power){high << shift | low >> (64 - shift), low << shift | next};
}

__attribute__((constructor)) static void powers_compute(void)
{
    uint32_t up[LIMBS] = {[4] = 1}, down[LIMBS] = {[LIMBS - 1] = UINT32_C(1) << 31};

    for (int k = 0; k <= API_POWER_MAX; k++, five_multiply(up))
        api_powers[k - API_POWER_MIN] = leading_bits(up);
    for (int k = -1; k >= API_POWER_MIN; k--) {
        five_divide(down);
        api_powers[k - API_POWER_MIN] = leading_bits(down);
    }
}

/* ---- rounding ------------------------------------------------------------------------------- */

typedef unsigned __int128 wide;

/* The value lies in [bits, bits + slack) * 2^(exponent - 127), the top bit of `bits` set. slack 0:
 * it is bits if `exact`, else above by less than one unit. */
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
    if (more) /* one unit of the digits, times a power below 2^128, divided by 2^64 */
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
API_WRAPS("a sum past 2^128 is detected")
static bool round_bounds(const struct bounds *value, struct api_binary to, uint64_t *bits)
{
    const int missing = to.exponent_min - value->exponent;
    const int keep = to.precision - (missing > 0 ? missing : 0);

    if (value->exponent > 1 - to.exponent_min) {
        *bits = api_binary_infinity(to);
        return true;
    }
    if (keep < 0) { /* below half of the least number, except perhaps with the slack */
        *bits = 0;
        return keep < -1 || value->bits + value->slack > value->slack;
    }
    const wide half = (wide)1 << (127 - keep);
    const uint64_t significant = keep > 0 ? (uint64_t)(value->bits >> (128 - keep)) : 0;
    const wide dropped = keep > 0 ? value->bits & (2 * half - 1) : value->bits;
    if (dropped < half && half - dropped < value->slack)
        return false;
    const bool up = dropped > half || (dropped == half && (!value->exact || (significant & 1)));
    *bits = missing > 0 ? significant + up : api_binary_bits(to, value->exponent, significant + up);
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
