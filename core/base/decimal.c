/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include "posenc/dtype.h"

/* Decimal text to the nearest float, in integer arithmetic. A lower bound of the quotient digits /
 * 5^n gives the float below the value; one exact comparison of integers decides whether the value
 * lies above the half-way point to the next float.
 *
 * A half-way point of f64 has at most 768 significant digits. Of a longer text DIGITS_MAX are read,
 * and a digit 1 replaces the others unless they are all 0: the comparison is the same. */

enum {
    DIGITS_MAX = 770,
    CHUNK_DIGITS = 19, /* decimal digits of a limb */
    CHUNK_FIVES = 27,  /* powers of five of a limb */
    /* Beyond these, 0.digits * 10^magnitude is 0 or infinite in every format. */
    MAGNITUDE_MIN = -324,
    MAGNITUDE_MAX = 310,
    /* The compared numbers differ by a factor of 4 at most, and are bounded by the larger of the
     * digits, 2562 bits, and 5^(DIGITS_MAX + 1 - MAGNITUDE_MIN) times the half-way point, 2543 + 54
     * bits. */
    LIMBS = 42,
};

#define EXPONENT_MAX (INT64_C(1) << 50) /* no text has enough digits to compensate for it */

/* ---- integers -------------------------------------------------------------------------------- */

/* Least limb first; the last of `count` limbs is not 0. */
struct natural {
    size_t count;
    uint64_t limb[LIMBS];
};

/* number = number * factor + addend */
static void multiply_add(struct natural *number, uint64_t factor, uint64_t addend)
{
    uint64_t carry = addend;

    for (size_t i = 0; i < number->count; i++) {
        const unsigned __int128 product = (unsigned __int128)number->limb[i] * factor + carry;
        number->limb[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    if (carry > 0)
        number->limb[number->count++] = carry;
}

/* 5^0 .. 5^27, the powers that fit 64 bits. */
static const uint64_t fives[CHUNK_FIVES + 1] = {
    1ull,
    5ull,
    25ull,
    125ull,
    625ull,
    3125ull,
    15625ull,
    78125ull,
    390625ull,
    1953125ull,
    9765625ull,
    48828125ull,
    244140625ull,
    1220703125ull,
    6103515625ull,
    30517578125ull,
    152587890625ull,
    762939453125ull,
    3814697265625ull,
    19073486328125ull,
    95367431640625ull,
    476837158203125ull,
    2384185791015625ull,
    11920928955078125ull,
    59604644775390625ull,
    298023223876953125ull,
    1490116119384765625ull,
    7450580596923828125ull,
};

static void multiply_fives(struct natural *number, size_t exponent)
{
    for (; exponent >= CHUNK_FIVES; exponent -= CHUNK_FIVES)
        multiply_add(number, fives[CHUNK_FIVES], 0);
    if (exponent > 0)
        multiply_add(number, fives[exponent], 0);
}

static int64_t bits_of(const struct natural *number)
{
    return 64 * (int64_t)number->count - __builtin_clzll(number->limb[number->count - 1]);
}

static void shift_left(struct natural *number, size_t bits)
{
    const size_t limbs = bits / 64;

    multiply_add(number, UINT64_C(1) << bits % 64, 0);
    memmove(number->limb + limbs, number->limb, number->count * sizeof(*number->limb));
    memset(number->limb, 0, limbs * sizeof(*number->limb));
    number->count += limbs;
}

static int compare(const struct natural *a, const struct natural *b)
{
    if (a->count != b->count)
        return a->count > b->count ? 1 : -1;
    for (size_t i = a->count; i > 0; i--)
        if (a->limb[i - 1] != b->limb[i - 1])
            return a->limb[i - 1] > b->limb[i - 1] ? 1 : -1;
    return 0;
}

/* The highest 64 bits, from the first 1. */
static uint64_t leading_bits(const struct natural *number)
{
    const uint64_t top = number->limb[number->count - 1];
    const uint64_t next = number->count > 1 ? number->limb[number->count - 2] : 0;
    const int shift = __builtin_clzll(top);

    return shift > 0 ? top << shift | next >> (64 - shift) : top;
}

/* ---- the text -------------------------------------------------------------------------------- */

/* digits * 10^exponent; digits has no limbs where the value is 0. */
struct decimal {
    struct natural digits;
    int64_t exponent, magnitude; /* 10^(magnitude - 1) <= value < 10^magnitude */
    bool negative;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *digits_end(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* Significant digits of a number, gathered in a chunk before they are added to it. */
struct gathering {
    struct natural *digits;
    uint64_t chunk;
    unsigned chunk_digits;
    size_t count; /* digits read */
    bool more;    /* a digit that was left out is not 0 */
};

static void chunk_add(struct gathering *gathering)
{
    multiply_add(gathering->digits, fives[gathering->chunk_digits] << gathering->chunk_digits,
                 gathering->chunk);
    gathering->chunk = 0;
    gathering->chunk_digits = 0;
}

/* Returns how many digits were left out beyond DIGITS_MAX. */
static int64_t digits_add(struct gathering *gathering, const char *at, const char *end)
{
    while (gathering->count == 0 && at < end && *at == '0')
        at++;
    for (; at < end && gathering->count < DIGITS_MAX; at++, gathering->count++) {
        gathering->chunk = 10 * gathering->chunk + (uint64_t)(*at - '0');
        if (++gathering->chunk_digits == CHUNK_DIGITS)
            chunk_add(gathering);
    }
    for (const char *rest = at; rest < end && !gathering->more; rest++)
        gathering->more = *rest != '0';
    return end - at;
}

/* Reads an exponent such as e-12 and moves *at after it; 0: there is none. */
static int64_t exponent_read(const char **at, const char *end)
{
    const char *from = *at + 1;
    int64_t exponent = 0;

    if (end - *at < 2 || (**at | 0x20) != 'e')
        return 0;
    const char sign = *from;
    from += sign == '-' || sign == '+';
    if (from == end || !is_digit(*from))
        return 0;
    for (*at = from; *at < end && is_digit(**at); ++*at)
        if (exponent < EXPONENT_MAX)
            exponent = 10 * exponent + (**at - '0');
    return sign == '-' ? -exponent : exponent;
}

/* Reads the number at `at` and returns its end; NULL: there is none. */
static const char *decimal_read(const char *at, const char *end, struct decimal *decimal)
{
    struct gathering gathering = {.digits = &decimal->digits};

    decimal->digits.count = 0;
    decimal->negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    const char *point = digits_end(at, end), *after = point;
    decimal->exponent = digits_add(&gathering, at, point);
    size_t count = (size_t)(point - at);
    if (point < end && *point == '.' && !(end - point > 1 && point[1] == '.')) {
        after = digits_end(point + 1, end);
        const int64_t left_out = digits_add(&gathering, point + 1, after);
        decimal->exponent += left_out - (after - point - 1);
        count += (size_t)(after - point - 1);
    }
    if (count == 0)
        return NULL;
    decimal->exponent += exponent_read(&after, end);
    decimal->magnitude = decimal->exponent + (int64_t)gathering.count;
    if (gathering.chunk_digits > 0)
        chunk_add(&gathering);
    if (gathering.more) {
        multiply_add(&decimal->digits, 10, 1);
        decimal->exponent--;
    }
    return after;
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* A format of the bits sign, exponent, fraction. */
struct format {
    int precision;    /* significant bits, the implicit one included */
    int exponent_min; /* of normal numbers; the largest exponent is 1 - exponent_min */
};

static struct format format_of(enum pe_dtype dtype)
{
    return dtype == PE_F64   ? (struct format){53, -1022}
           : dtype == PE_F32 ? (struct format){24, -126}
           : dtype == PE_F16 ? (struct format){11, -14}
                             : (struct format){8, -126};
}

static uint64_t infinity_of(struct format format)
{
    return (uint64_t)(3 - 2 * format.exponent_min) << (format.precision - 1);
}

/* value = n / p * 2^exponent */
struct fraction {
    struct natural *n, *p;
    int64_t exponent;
};

/* A lower bound bits * 2^(exponent - 63) of the value, within 2^-60 of it; the highest bit of bits
 * is 1.
 */
static uint64_t lower_bound(const struct fraction *fraction, int64_t *exponent)
{
    const unsigned __int128 n = (unsigned __int128)leading_bits(fraction->n) << 62;
    const uint64_t bits = (uint64_t)(n / ((leading_bits(fraction->p) >> 1) + 1));
    const int shift = __builtin_clzll(bits);

    *exponent = bits_of(fraction->n) - bits_of(fraction->p) + fraction->exponent - shift;
    return bits << shift;
}

/* The sign of value - odd * 2^exponent. Changes the fraction. */
static int halfway_compare(struct fraction *fraction, uint64_t odd, int64_t exponent)
{
    const int64_t shift = fraction->exponent - exponent;

    multiply_add(fraction->p, odd, 0);
    shift_left(shift < 0 ? fraction->p : fraction->n, (size_t)(shift < 0 ? -shift : shift));
    return compare(fraction->n, fraction->p);
}

static uint64_t fraction_round(struct fraction *fraction, struct format to)
{
    int64_t exponent;
    const uint64_t bound = lower_bound(fraction, &exponent);
    const int64_t missing = exponent < to.exponent_min ? to.exponent_min - exponent : 0;
    const int64_t keep = to.precision - missing;

    if (exponent > 1 - to.exponent_min)
        return infinity_of(to);
    if (keep < -1) /* less than half of the least number */
        return 0;
    const uint64_t below = keep > 0 ? bound >> (64 - keep) : 0;
    const int side = halfway_compare(fraction, 2 * below + 1, exponent + missing - to.precision);
    const uint64_t rounded = below + (side > 0 || (side == 0 && (below & 1)));
    /* A carry out of the significant bits increments the exponent, as it must. */
    return missing > 0 ? rounded
                       : ((uint64_t)(exponent - to.exponent_min) << (to.precision - 1)) + rounded;
}

/* Changes the decimal. */
static uint64_t decimal_round(struct decimal *decimal, struct format to)
{
    struct natural power;
    struct fraction fraction = {&decimal->digits, &power, decimal->exponent};

    if (decimal->digits.count == 0 || decimal->magnitude < MAGNITUDE_MIN)
        return 0;
    if (decimal->magnitude > MAGNITUDE_MAX)
        return infinity_of(to);
    power.count = 1;
    power.limb[0] = 1;
    if (decimal->exponent < 0)
        multiply_fives(&power, (size_t)-decimal->exponent);
    else
        multiply_fives(&decimal->digits, (size_t)decimal->exponent);
    return fraction_round(&fraction, to);
}

size_t pe_from_text(void *out, enum pe_dtype dtype, const char *text, size_t size)
{
    struct decimal decimal;
    const char *after;

    if (!pe_dtype_is_float(dtype) || size == 0)
        return 0;
    after = decimal_read(text, text + size, &decimal);
    if (!after)
        return 0;
    const size_t bytes = pe_dtype_info(dtype)->size;
    const uint64_t bits = decimal_round(&decimal, format_of(dtype)) | (uint64_t)decimal.negative
                                                                          << (8 * bytes - 1);
    memcpy(out, &bits, bytes); /* little-endian: the low bytes come first */
    return (size_t)(after - text);
}
