/* SPDX-License-Identifier: MIT */

/* Views: formats against each other and against their own definitions, caching, HEAD, the
 * catalogue. */

#include <pthread.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/sinusoidal/table"
#define ROPE  "/v1/encodings/rope/table"

static char *etag_of(struct api *api, const char *target, const char *headers)
{
    struct answer answer = call(api, "GET", target, headers, NULL);
    char *etag;

    ck_assert_msg(answer.status == 200, "%s: %.200s", target, (char *)answer.body);
    ck_assert_ptr_nonnull(answer_header(&answer, "ETag"));
    etag = strdup(answer_header(&answer, "ETag"));
    answer_free(&answer);
    return etag;
}

TEST(test_etags)
{
    static const struct {
        const char *target, *headers;
    } others[] = {
        {ROPE "?dim=8&length=5", NULL},
        {ROPE "?dim=8&length=4&base=9999", NULL},
        {ROPE "?dim=8&length=4&start=1", NULL},
        {ROPE "?dim=8&length=4&dtype=f16", NULL},
        {ROPE "?dim=8&length=4&part=cos", NULL},
        {ROPE "?dim=8&length=4&flat=true", NULL},
        {ROPE "?dim=8&length=4&format=npy", NULL},
        {ROPE "?dim=8&length=4", "Accept: application/octet-stream"},
        {ROPE "?dim=8&positions=0,1,2,3", NULL},
        {ROPE "?dim=8&positions=0,1,2,4", NULL},
        {TABLE "?dim=8&length=4", NULL},
    };
    enum { OTHERS = COUNT_OF(others) };
    OWNED_API api = api_make(NULL);
    char *etags[OTHERS + 1];

    etags[OTHERS] = etag_of(api, ROPE "?dim=8&length=4", NULL);
    ck_assert_int_eq(etags[OTHERS][0], '"');
    for (size_t i = 0; i < OTHERS; i++)
        etags[i] = etag_of(api, others[i].target, others[i].headers);
    for (size_t i = 0; i <= OTHERS; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(etags[i], etags[j]);
    /* What is spelled otherwise and means the same has the same tag. */
    char *same = etag_of(
        api, ROPE "?rope_theta=1e4&length=4&head_dim=8.0&dtype=float32&step=1&format=json", NULL);
    ck_assert_str_eq(same, etags[OTHERS]);
    free(same);
    for (size_t i = 0; i <= OTHERS; i++)
        free(etags[i]);
}

TEST(test_not_modified)
{
    static const char target[] = ROPE "?dim=8&length=4&format=npy";
    OWNED_API api = api_make(NULL);
    OWNED_MEMORY char *etag = etag_of(api, target, NULL);
    const struct {
        const char *before, *after;
        int status;
    } table[] = {{"", "", 304},           {"W/", "", 304},
                 {"\"x\", ", "", 304},    {"W/\"x\",W/", ", \"y\"", 304},
                 {"\"a,b\" , ", "", 304}, {"x", "", 200}};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char header[200];
        snprintf(header, sizeof(header), "If-None-Match: %s%s%s", table[i].before, etag,
                 table[i].after);
        OWNED_ANSWER answer = call(api, "GET", target, header, NULL);
        ck_assert_msg(answer.status == table[i].status, "%s: %d", header, answer.status);
        ck_assert_str_eq(answer_header(&answer, "ETag"), etag);
        if (answer.status == 304) {
            ck_assert(answer.response->head_only);
            ck_assert_ptr_nonnull(answer_header(&answer, "Cache-Control"));
        }
    }
    OWNED_ANSWER answer = call(api, "GET", target, "If-None-Match: *", NULL);
    ck_assert_int_eq(answer.status, 304);
    answer_free(&answer);
    answer = call(api, "GET", ROPE "?dim=7&length=4", "If-None-Match: *", NULL);
    ck_assert_int_eq(answer.status, 422); /* what is wrong is never fresh */
}

TEST(test_revision)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER about = call(api, "GET", "/v1", NULL, NULL);
    char target[200];

    snprintf(target, sizeof(target), ROPE "?dim=8&length=4&revision=%s",
             member_text(&about, "revision"));
    OWNED_ANSWER answer = call(api, "GET", target, NULL, NULL);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer_header(&answer, "Cache-Control"),
                     "public, max-age=31536000, immutable");
    answer_free(&answer);
    answer = call(api, "GET", ROPE "?dim=8&length=4", NULL, NULL);
    ck_assert_str_eq(answer_header(&answer, "Cache-Control"), "public, max-age=3600");
    answer_free(&answer);
    answer = call(api, "POST", ROPE "?dim=8&length=4", NULL, NULL);
    ck_assert_str_eq(answer_header(&answer, "Cache-Control"), "no-store");
    ck_assert_ptr_null(answer_header(&answer, "ETag"));
}

/* HEAD has the headers of GET but the time it took. */
TEST(test_head)
{
    static const char *const targets[] = {
        TABLE "?dim=64&length=100&format=npy",
        ROPE "?dim=64&length=1000&rope_type=yarn&factor=4&original_max_position_embeddings=64"
             "&format=safetensors",
        ROPE "?dim=64&length=10&download=true",
        "/v1/encodings/alibi/bias?heads=3&query_length=400&key_length=999&format=raw",
        "/v1/encodings",
        "/v1/encodings/rope",
    };
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        OWNED_ANSWER get = call(api, "GET", targets[i], "X-Request-Id: 1", NULL);
        OWNED_ANSWER head = call(api, "HEAD", targets[i], "X-Request-Id: 1", NULL);
        ck_assert_int_eq(head.status, 200);
        ck_assert(head.response->head_only);
        if (head.response->body.size != API_SIZE_UNKNOWN) /* text: known once it is made */
            ck_assert_uint_eq(head.response->body.size, get.response->body.size);
        ck_assert_uint_eq(head.response->headers_count, get.response->headers_count);
        for (size_t j = 0; j < get.response->headers_count; j++) {
            const struct api_field *field = &get.response->headers[j];
            ck_assert_ptr_nonnull(answer_header(&head, field->name));
            if (strcmp(field->name, "Server-Timing") != 0)
                ck_assert_str_eq(answer_header(&head, field->name), field->value);
        }
    }
}

/* Everything that the core declares is in the catalogue, and its examples work. */
TEST(test_catalogue)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(api, "GET", "/v1/encodings", NULL, NULL);
    json_t *entries = member(&answer, "encodings"), *entry, *item;
    size_t encodings = 0, parameters = 0, i, j;

    while (pe_encoding_at(encodings))
        encodings++;
    ck_assert_uint_eq(json_array_size(entries), encodings);
    json_array_foreach(entries, i, entry)
    {
        const struct pe_encoding_info *info = pe_encoding_info(pe_encoding_at(i));
        json_t *properties = json_object_get(json_object_get(entry, "parameters"), "properties");
        ck_assert_str_eq(json_string_value(json_object_get(entry, "name")), info->name);
        ck_assert_uint_eq(json_object_size(properties), info->params_count);
        for (j = 0; j < info->params_count; j++, parameters++) {
            json_t *schema = json_object_get(properties, info->params[j].name);
            ck_assert_ptr_nonnull(json_object_get(schema, "type"));
            ck_assert_ptr_nonnull(json_object_get(schema, "description"));
            ck_assert_int_eq(json_object_get(schema, "default") != NULL,
                             info->params[j].fallback != NULL);
        }
        json_array_foreach(json_object_get(entry, "operations"), j, item)
        {
            properties = json_object_get(json_object_get(item, "parameters"), "properties");
            const struct pe_view_type *view = pe_encoding_view_at(pe_encoding_at(i), j);
            ck_assert_uint_ge(json_object_size(properties), 6 + pe_view_info(view)->params_count);
        }
        json_array_foreach(json_object_get(entry, "examples"), j, item)
        {
            OWNED_ANSWER example = call(api, "GET", json_string_value(item), NULL, NULL);
            ck_assert_msg(example.status == 200, "%s: %.300s", json_string_value(item),
                          (char *)example.body);
        }
    }
    printf("%zu encodings, %zu parameters in the catalogue\n", encodings, parameters);
    answer_free(&answer);
    answer = call(api, "GET", "/v1/encodings?family=rotary", NULL, NULL);
    json_array_foreach(member(&answer, "encodings"), i, entry)
        ck_assert_str_eq(json_string_value(json_object_get(entry, "family")), "rotary");
    ck_assert_uint_gt(i, 0);
}

/* ---- many at once ---------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 60 };

struct crowd {
    struct api *api;
    unsigned char *expected[4];
    size_t sizes[4];
    unsigned long wrong, done;
};

static const char *const crowd_targets[4] = {
    ROPE "?dim=64&length=300&format=raw",
    TABLE "?dim=32&length=200&format=npy",
    "/v1/encodings/alibi/bias?heads=5&query_length=40&key_length=77&format=safetensors",
    "/v1/encodings/rope/frequencies?dim=64",
};

static void *crowd_run(void *context)
{
    struct crowd *crowd = context;

    for (int i = 0; i < ROUNDS; i++) {
        const int which = i % 4;
        OWNED_ANSWER answer = call(crowd->api, "GET", crowd_targets[which], NULL, NULL);
        OWNED_ANSWER wrong = call(crowd->api, "GET", ROPE "?dim=3&length=1", NULL, NULL);
        if (answer.status != 200 || wrong.status != 422 || answer.size != crowd->sizes[which] ||
            memcmp(answer.body, crowd->expected[which], answer.size) != 0)
            __atomic_fetch_add(&crowd->wrong, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&crowd->done, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

TEST(test_crowd)
{
    struct crowd crowd = {.api = api_make(NULL)};
    pthread_t threads[THREADS];

    for (size_t i = 0; i < 4; i++) {
        OWNED_ANSWER answer = call(crowd.api, "GET", crowd_targets[i], NULL, NULL);
        crowd.sizes[i] = answer.size;
        crowd.expected[i] = malloc(answer.size);
        memcpy(crowd.expected[i], answer.body, answer.size);
    }
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crowd_run, &crowd), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(crowd.wrong, 0);
    ck_assert_uint_eq(crowd.done, THREADS * ROUNDS);
    printf("%lu answers in %d threads\n", crowd.done, THREADS);
    for (size_t i = 0; i < 4; i++)
        free(crowd.expected[i]);
    api_free(crowd.api);
}
