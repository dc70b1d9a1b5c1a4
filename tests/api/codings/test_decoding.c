/* SPDX-License-Identifier: MIT */

/* Encoded request bodies, made by zlib and libzstd. */

#include <zlib.h>
#include <zstd.h>

#include "api/codings/coding.h"
#include "api/response/response.h"
#include "tests/api/harness.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/rope/table"

static const char plain[] = "{\"dim\": 8, \"positions\": [0, 1, 2, 3, 5, 8, 13, 21, 34]}";

struct coded {
    const char *header; /* of Content-Encoding */
    unsigned char *bytes;
    size_t size;
};

OWNED(coded, struct coded, free(it->bytes))
#define OWNED_CODED OWNER(coded) struct coded

/* window_bits: 15 zlib, 31 gzip, -15 raw. */
static struct coded zlib_make(const char *header, int window_bits, const void *bytes, size_t size)
{
    struct coded coded = {header, NULL, compressBound(size) + 64};
    z_stream stream = {.next_in = (unsigned char *)bytes, .avail_in = (uInt)size};

    coded.bytes = malloc(coded.size);
    stream.next_out = coded.bytes;
    stream.avail_out = (uInt)coded.size;
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    coded.size -= stream.avail_out;
    deflateEnd(&stream);
    return coded;
}

static struct coded zstd_make(const void *bytes, size_t size)
{
    struct coded coded = {"zstd", malloc(ZSTD_compressBound(size)), 0};

    coded.size = ZSTD_compress(coded.bytes, ZSTD_compressBound(size), bytes, size, 3);
    ck_assert(!ZSTD_isError(coded.size));
    return coded;
}

enum { KINDS = 5 };

static struct coded coded_make(int kind, const void *bytes, size_t size)
{
    switch (kind) {
    case 0:
        return zlib_make("gzip", 31, bytes, size);
    case 1:
        return zlib_make("X-GZip", 31, bytes, size);
    case 2:
        return zlib_make(" deflate ", 15, bytes, size);
    case 3:
        return zlib_make("deflate", -15, bytes, size);
    default:
        return zstd_make(bytes, size);
    }
}

/* Posts in pieces: the first ends at `cut`, the others have `step` bytes. length: Content-Length.
 */
static struct api_response *post(struct api *api, const struct coded *coded, uint64_t length,
                                 size_t cut, size_t step)
{
    struct api_field fields[] = {{"Content-Type", "application/json"},
                                 {"Content-Encoding", coded->header}};
    struct api_head head = {.method = "POST",
                            .path = TABLE,
                            .query = "format=raw",
                            .fields = fields,
                            .fields_count = 2,
                            .content_length = length};
    struct api_intake *intake = NULL;
    struct api_response *response = api_begin(api, &head, &intake);

    for (size_t at = 0, end = cut; !response && at < coded->size; at = end, end += step) {
        unsigned char *piece;
        end = end < coded->size ? end : coded->size;
        /* A copy, so that sanitizers detect reads beyond it. */
        piece = malloc(end - at + 1);
        memcpy(piece, coded->bytes + at, end - at);
        response = api_feed(intake, piece, end - at);
        free(piece);
    }
    if (!response)
        return api_finish(intake);
    api_intake_free(intake);
    return response;
}

static const char *response_text(const struct api_response *response)
{
    return response->body.kind == API_BYTES ? (const char *)response->body.bytes : "";
}

static void expect_status(struct api *api, const struct coded *coded, size_t step, int status,
                          const char *words)
{
    OWNED_RESPONSE response = post(api, coded, coded->size, step, step);

    ck_assert_msg(response->status == status, "%s, %zu bytes: %d instead of %d: %.300s",
                  coded->header, coded->size, response->status, status,
                  response->status >= 300 ? response_text(response) : "");
    if (words)
        ck_assert_msg(strstr(response_text(response), words) != NULL, "no '%s' in %.300s", words,
                      response_text(response));
}

/* 9 rows of cos and as many of sin, 4 wide. */
enum { PLAIN_ANSWER = 2 * 9 * 4 * 4 };

TEST(test_every_cut)
{
    OWNED_API api = api_make(NULL);

    for (int kind = 0; kind < KINDS; kind++) {
        OWNED_CODED coded = coded_make(kind, plain, strlen(plain));
        for (size_t cut = 0; cut <= coded.size; cut++)
            for (int chunked = 0; chunked < 2; chunked++) {
                OWNED_RESPONSE response =
                    post(api, &coded, chunked ? API_LENGTH_UNKNOWN : coded.size, cut, SIZE_MAX / 2);
                ck_assert_msg(response->status == 200, "%s cut at %zu: %.300s", coded.header, cut,
                              response_text(response));
                ck_assert_uint_eq(response->body.size, PLAIN_ANSWER);
            }
        expect_status(api, &coded, 1, 200, NULL);
    }
}

TEST(test_every_truncation)
{
    OWNED_API api = api_make(NULL);

    for (int kind = 0; kind < KINDS; kind++) {
        OWNED_CODED coded = coded_make(kind, plain, strlen(plain));
        const size_t whole = coded.size;
        for (coded.size = 1; coded.size < whole; coded.size++)
            expect_status(api, &coded, SIZE_MAX / 2, 400, "Content-Encoding");
    }
}

/* One wrong byte: check sums detect it, unless the byte has no effect (a time in gzip's head). */
TEST(test_every_wrong_byte)
{
    OWNED_API api = api_make(NULL);
    size_t refused = 0, tried = 0;

    for (int kind = 0; kind < KINDS; kind++) {
        OWNED_CODED coded = coded_make(kind, plain, strlen(plain));
        for (size_t i = 0; i < coded.size; i++, tried++) {
            struct api_response *response;
            coded.bytes[i] ^= 0x55;
            response = post(api, &coded, coded.size, coded.size, 1);
            ck_assert(response->status == 200 || response->status == 400 ||
                      response->status == 413 || response->status == 422);
            refused += response->status != 200;
            api_response_free(response);
            coded.bytes[i] ^= 0x55;
        }
    }
    ck_assert_uint_gt(refused, tried * 3 / 4);
}

TEST(test_garbage_behind)
{
    OWNED_API api = api_make(NULL);
    static const char *const garbage[] = {"x", "garbage behind it", "\x1f", "\x28\xb5\x2f"};

    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < COUNT_OF(garbage); i++) {
            OWNED_CODED coded = coded_make(kind, plain, strlen(plain));
            const size_t more = strlen(garbage[i]);
            coded.bytes = realloc(coded.bytes, coded.size + more + 1);
            memcpy(coded.bytes + coded.size, garbage[i], more);
            coded.size += more;
            for (size_t step = 1; step < 200; step += 66)
                expect_status(api, &coded, step, 400, "Content-Encoding");
            /* Zeros are garbage too. */
            coded.size -= more;
            coded.bytes[coded.size++] = 0;
            expect_status(api, &coded, 7, 400, "Content-Encoding");
        }
}

/* Several members of gzip or frames of zstd, with empty ones. */
TEST(test_several_members)
{
    OWNED_API api = api_make(NULL);

    for (int kind = 0; kind < KINDS; kind++) {
        struct coded first = coded_make(kind, plain, 20), none = coded_make(kind, "", 0);
        struct coded second = coded_make(kind, plain + 20, strlen(plain) - 20);
        struct coded all = {first.header, malloc(first.size + none.size + second.size), 0};
        const bool may = kind != 2 && kind != 3;
        for (int i = 0; i < 3; i++) {
            struct coded *part = i == 0 ? &first : i == 1 ? &none : &second;
            memcpy(all.bytes + all.size, part->bytes, part->size);
            all.size += part->size;
            free(part->bytes);
        }
        for (size_t step = 1; step < 100; step += 13)
            expect_status(api, &all, step, may ? 200 : 400, NULL);
        free(all.bytes);
    }
}

/* An empty encoded body and no body: both have no parameters. */
TEST(test_empty)
{
    OWNED_API api = api_make(NULL);

    for (int kind = 0; kind < KINDS; kind++) {
        OWNED_CODED coded = coded_make(kind, "", 0);
        expect_status(api, &coded, 1, 422, "missing-parameter");
        coded.size = 0;
        expect_status(api, &coded, 1, 422, "missing-parameter");
    }
}

/* --json-body-max, here 64 KiB, limits the decoded size, and also the encoded size of a body that
 * decodes to nothing. */
TEST(test_limit)
{
    struct api_settings settings = settings_make();
    const size_t most = settings.limits.json_body_max;
    OWNED_MEMORY char *text = malloc(most + 1);
    OWNED_API api = api_make(&settings);

    memset(text, ' ', most + 1);
    memcpy(text, plain, strlen(plain));
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t step = 1; step < most; step = step * 8 + 1) {
            OWNED_CODED fits = coded_make(kind, text, most),
                        over = coded_make(kind, text, most + 1);
            expect_status(api, &fits, step, 200, NULL);
            expect_status(api, &over, step, 413, "--json-body-max");
        }
    OWNED_CODED large = coded_make(0, plain, strlen(plain)), none = coded_make(0, "", 0);
    for (; large.size <= most; large.size += none.size) {
        large.bytes = realloc(large.bytes, large.size + none.size);
        memcpy(large.bytes + large.size, none.bytes, none.size);
    }
    expect_status(api, &large, 1000, 413, "--json-body-max");
}

/* Incompressible data: zstd emits a block when all but its last byte was read, more than fits into
 * the buffer at that time. */
TEST(test_noise)
{
    enum { ROWS = 600, ROW = 64 * sizeof(float) };
    static uint32_t noise[ROWS * ROW / sizeof(uint32_t)];
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(noise); i++)
        noise[i] = (uint32_t)(i * i * 2654435761u >> 7);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t rows = 250; rows <= ROWS; rows += 50) {
            OWNED_CODED coded = coded_make(kind, noise, rows * ROW);
            char headers[200];
            snprintf(headers, sizeof(headers),
                     "Content-Type: application/octet-stream\nTensor-Dtype: f32\n"
                     "Tensor-Shape: 1,1,%zu,64\nContent-Encoding: %s",
                     rows, coded.header);
            OWNED_ANSWER answer = call_bytes(
                api, "POST", "/v1/layout?from_layout=half&to_layout=half&kind=table&format=raw",
                headers, coded.bytes, coded.size);
            ck_assert_int_eq(answer.status, 200);
            ck_assert_mem_eq(answer.body, noise, rows * ROW);
        }
}

/* 1 GiB of zeros, or a fifth under a sanitizer, within a budget of 8 MiB. */
TEST(test_bomb)
{
    enum { MIBS = 1024 / NUMBERS_STEP };
    struct api_settings settings = settings_make();
    static unsigned char zeros[1 << 20];
    OWNED_CODED bomb = {"gzip", malloc(2 << 20), 0};
    z_stream stream = {.next_out = bomb.bytes, .avail_out = 2 << 20};
    struct api *api;

    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    for (int i = 0; i < MIBS; i++) {
        stream.next_in = zeros;
        stream.avail_in = sizeof(zeros);
        ck_assert_int_eq(deflate(&stream, i < MIBS - 1 ? Z_NO_FLUSH : Z_FINISH),
                         i < MIBS - 1 ? Z_OK : Z_STREAM_END);
    }
    bomb.size = stream.total_out;
    deflateEnd(&stream);
    settings.limits.json_body_max = settings.limits.body_max = 2 << 20;
    settings.limits.memory_budget = 8 << 20;
    api = api_make(&settings);
    for (size_t step = 1000; step < 4 << 20; step *= 16)
        expect_status(api, &bomb, step, 413, "decoded too");
    ck_assert_uint_eq(api_state_read(api).memory_held, 0);
    api_free(api);
    /* The error names a budget that is smaller than the limit of bodies. */
    settings.limits.memory_budget = 4 << 20;
    api = api_make(&settings);
    expect_status(api, &bomb, 1 << 16, 413, "a quarter of --memory-budget");
    api_free(api);
}

/* Windows up to 8 MiB are accepted. */
TEST(test_zstd_window)
{
    OWNED_API api = api_make(NULL);
    ZSTD_CCtx *context = ZSTD_createCCtx();

    for (int log = 10; log <= 27; log++) {
        OWNED_CODED coded = {"zstd", malloc(1 << 16), 0};
        ZSTD_inBuffer in = {plain, strlen(plain), 0};
        ZSTD_outBuffer out = {coded.bytes, 1 << 16, 0};
        ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
        ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, log);
        /* Without the size in the head, which would reduce the window. */
        ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
        ck_assert_uint_eq(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
        coded.size = out.pos;
        expect_status(api, &coded, 5, log <= 23 ? 200 : 400, log <= 23 ? NULL : "8 MiB");
    }
    ZSTD_freeCCtx(context);
}

TEST(test_unknown)
{
    static const char *const unknown[] = {"br",        "compress",       "gzip, gzip",
                                          "gzip,zstd", "identity, gzip", "gzi",
                                          "gzipp",     "aws-chunked"};
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        struct coded coded = {unknown[i], (unsigned char *)plain, strlen(plain)};
        OWNED_RESPONSE response = post(api, &coded, coded.size, coded.size, 1);
        ck_assert_int_eq(response->status, 415);
        ck_assert_str_eq(api_response_field(response, "Accept-Encoding"),
                         "zstd, gzip, deflate, identity");
        ck_assert_ptr_null(api_response_field(response, "Accept-Post"));
    }
    struct answer twice =
        call(api, "POST", TABLE, "Content-Encoding: gzip\nContent-Encoding: gzip", plain);
    ck_assert_int_eq(twice.status, 415);
    answer_free(&twice);
    /* Refused while it is received, and leaves nothing in memory. */
    struct answer none_of_gzip = call(api, "POST", TABLE, "Content-Encoding: gzip", plain);
    ck_assert_int_eq(none_of_gzip.status, 400);
    answer_free(&none_of_gzip);
    struct answer type = call(api, "POST", TABLE, "Content-Type: text/html", plain);
    ck_assert_int_eq(type.status, 415);
    ck_assert_ptr_null(answer_header(&type, "Accept-Encoding"));
    ck_assert_ptr_nonnull(answer_header(&type, "Accept-Post"));
    answer_free(&type);
    for (const char *none = "Identity"; none; none = *none ? "" : NULL) {
        struct coded coded = {none, (unsigned char *)plain, strlen(plain)};
        expect_status(api, &coded, 9, 200, NULL);
    }
}

/* What a decoder takes of the memory of a request it gives back, used or not. */
TEST(test_memory_of_decoders)
{
    const struct pe_work_limits limits = {.size = sizeof(limits), .memory_max = 64 << 20};
    struct pe_work *work;

    ck_assert(!pe_work_new(&work, &limits, &(struct pe_error){0}));
    for (int kind = 0; kind < KINDS; kind++) {
        const struct coded all = coded_make(kind, plain, strlen(plain));
        const struct api_field field = {"Content-Encoding", all.header};
        const struct api_head head = {.fields = &field, .fields_count = 1};
        const struct api_coding *coding;
        ck_assert(!api_coding_find(&head, &coding, &(struct pe_error){0}));
        for (int used = 0; used < 2; used++) {
            unsigned char out[1 << 12];
            struct api_flow flow = {all.bytes, all.size, out, sizeof(out)};
            void *decoder = coding->decode_open(work);
            ck_assert(decoder && pe_work_memory(work) > 0);
            if (used)
                ck_assert(!coding->decode(decoder, &flow, &(struct pe_error){0}));
            coding->decode_close(decoder);
            ck_assert_uint_eq(pe_work_memory(work), 0);
        }
        free(all.bytes);
    }
    pe_work_free(work);
}
