/* SPDX-License-Identifier: MIT */

/* A cached answer equals a computed one, with any other properties of the request. */

#include "tests/api/harness.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/rope/table?dim=6&length=5&base=321"

static const char *const targets[] = {
    TABLE,
    TABLE "&format=npy",
    TABLE "&format=json&dtype=f64",
    "/v1/encodings/alibi/bias?heads=3&query_length=3&key_length=5&format=raw",
    "/v1/encodings/rope/frequencies?dim=6&format=csv",
    "/v1/encodings/rope/table?dim=6&length=5&base=321&typo=1",
};

/* A request without its target: a method, fields, a body. */
static const struct variant {
    const char *method, *headers, *body;
} variants[] = {
    {"GET", NULL, NULL},
    {"HEAD", NULL, NULL},
    {"GET", NULL, "x"},
    {"GET", "Content-Type: application/json", "{'length':3}"},
    {"GET", "Content-Type: application/json", "{}"},
    {"HEAD", NULL, "x"},
    {"POST", NULL, NULL},
    {"GET", "Expect: 100-continue", NULL},
    {"GET", "Expect: anything", NULL},
    {"GET", "Content-Encoding: gzip", NULL},
    {"GET", "Content-Encoding: something", NULL},
    {"GET", "If-None-Match: *", NULL},
    {"GET", "If-None-Match: \"other\"", NULL},
    {"GET", "If-Match: \"other\"", NULL},
    {"GET", "If-Match: *", NULL},
    {"GET", "Range: bytes=3-17", NULL},
    {"GET", "Range: bytes=-5", NULL},
    {"GET", "Range: bytes=900000-", NULL},
    {"GET", "Range: bytes=3-17\nIf-Range: \"other\"", NULL},
    {"HEAD", "Range: bytes=3-17", NULL},
    {"GET", "Accept: application/x-npy", NULL},
    {"GET", "Accept: text/csv", NULL},
    {"GET", "Accept: image/jpeg", NULL},
    {"GET", "Accept-Encoding: gzip", NULL},
    {"GET", "Accept-Encoding: identity;q=0", NULL},
    {"GET", "Accept-Encoding: gzip, identity;q=0", NULL},
    {"GET", "Origin: http://example.org", NULL},
};

/* Headers that are made for each answer, or depend on how it was made. */
static bool is_own(const char *name)
{
    return strcasecmp(name, "Server-Timing") == 0 || strcasecmp(name, "X-Request-Id") == 0 ||
           strcasecmp(name, "Date") == 0;
}

static void headers_compare(const struct answer *got, const struct answer *want, const char *label)
{
    const struct api_response *response = want->response;

    for (size_t i = 0; i < response->headers_count; i++) {
        const char *name = response->headers[i].name, *value = answer_header(got, name);
        if (!is_own(name))
            ck_assert_msg(value && strcmp(value, response->headers[i].value) == 0,
                          "%s: %s: %s cached, %s computed", label, name, value ? value : "none",
                          response->headers[i].value);
    }
}

static struct api *api_with_cache(void)
{
    struct api_settings settings = settings_make();

    settings.limits.cache_max = 1 << 20;
    settings.limits.memory_budget = 64 << 20;
    return api_make(&settings);
}

/* A problem has the id of its request. */
static void bodies_compare(const struct answer *got, const struct answer *want, const char *label)
{
    if (want->status >= 400 && want->json) {
        json_object_del(got->json, "request_id");
        json_object_del(want->json, "request_id");
        ck_assert_msg(json_equal(got->json, want->json), "%s: another problem", label);
        return;
    }
    ck_assert_msg(got->size == want->size && memcmp(got->body, want->body, want->size) == 0,
                  "%s: other bytes", label);
}

/* What metrics count of an answer. A cached answer of a view has no new elements. */
static void counts_compare(const struct answer *got, const struct answer *want, const char *label)
{
    const struct api_response *a = got->response, *b = want->response;

    ck_assert_msg(strcmp(a->route, b->route) == 0, "%s: route %s, computed %s", label, a->route,
                  b->route);
    ck_assert_msg(strcmp(a->operation, b->operation) == 0 &&
                      strcmp(a->encoding, b->encoding) == 0 && a->dtype == b->dtype,
                  "%s: counted as %s of %s in dtype %d, computed as %s of %s in %d", label,
                  a->operation, a->encoding, a->dtype, b->operation, b->encoding, b->dtype);
}

/* The answer of a service whose cache is empty, or has the plain answer. */
static struct answer answer_of(struct api *api, const char *target, const struct variant *variant,
                               bool cached)
{
    for (int i = 0; i < 2 && cached; i++) {
        OWNED_ANSWER plain = call(api, "GET", target, NULL, NULL);
        ck_assert_int_eq(plain.status, strstr(target, "typo") ? 422 : 200);
        const char *timing = answer_header(&plain, "Server-Timing");
        if (i == 1 && plain.status == 200)
            ck_assert_msg(timing && strstr(timing, "cache;desc=hit"), "%s is not cached", target);
    }
    return call(api, variant->method, target, variant->headers, variant->body);
}

TEST(cached_and_computed)
{
    for (size_t i = 0; i < COUNT_OF(targets) * COUNT_OF(variants); i++) {
        const char *target = targets[i / COUNT_OF(variants)];
        const struct variant *variant = &variants[i % COUNT_OF(variants)];
        char label[300];
        OWNED_API cold = api_with_cache();
        OWNED_API warm = api_with_cache();
        OWNED_ANSWER want = answer_of(cold, target, variant, false);
        OWNED_ANSWER got = answer_of(warm, target, variant, true);

        snprintf(label, sizeof(label), "%s %s, %s, %s", variant->method, target,
                 variant->headers ? variant->headers : "no fields",
                 variant->body ? variant->body : "no body");
        ck_assert_msg(got.status == want.status, "%s: %d cached, %d computed", label, got.status,
                      want.status);
        headers_compare(&got, &want, label);
        bodies_compare(&got, &want, label);
        if (want.status == 200)
            counts_compare(&got, &want, label);
    }
}

/* Rotations whose heads equal earlier ones: of every dtype, each head after another that differs
 * from it in one field, and sent three times. */
TEST(repeated_heads)
{
    static const char *const targets_of_heads[] = {
        "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=3",
        "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=3&download=true",
    };
    static const char *const fields[] = {
        "",
        "Accept: application/octet-stream",
        "Accept: application/x-npy",
        "Accept: image/jpeg",
        "Accept-Encoding: gzip",
        "Accept-Encoding: identity;q=0",
        "Accept-Encoding: gzip\nAccept-Encoding: identity;q=0",
        "Accept: text/csv\nAccept: application/x-safetensors",
        "Expect: anything",
        "Content-Encoding: something",
        "Range: bytes=0-3",
        "If-None-Match: *",
        "Origin: http://example.org",
    };
    static const char *const dtypes[] = {"f64", "f32", "f16", "bf16"};
    static const size_t sizes[] = {8, 4, 2, 2};
    const unsigned char zeros[2 * 3 * 4 * 8] = {0};

    for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
        OWNED_API warm = api_with_cache();
        for (size_t i = 0; i < COUNT_OF(targets_of_heads) * COUNT_OF(fields); i++) {
            const char *target = targets_of_heads[i / COUNT_OF(fields)];
            const char *field = fields[i % COUNT_OF(fields)];
            OWNED_API cold = api_with_cache();
            char headers[300], label[300];

            snprintf(headers, sizeof(headers),
                     "Content-Type: application/octet-stream\nTensor-Dtype: %s\n"
                     "Tensor-Shape: 1,2,3,4%s%s",
                     dtypes[dtype], *field ? "\n" : "", field);
            OWNED_ANSWER want = call_bytes(cold, "POST", target, headers, zeros, 24 * sizes[dtype]);
            for (int times = 0; times < 3; times++) {
                OWNED_ANSWER got =
                    call_bytes(warm, "POST", target, headers, zeros, 24 * sizes[dtype]);
                snprintf(label, sizeof(label), "%s of %s, %s, time %d", target, dtypes[dtype],
                         field, times);
                ck_assert_msg(got.status == want.status, "%s: %d, computed %d", label, got.status,
                              want.status);
                headers_compare(&got, &want, label);
                bodies_compare(&got, &want, label);
                counts_compare(&got, &want, label);
                ck_assert_msg(got.response->elements == want.response->elements, "%s: elements",
                              label);
            }
        }
    }
}

/* Answers of requests that differ in one relevant part are cached separately. */
TEST(parts_of_the_key)
{
    static const struct {
        const char *target, *headers;
    } parts[] = {
        {TABLE, NULL},
        {TABLE "&dtype=f64", NULL},
        {"/v1/encodings/rope/frequencies?dim=6&base=321", NULL},
        {"/v1/encodings/xpos/table?dim=6&length=5&base=321&t_center=0", NULL},
        {TABLE "&start=1", NULL},
        {TABLE, "Accept: application/x-npy"},
        {TABLE, "Accept: text/csv"},
        {TABLE, "Accept-Encoding: gzip"},
    };
    OWNED_API api = api_with_cache();

    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < COUNT_OF(parts); i++) {
            OWNED_API cold = api_with_cache();
            OWNED_ANSWER want = call(cold, "GET", parts[i].target, parts[i].headers, NULL);
            OWNED_ANSWER got = call(api, "GET", parts[i].target, parts[i].headers, NULL);
            ck_assert_int_eq(got.status, want.status);
            bodies_compare(&got, &want, parts[i].target);
        }
}
