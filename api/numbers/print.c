/* SPDX-License-Identifier: MIT */
#include "api/numbers/print.h"

#include <string.h>

#include "api/base/compiler.h"
#include "api/numbers/shortest.h"

/* Digits are made eight at a time in a word, the first in its lowest byte, so that they are stored,
 * counted and shifted without a loop. The machine is little-endian. */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef unsigned __int128 digits16; /* sixteen characters */

#define ZEROS UINT64_C(0x3030303030303030)

/* The number of digits of n; 1 for 0. */
ALWAYS_INLINE int digits_count(uint64_t n)
{
    const int least =
        (64 - __builtin_clzll(n | 1)) * 1233 >> 12; /* the number of digits, or one less */

    return least + (n >= api_tens[least]) + (n == 0);
}

/* The eight digits of n < 10^8, split into two parts of four digits, four of two, eight of one.
 * Each split is one multiplication by a reciprocal, which is exact for numbers so small. */
ALWAYS_INLINE uint64_t digits8(uint32_t n)
{
    const uint64_t fours = n / 10000 | (uint64_t)(n % 10000) << 32;
    const uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
    const uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    const uint64_t ten = (twos * 103 >> 10) & UINT64_C(0x000f000f000f000f);

    return (ten | (twos - 10 * ten) << 8) + ZEROS;
}

/* The number of digits up to the last one that is not zero. */
ALWAYS_INLINE int significant16(digits16 digits)
{
    const uint64_t high = (uint64_t)(digits >> 64) ^ ZEROS, low = (uint64_t)digits ^ ZEROS;

    return high ? 16 - (__builtin_clzll(high) >> 3) : low ? 8 - (__builtin_clzll(low) >> 3) : 0;
}

static char *exponent_print(char *to, int exponent)
{
    *to++ = 'e';
    *to = '-';
    to += exponent < 0;
    exponent = exponent < 0 ? -exponent : exponent;
    if (exponent >= 100)
        *to++ = (char)('0' + exponent / 100);
    if (exponent >= 10)
        *to++ = (char)('0' + exponent / 10 % 10);
    *to++ = (char)('0' + exponent % 10);
    return to;
}

/* Writes first.fraction * 10^exponent: plain between 1e-5 and 1e16, else with an exponent. */
ALWAYS_INLINE char *digits_place(char *to, unsigned first, digits16 fraction, int exponent)
{
    const int count = 1 + significant16(fraction);

    if (exponent > 15 || exponent < -5) {
        to[0] = (char)('0' + first);
        to[1] = '.';
        memcpy(to + 2, &fraction, sizeof(fraction));
        return exponent_print(to + count + (count > 1), exponent);
    }
    if (exponent < 0) {
        memcpy(to, "0.000000", 8);
        to += 1 - exponent;
        to[0] = (char)('0' + first);
        memcpy(to + 1, &fraction, sizeof(fraction));
        return to + count;
    }
    to[0] = (char)('0' + first);
    memcpy(to + 1, &fraction, sizeof(fraction));
    if (count <= exponent + 1)
        return to + exponent + 1;
    fraction >>= 8 * exponent;
    to[exponent + 1] = '.';
    memcpy(to + exponent + 2, &fraction, sizeof(fraction));
    return to + count + 1;
}

/* Zero, NaN and the infinities. */
static char *special_print(char *to, bool negative, bool zero, bool nan)
{
    /* -0.0, since readers take -0 for an integer and lose its sign. */
    const char *text = nan    ? "\"NaN\""
                       : zero ? (negative ? "-0.0" : "0")
                              : (negative ? "\"-Infinity\"" : "\"Infinity\"");

    return stpcpy(to, text);
}

API_WRAPS("one comparison for two: 0 - 1 is large")
ALWAYS_INLINE char *f32_print(char *to, uint32_t bits)
{
    const uint32_t magnitude = bits & 0x7fffffff;

    if (magnitude - 1 >= 0x7f800000 - 1)
        return special_print(to, bits >> 31, magnitude == 0, magnitude > 0x7f800000);
    *to = '-';
    to += bits >> 31;
    struct api_shortest shortest = api_shortest_f32(magnitude);
    const int count = digits_count(shortest.digits);
    const uint32_t nine = (uint32_t)(shortest.digits * api_tens[9 - count]);
    const uint32_t first = nine / 100000000;
    const digits16 fraction = (digits16)ZEROS << 64 | digits8(nine - first * 100000000);

    return digits_place(to, first, fraction, shortest.exponent + count - 1);
}

API_WRAPS("one comparison for two: 0 - 1 is large")
ALWAYS_INLINE char *f64_print(char *to, uint64_t bits)
{
    const uint64_t magnitude = bits & INT64_MAX, infinity = UINT64_C(0x7ff) << 52;

    if (magnitude - 1 >= infinity - 1)
        return special_print(to, bits >> 63, magnitude == 0, magnitude > infinity);
    *to = '-';
    to += bits >> 63;
    struct api_shortest shortest = api_shortest_f64(magnitude);
    const int count = digits_count(shortest.digits);
    const uint64_t all = shortest.digits * api_tens[17 - count];
    const unsigned first = (unsigned)(all / api_tens[16]);
    const uint64_t sixteen = all - first * api_tens[16];
    const digits16 fraction = (digits16)digits8((uint32_t)(sixteen % api_tens[8])) << 64 |
                              digits8((uint32_t)(sixteen / api_tens[8]));

    return digits_place(to, first, fraction, shortest.exponent + count - 1);
}

static char *unsigned_print(char *to, uint64_t n)
{
    uint64_t digits;

    if (n >= api_tens[8]) {
        to = unsigned_print(to, n / api_tens[8]);
        digits = digits8((uint32_t)(n % api_tens[8]));
        memcpy(to, &digits, sizeof(digits));
        return to + 8;
    }
    const int count = digits_count(n);
    digits = digits8((uint32_t)n) >> 8 * (8 - count);
    memcpy(to, &digits, sizeof(digits));
    return to + count;
}

API_WRAPS("INT64_MIN has no opposite")
static char *signed_print(char *to, int64_t n)
{
    *to = '-';
    return unsigned_print(to + (n < 0), n < 0 ? -(uint64_t)n : (uint64_t)n);
}

/* ---- elements ------------------------------------------------------------------------------- */

ALWAYS_INLINE char *element_print(char *to, enum pe_dtype dtype, const unsigned char *element)
{
    uint64_t bits = 0;

    memcpy(&bits, element,
           dtype == PE_F64 || dtype == PE_I64   ? 8
           : dtype == PE_BOOL || dtype == PE_U8 ? 1
                                                : 4);
    switch (dtype) {
    case PE_F64:
        return f64_print(to, bits);
    case PE_I64:
        return signed_print(to, (int64_t)bits);
    case PE_I32:
        return signed_print(to, (int32_t)bits);
    case PE_U32:
    case PE_U8:
        return unsigned_print(to, bits);
    case PE_BOOL:
        return stpcpy(to, bits ? "true" : "false");
    default:
        return f32_print(to, (uint32_t)bits);
    }
}

ALWAYS_INLINE char *run_print(char *to, enum pe_dtype dtype, const unsigned char *elements,
                              size_t count, size_t size, bool pairs)
{
    for (size_t i = 0; i < count; i++, elements += size) {
        if (i > 0)
            *to++ = ',';
        if (pairs && i % 2 == 0)
            *to++ = '[';
        to = element_print(to, dtype, elements);
        if (pairs && i % 2 == 1)
            *to++ = ']';
    }
    return to;
}

/* The shortest digits of f16 and bf16 are those of the same f32. */
static char *halves_print(char *to, enum pe_dtype dtype, const unsigned char *elements,
                          size_t count, bool pairs)
{
    float floats[64];

    for (size_t i = 0; i < count; i += 64) {
        const size_t now = count - i < 64 ? count - i : 64;
        if (i > 0)
            *to++ = ',';
        pe_to_f32(floats, elements + 2 * i, dtype, now);
        to = run_print(to, PE_F32, (const unsigned char *)floats, now, sizeof(float), pairs);
    }
    return to;
}

char *api_numbers_print(char *to, enum pe_dtype dtype, const void *elements, size_t count,
                        bool pairs)
{
    switch (dtype) {
    case PE_F64:
        return run_print(to, PE_F64, elements, count, 8, pairs);
    case PE_F32:
        return run_print(to, PE_F32, elements, count, 4, pairs);
    case PE_F16:
    case PE_BF16:
        return halves_print(to, dtype, elements, count, pairs);
    case PE_I64:
        return run_print(to, PE_I64, elements, count, 8, pairs);
    case PE_I32:
        return run_print(to, PE_I32, elements, count, 4, pairs);
    case PE_U32:
        return run_print(to, PE_U32, elements, count, 4, pairs);
    case PE_BOOL:
        return run_print(to, PE_BOOL, elements, count, 1, pairs);
    case PE_U8:
        return run_print(to, PE_U8, elements, count, 1, pairs);
    case PE_DTYPES:
        break;
    }
    return to;
}

size_t api_number_print(char *out, enum pe_dtype dtype, const void *element)
{
    char *end = api_numbers_print(out, dtype, element, 1, false);

    *end = '\0';
    return (size_t)(end - out);
}

size_t api_double_print(char *out, double value)
{
    return api_number_print(out, PE_F64, &value);
}

size_t api_number_length_max(enum pe_dtype dtype)
{
    /* -1.2345678901234567e-308 and -9223372036854775808; f32: -1234567890000000 */
    return dtype == PE_F64 || dtype == PE_I64 ? 24 : 17;
}
