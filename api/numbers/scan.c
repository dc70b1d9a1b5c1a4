/* SPDX-License-Identifier: MIT */
#include "api/numbers/scan.h"

#include <math.h>
#include <string.h>

#include "api/base/wraps.h"
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

/* A number is read in one piece, without a look at the work: so long that takes a millisecond or
 * so. */
enum { NUMBER_SIZE_MAX = 1 << 20 };

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

/* The bits of a number's text, `size` characters, without its sign. */
static uint64_t decimal_bits(const struct api_decimal *decimal, const char *text, size_t size,
                             enum pe_dtype dtype)
{
    uint64_t bits = 0;

    if (api_decimal_round(decimal, api_binary_of(dtype), &bits))
        return bits;
    pe_from_text(&bits, dtype, text + (*text == '-'), size - (*text == '-'));
    return bits;
}

static enum pe_status float_read(const char *text, size_t length, enum pe_dtype dtype, void *out,
                                 const char **fault)
{
    const struct api_decimal decimal = decimal_read((const unsigned char *)text);
    const size_t size = pe_dtype_info(dtype)->size;
    uint64_t bits = decimal_bits(&decimal, text, length, dtype);

    if (bits == api_binary_infinity(api_binary_of(dtype))) {
        bits = decimal_bits(&decimal, text, length, PE_F64);
        if (bits == api_binary_infinity(api_binary_of(PE_F64))) {
            *fault = "the number is beyond the range of f64";
            return PE_MALFORMED;
        }
        *fault = "the number is beyond the range of the dtype; write \"Infinity\" if that is meant";
        return PE_OUT_OF_RANGE;
    }
    bits |= (uint64_t)(*text == '-') << (8 * size - 1);
    memcpy(out, &bits, size); /* little-endian: the low bytes come first */
    return PE_OK;
}

/* The size of a whole number; false: it is none, or 64 bits do not hold it. */
static bool whole_read(struct api_decimal decimal, uint64_t *size)
{
    for (; decimal.exponent < 0 && decimal.digits % 10 == 0 && decimal.digits > 0;
         decimal.exponent++)
        decimal.digits /= 10;
    for (; decimal.exponent > 0 && decimal.digits <= UINT64_MAX / 10 && decimal.digits > 0;
         decimal.exponent--)
        decimal.digits *= 10;
    *size = decimal.digits;
    return !decimal.more && (decimal.exponent == 0 || decimal.digits == 0);
}

API_WRAPS("the two's complement of a negative number")
static bool dtype_holds(enum pe_dtype dtype, bool negative, uint64_t size)
{
    const uint64_t value = negative ? 0 - size : size; /* as INT64_MIN is held too */

    switch (dtype) {
    case PE_I32:
        return size <= (uint64_t)INT32_MAX + negative;
    case PE_U32:
        return value <= UINT32_MAX;
    case PE_U8:
        return value <= UINT8_MAX;
    case PE_BOOL:
        return value <= 1;
    default:
        return size <= (uint64_t)INT64_MAX + negative;
    }
}

/* A number with a point or an exponent is whole only up to where every whole number is an f64:
 * beyond, its digits may be those of a rounded float. */
API_WRAPS("the two's complement of a negative number")
static enum pe_status integer_read(const char *text, bool is_integer, enum pe_dtype dtype,
                                   void *out, const char **fault)
{
    const bool negative = *text == '-';
    uint64_t size;
    const bool is_whole = whole_read(decimal_read((const unsigned char *)text), &size);

    if (!is_integer && (!is_whole || size > (UINT64_C(1) << 53) - 1)) {
        *fault = "a whole number is expected, for an integer dtype";
        return PE_INVALID;
    }
    if (!is_whole || !dtype_holds(dtype, negative, size)) {
        *fault = "the number is outside the range of the dtype";
        return PE_OUT_OF_RANGE;
    }
    size = negative ? 0 - size : size;
    memcpy(out, &size, pe_dtype_info(dtype)->size); /* little-endian: the low bytes come first */
    return PE_OK;
}

static bool word_read(const unsigned char **at, const unsigned char *end, const char *word)
{
    const size_t size = strlen(word);

    if ((size_t)(end - *at) < size || memcmp(*at, word, size) != 0)
        return false;
    *at += size;
    return true;
}

static enum pe_status string_read(const unsigned char **at, const unsigned char *end,
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
        return PE_INVALID;
    }
    if (!pe_dtype_is_float(dtype)) {
        *fault = "an integer dtype has no NaN and no infinities";
        return PE_INVALID;
    }
    pe_from_f64(out, dtype, &value, 1);
    return PE_OK;
}

static enum pe_status literal_read(const unsigned char **at, const unsigned char *end,
                                   enum pe_dtype dtype, void *out, const char **fault)
{
    const bool is_true = word_read(at, end, "true");

    if (is_true || word_read(at, end, "false")) {
        if (dtype == PE_BOOL) {
            *(unsigned char *)out = is_true;
            return PE_OK;
        }
        *fault = "a number is expected, not true or false, which \"dtype\": \"bool\" takes";
        return PE_INVALID;
    }
    if (word_read(at, end, "null")) {
        *fault = "a number is expected, not null";
        return PE_INVALID;
    }
    *fault = "a number is expected; NaN and Infinity are written in quotes";
    return PE_MALFORMED;
}

enum pe_status api_json_element_read(const unsigned char **at, const unsigned char *end,
                                     enum pe_dtype dtype, void *out, const char **fault)
{
    const char *text = (const char *)*at;
    const unsigned char *behind;
    enum pe_status status;
    bool is_integer;

    if (**at == '"')
        return string_read(at, end, dtype, out, fault);
    if (**at != '-' && (**at < '0' || **at > '9'))
        return literal_read(at, end, dtype, out, fault);
    const unsigned char *most = end - *at > NUMBER_SIZE_MAX ? *at + NUMBER_SIZE_MAX : end;
    behind = number_end(*at, most, &is_integer);
    if (behind == most && most < end) {
        *fault = "a number has fewer than 1048576 characters";
        return PE_MALFORMED;
    }
    if (!behind || behind == end) { /* nothing ends a number that ends the text */
        *fault = "this is no number by JSON's grammar";
        return PE_MALFORMED;
    }
    status = pe_dtype_is_float(dtype) ? float_read(text, (size_t)(behind - *at), dtype, out, fault)
                                      : integer_read(text, is_integer, dtype, out, fault);
    if (status == PE_OK)
        *at = behind;
    return status;
}
