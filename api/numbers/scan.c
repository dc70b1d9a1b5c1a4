/* SPDX-License-Identifier: MIT */
#include "api/numbers/scan.h"

#include <math.h>
#include <string.h>

#include "api/base/compiler.h"
#include "api/numbers/decimal.h"

/* api_json_run_read has a fast path for usual numbers. Other numbers, words and errors take the
 * slow path, element_read. */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { DIGITS_MAX = 19 };               /* decimal digits that always fit into 64 bits */
#define EXPONENT_MAX (INT64_C(1) << 50) /* greater than the number of zeros in any body */

/* ---- the slow path -------------------------------------------------------------------------- */

ALWAYS_INLINE bool is_digit(unsigned char c)
{
    return (unsigned char)(c - '0') < 10;
}

static const unsigned char *digits_end(const unsigned char *at, const unsigned char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* A number is read without checking for cancellation; one of this length takes about 1 ms. */
enum { NUMBER_SIZE_MAX = 1 << 20 };

/* The end of a number by JSON's grammar, or NULL. */
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

/* The first 19 significant digits, and whether a nonzero digit follows. The text is a number by the
 * grammar. */
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

/* The bits of a number without its sign. */
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

/* The magnitude of an integer. False: the number is not an integer, or exceeds 64 bits. */
static bool integer_magnitude(struct api_decimal decimal, uint64_t *magnitude)
{
    for (; decimal.exponent < 0 && decimal.digits % 10 == 0 && decimal.digits > 0;
         decimal.exponent++)
        decimal.digits /= 10;
    for (; decimal.exponent > 0 && decimal.digits <= UINT64_MAX / 10 && decimal.digits > 0;
         decimal.exponent--)
        decimal.digits *= 10;
    *magnitude = decimal.digits;
    return !decimal.more && (decimal.exponent == 0 || decimal.digits == 0);
}

API_WRAPS("the two's complement of a negative number")
static bool dtype_holds(enum pe_dtype dtype, bool negative, uint64_t magnitude)
{
    const uint64_t value = negative ? 0 - magnitude : magnitude; /* right for INT64_MIN too */

    switch (dtype) {
    case PE_I32:
        return magnitude <= (uint64_t)INT32_MAX + negative;
    case PE_U32:
        return value <= UINT32_MAX;
    case PE_U8:
        return value <= UINT8_MAX;
    case PE_BOOL:
        return value <= 1;
    default:
        return magnitude <= (uint64_t)INT64_MAX + negative;
    }
}

/* Numbers with a point or an exponent are integers only up to 2^53 - 1: beyond, their digits may be
 * those of a rounded float. */
API_WRAPS("the two's complement of a negative number")
static enum pe_status integer_read(const char *text, bool is_integer, enum pe_dtype dtype,
                                   void *out, const char **fault)
{
    const bool negative = *text == '-';
    uint64_t value;
    const bool is_whole = integer_magnitude(decimal_read((const unsigned char *)text), &value);

    if (!is_integer && (!is_whole || value > (UINT64_C(1) << 53) - 1)) {
        *fault = "a whole number is expected, for an integer dtype";
        return PE_INVALID;
    }
    if (!is_whole || !dtype_holds(dtype, negative, value)) {
        *fault = "the number is outside the range of the dtype";
        return PE_OUT_OF_RANGE;
    }
    value = negative ? 0 - value : value;
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

/* Reads one element by all of the grammar, and moves *at after it. */
static enum pe_status element_read(const unsigned char **at, const unsigned char *end,
                                   enum pe_dtype dtype, void *out, const char **fault)
{
    const char *text = (const char *)*at;
    const unsigned char *number;
    enum pe_status status;
    bool is_integer;

    if (**at == '"')
        return string_read(at, end, dtype, out, fault);
    if (**at != '-' && (**at < '0' || **at > '9'))
        return literal_read(at, end, dtype, out, fault);
    const unsigned char *most = end - *at > NUMBER_SIZE_MAX ? *at + NUMBER_SIZE_MAX : end;
    number = number_end(*at, most, &is_integer);
    if (number == most && most < end) {
        *fault = "a number has fewer than 1048576 characters";
        return PE_MALFORMED;
    }
    if (!number || number == end) { /* a number at the end of the text may be cut */
        *fault = "this is no number by JSON's grammar";
        return PE_MALFORMED;
    }
    status = pe_dtype_is_float(dtype) ? float_read(text, (size_t)(number - *at), dtype, out, fault)
                                      : integer_read(text, is_integer, dtype, out, fault);
    if (status == PE_OK)
        *at = number;
    return status;
}

/* ---- the fast path -------------------------------------------------------------------------- */

/* For numbers of up to 19 digits with a short exponent, not too near a tie. Digits are read eight
 * at a time as a word, and counted without a branch. */

/* Bytes that reading a number may load: a sign, 16 digits, a point, 24 digits, an exponent, a word.
 */
enum { NUMBER_SPAN = 80, EXPONENT_DIGITS_MAX = 4 };

struct number {
    uint64_t digits;
    int exponent;
    bool negative, is_integer; /* is_integer: without a point or an exponent */
};

ALWAYS_INLINE uint64_t word_load(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word ^ UINT64_C(0x3030303030303030);
}

/* The number of leading digits. A carry of the sum only reaches bytes after the first non-digit.
 * The added top bit marks a word that is all digits, without a branch. */
ALWAYS_INLINE int word_digits(uint64_t word)
{
    const uint64_t other =
        ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);

    return (__builtin_ctzll(other >> 7 | UINT64_C(1) << 63) + 1) >> 3;
}

/* The value of the first `count` digits, combined to pairs, to fours, to eight. */
API_WRAPS("the result is in the upper half, and bits that overflow are unused")
ALWAYS_INLINE uint64_t word_number(uint64_t word, int count)
{
    word = word << (32 - 4 * count) << (32 - 4 * count);
    word = word * 10 + (word >> 8);
    return ((word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            (word >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
           32;
}

/* Appends the leading digits of a word to *digits, and returns their number. */
API_WRAPS("a number of more than 19 digits takes the slow path")
ALWAYS_INLINE int digits_take(const unsigned char *at, uint64_t *digits)
{
    const uint64_t word = word_load(at);
    const int count = word_digits(word);

    *digits = *digits * api_tens[count] + word_number(word, count);
    return count;
}

/* Appends the leading digits of two words. Both are loaded before the first is counted, which keeps
 * the load off the critical path. */
API_WRAPS("a number of more than 19 digits takes the slow path")
ALWAYS_INLINE int digits_take_two(const unsigned char *at, uint64_t *digits)
{
    const uint64_t first = word_load(at), second = word_load(at + 8);
    const int count = word_digits(first), more = word_digits(second) & -(count >> 3);

    *digits = *digits * api_tens[count] + word_number(first, count);
    *digits = *digits * api_tens[more] + word_number(second, more);
    return count + more;
}

/* Reads an exponent such as e+12. False: it is too long, or has no digits. */
static bool exponent_scan(const unsigned char **at, struct number *number)
{
    const bool negative = (*at)[1] == '-';
    const unsigned char *from = *at + 1 + (negative || (*at)[1] == '+');
    int exponent = 0, count = 0;

    for (; is_digit(from[count]); count++) {
        if (count == EXPONENT_DIGITS_MAX)
            return false;
        exponent = 10 * exponent + (from[count] - '0');
    }
    number->exponent += negative ? -exponent : exponent;
    number->is_integer = false;
    *at = from + count;
    return count > 0;
}

/* False: not a number that the fast path reads. */
ALWAYS_INLINE bool number_scan(const unsigned char **from, struct number *number)
{
    const unsigned char *at = *from;
    int count = 1, places = 0;

    number->negative = *at == '-';
    at += number->negative;
    number->digits = (unsigned char)(*at - '0'); /* unused if that is no digit */
    if (!is_digit(at[0]))
        return false;
    if (is_digit(at[1])) {
        if (at[0] == '0')
            return false;
        number->digits = 0;
        count = digits_take(at, &number->digits);
        if (count == 8)
            count += digits_take(at + 8, &number->digits);
        if (count == 16)
            return false;
    }
    at += count;
    number->is_integer = *at != '.';
    if (*at == '.') {
        count = number->digits > 0 ? count : 0;
        places = digits_take_two(at + 1, &number->digits);
        if (places == 0)
            return false;
        if (places == 16)
            places += digits_take(at + 17, &number->digits);
        if (count + places > DIGITS_MAX)
            return false;
        at += 1 + places;
    }
    number->exponent = -places;
    *from = at;
    return (*at | 0x20) != 'e' || exponent_scan(from, number);
}

ALWAYS_INLINE bool float_put(const struct number *number, enum pe_dtype dtype, unsigned char *out)
{
    const struct api_binary to = api_binary_of(dtype);
    const size_t size = dtype == PE_F64 ? 8 : dtype == PE_F32 ? 4 : 2;
    uint64_t bits = 0;

    if (number->digits > 0 && !api_decimal_quick(number->digits, number->exponent, to, &bits))
        return false;
    bits |= (uint64_t)number->negative << (8 * size - 1);
    memcpy(out, &bits, size);
    return true;
}

ALWAYS_INLINE bool integer_put(const struct number *number, enum pe_dtype dtype, unsigned char *out)
{
    const int64_t value = number->negative ? -(int64_t)number->digits : (int64_t)number->digits;
    const size_t size = dtype == PE_I64 ? 8 : dtype == PE_BOOL || dtype == PE_U8 ? 1 : 4;

    if (!number->is_integer || number->digits > INT64_MAX ||
        (dtype == PE_I32 && value != (int32_t)value) ||
        (dtype == PE_U32 && value != (uint32_t)value) || (dtype == PE_BOOL && value >> 1 != 0) ||
        (dtype == PE_U8 && value >> 8 != 0))
        return false;
    memcpy(out, &value, size);
    return true;
}

ALWAYS_INLINE bool element_quick(const unsigned char **at, enum pe_dtype dtype, unsigned char *out)
{
    const unsigned char *end = *at;
    struct number number;

    if (!number_scan(&end, &number) ||
        !(pe_dtype_is_float(dtype) ? float_put(&number, dtype, out)
                                   : integer_put(&number, dtype, out)))
        return false;
    *at = end;
    return true;
}

ALWAYS_INLINE enum pe_status run_read(struct api_json_run *run, enum pe_dtype dtype, size_t size)
{
    const unsigned char *at = run->at, *const end = run->end;
    unsigned char *out = run->out, *const out_end = out + run->capacity * size;
    enum pe_status status = PE_OK;
    size_t slow = 0;

    for (;;) {
        if (end - at < NUMBER_SPAN || !element_quick(&at, dtype, out)) {
            const unsigned char *const begin = at;
            status = element_read(&at, end, dtype, out, &run->fault);
            slow += (size_t)(at - begin);
            if (status)
                break;
        }
        out += size;
        if (at < end && *at != ',')
            at = api_json_space_skip(at, end);
        if (at == end || *at != ',' || out == out_end || slow >= API_JSON_SLOW_MAX)
            break;
        const unsigned char *next = at + 1;
        if (next < end && *next <= ' ')
            next = api_json_space_skip(next, end);
        if (next == end || *next == '[' || *next == ']')
            break;
        at = next;
    }
    run->at = at;
    run->slow += slow;
    run->count += (size_t)(out - run->out) / size;
    run->capacity -= (size_t)(out - run->out) / size;
    run->out = out;
    return status;
}

enum pe_status api_json_run_read(struct api_json_run *run, enum pe_dtype dtype)
{
    switch (dtype) {
    case PE_F64:
        return run_read(run, PE_F64, 8);
    case PE_F32:
        return run_read(run, PE_F32, 4);
    case PE_F16:
        return run_read(run, PE_F16, 2);
    case PE_BF16:
        return run_read(run, PE_BF16, 2);
    case PE_I64:
        return run_read(run, PE_I64, 8);
    case PE_I32:
        return run_read(run, PE_I32, 4);
    case PE_U32:
        return run_read(run, PE_U32, 4);
    case PE_BOOL:
        return run_read(run, PE_BOOL, 1);
    case PE_U8:
        return run_read(run, PE_U8, 1);
    case PE_DTYPES:
        break;
    }
    return PE_INTERNAL;
}
