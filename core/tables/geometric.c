/* SPDX-License-Identifier: MIT */
#include "core/tables/geometric.h"

#include <gmp.h>
#include <stdbool.h>

int64_t pe_geometric_bound(unsigned long low, unsigned long high, unsigned long parts,
                           unsigned long k, enum pe_bound bound)
{
    const unsigned long rest = k < parts ? parts - k : k - parts;
    mpz_t power, other;
    bool whole = true;

    /* high^k low^(parts - k), rounded down where it is a quotient: the floor of the root is the
     * same */
    mpz_init(power);
    mpz_init(other);
    mpz_ui_pow_ui(power, high, k);
    mpz_ui_pow_ui(other, low, rest);
    if (k <= parts) {
        mpz_mul(power, power, other);
    } else {
        whole = mpz_divisible_p(power, other) != 0;
        mpz_fdiv_q(power, power, other);
    }
    if (!mpz_root(power, power, parts))
        whole = false;
    const int64_t root = (int64_t)mpz_get_ui(power);
    mpz_clear(power);
    mpz_clear(other);
    return root + (bound == PE_BOUND_ABOVE || !whole);
}

size_t pe_bounds_passed(const int64_t *bounds, size_t count, int64_t n)
{
    size_t passed = 0;

    while (count > 0) {
        const size_t half = count / 2;
        if (bounds[passed + half] <= n) {
            passed += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return passed;
}

double pe_geometric_work(size_t count, size_t parts)
{
    return (double)count * (300 + 0.03 * (double)parts * (double)parts);
}
