/* SPDX-License-Identifier: MIT */

/* Routes, methods, negotiation, limits, problem documents and what every answer carries. */

#include "tests/api/harness.h"

static unsigned long cases;

struct row {
    const char *method, *target, *headers, *body;
    int status;
    const char *code;  /* of the problem; NULL: none */
    const char *place; /* "parameter:base" of its first error; NULL: not looked at */
    const char *says;  /* part of its detail; NULL: not looked at */
};

#define TABLE "/v1/encodings/sinusoidal/table"

static const struct row rows[] = {
    /* paths */
    {"GET", "/", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/v1", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/livez", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/readyz", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/metrics", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/openapi.json", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/openapi.yaml", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/v1/encodings", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/v1/encodings?family=bias", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/v1/encodings/rope", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/problems/too-large", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/v1/encodings/sinusoid%61l", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", "/v1/encodngs", NULL, NULL, 404, "not-found", NULL, "'/v1/encodings'"},
    {"GET", "/v1/", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "//", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "/a/../v1", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "/%2e%2e/v1", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "/v1/encodings%2frope", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "/a/b/c/d/e/f/g/h/i/j", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "/v1%00", NULL, NULL, 400, "malformed", NULL, NULL},
    {"GET", "/v1%zz", NULL, NULL, 400, "malformed", NULL, NULL},
    {"GET", "/v1%4", NULL, NULL, 400, "malformed", NULL, NULL},
    {"GET", "/v1/\xff\xfe", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "/v1/encodings/ropee", NULL, NULL, 404, "not-found", NULL, "'rope'"},
    {"GET", "/v1/encodings/ropee/table", NULL, NULL, 404, "not-found", NULL, "'rope'"},
    {"GET", "/v1/encodings/zzz\"\n/table", NULL, NULL, 404, "not-found", NULL, "shaw"},
    {"GET", "/v1/encodings/rope/bias", NULL, NULL, 404, "not-found", NULL, "frequencies"},
    {"GET", "/problems/none", NULL, NULL, 404, "not-found", NULL, NULL},
    {"GET", "/v1/encodings?family=rotery", NULL, NULL, 422, "invalid-parameter", "parameter:family",
     NULL},
    {"GET", "/v1/encodings?familly=bias", NULL, NULL, 422, "unknown-parameter", "parameter:familly",
     "'family'"},
    {"GET", "/v1?x=1", NULL, NULL, 422, "unknown-parameter", "parameter:x", NULL},
    /* methods */
    {"POST", "/v1", NULL, NULL, 405, "method-not-allowed", NULL, "GET, HEAD, OPTIONS"},
    {"PUT", TABLE, NULL, NULL, 405, "method-not-allowed", NULL, "GET, HEAD, POST, OPTIONS"},
    {"DELETE", "/v1/encodings/rope", NULL, NULL, 405, "method-not-allowed", NULL, NULL},
    {"GET", "/v1/rotation", NULL, NULL, 405, "method-not-allowed", NULL, "POST, OPTIONS"},
    {"HEAD", "/v1/attention", NULL, NULL, 405, NULL, NULL, NULL},
    {"TRACE", "/nowhere", NULL, NULL, 405, "method-not-allowed", NULL, NULL},
    {"CONNECT", "/v1", NULL, NULL, 405, "method-not-allowed", NULL, NULL},
    {"PUT", "/nowhere", NULL, NULL, 404, "not-found", NULL, NULL},
    /* expectations and codings */
    {"GET", "/v1", "Expect: the unexpected", NULL, 417, "expectation-failed", "header:Expect",
     NULL},
    {"GET", "/v1", "Expect: 100-Continue", NULL, 200, NULL, NULL, NULL},
    {"POST", TABLE, "Content-Encoding: gzip", "{}", 415, "unsupported-media-type",
     "header:Content-Encoding", NULL},
    {"POST", TABLE "?dim=4&length=2", "Content-Encoding: identity", "{}", 200, NULL, NULL, NULL},
    /* media types of bodies */
    {"POST", TABLE, "Content-Type: text/csv", "1,2", 415, "unsupported-media-type",
     "header:Content-Type", "--json"},
    {"POST", TABLE, "Content-Type: application/x-www-form-urlencoded", "dim=4&length=2", 415,
     "unsupported-media-type", "header:Content-Type", "--data-binary"},
    {"POST", TABLE, NULL, "{\"dim\":4,\"length\":2}", 200, NULL, NULL, NULL},
    {"POST", TABLE, "Content-Type: application/x-www-form-urlencoded", " {\"dim\":4,\"length\":2}",
     200, NULL, NULL, NULL},
    {"POST", TABLE, "Content-Type: Application/JSON; charset=utf-8", "{\"dim\":4,\"length\":2}",
     200, NULL, NULL, NULL},
    {"GET", TABLE "?dim=4&length=2", "Content-Type: application/json", "not read", 200, NULL, NULL,
     NULL},
    /* formats of answers */
    {"GET", TABLE "?dim=4&length=2", "Accept: text/html", NULL, 406, "not-acceptable",
     "header:Accept", "application/x-npy"},
    {"GET", TABLE "?dim=4&length=2&format=csv", NULL, NULL, 406, "not-acceptable",
     "parameter:format", "format=npy"},
    {"GET", TABLE "?dim=4&length=2&format=npy&format=raw", NULL, NULL, 422,
     "conflicting-parameters", "parameter:format", NULL},
    {"GET", TABLE "?dim=4&length=2&dtype=bf16&format=npy", NULL, NULL, 406, "not-acceptable", NULL,
     "safetensors"},
    /* bindings */
    {"GET", TABLE "?dim=4", NULL, NULL, 422, "missing-parameter", "parameter:length", "quote"},
    {"GET", TABLE "?length=4", NULL, NULL, 422, "missing-parameter", "parameter:dim", NULL},
    {"GET", TABLE "?dim=4&lenght=4", NULL, NULL, 422, "unknown-parameter", "parameter:lenght",
     "did you mean 'length'?"},
    {"GET", TABLE "?dim=4&length=4&zzzzzz=1", NULL, NULL, 422, "unknown-parameter",
     "parameter:zzzzzz", "spacing"},
    {"GET", TABLE "?dim=4&length=4&base=1", NULL, NULL, 422, "out-of-range", "parameter:base",
     NULL},
    {"GET", TABLE "?dim=4&length=4&base=%zz", NULL, NULL, 400, "malformed", NULL, NULL},
    {"GET", TABLE "?dim=4&length=4&dtype=f8", NULL, NULL, 422, "invalid-parameter",
     "parameter:dtype", "bf16"},
    {"GET", TABLE "?dim=4&length=4&dtype=i32", NULL, NULL, 422, "invalid-parameter",
     "parameter:dtype", NULL},
    {"GET", TABLE "?dim=4&dim=6&length=4", NULL, NULL, 422, "conflicting-parameters",
     "parameter:dim", NULL},
    {"GET", TABLE "?dim=4&dim=4&length=4&&", NULL, NULL, 200, NULL, NULL, NULL},
    {"GET", TABLE "?dim=4&length=4&dtype=f32&dtype=f16", NULL, NULL, 422, "conflicting-parameters",
     "parameter:dtype", NULL},
    {"GET", TABLE "?dim=4&length=4&revision=0123", NULL, NULL, 409, "revision-unavailable",
     "parameter:revision", NULL},
    {"POST", TABLE "?dim=4", NULL, "{\"length\":4,\"dim\":6}", 422, "conflicting-parameters",
     "pointer:/dim", NULL},
    {"POST", TABLE "?dim=4", NULL, "{\"length\":4,\"dim\":4}", 200, NULL, NULL, NULL},
    {"POST", TABLE "?dim=4&dtype=f16", NULL, "{\"length\":4,\"dtype\":\"f32\"}", 422,
     "conflicting-parameters", "parameter:dtype", NULL},
    {"POST", TABLE, NULL, "{\"length\":\"4\",\"dim\":4}", 422, "invalid-parameter",
     "pointer:/length", NULL},
    {"POST", TABLE, NULL, "{\"length\":true,\"dim\":4}", 422, "invalid-parameter",
     "pointer:/length", NULL},
    {"POST", TABLE, NULL, "{\"length\":6.4e1,\"dim\":4.0,\"base\":null}", 200, NULL, NULL, NULL},
    {"POST", TABLE, NULL, "{\"dim\":4,\"positions\":[0,1,\"x\"]}", 422, "invalid-parameter",
     "pointer:/positions", NULL},
    {"POST", TABLE, NULL, "{\"dim\":4,\"positions\":\"0,5,7..9\"}", 200, NULL, NULL, NULL},
    {"POST", TABLE, NULL, "{\"dim\":4,\"a/b~\":1}", 422, "unknown-parameter", "pointer:/a~1b~0",
     NULL},
    {"POST", TABLE, NULL, "{\"dim\":4,\"length\":{}}", 422, "invalid-parameter", "pointer:/length",
     NULL},
    {"POST", TABLE, NULL, "{\"dim\":4,\"length\":4,\"flat\":1}", 422, "invalid-parameter",
     "pointer:/flat", NULL},
    {"POST", TABLE, "Content-Type: application/json", "{\"dim\":4", 400, "malformed", NULL, NULL},
    {"POST", TABLE, "Content-Type: application/json", "[4]", 400, "malformed", NULL, NULL},
    /* limits: before any work */
    {"GET", TABLE "?dim=65537&length=1", NULL, NULL, 413, "too-large", "parameter:dim",
     "--dim-max"},
    {"GET", TABLE "?dim=1024&length=1000000000000&format=raw", NULL, NULL, 413, "too-large",
     NULL, "--output-max"},
    {"GET", TABLE "?dim=1024&length=9007199254740991&format=raw", NULL, NULL, 413, "too-large",
     NULL, NULL},
    {"GET", TABLE "?dim=1024&length=2000", NULL, NULL, 413, "too-large", NULL,
     "--json-elements-max"},
    {"GET", "/v1/encodings/alibi/bias?heads=1&query_length=1&key_length=200000000&format=raw", NULL,
     NULL, 413, "too-large", NULL, "64 MiB"},
};

static void row_check(struct api *api, const struct row *row)
{
    struct answer answer = call(api, row->method, row->target, row->headers, row->body);
    char place[200] = "";
    const char *kind, *detail;
    json_t *error, *value;

    cases++;
    ck_assert_msg(answer.status == row->status, "%s %s: %d, not %d: %.300s", row->method,
                  row->target, answer.status, row->status, (char *)answer.body);
    ck_assert_ptr_nonnull(answer_header(&answer, "X-Request-Id"));
    ck_assert_ptr_nonnull(answer_header(&answer, "Access-Control-Allow-Origin"));
    ck_assert_ptr_nonnull(answer_header(&answer, "Vary"));
    if (row->code) {
        ck_assert_str_eq(answer_header(&answer, "Content-Type"), "application/problem+json");
        ck_assert_str_eq(answer_header(&answer, "Cache-Control"), "no-store");
        ck_assert_str_eq(member_text(&answer, "code"), row->code);
        ck_assert_int_eq(json_integer_value(member(&answer, "status")), row->status);
        ck_assert_str_eq(member_text(&answer, "request_id"),
                         answer_header(&answer, "X-Request-Id"));
        ck_assert_msg(strncmp(member_text(&answer, "type"), "/problems/", 10) == 0 &&
                          strcmp(member_text(&answer, "type") + 10, row->code) == 0,
                      "%s", member_text(&answer, "type"));
        detail = member_text(&answer, "detail");
        ck_assert_msg(!row->says || strstr(detail, row->says), "%s: '%s' does not say '%s'",
                      row->target, detail, row->says);
    }
    error = member(&answer, "errors.0");
    json_object_foreach(error, kind, value) if (strcmp(kind, "detail") != 0)
        snprintf(place, sizeof(place), "%s:%s", kind, json_string_value(value));
    ck_assert_msg(!row->place || strcmp(place, row->place) == 0, "%s: %s, not %s", row->target,
                  place, row->place);
    if (answer.status == 405)
        ck_assert_ptr_nonnull(answer_header(&answer, "Allow"));
    if (answer.status == 415)
        ck_assert_ptr_nonnull(answer_header(&answer, "Accept-Post"));
    answer_free(&answer);
}

START_TEST(test_rows)
{
    struct api *api = api_make(NULL);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        row_check(api, &rows[i]);
    printf("%lu requests judged\n", cases);
    api_free(api);
}
END_TEST

START_TEST(test_negotiation)
{
    static const struct {
        const char *accept, *query, *type;
    } table[] = {
        {NULL, "", "application/json"},
        {"*/*", "", "application/json"},
        {"", "", "application/json"},
        {"application/x-npy", "", "application/x-npy"},
        {"APPLICATION/X-NPY", "", "application/x-npy"},
        {"application/json;q=0.5, application/x-npy", "", "application/x-npy"},
        {"application/*;q=0.5, application/octet-stream", "", "application/octet-stream"},
        {"text/html, */*;q=0.1", "", "application/json"},
        {"application/json;q=0, */*", "", "application/x-npy"},
        {"application/json;q=0.2,application/x-safetensors;level=1;q=0.201", "",
         "application/x-safetensors"},
        {"application/*", "", "application/json"},
        {"application/x-npy", "&format=raw", "application/octet-stream"},
        {"text/html", "&format=safetensors", "application/x-safetensors"},
        {"application/json;q=0, application/*;q=0", "", NULL},
        {"application/json;q=0", "", NULL},
        {"application/js", "", NULL},
    };
    struct api *api = api_make(NULL);
    size_t i;

    for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char target[200], header[200];
        snprintf(target, sizeof(target), TABLE "?dim=4&length=2%s", table[i].query);
        snprintf(header, sizeof(header), "Accept: %s", table[i].accept ? table[i].accept : "");
        struct answer answer = call(api, "GET", target, table[i].accept ? header : NULL, NULL);
        if (!table[i].type)
            ck_assert_int_eq(answer.status, 406);
        else
            ck_assert_msg(strcmp(answer_header(&answer, "Content-Type"), table[i].type) == 0,
                          "%s%s: %s", table[i].accept, table[i].query,
                          answer_header(&answer, "Content-Type"));
        answer_free(&answer);
    }
    printf("%zu Accept fields\n", i);
    api_free(api);
}
END_TEST

START_TEST(test_preflight)
{
    struct api *api = api_make(NULL);
    struct answer answer =
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
    answer_free(&answer);
    api_free(api);
}
END_TEST

START_TEST(test_origins)
{
    struct api_settings settings = settings_make();
    settings.cors_origin = "https://a.example,https://b.example";
    struct api *api = api_make(&settings);
    struct answer answer = call(api, "GET", "/v1", "Origin: https://b.example", NULL);

    ck_assert_str_eq(answer_header(&answer, "Access-Control-Allow-Origin"), "https://b.example");
    ck_assert_ptr_nonnull(strstr(answer_header(&answer, "Vary"), "Origin"));
    answer_free(&answer);
    answer = call(api, "GET", "/v1", "Origin: https://c.example", NULL);
    ck_assert_ptr_null(answer_header(&answer, "Access-Control-Allow-Origin"));
    answer_free(&answer);
    api_free(api);
}
END_TEST

START_TEST(test_hosts)
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
    struct api *api = api_make(&settings);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char header[100];
        snprintf(header, sizeof(header), "Host: %s", table[i].host);
        struct answer answer = call(api, "GET", "/livez", header, NULL);
        ck_assert_msg(answer.status == table[i].status, "%s: %d", table[i].host, answer.status);
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

START_TEST(test_base_path)
{
    struct api_settings settings = settings_make();
    settings.base_path = "/pos/enc";
    struct api *api = api_make(&settings);
    static const struct {
        const char *path;
        int status;
    } table[] = {{"/pos/enc", 200},   {"/pos/enc/", 200}, {"/pos/enc/v1", 200}, {"/v1", 404},
                 {"/pos/encv1", 404}, {"/pos", 404},      {"/pos/enc//v1", 404}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct answer answer = call(api, "GET", table[i].path, NULL, NULL);
        ck_assert_msg(answer.status == table[i].status, "%s: %d", table[i].path, answer.status);
        if (answer.status == 404)
            ck_assert_str_eq(member_text(&answer, "type"), "/pos/enc/problems/not-found");
        else
            ck_assert_str_eq(member_text(&answer, "links.encodings"), "/pos/enc/v1/encodings");
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

/* Refusals before the upload, and those for bytes that should not have come. */
START_TEST(test_intake)
{
    struct api *api = api_make(NULL);
    struct api_field json[] = {{"content-type", "application/json"}};
    struct api_head head = {.method = "POST",
                            .path = TABLE,
                            .fields = json,
                            .fields_count = 1,
                            .content_length = (1 << 16) + 1};
    struct api_intake *intake = NULL;
    struct api_response *response = api_begin(api, &head, &intake);
    char *bytes = calloc(1, 1 << 21);

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

    head.content_length = 10; /* more than it said */
    ck_assert_ptr_null(api_begin(api, &head, &intake));
    response = api_feed(intake, bytes, 11);
    ck_assert_int_eq(response->status, 400);
    api_response_free(response);
    api_intake_free(intake);

    ck_assert_ptr_null(api_begin(api, &head, &intake)); /* less */
    ck_assert_ptr_null(api_feed(intake, bytes, 9));
    ck_assert_int_eq(api_intake_cost(intake), API_POOLED);
    response = api_finish(intake);
    ck_assert_int_eq(response->status, 400);
    api_response_free(response);

    head.path = "/nowhere"; /* without a body the connection stays open */
    head.content_length = 0;
    ck_assert_ptr_null(api_begin(api, &head, &intake));
    ck_assert_int_eq(api_intake_cost(intake), API_INLINE);
    response = api_finish(intake);
    ck_assert_int_eq(response->status, 404);
    ck_assert(!response->close);
    api_response_free(response);
    free(bytes);
    api_free(api);
}
END_TEST

/* JSON one byte at a time without a length gives what it gives at once. */
START_TEST(test_bytes_one_by_one)
{
    static const char body[] = "{\"dim\":6,\"positions\":[0,1.5,-3],\"dtype\":\"f64\"}";
    struct api *api = api_make(NULL);
    struct answer whole = call(api, "POST", TABLE "?format=raw", NULL, body);
    struct api_head head = {.method = "POST",
                            .path = TABLE,
                            .query = "format=raw",
                            .content_length = API_LENGTH_UNKNOWN};
    struct api_intake *intake = NULL;
    struct answer pieces = {0};

    ck_assert_ptr_null(api_begin(api, &head, &intake));
    for (size_t i = 0; i < strlen(body); i++)
        ck_assert_ptr_null(api_feed(intake, body + i, 1));
    pieces.response = api_finish(intake);
    ck_assert_int_eq(pieces.response->status, 200);
    body_read(&pieces);
    ck_assert_uint_eq(whole.size, 3 * 6 * 8);
    ck_assert_uint_eq(pieces.size, whole.size);
    ck_assert_mem_eq(pieces.body, whole.body, whole.size);
    answer_free(&whole);
    answer_free(&pieces);
    api_free(api);
}
END_TEST

START_TEST(test_request_ids)
{
    struct api *api = api_make(NULL);
    struct answer a = call(api, "GET", "/livez", "X-Request-Id: abc-1.2_3", NULL);
    struct answer b = call(api, "GET", "/livez", "X-Request-Id: a b", NULL);
    struct answer c = call(api, "GET", "/livez", NULL, NULL);

    ck_assert_str_eq(answer_header(&a, "X-Request-Id"), "abc-1.2_3");
    ck_assert_str_ne(answer_header(&b, "X-Request-Id"), "a b");
    ck_assert_uint_eq(strlen(answer_header(&c, "X-Request-Id")), 16);
    ck_assert_str_ne(answer_header(&b, "X-Request-Id"), answer_header(&c, "X-Request-Id"));
    answer_free(&a);
    answer_free(&b);
    answer_free(&c);
    api_free(api);
}
END_TEST

static bool never_ready(void *context)
{
    (void)context;
    return false;
}

static void one_metric(void *context, void (*append)(void *sink, const char *text), void *sink)
{
    append(sink, context);
}

START_TEST(test_host_callbacks)
{
    struct api_settings settings = settings_make();
    settings.host = (struct api_host){"the_metric 1\n", never_ready, one_metric};
    settings.flags_json = "{\"port\":8080}";
    struct api *api = api_make(&settings);
    struct answer answer = call(api, "GET", "/readyz", NULL, NULL);

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
    answer_free(&answer);
    api_free(api);
}
END_TEST

/* A refusal in the server's own words. */
START_TEST(test_refuse)
{
    struct api *api = api_make(NULL);
    struct pe_error err = {0};
    struct api_response *response;

    pe_fail(&err, PE_NOT_IMPLEMENTED, "header:Transfer-Encoding", "no such coding: '\xff'");
    response = api_refuse(api, NULL, &err);
    ck_assert_int_eq(response->status, 501);
    ck_assert(response->close);
    ck_assert_ptr_nonnull(strstr((char *)response->body.bytes, "no such coding: '?'"));
    api_response_free(response);
    api_free(api);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service");
    TCase *tests = tcase_create("service");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_rows);
    tcase_add_test(tests, test_negotiation);
    tcase_add_test(tests, test_preflight);
    tcase_add_test(tests, test_origins);
    tcase_add_test(tests, test_hosts);
    tcase_add_test(tests, test_base_path);
    tcase_add_test(tests, test_intake);
    tcase_add_test(tests, test_bytes_one_by_one);
    tcase_add_test(tests, test_request_ids);
    tcase_add_test(tests, test_host_callbacks);
    tcase_add_test(tests, test_refuse);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
