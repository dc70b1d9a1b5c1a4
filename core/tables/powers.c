/* SPDX-License-Identifier: MIT */
#include "core/tables/powers.h"

/* Bounds, in units of 2^-bits of the value. A rate is off by 8 of its own, the exponent rate *
 * steps by 10, which is 10 * 2^10 of the power; exp adds 4: below 2^14. A ratio of a walk is off by
 * the same share of its exponent and by 4, and each product adds 2: a walk of LINKS adds 10 * 2^10
 * + 6 LINKS at most to what it began with, and stays below 2^15. */
enum { LINKS = 256 };

static size_t steps_of(const struct pe_powers *powers, const void *context, size_t pair)
{
    if (!powers->share)
        return 0;
    return powers->steps ? powers->steps(context, pair) : pair;
}

/* e^(-rate steps) */
static struct pe_wide power_of(const struct pe_wide *rate, size_t steps)
{
    return pe_wide_exp(pe_wide_negate(pe_wide_mul_uint(*rate, steps)));
}

static struct pe_wide scaled(const struct pe_powers *powers, const struct pe_wide *power,
                             const struct pe_shared *shared, const void *context, size_t pair)
{
    return powers->scaled ? powers->scaled(power, shared, context, pair) : *power;
}

struct pe_wide pe_powers_real(const struct pe_powers *powers, const void *context, unsigned bits,
                              size_t pair)
{
    const size_t steps = steps_of(powers, context, pair);
    struct pe_shared shared;
    struct pe_wide power = pe_wide_of_uint(bits, 1);

    if (powers->share && (steps > 0 || powers->scaled))
        powers->share(&shared, bits, context);
    if (steps > 0)
        power = power_of(&shared.number[0], steps);
    return scaled(powers, &power, &shared, context, pair);
}

/* ---- pair after pair ------------------------------------------------------------------------- */

void pe_walk_begin(struct pe_walk *walk, const struct pe_powers *powers, const void *context,
                   unsigned bits)
{
    walk->powers = powers;
    walk->context = context;
    walk->power = pe_wide_of_uint(bits, 1);
    walk->steps = walk->stride = walk->links = 0;
    if (powers->share)
        powers->share(&walk->shared, bits, context);
}

/* The first two pairs whose steps differ tell the stride. */
static void power_move(struct pe_walk *walk, size_t steps)
{
    if (walk->stride == 0 && steps > walk->steps) {
        walk->stride = steps - walk->steps;
        walk->ratio = power_of(&walk->shared.number[0], walk->stride);
    }
    if (steps == walk->steps + walk->stride && walk->links < LINKS) {
        walk->power = pe_wide_mul(walk->power, walk->ratio);
        walk->links++;
    } else {
        walk->power = steps > 0 ? power_of(&walk->shared.number[0], steps)
                                : pe_wide_of_uint(pe_wide_precision(&walk->power), 1);
        walk->links = 0;
    }
    walk->steps = steps;
}

struct pe_wide pe_walk_to(struct pe_walk *walk, size_t pair)
{
    const size_t steps = steps_of(walk->powers, walk->context, pair);

    if (steps != walk->steps)
        power_move(walk, steps);
    return scaled(walk->powers, &walk->power, &walk->shared, walk->context, pair);
}
