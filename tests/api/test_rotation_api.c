/* SPDX-License-Identifier: MIT */

/* POST /v1/rotation: against the definition in double, its inverse, its refusals. */

#include <math.h>

#include "tests/api/harness.h"

static unsigned long cases;

#define TYPE_JSON "Content-Type: application/json"

/* ---- refusals -------------------------------------------------------------------------------- */

#define Q4   "\"tensors\":{\"q\":{\"shape\":[1,1,2,4],\"data\":[1,2,3,4,5,6,7,8]}}"
#define FULL "\"encoding\":\"rope\",\"axes\":\"bhsd\",\"layout\":\"half\"," Q4

static const struct {
    const char *query, *body;
    int status;
    const char *code, *says;
} refusals[] = {
    {"", "{" FULL ",\"positions\":{\"start\":0}}", 200, NULL, NULL},
    {"", "{" FULL ",\"positions\":[0,1]}", 200, NULL, NULL},
    {"", "{" FULL ",\"positions\":[[0,1]]}", 200, NULL, NULL},
    {"?start=3&step=-0.5", "{" FULL "}", 200, NULL, NULL},
    {"?positions=0..1", "{" FULL "}", 200, NULL, NULL},
    {"", "{" FULL ",\"delta\":3,\"dim\":4}", 200, NULL, NULL},
    {"", "{" FULL ",\"positions\":{}}", 200, NULL, NULL},
    {"", "{" FULL ",\"positions\":[-9007199254740991,0]}", 200, NULL, NULL},
    {"", "{" FULL "}", 422, "missing-parameter", "positions is required"},
    {"", "{\"encoding\":\"rope\",\"axes\":\"bhsd\",\"start\":0," Q4 "}", 422, "missing-parameter",
     "layout is required: half (HF, NeoX) or interleaved (GPT-J, Meta)"},
    {"", "{\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0," Q4 "}", 422, "missing-parameter",
     "encoding is required"},
    {"", "{\"encoding\":\"rope\",\"layout\":\"half\",\"start\":0," Q4 "}", 422, "missing-parameter",
     "axes is required for rank 4"},
    {"", "{\"encoding\":\"rope\",\"axes\":\"shd\",\"layout\":\"half\",\"start\":0," Q4 "}", 422,
     "shape-mismatch", "axes=shd"},
    {"", "{\"encoding\":\"roap\",\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0," Q4 "}", 404,
     "not-found", "rope"},
    {"",
     "{\"encoding\":\"alibi\",\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0,\"heads\":1," Q4
     "}",
     422, "unsupported", "rotary"},
    {"", "{\"encoding\":{\"base\":3},\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0," Q4 "}",
     422, "missing-parameter", "name"},
    {"", "{\"encoding\":7,\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0," Q4 "}", 422,
     "invalid-parameter", "name"},
    {"?encoding=alibi",
     "{\"encoding\":{\"name\":\"rope\"},\"axes\":\"bhsd\",\"layout\":\"half\"," Q4 ",\"start\":0}",
     422, "conflicting-parameters", "twice"},
    {"?base=500", "{" FULL ",\"start\":0,\"base\":600}", 422, "conflicting-parameters", "base"},
    {"", "{" FULL ",\"start\":0,\"dim\":8}", 422, "conflicting-parameters", "dim"},
    {"", "{" FULL ",\"start\":0,\"rotary_dim\":3}", 422, "out-of-range", "even"},
    {"", "{" FULL ",\"start\":0,\"rotary_dim\":6}", 422, "out-of-range", "at most dim"},
    {"", "{" FULL ",\"start\":0,\"bas\":6}", 422, "unknown-parameter", "'base'"},
    {"", "{" FULL ",\"start\":0,\"cu_seqlens\":[0,1]}", 422, "unknown-parameter", "not offered"},
    {"", "{" FULL ",\"start\":0,\"to_encoding\":\"rope\"}", 422, "unknown-parameter",
     "not offered"},
    {"", "{" FULL ",\"start\":0,\"config\":{}}", 422, "unknown-parameter", "not offered"},
    {"", "{" FULL ",\"start\":0,\"dtype\":\"i32\"}", 422, "invalid-parameter", "dtype"},
    {"", "{" FULL ",\"start\":\"0\"}", 422, "invalid-parameter", "start"},
    {"", "{" FULL ",\"start\":0,\"positions\":[0,1]}", 422, "conflicting-parameters", "start"},
    {"", "{" FULL ",\"start\":0,\"delta\":1}", 422, "conflicting-parameters", "only one"},
    {"?delta=1", "{" FULL ",\"positions\":[0,1]}", 422, "conflicting-parameters", "only one"},
    {"?positions=0..1", "{" FULL ",\"positions\":[0,1]}", 422, "conflicting-parameters", "twice"},
    {"", "{" FULL ",\"positions\":[0,1,2]}", 422, "shape-mismatch",
     "positions has 3 entries, axis s of tensor q has 2"},
    {"", "{" FULL ",\"positions\":[[0,1],[2,3]]}", 422, "shape-mismatch", "[2, 2]"},
    {"", "{" FULL ",\"positions\":[[0,1],[2]]}", 422, "shape-mismatch", "one length"},
    {"", "{" FULL ",\"positions\":[0,[1]]}", 422, "invalid-parameter", "numbers only"},
    {"", "{" FULL ",\"positions\":[0,\"1\"]}", 422, "invalid-parameter", "numbers only"},
    {"", "{" FULL ",\"positions\":[0,9007199254740992]}", 422, "out-of-range", "2^53"},
    {"", "{" FULL ",\"positions\":{\"start\":9007199254740991}}", 422, "out-of-range", "2^53"},
    {"", "{" FULL ",\"positions\":{\"begin\":0}}", 422, "unknown-parameter", "begin"},
    {"", "{" FULL ",\"positions\":\"tensor:p\"}", 422, "missing-parameter", "'p'"},
    {"", "{" FULL ",\"positions\":\"tensor:q\"}", 422, "shape-mismatch", "[b, s]"},
    {"", "{" FULL ",\"positions\":true}", 422, "invalid-parameter", "list"},
    {"", "{" FULL ",\"delta\":{\"start\":0}}", 422, "invalid-parameter", "delta"},
    {"", "{" FULL ",\"delta\":[1,2,3]}", 422, "shape-mismatch", "delta"},
    {"",
     "{\"encoding\":\"rope\",\"axes\":\"shd\",\"layout\":\"half\",\"start\":0,\"tensors\":{\"q\":"
     "{\"dtype\":\"i32\",\"data\":[[[1,2]]]}}}",
     422, "unsupported", "i32"},
    {"",
     "{\"encoding\":\"rope\",\"layout\":\"half\",\"start\":0,\"tensors\":{\"q\":{\"data\":[[1,2]]}}"
     "}",
     422, "missing-parameter", "dim"},
    {"",
     "{\"encoding\":\"rope\",\"layout\":\"half\",\"start\":0,\"tensors\":{\"q\":{\"data\":[1,2]}}}",
     422, "shape-mismatch", "rank"},
    {"",
     "{\"encoding\":\"rope\",\"axes\":\"shd\",\"layout\":\"half\",\"start\":0,\"tensors\":{\"q\":"
     "{\"data\":[[[1,2,3]]]}}}",
     422, NULL, NULL},
    {"",
     "{\"encoding\":\"rope\",\"axes\":\"shd\",\"layout\":\"half\",\"start\":0,\"tensors\":{\"q\":"
     "{\"shape\":[1,1,0],\"data\":[]}}}",
     422, "shape-mismatch", "axis d"},
    {"",
     "{\"encoding\":\"rope\",\"axes\":\"shd\",\"layout\":\"half\",\"tensors\":{\"positions\":"
     "{\"data\":[1]}}}",
     422, "missing-parameter", "no tensor to rotate"},
    {"",
     "{\"encoding\":\"rope\",\"axes\":\"shd\",\"layout\":\"half\",\"tensors\":{\"positions\":"
     "{\"dtype\":\"f16\",\"data\":[1]},\"q\":{\"data\":[[[1,2]]]}}}",
     422, "invalid-parameter", "f64"},
    {"",
     "{\"encoding\":\"rope\",\"axes\":\"bhsd\",\"layout\":\"half\",\"start\":0,\"tensors\":{\"q\":"
     "{\"shape\":[0,1,1099511627776,4],\"data\":[]}}}",
     200, NULL, NULL},
    {"", "", 400, "malformed", "empty"},
};

START_TEST(test_refusals)
{
    struct api *api = api_make(NULL);

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        char target[200];
        snprintf(target, sizeof(target), "/v1/rotation%s", refusals[i].query);
        struct answer answer = call(api, "POST", target, TYPE_JSON, refusals[i].body);
        ck_assert_msg(answer.status == refusals[i].status, "%s %s: %d: %.300s", target,
                      refusals[i].body, answer.status, (char *)answer.body);
        if (refusals[i].code)
            ck_assert_str_eq(member_text(&answer, "code"), refusals[i].code);
        if (refusals[i].says)
            ck_assert_msg(strstr(member_text(&answer, "detail"), refusals[i].says) != NULL,
                          "%s: %.300s", refusals[i].body, (char *)answer.body);
        cases++;
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

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

START_TEST(test_definition)
{
    struct api *api = api_make(NULL);
    double x[BATCH * HEADS * TOKENS * DIM], expected[BATCH * HEADS * TOKENS * DIM];
    unsigned char body[8192];
    double worst = 0;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
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
            struct answer answer = call_bytes(api, "POST", target, ST, body, size);
            ck_assert_msg(answer.status == 200, "%s: %.300s", target, (char *)answer.body);
            double y[BATCH * HEADS * TOKENS * DIM];
            memcpy(y, answer_doubles(&answer, count), count * sizeof(double));
            for (size_t j = 0; j < count; j++) {
                worst = fmax(worst, fabs(y[j] - expected[j]));
                if (j % DIM >= rotary)
                    ck_assert(y[j] == x[j]);
            }
            cases++;
            answer_free(&answer);
        }
    printf("definition: worst difference %g\n", worst);
    ck_assert(worst < 1e-14 * 8);
    api_free(api);
}
END_TEST

/* What comes back carries its own parameters: posted again with inverse=true it is undone. */
START_TEST(test_round_trip)
{
    struct api *api = api_make(NULL);
    double x[BATCH * HEADS * TOKENS * DIM], y[BATCH * HEADS * TOKENS * DIM];
    const size_t count = sizeof(x) / sizeof(x[0]);
    unsigned char body[8192];
    double worst = 0;

    fill_random(x, count);
    const size_t size = st_make(body, &shapes[0], "F64", x, sizeof(x));
    struct answer there = call_bytes(api, "POST",
                                     "/v1/rotation?encoding=rope&axes=bhsd&layout=half&start=3"
                                     "&output_layout=interleaved&rope_type=yarn&factor=4"
                                     "&original_max_position_embeddings=64",
                                     ST, body, size);
    ck_assert_msg(there.status == 200, "%.300s", (char *)there.body);
    ck_assert_ptr_nonnull(strstr((char *)there.body + 8, "\"note\":\"kept\""));
    ck_assert_ptr_nonnull(strstr((char *)there.body + 8, "\"posenc.layout\":\"interleaved\""));
    struct answer back =
        call_bytes(api, "POST", "/v1/rotation?axes=bhsd&start=3&inverse=true&output_layout=half",
                   ST, there.body, there.size);
    ck_assert_msg(back.status == 200, "%.300s", (char *)back.body);
    memcpy(y, answer_doubles(&back, count), sizeof(y));
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs(y[i] - x[i]));
    printf("round trip: worst difference %g\n", worst);
    ck_assert(worst < 1e-14);
    cases++;
    answer_free(&there);
    answer_free(&back);
    api_free(api);
}
END_TEST

/* One body as JSON, npy and raw, answered in each format: the same numbers. */
START_TEST(test_formats)
{
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char dict[] =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 2, 4), }\n";
    static const char json[] =
        "{\"tensors\":{\"x\":{\"shape\":[1,1,2,4],\"data\":[1,2,3,4,5,6,7,8]}}}";
    static const char *const names[] = {"json", "npy", "raw", "safetensors"};
    unsigned char npy[200] = "\x93NUMPY\x01\x00";
    float first[8] = {0}, y[8];
    struct api *api = api_make(NULL);

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
            struct answer answer = call_bytes(
                api, "POST", target, in == 2 ? "Tensor-Dtype: f32\nTensor-Shape: 1,1,2,4" : NULL,
                bodies[in], sizes[in]);
            /* Bytes of no type are taken for JSON or npy by how they begin, else for nothing. */
            if (in == 2) {
                ck_assert_int_eq(answer.status, 415);
                answer_free(&answer);
                answer = call_bytes(api, "POST", target,
                                    "Content-Type: application/octet-stream\nTensor-Dtype: "
                                    "f32\nTensor-Shape: 1,1,2,4",
                                    bodies[in], sizes[in]);
            }
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
            answer_free(&answer);
        }
    ck_assert(fabsf(first[0] - (float)(cos(1) - 3 * sin(1))) < 1e-6f);
    api_free(api);
}
END_TEST

/* ---- tensors together -------------------------------------------------------------------------
 */

static struct answer rotate_json(struct api *api, const char *body)
{
    struct answer answer = call(api, "POST", "/v1/rotation", TYPE_JSON, body);

    ck_assert_msg(answer.status == 200, "%s: %.300s", body, (char *)answer.body);
    cases++;
    return answer;
}

static void same(const struct answer *a, const char *path_a, const struct answer *b,
                 const char *path_b)
{
    char *text_a = json_dumps(member(a, path_a), 0), *text_b = json_dumps(member(b, path_b), 0);

    ck_assert_ptr_nonnull(text_a);
    ck_assert_str_eq(text_a, text_b);
    free(text_a);
    free(text_b);
}

#define HEAD "\"encoding\":\"rope\",\"axes\":\"bshd\",\"layout\":\"half\""
#define ONES "[1,2,3,4]"
#define QT   "{\"shape\":[2,2,1,2],\"data\":[1,2,3,4,5,6,7,8]}"

START_TEST(test_together)
{
    struct api *api = api_make(NULL);
    struct answer a, b;

    /* Heads differ freely, and so do dtypes and the number of tokens where none is listed. */
    a = rotate_json(api, "{" HEAD ",\"start\":5,\"tensors\":{"
                         "\"q\":{\"shape\":[1,2,3,2],\"data\":[1,2,3,4,5,6,7,8,9,10,11,12]},"
                         "\"k\":{\"shape\":[1,2,1,2],\"data\":[1,2,7,8]},"
                         "\"e\":{\"shape\":[0,2,5,2],\"data\":[]},"
                         "\"l\":{\"shape\":[1,1,1,2],\"dtype\":\"f64\",\"data\":[1,2]}}}");
    same(&a, "tensors.q.data.0.0.0", &a, "tensors.k.data.0.0.0");
    same(&a, "tensors.q.data.0.1.0", &a, "tensors.k.data.0.1.0");
    ck_assert_uint_eq(json_array_size(member(&a, "tensors.e.data")), 0);
    ck_assert_str_eq(member_text(&a, "tensors.l.dtype"), "f64");
    answer_free(&a);

    /* Positions of each batch row, as a list, a tensor by its name, a tensor called positions. */
    a = rotate_json(api, "{" HEAD ",\"positions\":[[0,1],[7,9]],\"tensors\":{\"q\":" QT "}}");
    b = rotate_json(api, "{" HEAD ",\"positions\":\"tensor:p\",\"tensors\":{\"q\":" QT
                         ",\"p\":{\"dtype\":\"i64\",\"data\":[[0,1],[7,9]]}}}");
    same(&a, "tensors", &b, "tensors");
    answer_free(&b);
    b = rotate_json(api, "{" HEAD ",\"tensors\":{\"positions\":{\"dtype\":\"u32\",\"data\":[[0,1],"
                         "[7,9]]},\"q\":" QT "}}");
    same(&a, "tensors", &b, "tensors");
    answer_free(&b);
    answer_free(&a);

    /* A delta: for all, for each batch row, for each token. */
    a = rotate_json(api, "{" HEAD ",\"delta\":[[4,4],[4,4]],\"tensors\":{\"q\":" QT "}}");
    b = rotate_json(api, "{" HEAD ",\"delta\":4,\"tensors\":{\"q\":" QT "}}");
    same(&a, "tensors", &b, "tensors");
    answer_free(&a);
    answer_free(&b);
    a = rotate_json(api, "{" HEAD ",\"delta\":[3,-4],\"tensors\":{\"q\":{\"shape\":[2,1,1,2],"
                         "\"data\":" ONES "}}}");
    b = rotate_json(api, "{" HEAD ",\"delta\":[[3],[-4]],\"tensors\":{\"q\":{\"shape\":[2,1,1,2],"
                         "\"data\":" ONES "}}}");
    same(&a, "tensors", &b, "tensors");
    answer_free(&a);
    answer_free(&b);
    a = call(api, "POST", "/v1/rotation", TYPE_JSON,
             "{" HEAD ",\"delta\":[3,4],\"tensors\":{\"q\":" QT "}}");
    ck_assert_int_eq(a.status, 422);
    ck_assert_ptr_nonnull(strstr(member_text(&a, "detail"), "nest it"));
    answer_free(&a);

    /* The attention factor: part of a rotation, unless left out, and never part of a move. */
    static const char yarn[] =
        "\"encoding\":{\"name\":\"rope\",\"rope_type\":\"yarn\",\"factor\":4,"
        "\"original_max_position_embeddings\":64},\"axes\":\"bshd\",\"layout\":\"half\"";
    char body[500];
    snprintf(body, sizeof(body), "{%s,\"start\":0,\"tensors\":{\"q\":" QT "}}", yarn);
    a = rotate_json(api, body);
    ck_assert(json_number_value(member(&a, "tensors.q.data.0.0.0.0")) > 1.1);
    answer_free(&a);
    snprintf(body, sizeof(body),
             "{%s,\"start\":0,\"apply_attention_factor\":false,\"tensors\":{\"q\":" QT "}}", yarn);
    a = rotate_json(api, body);
    ck_assert(json_number_value(member(&a, "tensors.q.data.0.0.0.0")) == 1);
    answer_free(&a);
    snprintf(body, sizeof(body), "{%s,\"delta\":0,\"tensors\":{\"q\":" QT "}}", yarn);
    a = rotate_json(api, body);
    ck_assert(json_number_value(member(&a, "tensors.q.data.0.0.0.0")) == 1);
    answer_free(&a);
    api_free(api);
}
END_TEST

/* Another dtype for the answer: rotated in the wider one, rounded once. */
START_TEST(test_dtype)
{
    static const char *const pairs[][2] = {{"f64", "f32"},  {"f16", "f64"}, {"bf16", "f32"},
                                           {"f16", "bf16"}, {"f32", "f16"}, {"f32", "f32"}};
    struct api *api = api_make(NULL);

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char body[300];
        snprintf(body, sizeof(body),
                 "{" HEAD ",\"start\":1,\"dtype\":\"%s\",\"tensors\":{\"q\":{\"dtype\":\"%s\","
                 "\"shape\":[1,1,1,2],\"data\":[1,2]},\"k\":{\"dtype\":\"%s\",\"shape\":[1,1,1,2],"
                 "\"data\":[1,2]}}}",
                 pairs[i][1], pairs[i][0], pairs[i][1]);
        struct answer answer = rotate_json(api, body);
        const double value = json_number_value(member(&answer, "tensors.q.data.0.0.0.0"));
        const double exact = cos(1) - 2 * sin(1);
        ck_assert_str_eq(member_text(&answer, "tensors.q.dtype"), pairs[i][1]);
        ck_assert_str_eq(member_text(&answer, "tensors.k.dtype"), pairs[i][1]);
        if (strcmp(pairs[i][1], "f64") == 0)
            ck_assert(fabs(value - exact) < 1e-15);
        else if (strcmp(pairs[i][1], "f32") == 0)
            ck_assert(fabs(value - exact) < 3e-7);
        else
            ck_assert(fabs(value - exact) < 8e-3);
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

/* Binary answers leave from the request's own bytes. */
START_TEST(test_in_place)
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
    struct answer answer =
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("rotation over api");
    TCase *tcase = tcase_create("rotation");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_refusals);
    tcase_add_test(tcase, test_definition);
    tcase_add_test(tcase, test_round_trip);
    tcase_add_test(tcase, test_formats);
    tcase_add_test(tcase, test_together);
    tcase_add_test(tcase, test_dtype);
    tcase_add_test(tcase, test_in_place);
    suite_add_tcase(suite, tcase);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    printf("rotation over api: %lu cases\n", cases);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
