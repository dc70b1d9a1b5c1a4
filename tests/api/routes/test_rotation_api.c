/* SPDX-License-Identifier: MIT */

/* POST /v1/rotation: against the definition in double, its inverse, formats, memory; several
 * tensors, dtypes, caching, positions of several coordinates. Refusals are in
 * test_rotation_refusals.c. */

#include <math.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

#define TYPE_JSON "Content-Type: application/json"

/* ---- against the definition ------------------------------------------------------------------ */

enum { BATCH = 2, HEADS = 3, TOKENS = 5, DIM = 8 };

struct shape {
    const char *axes;
    size_t lengths[4];
    unsigned rank;
};

static const struct shape shapes[] = {
    {"bhsd", {BATCH, HEADS, TOKENS, DIM}, 4}, {"bshd", {BATCH, TOKENS, HEADS, DIM}, 4},
    {"thd", {TOKENS, HEADS, DIM}, 3},         {"shd", {TOKENS, HEADS, DIM}, 3},
    {"hsd", {HEADS, TOKENS, DIM}, 3},         {"bsd", {BATCH, TOKENS, HEADS *DIM}, 3},
    {"sd", {TOKENS, HEADS *DIM}, 2},
};

static size_t shape_elements(const struct shape *shape)
{
    size_t count = 1;
    for (unsigned i = 0; i < shape->rank; i++)
        count *= shape->lengths[i];
    return count;
}

/* Batch row and token of a head, counted through the tensor. */
static void head_place(const struct shape *shape, size_t head, size_t *batch, size_t *token)
{
    const size_t inner = strcmp(shape->axes, "bhsd") && strcmp(shape->axes, "hsd") ? HEADS : 1;
    *token = head / inner % TOKENS;
    *batch = *shape->axes == 'b' ? head / (HEADS * TOKENS) : 0;
}

/* Rotates a head by t: pairs (i, i + D/2) or (2i, 2i + 1) of the first `rotary` elements. */
static void head_rotate(double *x, size_t rotary, double t, bool half)
{
    for (size_t i = 0; i < rotary / 2; i++) {
        const double angle = t * pow(10000, -2.0 * (double)i / (double)rotary);
        double *a = &x[half ? i : 2 * i], *b = &x[half ? i + rotary / 2 : 2 * i + 1];
        const double first = *a;
        *a = first * cos(angle) - *b * sin(angle);
        *b = first * sin(angle) + *b * cos(angle);
    }
}

static size_t st_make(unsigned char *out, const struct shape *shape, const char *dtype,
                      const void *data, size_t size)
{
    char header[400], lengths[100] = "";
    size_t used = 0;

    for (unsigned i = 0; i < shape->rank; i++)
        used += (size_t)snprintf(lengths + used, sizeof(lengths) - used, "%s%zu", i ? "," : "",
                                 shape->lengths[i]);
    snprintf(header, sizeof(header),
             "{\"q\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[0,%zu]},"
             "\"__metadata__\":{\"note\":\"kept\"}}",
             dtype, lengths, size);
    const uint64_t length = strlen(header);
    memcpy(out, &length, 8);
    memcpy(out + 8, header, length);
    memcpy(out + 8 + length, data, size);
    return 8 + length + size;
}

static const double *answer_doubles(const struct answer *answer, size_t count)
{
    return (const double *)(const void *)(answer->body + answer->size - count * sizeof(double));
}

static void fill_random(double *x, size_t count)
{
    static uint32_t seed = 1;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (double)(int32_t)seed / 0x1p30;
    }
}

#define ST "Content-Type: application/x-safetensors"

TEST(test_definition)
{
    OWNED_API api = api_make(NULL);
    double x[BATCH * HEADS * TOKENS * DIM], expected[BATCH * HEADS * TOKENS * DIM];
    unsigned char body[8192];
    double worst = 0;

    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (int variant = 0; variant < 8; variant++) {
            const bool half = variant & 1, partial = variant & 2, listed = variant & 4;
            const size_t count = shape_elements(&shapes[i]), rotary = partial ? DIM / 2 : DIM;
            char target[300];
            fill_random(x, count);
            memcpy(expected, x, sizeof(x));
            for (size_t head = 0; head < count / DIM; head++) {
                size_t batch, token;
                head_place(&shapes[i], head, &batch, &token);
                head_rotate(expected + head * DIM, rotary,
                            listed ? (double)(7 * token) - 3 : 10 + 0.5 * (double)token, half);
            }
            snprintf(target, sizeof(target),
                     "/v1/rotation?encoding=rope&axes=%s&dim=%d&layout=%s%s%s", shapes[i].axes, DIM,
                     half ? "neox" : "meta", partial ? "&rotary_dim=4" : "",
                     listed ? "&positions=-3,4,11,18,25" : "&start=10&step=0.5");
            const size_t size = st_make(body, &shapes[i], "F64", x, count * sizeof(double));
            OWNED_ANSWER answer = call_bytes(api, "POST", target, ST, body, size);
            ck_assert_msg(answer.status == 200, "%s: %.300s", target, (char *)answer.body);
            double y[BATCH * HEADS * TOKENS * DIM];
            memcpy(y, answer_doubles(&answer, count), count * sizeof(double));
            for (size_t j = 0; j < count; j++) {
                worst = fmax(worst, fabs(y[j] - expected[j]));
                if (j % DIM >= rotary)
                    ck_assert(y[j] == x[j]);
            }
            cases++;
        }
    printf("definition: worst difference %g\n", worst);
    ck_assert(worst < 1e-14 * 8);
}

/* A response carries its parameters: posted again with inverse=true it is undone. */
TEST(test_round_trip)
{
    OWNED_API api = api_make(NULL);
    double x[BATCH * HEADS * TOKENS * DIM], y[BATCH * HEADS * TOKENS * DIM];
    const size_t count = COUNT_OF(x);
    unsigned char body[8192];
    double worst = 0;

    fill_random(x, count);
    const size_t size = st_make(body, &shapes[0], "F64", x, sizeof(x));
    OWNED_ANSWER there = call_bytes(api, "POST",
                                    "/v1/rotation?encoding=rope&axes=bhsd&layout=half&start=3"
                                    "&output_layout=interleaved&rope_type=yarn&factor=4"
                                    "&original_max_position_embeddings=64",
                                    ST, body, size);
    ck_assert_msg(there.status == 200, "%.300s", (char *)there.body);
    ck_assert_ptr_nonnull(strstr((char *)there.body + 8, "\"note\":\"kept\""));
    ck_assert_ptr_nonnull(strstr((char *)there.body + 8, "\"posenc.layout\":\"interleaved\""));
    OWNED_ANSWER back =
        call_bytes(api, "POST", "/v1/rotation?axes=bhsd&start=3&inverse=true&output_layout=half",
                   ST, there.body, there.size);
    ck_assert_msg(back.status == 200, "%.300s", (char *)back.body);
    memcpy(y, answer_doubles(&back, count), sizeof(y));
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs(y[i] - x[i]));
    printf("round trip: worst difference %g\n", worst);
    ck_assert(worst < 1e-14);
    cases++;
}

/* One body as JSON, npy and raw bytes, each answered in every format: the same numbers. */
TEST(test_formats)
{
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char dict[] =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 2, 4), }\n";
    static const char json[] =
        "{\"tensors\":{\"x\":{\"shape\":[1,1,2,4],\"data\":[1,2,3,4,5,6,7,8]}}}";
    static const char *const names[] = {"json", "npy", "raw", "safetensors"};
    unsigned char npy[200] = "\x93NUMPY\x01\x00";
    float first[8] = {0}, y[8];
    OWNED_API api = api_make(NULL);

    npy[8] = sizeof(dict) - 1;
    memcpy(npy + 10, dict, sizeof(dict) - 1);
    memcpy(npy + 10 + sizeof(dict) - 1, x, sizeof(x));
    for (size_t in = 0; in < 3; in++)
        for (size_t out = 0; out < 4; out++) {
            const void *bodies[] = {json, npy, x};
            const size_t sizes[] = {sizeof(json) - 1, 10 + sizeof(dict) - 1 + sizeof(x), sizeof(x)};
            char target[200];
            snprintf(target, sizeof(target),
                     "/v1/rotation?encoding=rope&axes=bhsd&layout=half&start=1&format=%s",
                     names[out]);
            OWNED_ANSWER answer = call_bytes(
                api, "POST", target, in == 2 ? "Tensor-Dtype: f32\nTensor-Shape: 1,1,2,4" : NULL,
                bodies[in], sizes[in]);
            /* Bytes without a media type are recognised by their beginning, or by the field
             * Tensor-Shape. */
            ck_assert_msg(answer.status == 200, "%s: %.300s", target, (char *)answer.body);
            if (out == 0)
                for (int i = 0; i < 8; i++) {
                    char path[60];
                    snprintf(path, sizeof(path), "tensors.x.data.0.0.%d.%d", i / 4, i % 4);
                    y[i] = (float)json_real_value(member(&answer, path));
                }
            else
                memcpy(y, answer.body + answer.size - sizeof(y), sizeof(y));
            if (in + out > 0)
                ck_assert_int_eq(memcmp(first, y, sizeof(y)), 0);
            cases++;
            memcpy(first, y, sizeof(y));
        }
    ck_assert(fabsf(first[0] - (float)(cos(1) - 3 * sin(1))) < 1e-6f);
}

/* Binary responses are sent from the bytes of the request. */
TEST(test_in_place)
{
    struct api *api = api_make(NULL);
    float x[2 * 3 * 700 * 64];
    const size_t size = sizeof(x);
    struct api_settings settings = settings_make();
    struct api_field fields[] = {{"Content-Type", "application/octet-stream"},
                                 {"Tensor-Dtype", "f32"},
                                 {"Tensor-Shape", "2,700,3,64"}};
    struct api_head head = {.method = "POST",
                            .path = "/v1/rotation",
                            .query = "encoding=rope&axes=bshd&layout=half&start=0",
                            .fields = fields,
                            .fields_count = 3,
                            .content_length = size};
    api_free(api);
    settings.limits.body_max = 16 << 20;
    api = api_make(&settings);
    for (size_t i = 0; i < size / 4; i++)
        x[i] = (float)i;
    struct api_response *response = api_handle(api, &head, x, size);
    ck_assert_int_eq(response->status, 200);
    ck_assert_int_eq(response->body.kind, API_JOB);
    ck_assert_ptr_nonnull(response->body.buffer);
    ck_assert_uint_eq(response->body.size, size);
    ck_assert_uint_gt(response->body.blocks, 1);
    cases++;
    api_response_free(response);

    OWNED_ANSWER answer =
        call_bytes(api, "POST", "/v1/rotation?encoding=rope&axes=bshd&layout=half&start=0",
                   "Content-Type: application/octet-stream\nTensor-Dtype: f32\n"
                   "Tensor-Shape: 2,700,3,64",
                   x, size);
    ck_assert_int_eq(answer.status, 200);
    const float *y = (const float *)(const void *)answer.body;
    double worst = 0;
    for (size_t token = 0; token < 2 * 700; token++)
        for (size_t head_index = 0; head_index < 3; head_index++) {
            double expected[64];
            const size_t at = (token * 3 + head_index) * 64;
            for (int i = 0; i < 64; i++)
                expected[i] = x[at + (size_t)i];
            head_rotate(expected, 64, (double)(token % 700), true);
            for (int i = 0; i < 64; i++)
                worst = fmax(worst, fabs(y[at + (size_t)i] - expected[i]) / (1 + x[at]));
        }
    printf("large rotation: worst relative difference %g\n", worst);
    ck_assert(worst < 1e-6);
    answer_free(&answer);
    api_free(api);
}

/* ---- several tensors, dtypes, caching -------------------------------------------------------- */

static struct answer rotate_json(struct api *api, const char *body)
{
    struct answer answer = call(api, "POST", "/v1/rotation", TYPE_JSON, body);

    ck_assert_msg(answer.status == 200, "%s: %.300s", body, (char *)answer.body);
    cases++;
    return answer;
}

/* Two bodies with the same result. */
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
#define YARN                                                                                       \
    "'encoding':{'name':'rope','rope_type':'yarn','factor':4,"                                     \
    "'original_max_position_embeddings':64},'axes':'bshd','layout':'half'"
#define QT "{'shape':[2,2,1,2],'data':[1,2,3,4,5,6,7,8]}"

TEST(test_several_tensors)
{
    OWNED_API api = api_make(NULL);
    /* Numbers of heads and dtypes differ, and numbers of tokens where no position is listed. */
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
    alike(api, "{" HEAD ",'delta':[3,-4],'tensors':{'q':{'shape':[2,1,1,2],'data':[1,2,3,4]}}}",
          "{" HEAD ",'delta':[[3],[-4]],'tensors':{'q':{'shape':[2,1,1,2],'data':[1,2,3,4]}}}");
    OWNED_ANSWER flat = call(api, "POST", "/v1/rotation", TYPE_JSON,
                             "{" HEAD ",'delta':[3,4],'tensors':{'q':" QT "}}");
    ck_assert_int_eq(flat.status, 422);
    ck_assert_ptr_nonnull(strstr(member_text(&flat, "detail"), "nest it"));

    /* The attention factor is part of a rotation, unless left out, and no part of a delta. */
    ck_assert(first_of(api, "{" YARN ",'start':0,'tensors':{'q':" QT "}}") > 1.1);
    ck_assert(first_of(api, "{" YARN ",'start':0,'apply_attention_factor':false,'tensors':{'q':" QT
                            "}}") == 1);
    ck_assert(first_of(api, "{" YARN ",'delta':0,'tensors':{'q':" QT "}}") == 1);
}

/* A dtype of the response: rotation in the wider one, rounded once. */
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

/* Is a body without tensors refused on the event loop, as one with tensors would be rotated there?
 */
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
    struct api_response *response = api_finish_if_quick(intake);
    const bool quick = response;
    if (!response)
        response = api_finish(intake);
    ck_assert_int_ge(response->status, 400);
    api_response_free(response);
    api_free(api);
    cases++;
    return quick;
}

/* Long text is parsed by a worker, whatever its media type. */
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

/* Keys of cached cos and sin: each of these differs from the first in one thing, and gives the
 * numbers of a service without a cache. */
TEST(test_cache_keys)
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
    struct api *caching = api_make(&settings), *plain = api_make(NULL);

    for (size_t i = 0; i < 2 * COUNT_OF(others); i++) {
        char body[500];
        snprintf(body, sizeof(body),
                 "{%s,'axes':'bshd','tensors':{'q':{'shape':[2,2,1,4],'data':[1,2,3,4,5,6,7,8,9,8,"
                 "7,6,5,4,3,2]}}}",
                 others[i / 2]);
        struct answer cached = rotate_json(caching, body), made = rotate_json(plain, body);
        members_same(&cached, "tensors", &made, "tensors");
        answer_free(&cached);
        answer_free(&made);
    }
    OWNED_ANSWER metrics = call(caching, "GET", "/metrics", NULL, NULL);
    ck_assert_int_eq(metrics.status, 200);
    answer_free(&metrics);
    api_free(caching);
    api_free(plain);
}

/* ---- positions of several coordinates -------------------------------------------------------- */

static void refuse(struct api *api, const char *body, const char *code, const char *where)
{
    OWNED_ANSWER answer = call(api, "POST", "/v1/rotation", TYPE_JSON, body);

    ck_assert_msg(answer.status == 422, "%s: %d %.400s", body, answer.status, (char *)answer.body);
    cases++;
    ck_assert_str_eq(member_text(&answer, "code"), code);
    const json_t *error = json_array_get(member(&answer, "errors"), 0);
    const json_t *pointer = json_object_get(error, "pointer");
    const char *place = json_string_value(pointer ? pointer : json_object_get(error, "parameter"));
    ck_assert_msg(place && strcmp(place, where) == 0, "%s: at %s", body, place);
}

#define TENSOR(data) "'tensors':{'q':{'shape':[2,1,2,6],'dtype':'f64','data':[" data "]}}"
#define MROPE        "'encoding':{'name':'mrope','mrope_section':[1,1,1]}"
#define Q            TENSOR(ONES "," ONES)
#define ONES         "1,1,1,1,1,1,1,1,1,1,1,1"
#define PLACES       "[[0,1],[2,3],[4,5]]"
#define AXES(rest)   "{'axes':'bhsd','layout':'half'," rest "}"
#define LISTED       AXES(MROPE ",'positions':" PLACES "," Q)

static void expect_pair(const struct answer *answer, size_t batch, size_t token, size_t pair,
                        double position)
{
    const double angle = position * pow(10000, -(double)pair / 3);
    char path[64];

    snprintf(path, sizeof(path), "tensors.q.data.%zu.0.%zu.%zu", batch, token, pair);
    ck_assert(fabs(member_number(answer, path) - (cos(angle) - sin(angle))) < 1e-14);
    snprintf(path, sizeof(path), "tensors.q.data.%zu.0.%zu.%zu", batch, token, pair + 3);
    ck_assert(fabs(member_number(answer, path) - (cos(angle) + sin(angle))) < 1e-14);
}

TEST(test_axes_of_positions)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER a = rotate_json(api, LISTED);
    OWNED_ANSWER b =
        rotate_json(api, AXES(MROPE ",'positions':[[[0,1],[7,7]],[[2,3],[8,8]],[[4,5],[9,9]]]," Q));

    for (size_t i = 0; i < 2 * 2 * 3; i++) {
        const double place = (double)(2 * (i % 3) + i / 3 % 2);
        expect_pair(&a, i / 6, i / 3 % 2, i % 3, place);
        expect_pair(&b, i / 6, i / 3 % 2, i % 3, i < 6 ? place : (double)(7 + i % 3));
    }
    /* One row for all batch rows, one each, a tensor; and the same again. */
    alike(api, LISTED, AXES(MROPE ",'positions':[[[0,1]],[[2,3]],[[4,5]]]," Q));
    alike(api, LISTED, AXES(MROPE ",'positions':[[[0,1],[0,1]],[[2,3],[2,3]],[[4,5],[4,5]]]," Q));
    alike(api, LISTED,
          AXES(MROPE
               ",'positions':'tensor:p','tensors':{'p':{'dtype':'i64','data':[[[0,1]],[[2,3]],"
               "[[4,5]]]},'q':{'shape':[2,1,2,6],'dtype':'f64','data':[" ONES "," ONES "]}}"));
    alike(api, LISTED, LISTED);
}

TEST(test_axes_relations)
{
    static const char text[] = AXES("'encoding':'rope','positions':[4,9]," Q);
    OWNED_API api = api_make(NULL);

    alike(api, text, AXES(MROPE ",'positions':[[4,9],[4,9],[4,9]]," Q));
    alike(api, text, AXES(MROPE ",'positions':[4,9]," Q));
    alike(api, text, AXES(MROPE ",'start':4,'step':5," Q));
    /* A distance of several coordinates. */
    alike(api, AXES(MROPE ",'positions':" PLACES "," Q), AXES(MROPE ",'delta':" PLACES "," Q));
    /* From one order of sections to another at equal coordinates: no change. */
    OWNED_ANSWER a = rotate_json(
        api, AXES("'from_encoding':{'name':'mrope','mrope_section':[1,1,1]},'to_encoding':{"
                  "'name':'mrope','mrope_section':[3,0,0]},'positions':[[2,2],[2,2],[2,2]]," Q));
    ck_assert(fabs(member_number(&a, "tensors.q.data.0.0.0.0") - 1) < 1e-15);
}

TEST(test_axes_of_views)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER a = call(api, "POST", "/v1/encodings/mrope/table", TYPE_JSON,
                          "{'dim':6,'mrope_section':[1,1,1],'positions':" PLACES "}");
    struct answer b = call(
        api, "GET", "/v1/encodings/mrope/table?dim=6&mrope_section=1,1,1&positions=0,1;2,3;4,5",
        NULL, NULL);

    members_same(&a, "tensors", &b, "tensors");
    ck_assert(fabs(member_number(&b, "tensors.cos.data.1.0") - cos(1)) < 1e-7);
    ck_assert(fabs(member_number(&b, "tensors.cos.data.1.1") - cos(3 * pow(10000, -1.0 / 3))) <
              1e-7);
    answer_free(&a);
    answer_free(&b);
    /* Six numbers in one row are six positions. */
    a = call(api, "GET",
             "/v1/encodings/mrope/table?dim=6&mrope_section=1,1,1&positions=0,1,2,3,4,5", NULL,
             NULL);
    ck_assert_uint_eq(json_array_size(member(&a, "tensors.cos.data")), 6);
    answer_free(&a);
    a = call(api, "GET", "/v1/encodings/mrope/frequencies?dim=6&mrope_section=0,2,1", NULL, NULL);
    ck_assert_int_eq(json_integer_value(member(&a, "tensors.axes.data.0")), 1);
    ck_assert_int_eq(json_integer_value(member(&a, "tensors.axes.data.2")), 2);
    cases += 3;
}

TEST(test_axes_refusals)
{
    static const char shape[] = "shape-mismatch", invalid[] = "invalid-parameter";
    OWNED_API api = api_make(NULL);

    refuse(api, AXES(MROPE ",'positions':[[0,1],[2,3]]," Q), shape, "/positions");
    refuse(api, AXES(MROPE ",'positions':[[0,1],[2,3],[4,5],[6,7]]," Q), shape, "/positions");
    refuse(api, AXES(MROPE ",'positions':[[0],[2],[4]]," Q), shape, "/positions");
    refuse(api, AXES(MROPE ",'positions':[[0,1],[2],[4,5]]," Q), shape, "/positions");
    refuse(api, AXES(MROPE ",'positions':[[0,1],2,[4,5]]," Q), shape, "/positions");
    refuse(api, AXES(MROPE ",'positions':[[0,1],[2,'x'],[4,5]]," Q), invalid, "/positions");
    refuse(api, AXES(MROPE ",'positions':[[[[0,1]]]]," Q), invalid, "/positions");
    refuse(
        api,
        AXES(MROPE ",'positions':[[[0,1],[0,1],[0,1]],[[0,1],[0,1],[0,1]],[[0,1],[0,1],[0,1]]]," Q),
        shape, "/positions");
    refuse(api, AXES("'encoding':'rope','positions':[[[0,1]],[[2,3]],[[4,5]]]," Q), shape,
           "/positions");
    refuse(api,
           AXES("'from_encoding':'rope','to_encoding':{'name':'mrope','mrope_section':[1,1,1]},'"
                "positions':" PLACES "," Q),
           shape, "positions");
    refuse(api, AXES("'encoding':'mrope','positions':" PLACES "," Q), "missing-parameter",
           "mrope_section");
}

CHECK_WAY(.cases = &cases);
