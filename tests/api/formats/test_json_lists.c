/* SPDX-License-Identifier: MIT */

/* Long lists of numbers in a JSON body do not go through the JSON library: they mean what short
 * ones mean, and fail as those do. And elements whose dtype stands before or behind them. */

#include <math.h>
#include <time.h>

#include "tests/api/readers.h"
#include "tests/check_main.h"

#define TABLE "/v1/encodings/rope/table"
#define JSON  "Content-Type: application/json"

enum { LONG = 3000 };

static struct answer post(struct api *api, const char *target, const char *body)
{
    return call(api, "POST", target, JSON, body);
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

/* A long list where another type, another depth or nothing of the name is wanted. */
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
    /* Twice the same name, and lists of lists. */
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

/* Positions of each batch row: long as a list of lists, and as a tensor of the same name. */
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
    /* A row that is longer than the others. */
    const struct row ragged = {NULL, 422, "shape-mismatch", "pointer:/positions"};
    strcpy(strrchr(positions, ']'), ",7]");
    sprintf(body, HEAD, data, "},'positions':", positions, "");
    list = post(api, "/v1/rotation", body);
    answer_check(&list, &ragged, "ragged");
    answer_free(&list);
}

/* Whatever is known of the dtype when the elements are met, they are rounded once from the text. */
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
    /* What one tensor says of its dtype says nothing of the next. */
    OWNED_ANSWER answer = post(
        api, QUERY, "{'tensors':{'q':{'dtype':'f64','data':[[0.1,0]]},'k':{'data':[[0.1,0]]}}}");
    ck_assert_str_eq(member_text(&answer, "tensors.k.dtype"), "f32");
}

/* More numbers than the first guess has room for, in several tensors. */
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

/* Of every length mod 3: an answer in base64, posted, is answered with the same text. */
TEST(test_base64)
{
    OWNED_API api = api_make(NULL);
    char body[4000];

    for (int rows = 1; rows < 40; rows++, cases++) {
        char *to = body + sprintf(body, "{'tensors':{'q':{'dtype':'f16','data':[");
        for (int i = 0; i < rows; i++)
            to += sprintf(to, "%s[%d.25,%d]", i ? "," : "", i * 37 % 500, -i * i * i);
        strcpy(to, "]}}}");
        OWNED_ANSWER numbers = post(api, QUERY "&data_format=base64", body);
        const char *text = member_text(&numbers, "tensors.q.base64");
        ck_assert_uint_eq(strlen(text), (size_t)(4 * rows + 2) / 3 * 4);
        sprintf(body, "{'tensors':{'q':{'dtype':'f16','shape':[%d,2],'base64':'%s'}}}", rows, text);
        OWNED_ANSWER again = post(api, QUERY "&data_format=base64", body);
        ck_assert_str_eq(member_text(&again, "tensors.q.base64"), text);
        answer_free(&again);
        again = post(api, QUERY, body);
        ck_assert_int_eq((int)member_number(&again, "tensors.q.data.0.1"), 0);
        const json_t *last = json_array_get(member(&again, "tensors.q.data"), (size_t)rows - 1);
        ck_assert_double_eq(json_number_value(json_array_get(last, 0)),
                            (rows - 1) * 37 % 500 + 0.25);
    }
}

/* Milliseconds of processor time that a body of so many lists and numbers takes to be refused. */
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
    OWNED_ANSWER answer = call_bytes(api, "POST", "/v1/rotation", JSON, body, strlen(body));
    ck_assert_str_eq(member_text(&answer, "code"), "unknown-parameter");
    free(body);
    return (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC;
}

/* Many names that nobody knows are not looked up in many lists. */
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

CHECK_WAY(.cases = &cases);
