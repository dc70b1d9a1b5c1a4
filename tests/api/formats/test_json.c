/* SPDX-License-Identifier: MIT */

/* JSON bodies, valid and malformed. Arrays of elements and long lists of numbers, which bypass the
 * JSON library, have the meaning and the errors of short ones. */

#include <math.h>
#include <time.h>

#include "api/formats/json.h"
#include "api/memory/budget.h"
#include "api/numbers/text.h"
#include "tests/api/readers.h"
#include "tests/check_main.h"

#define TYPE        "Content-Type: application/json"
#define JSON(t)     "{\"tensors\":" t "}"
#define DATA(t)     JSON("{\"q\":{\"data\":" t "}}")
#define TYPED(d, t) JSON("{\"q\":{\"dtype\":\"" d "\",\"data\":" t "}}")
#define TEN(t)      t t t t t t t t t t

static const struct row rows[] = {
    /* valid */
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
    /* not JSON */
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
    /* wrong members of tensors */
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
    /* wrong shapes and base64 */
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
        OWNED_ANSWER answer = call(api, "POST", QUERY, TYPE, rows[i].body);
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
    answer = call_bytes(api, "POST", QUERY, TYPE, body, 100000);
    answer_check(&answer, &deep, "100000 brackets");
    answer_free(&answer);

    size_t size = (size_t)sprintf(body, "{\"tensors\":{\"q\":{\"data\":");
    memset(body + size, '[', 3000);
    memset(body + size + 3000, ']', 3000);
    size += 6000;
    size += (size_t)sprintf(body + size, "}}}");
    answer = call_bytes(api, "POST", QUERY, TYPE, body, size);
    answer_check(&answer, &deep, "3000 levels of data");
    answer_free(&answer);

    size = (size_t)sprintf(body, "{\"a\":0");
    for (size_t i = 0; i < count; i++)
        size += (size_t)sprintf(body + size, ",\"%zu\":0", i);
    body[size++] = '}';
    answer = call_bytes(api, "POST", QUERY, TYPE, body, size);
    answer_check(&answer, &wide, "a million keys");
    answer_free(&answer);

    size = (size_t)sprintf(body, "{\"tensors\":{");
    for (size_t i = 0; i < 17; i++)
        size += (size_t)sprintf(body + size, "%s\"q%zu\":{\"data\":[[1,2]]}", i ? "," : "", i);
    size += (size_t)sprintf(body + size, "}}");
    answer = call_bytes(api, "POST", QUERY, TYPE, body, size);
    answer_check(&answer, &wide, "17 tensors of 16");
    answer_free(&answer);
}

/* Numbers are rounded once: just above a tie up, and the tie itself to even. */
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
        OWNED_ANSWER answer = call(api, "POST", QUERY, TYPE, body);
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

/* ---- lists ---------------------------------------------------------------------------------- */

#define TABLE "/v1/encodings/rope/table"

enum { LONG = 3000 };

static struct answer post(struct api *api, const char *target, const char *body)
{
    return call(api, "POST", target, TYPE, body);
}

/* "name": [0, 1, ...] of `count` numbers; the one at `odd` is `text`. */
static char *list_print(char *to, const char *name, size_t count, size_t odd, const char *text)
{
    to += sprintf(to, "'%s':[", name);
    for (size_t i = 0; i < count; i++)
        to += i == odd ? sprintf(to, "%s%s", i ? "," : "", text)
                       : sprintf(to, "%s%zu.25", i ? ", " : "", i % 500);
    return to + sprintf(to, "]");
}

static struct answer table_post(struct api *api, size_t count, size_t odd, const char *text)
{
    char body[64000], *to = body + sprintf(body, "{'dim':4,");

    to = list_print(to, "positions", count, odd, text);
    sprintf(to, ",'dtype':'f64'}");
    return post(api, TABLE, body);
}

TEST(test_tables)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = table_post(api, LONG, LONG, "");
    const json_t *sines;

    ck_assert_int_eq(answer.status, 200);
    ck_assert_int_eq((int)json_array_size(member(&answer, "tensors.cos.data")), LONG);
    sines = member(&answer, "tensors.sin.data");
    for (size_t i = 0; i < LONG; i++) {
        const double expected = sin((double)(i % 500) + 0.25);
        const double got = json_number_value(json_array_get(json_array_get(sines, i), 0));
        ck_assert_msg(fabs(got - expected) < 1e-12, "%zu: %g, not %g", i, got, expected);
        cases++;
    }
}

TEST(test_same_failures)
{
    static const struct {
        const char *text, *code;
        int status;
    } odd[] = {
        {"9007199254740992", "out-of-range", 422},
        {"1e300", "out-of-range", 422},
        {"'x'", "invalid-parameter", 422},
        {"'NaN'", "invalid-parameter", 422},
        {"null", "invalid-parameter", 422},
        {"true", "invalid-parameter", 422},
        {"[1]", "invalid-parameter", 422},
        {"1e400", "malformed", 400},
        {"01", "malformed", 400},
        {"NaN", "malformed", 400},
        {"", "malformed", 400},
        {"1 2", "malformed", 400},
    };
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(odd); i++)
        for (size_t count = 3; count <= LONG; count += LONG - 3) {
            const struct row row = {NULL, odd[i].status, odd[i].code,
                                    odd[i].status == 422 ? "pointer:/positions" : NULL};
            OWNED_ANSWER answer = table_post(api, count, 2, odd[i].text);
            answer_check(&answer, &row, odd[i].text);
        }
}

/* A long list in place of another type or depth, or with an unknown name. */
TEST(test_misplaced)
{
    static const struct {
        const char *name, *code;
    } names[] = {{"dim", "invalid-parameter"},
                 {"rope_type", "invalid-parameter"},
                 {"nonsense", "unknown-parameter"},
                 {"tensors", NULL},
                 {"p\\u006fsitions", NULL}};
    OWNED_API api = api_make(NULL);
    char body[64000];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *to = list_print(body + sprintf(body, "{"), names[i].name, LONG, LONG, "");
        strcpy(to, i == 0 ? ",'length':2}" : ",'dim':4,'length':2}");
        const struct row row = {NULL, 422, names[i].code, NULL};
        OWNED_ANSWER answer = post(api, TABLE, body);
        answer_check(&answer, &row, names[i].name);
    }
    /* A duplicate name, and a list of lists. */
    char *to = list_print(body + sprintf(body, "{'dim':4,"), "positions", LONG, LONG, "");
    *to++ = ',';
    strcpy(list_print(to, "positions", LONG, LONG, ""), "}");
    const struct row twice = {NULL, 400, "malformed", NULL};
    OWNED_ANSWER answer = post(api, TABLE, body);
    answer_check(&answer, &twice, "twice");
    answer_free(&answer);
    to = body + sprintf(body, "{'dim':4,'positions':[");
    for (int i = 0; i < 500; i++)
        to += sprintf(to, "%s[%d,2]", i ? "," : "", i);
    strcpy(to, "]}");
    const struct row nested = {NULL, 422, "shape-mismatch", "parameter:positions"};
    answer = post(api, TABLE, body);
    answer_check(&answer, &nested, "nested");
}

#define HEAD                                                                                       \
    "{'encoding':'rope','axes':'bsd','dim':2,'layout':'half','tensors':{'q':{"                     \
    "'data':"                                                                                      \
    "[%s]}%s[%s]%s}"

/* Positions of each batch row as a long list of lists, and as a tensor of this name. */
TEST(test_rotations)
{
    OWNED_API api = api_make(NULL);
    char positions[16000], data[16000], body[40000], *to = positions, *end = data;
    struct answer list, tensor;

    for (int row = 0; row < 2; row++) {
        to += sprintf(to, "%s[", row ? "," : "");
        end += sprintf(end, "%s[", row ? "," : "");
        for (int i = 0; i < 200; i++) {
            to += sprintf(to, "%s%d.5", i ? ", " : " ", 1000 * row - i);
            end += sprintf(end, "%s[%d,1]", i ? "," : "", i);
        }
        to += sprintf(to, "]");
        end += sprintf(end, "]");
    }
    sprintf(body, HEAD, data, "},'positions':", positions, "");
    list = post(api, "/v1/rotation", body);
    ck_assert_msg(list.status == 200, "%.300s", (char *)list.body);
    sprintf(body, HEAD, data, ",'positions':{'dtype':'f64','data':", positions, "}}");
    tensor = post(api, "/v1/rotation", body);
    ck_assert_int_eq(tensor.status, 200);
    ck_assert_int_eq(json_equal(member(&list, "tensors.q"), member(&tensor, "tensors.q")), 1);
    answer_free(&tensor);
    answer_free(&list);
    /* Rows of unequal length. */
    const struct row ragged = {NULL, 422, "shape-mismatch", "pointer:/positions"};
    strcpy(strrchr(positions, ']'), ",7]");
    sprintf(body, HEAD, data, "},'positions':", positions, "");
    list = post(api, "/v1/rotation", body);
    answer_check(&list, &ragged, "ragged");
    answer_free(&list);
}

/* Elements are rounded once from their text, whether dtype precedes or follows them. */
TEST(test_order_of_keys)
{
    static const struct {
        const char *tensor;
        int status;
        double expected;
    } tensors[] = {
        {"'dtype':'f16','data':[[1.00048828125000001,0]]", 200, 0x1.004p0},
        {"'data':[[1.00048828125000001,0]],'dtype':'f16'", 200, 0x1.004p0},
        {"'data':[[0.1,0]],'dtype':'f64'", 200, 0.1},
        {"'dtype' : 'float64' ,'data':[[0.1,0]]", 200, 0.1},
        {"'\\u0064type':'f64','data':[[0.1,0]]", 200, 0.1},
        {"'dtype':'\\u00664','data':[[0.1,0]]", 422, 0},
        {"'dtype':'f\\u00364','data':[[0.1,0]]", 200, 0.1},
        {"'data':[[65520,0]],'dtype':'f16'", 422, 0},
        {"'data':[[1e39,0]],'dtype':'f64'", 200, 1e39},
        {"'dtype':'f16','data':[[1e39,0]],'dtype':'f64'", 400, 0},
    };
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(tensors); i++, cases++) {
        char body[300];
        snprintf(body, sizeof(body), "{'tensors':{'q':{%s}}}", tensors[i].tensor);
        OWNED_ANSWER answer = post(api, QUERY, body);
        ck_assert_msg(answer.status == tensors[i].status, "%s: %d", body, answer.status);
        if (answer.status == 200)
            ck_assert_msg(
                fabs(member_number(&answer, "tensors.q.data.0.0") / tensors[i].expected - 1) < 1e-7,
                "%s", body);
    }
    /* The dtype of a tensor does not apply to the next. */
    OWNED_ANSWER answer = post(
        api, QUERY, "{'tensors':{'q':{'dtype':'f64','data':[[0.1,0]]},'k':{'data':[[0.1,0]]}}}");
    ck_assert_str_eq(member_text(&answer, "tensors.k.dtype"), "f32");
}

/* More numbers than fit into the first buffer, in several tensors. */
TEST(test_many_short_numbers)
{
    enum { COUNT = 12000 };
    struct api_settings settings = settings_make();
    char *body = malloc(16 * COUNT), *to = body;
    struct answer answer;
    struct api *api;

    to += sprintf(to, "{'tensors':{");
    for (int tensor = 0; tensor < 2; tensor++) {
        to += sprintf(to, "%s'q%d':{'dtype':'f%d','data':[", tensor ? "," : "", tensor,
                      tensor ? 64 : 32);
        for (int i = 0; i < COUNT; i += 2)
            to += sprintf(to, "%s[%d,%d]", i ? "," : "", i % 10, tensor);
        to += sprintf(to, "]}");
    }
    strcpy(to, "}}");
    settings.limits.json_body_max = settings.limits.body_max;
    api = api_make(&settings);
    answer = post(api, QUERY, body);
    ck_assert_msg(answer.status == 200, "%.300s", (char *)answer.body);
    for (int i = 0; i < COUNT; i += 2, cases++) {
        const json_t *row = json_array_get(member(&answer, "tensors.q1.data"), (size_t)i / 2);
        ck_assert_int_eq((int)json_number_value(json_array_get(row, 0)), i % 10);
        ck_assert_int_eq((int)json_number_value(json_array_get(row, 1)), 1);
    }
    answer_free(&answer);
    free(body);
    api_free(api);
}

/* An answer in base64, of each length mod 3, can be posted and gets the same text. */
TEST(test_base64)
{
    OWNED_API api = api_make(NULL);
    char body[4000];

    for (int count = 1; count < 40; count++, cases++) {
        char *to = body + sprintf(body, "{'tensors':{'q':{'dtype':'f16','data':[");
        for (int i = 0; i < count; i++)
            to += sprintf(to, "%s[%d.25,%d]", i ? "," : "", i * 37 % 500, -i * i * i);
        strcpy(to, "]}}}");
        OWNED_ANSWER numbers = post(api, QUERY "&data_format=base64", body);
        const char *text = member_text(&numbers, "tensors.q.base64");
        ck_assert_uint_eq(strlen(text), (size_t)(4 * count + 2) / 3 * 4);
        sprintf(body, "{'tensors':{'q':{'dtype':'f16','shape':[%d,2],'base64':'%s'}}}", count,
                text);
        OWNED_ANSWER again = post(api, QUERY "&data_format=base64", body);
        ck_assert_str_eq(member_text(&again, "tensors.q.base64"), text);
        answer_free(&again);
        again = post(api, QUERY, body);
        ck_assert_int_eq((int)member_number(&again, "tensors.q.data.0.1"), 0);
        const json_t *last = json_array_get(member(&again, "tensors.q.data"), (size_t)count - 1);
        ck_assert_double_eq(json_number_value(json_array_get(last, 0)),
                            (count - 1) * 37 % 500 + 0.25);
    }
}

/* CPU milliseconds until a body of so many lists and numbers is refused. */
static double refusal_ms(struct api *api, int lists, int numbers)
{
    char *body = malloc((size_t)lists * 1300 + (size_t)numbers * 16 + 100), *to = body;
    const clock_t start = clock();

    to += sprintf(to, "{\"encoding\":\"rope\",\"tensors\":{\"q\":{\"data\":[[1,2]]}}");
    for (int i = 0; i < lists; i++) {
        to += sprintf(to, ",\"Part%d\":[", i);
        for (int j = 0; j < 600; j++)
            to = stpcpy(to, "1,");
        to = stpcpy(to, "2]");
    }
    for (int i = 0; i < numbers; i++)
        to += sprintf(to, ",\"Part%d\":1", lists + i);
    strcpy(to, "}");
    OWNED_ANSWER answer = call_bytes(api, "POST", "/v1/rotation", TYPE, body, strlen(body));
    ck_assert_str_eq(member_text(&answer, "code"), "unknown-parameter");
    free(body);
    return (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC;
}

/* Looking up unknown names is not quadratic in the number of lists. */
TEST(test_many_lists_and_numbers)
{
    struct api_settings settings = settings_make();

    settings.limits.body_max = settings.limits.json_body_max = 16 << 20;
    OWNED_API api = api_make(&settings);
    const double apart = refusal_ms(api, 4000, 0) + refusal_ms(api, 0, 60000);
    const double together = refusal_ms(api, 4000, 60000);

    ck_assert_msg(together < 3 * apart, "%.0f ms, and apart %.0f ms", together, apart);
    cases++;
}

/* An array is read within its text, whatever stands behind. */
TEST(test_arrays_end_with_their_text)
{
    static const char whole[] = " [ [1, -2.5e3], [\"NaN\" ,40 ] ] ]";
    struct api_memory *memory = api_memory_new(1 << 24);

    for (size_t size = 1; size < sizeof(whole) - 3; size++, cases++) {
        struct api_arena *arena = api_arena_new(memory);
        struct api_json_scratch scratch = {.arena = arena};
        struct api_json_array array;
        ck_assert(
            api_json_array_read(&array, (const unsigned char *)whole, 1, size, PE_F32, &scratch));
        ck_assert_uint_le(array.end, size);
        api_json_scratch_drop(&scratch);
        api_arena_free(arena);
    }
    api_memory_free(memory);
}

/* Elements of two to seven characters are read in at most half as much memory again as they take:
 * a body of many must fit in the budget. */
TEST(test_memory_of_elements)
{
    enum { COUNT = 20000 };
    static unsigned char text[8 * COUNT + 2];
    struct api_memory *memory = api_memory_new(1 << 24);

    for (size_t width = 2; width < 8; width++, cases++) {
        struct api_arena *arena = api_arena_new(memory);
        struct api_json_scratch scratch = {.arena = arena};
        struct api_json_array array;
        memset(text, '1', width * COUNT);
        for (size_t i = 0; i <= COUNT; i++)
            text[i * width] = i == 0 ? '[' : i == COUNT ? ']' : ',';
        ck_assert_int_eq(api_json_array_read(&array, text, 0, width * COUNT + 1, PE_F64, &scratch),
                         PE_OK);
        ck_assert_uint_eq(array.elements, COUNT);
        ck_assert_msg(scratch.size < 1.55 * COUNT * sizeof(double), "%zu characters: %zu bytes",
                      width, scratch.size);
        api_json_scratch_drop(&scratch);
        api_arena_free(arena);
    }
    api_memory_free(memory);
}

CHECK_WAY(.cases = &cases);

/* ---- texts --------------------------------------------------------------------------------- */

/* A text as it is written in a body, and in a header, which takes printable ASCII alone. */
static void text_check(const char *text, const char *in_body, const char *in_header)
{
    json_t *value = json_string(text);

    for (int ascii = 0; ascii < 2; ascii++) {
        struct api_text found = {0};
        api_text_json(&found, value, ascii);
        ck_assert_str_eq(found.bytes, ascii ? in_header : in_body);
        api_text_free(&found);
    }
    json_decref(value);
}

/* Every character of ASCII, and both ends of every length of UTF-8. */
TEST(test_characters)
{
    static const struct {
        const char *text, *in_body, *in_header;
    } table[] = {
        {"\xc2\x80", "\"\xc2\x80\"", "\"\\u0080\""},
        {"\xdf\xbf", "\"\xdf\xbf\"", "\"\\u07ff\""},
        {"\xe0\xa0\x80", "\"\xe0\xa0\x80\"", "\"\\u0800\""},
        {"\xef\xbf\xbf", "\"\xef\xbf\xbf\"", "\"\\uffff\""},
        {"\xf0\x90\x80\x80", "\"\xf0\x90\x80\x80\"", "\"\\ud800\\udc00\""},
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"", "\"\\udbff\\udfff\""},
    };
    static const struct {
        char character;
        const char *escape;
    } short_ones[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}};

    for (int character = 1; character < 128; character++) {
        const char text[] = {(char)character, '\0'};
        char wanted[16];
        snprintf(wanted, sizeof(wanted),
                 character < 0x20 || character == 0x7f ? "\"\\u%04x\"" : "\"%c\"", character);
        for (size_t i = 0; i < COUNT_OF(short_ones); i++)
            if (character == short_ones[i].character)
                snprintf(wanted, sizeof(wanted), "\"%s\"", short_ones[i].escape);
        text_check(text, wanted, wanted);
    }
    for (size_t i = 0; i < COUNT_OF(table); i++)
        text_check(table[i].text, table[i].in_body, table[i].in_header);
}
