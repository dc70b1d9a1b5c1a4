/* SPDX-License-Identifier: MIT */

/* Bodies of every format, whole and broken. A rotation by 0 gives back what was read. */

#include <math.h>

#include "tests/api/harness.h"

static unsigned long cases;

#define QUERY       "/v1/rotation?encoding=rope&axes=sd&dim=2&layout=half&delta=0"
#define JSON(t)     "{\"tensors\":" t "}"
#define DATA(t)     JSON("{\"q\":{\"data\":" t "}}")
#define TYPED(d, t) JSON("{\"q\":{\"dtype\":\"" d "\",\"data\":" t "}}")
#define TEN(t)      t t t t t t t t t t

struct row {
    const char *body;
    int status;
    const char *code, *place; /* NULL: not looked at */
};

static const struct row rows[] = {
    /* whole ones */
    {DATA("[[1,2],[3,4]]"), 200, NULL, NULL},
    {DATA(" [ [ 1 , 2 ] ,\n[ 3e0 , -4.5E-1 ] ] "), 200, NULL, NULL},
    {JSON("{\"q\":{\"shape\":[2,2],\"data\":[1,2,3,4]}}"), 200, NULL, NULL},
    {JSON("{\"q\":{\"data\":[[1,2]]},\"k\":{\"dtype\":\"F64\",\"data\":[[1,2]]}}"), 200, NULL,
     NULL},
    {JSON("{\"q\":{\"shape\":[0,2],\"data\":[]}}"), 200, NULL, NULL},
    {JSON("{\"q\":{\"shape\":[2.0,2e0],\"data\":[1,2,3,4]}}"), 200, NULL, NULL},
    {"{\"\\u0074ensors\":{\"q\":{\"d\\u0061ta\":[[1,2]]}}}", 200, NULL, NULL},
    {DATA("[[\"NaN\",1],[\"Infinity\",\"-Infinity\"]]"), 200, NULL, NULL},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAAAEA=\"}}"), 200, NULL, NULL},
    /* 38-50: not JSON */
    {"", 400, "malformed", NULL},
    {" ", 400, "malformed", NULL},
    {"{\"tensors\":{\"q\":{\"data\":[[1,2]", 400, "malformed", NULL},
    {DATA("[[1,2]]") "x", 400, "malformed", NULL},
    {"\xef\xbb\xbf" DATA("[[1,2]]"), 400, "malformed", NULL},
    {"{\"\xff\":1}", 400, "malformed", NULL},
    {"{\"\\ud800\":1}", 400, "malformed", NULL},
    {"{\"a\\u0000\":1}", 400, "malformed", NULL},
    {JSON("{\"q\":{\"data\":[[1,2]]},\"q\":{\"data\":[[1,2]]}}"), 400, "malformed", NULL},
    {JSON("{\"q\":{\"data\":[[1,2]],\"data\":[[1,2]]}}"), 400, "malformed", NULL},
    {"{\"tensors\":{},\"tensors\":{}}", 400, "malformed", NULL},
    {DATA("[[NaN,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[Infinity,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[1e400,2]]"), 400, "malformed", "tensor:q"},
    {"{\"start\":1e400}", 400, "malformed", NULL},
    {"{\"start\":18446744073709551616}", 400, "malformed", NULL},
    {DATA("[[01,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[0x1,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[1.,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[.5,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[+1,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[1e,2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[1,]]"), 400, "malformed", "tensor:q"},
    {DATA("[[,1]]"), 400, "malformed", "tensor:q"},
    {DATA("[[1 2]]"), 400, "malformed", "tensor:q"},
    {DATA("[[1,2] [3,4]]"), 400, "malformed", "tensor:q"},
    {DATA("[{\"a\":1}]"), 400, "malformed", "tensor:q"},
    {DATA("[[1,\"]\"]]"), 422, "invalid-parameter", "tensor:q"},
    {"[]", 400, "malformed", NULL},
    {"1", 400, "malformed", NULL},
    {DATA(TEN(TEN("[")) TEN(TEN("]"))), 400, "malformed", NULL},
    {"{\"a\":" TEN(TEN("[")) TEN(TEN("]")) "}", 400, "malformed", NULL},
    /* 51-53 and what stands in a tensor */
    {"{\"tensor\":1}", 422, NULL, NULL},
    {DATA("[[1,\"2\"]]"), 422, "invalid-parameter", "tensor:q"},
    {DATA("[[1,true]]"), 422, "invalid-parameter", "tensor:q"},
    {DATA("[[1,null]]"), 422, "invalid-parameter", "tensor:q"},
    {DATA("[[1,2],[3]]"), 422, "shape-mismatch", "tensor:q"},
    {DATA("[[1,2],3]"), 422, "shape-mismatch", "tensor:q"},
    {DATA("[1,[2]]"), 422, "shape-mismatch", "tensor:q"},
    {DATA("[[],[[]]]"), 422, "shape-mismatch", "tensor:q"},
    {DATA("[[[]],[]]"), 422, "shape-mismatch", "tensor:q"},
    {DATA("[[[[[[[[[1]]]]]]]]]"), 422, "invalid-parameter", "tensor:q"},
    {DATA("[[1e39,2]]"), 422, "out-of-range", "tensor:q"},
    {TYPED("f16", "[[65520,2]]"), 422, "out-of-range", "tensor:q"},
    {TYPED("f8", "[[1,2]]"), 422, "invalid-parameter", "tensor:q"},
    {TYPED("i32", "[[2147483648,2]]"), 422, "out-of-range", "tensor:q"},
    {TYPED("i64", "[[9223372036854775808,2]]"), 422, "out-of-range", "tensor:q"},
    {TYPED("u32", "[[-1,2]]"), 422, "out-of-range", "tensor:q"},
    {TYPED("i32", "[[1.5,2]]"), 422, "invalid-parameter", "tensor:q"},
    {TYPED("i32", "[[\"NaN\",2]]"), 422, "invalid-parameter", "tensor:q"},
    {TYPED("i32", "[[64.0,6.4e1]]"), 422, "unsupported", "tensor:q"}, /* read, but not rotated */
    {TYPED("bool", "[[true,false]]"), 422, "unsupported", "tensor:q"},
    {TYPED("bool", "[[2,false]]"), 422, "out-of-range", "tensor:q"},
    {JSON("[]"), 422, "invalid-parameter", "pointer:/tensors"},
    {JSON("{\"q\":[[1,2]]}"), 422, "invalid-parameter", "tensor:q"},
    {JSON("{\"q\":{}}"), 422, "missing-parameter", "tensor:q"},
    {JSON("{\"q\":{\"data\":3}}"), 422, "invalid-parameter", "tensor:q"},
    {JSON("{\"q\":{\"data\":[[1,2]],\"name\":1}}"), 422, "unknown-parameter", "tensor:q"},
    {JSON("{\"q\":{\"data\":[[1,2]],\"base64\":\"\"}}"), 422, "conflicting-parameters", "tensor:q"},
    {JSON("{}"), 422, "missing-parameter", NULL},
    /* 76-88 */
    {JSON("{\"q\":{\"shape\":[-1,4],\"data\":[]}}"), 422, "invalid-parameter", "tensor:q"},
    {JSON("{\"q\":{\"shape\":[],\"data\":[1]}}"), 422, "invalid-parameter", "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,1,1,1,1,1,1,1,2],\"data\":[1,2]}}"), 422, "invalid-parameter",
     NULL},
    {JSON("{\"q\":{\"shape\":[9007199254740992,4096],\"data\":[]}}"), 422, "shape-mismatch", NULL},
    {JSON("{\"q\":{\"shape\":[1.5,2],\"data\":[1,2,3]}}"), 422, "invalid-parameter", NULL},
    {JSON("{\"q\":{\"shape\":[2,2],\"data\":[1,2,3]}}"), 422, "shape-mismatch", "tensor:q"},
    {JSON("{\"q\":{\"shape\":[2,2],\"data\":[1,2,3,4,5]}}"), 422, "shape-mismatch", "tensor:q"},
    {JSON("{\"q\":{\"shape\":[2,2],\"data\":[[1,2,3,4]]}}"), 422, "shape-mismatch", "tensor:q"},
    {JSON("{\"q\":{\"base64\":\"AACAPwAAAEA=\"}}"), 422, "missing-parameter", "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAAAE==\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAA*EA=\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAAAEB=\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AAAA\"}}"), 422, "shape-mismatch", "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1048576,1048576],\"base64\":\"\"}}"), 422, "shape-mismatch", NULL},
};

static void answer_check(const struct answer *answer, const struct row *row, const char *label)
{
    char place[200] = "";
    static const char *const kinds[] = {"parameter", "tensor", "pointer", "header"};

    ck_assert_msg(answer->status == row->status, "%s: %d, expected %d: %.300s", label,
                  answer->status, row->status, (const char *)answer->body);
    if (row->code)
        ck_assert_msg(strcmp(member_text(answer, "code"), row->code) == 0, "%s: %.300s", label,
                      (const char *)answer->body);
    for (size_t i = 0; i < 4; i++) {
        char path[40];
        snprintf(path, sizeof(path), "errors.0.%s", kinds[i]);
        if (*member_text(answer, path))
            snprintf(place, sizeof(place), "%s:%s", kinds[i], member_text(answer, path));
    }
    if (row->place)
        ck_assert_msg(strcmp(place, row->place) == 0, "%s: at %s, expected %s: %.300s", label,
                      place, row->place, (const char *)answer->body);
    cases++;
}

START_TEST(test_json_bodies)
{
    struct api *api = api_make(NULL);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct answer answer =
            call(api, "POST", QUERY, "Content-Type: application/json", rows[i].body);
        answer_check(&answer, &rows[i], rows[i].body);
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

START_TEST(test_json_floods)
{
    static const struct row deep = {NULL, 400, "malformed", NULL},
                            wide = {NULL, 413, "too-large", NULL};
    struct api_settings settings = settings_make();
    settings.limits.json_body_max = settings.limits.body_max = 16 << 20;
    struct api *api = api_make(&settings);
    const size_t count = 1000000;
    char *body = malloc(16 * count);
    struct answer answer;

    memset(body, '[', 100000);
    answer = call_bytes(api, "POST", QUERY, "Content-Type: application/json", body, 100000);
    answer_check(&answer, &deep, "100000 brackets");
    answer_free(&answer);

    size_t size = (size_t)sprintf(body, "{\"tensors\":{\"q\":{\"data\":");
    memset(body + size, '[', 3000);
    memset(body + size + 3000, ']', 3000);
    size += 6000;
    size += (size_t)sprintf(body + size, "}}}");
    answer = call_bytes(api, "POST", QUERY, "Content-Type: application/json", body, size);
    answer_check(&answer, &deep, "3000 levels of data");
    answer_free(&answer);

    size = (size_t)sprintf(body, "{\"a\":0");
    for (size_t i = 0; i < count; i++)
        size += (size_t)sprintf(body + size, ",\"%zu\":0", i);
    body[size++] = '}';
    answer = call_bytes(api, "POST", QUERY, "Content-Type: application/json", body, size);
    answer_check(&answer, &wide, "a million keys");
    answer_free(&answer);

    size = (size_t)sprintf(body, "{\"tensors\":{");
    for (size_t i = 0; i < 17; i++)
        size += (size_t)sprintf(body + size, "%s\"q%zu\":{\"data\":[[1,2]]}", i ? "," : "", i);
    size += (size_t)sprintf(body + size, "}}");
    answer = call_bytes(api, "POST", QUERY, "Content-Type: application/json", body, size);
    answer_check(&answer, &wide, "17 tensors of 16");
    answer_free(&answer);
    free(body);
    api_free(api);
}
END_TEST

/* Text to f32, f16 and bf16 in one rounding: a hair above a tie is up, the tie itself to even. */
START_TEST(test_json_rounding)
{
    static const struct {
        const char *dtype, *text;
        double expected;
    } numbers[] = {
        {"f32", "1.00000005960464477539062500000000000000001", 0x1.000002p0},
        {"f32", "1.000000059604644775390625", 1.0},
        {"f32", "16777217.0000000000000000001", 16777218},
        {"f32", "16777217", 16777216},
        {"f16", "1.00048828125000000000000000000000001", 0x1.004p0},
        {"f16", "1.00048828125", 1.0},
        {"f16", "1.00048828124999999999999999999999999", 1.0},
        {"f16", "-1.00048828125000000000000000000000001", -0x1.004p0},
        {"f16", "2.98023223876953125e-8", 0},
        {"f16", "2.980232238769531250000000000000000001e-8", 0x1p-24},
        {"bf16", "1.0039062500000000000000000000000000001", 0x1.02p0},
        {"bf16", "1.00390625", 1.0},
        {"f64", "0.1", 0.1},
        {"f64", "4.9406564584124654e-324", 4.9406564584124654e-324},
    };
    struct api *api = api_make(NULL);

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char body[300];
        snprintf(body, sizeof(body), TYPED("%s", "[[%s,0]]"), numbers[i].dtype, numbers[i].text);
        struct answer answer = call(api, "POST", QUERY, "Content-Type: application/json", body);
        ck_assert_int_eq(answer.status, 200);
        const double value = json_number_value(member(&answer, "tensors.q.data.0.0"));
        if (strcmp(numbers[i].dtype, "f64") == 0)
            ck_assert(value == numbers[i].expected);
        else /* printed in the shortest digits of f32 */
            ck_assert_msg((float)value == (float)numbers[i].expected, "%s %s: %.17g",
                          numbers[i].dtype, numbers[i].text, value);
        cases++;
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

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

START_TEST(test_npy_bodies)
{
    struct api *api = api_make(NULL);
    unsigned char body[400];

    for (int version = 0; version <= 4; version++)
        for (size_t i = 0; i < sizeof(npy_rows) / sizeof(npy_rows[0]); i++) {
            const size_t size = npy_make(body, version, npy_rows[i].dict, npy_rows[i].data_size);
            const bool known = version >= 1 && version <= 3;
            const struct row row = {NULL, known ? npy_rows[i].status : 400,
                                    known && npy_rows[i].status == 200 ? NULL : "malformed", NULL};
            struct answer answer =
                call_bytes(api, "POST", QUERY, "Content-Type: application/x-npy", body, size);
            answer_check(&answer, &row, npy_rows[i].dict);
            if (answer.status == 200) /* the last bytes are the elements */
                ck_assert_int_eq(memcmp(answer.body + answer.size - npy_rows[i].data_size,
                                        body + size - npy_rows[i].data_size, npy_rows[i].data_size),
                                 0);
            answer_free(&answer);
        }
    for (size_t size = 1; size < 70; size++) { /* cut anywhere */
        static const struct row row = {NULL, 400, "malformed", NULL};
        npy_make(body, 2, npy_rows[0].dict, 16);
        struct answer answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-npy", body, size);
        answer_check(&answer, &row, "a cut file");
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

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
    {"{\"__metadata__\":{\"posenc.start\":\"0\"},\"q\":" T("2,2", "0", "16") "}", 16, 422,
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

START_TEST(test_safetensors_bodies)
{
    struct api *api = api_make(NULL);
    unsigned char body[400];
    static const uint64_t lengths[] = {UINT64_MAX, INT64_MAX, 1000, 60};

    for (size_t i = 0; i < sizeof(st_rows) / sizeof(st_rows[0]); i++) {
        const struct st_row *from = &st_rows[i];
        const struct row row = {NULL, from->status, from->code, NULL};
        const size_t size = st_make(body, strlen(from->header), from->header, from->data_size);
        struct answer answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
        answer_check(&answer, &row, from->header);
        answer_free(&answer);
    }
    for (size_t i = 0; i < 4; i++) {
        static const struct row row = {NULL, 400, "malformed", NULL};
        const size_t size = st_make(body, lengths[i], st_rows[0].header, 0);
        struct answer answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
        answer_check(&answer, &row, "a wrong length");
        answer_free(&answer);
    }
    for (size_t size = 1; size < 8 + strlen(st_rows[0].header) + 16; size++) { /* cut anywhere */
        static const struct row row = {NULL, 400, "malformed", NULL};
        st_make(body, strlen(st_rows[0].header), st_rows[0].header, 16);
        struct answer answer =
            call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
        answer_check(&answer, &row, "a cut file");
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

START_TEST(test_safetensors_floods)
{
    static const struct row row = {NULL, 413, "too-large", NULL};
    struct api_settings settings = settings_make();
    settings.limits.body_max = 16 << 20;
    struct api *api = api_make(&settings);
    unsigned char *body = calloc(1, 4 << 20);
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

    char *header = malloc(1 << 20);
    size_t size = (size_t)sprintf(header, "{\"a\":" T("0", "0", "0"));
    for (size_t i = 0; size < (1 << 20) - 100; i++)
        size += (size_t)sprintf(header + size, ",\"%zu\":" T("0", "0", "0"), i);
    sprintf(header + size, "}");
    size = st_make(body, strlen(header), header, 0);
    answer = call_bytes(api, "POST", QUERY, "Content-Type: application/x-safetensors", body, size);
    answer_check(&answer, &row, "thousands of one range");
    answer_free(&answer);
    free(header);
    free(body);
    api_free(api);
}
END_TEST

/* Data behind a header of any length, and a tensor that is odd by its own offset. */
START_TEST(test_safetensors_alignment)
{
    struct api *api = api_make(NULL);

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
        struct answer answer =
            call_bytes(api, "POST", QUERY "&format=json", NULL, body, 28 + strlen(header));
        ck_assert_int_eq(answer.status, 200);
        ck_assert(json_number_value(member(&answer, "tensors.h.data.0.1")) == 2);
        ck_assert(json_number_value(member(&answer, "tensors.d.data.0.0")) == 1.5);
        ck_assert(json_number_value(member(&answer, "tensors.d.data.0.1")) == -4.125);
        cases++;
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

/* ---- raw ------------------------------------------------------------------------------------- */

START_TEST(test_raw_bodies)
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
    struct api *api = api_make(NULL);

    for (size_t i = 0; i < sizeof(raw_rows) / sizeof(raw_rows[0]); i++) {
        char headers[200];
        snprintf(headers, sizeof(headers), "Content-Type: application/octet-stream\n%s",
                 raw_rows[i].headers);
        struct answer answer = call_bytes(api, "POST", QUERY, headers, values, sizeof(values));
        answer_check(&answer, &raw_rows[i].row, raw_rows[i].headers);
        if (answer.status == 200)
            ck_assert_int_eq(memcmp(answer.body, values, sizeof(values)), 0);
        answer_free(&answer);
    }
    api_free(api);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("readers");
    TCase *tcase = tcase_create("bodies");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_json_bodies);
    tcase_add_test(tcase, test_json_floods);
    tcase_add_test(tcase, test_json_rounding);
    tcase_add_test(tcase, test_npy_bodies);
    tcase_add_test(tcase, test_safetensors_bodies);
    tcase_add_test(tcase, test_safetensors_floods);
    tcase_add_test(tcase, test_safetensors_alignment);
    tcase_add_test(tcase, test_raw_bodies);
    suite_add_tcase(suite, tcase);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    printf("readers: %lu cases\n", cases);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
