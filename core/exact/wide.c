/* SPDX-License-Identifier: MIT */
#include "core/exact/parts.h"

/* ---- made ----------------------------------------------------------------------------------- */

struct pe_wide pe_wide_special(unsigned bits, enum pe_wide_kind kind, bool negative)
{
    struct pe_wide x;

    x.exponent = 0;
    x.kind = (uint8_t)kind;
    x.negative = negative && kind == PE_WIDE_INFINITE;
    x.inexact = false;
    x.count = (uint8_t)(bits / 64);
    return x;
}

struct pe_wide pe_wide_from_limbs(const uint64_t *limbs, unsigned n, int64_t exponent,
                                  unsigned bits, bool inexact)
{
    struct pe_wide x = pe_wide_special(bits, PE_WIDE_FINITE, false);
    const unsigned count = x.count;

    while (n > 0 && limbs[n - 1] == 0) {
        n--;
        exponent -= 64;
    }
    x.inexact = inexact;
    if (n == 0) {
        x.kind = PE_WIDE_ZERO;
        return x;
    }
    const unsigned zeros = (unsigned)__builtin_clzll(limbs[n - 1]);
    const unsigned used = n < count ? n : count;
    const uint64_t next = n > count ? limbs[n - count - 1] : 0;
    x.exponent = exponent - zeros;
    memset(x.limb, 0, (count - used) * sizeof(x.limb[0]));
    pe_limbs_shift_up(x.limb + (count - used), limbs + (n - used), used, zeros);
    if (zeros)
        x.limb[0] |= next >> (64 - zeros);
    if (n > count)
        x.inexact |= next << zeros != 0 || pe_limbs_any(limbs, n - count - 1);
    if (x.exponent > PE_WIDE_EXPONENT_MAX || x.exponent < -PE_WIDE_EXPONENT_MAX) {
        x.inexact = true;
        x.kind = x.exponent > 0 ? PE_WIDE_INFINITE : PE_WIDE_ZERO;
    }
    return x;
}

struct pe_wide pe_wide_of_uint(unsigned bits, uint64_t value)
{
    return pe_wide_from_limbs(&value, 1, 64, bits, false);
}

struct pe_wide pe_wide_of(unsigned bits, double value)
{
    const uint64_t one = (uint64_t)1 << 52;
    uint64_t number;

    memcpy(&number, &value, sizeof(number));
    const unsigned exponent = number >> 52 & 2047;
    const uint64_t fraction = number & (one - 1);
    if (exponent == 2047)
        return pe_wide_special(bits, fraction ? PE_WIDE_NAN : PE_WIDE_INFINITE, value < 0);
    const uint64_t whole = exponent ? fraction | one : fraction;
    struct pe_wide x =
        pe_wide_from_limbs(&whole, 1, (int)(exponent ? exponent : 1) - 1075 + 64, bits, false);
    x.negative = value < 0;
    return x;
}

bool pe_wide_to_fixed(uint64_t *limbs, unsigned n, const struct pe_wide *x)
{
    const int64_t down = 64 - x->exponent; /* of the highest bit */
    bool lost = false;

    memset(limbs, 0, (n + 1) * sizeof(*limbs));
    if (x->kind != PE_WIDE_FINITE)
        return false;
    if (down / 64 > n)
        return true;
    const unsigned room = n + 1 - (unsigned)(down / 64), count = x->count;
    const unsigned used = room < count ? room : count;
    const unsigned bits = (unsigned)(down % 64);
    uint64_t *to = limbs + (room - used);
    const uint64_t *from = x->limb + (count - used);
    lost = pe_limbs_any(x->limb, count - used);
    if (bits && room > used)
        to[-1] = from[0] << (64 - bits);
    lost |= pe_limbs_shift_down(to, from, used, bits) && room <= used;
    return lost;
}

/* ---- exact operations ------------------------------------------------------------------------ */

struct pe_wide pe_wide_negate(struct pe_wide x)
{
    x.negative = !x.negative && x.kind != PE_WIDE_ZERO;
    return x;
}

struct pe_wide pe_wide_abs(struct pe_wide x)
{
    x.negative = false;
    return x;
}

struct pe_wide pe_wide_scale(struct pe_wide x, int64_t power)
{
    if (x.kind != PE_WIDE_FINITE)
        return x;
    const bool beyond = power > 2 * PE_WIDE_EXPONENT_MAX || power < -2 * PE_WIDE_EXPONENT_MAX;
    const int64_t exponent = beyond ? power : x.exponent + power;
    x.exponent = exponent;
    if (exponent > PE_WIDE_EXPONENT_MAX || exponent < -PE_WIDE_EXPONENT_MAX) {
        x.kind = exponent > 0 ? PE_WIDE_INFINITE : PE_WIDE_ZERO;
        x.negative = x.negative && exponent > 0;
        x.inexact = true;
    }
    return x;
}

struct pe_wide pe_wide_cut(struct pe_wide x, unsigned bits)
{
    const unsigned count = bits / 64, had = x.count;

    if (count < had) {
        x.inexact |= x.kind == PE_WIDE_FINITE && pe_limbs_any(x.limb, had - count);
        memmove(x.limb, x.limb + (had - count), count * sizeof(x.limb[0]));
    } else if (count > had) {
        memmove(x.limb + (count - had), x.limb, had * sizeof(x.limb[0]));
        memset(x.limb, 0, (count - had) * sizeof(x.limb[0]));
    }
    x.count = (uint8_t)count;
    return x;
}

/* ---- whole numbers --------------------------------------------------------------------------- */

/* x without the bits below 1; says whether there were any. */
static struct pe_wide whole_part(struct pe_wide x, bool *fraction)
{
    const int64_t below = 64 * (int64_t)x.count - x.exponent;

    *fraction = false;
    if (x.kind != PE_WIDE_FINITE || below <= 0)
        return x;
    if (x.exponent <= 0) {
        *fraction = true;
        x.kind = PE_WIDE_ZERO;
        x.negative = false;
        return x;
    }
    const unsigned limbs = (unsigned)(below / 64), bits = (unsigned)(below % 64);
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    *fraction = pe_limbs_any(x.limb, limbs) || (x.limb[limbs] & mask) != 0;
    memset(x.limb, 0, limbs * sizeof(x.limb[0]));
    x.limb[limbs] &= ~mask;
    return x;
}

/* One more where there was a fraction, on this side of 0. A sum that needs more than the precision
 * is cut off: the number was smaller by less than its last bit. */
static struct pe_wide whole_beyond(struct pe_wide x, bool negative)
{
    bool fraction;
    const bool away = x.negative == negative;
    const struct pe_wide whole = whole_part(x, &fraction);

    return fraction && away ? pe_wide_add_double(whole, negative ? -1 : 1) : whole;
}

struct pe_wide pe_wide_floor(struct pe_wide x)
{
    return whole_beyond(x, true);
}

struct pe_wide pe_wide_ceil(struct pe_wide x)
{
    return whole_beyond(x, false);
}

/* ---- addition -------------------------------------------------------------------------------- */

/* The sign of |a| - |b|, both finite and not 0. */
static int magnitudes_compare(const struct pe_wide *a, const struct pe_wide *b)
{
    const unsigned n = a->count < b->count ? a->count : b->count;
    int sign;

    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;
    sign = pe_limbs_compare(a->limb + (a->count - n), b->limb + (b->count - n), n);
    if (sign == 0)
        sign = pe_limbs_any(a->limb, a->count - n) - pe_limbs_any(b->limb, b->count - n);
    return sign;
}

/* The limbs of b, shifted down so that they stand under those of a whose exponent is so much
 * larger, in n limbs; returns whether anything was lost. */
static bool align(uint64_t *to, unsigned n, const struct pe_wide *b, uint64_t down)
{
    const uint64_t limbs = down / 64;
    const unsigned bits = (unsigned)(down % 64), count = b->count;

    memset(to, 0, n * sizeof(*to));
    if (limbs >= n)
        return true;
    const unsigned room = n - (unsigned)limbs, used = room < count ? room : count;
    if (bits && room > used)
        to[room - used - 1] = b->limb[count - used] << (64 - bits);
    const bool lost =
        pe_limbs_shift_down(to + (room - used), b->limb + (count - used), used, bits) &&
        room <= used;
    return lost || pe_limbs_any(b->limb, count - used);
}

/* |a| + |b| or |a| - |b|, |a| > |b| > 0, with the sign of a. The smaller one stands under the
 * larger with one limb more; where it loses bits there a difference is made smaller by one, so that
 * it errs towards 0 too, and it does not begin more than one bit below a then. */
static struct pe_wide combine(const struct pe_wide *a, const struct pe_wide *b, bool subtract)
{
    const unsigned count = a->count > b->count ? a->count : b->count, n = count + 1;
    uint64_t sum[PE_WIDE_LIMBS + 2], other[PE_WIDE_LIMBS + 1];
    struct pe_wide x;
    bool lost;

    align(sum, n, a, 0);
    lost = align(other, n, b, (uint64_t)(a->exponent - b->exponent));
    if (subtract) {
        pe_limbs_sub(sum, sum, other, n);
        if (lost)
            pe_limbs_sub(sum, sum, (const uint64_t[PE_WIDE_LIMBS + 1]){1}, n);
        x = pe_wide_from_limbs(sum, n, a->exponent, 64 * count, lost);
    } else {
        sum[n] = pe_limbs_add(sum, sum, other, n);
        x = pe_wide_from_limbs(sum, n + 1, a->exponent + 64, 64 * count, lost);
    }
    x.inexact |= a->inexact || b->inexact;
    x.negative = a->negative && x.kind != PE_WIDE_ZERO;
    return x;
}

struct pe_wide pe_wide_add(struct pe_wide a, struct pe_wide b)
{
    const unsigned bits = 64u * (a.count > b.count ? a.count : b.count);
    const bool inexact = a.inexact || b.inexact, subtract = a.negative != b.negative;

    if (!pe_wide_is_finite(&a) || !pe_wide_is_finite(&b)) {
        const bool none =
            a.kind == PE_WIDE_NAN || b.kind == PE_WIDE_NAN || (a.kind == b.kind && subtract);
        const struct pe_wide *infinite = a.kind == PE_WIDE_INFINITE ? &a : &b;
        return pe_wide_marked(
            pe_wide_special(bits, none ? PE_WIDE_NAN : PE_WIDE_INFINITE, infinite->negative),
            inexact);
    }
    if (a.kind == PE_WIDE_ZERO || b.kind == PE_WIDE_ZERO)
        return pe_wide_marked(pe_wide_cut(a.kind == PE_WIDE_ZERO ? b : a, bits), inexact);
    const int order = magnitudes_compare(&a, &b);
    if (order == 0 && subtract)
        return pe_wide_marked(pe_wide_special(bits, PE_WIDE_ZERO, false), inexact);
    return order < 0 ? combine(&b, &a, subtract) : combine(&a, &b, subtract);
}

struct pe_wide pe_wide_sub(struct pe_wide a, struct pe_wide b)
{
    return pe_wide_add(a, pe_wide_negate(b));
}

int pe_wide_compare(struct pe_wide a, struct pe_wide b)
{
    const int sign_a = pe_wide_sign(a), sign_b = pe_wide_sign(b);

    if (a.kind == PE_WIDE_NAN || b.kind == PE_WIDE_NAN)
        return 0;
    if (sign_a != sign_b || sign_a == 0)
        return (sign_a > sign_b) - (sign_a < sign_b);
    if (a.kind == PE_WIDE_INFINITE || b.kind == PE_WIDE_INFINITE)
        return sign_a * ((a.kind == PE_WIDE_INFINITE) - (b.kind == PE_WIDE_INFINITE));
    return sign_a * magnitudes_compare(&a, &b);
}
