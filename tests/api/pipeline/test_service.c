/* SPDX-License-Identifier: MIT */

/* Routes, methods, negotiation, limits and problem documents: requests with their answers. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

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
    {"GET", "/v1/encodings/zzz\"\n/table", NULL, NULL, 404, "not-found", NULL, "sinusoidal"},
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
    {"DELETE", "/v1/rotation", NULL, NULL, 405, "method-not-allowed", NULL, NULL},
    {"DELETE", "/v1/encodings/rope", NULL, NULL, 403, "writes-disabled", NULL, NULL},
    {"GET", "/v1/rotation", NULL, NULL, 405, "method-not-allowed", NULL, "POST, OPTIONS"},
    {"HEAD", "/v1/attention", NULL, NULL, 405, NULL, NULL, NULL},
    {"TRACE", "/nowhere", NULL, NULL, 405, "method-not-allowed", NULL, NULL},
    {"CONNECT", "/v1", NULL, NULL, 405, "method-not-allowed", NULL, NULL},
    {"PUT", "/nowhere", NULL, NULL, 404, "not-found", NULL, NULL},
    /* expectations and codings */
    {"GET", "/v1", "Expect: the unexpected", NULL, 417, "expectation-failed", "header:Expect",
     NULL},
    {"GET", "/v1", "Expect: 100-Continue", NULL, 200, NULL, NULL, NULL},
    {"POST", TABLE, "Content-Encoding: compress", "{}", 415, "unsupported-media-type",
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
    {"GET", TABLE "?dim=4&length=2&format=xml", NULL, NULL, 406, "not-acceptable",
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
    {"GET", "/v1/encodings/fourier/table?bands=2&length=4", NULL, NULL, 422, "unknown-parameter",
     "parameter:length", "shape=16"},
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
    {"GET", TABLE "?dim=1024&length=1000000000000&format=raw", NULL, NULL, 413, "too-large", NULL,
     "--output-max"},
    {"GET", TABLE "?dim=1024&length=9007199254740991&format=raw", NULL, NULL, 413, "too-large",
     NULL, NULL},
    {"GET", TABLE "?dim=1024&length=2000", NULL, NULL, 413, "too-large", NULL,
     "--json-elements-max"},
    {"GET", "/v1/encodings/alibi/bias?heads=1&query_length=1&key_length=200000000&format=raw", NULL,
     NULL, 413, "too-large", NULL, "64 MiB"},
};

static void row_check(struct api *api, const struct row *row)
{
    OWNED_ANSWER answer = call(api, row->method, row->target, row->headers, row->body);
    char place[200] = "";
    const char *kind, *detail;
    json_t *error, *value;

    cases++;
    ck_assert_msg(answer.status == row->status, "%s %s: %d, not %d: %.300s", row->method,
                  row->target, answer.status, row->status, (char *)answer.body);
    ck_assert_ptr_nonnull(answer_header(&answer, "X-Request-Id"));
    ck_assert_ptr_nonnull(answer_header(&answer, "Access-Control-Allow-Origin"));
    if (!strstr(row->target, "livez") && !strstr(row->target, "readyz"))
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
    json_object_foreach(error, kind,
                        value) if (strcmp(kind, "detail") != 0 && strcmp(kind, "code") != 0)
        snprintf(place, sizeof(place), "%s:%s", kind, json_string_value(value));
    ck_assert_msg(!row->place || strcmp(place, row->place) == 0, "%s: %s, not %s", row->target,
                  place, row->place);
    if (answer.status == 405)
        ck_assert_ptr_nonnull(answer_header(&answer, "Allow"));
    if (answer.status == 415)
        ck_assert_ptr_nonnull(answer_header(
            &answer, strstr(place, "Content-Encoding") ? "Accept-Encoding" : "Accept-Post"));
}

TEST(test_rows)
{
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        row_check(api, &rows[i]);
    printf("%lu requests judged\n", cases);
}

/* Unread answers are counted in the budget, cached or not. */
TEST_LOOP(2, test_answers_on_their_way_are_counted)
{
    struct api_settings settings = settings_make();
    struct api_response *responses[16];
    char query[64];

    settings.limits.memory_budget = 31 << 20; /* between two whole numbers of answers */
    settings.limits.cache_max = _i ? 6 << 20 : 0;
    OWNED_API api = api_make(&settings);
    for (int i = 0; i < 16; i++) {
        struct api_head head = {
            .method = "GET", .path = "/v1/encodings/sinusoidal/table", .query = query};
        struct api_state state;
        uint64_t on_their_way = 0;
        snprintf(query, sizeof(query), "dim=512&length=%d&format=npy", 2000 + i);
        responses[i] = api_handle(api, &head, NULL, 0);
        ck_assert_int_eq(responses[i]->status, 200);
        for (size_t block = 0; responses[i]->body.buffer && block < responses[i]->body.blocks;
             block++)
            responses[i]->body.fill(responses[i], block, NULL);
        api_response_made(responses[i]);
        for (int j = 0; j <= i; j++)
            on_their_way += responses[j]->body.kind == API_BYTES ? responses[j]->body.size : 0;
        state = api_state_read(api);
        ck_assert_uint_ge(state.memory_held + state.cache_size, on_their_way);
        ck_assert_uint_le(on_their_way, settings.limits.memory_budget);
    }
    for (int i = 0; i < 16; i++)
        api_response_free(responses[i]);
    ck_assert_uint_eq(api_state_read(api).memory_held, 0);
}

/* Frequencies of the same parameters are made once, and do not change the answer. */
TEST(test_frequencies_are_kept)
{
    struct api_settings settings = settings_make();
    char target[128];

    settings.limits.cache_max = 0;
    OWNED_API other = api_make(&settings);
    settings.limits.cache_max = 1 << 20;
    OWNED_API api = api_make(&settings);
    for (uint64_t start = 0; start < 3; start++) {
        snprintf(target, sizeof(target),
                 "/v1/encodings/rope/table?dim=64&length=3&start=%d&format=json", (int)start);
        OWNED_ANSWER answer = call(api, "GET", target, NULL, NULL);
        OWNED_ANSWER fresh = call(other, "GET", target, NULL, NULL);
        ck_assert_int_eq(answer.status, 200);
        ck_assert_uint_eq(answer.size, fresh.size);
        ck_assert_mem_eq(answer.body, fresh.body, fresh.size);
        ck_assert_uint_eq(api_state_read(api).cache_hits, start);
    }
    ck_assert_uint_eq(api_state_read(other).cache_hits, 0);
}

/* Of two rotations with equal heads the second parses no parameter, and rotates its own numbers. */
TEST(test_a_head_that_came_before)
{
    static const char target[] =
        "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=%d&format=raw";
    static const char fields[] = "Content-Type: application/octet-stream\nTensor-Dtype: f32\n"
                                 "Tensor-Shape: 1,1,2,4";
    struct api_settings settings = settings_make();
    char path[96], body[32];

    settings.limits.cache_max = 0;
    OWNED_API other = api_make(&settings);
    settings.limits.cache_max = 1 << 20;
    OWNED_API api = api_make(&settings);
    for (int i = 0; i < 6; i++) {
        const uint64_t hits = api_state_read(api).cache_hits;
        snprintf(path, sizeof(path), target, i % 2);
        for (size_t j = 0; j < sizeof(body); j++)
            body[j] = (char)(j % 4 == 3 ? '?' : 'a' + (char)i + (char)j);
        OWNED_ANSWER answer = call_bytes(api, "POST", path, fields, body, sizeof(body));
        OWNED_ANSWER fresh = call_bytes(other, "POST", path, fields, body, sizeof(body));
        ck_assert_int_eq(answer.status, 200);
        ck_assert_uint_eq(answer.size, sizeof(body));
        ck_assert_mem_eq(answer.body, fresh.body, sizeof(body));
        ck_assert_str_eq(answer_header(&answer, "Encoding-Parameters"),
                         answer_header(&fresh, "Encoding-Parameters"));
        ck_assert_uint_eq(api_state_read(api).cache_hits - hits, i < 2 ? 0 : 2);
    }
}

/* A cached answer does not change what is refused. */
TEST(test_kept_answers_are_refused_alike)
{
    static const char target[] = "/v1/encodings/sinusoidal/table?dim=4&length=4";
    static const struct {
        const char *fields;
        int status;
    } tries[] = {{"", 200},
                 {"Expect: tea", 417},
                 {"Content-Encoding: br", 415},
                 {"Host: elsewhere", 403},
                 {"Accept: image/webp", 406},
                 {"", 200}};
    struct api_settings settings = settings_make();

    settings.limits.cache_max = 1 << 20;
    settings.allowed_hosts = "here";
    OWNED_API api = api_make(&settings);
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        OWNED_ANSWER answer = call(api, "GET", target, tries[i].fields, NULL);
        ck_assert_msg(answer.status == tries[i].status, "%s: %d, %s", tries[i].fields,
                      answer.status, (char *)answer.body);
    }
    ck_assert_uint_gt(api_state_read(api).cache_hits, 0);
}

TEST(test_negotiation)
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
    OWNED_API api = api_make(NULL);
    size_t i;

    for (i = 0; i < COUNT_OF(table); i++) {
        char target[200], header[200];
        snprintf(target, sizeof(target), TABLE "?dim=4&length=2%s", table[i].query);
        snprintf(header, sizeof(header), "Accept: %s", table[i].accept ? table[i].accept : "");
        OWNED_ANSWER answer = call(api, "GET", target, table[i].accept ? header : NULL, NULL);
        if (!table[i].type)
            ck_assert_int_eq(answer.status, 406);
        else
            ck_assert_msg(strcmp(answer_header(&answer, "Content-Type"), table[i].type) == 0,
                          "%s%s: %s", table[i].accept, table[i].query,
                          answer_header(&answer, "Content-Type"));
    }
    printf("%zu Accept fields\n", i);
}
