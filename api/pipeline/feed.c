/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/base/ahead.h"
#include "api/base/names.h"
#include "api/formats/reader.h"
#include "api/memory/budget.h"
#include "api/pipeline/stages.h"
#include "api/request/head.h"
#include "api/request/service.h"
#include "api/response/problem.h"
#include "api/response/respond.h"
#include "api/routes/handler.h"

/* A body that no one asked for is read and dropped up to here, so that the connection can go on. */
enum { UNASKED_BODY_MAX = 64 << 10 };

/* Of a shorter body the pages are few, and to have them made takes longer. */
enum { AHEAD_MIN = 8 << 20 };

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
    if (intake->body_coding && budget / 4 < intake->limit) {
        intake->limit = budget / 4;
        intake->limit_flag = "a quarter of --memory-budget, which coded bodies may have";
    } else if (budget / 2 < intake->limit) {
        intake->limit = budget / 2;
        intake->limit_flag = json ? "half of --memory-budget, which is below --json-body-max"
                                  : "half of --memory-budget, which is below --body-max";
    }
}

enum pe_status api_body_prepare(struct api_intake *intake, const struct api_head *head,
                                struct pe_error *err)
{
    intake->expected = head->content_length;
    intake->discards = !intake->request.route || !intake->request.route->takes_body;
    limit_set(intake);
    if (intake->expected == API_LENGTH_UNKNOWN)
        return PE_OK;
    if (intake->expected > intake->limit)
        return api_intake_over_limit(intake, err);
    if (intake->discards || intake->body_coding || intake->expected == 0)
        return PE_OK;
    if (api_intake_reserve(intake, intake->expected, err))
        return err->status;
    intake->room = (size_t)intake->expected;
    intake->buffer = api_arena_room(intake->request.arena, intake->room);
    if (!intake->buffer)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the body");
    if (intake->room >= AHEAD_MIN && api_pool(intake->request.api))
        intake->ahead = api_ahead_new(api_pool(intake->request.api), intake->buffer, intake->room);
    if (intake->ahead && !api_arena_defer(intake->request.arena, api_ahead_end, intake->ahead))
        intake->ahead = NULL;
    return PE_OK;
}

static enum pe_status bytes_take(struct api_intake *intake, const void *bytes, size_t size,
                                 struct pe_error *err)
{
    if (size > intake->limit || intake->received > intake->limit - size)
        return api_intake_over_limit(intake, err);
    if (intake->expected != API_LENGTH_UNKNOWN && size > intake->expected - intake->received)
        return pe_fail(err, PE_MALFORMED, "header:Content-Length",
                       "the body is longer than its Content-Length, %llu",
                       (unsigned long long)intake->expected);
    intake->received += size;
    if (intake->discards)
        return PE_OK;
    if (intake->decoding)
        return api_decode_feed(intake, bytes, size, err);
    if (api_intake_room(intake, intake->size + size, err))
        return err->status;
    memcpy(intake->buffer + intake->size, bytes, size);
    intake->size += size;
    return PE_OK;
}

bool api_feed_waits(struct api_intake *intake, size_t size, void (*wake)(void *context),
                    void *context)
{
    return intake->ahead && api_ahead_waits(intake->ahead, intake->size + size, wake, context);
}

/* The id of the request, and what a page of another origin needs to read the refusal. */
static void common_copy(struct api_intake *to, const struct api_intake *from)
{
    struct api_response *response = to->response;

    response->request_id = api_arena_copy(response->arena, from->response->request_id) ?: "";
    response->headers_count = 0;
    for (size_t i = 0; i < from->common_headers; i++)
        api_response_header(response, from->response->headers[i].name,
                            api_arena_copy(response->arena, from->response->headers[i].value));
    to->common_headers = response->headers_count;
}

/* A refusal is a response of its own: the intake stays the caller's to free. */
static struct api_response *refuse(struct api_intake *intake, struct pe_error *err)
{
    struct api_response *refusal;
    struct api_intake *other;

    api_error_explain(intake, err);
    other = api_intake_new(intake->request.api, NULL);
    if (!other)
        return api_problem_no_memory();
    common_copy(other, intake);
    other->response->route = intake->request.route ? intake->request.route->pattern : "";
    refusal = api_intake_fail(other, err);
    if (refusal->arena)
        refusal->close = true;
    return refusal;
}

struct api_response *api_feed(struct api_intake *intake, const void *bytes, size_t size)
{
    struct pe_error err = {0};

    return size == 0 || bytes_take(intake, bytes, size, &err) == PE_OK ? NULL
                                                                       : refuse(intake, &err);
}

struct api_response *api_lend(struct api_intake *intake, void *bytes, size_t size)
{
    struct pe_error err = {0};

    if (intake->discards || intake->body_coding || intake->buffer || size == 0)
        return api_feed(intake, bytes, size);
    if (size > intake->limit) {
        api_intake_over_limit(intake, &err);
        return refuse(intake, &err);
    }
    intake->buffer = bytes;
    intake->size = intake->room = size;
    intake->expected = intake->received = size; /* any more is refused */
    return NULL;
}

enum pe_status api_feed_type_check(struct api_intake *intake, const char *type,
                                   struct pe_error *err)
{
    static const char stored[] = "application/x-npy, application/x-safetensors";

    if (!intake->request.route->writes || !intake->request.route->takes_body ||
        api_names_have(stored, ", ", type, strlen(type)))
        return PE_OK;
    api_response_header(intake->response, "Accept", stored);
    intake->common_headers = intake->response->headers_count;
    return pe_fail(err, PE_UNKNOWN_FORMAT, "header:Content-Type",
                   "a table is stored from npy or safetensors (curl --data-binary @file), not "
                   "from '%.60s'",
                   type);
}

/* Nanoseconds of a byte of a body on its way from loopback into its buffer, and of one of numbers
 * as text. Other text costs more, which is counted where it is read. */
#define RECEIVING_WORK 0.25
#define TEXT_WORK      1.4

enum pe_status api_body_count(const struct api_intake *intake, struct pe_error *err)
{
    const struct api_request *request = &intake->request;
    const size_t text = request->reader->text_size
                            ? request->reader->text_size(request->body, request->body_size)
                            : 0;
    const double work = (double)intake->received * RECEIVING_WORK + (double)text * TEXT_WORK;

    if (pe_work_spend(request->work, (uint64_t)work, err) != PE_TOO_LARGE)
        return err->status;
    *err = (struct pe_error){0};
    return pe_fail(err, PE_TOO_LARGE, "",
                   "to read this body takes more work than --work-max allows; send less at once");
}
