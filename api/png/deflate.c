/* SPDX-License-Identifier: MIT */
#include "api/png/deflate.h"

#include <string.h>

#include "api/base/wraps.h"
#include "api/deflate/symbols.h"
#include "posenc/work.h"

/* Blocks of literals and matches (RFC 1951) with codes of their own. Matches are found by a table
 * of the last place of each four bytes. */

enum {
    MATCH_MIN = 4,
    HASH_BITS = 15,
    NOTED = 24,       /* places of a match that others may begin at */
    TOKENS = 1 << 16, /* of a block */
    TOKEN_ROOM = 16,  /* bytes that one becomes at most, and the slack of a flush */
};

struct deflate {
    struct api_text *out;
    struct api_arena *arena;
    struct api_bits bits; /* in `bytes` */
    uint32_t *tokens;     /* a byte, or a length << 16 and a distance less one */
    size_t tokens_count, hint;
    uint32_t literals[API_CODE_SYMBOLS], distances[API_DISTANCES]; /* how often */
    unsigned char bytes[4096];
};

/* ---- bits ----------------------------------------------------------------------------------- */

static void bytes_leave(struct deflate *deflate)
{
    api_text_add(deflate->out, deflate->bytes, (size_t)(deflate->bits.at - deflate->bytes));
    deflate->bits.at = deflate->bytes;
}

/* Room for as many bytes. */
static struct api_bits *room(struct deflate *deflate, size_t size)
{
    if ((size_t)(deflate->bytes + sizeof(deflate->bytes) - deflate->bits.at) < size)
        bytes_leave(deflate);
    return &deflate->bits;
}

static void symbol_put(struct api_bits *bits, const struct api_code *code, unsigned symbol)
{
    api_bits_put(bits, code->bits[symbol], code->length[symbol]);
}

static void coded_put(struct api_bits *bits, const struct api_code *code, struct api_symbol coded)
{
    symbol_put(bits, code, coded.symbol);
    api_bits_put(bits, coded.extra, coded.bits);
}

/* ---- a block -------------------------------------------------------------------------------- */

static unsigned token_length(uint32_t token)
{
    return token >> 16;
}

static struct api_symbol token_distance(uint32_t token)
{
    return api_distance_symbol((token & 0xffff) + 1);
}

/* Fails where the request has ended too. */
static void block_put(struct deflate *deflate, bool last)
{
    struct api_code literals = {.symbols = API_CODE_SYMBOLS},
                    distances = {.symbols = API_DISTANCES};

    deflate->out->failed |= pe_work_ended(api_arena_work(deflate->arena));
    deflate->literals[API_END]++;
    api_code_make(&literals, deflate->literals, API_CODE_BITS);
    api_code_make(&distances, deflate->distances, API_CODE_BITS);
    api_codes_put(room(deflate, API_CODES_ROOM), last, &literals, &distances);
    for (size_t i = 0; i < deflate->tokens_count; i++) {
        const uint32_t token = deflate->tokens[i];
        struct api_bits *bits = room(deflate, TOKEN_ROOM);
        if (token_length(token) == 0) {
            symbol_put(bits, &literals, token);
        } else {
            coded_put(bits, &literals, api_length_symbol(token_length(token)));
            coded_put(bits, &distances, token_distance(token));
        }
    }
    symbol_put(room(deflate, TOKEN_ROOM), &literals, API_END);
    memset(deflate->literals, 0, sizeof(deflate->literals));
    memset(deflate->distances, 0, sizeof(deflate->distances));
    deflate->tokens_count = 0;
}

/* ---- matches -------------------------------------------------------------------------------- */

static void token_add(struct deflate *deflate, uint32_t token)
{
    if (deflate->tokens_count == TOKENS)
        block_put(deflate, false);
    deflate->tokens[deflate->tokens_count++] = token;
    if (token_length(token) == 0) {
        deflate->literals[token]++;
    } else {
        deflate->literals[api_length_symbol(token_length(token)).symbol]++;
        deflate->distances[token_distance(token).symbol]++;
    }
}

API_WRAPS("a hash")
static uint32_t hash_of(const unsigned char *at)
{
    const uint32_t four =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;

    return four * 2654435761U >> (32 - HASH_BITS);
}

struct match {
    size_t length, distance;
};

/* The bytes that begin at a place are also found `distance` bytes before, as far as that. */
static struct match match_of(const unsigned char *bytes, size_t at, size_t size, size_t distance)
{
    const size_t most = size - at < API_MATCH_MAX ? size - at : API_MATCH_MAX;
    size_t length = 0;

    if (distance == 0 || distance > API_WINDOW || distance > at)
        return (struct match){0, 0};
    while (length < most && bytes[at + length - distance] == bytes[at + length])
        length++;
    return (struct match){length, distance};
}

static struct match longer(struct match a, struct match b)
{
    return a.length >= b.length ? a : b;
}

/* places: one more than the last place of a hash; 0: none. */
static void tokens_make(struct deflate *deflate, uint32_t *places, const unsigned char *bytes,
                        size_t size)
{
    for (size_t at = 0; at < size && !deflate->out->failed;) {
        const size_t left = size - at;
        uint32_t *seen = left >= MATCH_MIN ? &places[hash_of(bytes + at)] : NULL;
        const size_t distance = seen && *seen > 0 ? at + 1 - *seen : 0;
        const struct match match =
            longer(match_of(bytes, at, size, distance), match_of(bytes, at, size, deflate->hint));
        if (seen)
            *seen = (uint32_t)(at + 1);
        if (match.length < MATCH_MIN) {
            token_add(deflate, bytes[at++]);
            continue;
        }
        token_add(deflate, (uint32_t)(match.length << 16 | (match.distance - 1)));
        for (size_t i = 1; i < match.length && i <= NOTED && left >= i + MATCH_MIN; i++)
            places[hash_of(bytes + at + i)] = (uint32_t)(at + i + 1);
        at += match.length;
    }
}

/* ---- the stream ----------------------------------------------------------------------------- */

/* Sums are brought under the prime before they could pass 32 bits. */
static uint32_t adler_of(const unsigned char *bytes, size_t size)
{
    enum { PRIME = 65521, RUN = 5552 };
    uint32_t a = 1, b = 0;

    while (size > 0) {
        const size_t run = size < RUN ? size : RUN;
        for (size_t i = 0; i < run; i++)
            b += a += bytes[i];
        a %= PRIME;
        b %= PRIME;
        bytes += run;
        size -= run;
    }
    return b << 16 | a;
}

void api_deflate_put(struct api_text *out, struct api_arena *arena, const unsigned char *bytes,
                     size_t size, size_t hint)
{
    struct deflate *deflate = (void *)api_arena_room(arena, sizeof(*deflate));
    unsigned char *tokens = api_arena_room(arena, TOKENS * sizeof(uint32_t));
    unsigned char *places = api_arena_room(arena, sizeof(uint32_t) << HASH_BITS);
    const uint32_t sum = adler_of(bytes, size);

    out->failed |= !deflate || !tokens || !places;
    if (!out->failed) {
        memset(deflate, 0, sizeof(*deflate));
        memset(places, 0, sizeof(uint32_t) << HASH_BITS);
        deflate->out = out;
        deflate->arena = arena;
        deflate->tokens = (uint32_t *)(void *)tokens;
        deflate->bits.at = deflate->bytes;
        api_bits_put(&deflate->bits, 0x0178, 16);
        deflate->hint = hint;
        tokens_make(deflate, (uint32_t *)(void *)places, bytes, size);
        block_put(deflate, true);
        api_bits_put(room(deflate, TOKEN_ROOM), 0, (8 - deflate->bits.count) % 8);
        for (int shift = 24; shift >= 0; shift -= 8)
            api_bits_put(room(deflate, TOKEN_ROOM), sum >> shift & 255, 8);
        bytes_leave(deflate);
    }
    if (places)
        api_arena_room_drop(arena, places);
    if (tokens)
        api_arena_room_drop(arena, tokens);
    if (deflate)
        api_arena_room_drop(arena, (void *)deflate);
}
