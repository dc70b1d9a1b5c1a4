/* SPDX-License-Identifier: MIT */
#include "tests/api/harness.h"

struct api_settings settings_make(void)
{
    return (struct api_settings){
        .limits = {.body_max = 1 << 20,
                   .json_body_max = 1 << 16,
                   .output_max = 1 << 30,
                   .json_elements_max = 1 << 20,
                   .dim_max = 65536,
                   .tensors_max = 16,
                   .work_max = 1ull << 40},
        .cors_origin = "*",
    };
}

struct api *api_make(const struct api_settings *settings)
{
    const struct api_settings defaults = settings_make();
    struct pe_error err = {0};
    struct api *api = NULL;

    ck_assert_msg(!api_new(&api, settings ? settings : &defaults, &err), "%s", err.detail);
    return api;
}

const char *answer_header(const struct answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->response->headers_count; i++)
        if (strcasecmp(answer->response->headers[i].name, name) == 0)
            return answer->response->headers[i].value;
    return NULL;
}

static bool gather(void *context, const void *bytes, size_t size)
{
    struct answer *answer = context;

    /* One more for the zero byte at the end. */
    answer->body = realloc(answer->body, answer->size + size + 1);
    memcpy(answer->body + answer->size, bytes, size);
    answer->size += size;
    return true;
}

/* Makes the blocks of a plan again, in reverse order: they have to be the same in any order. */
static void blocks_check(const struct answer *answer)
{
    struct api_response *response = answer->response;
    const struct api_body *body = &response->body;
    unsigned char tail[API_TAIL_MAX];
    size_t end = answer->size - (body->tail ? body->tail(response, tail) : 0);
    void *out = NULL;

    ck_assert_int_eq(posix_memalign(&out, 64, body->block_size + 64), 0);
    for (size_t block = body->blocks; block-- > 0;) {
        const size_t size = body->fill(response, block, out);
        ck_assert_uint_le(size, body->block_size);
        if (body->size != API_SIZE_UNKNOWN && block + 1 < body->blocks)
            ck_assert_uint_eq(size, body->block_size);
        ck_assert_uint_ge(end, body->prefix_size + size);
        end -= size;
        ck_assert_mem_eq(answer->body + end, out, size);
    }
    ck_assert_uint_eq(end, body->prefix_size);
    free(out);
}

void body_read(struct answer *answer)
{
    const struct api_body *body = &answer->response->body;
    const bool whole = body->skip == 0 && answer->response->status != 206;

    answer->size = 0;
    answer->body = calloc(1, 1);
    ck_assert(api_drain(answer->response, gather, answer));
    answer->body[answer->size] = '\0';
    if (answer->response->head_only)
        return;
    if (body->size != API_SIZE_UNKNOWN)
        ck_assert_uint_eq(answer->size, body->size);
    if (body->kind == API_PLAN && whole)
        blocks_check(answer);
}

struct answer call_bytes(struct api *api, const char *method, const char *target,
                         const char *headers, const void *body, size_t size)
{
    char path[2048], *query, lines[2048] = "", *rest = lines;
    struct api_field fields[16];
    struct api_head head = {.method = method, .fields = fields, .content_length = size};
    struct answer answer = {0};
    const char *type;

    snprintf(path, sizeof(path), "%s", target);
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    snprintf(lines, sizeof(lines), "%s", headers ? headers : "");
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        char *value = strstr(line, ": ");
        ck_assert_ptr_nonnull(value);
        *value = '\0';
        fields[head.fields_count++] = (struct api_field){line, value + 2};
    }
    head.path = path;
    head.query = query;
    answer.response = api_handle(api, &head, body, size);
    ck_assert_ptr_nonnull(answer.response);
    answer.status = answer.response->status;
    body_read(&answer);
    type = answer_header(&answer, "Content-Type");
    if (!answer.response->head_only && type && strstr(type, "json") &&
        !answer_header(&answer, "Content-Encoding")) {
        json_error_t error;
        answer.json = json_loadb((char *)answer.body, answer.size,
                                 JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        ck_assert_msg(answer.json != NULL, "%s %s: %s in %.400s", method, target, error.text,
                      (char *)answer.body);
    }
    return answer;
}

struct answer call(struct api *api, const char *method, const char *target, const char *headers,
                   const char *body)
{
    char *text = strdup(body ? body : "");

    for (char *at = text; (at = strchr(at, '\''));)
        *at = '"';
    struct answer answer = call_bytes(api, method, target, headers, text, strlen(text));
    free(text);
    return answer;
}

void answer_free(struct answer *answer)
{
    json_decref(answer->json);
    free(answer->body);
    api_response_free(answer->response);
    *answer = (struct answer){0};
}

json_t *member(const struct answer *answer, const char *path)
{
    json_t *at = answer->json;
    char names[200], *rest = names;

    snprintf(names, sizeof(names), "%s", path);
    for (char *name; at && (name = strsep(&rest, "."));)
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(name)) : json_object_get(at, name);
    return at;
}

const char *member_text(const struct answer *answer, const char *path)
{
    const char *text = json_string_value(member(answer, path));

    return text ? text : "";
}

double member_number(const struct answer *answer, const char *path)
{
    return json_number_value(member(answer, path));
}

void members_same(const struct answer *a, const char *path_a, const struct answer *b,
                  const char *path_b)
{
    ck_assert_ptr_nonnull(member(a, path_a));
    ck_assert(json_equal(member(a, path_a), member(b, path_b)));
}

size_t asked_check(const char *path, const struct asked *rows, size_t count)
{
    struct api *api = api_make(NULL);

    for (const struct asked *row = rows; row < rows + count; row++) {
        char target[300], got[100];
        snprintf(target, sizeof(target), "%s%s", path, row->target);
        struct answer answer =
            call(api, "POST", target, "Content-Type: application/json", row->body);
        snprintf(got, sizeof(got), "%d %s", answer.status, member_text(&answer, "code"));
        const size_t known = strlen(row->answer);
        ck_assert_msg(!strncmp(got, row->answer, known) && (!got[known] || got[known] == ' '),
                      "%s %s: %s, not %s", target, row->body, got, row->answer);
        ck_assert_msg(!*row->says || strstr(member_text(&answer, "detail"), row->says),
                      "%s %s: '%s' does not say '%s'", target, row->body,
                      member_text(&answer, "detail"), row->says);
        answer_free(&answer);
    }
    api_free(api);
    return count;
}
