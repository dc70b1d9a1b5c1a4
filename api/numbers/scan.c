/* SPDX-License-Identifier: MIT */
#include "api/numbers/scan.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/numbers/decimal.h"

enum { DIGITS_MAX = 19 };               /* that 64 bits hold, whatever they are */
#define EXPONENT_MAX (INT64_C(1) << 50) /* more than any body has zeros to make up for it */

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static const unsigned char *digits_end(const unsigned char *at, const unsigned char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* Behind a number by JSON's grammar, or NULL. */
static const unsigned char *number_end(const unsigned char *at, const unsigned char *end,
                                       bool *is_integer)
{
    const unsigned char *digits;

    *is_integer = true;
    at += at < end && *at == '-';
    digits = at;
    at = digits_end(at, end);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    if (at < end && *at == '.') {
        *is_integer = false;
        digits = ++at;
        at = digits_end(at, end);
        if (at == digits)
            return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        *is_integer = false;
        at++;
        at += at < end && (*at == '+' || *at == '-');
        digits = at;
        at = digits_end(at, end);
        if (at == digits)
            return NULL;
    }
    return at;
}

/* The first 19 significant digits, and whether anything but zeros follows them. The text is a
 * number by the grammar. */
static struct api_decimal decimal_read(const unsigned char *at)
{
    struct api_decimal decimal = {0};
    int64_t exponent = 0, places = 0;
    int count = 0;
    bool negative, fraction = false;

    at += *at == '-';
    for (; is_digit(*at) || (*at == '.' && !fraction); at++) {
        if (*at == '.') {
            fraction = true;
        } else if (count < DIGITS_MAX) {
            decimal.digits = 10 * decimal.digits + (*at - '0');
            count += decimal.digits > 0;
            places += fraction;
        } else {
            decimal.more |= *at != '0';
            places -= !fraction;
        }
    }
    if (*at == 'e' || *at == 'E') {
        negative = *++at == '-';
        at += negative || *at == '+';
        for (; is_digit(*at); at++)
            exponent = exponent < EXPONENT_MAX ? 10 * exponent + (*at - '0') : exponent;
        exponent = negative ? -exponent : exponent;
    }
    decimal.exponent = exponent - places;
    return decimal;
}

/* ---- the slow path: numbers that 128 bits cannot decide -------------------------------------- */

/* The significant digits of a number's text, one after the other, and zeros behind the last. */
static char digit_next(const char **at)
{
    *at += **at == '.';
    return is_digit((unsigned char)**at) ? *(*at)++ : '0';
}

/* The power of ten of the first significant digit, to which *at steps. */
static int64_t digits_begin(const char **at)
{
    const struct api_decimal decimal = decimal_read((const unsigned char *)*at);
    int64_t power = decimal.exponent - 1;

    *at += strspn(*at, "0.");
    for (uint64_t digits = decimal.digits; digits > 0; digits /= 10)
        power++;
    return power;
}

/* Is a positive text above the value (1), below it (-1), or the same? By all digits of both, of
 * which a double has 767 at most. */
static int text_compare(const char *text, double value)
{
    char printed[800];
    const char *other = printed;

    snprintf(printed, sizeof(printed), "%.767e", value);
    const size_t size = strspn(text, "0123456789."), length = size > 770 ? size : 770;
    const int64_t power = digits_begin(&text), other_power = digits_begin(&other);
    if (power != other_power)
        return power > other_power ? 1 : -1;
    for (size_t i = 0; i < length; i++) {
        const char digit = digit_next(&text), other_digit = digit_next(&other);
        if (digit != other_digit)
            return digit > other_digit ? 1 : -1;
    }
    return 0;
}

/* A double on the same side as the text of every number of fewer bits: the last bit is set where
 * anything is lost ("round to odd"), so that a second rounding is exact. */
static double text_to_odd(const char *text)
{
    double value = fmin(strtod(text, NULL), DBL_MAX);
    const int side = value > 0 ? text_compare(text, value) : 1;
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (side != 0 && !(bits & 1))
        bits = side > 0 ? bits + 1 : bits - 1;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The bits of |text| in the dtype, which is not 0. A program that links this may have set a locale
 * whose numbers have no point. */
static uint64_t text_round(const char *text, enum pe_dtype dtype)
{
    const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    uint64_t result = 0;

    text += *text == '-';
    if (dtype == PE_F32) {
        const float single = strtof(text, NULL);
        memcpy(&result, &single, sizeof(single));
    } else {
        const double value = dtype == PE_F64 ? strtod(text, NULL) : text_to_odd(text);
        pe_from_f64(&result, dtype, &value, 1);
    }
    uselocale(before);
    return result;
}

static uint64_t decimal_bits(const struct api_decimal *decimal, const char *text,
                             enum pe_dtype dtype)
{
    uint64_t bits;

    return api_decimal_round(decimal, api_binary_of(dtype), &bits) ? bits : text_round(text, dtype);
}

static enum api_status float_read(const char *text, enum pe_dtype dtype, void *out,
                                  const char **fault)
{
    const struct api_decimal decimal = decimal_read((const unsigned char *)text);
    const size_t size = pe_dtype_info(dtype)->size;
    uint64_t bits = decimal_bits(&decimal, text, dtype);

    if (bits == api_binary_infinity(api_binary_of(dtype))) {
        if (decimal_bits(&decimal, text, PE_F64) == api_binary_infinity(api_binary_of(PE_F64))) {
            *fault = "the number is beyond the range of f64";
            return API_MALFORMED;
        }
        *fault = "the number is beyond the range of the dtype; write \"Infinity\" if that is meant";
        return API_OUT_OF_RANGE;
    }
    bits |= (uint64_t)(*text == '-') << (8 * size - 1);
    memcpy(out, &bits, size); /* little-endian: the low bytes come first */
    return API_OK;
}

static enum api_status integer_read(const char *text, bool is_integer, enum pe_dtype dtype,
                                    void *out, const char **fault)
{
    const double real = strtod(text, NULL);
    int64_t value;

    errno = 0;
    if (is_integer) {
        value = strtoll(text, NULL, 10);
    } else if (real == floor(real) && fabs(real) <= 0x1p53 - 1) {
        value = (int64_t)real;
    } else {
        *fault = "a whole number is expected, for an integer dtype";
        return API_INVALID;
    }
    if (errno == ERANGE || (dtype == PE_I32 && value != (int32_t)value) ||
        (dtype == PE_U32 && value != (uint32_t)value) ||
        (dtype == PE_U8 && value != (uint8_t)value) ||
        (dtype == PE_BOOL && value != 0 && value != 1)) {
        *fault = "the number is outside the range of the dtype";
        return API_OUT_OF_RANGE;
    }
    memcpy(out, &value, pe_dtype_info(dtype)->size);
    return API_OK;
}

static bool word_read(const unsigned char **at, const unsigned char *end, const char *word)
{
    const size_t size = strlen(word);

    if ((size_t)(end - *at) < size || memcmp(*at, word, size) != 0)
        return false;
    *at += size;
    return true;
}

static enum api_status string_read(const unsigned char **at, const unsigned char *end,
                                   enum pe_dtype dtype, void *out, const char **fault)
{
    double value;

    if (word_read(at, end, "\"NaN\""))
        value = NAN;
    else if (word_read(at, end, "\"Infinity\""))
        value = INFINITY;
    else if (word_read(at, end, "\"-Infinity\""))
        value = -INFINITY;
    else {
        *fault = "a number is expected without quotes; only \"NaN\", \"Infinity\" and "
                 "\"-Infinity\" are written in quotes";
        return API_INVALID;
    }
    if (!pe_dtype_is_float(dtype)) {
        *fault = "an integer dtype has no NaN and no infinities";
        return API_INVALID;
    }
    pe_from_f64(out, dtype, &value, 1);
    return API_OK;
}

static enum api_status literal_read(const unsigned char **at, const unsigned char *end,
                                    enum pe_dtype dtype, void *out, const char **fault)
{
    const bool is_true = word_read(at, end, "true");

    if (is_true || word_read(at, end, "false")) {
        if (dtype == PE_BOOL) {
            *(unsigned char *)out = is_true;
            return API_OK;
        }
        *fault = "a number is expected, not true or false, which \"dtype\": \"bool\" takes";
        return API_INVALID;
    }
    if (word_read(at, end, "null")) {
        *fault = "a number is expected, not null";
        return API_INVALID;
    }
    *fault = "a number is expected; NaN and Infinity are written in quotes";
    return API_MALFORMED;
}

enum api_status api_json_element_read(const unsigned char **at, const unsigned char *end,
                                      enum pe_dtype dtype, void *out, const char **fault)
{
    const char *text = (const char *)*at;
    const unsigned char *behind;
    enum api_status status;
    bool is_integer;

    if (**at == '"')
        return string_read(at, end, dtype, out, fault);
    if (**at != '-' && (**at < '0' || **at > '9'))
        return literal_read(at, end, dtype, out, fault);
    behind = number_end(*at, end, &is_integer);
    if (!behind || behind == end) { /* nothing ends a number that ends the text */
        *fault = "this is no number by JSON's grammar";
        return API_MALFORMED;
    }
    status = pe_dtype_is_float(dtype) ? float_read(text, dtype, out, fault)
                                      : integer_read(text, is_integer, dtype, out, fault);
    if (status == API_OK)
        *at = behind;
    return status;
}
