/* SPDX-License-Identifier: MIT */

/* Pieces that api/deflate makes, read by zlib. */

#include <zlib.h>

#include "api/deflate/pieces.h"
#include "api/deflate/search.h"
#include "tests/check_main.h"

enum { SIZE_MOST = 3 * API_SECTION };

static unsigned long long state;

static unsigned random_below(unsigned bound)
{
    state = state * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(state >> 33) % bound;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static void numbers(unsigned char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text[i] = i % 11 == 0 ? ',' : i % 11 == 1 ? '0' : i % 11 == 2 ? '.' : 0;
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] ? text[i] : (unsigned char)('0' + random_below(10));
}

static void words(unsigned char *text, size_t size)
{
    static const char *const list[] = {"position ", "encoding ", "rotary ", "the ", "of ", "a "};

    for (size_t i = 0; i < size;)
        for (const char *at = list[random_below(COUNT_OF(list))]; *at && i < size; at++)
            text[i++] = (unsigned char)*at;
}

/* So many short matches that a section ends before its bytes do. */
static void pairs(unsigned char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text[i] = i % 6 < 5 ? "match"[i % 6] : (unsigned char)random_below(256);
}

static void same(unsigned char *text, size_t size)
{
    memset(text, 'a', size);
}

static void noise(unsigned char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text[i] = (unsigned char)random_below(256);
}

/* Digits, then words, then noise: what a section found says nothing of the next. */
static void mixed(unsigned char *text, size_t size)
{
    numbers(text, size / 3);
    words(text + size / 3, size / 3);
    noise(text + size / 3 * 2, size - size / 3 * 2);
}

/* The most of its size that a long text becomes, in thousandths. */
static const struct {
    void (*make)(unsigned char *text, size_t size);
    size_t most;
} texts[] = {{numbers, 460}, {words, 180}, {pairs, 420}, {same, 10}, {noise, 1001}, {mixed, 560}};

enum { TEXTS = COUNT_OF(texts) };

static unsigned char *text_make(int text)
{
    unsigned char *made = malloc(SIZE_MOST);

    state = 1;
    texts[text].make(made, SIZE_MOST);
    return made;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* Memory of exactly the sizes that are asked for, and what it held before matters to nobody. */
static unsigned char *piece_make(const unsigned char *text, size_t size, int before, size_t *made)
{
    const size_t room = api_piece_room(size), space = api_piece_workspace(size);
    unsigned char *out = malloc(room), *workspace = aligned_alloc(64, (space + 63) / 64 * 64);

    memset(workspace, before, space);
    *made = api_piece_make(text, size, out, room, workspace, space);
    free(workspace);
    ck_assert_uint_le(*made, room);
    return out;
}

static void inflate_whole(z_stream *stream, const unsigned char *code, size_t size,
                          const unsigned char *text, size_t text_size)
{
    OWNED_MEMORY unsigned char *out = malloc(text_size + 1);

    stream->next_in = (unsigned char *)code;
    stream->avail_in = (uInt)size;
    stream->next_out = out;
    stream->avail_out = (uInt)text_size + 1;
    ck_assert_int_eq(inflate(stream, Z_SYNC_FLUSH), Z_OK);
    ck_assert_uint_eq(stream->avail_in, 0);
    ck_assert_uint_eq(stream->avail_out, 1);
    ck_assert(memcmp(out, text, text_size) == 0);
}

/* A piece is read after others in the same stream. */
static size_t both_check(z_stream *stream, const unsigned char *text, size_t size)
{
    OWNED_MEMORY unsigned char *exact = malloc(size ? size : 1);
    size_t made, again;

    memcpy(exact, text, size);
    OWNED_MEMORY unsigned char *code = piece_make(exact, size, 0, &made);
    OWNED_MEMORY unsigned char *other = piece_make(exact, size, 1, &again);
    ck_assert_uint_eq(made, again);
    ck_assert(memcmp(code, other, made) == 0);
    ck_assert_uint_le(made, size + size / 4096 + 12); /* what stored blocks would take */
    inflate_whole(stream, code, made, exact, size);
    return made;
}

TEST_LOOP(TEXTS, test_every_size)
{
    static const size_t around[] = {1000,
                                    4096,
                                    65534,
                                    65535,
                                    65536,
                                    API_SECTION - 17,
                                    API_SECTION - 1,
                                    API_SECTION,
                                    API_SECTION + 1,
                                    API_SECTION + 17,
                                    2 * API_SECTION,
                                    SIZE_MOST - 1};
    OWNED_MEMORY unsigned char *text = text_make(_i);
    z_stream stream = {.next_in = NULL};

    ck_assert_int_eq(inflateInit2(&stream, -15), Z_OK);
    for (size_t size = 0; size < 600; size++)
        both_check(&stream, text + size, size);
    for (size_t i = 0; i < COUNT_OF(around); i++)
        both_check(&stream, text + 1, around[i]);
    ck_assert_uint_le(both_check(&stream, text, SIZE_MOST), SIZE_MOST * texts[_i].most / 1000);
    inflateEnd(&stream);
}

/* A coded answer has a strong ETag, which is made of no byte of it: so every machine makes the same
 * ones. New sums mean that caches hold others under the same name. */
TEST_LOOP(TEXTS, test_same_bytes_everywhere)
{
    static const uLong sums[TEXTS] = {0x68fc1d1c, 0x648232a4, 0x5974f031,
                                      0xb804e686, 0x68623575, 0xe94dd9cf};
    OWNED_MEMORY unsigned char *text = text_make(_i);
    size_t made;
    OWNED_MEMORY unsigned char *code = piece_make(text, SIZE_MOST, 0, &made);

    ck_assert_msg(crc32_z(0, code, made) == sums[_i], "0x%08lx, %zu bytes", crc32_z(0, code, made),
                  made);
}

TEST(test_no_room)
{
    unsigned char text[100], out[4096];
    const size_t room = api_piece_room(sizeof(text)), space = api_piece_workspace(sizeof(text));
    OWNED_MEMORY unsigned char *workspace = aligned_alloc(64, (space + 63) / 64 * 64);

    words(text, sizeof(text));
    ck_assert_uint_le(room, sizeof(out));
    ck_assert_uint_eq(api_piece_make(text, sizeof(text), out, room - 1, workspace, space),
                      SIZE_MAX);
    ck_assert_uint_eq(api_piece_make(text, sizeof(text), out, room, workspace, space - 1),
                      SIZE_MAX);
    ck_assert_uint_lt(api_piece_make(text, sizeof(text), out, room, workspace, space), 100);
}
