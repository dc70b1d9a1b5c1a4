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
    struct api_error err = {0};
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

void body_read(struct answer *answer)
{
    struct api_response *response = answer->response;
    const struct api_body *body = &response->body;
    size_t *sizes = calloc(body->blocks + 1, sizeof(*sizes));
    unsigned char **parts = calloc(body->blocks + 1, sizeof(*parts));

    answer->size = body->prefix_size;
    for (size_t i = 0; i < body->blocks; i++) {
        const size_t block = body->kind == API_PLAN ? body->blocks - 1 - i : i;
        void *out = NULL;
        ck_assert_int_eq(posix_memalign(&out, 64, body->block_size + 64), 0);
        sizes[block] = body->fill(response, block, out);
        ck_assert_uint_ne(sizes[block], SIZE_MAX);
        ck_assert_uint_le(sizes[block], body->block_size);
        if (body->buffer)
            memcpy(out, body->buffer + block * body->block_size, sizes[block]);
        if (body->size != API_SIZE_UNKNOWN && block + 1 < body->blocks)
            ck_assert_uint_eq(sizes[block], body->block_size);
        parts[block] = out;
        answer->size += sizes[block];
    }
    unsigned char tail[API_TAIL_MAX];
    const size_t tail_size = body->tail ? body->tail(response, tail) : 0;
    answer->body = malloc(answer->size + tail_size + 1);
    if (body->prefix_size > 0)
        memcpy(answer->body, body->prefix, body->prefix_size);
    size_t at = body->prefix_size;
    for (size_t i = 0; i < body->blocks; i++) {
        memcpy(answer->body + at, parts[i], sizes[i]);
        at += sizes[i];
        free(parts[i]);
    }
    memcpy(answer->body + at, tail, tail_size);
    answer->size += tail_size;
    if (body->size != API_SIZE_UNKNOWN)
        ck_assert_uint_eq(answer->size, body->size);
    free(sizes);
    free(parts);
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
    if (answer.response->head_only) {
        answer.body = calloc(1, 1);
        return answer;
    }
    if (answer.response->body.kind == API_BYTES) {
        answer.size = answer.response->body.size;
        answer.body = malloc(answer.size + 1);
        if (answer.size > 0)
            memcpy(answer.body, answer.response->body.bytes, answer.size);
    } else {
        body_read(&answer);
    }
    answer.body[answer.size] = '\0';
    type = answer_header(&answer, "Content-Type");
    if (type && strstr(type, "json") && !answer_header(&answer, "Content-Encoding")) {
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
    return call_bytes(api, method, target, headers, body, body ? strlen(body) : 0);
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
