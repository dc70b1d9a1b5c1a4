/* SPDX-License-Identifier: MIT */

/* POST /v1/rotation: tensors side by side, ways to say where tokens stand, other dtypes. */

#include <math.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

#define TYPE_JSON "Content-Type: application/json"

static struct answer rotate_json(struct api *api, const char *body)
{
    struct answer answer = call(api, "POST", "/v1/rotation", TYPE_JSON, body);

    ck_assert_msg(answer.status == 200, "%s: %.300s", body, (char *)answer.body);
    cases++;
    return answer;
}

/* Two bodies that say one thing. */
static void alike(struct api *api, const char *one, const char *other)
{
    OWNED_ANSWER a = rotate_json(api, one), b = rotate_json(api, other);

    members_same(&a, "tensors", &b, "tensors");
}

/* The first number of q. */
static double first_of(struct api *api, const char *body)
{
    OWNED_ANSWER answer = rotate_json(api, body);

    return member_number(&answer, "tensors.q.data.0.0.0.0");
}

#define HEAD "'encoding':'rope','axes':'bshd','layout':'half'"
#define ONES "[1,2,3,4]"
#define YARN                                                                                       \
    "'encoding':{'name':'rope','rope_type':'yarn','factor':4,"                                     \
    "'original_max_position_embeddings':64},'axes':'bshd','layout':'half'"
#define QT "{'shape':[2,2,1,2],'data':[1,2,3,4,5,6,7,8]}"

TEST(test_together)
{
    OWNED_API api = api_make(NULL);
    /* Heads differ freely, and so do dtypes and the number of tokens where none is listed. */
    OWNED_ANSWER a = rotate_json(
        api, "{" HEAD ",'start':5,'tensors':{'q':{'shape':[1,2,3,2],'data':[1,2,3,4,5,6,7,8,9,10,"
             "11,12]},'k':{'shape':[1,2,1,2],'data':[1,2,7,8]},'e':{'shape':[0,2,5,2],'data':[]},"
             "'l':{'shape':[1,1,1,2],'dtype':'f64','data':[1,2]}}}");
    members_same(&a, "tensors.q.data.0.0.0", &a, "tensors.k.data.0.0.0");
    members_same(&a, "tensors.q.data.0.1.0", &a, "tensors.k.data.0.1.0");
    ck_assert_uint_eq(json_array_size(member(&a, "tensors.e.data")), 0);
    ck_assert_str_eq(member_text(&a, "tensors.l.dtype"), "f64");

    /* Positions of each batch row, as a list, a tensor by its name, a tensor called positions. */
    static const char listed[] = "{" HEAD ",'positions':[[0,1],[7,9]],'tensors':{'q':" QT "}}";
    alike(api, listed,
          "{" HEAD ",'positions':'tensor:p','tensors':{'q':" QT
          ",'p':{'dtype':'i64','data':[[0,1],[7,9]]}}}");
    alike(api, listed,
          "{" HEAD ",'tensors':{'positions':{'dtype':'u32','data':[[0,1],[7,9]]},'q':" QT "}}");

    /* A delta: for all, for each batch row, for each token. */
    alike(api, "{" HEAD ",'delta':[[4,4],[4,4]],'tensors':{'q':" QT "}}",
          "{" HEAD ",'delta':4,'tensors':{'q':" QT "}}");
    alike(api, "{" HEAD ",'delta':[3,-4],'tensors':{'q':{'shape':[2,1,1,2],'data':" ONES "}}}",
          "{" HEAD ",'delta':[[3],[-4]],'tensors':{'q':{'shape':[2,1,1,2],'data':" ONES "}}}");
    OWNED_ANSWER flat = call(api, "POST", "/v1/rotation", TYPE_JSON,
                             "{" HEAD ",'delta':[3,4],'tensors':{'q':" QT "}}");
    ck_assert_int_eq(flat.status, 422);
    ck_assert_ptr_nonnull(strstr(member_text(&flat, "detail"), "nest it"));

    /* The attention factor: part of a rotation, unless left out, and never part of a move. */
    ck_assert(first_of(api, "{" YARN ",'start':0,'tensors':{'q':" QT "}}") > 1.1);
    ck_assert(first_of(api, "{" YARN ",'start':0,'apply_attention_factor':false,'tensors':{'q':" QT
                            "}}") == 1);
    ck_assert(first_of(api, "{" YARN ",'delta':0,'tensors':{'q':" QT "}}") == 1);
}

/* Another dtype for the answer: rotated in the wider one, rounded once. */
TEST(test_dtype)
{
    static const char *const pairs[][2] = {{"f64", "f32"},  {"f16", "f64"}, {"bf16", "f32"},
                                           {"f16", "bf16"}, {"f32", "f16"}, {"f32", "f32"}};
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        char body[300];
        snprintf(body, sizeof(body),
                 "{" HEAD ",'start':1,'dtype':'%s','tensors':{'q':{'dtype':'%s','shape':[1,1,1,2],'"
                 "data':[1,2]},'k':{'dtype':'%s','shape':[1,1,1,2],'data':[1,2]}}}",
                 pairs[i][1], pairs[i][0], pairs[i][1]);
        OWNED_ANSWER answer = rotate_json(api, body);
        const double value = member_number(&answer, "tensors.q.data.0.0.0.0");
        const double exact = cos(1) - 2 * sin(1);
        ck_assert_str_eq(member_text(&answer, "tensors.q.dtype"), pairs[i][1]);
        ck_assert_str_eq(member_text(&answer, "tensors.k.dtype"), pairs[i][1]);
        if (strcmp(pairs[i][1], "f64") == 0)
            ck_assert(fabs(value - exact) < 1e-15);
        else if (strcmp(pairs[i][1], "f32") == 0)
            ck_assert(fabs(value - exact) < 3e-7);
        else
            ck_assert(fabs(value - exact) < 8e-3);
    }
}

/* Is a body without a tensor refused on the loop? It would be rotated there, if it had one. */
static bool is_quick(const char *type, const void *body, size_t size)
{
    struct api *api = api_make(NULL);
    struct api_field fields[] = {{"Content-Type", type}};
    struct api_head head = {.method = "POST",
                            .path = "/v1/rotation",
                            .fields = fields,
                            .fields_count = 1,
                            .content_length = size};
    struct api_intake *intake = NULL;

    ck_assert_ptr_null(api_begin(api, &head, &intake));
    ck_assert_ptr_null(api_feed(intake, body, size));
    struct api_response *response = api_finish_quickly(intake);
    const bool quick = response;
    if (!response)
        response = api_finish(intake);
    ck_assert_int_ge(response->status, 400);
    api_response_free(response);
    api_free(api);
    cases++;
    return quick;
}

/* Text takes its time, under whatever name it comes. */
TEST(test_long_text_is_not_for_the_loop)
{
    static const char *const types[] = {"application/json", "application/octet-stream",
                                        "application/x-www-form-urlencoded", ""};
    enum { SHORT = 4000, LONG = 40000 };
    OWNED_MEMORY char *text = malloc(LONG);

    memset(text, ' ', LONG);
    memcpy(text, "{\"encoding\":\"rope\"", 18);
    for (size_t i = 0; i < COUNT_OF(types); i++)
        for (int is_long = 0; is_long < 2; is_long++) {
            const size_t size = is_long ? LONG : SHORT;
            text[size - 1] = '}';
            ck_assert(is_quick(types[i], text, size) == !is_long);
            text[size - 1] = ' ';
        }
    for (int is_long = 0; is_long < 2; is_long++) {
        const uint64_t size = is_long ? LONG - 8 : SHORT;
        memset(text, ' ', LONG);
        memcpy(text, &size, sizeof(size));
        text[8] = '{';
        text[8 + size - 1] = '}';
        ck_assert(is_quick("application/x-safetensors", text, LONG) == !is_long);
        ck_assert(is_quick("", text, LONG) == !is_long);
    }
}

/* Cos and sin are kept for requests that are alike in all that they depend on: each of these
 * differs from the first in one thing, and gets the numbers that it gets from a service that keeps
 * nothing. */
TEST(test_kept_apart)
{
    static const char first[] = "'encoding':'rope','layout':'half','positions':[[3,1],[7,9]]";
    static const char *const others[] = {
        first,
        "'encoding':'rope','layout':'half','positions':[[3,1],[7,8]]",
        "'encoding':'rope','layout':'half','positions':[3,1]",
        "'encoding':'rope','layout':'half','start':3,'step':-2",
        "'encoding':'rope','layout':'half','start':3,'step':2",
        "'encoding':'rope','layout':'half','start':4,'step':2",
        "'encoding':'rope','layout':'half','delta':[[3,1],[7,9]]",
        "'encoding':'rope','layout':'interleaved','positions':[[3,1],[7,9]]",
        "'encoding':'rope','layout':'half','output_layout':'interleaved','positions':[[3,1],[7,9]]",
        "'encoding':'rope','layout':'half','inverse':true,'positions':[[3,1],[7,9]]",
        "'encoding':{'name':'rope','base':500},'layout':'half','positions':[[3,1],[7,9]]",
        "'encoding':'rope','layout':'half','positions':[[3,1],[7,9]],'dtype':'f64'",
        "'encoding':{'name':'rope','rope_type':'yarn','factor':4,'original_max_position_embeddings'"
        ":64},'layout':'half','positions':[[3,1],[7,9]]",
        "'encoding':{'name':'rope','rope_type':'yarn','factor':4,'original_max_position_embeddings'"
        ":64},'layout':'half','positions':[[3,1],[7,9]],'apply_attention_factor':false",
    };
    struct api_settings settings = settings_make();
    settings.limits.memory_budget = 64 << 20;
    settings.limits.cache_max = 16 << 20;
    struct api *keeps = api_make(&settings), *forgets = api_make(NULL);

    for (size_t i = 0; i < 2 * COUNT_OF(others); i++) {
        char body[500];
        snprintf(body, sizeof(body),
                 "{%s,'axes':'bshd','tensors':{'q':{'shape':[2,2,1,4],'data':[1,2,3,4,5,6,7,8,9,8,"
                 "7,6,5,4,3,2]}}}",
                 others[i / 2]);
        struct answer kept = rotate_json(keeps, body), made = rotate_json(forgets, body);
        members_same(&kept, "tensors", &made, "tensors");
        answer_free(&kept);
        answer_free(&made);
    }
    OWNED_ANSWER metrics = call(keeps, "GET", "/metrics", NULL, NULL);
    ck_assert_int_eq(metrics.status, 200);
    answer_free(&metrics);
    api_free(keeps);
    api_free(forgets);
}

CHECK_WAY(.cases = &cases);
