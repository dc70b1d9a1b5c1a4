/* SPDX-License-Identifier: MIT */
#include "api/numbers/powers.h"
#include "api/base/wraps.h"

#include <stddef.h>

/* 10^k and 5^k have the same leading bits. Both ways the powers of five are one step from each
 * other: a multiplication that is exact, or a division that rounds down, which is exact as well,
 * since the floor of a quotient's floor is the floor of the whole quotient. 667 entries, about 30
 * microseconds; as data they would be 10 KB that someone has to trust. */

const uint64_t api_tens[20] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                               1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

struct api_power api_powers[API_POWER_MAX - API_POWER_MIN + 1];

/* Room for 5^324 * 2^128, and for 2^1023 / 5^342 with more than 128 bits left; low limbs first. */
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
    uint64_t rest = 0;

    for (size_t i = LIMBS; i-- > 0;) {
        rest = rest << 32 | limbs[i];
        limbs[i] = (uint32_t)(rest / 5);
        rest %= 5;
    }
}

/* The 128 bits from the top one on. */
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
