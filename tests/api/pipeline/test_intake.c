/* SPDX-License-Identifier: MIT */

/* Bodies while they are received, CORS, hosts, the base path, ids, and refusals by the server. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/sinusoidal/table"

TEST(test_preflight)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer =
        call(api, "OPTIONS", "/v1/rotation",
             "Origin: http://example.com\nAccess-Control-Request-Method: POST", NULL);

    ck_assert_int_eq(answer.status, 204);
    ck_assert_uint_eq(answer.size, 0);
    ck_assert_str_eq(answer_header(&answer, "Allow"), "POST, OPTIONS");
    ck_assert_str_eq(answer_header(&answer, "Access-Control-Allow-Methods"), "POST, OPTIONS");
    ck_assert_str_eq(answer_header(&answer, "Access-Control-Allow-Origin"), "*");
    ck_assert_str_eq(answer_header(&answer, "Access-Control-Max-Age"), "7200");
    ck_assert_ptr_nonnull(
        strstr(answer_header(&answer, "Access-Control-Allow-Headers"), "Tensor-Shape"));
    answer_free(&answer);
    answer = call(api, "OPTIONS", "/nowhere", NULL, NULL);
    ck_assert_int_eq(answer.status, 404);
}

TEST(test_origins)
{
    struct api_settings settings = settings_make();
    settings.cors_origin = "https://a.example,https://b.example";
    OWNED_API api = api_make(&settings);
    OWNED_ANSWER answer = call(api, "GET", "/v1", "Origin: https://b.example", NULL);

    ck_assert_str_eq(answer_header(&answer, "Access-Control-Allow-Origin"), "https://b.example");
    ck_assert_ptr_nonnull(strstr(answer_header(&answer, "Vary"), "Origin"));
    answer_free(&answer);
    answer = call(api, "GET", "/v1", "Origin: https://c.example", NULL);
    ck_assert_ptr_null(answer_header(&answer, "Access-Control-Allow-Origin"));
}

TEST(test_hosts)
{
    static const struct {
        const char *host;
        int status;
    } table[] = {
        {"localhost", 200},
        {"LocalHost:8080", 200},
        {"127.0.0.1:1", 200},
        {"[::1]:8080", 200},
        {"[::1]", 200},
        {"evil.example", 403},
        {"localhost.evil", 403},
        {"[::1", 403},
        {"", 403},
        {":80", 403},
    };
    struct api_settings settings = settings_make();
    settings.allowed_hosts = "localhost,127.0.0.1,[::1]";
    OWNED_API api = api_make(&settings);

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char header[100];
        snprintf(header, sizeof(header), "Host: %s", table[i].host);
        OWNED_ANSWER answer = call(api, "GET", "/livez", header, NULL);
        ck_assert_msg(answer.status == table[i].status, "%s: %d", table[i].host, answer.status);
    }
}

TEST(test_base_path)
{
    struct api_settings settings = settings_make();
    settings.base_path = "/pos/enc";
    OWNED_API api = api_make(&settings);
    static const struct {
        const char *path;
        int status;
    } table[] = {{"/pos/enc", 200},   {"/pos/enc/", 200}, {"/pos/enc/v1", 200}, {"/v1", 404},
                 {"/pos/encv1", 404}, {"/pos", 404},      {"/pos/enc//v1", 404}};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        OWNED_ANSWER answer = call(api, "GET", table[i].path, NULL, NULL);
        ck_assert_msg(answer.status == table[i].status, "%s: %d", table[i].path, answer.status);
        if (answer.status == 404)
            ck_assert_str_eq(member_text(&answer, "type"), "/pos/enc/problems/not-found");
        else
            ck_assert_str_eq(member_text(&answer, "links.encodings"), "/pos/enc/v1/encodings");
    }
}

/* Refusals before the upload, and refusals of bytes beyond the announced length. */
TEST(test_intake)
{
    OWNED_API api = api_make(NULL);
    struct api_field json[] = {{"content-type", "application/json"}};
    struct api_head head = {.method = "POST",
                            .path = TABLE,
                            .fields = json,
                            .fields_count = 1,
                            .content_length = (1 << 16) + 1};
    struct api_intake *intake = NULL;
    struct api_response *response = api_begin(api, &head, &intake);
    OWNED_MEMORY char *bytes = calloc(1, 1 << 21);

    ck_assert_ptr_null(intake);
    ck_assert_int_eq(response->status, 413);
    ck_assert(response->close);
    ck_assert_ptr_nonnull(strstr((char *)response->body.bytes, "65536 bytes"));
    ck_assert_ptr_nonnull(strstr((char *)response->body.bytes, "--json-body-max"));
    api_response_free(response);

    head.fields_count = 0;
    head.content_length = (1 << 20) + 1;
    response = api_begin(api, &head, &intake);
    ck_assert_int_eq(response->status, 413);
    ck_assert_ptr_nonnull(strstr((char *)response->body.bytes, "--body-max"));
    api_response_free(response);

    head.content_length = API_LENGTH_UNKNOWN;
    ck_assert_ptr_null(api_begin(api, &head, &intake));
    for (size_t i = 0; i < 16; i++)
        ck_assert_ptr_null(api_feed(intake, bytes, 1 << 16));
    response = api_feed(intake, bytes, 1);
    ck_assert_int_eq(response->status, 413);
    api_response_free(response);
    api_intake_free(intake);

    head.content_length = 10; /* more bytes follow */
    ck_assert_ptr_null(api_begin(api, &head, &intake));
    response = api_feed(intake, bytes, 11);
    ck_assert_int_eq(response->status, 400);
    api_response_free(response);
    api_intake_free(intake);

    ck_assert_ptr_null(api_begin(api, &head, &intake)); /* fewer bytes follow */
    ck_assert_ptr_null(api_feed(intake, bytes, 9));
    ck_assert_int_eq(api_intake_cost(intake), API_COST_MAYBE_QUICK);
    response = api_finish(intake);
    ck_assert_int_eq(response->status, 400);
    api_response_free(response);

    head.path = "/nowhere"; /* without a body the connection stays open */
    head.content_length = 0;
    ck_assert_ptr_null(api_begin(api, &head, &intake));
    ck_assert_int_eq(api_intake_cost(intake), API_COST_QUICK);
    response = api_finish(intake);
    ck_assert_int_eq(response->status, 404);
    ck_assert(!response->close);
    api_response_free(response);
}

/* JSON fed one byte at a time without a length gives the same answer as at once. */
TEST(test_bytes_one_by_one)
{
    static const char body[] = "{\"dim\":6,\"positions\":[0,1.5,-3],\"dtype\":\"f64\"}";
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER whole = call(api, "POST", TABLE "?format=raw", NULL, body);
    struct api_head head = {.method = "POST",
                            .path = TABLE,
                            .query = "format=raw",
                            .content_length = API_LENGTH_UNKNOWN};
    struct api_intake *intake = NULL;
    OWNED_ANSWER pieces = {0};

    ck_assert_ptr_null(api_begin(api, &head, &intake));
    for (size_t i = 0; i < strlen(body); i++)
        ck_assert_ptr_null(api_feed(intake, body + i, 1));
    pieces.response = api_finish(intake);
    ck_assert_int_eq(pieces.response->status, 200);
    body_read(&pieces);
    ck_assert_uint_eq(whole.size, 3 * 6 * 8);
    ck_assert_uint_eq(pieces.size, whole.size);
    ck_assert_mem_eq(pieces.body, whole.body, whole.size);
}

TEST(test_request_ids)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER a = call(api, "GET", "/livez", "X-Request-Id: abc-1.2_3", NULL);
    OWNED_ANSWER b = call(api, "GET", "/livez", "X-Request-Id: a b", NULL);
    OWNED_ANSWER c = call(api, "GET", "/livez", NULL, NULL);

    ck_assert_str_eq(answer_header(&a, "X-Request-Id"), "abc-1.2_3");
    ck_assert_str_ne(answer_header(&b, "X-Request-Id"), "a b");
    ck_assert_uint_eq(strlen(answer_header(&c, "X-Request-Id")), 16);
    ck_assert_str_ne(answer_header(&b, "X-Request-Id"), answer_header(&c, "X-Request-Id"));
}

static bool never_ready(void *context)
{
    (void)context;
    return false;
}

static void one_metric(void *context, void (*append)(void *sink, const char *text), void *sink)
{
    append(sink, context);
}

TEST(test_host_callbacks)
{
    struct api_settings settings = settings_make();
    settings.host = (struct api_host){"the_metric 1\n", never_ready, one_metric, NULL};
    settings.flags_json = "{\"port\":8080}";
    OWNED_API api = api_make(&settings);
    OWNED_ANSWER answer = call(api, "GET", "/readyz", NULL, NULL);

    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_nonnull(answer_header(&answer, "Retry-After"));
    answer_free(&answer);
    answer = call(api, "GET", "/metrics", NULL, NULL);
    ck_assert_ptr_nonnull(strstr((char *)answer.body, "the_metric 1\n"));
    ck_assert_ptr_nonnull(strstr((char *)answer.body, "posenc_problems_total{code=\"busy\"} 1\n"));
    answer_free(&answer);
    answer = call(api, "GET", "/v1", NULL, NULL);
    ck_assert_int_eq(json_integer_value(member(&answer, "flags.port")), 8080);
    ck_assert_int_eq(json_integer_value(member(&answer, "limits.dim_max")), 65536);
    ck_assert_str_eq(member_text(&answer, "isa"), pe_isa_name());
    answer_free(&answer);
    answer = call(api, "HEAD", "/v1", NULL, NULL);
    ck_assert_int_eq(answer.status, 200);
    ck_assert(answer.response->head_only);
    ck_assert_uint_gt(answer.response->body.size, 100);
}

/* A refusal by the server. */
TEST(test_refuse)
{
    OWNED_API api = api_make(NULL);
    struct pe_error err = {0};
    struct api_response *response;

    pe_fail(&err, PE_NOT_IMPLEMENTED, "header:Transfer-Encoding", "no such coding: '\xff'");
    response = api_refuse(api, NULL, &err);
    ck_assert_int_eq(response->status, 501);
    ck_assert(response->close);
    ck_assert_ptr_nonnull(strstr((char *)response->body.bytes, "no such coding: '?'"));
    api_response_free(response);
}
