/* SPDX-License-Identifier: MIT */
#include "api/base/base64.h"

#include <string.h>

/* Not a library's: their decoders are no faster than reading decimal numbers
 * (docs/internals/decisions.md). */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *api_base64_encode(char *to, const unsigned char *bytes, size_t size)
{
    for (; size > 2; bytes += 3, size -= 3, to += 4) {
        const unsigned three = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
        to[0] = digits[three >> 18];
        to[1] = digits[three >> 12 & 63];
        to[2] = digits[three >> 6 & 63];
        to[3] = digits[three & 63];
    }
    if (size > 0) {
        const unsigned two = bytes[0] << 8 | (size > 1 ? bytes[1] : 0);
        *to++ = digits[two >> 10];
        *to++ = digits[two >> 4 & 63];
        *to++ = size > 1 ? digits[two << 2 & 63] : '=';
        *to++ = '=';
    }
    return to;
}

enum { NO_DIGIT = 0x80 };

/* values[c]: the six bits of character c, or NO_DIGIT. */
static void values_make(unsigned char *values)
{
    memset(values, NO_DIGIT, 256);
    for (unsigned char i = 0; i < 64; i++)
        values[(unsigned char)digits[i]] = i;
}

bool api_base64_decode(const char *text, size_t length, unsigned char *out, size_t size)
{
    const size_t padding = (3 - size % 3) % 3;
    const unsigned char *at = (const unsigned char *)text, *last;
    unsigned char values[256], wrong = 0, tail[] = {'A', 'A', 'A', 'A'};

    if (length % 4 != 0 || length / 4 != size / 3 + (size % 3 != 0))
        return false;
    if (length == 0)
        return true;
    values_make(values);
    for (last = at + length - 4; at < last; at += 4, out += 3) {
        const unsigned char a = values[at[0]], b = values[at[1]], c = values[at[2]],
                            d = values[at[3]];
        wrong |= a | b | c | d;
        out[0] = (unsigned char)(a << 2 | b >> 4);
        out[1] = (unsigned char)(b << 4 | c >> 2);
        out[2] = (unsigned char)(c << 6 | d);
    }
    if (memcmp(last + 4 - padding, "==", padding) != 0)
        return false;
    memcpy(tail, last, 4 - padding);
    for (int i = 0; i < 4; i++) {
        tail[i] = values[tail[i]];
        wrong |= tail[i];
    }
    const unsigned char bytes[3] = {(unsigned char)(tail[0] << 2 | tail[1] >> 4),
                                    (unsigned char)(tail[1] << 4 | tail[2] >> 2),
                                    (unsigned char)(tail[2] << 6 | tail[3])};
    memcpy(out, bytes, 3 - padding);
    /* Bits of the last digit beyond the last byte must be 0. */
    for (size_t i = 3 - padding; i < 3; i++)
        wrong |= bytes[i] ? NO_DIGIT : 0;
    return (wrong & NO_DIGIT) == 0;
}

bool api_base64_only(const unsigned char *at, const unsigned char *end)
{
    unsigned char values[256], wrong = 0;

    values_make(values);
    values['='] = 0;
    for (; at < end; at++)
        wrong |= values[*at];
    return (wrong & NO_DIGIT) == 0;
}
