/* SPDX-License-Identifier: MIT */
#include "api/drawing/png.h"

#include <string.h>

#include "api/base/wraps.h"

/* PNG: https://www.w3.org/TR/png-3/. Its compressed data (RFC 1950, RFC 1951) are one block of
 * fixed codes, with matches that a table of the last place of each three bytes finds. */

/* ---- sums ----------------------------------------------------------------------------------- */

static uint32_t crc_of(const unsigned char *bytes, size_t size)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static uint32_t adler_of(const unsigned char *bytes, size_t size)
{
    uint32_t a = 1, b = 0;

    for (size_t i = 0; i < size; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* ---- bits ----------------------------------------------------------------------------------- */

struct bits {
    struct api_text *out;
    uint32_t held;
    unsigned count;
};

/* The lowest bit first. */
static void bits_put(struct bits *bits, uint32_t value, unsigned count)
{
    bits->held |= value << bits->count;
    for (bits->count += count; bits->count >= 8; bits->count -= 8) {
        const unsigned char byte = (unsigned char)(bits->held & 0xff);
        api_text_add(bits->out, &byte, 1);
        bits->held >>= 8;
    }
}

/* Codes are written from their highest bit on. */
static void code_put(struct bits *bits, uint32_t code, unsigned count)
{
    uint32_t turned = 0;

    for (unsigned i = 0; i < count; i++)
        turned |= (code >> i & 1) << (count - 1 - i);
    bits_put(bits, turned, count);
}

/* The fixed codes, RFC 1951, 3.2.6. */
static void symbol_put(struct bits *bits, unsigned symbol)
{
    if (symbol < 144)
        code_put(bits, 0x30 + symbol, 8);
    else if (symbol < 256)
        code_put(bits, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        code_put(bits, symbol - 256, 7);
    else
        code_put(bits, 0xc0 + symbol - 280, 8);
}

/* ---- matches -------------------------------------------------------------------------------- */

enum { MATCH_MIN = 3, MATCH_MAX = 258, WINDOW = 32768, HASH_BITS = 11 };

/* A length or a distance is a symbol and bits behind it: each `same` symbols have one bit more. */
static void length_put(struct bits *bits, unsigned length)
{
    unsigned rest = length - MATCH_MIN, extra = 0, base;

    if (length == MATCH_MAX) {
        symbol_put(bits, 285);
        return;
    }
    while (rest >> (extra + 3))
        extra++;
    base = extra > 0 ? 4 * extra + (rest >> extra) : rest;
    symbol_put(bits, 257 + base);
    bits_put(bits, rest & ((1U << extra) - 1), extra);
}

static void distance_put(struct bits *bits, unsigned distance)
{
    unsigned rest = distance - 1, extra = 0;

    while (rest >> (extra + 2))
        extra++;
    code_put(bits, extra > 0 ? 2 * extra + (rest >> extra) : rest, 5);
    bits_put(bits, rest & ((1U << extra) - 1), extra);
}

API_WRAPS("a hash")
static unsigned hash_of(const unsigned char *at)
{
    return ((uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2]) * 2654435761U >> (32 - HASH_BITS);
}

static unsigned match_length(const unsigned char *a, const unsigned char *b, size_t most)
{
    unsigned length = 0;

    while (length < most && length < MATCH_MAX && a[length] == b[length])
        length++;
    return length;
}

static void compress_put(struct api_text *out, const unsigned char *bytes, size_t size)
{
    uint32_t last[1 << HASH_BITS] = {0}; /* one more than the place; 0: none */
    struct bits bits = {.out = out};
    size_t at = 0;

    bits_put(&bits, 3, 3); /* the last block, of fixed codes */
    while (at < size) {
        const size_t left = size - at;
        uint32_t *seen = left >= MATCH_MIN ? &last[hash_of(bytes + at)] : NULL;
        const size_t distance = seen && *seen > 0 ? at + 1 - *seen : 0;
        unsigned length = 0;
        if (distance > 0 && distance <= WINDOW)
            length = match_length(bytes + at - distance, bytes + at, left);
        if (seen)
            *seen = (uint32_t)(at + 1);
        if (length >= MATCH_MIN) {
            length_put(&bits, length);
            distance_put(&bits, (unsigned)distance);
            at += length;
        } else {
            symbol_put(&bits, bytes[at++]);
        }
    }
    symbol_put(&bits, 256);
    bits_put(&bits, 0, (8 - bits.count) % 8);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void word_put(struct api_text *text, uint32_t word)
{
    const unsigned char bytes[] = {(unsigned char)(word >> 24), (unsigned char)(word >> 16),
                                   (unsigned char)(word >> 8), (unsigned char)word};

    api_text_add(text, bytes, sizeof(bytes));
}

static size_t chunk_begin(struct api_text *png, const char *name)
{
    const size_t begin = png->size;

    word_put(png, 0);
    api_text_put(png, name);
    return begin;
}

static void chunk_end(struct api_text *png, size_t begin)
{
    const size_t size = png->size - begin - 8;

    if (png->failed)
        return;
    for (int i = 0; i < 4; i++)
        png->bytes[begin + (size_t)i] = (char)(unsigned char)(size >> (24 - 8 * i));
    word_put(png, crc_of((const unsigned char *)png->bytes + begin + 4, size + 4));
}

static void colours_put(struct api_text *png, const struct api_colours *colours)
{
    size_t begin = chunk_begin(png, "PLTE");

    api_text_add(png, colours->rgb, sizeof(colours->rgb));
    chunk_end(png, begin);
    if (!colours->last_is_clear)
        return;
    begin = chunk_begin(png, "tRNS");
    for (int i = 0; i < 256; i++)
        api_text_add(png, i < 255 ? "\xff" : "\0", 1);
    chunk_end(png, begin);
}

/* Each line has a byte before it that says how it was filtered: it was not. */
static void pixels_put(struct api_text *png, const unsigned char *pixels, size_t width,
                       size_t height)
{
    const size_t begin = chunk_begin(png, "IDAT");
    struct api_text lines = {0};

    for (size_t row = 0; row < height; row++) {
        api_text_add(&lines, "", 1);
        api_text_add(&lines, pixels + row * width, width);
    }
    if (lines.failed) {
        png->failed = true;
        api_text_free(&lines);
        return;
    }
    api_text_add(png, "\x78\x01", 2);
    compress_put(png, (const unsigned char *)lines.bytes, lines.size);
    word_put(png, adler_of((const unsigned char *)lines.bytes, lines.size));
    api_text_free(&lines);
    chunk_end(png, begin);
}

static void base64_put(struct api_text *text, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size; i += 3) {
        const uint32_t three = (uint32_t)bytes[i] << 16 |
                               (i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (i + 2 < size ? bytes[i + 2] : 0);
        const char four[] = {digits[three >> 18], digits[three >> 12 & 63],
                             i + 1 < size ? digits[three >> 6 & 63] : '=',
                             i + 2 < size ? digits[three & 63] : '='};
        api_text_add(text, four, sizeof(four));
    }
}

void api_png_put(struct api_text *text, const struct api_colours *colours,
                 const unsigned char *pixels, size_t width, size_t height)
{
    static const unsigned char traits[] = {8, 3, 0, 0, 0}; /* eight bits, colours by index */
    struct api_text png = {0};
    size_t begin;

    api_text_add(&png, "\x89PNG\r\n\x1a\n", 8);
    begin = chunk_begin(&png, "IHDR");
    word_put(&png, (uint32_t)width);
    word_put(&png, (uint32_t)height);
    api_text_add(&png, traits, sizeof(traits));
    chunk_end(&png, begin);
    colours_put(&png, colours);
    pixels_put(&png, pixels, width, height);
    begin = chunk_begin(&png, "IEND");
    chunk_end(&png, begin);
    if (png.failed)
        text->failed = true;
    else
        base64_put(text, (const unsigned char *)png.bytes, png.size);
    api_text_free(&png);
}
