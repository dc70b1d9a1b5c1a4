/* SPDX-License-Identifier: MIT */

/* Encoded answers, decoded by zlib and libzstd and compared with plain ones. The harness requests
 * the blocks of a plan in reverse order. */

#include <zlib.h>
#include <zstd.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/rope/table"
#define LARGE TABLE "?dim=256&length=1000" /* several blocks */

static const struct {
    const char *name;
    int window_bits;
} codings[] = {{"gzip", 31}, {"deflate", 15}, {"zstd", 0}};

enum { CODINGS = 3, DECODED_MAX = 64 << 20 };

/* Exactly one member. */
static size_t inflated(int window_bits, const unsigned char *bytes, size_t size, unsigned char *out)
{
    z_stream stream = {.next_in = (unsigned char *)bytes,
                       .avail_in = (uInt)size,
                       .next_out = out,
                       .avail_out = DECODED_MAX};

    ck_assert_int_eq(inflateInit2(&stream, window_bits), Z_OK);
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(stream.avail_in, 0);
    inflateEnd(&stream);
    return DECODED_MAX - stream.avail_out;
}

static size_t decoded(size_t coding, const struct answer *answer, unsigned char *out)
{
    size_t size;

    ck_assert_str_eq(answer_header(answer, "Content-Encoding"), codings[coding].name);
    if (codings[coding].window_bits)
        return inflated(codings[coding].window_bits, answer->body, answer->size, out);
    size = ZSTD_decompress(out, DECODED_MAX, answer->body, answer->size);
    ck_assert_msg(!ZSTD_isError(size), "%s", ZSTD_getErrorName(size));
    return size;
}

static struct answer ask(struct api *api, const char *method, const char *target,
                         const char *accept, const char *more)
{
    char headers[400];

    snprintf(headers, sizeof(headers), "Accept-Encoding: %s%s%s", accept, more ? "\n" : "",
             more ? more : "");
    return call(api, method, target, headers, NULL);
}

TEST(test_same_text)
{
    static const char *const targets[] = {"/v1/encodings/rope",
                                          "/v1/encodings",
                                          "/openapi.yaml",
                                          "/openapi.json",
                                          TABLE "?dim=2&length=1",
                                          TABLE "?dim=64&length=100&data_format=base64",
                                          LARGE,
                                          LARGE "&flat=true"};
    OWNED_API api = api_make(NULL);
    OWNED_MEMORY unsigned char *out = malloc(DECODED_MAX);

    for (size_t i = 0; i < COUNT_OF(targets); i++)
        for (size_t coding = 0; coding < CODINGS; coding++)
            for (int again = 0; again < (i < 6 ? 2 : 1); again++) { /* cached answers too */
                OWNED_ANSWER plain = call(api, "GET", targets[i], NULL, NULL);
                OWNED_ANSWER coded = ask(api, "GET", targets[i], codings[coding].name, NULL);
                ck_assert_int_eq(coded.status, 200);
                ck_assert_uint_eq(decoded(coding, &coded, out), plain.size);
                ck_assert(memcmp(out, plain.body, plain.size) == 0);
                ck_assert(strstr(answer_header(&coded, "Vary"), "Accept-Encoding") != NULL);
                ck_assert(strstr(answer_header(&plain, "Vary"), "Accept-Encoding") != NULL);
                ck_assert_ptr_null(answer_header(&plain, "Content-Encoding"));
                ck_assert(plain.size < 2000 || coded.size < plain.size);
            }
}

/* A job: its blocks are made once, in order. */
TEST(test_job)
{
    enum { TOKENS = 3000 };
    struct api_settings settings = settings_make();
    OWNED_MEMORY unsigned char *out = malloc(DECODED_MAX);
    char *body, *at;
    struct api *api;

    settings.limits.json_body_max = settings.limits.body_max = 64 << 20;
    api = api_make(&settings);
    at = body = malloc(400 + TOKENS * 64 * 12);
    at += sprintf(at,
                  "{\"encoding\": \"rope\", \"layout\": \"half\", \"axes\": \"shd\", "
                  "\"positions\": {\"start\": 1}, \"tensors\": {\"q\": {\"shape\": [%d, 1, 64], "
                  "\"data\": [",
                  TOKENS);
    for (int i = 0; i < TOKENS * 64; i++)
        at += sprintf(at, "%s%s%s%d.%d%s", i > 0 && i % 64 == 0 ? "," : "", i % 64 == 0 ? "[[" : "",
                      i % 64 ? "," : "", i % 7, i % 1000, i % 64 == 63 ? "]]" : "");
    strcpy(at, "]}}}");
    OWNED_ANSWER plain = call(api, "POST", "/v1/rotation", "Content-Type: application/json", body);
    ck_assert_msg(plain.status == 200, "%.300s", (char *)plain.body);
    ck_assert_int_eq(plain.response->body.kind, API_JOB);
    ck_assert_uint_gt(plain.response->body.blocks, 3);
    for (size_t coding = 0; coding < CODINGS; coding++) {
        char headers[100];
        snprintf(headers, sizeof(headers), "Content-Type: application/json\nAccept-Encoding: %s",
                 codings[coding].name);
        OWNED_ANSWER coded = call(api, "POST", "/v1/rotation", headers, body);
        ck_assert_uint_eq(decoded(coding, &coded, out), plain.size);
        ck_assert(memcmp(out, plain.body, plain.size) == 0);
    }
    free(body);
    answer_free(&plain);
    api_free(api);
}

/* A block of a plan may be made twice, and after the last one. */
TEST(test_blocks_again)
{
    OWNED_API api = api_make(NULL);
    struct api_field fields[] = {{"Accept-Encoding", "gzip"}};
    struct api_head head = {.method = "GET",
                            .path = TABLE,
                            .query = "dim=256&length=1000",
                            .fields = fields,
                            .fields_count = 1};
    struct api_response *response = api_handle(api, &head, NULL, 0);
    const struct api_body *body = &response->body;
    unsigned char *first = malloc(body->block_size + 64), *second = malloc(body->block_size + 64);
    unsigned char tail[API_TAIL_MAX], again[API_TAIL_MAX];

    ck_assert_uint_gt(body->blocks, 3);
    for (size_t i = 0; i < body->blocks; i++) {
        const size_t size = body->fill(response, i, first);
        ck_assert_uint_eq(body->fill(response, i, second), size);
        ck_assert(memcmp(first, second, size) == 0);
    }
    const size_t size = body->tail(response, tail);
    ck_assert_uint_ne(body->fill(response, 0, first), SIZE_MAX);
    ck_assert_uint_eq(body->tail(response, again), size);
    ck_assert(memcmp(tail, again, size) == 0);
    free(first);
    free(second);
    api_response_free(response);
}

/* Accept-Encoding and the coding of the answer; NULL: plain, "406": none is acceptable. */
static const struct {
    const char *accept, *coding;
} asked[] = {
    {"", NULL},
    {"identity", NULL},
    {"br", NULL},
    {"gzip", "gzip"},
    {"x-gzip", "gzip"},
    {"GZip", "gzip"},
    {" gzip ; q=0.5 ", "gzip"},
    {"gzip, deflate, br, zstd", "zstd"},
    {"gzip, deflate", "gzip"},
    {"deflate, gzip;q=0.9", "deflate"},
    {"gzip;q=0.001, deflate;q=0.002", "deflate"},
    {"gzip;q=0", NULL},
    {"gzip;q=0.0, deflate;q=0.000", NULL},
    {"*", "zstd"},
    {"*;q=0.5, zstd;q=0", "gzip"},
    {"gzip;q=0.2, *;q=0.5, zstd;q=0.1", "deflate"},
    {"gzip;q=0.5, identity", NULL},
    {"gzip, identity;q=0.5", "gzip"},
    {"gzip, identity", "gzip"},
    {"identity;q=0, gzip;q=0.1", "gzip"},
    {"*;q=0, gzip", "gzip"},
    {"*;q=0, identity", NULL},
    {"identity;q=0", "406"},
    {"*;q=0", "406"},
    {"br, identity;q=0", "406"},
    {"gzip;q=0, *;q=0", "406"},
};

TEST(test_negotiation)
{
    static const char *const targets[] = {"/v1/encodings", TABLE "?dim=4&length=4", LARGE};
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(asked); i++)
        for (size_t k = 0; k < 3; k++) {
            OWNED_ANSWER answer =
                ask(api, k == 2 ? "HEAD" : "GET", targets[k], asked[i].accept, NULL);
            const char *coding = answer_header(&answer, "Content-Encoding");
            const bool refused = asked[i].coding && strcmp(asked[i].coding, "406") == 0;
            ck_assert_msg(answer.status == (refused ? 406 : 200), "%s: %d", asked[i].accept,
                          answer.status);
            if (refused && k != 2)
                ck_assert_str_eq(member_text(&answer, "errors.0.header"), "Accept-Encoding");
            else if (!refused)
                ck_assert_msg(!coding == !asked[i].coding &&
                                  (!coding || strcmp(coding, asked[i].coding) == 0),
                              "%s gave %s", asked[i].accept, coding ? coding : "plain text");
        }
}

/* Short text is plain unless that is excluded; tensors are never encoded. */
TEST(test_what_is_coded)
{
    static const char *const forms[] = {"npy", "safetensors", "raw"};
    OWNED_API api = api_make(NULL);
    struct answer answer = ask(api, "GET", "/livez", "gzip", NULL);

    ck_assert_ptr_null(answer_header(&answer, "Content-Encoding"));
    answer_free(&answer);
    answer = ask(api, "GET", "/livez", "gzip, identity;q=0", NULL);
    ck_assert_str_eq(answer_header(&answer, "Content-Encoding"), "gzip");
    answer_free(&answer);
    answer = ask(api, "GET", TABLE "?dim=4&lenght=4", "gzip, identity;q=0", NULL);
    ck_assert_int_eq(answer.status, 422);
    ck_assert_ptr_null(answer_header(&answer, "Content-Encoding"));
    answer_free(&answer);
    for (size_t i = 0; i < 3; i++) {
        char target[100];
        snprintf(target, sizeof(target), TABLE "?dim=64&length=500&format=%s", forms[i]);
        struct answer plain = call(api, "GET", target, NULL, NULL);
        answer = ask(api, "GET", target, "gzip, zstd", NULL);
        ck_assert_ptr_null(answer_header(&answer, "Content-Encoding"));
        ck_assert_str_eq(answer_header(&answer, "ETag"), answer_header(&plain, "ETag"));
        ck_assert_uint_eq(answer.size, plain.size);
        answer_free(&answer);
        answer_free(&plain);
        answer = ask(api, "GET", target, "gzip, identity;q=0", NULL);
        ck_assert_int_eq(answer.status, 406);
        answer_free(&answer);
    }
}

/* Each coding has its own ETag, which yields 304 only where this coding would be chosen; HEAD has
 * the header fields of GET. */
TEST(test_tags)
{
    static const char *const accepts[] = {"identity", "gzip", "deflate", "zstd"};
    static const char *const targets[] = {TABLE "?dim=4&length=4", LARGE};
    OWNED_API api = api_make(NULL);

    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < 4; i++) {
            OWNED_ANSWER first = ask(api, "GET", targets[t], accepts[i], NULL);
            OWNED_ANSWER head = ask(api, "HEAD", targets[t], accepts[i], NULL);
            const char *coding = answer_header(&head, "Content-Encoding");
            char more[100];
            ck_assert_str_eq(answer_header(&head, "ETag"), answer_header(&first, "ETag"));
            ck_assert_str_eq(coding ? coding : "identity", accepts[i]);
            snprintf(more, sizeof(more), "If-None-Match: %s", answer_header(&first, "ETag"));
            for (size_t k = 0; k < 4; k++) {
                OWNED_ANSWER again =
                    ask(api, t == 1 ? "HEAD" : "GET", targets[t], accepts[k], more);
                ck_assert_int_eq(again.status, i == k ? 304 : 200);
            }
        }
    OWNED_ANSWER full = ask(api, "GET", "/openapi.json", "gzip", NULL);
    OWNED_ANSWER head = ask(api, "HEAD", "/openapi.json", "gzip", NULL);
    ck_assert_uint_eq(head.response->body.size, full.size);
}

#define ROTATION_BODY                                                                              \
    "{\"encoding\": \"rope\", \"layout\": \"half\", \"axes\": \"shd\", \"positions\": "            \
    "{\"start\": 1}, "                                                                             \
    "\"tensors\": {\"q\": {\"shape\": [1, 1, 4], \"data\": [[[1, 0, 0, 0]]]}}}"

/* The event loop finishes small rotations itself, but not with an encoded body, whose decoded size
 * is unknown. The answer is encoded in both cases. */
TEST(test_quick)
{
    OWNED_API api = api_make(NULL);
    unsigned char *out = malloc(DECODED_MAX), coded[400];
    uLongf size = sizeof(coded);
    OWNED_ANSWER plain =
        call(api, "POST", "/v1/rotation", "Content-Type: application/json", ROTATION_BODY);

    ck_assert_int_eq(compress(coded, &size, (const Bytef *)ROTATION_BODY, strlen(ROTATION_BODY)),
                     Z_OK);
    for (int is_coded = 0; is_coded < 2; is_coded++) {
        struct api_field fields[] = {{"Content-Type", "application/json"},
                                     {"Accept-Encoding", "gzip"},
                                     {"Content-Encoding", is_coded ? "deflate" : "identity"}};
        struct api_head head = {.method = "POST",
                                .path = "/v1/rotation",
                                .fields = fields,
                                .fields_count = 3,
                                .content_length = is_coded ? size : strlen(ROTATION_BODY)};
        struct api_intake *intake = NULL;
        OWNED_ANSWER answer = {0};
        ck_assert_ptr_null(api_begin(api, &head, &intake));
        ck_assert_ptr_null(
            api_feed(intake, is_coded ? (void *)coded : ROTATION_BODY, head.content_length));
        answer.response = api_finish_if_quick(intake);
        ck_assert(!is_coded || !answer.response);
        if (!answer.response)
            answer.response = api_finish(intake);
        ck_assert_int_eq(answer.response->status, 200);
        body_read(&answer);
        ck_assert_uint_eq(decoded(0, &answer, out), plain.size);
        ck_assert(memcmp(out, plain.body, plain.size) == 0);
    }
    free(out);
}

/* Without memory in the budget, complete answers are plain unless that is excluded. */
TEST(test_no_memory_left)
{
    struct api_settings settings = settings_make();
    struct api_field fields[] = {{"Content-Type", "application/octet-stream"}};
    struct api_head head = {.method = "POST",
                            .path = "/v1/rotation",
                            .fields = fields,
                            .fields_count = 1,
                            .content_length = 1 << 20};
    struct api_intake *holder = NULL;
    struct api *api;

    settings.limits.memory_budget = 2 << 20;
    api = api_make(&settings);
    ck_assert_ptr_null(api_begin(api, &head, &holder));
    ck_assert_uint_eq(api_state_read(api).memory_held, settings.limits.memory_budget);
    OWNED_ANSWER answer = ask(api, "GET", "/metrics", "gzip", NULL);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_ptr_null(answer_header(&answer, "Content-Encoding"));
    ck_assert(strstr((char *)answer.body, "posenc_build_info") != NULL);
    answer_free(&answer);
    answer = ask(api, "GET", "/metrics", "gzip, identity;q=0", NULL);
    ck_assert_int_eq(answer.status, 503);
    answer_free(&answer);
    api_intake_free(holder);
    answer = ask(api, "GET", "/metrics", "gzip", NULL);
    ck_assert_str_eq(answer_header(&answer, "Content-Encoding"), "gzip");
    answer_free(&answer);
    api_free(api);
}
