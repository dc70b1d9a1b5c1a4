/* SPDX-License-Identifier: MIT */

/* JSON bodies, whole and broken, and text rounded once. */

#include "tests/api/readers.h"
#include "tests/check_main.h"

#define JSON(t)     "{\"tensors\":" t "}"
#define DATA(t)     JSON("{\"q\":{\"data\":" t "}}")
#define TYPED(d, t) JSON("{\"q\":{\"dtype\":\"" d "\",\"data\":" t "}}")
#define TEN(t)      t t t t t t t t t t

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
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAA\\u0041EA=\"}}"), 200, NULL, NULL},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"\\/\\/+\\/PwAAAEA=\"}}"), 200, NULL, NULL},
    {JSON("{\"e\":{\"shape\":[0,2],\"base64\":\"\"},\"q\":{\"b\\u0061se64\":\"AACAPwAAAEA=\","
          "\"shape\":[1,2]},\"k\":{\"data\":[[1,2]]}}"),
     200, NULL, NULL},
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
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":[\"AACAPwAAAEA=\"]}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AAC\xff\"}}"), 400, "malformed", NULL},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AAC\n\"}}"), 400, "malformed", NULL},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAAAE===\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAAAA==\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPw=AAEA=\"}}"), 422, NULL, "tensor:q"},
    {"{\"tensors\":{\"q\":{\"base64\":\"AACA", 400, "malformed", NULL},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAAAE==\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAA*EA=\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AACAPwAAAEB=\"}}"), 422, NULL, "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1,2],\"base64\":\"AAAA\"}}"), 422, "shape-mismatch", "tensor:q"},
    {JSON("{\"q\":{\"shape\":[1048576,1048576],\"base64\":\"\"}}"), 422, "shape-mismatch", NULL},
};

TEST(test_json_bodies)
{
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        OWNED_ANSWER answer =
            call(api, "POST", QUERY, "Content-Type: application/json", rows[i].body);
        answer_check(&answer, &rows[i], rows[i].body);
    }
}

TEST(test_json_floods)
{
    static const struct row deep = {NULL, 400, "malformed", NULL},
                            wide = {NULL, 413, "too-large", NULL};
    struct api_settings settings = settings_make();
    settings.limits.json_body_max = settings.limits.body_max = 16 << 20;
    OWNED_API api = api_make(&settings);
    const size_t count = 1000000;
    OWNED_MEMORY char *body = malloc(16 * count);
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
}

/* Text to f32, f16 and bf16 in one rounding: a hair above a tie is up, the tie itself to even. */
TEST(test_json_rounding)
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
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        char body[300];
        snprintf(body, sizeof(body), TYPED("%s", "[[%s,0]]"), numbers[i].dtype, numbers[i].text);
        OWNED_ANSWER answer = call(api, "POST", QUERY, "Content-Type: application/json", body);
        ck_assert_int_eq(answer.status, 200);
        const double value = member_number(&answer, "tensors.q.data.0.0");
        if (strcmp(numbers[i].dtype, "f64") == 0)
            ck_assert(value == numbers[i].expected);
        else /* printed in the shortest digits of f32 */
            ck_assert_msg((float)value == (float)numbers[i].expected, "%s %s: %.17g",
                          numbers[i].dtype, numbers[i].text, value);
        cases++;
    }
}

CHECK_WAY(.cases = &cases);
