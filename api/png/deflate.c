/* SPDX-License-Identifier: MIT */
#include "api/png/deflate.h"

#include <string.h>

#include "api/base/wraps.h"
#include "api/png/huffman.h"
#include "posenc/work.h"

/* Blocks of literals and matches (RFC 1951) with codes of their own. Matches are found by a table
 * of the last place of each four bytes. */

enum {
    MATCH_MIN = 4,
    MATCH_MAX = 258,
    WINDOW = 32768,
    HASH_BITS = 15,
    NOTED = 24,       /* places of a match that others may begin at */
    TOKENS = 1 << 16, /* of a block */
    END = 256,
    DISTANCES = 30,
    LENGTHS = 19, /* symbols that lengths of codes are told in */
};

struct deflate {
    struct api_text *out;
    struct api_arena *arena;
    uint64_t held; /* bits that make no byte yet */
    unsigned count;
    uint32_t *tokens; /* a byte, or MATCH with the length and the distance */
    size_t tokens_count, hint;
    uint32_t literals[API_CODE_SYMBOLS], distances[DISTANCES]; /* how often */
    unsigned char bytes[4096];
    size_t bytes_count;
};

/* ---- bits ----------------------------------------------------------------------------------- */

static void bytes_leave(struct deflate *deflate)
{
    api_text_add(deflate->out, deflate->bytes, deflate->bytes_count);
    deflate->bytes_count = 0;
}

/* The lowest bit first. */
static void bits_put(struct deflate *deflate, uint32_t value, unsigned count)
{
    deflate->held |= (uint64_t)value << deflate->count;
    for (deflate->count += count; deflate->count >= 8; deflate->count -= 8) {
        if (deflate->bytes_count == sizeof(deflate->bytes))
            bytes_leave(deflate);
        deflate->bytes[deflate->bytes_count++] = (unsigned char)(deflate->held & 0xff);
        deflate->held >>= 8;
    }
}

static void symbol_put(struct deflate *deflate, const struct api_code *code, unsigned symbol)
{
    bits_put(deflate, code->bits[symbol], code->length[symbol]);
}

/* ---- lengths and distances ------------------------------------------------------------------ */

/* A symbol, and bits behind it: each 1 << few symbols have one bit more than those before. */
struct coded {
    unsigned symbol, extra, bits;
};

static struct coded coded_of(unsigned rest, unsigned few)
{
    const unsigned wide = rest > 0 ? 31U - (unsigned)__builtin_clz(rest) : 0;
    const unsigned bits = wide > few ? wide - few : 0;

    return (struct coded){(bits << few) + (rest >> bits), rest & ((1U << bits) - 1), bits};
}

/* The greatest length has a symbol of its own. */
static struct coded length_coded(unsigned length)
{
    struct coded coded = coded_of(length - 3, 2);

    if (length == MATCH_MAX)
        return (struct coded){285, 0, 0};
    coded.symbol += END + 1;
    return coded;
}

static unsigned token_length(uint32_t token)
{
    return token >> 16;
}

static struct coded token_distance(uint32_t token)
{
    return coded_of(token & 0xffff, 1);
}

/* ---- a block -------------------------------------------------------------------------------- */

/* Lengths of both codes, and runs of zeros among them by 17 and 18 (3.2.7). */
struct told {
    unsigned char symbols[API_CODE_SYMBOLS + DISTANCES];
    unsigned char extra[API_CODE_SYMBOLS + DISTANCES];
    size_t count;
};

static void lengths_tell(struct told *told, const struct api_code *code)
{
    for (int i = 0, run; i < code->symbols; i += run) {
        for (run = 0; run < 138 && i + run < code->symbols && code->length[i + run] == 0;)
            run++;
        told->extra[told->count] = (unsigned char)(run < 11 ? run - 3 : run - 11);
        told->symbols[told->count++] = run < 3 ? code->length[i] : run < 11 ? 17 : 18;
        run = run < 3 ? 1 : run;
    }
}

static void codes_put(struct deflate *deflate, const struct api_code *literals,
                      const struct api_code *distances)
{
    static const unsigned char order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
    struct api_code code = {.symbols = LENGTHS};
    struct told told = {.count = 0};
    uint32_t counts[LENGTHS] = {0};

    lengths_tell(&told, literals);
    lengths_tell(&told, distances);
    for (size_t i = 0; i < told.count; i++)
        counts[told.symbols[i]]++;
    api_code_make(&code, counts, 7);
    bits_put(deflate, API_CODE_SYMBOLS - 257, 5);
    bits_put(deflate, DISTANCES - 1, 5);
    bits_put(deflate, LENGTHS - 4, 4);
    for (size_t i = 0; i < LENGTHS; i++)
        bits_put(deflate, code.length[order[i]], 3);
    for (size_t i = 0; i < told.count; i++) {
        symbol_put(deflate, &code, told.symbols[i]);
        if (told.symbols[i] > 16)
            bits_put(deflate, told.extra[i], told.symbols[i] == 17 ? 3 : 7);
    }
}

static void coded_put(struct deflate *deflate, const struct api_code *code, struct coded coded)
{
    symbol_put(deflate, code, coded.symbol);
    bits_put(deflate, coded.extra, coded.bits);
}

/* Fails where the request has ended too. */
static void block_put(struct deflate *deflate, bool last)
{
    struct api_code literals = {.symbols = API_CODE_SYMBOLS}, distances = {.symbols = DISTANCES};

    deflate->out->failed |= pe_work_ended(api_arena_work(deflate->arena));
    deflate->literals[END]++;
    api_code_make(&literals, deflate->literals, API_CODE_BITS);
    api_code_make(&distances, deflate->distances, API_CODE_BITS);
    bits_put(deflate, last ? 5 : 4, 3); /* codes of its own */
    codes_put(deflate, &literals, &distances);
    for (size_t i = 0; i < deflate->tokens_count; i++) {
        const uint32_t token = deflate->tokens[i];
        if (token_length(token) == 0) {
            symbol_put(deflate, &literals, token);
        } else {
            coded_put(deflate, &literals, length_coded(token_length(token)));
            coded_put(deflate, &distances, token_distance(token));
        }
    }
    symbol_put(deflate, &literals, END);
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
        deflate->literals[length_coded(token_length(token)).symbol]++;
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
    const size_t most = size - at < MATCH_MAX ? size - at : MATCH_MAX;
    size_t length = 0;

    if (distance == 0 || distance > WINDOW || distance > at)
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
        bits_put(deflate, 0x0178, 16);
        deflate->hint = hint;
        tokens_make(deflate, (uint32_t *)(void *)places, bytes, size);
        block_put(deflate, true);
        bits_put(deflate, 0, (8 - deflate->count) % 8);
        for (int shift = 24; shift >= 0; shift -= 8)
            bits_put(deflate, sum >> shift & 255, 8);
        bytes_leave(deflate);
    }
    if (places)
        api_arena_room_drop(arena, places);
    if (tokens)
        api_arena_room_drop(arena, tokens);
    if (deflate)
        api_arena_room_drop(arena, (void *)deflate);
}
