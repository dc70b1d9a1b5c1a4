/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/codings/coding.h"
#include "api/pipeline/kept.h"
#include "api/request/service.h"

/* A body that no one asked for is read and dropped up to here, so that the connection can go on. */
enum { UNASKED_BODY_MAX = 64 << 10, CHUNKED_ROOM = 64 << 10 };

/* ---- begin ---------------------------------------------------------------------------------- */

static enum api_status copy_field(struct api_intake *intake, const struct api_head *head,
                                  const char *name, const char **to, struct api_error *err)
{
    const char *value = api_head_field(head, name);

    if (!value)
        return API_OK;
    *to = api_arena_copy(intake->request.arena, value);
    return *to ? API_OK : api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the request");
}

static enum api_status fields_copy(struct api_intake *intake, const struct api_head *head,
                                   struct api_error *err)
{
    struct api_request *request = &intake->request;
    const char *type = api_head_field(head, "Content-Type");
    char *media;

    if (copy_field(intake, head, "Accept", &intake->accept, err) ||
        copy_field(intake, head, "Accept-Encoding", &intake->accept_encoding, err) ||
        copy_field(intake, head, "If-Match", &request->if_match, err) ||
        copy_field(intake, head, "If-None-Match", &request->if_none_match, err) ||
        copy_field(intake, head, "If-Range", &request->if_range, err) ||
        copy_field(intake, head, "Range", &request->range, err) ||
        copy_field(intake, head, "Tensor-Dtype", &request->tensor_dtype, err) ||
        copy_field(intake, head, "Tensor-Shape", &request->tensor_shape, err))
        return api_failed(err);
    if (!type)
        return API_OK;
    type += strspn(type, " \t");
    media = api_arena_print(request->arena, "%.*s", (int)strcspn(type, "; \t"), type);
    if (!media)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the request");
    for (char *at = media; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    request->content_type = media;
    return API_OK;
}

/* Against DNS rebinding: a page of some other name that reaches this server has that name here. */
static enum api_status host_check(const struct api *api, const struct api_head *head,
                                  struct api_error *err)
{
    const char *host = api_head_field(head, "Host"), *list = api->settings.allowed_hosts;
    size_t length;

    if (!host || !list)
        return API_OK;
    length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    for (; *list; list += *list == ',') {
        const size_t name = strcspn(list, ",");
        const char *end = strchr(host, '\0');
        if (name == length && length <= (size_t)(end - host) && strncasecmp(list, host, name) == 0)
            return API_OK;
        list += name;
    }
    return api_fail(err, API_FORBIDDEN_HOST, "header:Host",
                    "the Host '%.80s' is not a name of this server; --allowed-host adds one", host);
}

static enum api_status expectations_check(struct api_intake *intake, const struct api_head *head,
                                          struct api_error *err)
{
    const char *expect = api_head_field(head, "Expect");

    if (expect && strcasecmp(expect, "100-continue") != 0)
        return api_fail(err, API_EXPECTATION, "header:Expect",
                        "only 100-continue can be expected, got '%.60s'", expect);
    return api_coding_find(head, &intake->coding, err);
}

enum api_status api_intake_over_limit(const struct api_intake *intake, struct api_error *err)
{
    if (intake->discards)
        return api_fail(err, API_TOO_LARGE, "", "a %.10s of this resource takes no body",
                        intake->request.method);
    return api_fail(err, API_TOO_LARGE, "", "a body has at most %llu bytes here%s, by %s",
                    (unsigned long long)intake->limit, intake->coding ? ", decoded too" : "",
                    intake->limit_flag);
}

bool api_type_is_json(const char *media_type)
{
    const size_t length = strlen(media_type);

    return strcmp(media_type, "application/json") == 0 || strcmp(media_type, "text/json") == 0 ||
           (length > 5 && strcmp(media_type + length - 5, "+json") == 0);
}

/* A body leaves room in the budget for as much again: above that it would never be admitted. One
 * that is decoded may have as much in front of the decoder as behind it. */
static void limit_set(struct api_intake *intake)
{
    const struct api_limits *limits = &intake->request.settings->limits;
    const bool json = api_type_is_json(intake->request.content_type);
    uint64_t budget;

    if (intake->discards) {
        intake->limit = UNASKED_BODY_MAX;
        return;
    }
    budget = api_memory_state(intake->request.api->memory).budget;
    intake->limit = limits->body_max;
    intake->limit_flag = "--body-max";
    if (json && limits->json_body_max < intake->limit) {
        intake->limit = limits->json_body_max;
        intake->limit_flag = "--json-body-max";
    }
    if (intake->coding && budget / 4 < intake->limit) {
        intake->limit = budget / 4;
        intake->limit_flag = "a quarter of --memory-budget, which coded bodies may have";
    } else if (budget / 2 < intake->limit) {
        intake->limit = budget / 2;
        intake->limit_flag = json ? "half of --memory-budget, which is below --json-body-max"
                                  : "half of --memory-budget, which is below --body-max";
    }
}

/* The body, and what its work takes: as much again, as text three times that (a number of two
 * characters becomes four or eight bytes). The handler that knows better corrects it. */
static enum api_status memory_reserve(struct api_intake *intake, uint64_t size,
                                      struct api_error *err)
{
    const uint64_t budget = api_memory_state(intake->request.api->memory).budget;
    uint64_t whole = size * (api_type_is_json(intake->request.content_type) ? 4 : 2);

    if (whole > budget)
        whole = budget;
    if (api_arena_reserve(intake->request.arena, whole))
        return API_OK;
    return api_fail(err, API_BUSY, "",
                    "other requests hold the memory that this one needs, %llu bytes of "
                    "--memory-budget; try again soon",
                    (unsigned long long)whole);
}

/* The limit, and one buffer for a body whose length is known. */
static enum api_status body_expect(struct api_intake *intake, const struct api_head *head,
                                   struct api_error *err)
{
    intake->expected = head->content_length;
    intake->discards = !intake->request.route || !intake->request.route->takes_body;
    limit_set(intake);
    if (intake->expected == API_LENGTH_UNKNOWN)
        return API_OK;
    if (intake->expected > intake->limit)
        return api_intake_over_limit(intake, err);
    if (intake->discards || intake->coding || intake->expected == 0)
        return API_OK;
    if (memory_reserve(intake, intake->expected, err))
        return api_failed(err);
    intake->room = (size_t)intake->expected;
    intake->buffer = api_arena_room(intake->request.arena, intake->room);
    return intake->buffer ? API_OK : api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the body");
}

/* JSON, or where the route says "same" the format of the request's media type. */
static const struct api_format *format_default(const struct api_request *request)
{
    if (strcmp(request->route->formats, "same") != 0)
        return &api_format_json;
    if (request->reader)
        return api_format_find(request->reader->name);
    for (const struct api_reader *const *reader = api_readers; *reader; reader++)
        if (strcmp((*reader)->media_type, request->content_type) == 0)
            return api_format_find((*reader)->name);
    return api_format_find("json");
}

enum api_status api_intake_format(struct api_intake *intake, struct api_error *err)
{
    struct api_request *request = &intake->request;

    api_coding_choose(intake->accept_encoding, &request->coding, &request->plain_refused);
    if (!*request->route->formats)
        return API_OK;
    if (api_format_negotiate(request->route->formats, format_default(request),
                             intake->format_wanted, intake->accept, &request->format, err))
        return api_failed(err);
    if (request->format->binary)
        request->coding = NULL;
    return API_OK;
}

static enum api_status query_read(struct api_intake *intake, const struct api_head *head,
                                  struct api_error *err)
{
    struct api_request *request = &intake->request;
    char *query = api_arena_copy(request->arena, head->query ? head->query : "");

    if (!query)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the query");
    if (api_query_parse(request, query, err))
        return api_failed(err);
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, "format") == 0) {
            if (intake->format_wanted && strcmp(intake->format_wanted, request->query[i].value))
                return api_fail(err, API_CONFLICT, "parameter:format", "format is given twice");
            intake->format_wanted = request->query[i].value;
        }
    return API_OK;
}

static enum api_status head_read(struct api_intake *intake, const struct api_head *head,
                                 struct api_error *err)
{
    struct api_request *request = &intake->request;
    struct api_response *response = intake->response;
    const char *allow = NULL;
    enum api_status status;

    if (host_check(request->api, head, err) || fields_copy(intake, head, err))
        return api_failed(err);
    api_answer_find(intake, head);
    if (intake->answer)
        return API_OK;
    status = api_route_find(request, head->path, &allow, err);
    if (request->route)
        response->route = request->route->pattern;
    if (status == API_NOT_FOUND &&
        (strcmp(request->method, "TRACE") == 0 || strcmp(request->method, "CONNECT") == 0)) {
        allow = "GET, HEAD, POST, OPTIONS";
        *err = (struct api_error){0};
        status = api_fail(err, API_WRONG_METHOD, "", "%s is not offered", request->method);
    }
    if (status == API_WRONG_METHOD) {
        api_response_header(response, "Allow", allow);
        intake->common_headers = response->headers_count;
    }
    if (status)
        return status;
    if (strcmp(request->method, "OPTIONS") == 0) {
        api_cors_preflight(request->api, response, allow);
        request->route = NULL;
        intake->refusal = response;
        return body_expect(intake, head, err);
    }
    if (api_is_write(request) && api_write_check(intake, head, err))
        return api_failed(err);
    if (expectations_check(intake, head, err) || body_expect(intake, head, err) ||
        query_read(intake, head, err))
        return api_failed(err);
    if (intake->coding && !intake->discards && api_decode_begin(intake, err))
        return api_failed(err);
    return api_intake_format(intake, err);
}

struct api_response *api_begin(struct api *api, const struct api_head *head,
                               struct api_intake **out)
{
    struct api_intake *intake = api_intake_new(api, head);
    struct api_error err = {0};
    struct api_response *refusal;

    *out = NULL;
    if (!intake)
        return api_problem_no_memory();
    if (head_read(intake, head, &err)) {
        refusal = api_intake_fail(intake, &err);
        /* Without a body on its way there is nothing to stop, and the connection can go on. */
        if (head->content_length != 0 || !refusal->arena) {
            if (refusal->arena)
                refusal->close = true;
            return refusal;
        }
        intake->refusal = refusal;
    }
    *out = intake;
    return NULL;
}

/* ---- feed ----------------------------------------------------------------------------------- */

/* Where the size is not known: twice the room whenever it is full. */
enum api_status api_intake_room(struct api_intake *intake, size_t needed, struct api_error *err)
{
    size_t room = intake->room ? intake->room : CHUNKED_ROOM;
    unsigned char *buffer;

    if (needed <= intake->room)
        return API_OK;
    while (room < needed)
        room *= 2;
    if (room > intake->limit)
        room = (size_t)intake->limit;
    if (memory_reserve(intake, room, err))
        return api_failed(err);
    buffer = api_arena_room(intake->request.arena, room);
    if (!buffer)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the body");
    if (intake->size > 0)
        memcpy(buffer, intake->buffer, intake->size);
    api_arena_room_drop(intake->request.arena, intake->buffer);
    intake->buffer = buffer;
    intake->room = room;
    return API_OK;
}

static enum api_status bytes_take(struct api_intake *intake, const void *bytes, size_t size,
                                  struct api_error *err)
{
    if (size > intake->limit || intake->received > intake->limit - size)
        return api_intake_over_limit(intake, err);
    if (intake->expected != API_LENGTH_UNKNOWN && size > intake->expected - intake->received)
        return api_fail(err, API_MALFORMED, "header:Content-Length",
                        "the body is longer than its Content-Length, %llu",
                        (unsigned long long)intake->expected);
    intake->received += size;
    if (intake->discards)
        return API_OK;
    if (intake->decoding)
        return api_decode_feed(intake, bytes, size, err);
    if (api_intake_room(intake, intake->size + size, err))
        return api_failed(err);
    memcpy(intake->buffer + intake->size, bytes, size);
    intake->size += size;
    return API_OK;
}

/* The refusal is an answer of its own: the intake stays the caller's to free. */
struct api_response *api_feed(struct api_intake *intake, const void *bytes, size_t size)
{
    struct api_error err = {0};
    struct api_response *refusal;
    struct api_intake *other;

    if (size == 0 || bytes_take(intake, bytes, size, &err) == API_OK)
        return NULL;
    other = api_intake_new(intake->request.api, NULL);
    if (!other)
        return api_problem_no_memory();
    other->response->route = intake->request.route ? intake->request.route->pattern : "";
    refusal = api_intake_fail(other, &err);
    if (refusal->arena)
        refusal->close = true;
    return refusal;
}

void api_intake_waited(struct api_intake *intake, double milliseconds)
{
    intake->waited_ms = milliseconds;
}

enum api_cost api_intake_cost(const struct api_intake *intake)
{
    const struct api_route *route = intake->request.route;

    if (intake->refusal || intake->answer || !route)
        return API_INLINE;
    return route->cost == API_COST_LOOP ||
                   (route->cost == API_COST_PLAIN && !intake->request.coding)
               ? API_INLINE
               : API_POOLED;
}
