/* SPDX-License-Identifier: MIT */

/* POST /v1/rotation: against the definition in double, its inverse, formats, memory. */

#include <math.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

static unsigned long cases;

/* ---- against the definition -------------------------------------------------------------------
 */

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

/* What comes back carries its own parameters: posted again with inverse=true it is undone. */
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

/* One body as JSON, npy and raw, answered in each format: the same numbers. */
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
            /* Bytes of no type are recognised by how they begin, or by what tells their shape. */
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

/* Binary answers leave from the request's own bytes. */
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

    /* Blocks in any order hold the same as one pass. */
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

CHECK_WAY(.cases = &cases);
