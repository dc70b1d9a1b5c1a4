/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/formats/reader.h"

/* Written here because it is the fast way into a JSON body, and the decoders of libraries are no
 * faster than reading decimal numbers (docs/internals/decisions.md). */

enum { NO_DIGIT = 0x80 };

/* values[c]: the six bits that character c stands for, or NO_DIGIT. */
static void values_make(unsigned char *values)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
    /* The last digit may have bits beyond the last byte; where they are set, text or size is wrong.
     */
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
