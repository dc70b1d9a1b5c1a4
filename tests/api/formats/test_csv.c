/* SPDX-License-Identifier: MIT */

/* text/csv: columns, numbers, and outputs that do not fit. */

#include <zlib.h>

#include "tests/api/harness.h"
#include "tests/check_main.h"

#define V1        "/v1/encodings/"
#define TYPE_JSON "Content-Type: application/json"
#define LAYOUT    "/v1/layout?format=csv&kind=table&from_layout=half&to_layout=half"

static const struct {
    const char *target, *body; /* body NULL: GET */
    const char *text;
} answers[] = {
    {V1 "rope/table?dim=4&length=2&format=csv", NULL,
     "cos_0,cos_1,sin_0,sin_1\r\n1,1,0,0\r\n0.5403023,0.99995,0.84147096,0.009999833\r\n"},
    {V1 "rope/table?dim=4&length=2&part=sin&format=csv", NULL,
     "sin_0,sin_1\r\n0,0\r\n0.84147096,0.009999833\r\n"},
    {V1 "rope/table?dim=2&length=2&part=complex&format=csv", NULL,
     "complex_0_re,complex_0_im\r\n1,0\r\n0.5403023,0.84147096\r\n"},
    {V1 "rope/frequencies?dim=4&format=csv", NULL,
     "inv_freq,wavelengths,freq_factors\r\n1,6.2831855,1\r\n0.01,628.31854,1\r\n"},
    {V1 "rope/table?dim=4&length=0&format=csv", NULL, "cos_0,cos_1,sin_0,sin_1\r\n"},
    {V1 "sinusoidal/table?dim=2&positions=-1,0.5&format=csv&dtype=f64", NULL,
     "table_0,table_1\r\n-0.8414709848078965,0.5403023058681398\r\n"
     "0.479425538604203,0.8775825618903728\r\n"},
    {"/v1/layout?from_layout=half&to_layout=interleaved&head_dim=4&format=csv", NULL,
     "permutation\r\n0\r\n2\r\n1\r\n3\r\n"},
    {LAYOUT, "{\"tensors\":{\"x\":{\"data\":[[\"NaN\",\"Infinity\"],[\"-Infinity\",-0.0]]}}}",
     "x_0,x_1\r\nNaN,Infinity\r\n-Infinity,-0.0\r\n"},
    {LAYOUT, "{\"tensors\":{\"x\":{\"dtype\":\"bool\",\"data\":[[true,false]]}}}",
     "x_0,x_1\r\ntrue,false\r\n"},
    {LAYOUT, "{\"tensors\":{\"x\":{\"dtype\":\"u8\",\"data\":[[0,255]]}}}", "x_0,x_1\r\n0,255\r\n"},
    {LAYOUT,
     "{\"tensors\":{\"a,b\":{\"data\":[[1,2]]},\"say \\\"x\\\"\":{\"dtype\":\"i64\","
     "\"data\":[[-9223372036854775808,3]]},\"two\\r\\nlines\":{\"data\":[[5,6]]},"
     "\"plain\":{\"data\":[[7,8]]}}}",
     "\"a,b_0\",\"a,b_1\",\"say \"\"x\"\"_0\",\"say \"\"x\"\"_1\",\"two\r\nlines_0\","
     "\"two\r\nlines_1\",plain_0,plain_1\r\n1,2,-9223372036854775808,3,5,6,7,8\r\n"},
};

TEST(test_text)
{
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        OWNED_ANSWER answer = call(api, answers[i].body ? "POST" : "GET", answers[i].target,
                                   answers[i].body ? TYPE_JSON : NULL, answers[i].body);
        ck_assert_msg(answer.status == 200, "%s: %s", answers[i].target, (char *)answer.body);
        ck_assert_str_eq((char *)answer.body, answers[i].text);
        ck_assert_str_eq(answer_header(&answer, "Content-Type"),
                         "text/csv; charset=utf-8; header=present");
        ck_assert_ptr_null(answer_header(&answer, "Accept-Ranges"));
    }
}

static const struct {
    const char *target, *body;
    int status;
    const char *says;
} refusals[] = {
    {V1 "alibi/bias?heads=2&query_length=3&format=csv", NULL, 406, "two dimensions and bias has 3"},
    {LAYOUT, "{\"tensors\":{\"a\":{\"data\":[[1,2]]},\"b\":{\"data\":[[1,2],[3,4]]}}}", 406,
     "b does not fit beside a"},
    {LAYOUT, "{\"tensors\":{\"a\":{\"data\":[[1,2]]},\"b\":{\"data\":[[[1,2]]]}}}", 406,
     "b does not fit beside a"},
    {"/v1/comparison?format=csv", "{\"a\":\"rope\",\"b\":\"rope\"}", 406, "format=json"},
};

TEST(test_refusals)
{
    OWNED_API api = api_make(NULL);

    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        OWNED_ANSWER answer = call(api, refusals[i].body ? "POST" : "GET", refusals[i].target,
                                   refusals[i].body ? TYPE_JSON : NULL, refusals[i].body);
        ck_assert_int_eq(answer.status, refusals[i].status);
        ck_assert_msg(strstr(member_text(&answer, "detail"), refusals[i].says), "%s: %s",
                      refusals[i].target, member_text(&answer, "detail"));
    }
}

/* CSV counts against --json-elements-max, and lines have a limit. */
TEST(test_limits)
{
    struct api_settings settings = settings_make();
    settings.limits.json_elements_max = 1 << 21;
    settings.limits.dim_max = 1 << 22;
    OWNED_API api = api_make(&settings);
    static const char *const targets[] = {
        V1 "rope/table?dim=1048576&duplicate=true&length=1&format=csv",
        V1 "sinusoidal/table?dim=1048576&length=3&format=csv",
    };
    static const char *const says[] = {"sin would be too large for csv",
                                       "a csv answer has at most 2097152 elements"};

    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        OWNED_ANSWER answer = call(api, "GET", targets[i], NULL, NULL);
        ck_assert_int_eq(answer.status, 413);
        ck_assert_msg(strstr(member_text(&answer, "detail"), says[i]), "%s",
                      member_text(&answer, "detail"));
    }
}

/* Offsets of another length than the decays of the heads are dropped, with a warning. */
TEST(test_left_out)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer =
        call(api, "GET", V1 "alibi/analysis/decay?heads=2&max_offset=1&format=csv", NULL, NULL);

    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq((char *)answer.body, "decay_0,decay_1\r\n0,-0.0625\r\n0,-0.00390625\r\n");
    ck_assert_ptr_nonnull(strstr(answer_header(&answer, "Encoding-Warnings"), "offsets has not"));
}

/* Many blocks, made in reverse order, have the numbers of the JSON answer. */
TEST(test_blocks)
{
    static const char *const queries[] = {"rope/table?dim=6&length=30000",
                                          "rope/table?dim=6&length=30000&dtype=f16&part=complex",
                                          "sinusoidal/table?dim=2&length=70000&start=-5&step=0.5"};
    struct api_settings settings = settings_make();
    settings.limits.json_elements_max = 1 << 22;
    OWNED_API api = api_make(&settings);
    char target[200];

    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        snprintf(target, sizeof(target), V1 "%s&format=csv", queries[i]);
        OWNED_ANSWER csv = call(api, "GET", target, "Accept-Encoding: identity", NULL);
        snprintf(target, sizeof(target), V1 "%s", queries[i]);
        OWNED_ANSWER json = call(api, "GET", target, NULL, NULL);
        const char *name, *line = strchr((char *)csv.body, '\n') + 1;
        json_t *tensor;
        size_t rows = 0, row = 0;

        json_object_foreach(json_object_get(json.json, "tensors"), name, tensor) rows =
            json_array_size(json_object_get(tensor, "data"));
        for (; *line; line = strchr(line, '\n') + 1, row++) {
            char *at = (char *)line;
            json_object_foreach(json_object_get(json.json, "tensors"), name, tensor)
            {
                json_t *cells = json_array_get(json_object_get(tensor, "data"), row);
                for (size_t j = 0; j < json_array_size(cells); j++) {
                    json_t *cell = json_array_get(cells, j);
                    for (size_t part = 0; part < 1 + (json_array_size(cell) == 2); part++, at++)
                        ck_assert(strtod(at, &at) ==
                                  json_number_value(json_is_array(cell) ? json_array_get(cell, part)
                                                                        : cell));
                }
            }
            ck_assert(at[-1] == '\r' && *at == '\n');
        }
        ck_assert_uint_eq(row, rows);
    }
}

/* Accept; HEAD and 304 with the header fields of GET; an ETag of its own; content codings. */
TEST(test_http)
{
    static const char target[] = V1 "rope/table?dim=64&length=200", csv[] = "Accept: text/csv";
    OWNED_API api = api_make(NULL);
    struct answer json = call(api, "GET", target, NULL, NULL);
    struct answer plain = call(api, "GET", target, csv, NULL);
    struct answer head = call(api, "HEAD", target, csv, NULL);
    char again[200];

    ck_assert_str_eq(answer_header(&plain, "Content-Type"), answer_header(&head, "Content-Type"));
    ck_assert_str_eq(answer_header(&plain, "ETag"), answer_header(&head, "ETag"));
    ck_assert_str_ne(answer_header(&plain, "ETag"), answer_header(&json, "ETag"));
    ck_assert_str_eq(answer_header(&plain, "Content-Disposition"),
                     "attachment; filename=\"rope_d64_n200_f32.csv\"");
    ck_assert_ptr_nonnull(strstr(answer_header(&plain, "Encoding-Parameters"), "\"dim\":64"));
    snprintf(again, sizeof(again), "%s\nIf-None-Match: %s", csv, answer_header(&plain, "ETag"));
    struct answer fresh = call(api, "GET", target, again, NULL);
    ck_assert_int_eq(fresh.status, 304);
    snprintf(again, sizeof(again), "%s;q=0.5, application/json;q=0.4", csv);
    struct answer better = call(api, "GET", target, again, NULL);
    ck_assert(strstr(answer_header(&better, "Content-Type"), "text/csv;") != NULL);
    struct answer coded = call(api, "GET", target, "Accept: text/csv\nAccept-Encoding: gzip", NULL);
    ck_assert_str_eq(answer_header(&coded, "Content-Encoding"), "gzip");
    ck_assert_str_ne(answer_header(&coded, "ETag"), answer_header(&plain, "ETag"));
    unsigned char *out = malloc(plain.size + 1);
    z_stream stream = {.next_in = coded.body,
                       .avail_in = (uInt)coded.size,
                       .next_out = out,
                       .avail_out = (uInt)plain.size + 1};
    ck_assert_int_eq(inflateInit2(&stream, 31), Z_OK);
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(stream.total_out, plain.size);
    ck_assert(memcmp(out, plain.body, plain.size) == 0);
    inflateEnd(&stream);
    free(out);
    for (struct answer *const *at =
             (struct answer *const[]){&json, &plain, &head, &fresh, &better, &coded, NULL};
         *at; at++)
        answer_free(*at);
}
