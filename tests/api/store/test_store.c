/* SPDX-License-Identifier: MIT */
#include "tests/api/store_fixture.h"
#include "tests/check_main.h"

/* Stored tables without a socket: the right to store, and the answers. */

TEST(test_versions)
{
    folder_make();
    struct api *api = stored_make();
    struct answer first, again;
    char headers[128];

    ck_assert_int_eq(put(api, "a", 3, 1, "If-None-Match: *"), 201);
    ck_assert_int_eq(put(api, "a", 3, 1, NULL), 200);
    first = call(api, "GET", "/v1/encodings/a/table?length=3", NULL, NULL);
    ck_assert_int_eq(first.status, 200);
    ck_assert_str_eq(answer_header(&first, "Cache-Control"), "no-cache");
    ck_assert_int_eq(json_integer_value(member(&first, "encoding.version")), 1);
    snprintf(headers, sizeof(headers), "If-None-Match: %s", answer_header(&first, "ETag"));
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=3", headers), 304);
    ck_assert_int_eq(put(api, "a", 3, 2, "If-None-Match: *"), 412);
    ck_assert_int_eq(put(api, "a", 3, 2, "If-Match: \"no\""), 412);
    ck_assert_int_eq(put(api, "b", 3, 2, "If-Match: *"), 412);
    /* A stored version is served. */
    ck_assert_int_eq(put(api, "a", 3, 2, "If-Match: *\nAccept-Encoding: identity;q=0, *;q=0"), 200);
    again = call(api, "GET", "/v1/encodings/a/table?length=3", headers, NULL);
    ck_assert_int_eq(again.status, 200);
    ck_assert_int_eq(json_integer_value(member(&again, "encoding.version")), 2);
    ck_assert_double_eq(member_number(&again, "tensors.table.data.0.0"), 2);
    answer_free(&again);
    again = call(api, "GET", "/v1/encodings/learned/table?table=a&version=1&length=3", NULL, NULL);
    ck_assert_str_eq(answer_header(&again, "Cache-Control"), "public, max-age=31536000, immutable");
    ck_assert_double_eq(member_number(&again, "tensors.table.data.0.0"), 1);
    answer_free(&again);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=1&version=3", NULL), 404);
    ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/a", "If-Match: \"no\""), 412);
    ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/a", NULL), 204);
    ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/a", NULL), 404);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=3", NULL), 404);
    /* A number is never used again. */
    ck_assert_int_eq(put(api, "a", 3, 9, NULL), 201);
    again = call(api, "GET", "/v1/encodings/a", NULL, NULL);
    ck_assert_int_eq(json_integer_value(member(&again, "version")), 3);
    answer_free(&again);
    answer_free(&first);
    api_free(api);

    /* Another process reads the same. */
    api = stored_make();
    again = call(api, "GET", "/v1/encodings", NULL, NULL);
    ck_assert_str_eq(member_text(&again, "tables.0.name"), "a");
    ck_assert_int_eq(json_integer_value(member(&again, "tables.0.version")), 3);
    answer_free(&again);
    api_free(api);
    folder_remove();
}

TEST(test_refusals)
{
    char body[4096];
    size_t size = file_make(body, 2, 1);
    const float nan = __builtin_nanf("");
    static const struct {
        const char *target, *headers;
        int status;
        const char *code;
    } cases[] = {
        {"/v1/encodings/rope", NULL, 409, "name-taken"},
        {"/v1/encodings/Upper", NULL, 422, "invalid-parameter"},
        {"/v1/encodings/.dot", NULL, 422, "invalid-parameter"},
        {"/v1/encodings/a%2Fb", NULL, 422, "invalid-parameter"},
        {"/v1/encodings/a?tensor=x", NULL, 422, "missing-parameter"},
        {"/v1/encodings/a?dim=2", NULL, 422, "unknown-parameter"},
        {"/v1/encodings/a", "Content-Type: application/json", 415, "unsupported-media-type"},
        {"/v1/encodings/a", "Content-Type: text/xml", 415, "unsupported-media-type"},
    };

    folder_make();
    struct api *api = stored_make();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        OWNED_ANSWER answer = call_bytes(api, "PUT", cases[i].target, cases[i].headers, body, size);
        ck_assert_msg(answer.status == cases[i].status &&
                          strcmp(member_text(&answer, "code"), cases[i].code) == 0,
                      "%s: %d %s", cases[i].target, answer.status, (char *)answer.body);
    }
    ck_assert_int_eq(status_of(api, "PUT", "/v1/encodings/a", NULL), 400); /* no body */
    memcpy(body + size - 4, &nan, 4);
    struct answer answer = call_bytes(api, "PUT", "/v1/encodings/a", NULL, body, size);
    ck_assert_int_eq(answer.status, 422);
    ck_assert_str_eq(member_text(&answer, "errors.0.tensor"), "e");
    answer_free(&answer);
    ck_assert_int_eq(put(api, "a", 0, 1, NULL), 422);
    ck_assert_int_eq(status_of(api, "GET", "/v1/encodings/a/table?length=1", NULL), 404);
    api_free(api);
    folder_remove();
}

TEST(test_tokens)
{
    struct api_settings settings = settings_make();
    struct api *api;

    folder_make();
    file_put("tokens", "  first \n\nsecond\r\n");
    api = api_make(&settings);
    ck_assert_int_eq(put(api, "a", 2, 1, NULL), 403); /* nothing is stored */
    api_free(api);
    settings.tables = folder;
    api = api_make(&settings);
    ck_assert_int_eq(put(api, "a", 2, 1, NULL), 403); /* no tokens */
    api_free(api);
    settings.token_file = strdup(file_path("tokens"));
    api = api_make(&settings);
    ck_assert_int_eq(put(api, "a", 2, 1, NULL), 401);
    ck_assert_int_eq(put(api, "a", 2, 1, "Authorization: Bearer "), 401);
    ck_assert_int_eq(put(api, "a", 2, 1, "Authorization: Bearer firs"), 401);
    ck_assert_int_eq(put(api, "a", 2, 1, "Authorization: Bearer firstsecond"), 401);
    ck_assert_int_eq(put(api, "a", 2, 1, "Authorization: Basic first"), 401);
    ck_assert_int_eq(put(api, "a", 2, 1, "Authorization: Bearer first"), 201);
    ck_assert_int_eq(put(api, "a", 2, 2, "Authorization: bearer second"), 200);
    struct answer answer = call(api, "DELETE", "/v1/encodings/a", NULL, NULL);
    ck_assert_str_eq(answer_header(&answer, "WWW-Authenticate"), "Bearer realm=\"posenc\"");
    answer_free(&answer);
    /* Tokens are read again, and stay if the file is gone. */
    file_put("tokens", "third\n");
    api_reload(api);
    ck_assert_int_eq(put(api, "a", 2, 3, "Authorization: Bearer first"), 401);
    ck_assert_int_eq(put(api, "a", 2, 3, "Authorization: Bearer third"), 200);
    unlink(settings.token_file);
    api_reload(api);
    ck_assert_int_eq(put(api, "a", 2, 4, "Authorization: Bearer third"), 200);
    api_free(api);

    struct pe_error err = {0};
    ck_assert_int_eq(api_new(&api, &settings, &err), PE_INVALID);
    ck_assert_ptr_nonnull(strstr(err.detail, "--token-file"));
    free((char *)settings.token_file);
    settings.token_file = NULL;
    settings.tables = "/tmp/posenc-no-such-folder";
    err = (struct pe_error){0};
    ck_assert_int_eq(api_new(&api, &settings, &err), PE_INVALID);
    ck_assert_ptr_nonnull(strstr(err.detail, "--tables"));
    folder_remove();
}

/* A line of a token file is a token, ignored, or refused with its number. */
TEST(test_lines_of_tokens)
{
    struct api_settings settings = settings_make();
    char text[64], shown[96], line[16];
    struct api *api;

    folder_make();
    settings.tables = folder;
    settings.token_file = strdup(file_path("tokens"));
    for (int c = 1; c < 256; c++) {
        struct pe_error err = {0};
        const bool is_token = (c > ' ' && c < 127) || c == '\n'; /* which splits the line */
        snprintf(text, sizeof(text), "# none\n\n  # none\nsecret%cb\nlast", c);
        file_put("tokens", text);
        const enum pe_status status = api_new(&api, &settings, &err);
        if (!is_token) {
            ck_assert_msg(status == PE_INVALID, "byte %d: %d", c, status);
            ck_assert_ptr_nonnull(strstr(err.detail, "line 4 of "));
            ck_assert_ptr_nonnull(strstr(err.detail, settings.token_file));
            ck_assert_ptr_null(strstr(err.detail, "secret"));
            continue;
        }
        ck_assert_int_eq(status, PE_OK);
        snprintf(shown, sizeof(shown), "Authorization: Bearer secret%cb", c);
        ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/x",
                                   c == '\n' ? "Authorization: Bearer b" : shown),
                         404);
        ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/x", "Authorization: Bearer last"),
                         404);
        ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/x", "Authorization: Bearer #"),
                         401);
        ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/x", "Authorization: Bearer none"),
                         401);
        api_free(api);
    }
    /* A failed reload leaves the tokens unchanged. */
    file_put("tokens", "good\n");
    api = api_make(&settings);
    file_put("tokens", "other\nnot good\n");
    api_reload(api);
    for (const char *const *token = (const char *const[]){"good", "other", "not", NULL}; *token;
         token++) {
        snprintf(shown, sizeof(shown), "Authorization: Bearer %s", *token);
        snprintf(line, sizeof(line), "%s", *token);
        ck_assert_int_eq(status_of(api, "DELETE", "/v1/encodings/x", shown),
                         strcmp(line, "good") == 0 ? 404 : 401);
    }
    api_free(api);
    free((char *)settings.token_file);
    folder_remove();
}

/* Functions accept stored tables in place of posted tensors, and modify copies. */
TEST(test_functions)
{
    static const char rotation[] =
        "{\"encoding\":\"rope\",\"dim\":4,\"axes\":\"sd\",\"layout\":\"half\",\"start\":0,"
        "\"tables\":\"cos:c,sin:s\",\"tensors\":{\"q\":{\"data\":[[1,0,0,0]]}}}";
    static const char layout[] = "{\"from_layout\":\"meta\",\"to_layout\":\"half\",\"kind\":"
                                 "\"table\",\"tables\":\"x:c\",\"tensors\":{\"y\":{\"data\":"
                                 "[[1,2]]}}}";

    folder_make();
    struct api *api = stored_make();
    ck_assert_int_eq(put(api, "c", 2, 3, NULL) | put(api, "s", 2, 5, NULL), 201);
    struct answer answer = call(api, "POST", "/v1/rotation", NULL, rotation);
    ck_assert_msg(answer.status == 200, "%s", (char *)answer.body);
    ck_assert_double_eq(member_number(&answer, "tensors.q.data.0.0"), 3);
    ck_assert_double_eq(member_number(&answer, "tensors.q.data.0.2"), 5);
    answer_free(&answer);
    answer = call(api, "POST", "/v1/layout", NULL, layout);
    ck_assert_msg(answer.status == 200, "%s", (char *)answer.body);
    ck_assert_double_eq(member_number(&answer, "tensors.x.data.1.1"), 6);
    answer_free(&answer);
    answer = call(api, "POST", "/v1/layout?tables=x", NULL, "{}");
    ck_assert_str_eq(member_text(&answer, "errors.0.parameter"), "tables");
    answer_free(&answer);
    answer = call(api, "POST", "/v1/layout?tables=y:c", NULL, layout);
    ck_assert_int_eq(answer.status, 422);
    answer_free(&answer);
    answer = call(api, "POST", "/v1/layout?tables=x:none", NULL, "{}");
    ck_assert_int_eq(answer.status, 404);
    answer_free(&answer);
    answer = call(api, "GET", "/v1/encodings/c/table?length=1", NULL, NULL);
    ck_assert_double_eq(member_number(&answer, "tensors.table.data.0.0"), 3);
    answer_free(&answer);
    api_free(api);
    folder_remove();
}

/* Functions accept stored tables with posted tensors: the answer has more tensors than were sent.
 */
TEST(test_layout_of_stored_tables)
{
    folder_make();
    struct api *api = stored_make();
    char target[200] = "/v1/layout?kind=table&from_layout=meta&to_layout=half&tables=";

    for (int i = 0; i < 7; i++) {
        char name[2] = {(char)('a' + i)};
        ck_assert_int_eq(put(api, name, 3, (float)(10 * i), NULL), 201);
        sprintf(target + strlen(target), "%st%s:%s", i ? "," : "", name, name);
    }
    struct answer answer = call(api, "POST", target, "Content-Type: application/json",
                                "{'tensors':{'x':{'data':[[1,2,3,4]]}}}");
    ck_assert_msg(answer.status == 200, "%s", (char *)answer.body);
    ck_assert_uint_eq(json_object_size(member(&answer, "tensors")), 8);
    ck_assert_double_eq(member_number(&answer, "tensors.x.data.0.1"), 3);
    for (int i = 0; i < 7; i++) {
        char path[40];
        snprintf(path, sizeof(path), "tensors.t%c.data.2.1", 'a' + i);
        ck_assert_double_eq(member_number(&answer, path), 10 * i + 5);
    }
    answer_free(&answer);
    api_free(api);
    folder_remove();
}
