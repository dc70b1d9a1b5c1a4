/* SPDX-License-Identifier: MIT */

/* npy, safetensors and raw bodies, valid and malformed. */

#include "api/formats/formats.h"
#include "api/memory/budget.h"
#include "api/memory/json.h"
#include "tests/api/readers.h"
#include "tests/check_main.h"

/* ---- reading a body alone -------------------------------------------------------------------- */

struct read {
    struct api_memory *memory;
    struct api_request request;
    struct pe_error err;
};

static struct read reader_run(const struct api_reader *reader, const void *body, size_t size)
{
    static struct api_settings settings;
    struct read read = {0};
    struct api_json_owner owner;

    settings = settings_make();
    api_json_memory_init();
    read.memory = api_memory_new(1 << 24);
    read.request = (struct api_request){.settings = &settings,
                                        .arena = api_arena_new(read.memory),
                                        .method = "POST",
                                        .content_type = "",
                                        .body_size = size,
                                        .reader = reader};
    read.request.work = api_arena_work_new(read.request.arena, UINT64_MAX, 0);
    read.request.body = memcpy(api_arena_buffer(read.request.arena, size), body, size);
    api_json_memory_reset();
    api_json_own(&owner, read.request.arena);
    reader->read(&read.request, &read.err);
    api_json_disown(&owner);
    return read;
}

static void read_free(struct read *read)
{
    api_arena_free(read->request.arena);
    api_memory_free(read->memory);
}

/* The elements are aligned, and equal to those written. */
static void tensor_check(const struct read *read, size_t index, const void *elements, size_t size)
{
    const struct pe_tensor *tensor = &read->request.tensors[index].tensor;

    ck_assert_msg(!read->err.status, "%s", read->err.detail);
    ck_assert_uint_eq((uintptr_t)tensor->data % pe_dtype_info(tensor->dtype)->size, 0);
    ck_assert_mem_eq(tensor->data, elements, size);
    cases++;
}

/* ---- npy ------------------------------------------------------------------------------------- */

struct npy_row {
    const char *dict;
    size_t data_size;
    int status;
};

static const struct npy_row npy_rows[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", 16, 200},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }   \n", 16, 200},
    {"{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"<f8\"}\n", 32, 200},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (0, 2)}\n", 0, 200},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2)}\n", 16, 400},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (2, 2)}\n", 4, 400},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", 16, 400},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n", 16, 400},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }\n", 16, 400},
    {"{'descr': '<f3', 'fortran_order': False, 'shape': (2, 2), }\n", 16, 400},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 2), }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4), }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': 4, }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2), }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2,2), }\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,16), }\n", 0, 400},
    {"{'descr': '<f4', 'fortran_order': False}\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), 'x': 1}\n", 16, 400},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}\n", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), } x\n", 16, 400},
    {"__import__('os').system('true')\n", 16, 400},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 2), }\n", 16, 400},
    {"\n", 16, 400},
    {"", 16, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", 17, 400},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", 15, 400},
};

static size_t npy_make(unsigned char *out, int version, const char *dict, size_t data_size)
{
    const size_t length = strlen(dict), begin = version == 1 ? 10 : 12;

    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t i = 8; i < begin; i++)
        out[i] = (unsigned char)(length >> (8 * (i - 8)));
    memcpy(out + begin, dict, length);
    memset(out + begin + length, 0x3f, data_size);
    return begin + length + data_size;
}

TEST(test_npy_bodies)
{
    OWNED_API api = api_make(NULL);
    unsigned char body[400];

    for (int version = 0; version <= 4; version++)
        for (size_t i = 0; i < COUNT_OF(npy_rows); i++) {
            const size_t size = npy_make(body, version, npy_rows[i].dict, npy_rows[i].data_size);
            const bool known = version >= 1 && version <= 3;
            const struct row row = {NULL, known ? npy_rows[i].status : 400,
                                    known && npy_rows[i].status == 200 ? NULL : "malformed", NULL};
            OWNED_ANSWER answer =
                call_bytes(api, "POST", QUERY, "Content-Type: application/x-npy", body, size);
            answer_check(&answer, &row, npy_rows[i].dict);
            if (answer.status == 200) /* the last bytes are the elements */
                ck_assert_int_eq(memcmp(answer.body + answer.size - npy_rows[i].data_size,
                                        body + size - npy_rows[i].data_size, npy_rows[i].data_size),
                                 0);
        }
    for (size_t size = 1; size < 70; size++) { /* cut anywhere */
        static const struct row row = {NULL, 400, "malformed", NULL};
        npy_make(body, 2, npy_rows[0].dict, 16);
        OWNED_ANSWER answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-npy", body, size);
        answer_check(&answer, &row, "a cut file");
    }
}

/* 1.0, 2.0 and 3.0 are the versions. */
TEST(npy_versions)
{
    OWNED_API api = api_make(NULL);
    unsigned char body[400];

    for (int version = 0; version < 8; version++)
        for (int minor = 0; minor < 3; minor++) {
            const size_t size = npy_make(body, version, npy_rows[0].dict, npy_rows[0].data_size);
            body[7] = (unsigned char)minor;
            const bool known = version >= 1 && version <= 3 && minor == 0;
            OWNED_ANSWER answer =
                call_bytes(api, "POST", QUERY, "Content-Type: application/x-npy", body, size);
            ck_assert_msg(answer.status == (known ? 200 : 400), "%d.%d: %d", version, minor,
                          answer.status);
        }
}

/* Elements behind a header of any length. */
TEST(npy_alignment)
{
    static const char *const descrs[] = {"<f8", "<f4", "<f2", "<i8", "<i4"};
    const unsigned char elements[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < 17 * COUNT_OF(descrs); i++) {
            const char *descr = descrs[i / 17];
            unsigned char body[400];
            char dict[100];
            snprintf(dict, sizeof(dict),
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%d,)}%*s\n", descr,
                     16 / (descr[2] - '0'), (int)(i % 17), "");
            const size_t size = npy_make(body, version, dict, sizeof(elements));
            memcpy(body + size - sizeof(elements), elements, sizeof(elements));
            struct read read = reader_run(&api_reader_npy, body, size);
            tensor_check(&read, 0, elements, sizeof(elements));
            read_free(&read);
        }
}

/* ---- safetensors ----------------------------------------------------------------------------- */

struct st_row {
    const char *header;
    size_t data_size;
    int status;
    const char *code;
};

#define T(shape, begin, end)                                                                       \
    "{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

static const struct st_row st_rows[] = {
    {"{\"q\":" T("2,2", "0", "16") "}", 16, 200, NULL},
    {"  {\"q\":" T("2,2", "0", "16") "}   ", 16, 200, NULL},
    {"{\"q\":" T("1,2", "8", "16") ",\"k\":" T("1,2", "0", "8") "}", 16, 200, NULL},
    {"{\"q\":" T("0,2", "0", "0") "}", 0, 200, NULL},
    {"{\"__metadata__\":{\"a\":\"b\"},\"q\":" T("2,2", "0", "16") "}", 16, 200, NULL},
    {"{\"__metadata__\":{\"posenc.start\":\"1\"},\"q\":" T("2,2", "0", "16") "}", 16, 422,
     "conflicting-parameters"},
    {"{\"__metadata__\":{\"posenc.foo\":\"0\"},\"q\":" T("2,2", "0", "16") "}", 16, 422,
     "unknown-parameter"},
    {"\xff{}", 0, 400, "malformed"},
    {"{\"\xff\":" T("2,2", "0", "16") "}", 16, 400, "malformed"},
    {"{\"q\":", 16, 400, "malformed"},
    {"[]", 0, 400, "malformed"},
    {"{}", 1, 400, "malformed"},
    {"{}", 0, 422, "missing-parameter"},
    {"{\"q\":" T("2,2", "0", "16") ",\"k\":" T("2,2", "0", "16") "}", 16, 400, "malformed"},
    {"{\"q\":" T("2,2", "0", "16") ",\"k\":" T("2,2", "8", "24") "}", 24, 400, "malformed"},
    {"{\"q\":" T("1,2", "0", "8") ",\"k\":" T("1,2", "12", "20") "}", 20, 400, "malformed"},
    {"{\"q\":" T("1,2", "4", "12") "}", 12, 400, "malformed"},
    {"{\"q\":" T("2,2", "16", "0") "}", 16, 400, "malformed"},
    {"{\"q\":" T("2,2", "0", "16") "}", 15, 400, "malformed"},
    {"{\"q\":" T("2,2", "0", "16") "}", 17, 400, "malformed"},
    {"{\"q\":" T("2,2", "0", "12") "}", 12, 400, "malformed"},
    {"{\"q\":" T("2,9223372036854775807", "0", "16") "}", 16, 400, "malformed"},
    {"{\"q\":" T("2,18446744073709551614", "0", "16") "}", 16, 400, "malformed"},
    {"{\"q\":" T("4294967296,4294967296", "0", "0") "}", 0, 400, "malformed"},
    {"{\"q\":" T("-2,-2", "0", "16") "}", 16, 400, "malformed"},
    {"{\"q\":" T("2.0,2", "0", "16") "}", 16, 400, "malformed"},
    {"{\"q\":" T("2,2", "0", "16") ",\"q\":" T("2,2", "0", "16") "}", 16, 400, "malformed"},
    {"{\"q\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, 400, "malformed"},
    {"{\"q\":{\"dtype\":\"f32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}", 8, 400, "malformed"},
    {"{\"q\":{\"dtype\":\"F32\",\"shape\":[1,2]}}", 8, 400, "malformed"},
    {"{\"q\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8],\"x\":1}}", 8, 400,
     "malformed"},
    {"{\"q\":3}", 0, 400, "malformed"},
    {"{\"__metadata__\":{\"a\":1},\"q\":" T("2,2", "0", "16") "}", 16, 400, "malformed"},
    {"{\"__metadata__\":[],\"q\":" T("2,2", "0", "16") "}", 16, 400, "malformed"},
    {"{\"__metadata__\":" T("2,2", "0", "16") "}", 16, 400, "malformed"},
};

static size_t st_make(unsigned char *out, uint64_t length, const char *header, size_t data_size)
{
    for (size_t i = 0; i < 8; i++)
        out[i] = (unsigned char)(length >> (8 * i));
    memcpy(out + 8, header, strlen(header));
    memset(out + 8 + strlen(header), 0x3f, data_size);
    return 8 + strlen(header) + data_size;
}

TEST(test_safetensors_bodies)
{
    OWNED_API api = api_make(NULL);
    unsigned char body[400];
    static const uint64_t lengths[] = {UINT64_MAX, INT64_MAX, 1000, 60};

    for (size_t i = 0; i < COUNT_OF(st_rows); i++) {
        const struct st_row *from = &st_rows[i];
        const struct row row = {NULL, from->status, from->code, NULL};
        const size_t size = st_make(body, strlen(from->header), from->header, from->data_size);
        OWNED_ANSWER answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
        answer_check(&answer, &row, from->header);
    }
    for (size_t i = 0; i < 4; i++) {
        static const struct row row = {NULL, 400, "malformed", NULL};
        const size_t size = st_make(body, lengths[i], st_rows[0].header, 0);
        OWNED_ANSWER answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
        answer_check(&answer, &row, "a wrong length");
    }
    for (size_t size = 1; size < 8 + strlen(st_rows[0].header) + 16; size++) { /* cut anywhere */
        static const struct row row = {NULL, 400, "malformed", NULL};
        st_make(body, strlen(st_rows[0].header), st_rows[0].header, 16);
        OWNED_ANSWER answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
        answer_check(&answer, &row, "a cut file");
    }
}

TEST(test_safetensors_floods)
{
    static const struct row row = {NULL, 413, "too-large", NULL};
    struct api_settings settings = settings_make();
    settings.limits.body_max = 16 << 20;
    OWNED_API api = api_make(&settings);
    OWNED_MEMORY unsigned char *body = calloc(1, 4 << 20);
    struct answer answer;

    const uint64_t length = (1 << 20) + 1;
    memset(body, ' ', 2 << 20);
    for (size_t i = 0; i < 8; i++)
        body[i] = (unsigned char)(length >> (8 * i));
    body[8] = '{';
    answer =
        call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, 2 << 20);
    answer_check(&answer, &row, "a header over 1 MiB");
    answer_free(&answer);

    OWNED_MEMORY char *header = malloc(1 << 20);
    size_t size = (size_t)sprintf(header, "{\"a\":" T("0", "0", "0"));
    for (size_t i = 0; size < (1 << 20) - 100; i++)
        size += (size_t)sprintf(header + size, ",\"%zu\":" T("0", "0", "0"), i);
    sprintf(header + size, "}");
    size = st_make(body, strlen(header), header, 0);
    answer = call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
    answer_check(&answer, &row, "thousands of one range");
    answer_free(&answer);
}

/* Data behind a header of any length, and a tensor with an unaligned offset. */
TEST(test_safetensors_alignment)
{
    OWNED_API api = api_make(NULL);

    for (size_t pad = 0; pad < 9; pad++) {
        unsigned char body[400];
        char header[300];
        const float values[4] = {1.5f, -2.5f, 3.25f, -4.125f};
        const int16_t half[2] = {0x3c00, 0x4000};
        snprintf(header, sizeof(header),
                 "{\"h\":{\"dtype\":\"F16\",\"shape\":[1,2],\"data_offsets\":[0,4]},"
                 "\"d\":{\"dtype\":\"F64\",\"shape\":[1,2],\"data_offsets\":[4,20]}}%*s",
                 (int)pad, "");
        st_make(body, strlen(header), header, 20);
        const double wide[2] = {values[0], values[3]};
        memcpy(body + 8 + strlen(header), half, 4);
        memcpy(body + 12 + strlen(header), wide, 16);
        OWNED_ANSWER answer =
            call_bytes(api, "POST", QUERY "&format=json", NULL, body, 28 + strlen(header));
        ck_assert_int_eq(answer.status, 200);
        ck_assert(member_number(&answer, "tensors.h.data.0.1") == 2);
        ck_assert(member_number(&answer, "tensors.d.data.0.0") == 1.5);
        ck_assert(member_number(&answer, "tensors.d.data.0.1") == -4.125);
        cases++;
    }
}

/* Contiguous tensors of 0, 1 or 2 bytes in every order of names: empty ones begin at the same
 * offset as their neighbours. */
static size_t layout_make(unsigned char *body, const size_t *sizes, size_t count,
                          const size_t *order, size_t more)
{
    size_t begins[8], begin = 0, length = 1;
    char header[600] = "{";

    for (size_t i = 0; i < count; i++) {
        begins[i] = begin;
        begin += sizes[i];
    }
    for (size_t i = 0; i < count; i++) {
        const size_t at = order[i];
        length += (size_t)sprintf(header + length,
                                  "%s\"t%zu\":{\"dtype\":\"U8\",\"shape\":[%zu],"
                                  "\"data_offsets\":[%zu,%zu]}",
                                  i ? "," : "", at, sizes[at], begins[at], begins[at] + sizes[at]);
    }
    strcat(header, "}");
    const size_t size = st_make(body, strlen(header), header, begin + more);
    for (size_t i = 0; i < begin; i++)
        body[8 + strlen(header) + i] = (unsigned char)i;
    return size;
}

static void layout_check(const size_t sizes[4], const size_t order[4])
{
    static const unsigned char bytes[] = {0, 1, 2, 3, 4, 5, 6, 7};
    unsigned char body[800];

    for (size_t more = 0; more < 2; more++) {
        const size_t size = layout_make(body, sizes, 4, order, more);
        struct read read = reader_run(&api_reader_safetensors, body, size);
        ck_assert_msg(!read.err.status == !more, "%.*s: %s", (int)(size - 8), (char *)body + 8,
                      read.err.detail);
        for (size_t i = 0; i < 4 && !more; i++) {
            size_t begin = 0;
            for (size_t k = 0; k < order[i]; k++)
                begin += sizes[k];
            tensor_check(&read, i, bytes + begin, sizes[order[i]]);
        }
        read_free(&read);
    }
}

TEST(safetensors_layouts)
{
    for (size_t i = 0; i < 81; i++) {
        const size_t sizes[4] = {i % 3, i / 3 % 3, i / 9 % 3, i / 27};
        for (size_t k = 0; k < 256; k++) {
            const size_t order[4] = {k & 3, k >> 2 & 3, k >> 4 & 3, k >> 6};
            const unsigned all = 1u << order[0] | 1u << order[1] | 1u << order[2] | 1u << order[3];
            if (all == 15)
                layout_check(sizes, order);
        }
    }
}

/* ---- raw ------------------------------------------------------------------------------------- */

TEST(test_raw_bodies)
{
    static const struct {
        const char *headers;
        struct row row;
    } raw_rows[] = {
        {"Tensor-Dtype: f32\nTensor-Shape: 2,2", {NULL, 200, NULL, NULL}},
        {"Tensor-Dtype: F64\nTensor-Shape: 1, 2", {NULL, 200, NULL, NULL}},
        {"Tensor-Dtype: f32", {NULL, 422, "missing-parameter", "header:Tensor-Shape"}},
        {"Tensor-Shape: 2,2", {NULL, 422, "missing-parameter", "header:Tensor-Dtype"}},
        {"Tensor-Dtype: f31\nTensor-Shape: 2,2", {NULL, 422, NULL, "header:Tensor-Dtype"}},
        {"Tensor-Dtype: f32\nTensor-Shape: 2,-2", {NULL, 422, NULL, "header:Tensor-Shape"}},
        {"Tensor-Dtype: f32\nTensor-Shape: 2,", {NULL, 422, NULL, "header:Tensor-Shape"}},
        {"Tensor-Dtype: f32\nTensor-Shape: 2x2", {NULL, 422, NULL, "header:Tensor-Shape"}},
        {"Tensor-Dtype: f32\nTensor-Shape: 1,1,1,1,1,1,1,2,2", {NULL, 422, NULL, NULL}},
        {"Tensor-Dtype: f32\nTensor-Shape: 99999999999999999999,2", {NULL, 422, NULL, NULL}},
        {"Tensor-Dtype: f32\nTensor-Shape: 4294967296,4294967296", {NULL, 422, NULL, NULL}},
        {"Tensor-Dtype: f32\nTensor-Shape: 2,3", {NULL, 422, "shape-mismatch", NULL}},
    };
    const float values[4] = {1, 2, 3, 4};
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(raw_rows); i++) {
        char headers[200];
        snprintf(headers, sizeof(headers), "Content-Type: application/octet-stream\n%s",
                 raw_rows[i].headers);
        OWNED_ANSWER answer = call_bytes(api, "POST", QUERY, headers, values, sizeof(values));
        answer_check(&answer, &raw_rows[i].row, raw_rows[i].headers);
        if (answer.status == 200)
            ck_assert_int_eq(memcmp(answer.body, values, sizeof(values)), 0);
    }
}

CHECK_WAY(.cases = &cases);
