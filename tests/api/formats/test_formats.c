/* SPDX-License-Identifier: MIT */

/* Formats compared with each other and with their definitions. */

#include <math.h>
#include <stdint.h>

#include "api/formats/formats.h"
#include "posenc/dtype.h"
#include "tests/api/harness.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/sinusoidal/table"
#define ROPE  "/v1/encodings/rope/table"

/* The media types of formats.def, which the contract test reads, are those of the formats. */
TEST(test_media_types)
{
#define FORMAT(type, name) ck_assert_str_eq(api_format_##name.media_type, type);
#define READER(type, name) ck_assert_str_eq(api_reader_##name.media_type, type);
#include "api/formats/formats.def"
#undef FORMAT
#undef READER
}

/* Attention Is All You Need's matrix for base 100, as published. */
TEST(test_published)
{
    static const double published[4][4] = {
        {0.0, 1.0, 0.0, 1.0},
        {0.84147098, 0.54030231, 0.09983342, 0.99500417},
        {0.90929743, -0.41614684, 0.19866933, 0.98006658},
        {0.14112001, -0.9899925, 0.29552021, 0.95533649},
    };
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(api, "GET", TABLE "?length=4&dim=4&base=100&dtype=f64", NULL, NULL);
    json_t *rows = member(&answer, "tensors.table.data");

    ck_assert_uint_eq(json_array_size(rows), 4);
    for (size_t i = 0; i < 4; i++) {
        json_t *row = json_array_get(rows, i);
        ck_assert_uint_eq(json_array_size(row), 4);
        for (size_t j = 0; j < 4; j++)
            ck_assert_double_eq_tol(json_number_value(json_array_get(row, j)), published[i][j],
                                    5e-9);
    }
    ck_assert_str_eq(member_text(&answer, "encoding.name"), "sinusoidal");
    ck_assert_str_eq(member_text(&answer, "encoding.layout"), "interleaved");
    ck_assert_int_eq(json_integer_value(member(&answer, "encoding.base")), 100);
    ck_assert_str_eq(member_text(&answer, "tensors.table.dtype"), "f64");
    ck_assert_int_eq(json_integer_value(member(&answer, "tensors.table.shape.1")), 4);
    ck_assert(json_is_array(member(&answer, "warnings")));
}

static void flatten(const json_t *data, double *out, size_t *count)
{
    if (json_is_array(data)) {
        for (size_t i = 0; i < json_array_size(data); i++)
            flatten(json_array_get(data, i), out, count);
        return;
    }
    if (json_is_string(data))
        out[(*count)++] = strcmp(json_string_value(data), "NaN") == 0 ? NAN
                          : *json_string_value(data) == '-'           ? -INFINITY
                                                                      : INFINITY;
    else
        out[(*count)++] = json_number_value(data);
}

static size_t base64_read(const char *text, unsigned char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, held = 0;
    size_t size = 0;

    for (; *text && *text != '='; text++) {
        held = held << 6 | (unsigned)(strchr(digits, *text) - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[size++] = (unsigned char)(held >> bits);
        }
    }
    return size;
}

/* The data of all JSON tensors, in order, converted to their dtypes: the bytes of raw. */
static size_t json_bytes(const struct answer *answer, unsigned char *out)
{
    json_t *tensor;
    const char *name;
    size_t size = 0;

    json_object_foreach(member(answer, "tensors"), name, tensor)
    {
        const json_t *data = json_object_get(tensor, "data");
        enum pe_dtype dtype;
        size_t count = 0;

        ck_assert(pe_dtype_find(json_string_value(json_object_get(tensor, "dtype")), &dtype));
        if (!data) {
            size += base64_read(json_string_value(json_object_get(tensor, "base64")), out + size);
            continue;
        }
        double *values = malloc(sizeof(double) << 21);
        flatten(data, values, &count);
        for (size_t i = 0; i < count; i++) {
            const int64_t integer = dtype == PE_I64 ? (int64_t)values[i] : 0;
            /* the shortest digits of an f32 have to be read as an f32 */
            const float narrow = (float)values[i];
            const size_t width = pe_dtype_info(dtype)->size;
            if (dtype == PE_I64)
                memcpy(out + size, &integer, width);
            else if (dtype == PE_F64)
                memcpy(out + size, &values[i], width);
            else
                pe_from_f32(out + size, dtype, &narrow, 1);
            size += width;
        }
        free(values);
    }
    return size;
}

/* The size of the header of an npy or safetensors file. */
static size_t header_size(const unsigned char *body, bool npy)
{
    uint64_t size;

    if (npy)
        return 10 + body[8] + 256 * (size_t)body[9];
    memcpy(&size, body, sizeof(size));
    return sizeof(size) + (size_t)size;
}

/* JSON nested, flat and base64, npy, safetensors and raw have the same bytes. */
TEST(test_formats_agree)
{
    static const char *const targets[] = {
        TABLE "?dim=7&length=300&start=-2.5",
        TABLE "?dim=64&positions=0,5,7..9,1e6,-3..-1&dtype=f64",
        TABLE "?dim=128&length=2000&dtype=bf16",
        ROPE "?dim=16&length=33&dtype=f16",
        ROPE "?dim=128&length=3000",
        ROPE "?dim=8&length=5&part=complex&dtype=f64",
        ROPE "?dim=8&length=5&part=sin&duplicate=true",
        ROPE "?dim=8&length=0",
        "/v1/encodings/rope/frequencies?dim=128&rope_type=linear&factor=4",
        "/v1/encodings/alibi/bias?heads=3&query_length=5&key_length=9&causal=true",
        "/v1/encodings/alibi/bias?heads=12&query_length=130&key_length=611",
        "/v1/encodings/alibi/bias?heads=2&query_length=0&key_length=3",
        "/v1/encodings/shaw/bias?max_relative_position=4&query_length=6&key_length=11",
    };
    OWNED_API api = api_make(NULL);
    OWNED_MEMORY unsigned char *bytes = malloc(1 << 24);
    unsigned long compared = 0;

    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        static const char *const json[] = {"", "&flat=true", "&data_format=base64"};
        static const char *const binary[] = {"safetensors", "npy"};
        char target[300];
        snprintf(target, sizeof(target), "%s&format=raw", targets[i]);
        OWNED_ANSWER raw = call(api, "GET", target, NULL, NULL);
        ck_assert_msg(raw.status == 200, "%s: %.300s", target, (char *)raw.body);
        for (size_t j = 0; j < 3; j++) {
            snprintf(target, sizeof(target), "%s%s", targets[i], json[j]);
            OWNED_ANSWER answer = call(api, "GET", target, NULL, NULL);
            ck_assert_msg(answer.status == 200, "%s: %.300s", target, (char *)answer.body);
            ck_assert_msg(json_bytes(&answer, bytes) == raw.size, "%s: size", target);
            ck_assert_msg(memcmp(bytes, raw.body, raw.size) == 0, "%s: bytes", target);
            compared += raw.size;
        }
        for (size_t j = 0; j < 2; j++) {
            snprintf(target, sizeof(target), "%s&format=%s", targets[i], binary[j]);
            OWNED_ANSWER answer = call(api, "GET", target, NULL, NULL);
            if (answer.status == 406) { /* npy cannot contain the tensors */
                ck_assert_uint_eq(j, 1);
                answer_free(&answer);
                continue;
            }
            ck_assert_msg(answer.status == 200, "%s: %.300s", target, (char *)answer.body);
            const size_t header = header_size(answer.body, j == 1);
            const size_t data = answer.size - header;
            ck_assert_uint_eq(header % (j == 0 ? 8 : 64), 0);
            /* npy may contain the first tensor alone; raw has all in the same order. */
            ck_assert_msg(j == 1 ? data <= raw.size : data == raw.size, "%s: size", target);
            ck_assert_msg(memcmp(answer.body + header, raw.body, data) == 0, "%s: bytes", target);
            compared += data;
        }
    }
    printf("%lu bytes compared between formats\n", compared);
}

TEST(test_npy_header)
{
    static const struct {
        const char *target, *dict;
    } table[] = {
        {TABLE "?dim=4&length=3&format=npy",
         "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"},
        {ROPE "?dim=4&length=3&dtype=f16&format=npy",
         "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3, 2), }"},
        {ROPE "?dim=4&length=3&part=complex&format=npy",
         "{'descr': '<c8', 'fortran_order': False, 'shape': (3, 2), }"},
        {ROPE "?dim=4&length=3&part=cos&dtype=f64&format=npy",
         "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }"},
        {"/v1/encodings/shaw/bias?max_relative_position=1&query_length=2&format=npy",
         "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }"},
    };
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        OWNED_ANSWER answer = call(api, "GET", table[i].target, NULL, NULL);
        const size_t length = strlen(table[i].dict);
        ck_assert_msg(answer.status == 200, "%s: %.200s", table[i].target, (char *)answer.body);
        ck_assert_mem_eq(answer.body, "\x93NUMPY\x01\x00", 8);
        const size_t header = answer.body[8] + 256u * answer.body[9];
        ck_assert_uint_eq((header + 10) % 64, 0);
        ck_assert_msg(memcmp(answer.body + 10, table[i].dict, length) == 0, "%.100s",
                      (char *)answer.body + 10);
        for (size_t j = 10 + length; j < 9 + header; j++)
            ck_assert_int_eq(answer.body[j], ' ');
        ck_assert_int_eq(answer.body[9 + header], '\n');
    }
}

TEST(test_safetensors_header)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer =
        call(api, "GET", ROPE "?dim=4&length=3&base=500000&format=safetensors", NULL, NULL);
    uint64_t length = 0;
    json_error_t error;
    json_t *header;

    memcpy(&length, answer.body, 8);
    ck_assert_uint_eq(length % 8, 0);
    header = json_loadb((char *)answer.body + 8, length, 0, &error);
    ck_assert_ptr_nonnull(header);
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(header, "__metadata__"),
                                                       "posenc.encoding")),
                     "rope");
    ck_assert_str_eq(
        json_string_value(json_object_get(json_object_get(header, "__metadata__"), "posenc.base")),
        "500000");
    json_t *sin = json_object_get(header, "sin");
    ck_assert_str_eq(json_string_value(json_object_get(sin, "dtype")), "F32");
    ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(sin, "data_offsets"), 0)),
                     24);
    ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(sin, "data_offsets"), 1)),
                     48);
    ck_assert_uint_eq(answer.size, 8 + length + 48);
    json_decref(header);
    ck_assert_str_eq(answer_header(&answer, "Content-Disposition"),
                     "attachment; filename=\"rope_d4_n3_f32.safetensors\"");
    ck_assert_ptr_nonnull(strstr(answer_header(&answer, "Encoding-Parameters"), "\"base\":500000"));
    answer_free(&answer);
    answer = call(api, "GET", ROPE "?dim=4&length=3&part=complex&format=raw", NULL, NULL);
    ck_assert_str_eq(answer_header(&answer, "Tensor-Shape"), "3,2,2");
    ck_assert_str_eq(answer_header(&answer, "Tensor-Dtype"), "f32");
}

TEST(test_scalars)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(api, "GET",
                               ROPE "?dim=64&length=1&rope_type=yarn&factor=4"
                                    "&original_max_position_embeddings=64",
                               NULL, NULL);

    ck_assert_double_eq_tol(member_number(&answer, "attention_factor"), 0.1 * log(4) + 1, 1e-15);
    answer_free(&answer);
    answer =
        call(api, "GET", "/v1/encodings/alibi/bias?heads=1&query_length=2&causal=true", NULL, NULL);
    ck_assert_str_eq(member_text(&answer, "tensors.bias.data.0.0.1"), "-Infinity");
}

TEST(test_empty_shapes)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(
        api, "GET", "/v1/encodings/alibi/bias?heads=2&query_length=0&key_length=3", NULL, NULL);
    json_t *expected = json_pack("[[][]]");

    ck_assert(json_equal(member(&answer, "tensors.bias.data"), expected));
    json_decref(expected);
    answer_free(&answer);
    answer = call(api, "GET", TABLE "?dim=4&length=0&flat=true", NULL, NULL);
    ck_assert_uint_eq(json_array_size(member(&answer, "tensors.table.data")), 0);
    answer_free(&answer);
    answer = call(api, "GET", TABLE "?dim=4&length=0&format=npy", NULL, NULL);
    ck_assert_uint_eq(answer.size, 128);
}
