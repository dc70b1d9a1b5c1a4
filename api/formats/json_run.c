/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/base/wraps.h"
#include "api/numbers/decimal.h"
#include "api/numbers/scan.h"

/* Numbers as they mostly are: up to 19 digits, a short exponent, not too near a tie. Digits are
 * read eight at a time as a word; how many of a word they are is counted, not branched on. Whatever
 * is not so, errors included, is left to api_json_element_read. */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Text that one number may look at: a sign, 16 digits, a point, 24 digits, an exponent, a word. */
enum { NUMBER_ROOM = 80, DIGITS_MAX = 19, EXPONENT_DIGITS_MAX = 4 };

struct number {
    uint64_t digits;
    int exponent;
    bool negative, whole; /* whole: written without a point or an exponent */
};

ALWAYS_INLINE uint64_t word_load(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word ^ UINT64_C(0x3030303030303030);
}

/* How many of the first bytes are digits. A carry of the sum only reaches bytes behind the first
 * that is none. Compilers would branch on a word without one: its bit is the top one. */
ALWAYS_INLINE int word_digits(uint64_t word)
{
    const uint64_t other =
        ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);

    return (__builtin_ctzll(other >> 7 | UINT64_C(1) << 63) + 1) >> 3;
}

/* The number that the first `count` digits make: pairs, then quarters, then all. */
API_WRAPS("digits meet in the upper half, what passes the end is not looked at")
ALWAYS_INLINE uint64_t word_number(uint64_t word, int count)
{
    word = word << (32 - 4 * count) << (32 - 4 * count);
    word = word * 10 + (word >> 8);
    return ((word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            (word >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
           32;
}

/* Takes up to a word of digits into *digits. */
API_WRAPS("with over 19 digits the number is read anew")
ALWAYS_INLINE int digits_take(const unsigned char *at, uint64_t *digits)
{
    const uint64_t word = word_load(at);
    const int count = word_digits(word);

    *digits = *digits * api_tens[count] + word_number(word, count);
    return count;
}

/* Up to two. Both are loaded before the first is counted: where the next number begins hangs on it,
 * and nothing else here is waited for. */
API_WRAPS("with over 19 digits the number is read anew")
ALWAYS_INLINE int digits_take_two(const unsigned char *at, uint64_t *digits)
{
    const uint64_t first = word_load(at), second = word_load(at + 8);
    const int count = word_digits(first), more = word_digits(second) & -(count >> 3);

    *digits = *digits * api_tens[count] + word_number(first, count);
    *digits = *digits * api_tens[more] + word_number(second, more);
    return count + more;
}

ALWAYS_INLINE bool is_digit(unsigned char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* e+12, at the e. False: not so short, or no exponent. */
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
    number->whole = false;
    *at = from + count;
    return count > 0;
}

/* False: not a number, or not one as they mostly are. */
ALWAYS_INLINE bool number_scan(const unsigned char **from, struct number *number)
{
    const unsigned char *at = *from;
    int count = 1, places = 0;

    number->negative = *at == '-';
    at += number->negative;
    number->digits = (unsigned char)(*at - '0'); /* of no digit: not looked at */
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
    number->whole = *at != '.';
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

/* ---- elements ------------------------------------------------------------------------------- */

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

    if (!number->whole || number->digits > INT64_MAX ||
        (dtype == PE_I32 && value != (int32_t)value) ||
        (dtype == PE_U32 && value != (uint32_t)value) || (dtype == PE_BOOL && value >> 1 != 0) ||
        (dtype == PE_U8 && value >> 8 != 0))
        return false;
    memcpy(out, &value, size);
    return true;
}

ALWAYS_INLINE bool element_quick(const unsigned char **at, enum pe_dtype dtype, unsigned char *out)
{
    const unsigned char *behind = *at;
    struct number number;

    if (!number_scan(&behind, &number) ||
        !(pe_dtype_is_float(dtype) ? float_put(&number, dtype, out)
                                   : integer_put(&number, dtype, out)))
        return false;
    *at = behind;
    return true;
}

ALWAYS_INLINE enum pe_status run_read(struct api_json_run *run, enum pe_dtype dtype, size_t size)
{
    const unsigned char *at = run->at, *const end = run->end;
    unsigned char *out = run->out, *const out_end = out + run->room * size;
    enum pe_status status = PE_OK;
    size_t slow = 0;

    for (;;) {
        if (end - at < NUMBER_ROOM || !element_quick(&at, dtype, out)) {
            const unsigned char *const begin = at;
            status = api_json_element_read(&at, end, dtype, out, &run->fault);
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
    run->room -= (size_t)(out - run->out) / size;
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
