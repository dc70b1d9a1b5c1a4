/* SPDX-License-Identifier: MIT */
#include "core/exact/wide.h"

#include <float.h>
#include <math.h>

#include "core/base/sanitizer.h"
#include "core/exact/wide_internal.h"

/* ---- limbs ---------------------------------------------------------------------------------- */

void pe_limbs_multiply(uint64_t *r, const uint64_t *a, unsigned na, const uint64_t *b, unsigned nb)
{
    memset(r, 0, na * sizeof(*r));
    for (unsigned i = 0; i < nb; i++)
        r[na + i] = pe_limbs_add_product(r + i, a, na, b[i]);
}

/* ---- division ------------------------------------------------------------------------------- */

/* floor((2^128 - 1) / d) - 2^64; the highest bit of d is 1. */
static uint64_t reciprocal(uint64_t d)
{
    return (uint64_t)(((unsigned __int128)~d << 64 | UINT64_MAX) / d);
}

/* (high, low) / d for high < d: Moeller and Granlund, Improved division by invariant integers,
 * 2011, algorithm 4. */
PE_WRAPS("the quotient and the remainder are exact modulo 2^64")
static inline uint64_t divide_two(uint64_t high, uint64_t low, uint64_t d, uint64_t inverse,
                                  uint64_t *rest)
{
    const unsigned __int128 near =
        (unsigned __int128)inverse * high + ((unsigned __int128)high << 64 | low);
    uint64_t q = (uint64_t)(near >> 64) + 1, r = low - q * d;

    if (r > (uint64_t)near) {
        q--;
        r += d;
    }
    if (r >= d) {
        q++;
        r -= d;
    }
    *rest = r;
    return q;
}

/* Knuth's algorithm D: a digit estimated from one limb of b is at most 2 too large. */
void pe_limbs_divide(uint64_t *q, uint64_t *a, unsigned na, const uint64_t *b, unsigned nb)
{
    const uint64_t top = b[nb - 1], inverse = reciprocal(top);

    for (unsigned i = na - nb; i > 0; i--) {
        uint64_t *part = a + (i - 1), rest;
        uint64_t digit =
            part[nb] >= top ? UINT64_MAX : divide_two(part[nb], part[nb - 1], top, inverse, &rest);
        const uint64_t borrow = pe_limbs_sub_product(part, b, nb, digit);
        for (uint64_t lacking = borrow > part[nb] ? borrow - part[nb] : 0; lacking; digit--)
            lacking -= pe_limbs_add(part, part, b, nb);
        part[nb] = 0;
        q[i - 1] = digit;
    }
}

uint64_t pe_limbs_divide_one(uint64_t *a, unsigned n, uint64_t d)
{
    const unsigned bits = (unsigned)__builtin_clzll(d);
    const uint64_t high = d << bits, inverse = reciprocal(high);
    uint64_t rest = pe_limbs_shift_up(a, a, n, bits);

    for (unsigned i = n; i > 0; i--)
        a[i - 1] = divide_two(rest, a[i - 1], high, inverse, &rest);
    return rest >> bits;
}

/* ---- construction --------------------------------------------------------------------------- */

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
    const uint64_t mantissa = exponent ? fraction | one : fraction;
    struct pe_wide x =
        pe_wide_from_limbs(&mantissa, 1, (int)(exponent ? exponent : 1) - 1075 + 64, bits, false);
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
    const unsigned space = n + 1 - (unsigned)(down / 64), count = x->count;
    const unsigned used = space < count ? space : count;
    const unsigned bits = (unsigned)(down % 64);
    uint64_t *to = limbs + (space - used);
    const uint64_t *from = x->limb + (count - used);
    lost = pe_limbs_any(x->limb, count - used);
    if (bits && space > used)
        to[-1] = from[0] << (64 - bits);
    lost |= pe_limbs_shift_down(to, from, used, bits) && space <= used;
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

/* ---- floor and ceil ------------------------------------------------------------------------- */

/* x without the bits below 1; *fraction: were there any? */
static struct pe_wide integer_part(struct pe_wide x, bool *fraction)
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

/* The integer towards -infinity (negative) or +infinity. A sum that needs more than the precision
 * is cut off: x was smaller by less than its last bit. */
static struct pe_wide integer_towards(struct pe_wide x, bool negative)
{
    bool fraction;
    const bool away = x.negative == negative;
    const struct pe_wide integer = integer_part(x, &fraction);

    return fraction && away ? pe_wide_add_double(integer, negative ? -1 : 1) : integer;
}

struct pe_wide pe_wide_floor(struct pe_wide x)
{
    return integer_towards(x, true);
}

struct pe_wide pe_wide_ceil(struct pe_wide x)
{
    return integer_towards(x, false);
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

/* The limbs of b, shifted down by the difference of the exponents, in n limbs; returns whether bits
 * were lost. */
static bool align_limbs(uint64_t *to, unsigned n, const struct pe_wide *b, uint64_t down)
{
    const uint64_t limbs = down / 64;
    const unsigned bits = (unsigned)(down % 64), count = b->count;

    memset(to, 0, n * sizeof(*to));
    if (limbs >= n)
        return true;
    const unsigned space = n - (unsigned)limbs, used = space < count ? space : count;
    if (bits && space > used)
        to[space - used - 1] = b->limb[count - used] << (64 - bits);
    const bool lost =
        pe_limbs_shift_down(to + (space - used), b->limb + (count - used), used, bits) &&
        space <= used;
    return lost || pe_limbs_any(b->limb, count - used);
}

/* |a| + |b| or |a| - |b|, |a| > |b| > 0, with the sign of a, in one limb more. Where b loses bits
 * there, a difference is made smaller by one so that it errs towards 0 too; it then begins at most
 * one bit below a. */
static struct pe_wide combine(const struct pe_wide *a, const struct pe_wide *b, bool subtract)
{
    const unsigned count = a->count > b->count ? a->count : b->count, n = count + 1;
    uint64_t sum[PE_WIDE_LIMBS + 2], other[PE_WIDE_LIMBS + 1];
    struct pe_wide x;
    bool lost;

    align_limbs(sum, n, a, 0);
    lost = align_limbs(other, n, b, (uint64_t)(a->exponent - b->exponent));
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

static unsigned larger_bits(const struct pe_wide *a, const struct pe_wide *b)
{
    return 64u * (a->count > b->count ? a->count : b->count);
}

/* The product, or with `is_quotient` the quotient, where an operand is zero, infinite or NaN. */
static struct pe_wide special_product(const struct pe_wide *a, const struct pe_wide *b,
                                      bool is_quotient)
{
    const enum pe_wide_kind zero = is_quotient ? PE_WIDE_INFINITE : PE_WIDE_ZERO;
    const enum pe_wide_kind pole = is_quotient ? PE_WIDE_ZERO : PE_WIDE_INFINITE;
    enum pe_wide_kind kind = PE_WIDE_ZERO;

    if (a->kind == PE_WIDE_NAN || b->kind == PE_WIDE_NAN ||
        (a->kind == PE_WIDE_ZERO && b->kind == pole) ||
        (a->kind == PE_WIDE_INFINITE && b->kind == zero))
        kind = PE_WIDE_NAN;
    else if (a->kind == PE_WIDE_INFINITE || b->kind == pole)
        kind = PE_WIDE_INFINITE;
    return pe_wide_marked(pe_wide_special(larger_bits(a, b), kind, a->negative != b->negative),
                          a->inexact || b->inexact);
}

/* ---- product and quotient -------------------------------------------------------------------- */

struct pe_wide pe_wide_mul(struct pe_wide a, struct pe_wide b)
{
    uint64_t product[2 * PE_WIDE_LIMBS];

    if (a.kind != PE_WIDE_FINITE || b.kind != PE_WIDE_FINITE)
        return special_product(&a, &b, false);
    pe_limbs_multiply(product, a.limb, a.count, b.limb, b.count);
    struct pe_wide x =
        pe_wide_from_limbs(product, (unsigned)a.count + b.count, a.exponent + b.exponent,
                           larger_bits(&a, &b), a.inexact || b.inexact);
    x.negative = a.negative != b.negative && x.kind != PE_WIDE_ZERO;
    return x;
}

/* Without the exponents a / b lies between 1/2 and 2, so n limbs after the point and one before it
 * are enough. */
struct pe_wide pe_wide_div(struct pe_wide a, struct pe_wide b)
{
    const unsigned n = larger_bits(&a, &b) / 64, length = n + b.count + 1u;
    uint64_t dividend[2 * PE_WIDE_LIMBS + 2] = {0}, quotient[PE_WIDE_LIMBS + 1];

    if (a.kind != PE_WIDE_FINITE || b.kind != PE_WIDE_FINITE)
        return special_product(&a, &b, true);
    memcpy(dividend + (length - 1 - a.count), a.limb, a.count * sizeof(a.limb[0]));
    pe_limbs_divide(quotient, dividend, length, b.limb, b.count);
    struct pe_wide x =
        pe_wide_from_limbs(quotient, n + 1, a.exponent - b.exponent + 64, 64 * n,
                           a.inexact || b.inexact || pe_limbs_any(dividend, b.count));
    x.negative = a.negative != b.negative && x.kind != PE_WIDE_ZERO;
    return x;
}

/* ---- square root ----------------------------------------------------------------------------- */

/* 1 / sqrt(x) of x in [1/4, 1): Newton's steps double the 52 correct bits, but for the few that the
 * operations cut off. */
static struct pe_wide inverse_root(const struct pe_wide *x)
{
    const unsigned bits = pe_wide_precision(x);
    struct pe_wide y = pe_wide_of(bits, 1 / sqrt(pe_wide_double_inward(*x)));

    for (unsigned good = 50; good < bits; good *= 2) {
        const struct pe_wide rest =
            pe_wide_sub(pe_wide_of(64, 1), pe_wide_mul(*x, pe_wide_mul(y, y)));
        y = pe_wide_add(y, pe_wide_scale(pe_wide_mul(y, rest), -1));
    }
    return y;
}

/* The largest integer of n limbs whose square is at most x, of 2 n limbs, from one that is at most
 * a few too large. Returns whether the square is less than x. */
static bool root_settle(uint64_t *root, const uint64_t *x, unsigned n)
{
    const uint64_t one[PE_WIDE_LIMBS] = {1};
    uint64_t square[2 * PE_WIDE_LIMBS];

    for (;;) {
        pe_limbs_multiply(square, root, n, root, n);
        const int order = pe_limbs_compare(square, x, 2 * n);
        if (order <= 0)
            return order < 0;
        pe_limbs_sub(root, root, one, n);
    }
}

struct pe_wide pe_wide_sqrt(struct pe_wide x)
{
    const unsigned n = x.count, odd = x.exponent % 2 != 0;
    uint64_t radicand[2 * PE_WIDE_LIMBS] = {0};

    if (x.kind != PE_WIDE_FINITE || x.negative)
        return pe_wide_marked(pe_wide_special(64 * n, x.negative ? PE_WIDE_NAN : x.kind, false),
                              x.inexact);
    struct pe_wide part = pe_wide_cut(x, 64 * (n + 1)); /* x without an even exponent */
    part.exponent = -(int64_t)odd;
    struct pe_wide root = pe_wide_cut(pe_wide_mul(part, inverse_root(&part)), 64 * n);

    /* Add one so that the root is not too small; one near 1/2 or 1 becomes that number. */
    const bool carry = pe_limbs_add_one(root.limb, n, 1);
    if (carry || root.exponent != 0)
        memset(root.limb, root.exponent < 0 ? 0 : 0xff, n * sizeof(root.limb[0]));
    if (root.exponent < 0)
        root.limb[n - 1] = (uint64_t)1 << 63;
    memcpy(radicand + n, x.limb, n * sizeof(x.limb[0]));
    if (odd)
        pe_limbs_shift_down(radicand, radicand, 2 * n, 1);
    root.inexact = root_settle(root.limb, radicand, n) || x.inexact;
    root.exponent = (x.exponent + odd) / 2;
    return root;
}

/* ---- properties ------------------------------------------------------------------------------ */

int pe_wide_sign(struct pe_wide x)
{
    return x.kind == PE_WIDE_ZERO || x.kind == PE_WIDE_NAN ? 0 : x.negative ? -1 : 1;
}

int64_t pe_wide_exponent(struct pe_wide x)
{
    return x.kind == PE_WIDE_FINITE ? x.exponent : x.kind == PE_WIDE_ZERO ? INT64_MIN : INT64_MAX;
}

unsigned pe_wide_length(struct pe_wide x)
{
    unsigned low = 0;

    if (x.kind != PE_WIDE_FINITE)
        return 0;
    while (x.limb[low] == 0)
        low++;
    return 64 * (x.count - low) - (unsigned)__builtin_ctzll(x.limb[low]);
}

/* ---- conversion to double -------------------------------------------------------------------- */

enum rounding { NEAREST, INWARD, OUTWARD };

/* |x| in `bits` bits, or in fewer where it is subnormal. */
static double magnitude(const struct pe_wide *x, unsigned bits, enum rounding rounding)
{
    const uint64_t top = x->limb[x->count - 1];
    const bool more = x->inexact || pe_limbs_any(x->limb, x->count - 1u);

    if (x->exponent > DBL_MAX_EXP)
        return rounding == INWARD ? DBL_MAX : INFINITY;
    if (x->exponent < -1074)
        return rounding == OUTWARD ? 0x1p-1074 : 0;
    const unsigned most = (unsigned)(x->exponent + 1074), keep = most < bits ? most : bits;
    const uint64_t mantissa = keep ? top >> (64 - keep) : 0, rest = top << keep;
    const bool half = rest >> 63, behind = (rest & ~((uint64_t)1 << 63)) != 0 || more;
    const bool up = rounding == NEAREST ? half && (behind || mantissa & 1)
                                        : rounding == OUTWARD && (rest != 0 || more);

    return ldexp((double)(mantissa + up), (int)x->exponent - (int)keep);
}

static double to_double(const struct pe_wide *x, unsigned bits, enum rounding rounding)
{
    double size = 0;

    if (x->kind == PE_WIDE_NAN)
        return NAN;
    if (x->kind == PE_WIDE_INFINITE)
        size = INFINITY;
    if (x->kind == PE_WIDE_FINITE)
        size = magnitude(x, bits, rounding);
    return x->negative ? -size : size;
}

double pe_wide_double(struct pe_wide x)
{
    return to_double(&x, 53, NEAREST);
}

double pe_wide_double_of_bits(struct pe_wide x, unsigned bits)
{
    return to_double(&x, bits, NEAREST);
}

double pe_wide_double_inward(struct pe_wide x)
{
    return to_double(&x, 53, INWARD);
}

double pe_wide_double_outward(struct pe_wide x)
{
    return to_double(&x, 53, OUTWARD);
}

/* ---- conversion to a dtype ------------------------------------------------------------------- */

/* Narrower dtypes are rounded from a double that is itself rounded to odd: cut off, with its last
 * bit set where anything was lost. Two roundings are then as good as one. */
void pe_wide_write(struct pe_wide x, enum pe_dtype dtype, void *out)
{
    double value = to_double(&x, 53, dtype == PE_F64 ? NEAREST : INWARD);

    if (dtype != PE_F64 && x.kind == PE_WIDE_FINITE &&
        (x.inexact || pe_wide_compare_double(x, value) != 0)) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        bits |= 1;
        memcpy(&value, &bits, sizeof(value));
    }
    pe_from_f64(out, dtype, &value, 1);
}

/* Each end is cut off towards zero and marked, so that pe_wide_write rounds it correctly. */
static bool is_zero(const void *element, enum pe_dtype dtype)
{
    double value;

    pe_to_f64(&value, element, dtype, 1);
    return value == 0;
}

bool pe_wide_round(struct pe_wide x, struct pe_wide error, enum pe_dtype dtype, void *out)
{
    unsigned char other[sizeof(double)];

    x.inexact = error.inexact = false;
    if (x.kind == PE_WIDE_INFINITE)
        error = pe_wide_of(64, 0);
    pe_wide_write(pe_wide_sub(x, error), dtype, other);
    pe_wide_write(pe_wide_add(x, error), dtype, out);
    if (memcmp(out, other, pe_dtype_info(dtype)->size) == 0)
        return true;
    if (!is_zero(other, dtype) || !is_zero(out, dtype))
        return false;
    memset(out, 0, pe_dtype_info(dtype)->size);
    return true;
}
