/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/readers/reader.h"

static int digit(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool api_base64_decode(const char *text, size_t length, unsigned char *out, size_t size)
{
    const size_t padding = (3 - size % 3) % 3;
    size_t at = 0;

    if (length % 4 != 0 || length / 4 != size / 3 + (size % 3 != 0))
        return false;
    for (size_t i = 0; i < length; i += 4) {
        uint32_t bits = 0;
        for (size_t j = 0; j < 4; j++) {
            const bool is_padding = i + j >= length - padding;
            const int value = is_padding ? 0 : digit((unsigned char)text[i + j]);
            if (value < 0 || (is_padding && text[i + j] != '='))
                return false;
            bits = bits << 6 | (uint32_t)value;
        }
        for (int shift = 16; shift >= 0; shift -= 8) {
            if (at < size)
                out[at++] = (unsigned char)(bits >> shift);
            else if (bits >> shift & 0xff)
                return false; /* bits behind the end: another encoder's mistake, or a wrong length
                               */
        }
    }
    return true;
}
