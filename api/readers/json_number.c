/* SPDX-License-Identifier: MIT */
#include "api/readers/json_number.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char *digits_end(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
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

/* The double nearest the text, or, where that one could be a tie between two f16 or bf16 while the
 * text is not, the neighbour with an odd last bit: rounding that on is rounding the text once. */
static double odd_double(const char *text, double nearest)
{
    const int mode = fegetround();
    uint64_t bits;
    double below, above;

    memcpy(&bits, &nearest, sizeof(bits));
    if (bits & 0xffffffff) /* ties have 12 bits at most */
        return nearest;
    fesetround(FE_DOWNWARD);
    below = strtod(text, NULL);
    fesetround(FE_UPWARD);
    above = strtod(text, NULL);
    fesetround(mode);
    memcpy(&bits, &below, sizeof(bits));
    return below == above || bits & 1 ? below : above;
}

static enum pe_status float_read(const char *text, enum pe_dtype dtype, void *out,
                                 const char **fault)
{
    const double value = strtod(text, NULL);

    if (!isfinite(value)) {
        *fault = "the number is beyond the range of f64";
        return PE_MALFORMED;
    }
    if (dtype == PE_F64) {
        memcpy(out, &value, sizeof(value));
    } else if (dtype == PE_F32) {
        const float single = strtof(text, NULL);
        memcpy(out, &single, sizeof(single));
    } else {
        const double odd = odd_double(text, value);
        pe_from_f64(out, dtype, &odd, 1);
    }
    double back;
    pe_to_f64(&back, out, dtype, 1);
    if (!isfinite(back)) {
        *fault = "the number is beyond the range of the dtype; write \"Infinity\" if that is meant";
        return PE_OUT_OF_RANGE;
    }
    return PE_OK;
}

static enum pe_status integer_read(const char *text, bool is_integer, enum pe_dtype dtype,
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
        return PE_INVALID;
    }
    if (errno == ERANGE || (dtype == PE_I32 && value != (int32_t)value) ||
        (dtype == PE_U32 && value != (uint32_t)value) ||
        (dtype == PE_BOOL && value != 0 && value != 1)) {
        *fault = "the number is outside the range of the dtype";
        return PE_OUT_OF_RANGE;
    }
    memcpy(out, &value, pe_dtype_info(dtype)->size); /* little-endian: the low bytes come first */
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
        *fault = "a number is expected, not true or false";
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
    bool is_integer;

    if (**at == '"')
        return string_read(at, end, dtype, out, fault);
    if (**at != '-' && (**at < '0' || **at > '9'))
        return literal_read(at, end, dtype, out, fault);
    *at = number_end(*at, end, &is_integer);
    if (!*at) {
        *at = (const unsigned char *)text;
        *fault = "this is no number by JSON's grammar";
        return PE_MALFORMED;
    }
    return pe_dtype_is_float(dtype) ? float_read(text, dtype, out, fault)
                                    : integer_read(text, is_integer, dtype, out, fault);
}
