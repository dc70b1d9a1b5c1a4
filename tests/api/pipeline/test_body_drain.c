/* SPDX-License-Identifier: MIT */

/* api_drain: bodies of every kind, made without a socket. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/sinusoidal/table?dim=512&dtype=f64&length="

/* The bytes passed to a sink, and the number after which it returns false. */
struct sink {
    unsigned char *bytes;
    size_t size, calls, calls_max;
};

static bool sink_put(void *context, const void *bytes, size_t size)
{
    struct sink *sink = context;

    ck_assert_uint_gt(size, 0);
    sink->bytes = realloc(sink->bytes, sink->size + size);
    memcpy(sink->bytes + sink->size, bytes, size);
    sink->size += size;
    return ++sink->calls != sink->calls_max;
}

static struct api_response *ask(struct api *api, const char *method, const char *query,
                                const char *range)
{
    const struct api_field fields[] = {{"Range", range}};
    const struct api_head head = {.method = method,
                                  .path = "/v1/encodings/sinusoidal/table",
                                  .query = query,
                                  .fields = fields,
                                  .fields_count = range ? 1 : 0};

    return api_handle(api, &head, NULL, 0);
}

/* Every range of a body with a header and three blocks, against the complete body. */
TEST(test_ranges)
{
    static const char query[] = "dim=512&dtype=f64&length=300&format=npy";
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER whole = call(api, "GET", TABLE "300&format=npy", NULL, NULL);
    const size_t block = 512 << 10, prefix = whole.size - 300 * 512 * 8;
    const size_t edges[] = {0,
                            1,
                            prefix - 1,
                            prefix,
                            prefix + 1,
                            prefix + block - 1,
                            prefix + block,
                            prefix + block + 1,
                            prefix + 2 * block,
                            whole.size - 1};

    ck_assert_uint_eq(whole.size, prefix + 300 * 512 * 8);
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        for (size_t j = i; j < COUNT_OF(edges); j++) {
            const size_t size = edges[j] - edges[i] + 1;
            struct sink sink = {0};
            char range[64];
            snprintf(range, sizeof(range), "bytes=%zu-%zu", edges[i], edges[j]);
            OWNED_RESPONSE response = ask(api, "GET", query, range);
            ck_assert_int_eq(response->status, 206);
            ck_assert(api_drain(response, sink_put, &sink));
            ck_assert_msg(sink.size == size, "%s: %zu bytes", range, sink.size);
            ck_assert(memcmp(sink.bytes, whole.body + edges[i], size) == 0);
            free(sink.bytes);
        }
}

/* After the sink returned false, no further block is made. */
TEST(test_a_sink_that_has_enough)
{
    OWNED_API api = api_make(NULL);
    OWNED_RESPONSE response =
        ask(api, "GET", "dim=512&dtype=f64&length=3000&format=raw", "bytes=0-");
    struct sink sink = {.calls_max = 2};

    ck_assert_uint_ge(response->body.blocks, 10);
    ck_assert(!api_drain(response, sink_put, &sink));
    ck_assert_uint_eq(sink.size, 2 * response->body.block_size);
    free(sink.bytes);
}

/* After a cancellation the next block fails. */
TEST(test_a_response_that_was_cancelled)
{
    OWNED_API api = api_make(NULL);
    OWNED_RESPONSE response =
        ask(api, "GET", "dim=512&dtype=f64&length=3000&format=raw", "bytes=0-");
    struct sink sink = {0};

    api_response_cancel(response);
    ck_assert(!api_drain(response, sink_put, &sink));
    ck_assert_uint_eq(sink.size, 0);
}

/* HEAD has the size and no bytes; a refusal is bytes; text has an unknown size. */
TEST(test_kinds)
{
    OWNED_API api = api_make(NULL);
    struct api_response *response = ask(api, "HEAD", "dim=4&length=4&format=raw", NULL);
    struct sink sink = {0};

    ck_assert_uint_eq(response->body.size, 64);
    ck_assert(api_drain(response, sink_put, &sink));
    ck_assert_uint_eq(sink.calls, 0);
    api_response_free(response);

    response = ask(api, "GET", "dim=4&length=x", NULL);
    ck_assert_int_eq(response->status, 422);
    ck_assert(api_drain(response, sink_put, &sink));
    ck_assert_uint_eq(sink.calls, 1);
    ck_assert_uint_eq(sink.size, response->body.size);
    api_response_free(response);

    response = ask(api, "GET", "dim=512&length=1000&format=json", NULL);
    ck_assert_uint_eq(response->body.size, API_SIZE_UNKNOWN);
    sink.size = sink.calls = 0;
    ck_assert(api_drain(response, sink_put, &sink));
    ck_assert_uint_gt(sink.calls, 3);
    ck_assert_int_eq(sink.bytes[sink.size - 1], '\n');
    free(sink.bytes);
    api_response_free(response);
}

/* The second request is answered by the cached response of the first. */
TEST(test_a_response_that_is_kept)
{
    struct api_settings settings = settings_make();
    settings.limits.memory_budget = 64 << 20;
    settings.limits.cache_max = 16 << 20;
    OWNED_API api = api_make(&settings);
    OWNED_ANSWER first = call(api, "GET", TABLE "300&format=raw", NULL, NULL);
    OWNED_ANSWER second = call(api, "GET", TABLE "300&format=raw", NULL, NULL);
    char tag[100];

    ck_assert_ptr_null(strstr(answer_header(&first, "Server-Timing"), "cache"));
    ck_assert_str_eq(answer_header(&second, "Server-Timing"), "cache;desc=hit");
    ck_assert_uint_eq(first.size, 300 * 512 * 8);
    ck_assert_uint_eq(second.size, first.size);
    ck_assert(memcmp(second.body, first.body, first.size) == 0);
    snprintf(tag, sizeof(tag), "If-None-Match: %s", answer_header(&first, "ETag"));
    OWNED_ANSWER fresh = call(api, "GET", TABLE "300&format=raw", tag, NULL);
    ck_assert_int_eq(fresh.status, 304);
    ck_assert_uint_eq(fresh.response->elements, 0);
}

/* Slopes cost more per element than the bias, but 32 of them are negligible. */
TEST(test_a_small_output_does_not_cut_a_large_one)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(api, "GET",
                               "/v1/encodings/alibi/bias?heads=32&query_length=512&"
                               "key_length=512&format=raw",
                               NULL, NULL);

    ck_assert_uint_eq(answer.size, 32 * (512 * 512 + 1) * 4);
    ck_assert_uint_eq(answer.response->body.block_size, 256 << 10);
}
