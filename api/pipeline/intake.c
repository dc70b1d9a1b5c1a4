/* SPDX-License-Identifier: MIT */
#include "api/pipeline/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "api/base/compiler.h"
#include "api/memory/budget.h"
#include "api/request/head.h"
#include "api/request/request.h"
#include "api/response/problem.h"
#include "api/response/response.h"

/* Is a client's id harmless in a header and in a log? */
static bool id_is_valid(const char *id)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:";
    const size_t length = id ? strlen(id) : 0;

    return length > 0 && length <= 128 && strspn(id, allowed) == length;
}

/* SplitMix64: ids of successive requests differ in all digits. */
API_WRAPS("a generator works modulo 2^64")
static char *id_mint(struct api *api, struct api_arena *arena)
{
    uint64_t id = api->id_seed + 0x9e3779b97f4a7c15 * (atomic_fetch_add(&api->ids, 1) + 1);

    char *text = api_arena_take(arena, 17);

    id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9;
    id = (id ^ id >> 27) * 0x94d049bb133111eb;
    id ^= id >> 31;
    for (int i = 0; text && i < 16; i++)
        text[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
    return text;
}

/* Sets the id of the request and the headers of every response. False: no memory. */
static bool response_begin(struct api_response *response, struct api *api,
                           const struct api_head *head, struct api_arena *arena)
{
    const char *id = head ? api_head_field(head, "X-Request-Id") : NULL;

    response->arena = arena;
    response->route = response->operation = response->encoding = "";
    response->dtype = PE_F32;
    response->request_id = id_is_valid(id) ? api_arena_copy(arena, id) : id_mint(api, arena);
    if (!response->request_id)
        return false;
    api_response_header(response, "X-Request-Id", response->request_id);
    api_response_header(response, "X-Content-Type-Options", "nosniff");
    api_cors_headers(api, response, head ? api_head_field(head, "Origin") : NULL);
    return true;
}

/* Requests are refused by their estimated cost. The work itself may cost twice as much, so that no
 * answer is cut off because of an estimate. */
static uint64_t work_limit(const struct api *api)
{
    const uint64_t most = api->settings.limits.work_max;

    return most < UINT64_MAX / 2 ? 2 * most : UINT64_MAX;
}

struct api_intake *api_intake_new(struct api *api, const struct api_head *head)
{
    struct api_arena *arena = api_arena_new(api->memory);
    struct api_intake *intake = arena ? api_arena_take(arena, sizeof(*intake)) : NULL;
    struct api_response *response = intake ? api_arena_take(arena, sizeof(*response)) : NULL;

    if (!response || !response_begin(response, api, head, arena)) {
        api_arena_free(arena);
        return NULL;
    }
    intake->response = response;
    intake->common_headers = response->headers_count;
    intake->request = (struct api_request){
        .api = api,
        .settings = &api->settings,
        .arena = arena,
        .work = api_arena_work_new(arena, work_limit(api), head ? head->deadline : 0),
        .method = head ? api_arena_copy(arena, head->method) : "",
        .content_type = "",
        .head_only = head && strcmp(head->method, "HEAD") == 0,
    };
    if (!intake->request.method || !intake->request.work) {
        api_arena_free(arena);
        return NULL;
    }
    return intake;
}

void api_intake_restrict_cors(struct api_intake *intake)
{
    struct api_response *response = intake->response;
    const size_t before = response->headers_count;

    if (!intake->request.reads_store || intake->request.api->origins_given)
        return;
    api_cors_withhold(response);
    intake->common_headers -= before - response->headers_count;
}

void api_post_advise(struct api_intake *intake, const struct api_head *head, struct pe_error *err)
{
    enum { PATH_SHOWN = 120 };
    const size_t used = strlen(err->detail), left = sizeof(err->detail) - used;

    if (err->status != PE_URI_TOO_LONG || !head)
        return;
    const char *path = head->path && *head->path ? head->path : NULL;
    const bool is_read = strcmp(head->method, "GET") == 0 || strcmp(head->method, "HEAD") == 0;
    if (!is_read && *head->method)
        snprintf(err->detail + used, left,
                 "; parameters can be in the body, as JSON or as metadata of safetensors");
    else if (!path || strlen(path) > PATH_SHOWN)
        snprintf(err->detail + used, left,
                 "; POST it: a view takes its parameters in a JSON body too");
    else if (api_route_is_posted(&intake->request, path))
        snprintf(err->detail + used, left,
                 "; POST it: POST %s takes the same parameters in a JSON body", path);
}

struct api_response *api_intake_fail(struct api_intake *intake, struct pe_error *err)
{
    struct api_response *response = intake->response;
    struct api_arena *arena = response->arena;

    response->headers_count = intake->common_headers;
    api_intake_restrict_cors(intake);
    response->body = (struct api_body){0};
    response->head_only = intake->request.head_only;
    if (err->status != PE_OUT_OF_MEMORY &&
        api_problem_write(intake->request.api, response, intake->request.parameter_errors, err))
        return response;
    /* In place: the intake has to live as long as its response, for api_intake_cancel. */
    *response = *api_problem_no_memory();
    response->arena = arena;
    return response;
}

void api_intake_cancel(struct api_intake *intake)
{
    pe_work_cancel(intake->request.work);
}

void api_intake_free(struct api_intake *intake)
{
    if (intake)
        api_response_free(intake->response);
}

struct api_response *api_refuse(struct api *api, const struct api_head *head, struct pe_error *err)
{
    struct api_intake *intake = api_intake_new(api, head);
    struct api_response *response;

    if (!intake)
        return api_problem_no_memory();
    api_post_advise(intake, head, err);
    response = api_intake_fail(intake, err);
    if (response->arena)
        response->close = true;
    return response;
}

void api_intake_waited(struct api_intake *intake, double milliseconds)
{
    intake->waited_ms = milliseconds;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* A shortage that no retry can cure becomes 413. */
static void shortage_explain(const struct api_intake *intake, struct pe_error *err)
{
    if (err->status != PE_OUT_OF_MEMORY || !api_arena_over_budget(intake->request.arena))
        return;
    *err = (struct pe_error){0};
    pe_fail(err, PE_TOO_LARGE, "",
            "the request needs more memory than the service may take, %llu bytes, the value of "
            "--memory-budget",
            (unsigned long long)intake->request.settings->limits.memory_budget);
}

/* A missing length is most often due to an unquoted '&', which ends the shell's command. */
static void quotes_advise(const struct api_intake *intake, struct pe_error *err)
{
    const size_t used = strlen(err->detail);

    if (err->status == PE_MISSING && strcmp(err->where, "parameter:length") == 0 &&
        strcmp(intake->request.method, "GET") == 0)
        snprintf(err->detail + used, sizeof(err->detail) - used,
                 "; quote the URL, the shell eats what follows &");
}

/* Cancelled work fails in many places; the reason is the timeout. */
static void ending_explain(const struct api_intake *intake, struct pe_error *err)
{
    if (!err->status || !pe_work_ended(intake->request.work))
        return;
    *err = (struct pe_error){0};
    pe_fail(err, PE_BUSY, "", "the answer was not begun within --request-timeout");
}

void api_error_explain(const struct api_intake *intake, struct pe_error *err)
{
    shortage_explain(intake, err);
    ending_explain(intake, err);
    quotes_advise(intake, err);
}
