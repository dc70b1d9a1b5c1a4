/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "server/http.h"

/* Extensions and trailers are read and dropped; nobody needs long ones. */
enum { EXTENSION_MAX = 1 << 10, TRAILER_MAX = 8 << 10, DIGITS_MAX = 16 };

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= ' ';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void size_take(struct srv_chunks *chunks, char c)
{
    const int digit = digit_of(c);

    if (digit >= 0 && chunks->digits < DIGITS_MAX) {
        chunks->left = chunks->left << 4 | (uint64_t)digit;
        chunks->digits++;
    } else if (chunks->digits == 0 || digit >= 0) {
        chunks->state = CHUNK_BAD;
    } else if (c == '\r') {
        chunks->state = CHUNK_SIZE_LF;
    } else {
        chunks->state = c == ';' || c == ' ' || c == '\t' ? CHUNK_EXTENSION : CHUNK_BAD;
    }
}

/* A byte of a line that is dropped; `next` follows its CR. */
static void text_take(struct srv_chunks *chunks, char c, size_t most, int next)
{
    if (c == '\r') {
        chunks->state = next;
        chunks->extra += 2;
    } else if (++chunks->extra > most || ((unsigned char)c < ' ' && c != '\t') || c == 127) {
        chunks->state = CHUNK_BAD;
    }
}

/* The byte that must stand here, or the body is wrong. */
static void expect(struct srv_chunks *chunks, char c, char wanted, int next)
{
    chunks->state = c == wanted ? next : CHUNK_BAD;
}

static void size_end(struct srv_chunks *chunks, char c)
{
    expect(chunks, c, '\n', chunks->left > 0 ? CHUNK_DATA : CHUNK_TRAILER);
    chunks->extra = 0;
    chunks->digits = 0;
}

/* Any byte but data. */
static void byte_take(struct srv_chunks *chunks, char c)
{
    switch (chunks->state) {
    case CHUNK_SIZE:
        size_take(chunks, c);
        break;
    case CHUNK_EXTENSION:
        text_take(chunks, c, EXTENSION_MAX, CHUNK_SIZE_LF);
        break;
    case CHUNK_SIZE_LF:
        size_end(chunks, c);
        break;
    case CHUNK_CR:
        expect(chunks, c, '\r', CHUNK_LF);
        break;
    case CHUNK_LF:
        expect(chunks, c, '\n', CHUNK_SIZE);
        break;
    case CHUNK_TRAILER:
        chunks->state = CHUNK_TRAILER_LINE;
        text_take(chunks, c, TRAILER_MAX, CHUNK_LAST_LF);
        break;
    case CHUNK_TRAILER_LINE:
        text_take(chunks, c, TRAILER_MAX, CHUNK_TRAILER_LF);
        break;
    case CHUNK_TRAILER_LF:
        expect(chunks, c, '\n', CHUNK_TRAILER);
        break;
    case CHUNK_LAST_LF:
        expect(chunks, c, '\n', CHUNK_END);
        break;
    case CHUNK_DATA:
    case CHUNK_END:
    case CHUNK_BAD:
        break;
    }
}

size_t srv_chunks_take(struct srv_chunks *chunks, char *bytes, size_t size, size_t *data)
{
    size_t at = 0;

    *data = 0;
    while (at < size && chunks->state != CHUNK_END && chunks->state != CHUNK_BAD) {
        if (chunks->state != CHUNK_DATA) {
            byte_take(chunks, bytes[at++]);
            continue;
        }
        const size_t run = chunks->left < size - at ? (size_t)chunks->left : size - at;
        memmove(bytes + *data, bytes + at, run);
        *data += run;
        at += run;
        chunks->left -= run;
        if (chunks->left == 0)
            chunks->state = CHUNK_CR;
    }
    return at;
}
