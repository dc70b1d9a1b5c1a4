/* SPDX-License-Identifier: MIT */
#include "api/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does it read back? f32 by strtof, because the double in between could round twice. */
static bool reads_back(const char *text, double value, bool narrow)
{
    return narrow ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

/* Digits in which every value of the type reads back, and in which every decimal survives. */
enum { F32_DIGITS = 9, F32_SURE = 6, F64_DIGITS = 17, F64_SURE = 15 };

/* Most values need all or nearly all digits: those counts are tried first, and the small counts
 * only where `sure` digits are enough already. */
static void shortest_print(char *out, double value, bool narrow)
{
    const int most = narrow ? F32_DIGITS : F64_DIGITS, sure = narrow ? F32_SURE : F64_SURE;
    int digits = sure;

    snprintf(out, API_NUMBER_MAX, "%.*e", sure - 1, value);
    if (reads_back(out, value, narrow))
        digits = 0;
    do {
        digits++;
        snprintf(out, API_NUMBER_MAX, "%.*e", digits - 1, value);
    } while (digits < most && !reads_back(out, value, narrow));
}

/* "-1.25e-07" as people write it: plain between 1e-5 and 1e16, else with a short exponent. */
static size_t exponent_place(char *out, const char *scientific)
{
    const bool negative = scientific[0] == '-';
    const char *mantissa = scientific + negative, *e = strchr(mantissa, 'e');
    const int exponent = atoi(e + 1);
    char digits[API_NUMBER_MAX];
    int count = 0, size = 0;

    for (const char *at = mantissa; at < e; at++)
        if (*at != '.')
            digits[count++] = *at;
    digits[count] = '\0';
    if (negative)
        out[size++] = '-';

    if (exponent < -5 || exponent > 15)
        size +=
            sprintf(out + size, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1, exponent);
    else if (exponent < 0)
        size += sprintf(out + size, "0.%.*s%s", -exponent - 1, "00000", digits);
    else if (exponent + 1 >= count)
        size += sprintf(out + size, "%s%.*s", digits, exponent + 1 - count, "000000000000000");
    else
        size += sprintf(out + size, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
    return (size_t)size;
}

static size_t real_print(char *out, double value, bool narrow)
{
    char scientific[API_NUMBER_MAX];

    if (isnan(value))
        return (size_t)sprintf(out, "\"NaN\"");
    if (isinf(value))
        return (size_t)sprintf(out, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    /* Readers take -0 for an integer and lose its sign. */
    if (value == 0)
        return (size_t)sprintf(out, signbit(value) ? "-0.0" : "0");
    shortest_print(scientific, value, narrow);
    return exponent_place(out, scientific);
}

size_t api_double_print(char *out, double value)
{
    return real_print(out, value, false);
}

size_t api_number_print(char *out, enum pe_dtype dtype, const void *element)
{
    int64_t i64;
    int32_t i32;
    uint32_t u32;
    double real;

    switch (dtype) {
    case PE_I64:
        memcpy(&i64, element, sizeof(i64));
        return (size_t)sprintf(out, "%" PRId64, i64);
    case PE_I32:
        memcpy(&i32, element, sizeof(i32));
        return (size_t)sprintf(out, "%" PRId32, i32);
    case PE_U32:
        memcpy(&u32, element, sizeof(u32));
        return (size_t)sprintf(out, "%" PRIu32, u32);
    case PE_BOOL:
        return (size_t)sprintf(out, *(const unsigned char *)element ? "true" : "false");
    default:
        pe_to_f64(&real, element, dtype, 1);
        return real_print(out, real, dtype != PE_F64);
    }
}

size_t api_number_room(enum pe_dtype dtype)
{
    /* -1.2345678901234567e-308 and -9223372036854775808; f32: -1234567890000000 */
    return dtype == PE_F64 || dtype == PE_I64 ? 24 : 17;
}
