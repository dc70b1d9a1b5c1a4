/* SPDX-License-Identifier: MIT */

/* Pieces and streams of api/codings/zlib_compress.c, read by zlib. */

#include <zlib.h>

#include "api/codings/zlib_compress.h"
#include "tests/check_main.h"

enum { STEP = 256 << 10, SIZE_MOST = 3 * STEP }; /* STEP: of deflate.c */

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

/* Many short matches, which fill zlib's buffers early. */
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

/* Digits, then words, then noise. */
static void mixed(unsigned char *text, size_t size)
{
    numbers(text, size / 3);
    words(text + size / 3, size / 3);
    noise(text + size / 3 * 2, size - size / 3 * 2);
}

/* The most that a long text compresses to, in thousandths of its size. */
static const struct {
    void (*make)(unsigned char *text, size_t size);
    size_t most;
} texts[] = {{numbers, 475}, {words, 180}, {pairs, 420}, {same, 10}, {noise, 1001}, {mixed, 560}};

enum { TEXTS = COUNT_OF(texts) };

static unsigned char *text_make(int text)
{
    unsigned char *made = malloc(SIZE_MOST);

    state = 1;
    texts[text].make(made, SIZE_MOST);
    return made;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* Buffers of exactly the required sizes, with arbitrary contents. */
static unsigned char *piece_make(const unsigned char *text, size_t size, int before, size_t *made)
{
    const size_t room = api_deflate_max(size), space = api_deflate_workspace(size);
    unsigned char *out = malloc(room), *workspace = aligned_alloc(64, (space + 63) / 64 * 64);

    memset(workspace, before, space);
    *made = api_deflate(API_DEFLATE_PIECE, text, size, out, room, workspace, space, NULL);
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

/* Reads a piece behind others in one stream. */
static size_t both_check(z_stream *stream, const unsigned char *text, size_t size)
{
    OWNED_MEMORY unsigned char *exact = malloc(size ? size : 1);
    size_t made, again;

    memcpy(exact, text, size);
    OWNED_MEMORY unsigned char *code = piece_make(exact, size, 0, &made);
    OWNED_MEMORY unsigned char *other = piece_make(exact, size, 1, &again);
    ck_assert_uint_eq(made, again);
    ck_assert(memcmp(code, other, made) == 0);
    ck_assert_uint_le(made, size + size / 1000 + 24);
    inflate_whole(stream, code, made, exact, size);
    return made;
}

TEST_LOOP(TEXTS, test_every_size)
{
    static const size_t around[] = {1000,     4096, 65534,    65535,     65536,    STEP - 17,
                                    STEP - 1, STEP, STEP + 1, STEP + 17, 2 * STEP, SIZE_MOST - 1};
    OWNED_MEMORY unsigned char *text = text_make(_i);
    z_stream stream = {.next_in = NULL};

    ck_assert_int_eq(inflateInit2(&stream, -15), Z_OK);
    for (size_t size = 0; size < 600; size += NUMBERS_STEP)
        both_check(&stream, text + size, size);
    for (size_t i = 0; i < COUNT_OF(around); i++)
        both_check(&stream, text + 1, around[i]);
    ck_assert_uint_le(both_check(&stream, text, SIZE_MOST), SIZE_MOST * texts[_i].most / 1000);
    inflateEnd(&stream);
}

TEST(test_no_room)
{
    unsigned char text[5000], out[8192];
    const size_t room = api_deflate_max(sizeof(text));
    const size_t space = api_deflate_workspace(sizeof(text));
    OWNED_MEMORY unsigned char *workspace = aligned_alloc(64, space);
    size_t made;

    noise(text, sizeof(text));
    ck_assert_uint_le(room, sizeof(out));
    for (int form = API_DEFLATE_PIECE; form <= API_DEFLATE_STREAM; form++) {
        made = api_deflate(form, text, sizeof(text), out, room, workspace, space, NULL);
        ck_assert_uint_le(made, room);
        for (size_t less = 0; less < made; less += 37)
            ck_assert_uint_eq(
                api_deflate(form, text, sizeof(text), out, less, workspace, space, NULL), SIZE_MAX);
        ck_assert_uint_eq(api_deflate(form, text, sizeof(text), out, room, workspace, 100000, NULL),
                          SIZE_MAX);
    }
}

TEST_LOOP(TEXTS, test_whole_stream)
{
    OWNED_MEMORY unsigned char *text = text_make(_i);
    const size_t room = api_deflate_max(SIZE_MOST), space = api_deflate_workspace(SIZE_MOST);
    OWNED_MEMORY unsigned char *out = malloc(room), *back = malloc(SIZE_MOST);
    OWNED_MEMORY unsigned char *workspace = aligned_alloc(64, space);

    for (size_t size = 0; size <= SIZE_MOST; size += size < 3 ? 1 : STEP / 2 - 1) {
        uLongf got = SIZE_MOST;
        const size_t made =
            api_deflate(API_DEFLATE_STREAM, text, size, out, room, workspace, space, NULL);
        ck_assert_uint_le(made, room);
        ck_assert_int_eq(uncompress(back, &got, out, made), Z_OK);
        ck_assert_uint_eq(got, size);
        ck_assert(memcmp(back, text, size) == 0);
    }
}

TEST(test_ended_work)
{
    OWNED_MEMORY unsigned char *text = text_make(0);
    const size_t room = api_deflate_max(SIZE_MOST), space = api_deflate_workspace(SIZE_MOST);
    OWNED_MEMORY unsigned char *out = malloc(room), *workspace = aligned_alloc(64, space);
    struct pe_work *work;

    ck_assert_int_eq(pe_work_new(&work, NULL, NULL), PE_OK);
    pe_work_cancel(work);
    ck_assert_uint_eq(
        api_deflate(API_DEFLATE_STREAM, text, SIZE_MOST, out, room, workspace, space, work),
        SIZE_MAX);
    pe_work_free(work);
}
