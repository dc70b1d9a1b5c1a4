/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/base/names.h"
#include "api/base/prefetch.h"
#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/memory/budget.h"
#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "api/request/request.h"
#include "api/response/problem.h"
#include "api/response/response.h"
#include "api/routes/handler.h"

/* A body that the route does not take is dropped up to this size, so that the connection can go
 * on. */
enum { DROPPED_BODY_MAX = 64 << 10 };

/* For shorter bodies, making pages in advance takes longer. */
enum { PREFETCH_MIN = 8 << 20 };

/* ---- the buffer ------------------------------------------------------------------------------ */

/* The first buffer of a body of unknown length. */
enum { CHUNKED_CAPACITY = 64 << 10 };

static enum pe_status over_limit(const struct api_intake *intake, struct pe_error *err)
{
    if (intake->discards)
        return pe_fail(err, PE_TOO_LARGE, "", "a %.10s of this resource takes no body",
                       intake->request.method);
    return pe_fail(err, PE_TOO_LARGE, "", "a body has at most %llu bytes here%s, by %s",
                   (unsigned long long)intake->limit, intake->body_coding ? ", decoded too" : "",
                   intake->limit_flag);
}

/* Reserves for the body and for the work on it: as much again, or three times that for text, whose
 * numbers of two characters become four or eight bytes. Never more than the budget of requests. A
 * handler may correct it. PE_BUSY. */
static enum pe_status reserve(struct api_intake *intake, uint64_t size, struct pe_error *err)
{
    const uint64_t most = api_memory_state(intake->request.api->memory).left;
    uint64_t total = size * (api_type_is_json(intake->request.content_type) ? 4 : 2);

    if (total > most)
        total = most > size ? most : size;
    if (api_arena_reserve(intake->request.arena, total))
        return PE_OK;
    return pe_fail(err, PE_BUSY, "",
                   "other requests hold the memory that this one needs, %llu bytes of "
                   "--memory-budget; try again soon",
                   (unsigned long long)total);
}

/* Gives the buffer a capacity of `needed` bytes at least, by doubling. */
static enum pe_status buffer_grow(struct api_intake *intake, size_t needed, struct pe_error *err)
{
    size_t capacity = intake->capacity ? intake->capacity : CHUNKED_CAPACITY;
    unsigned char *buffer;

    if (needed <= intake->capacity)
        return PE_OK;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > intake->limit)
        capacity = (size_t)intake->limit;
    if (reserve(intake, capacity, err))
        return err->status;
    buffer = api_arena_buffer(intake->request.arena, capacity);
    if (!buffer)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the body");
    if (intake->size > 0)
        memcpy(buffer, intake->buffer, intake->size);
    api_arena_buffer_drop(intake->request.arena, intake->buffer);
    intake->buffer = buffer;
    intake->capacity = capacity;
    return PE_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* A coded body is decoded into the intake's buffer as it arrives, at most STEP_MAX bytes a call,
 * because a loop calls and few bytes can become very many. The rest is stored coded (the backlog)
 * and decoded at the end, on a worker. */
enum { STEP_MAX = 32 << 10, BACKLOG_CAPACITY = 64 << 10, GROWTH_MAX = 16 };

/* Cancellation is checked after so many bytes of either side, in some milliseconds. */
enum { CHECK_MAX = 1 << 20 };

struct api_decoding {
    const struct api_coding *coding;
    void *decoder;
    unsigned char *backlog;
    size_t backlog_begin, backlog_end, backlog_capacity;
};

static void decoding_release(void *context)
{
    struct api_decoding *decoding = context;

    if (decoding->decoder)
        decoding->coding->decode_close(decoding->decoder);
    decoding->decoder = NULL;
}

/* The failure of an allocation: 413 if no retry can succeed, else 503. */
static enum pe_status memory_fail(const struct api_intake *intake, struct pe_error *err)
{
    if (api_arena_over_budget(intake->request.arena))
        return pe_fail(err, PE_TOO_LARGE, "",
                       "to decode this body takes more memory than the service may take, %llu "
                       "bytes, the value of --memory-budget",
                       (unsigned long long)intake->request.settings->limits.memory_budget);
    return pe_fail(err, PE_BUSY, "",
                   "other requests hold the memory to decode this body; try again soon");
}

enum pe_status api_decode_begin(struct api_intake *intake, struct pe_error *err)
{
    struct api_arena *arena = intake->request.arena;
    struct api_decoding *decoding = api_arena_take(arena, sizeof(*decoding));

    if (!decoding)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    decoding->coding = intake->body_coding;
    decoding->decoder = decoding->coding->decode_open(intake->request.work);
    if (!decoding->decoder && api_arena_refused(arena))
        return memory_fail(intake, err);
    if (!decoding->decoder || !api_arena_defer(arena, decoding_release, decoding))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to decode the body");
    intake->decoding = decoding;
    return PE_OK;
}

/* Charges bytes that a decoder has read or written. */
static enum pe_status decoding_charge(struct api_intake *intake, size_t bytes, struct pe_error *err)
{
    const double cost = (double)bytes * intake->decoding->coding->decode_cost;

    if (pe_work_spend(intake->request.work, (uint64_t)cost, err) != PE_TOO_LARGE)
        return err->status;
    *err = (struct pe_error){0};
    return pe_fail(err, PE_TOO_LARGE, "",
                   "to decode this body takes more work than --work-max allows; send less at "
                   "once");
}

/* One step of decoding; input may be left over for the next one. */
static enum pe_status decode_once(struct api_intake *intake, struct api_flow *flow,
                                  struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;
    const size_t later = flow->in_size > CHECK_MAX ? flow->in_size - CHECK_MAX : 0;
    const size_t before = flow->in_size + flow->out_size;

    if (pe_work_check(intake->request.work, err))
        return err->status;
    flow->in_size -= later;
    decoding->coding->decode(decoding->decoder, flow, err);
    flow->in_size += later;
    if (!err->status)
        decoding_charge(intake, before - flow->in_size - flow->out_size, err);
    if (err->status != PE_OUT_OF_MEMORY || !api_arena_refused(intake->request.arena))
        return err->status;
    *err = (struct pe_error){0};
    return memory_fail(intake, err);
}

/* The capacity for the complete body if the rest decodes like the bytes so far: so there are few
 * buffers, and those before the last together take hardly more than half of the limit. */
static size_t capacity_estimate(const struct api_intake *intake, const struct api_flow *flow)
{
    const uint64_t decoded = intake->received - flow->in_size;
    const uint64_t total =
        intake->expected == API_LENGTH_UNKNOWN ? intake->received : intake->expected;
    double wanted = (double)intake->size * ((double)total / (double)(decoded > 0 ? decoded : 1));

    if (wanted > (double)intake->size * GROWTH_MAX)
        wanted = (double)intake->size * GROWTH_MAX;
    if (wanted >= (double)intake->limit / 2)
        return (size_t)intake->limit;
    /* At least one byte more. */
    return (size_t)wanted > intake->size ? (size_t)wanted : intake->size + 1;
}

/* Decodes until `most` bytes are made or the input is used up. At the limit one byte is decoded
 * outside of the buffer, to find out whether there is more. */
static enum pe_status decode(struct api_intake *intake, struct api_flow *flow, uint64_t most,
                             struct pe_error *err)
{
    unsigned char beyond;

    do {
        const bool full = intake->size == intake->limit;
        size_t capacity = 1, made;
        if (!full && intake->size == intake->capacity &&
            buffer_grow(intake, capacity_estimate(intake, flow), err))
            return err->status;
        if (!full)
            capacity =
                intake->capacity - intake->size < most ? intake->capacity - intake->size : most;
        capacity = capacity < CHECK_MAX ? capacity : CHECK_MAX;
        flow->out = full ? &beyond : intake->buffer + intake->size;
        flow->out_size = capacity;
        if (decode_once(intake, flow, err))
            return err->status;
        made = capacity - flow->out_size;
        if (full && made > 0)
            return over_limit(intake, err);
        intake->size += made;
        most -= made;
    } while (most > 0 && (flow->in_size > 0 || flow->out_size == 0));
    return PE_OK;
}

/* ---- the backlog ---------------------------------------------------------------------------- */

/* Makes space for `size` bytes more. Waiting bytes move to the front only if half of the capacity
 * is free afterwards, so that each moves a few times at most. */
static enum pe_status backlog_grow(struct api_intake *intake, size_t size, struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;
    struct api_arena *arena = intake->request.arena;
    const size_t waiting = decoding->backlog_end - decoding->backlog_begin;
    size_t capacity = decoding->backlog_capacity ? decoding->backlog_capacity : BACKLOG_CAPACITY;
    unsigned char *backlog = decoding->backlog;

    while (capacity / 2 < waiting + size)
        capacity *= 2;
    if (capacity > decoding->backlog_capacity)
        backlog = api_arena_buffer(arena, capacity);
    if (!backlog)
        return memory_fail(intake, err);
    if (waiting > 0)
        memmove(backlog, decoding->backlog + decoding->backlog_begin, waiting);
    if (backlog != decoding->backlog)
        api_arena_buffer_drop(arena, decoding->backlog);
    decoding->backlog = backlog;
    decoding->backlog_capacity = capacity;
    decoding->backlog_begin = 0;
    decoding->backlog_end = waiting;
    return PE_OK;
}

static enum pe_status backlog_add(struct api_intake *intake, const unsigned char *bytes,
                                  size_t size, struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;

    if (decoding->backlog_capacity - decoding->backlog_end < size &&
        backlog_grow(intake, size, err))
        return err->status;
    memcpy(decoding->backlog + decoding->backlog_end, bytes, size);
    decoding->backlog_end += size;
    return PE_OK;
}

static enum pe_status backlog_decode(struct api_intake *intake, uint64_t most, struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;
    static const unsigned char nothing[1];
    const unsigned char *backlog = decoding->backlog ? decoding->backlog : nothing;
    struct api_flow flow = {.in = backlog + decoding->backlog_begin,
                            .in_size = decoding->backlog_end - decoding->backlog_begin};

    if (decode(intake, &flow, most, err))
        return err->status;
    decoding->backlog_begin = decoding->backlog_end - flow.in_size;
    if (flow.in_size == 0)
        decoding->backlog_begin = decoding->backlog_end = 0;
    return PE_OK;
}

static enum pe_status decode_feed(struct api_intake *intake, const void *bytes, size_t size,
                                  struct pe_error *err)
{
    struct api_flow flow = {.in = bytes, .in_size = size};

    if (intake->decoding->backlog_end > 0) {
        if (backlog_add(intake, bytes, size, err))
            return err->status;
        return backlog_decode(intake, STEP_MAX, err);
    }
    if (decode(intake, &flow, STEP_MAX, err))
        return err->status;
    return flow.in_size > 0 ? backlog_add(intake, flow.in, flow.in_size, err) : PE_OK;
}

enum pe_status api_decode_end(struct api_intake *intake, struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;

    if (intake->received == 0)
        return PE_OK; /* no body */
    if (backlog_decode(intake, UINT64_MAX, err))
        return err->status;
    if (!decoding->coding->decode_ended(decoding->decoder))
        return pe_fail(err, PE_MALFORMED, "header:Content-Encoding",
                       "the body ended in the middle of its %s", decoding->coding->name);
    api_arena_buffer_drop(intake->request.arena, decoding->backlog);
    decoding->backlog = NULL;
    decoding_release(decoding);
    return PE_OK;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* A body may take half of the budget, because its work takes as much again; one that is decoded a
 * quarter, because its coded bytes may take as much too. */
static void limit_set(struct api_intake *intake)
{
    const struct api_limits *limits = &intake->request.settings->limits;
    const bool json = api_type_is_json(intake->request.content_type);
    uint64_t budget;

    if (intake->discards) {
        intake->limit = DROPPED_BODY_MAX;
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
        return over_limit(intake, err);
    if (intake->discards || intake->body_coding || intake->expected == 0)
        return PE_OK;
    if (reserve(intake, intake->expected, err))
        return err->status;
    intake->capacity = (size_t)intake->expected;
    intake->buffer = api_arena_buffer(intake->request.arena, intake->capacity);
    if (!intake->buffer)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the body");
    if (intake->capacity >= PREFETCH_MIN && api_pool(intake->request.api))
        intake->prefetch =
            api_prefetch_new(api_pool(intake->request.api), intake->buffer, intake->capacity);
    if (intake->prefetch &&
        !api_arena_defer(intake->request.arena, api_prefetch_end, intake->prefetch))
        intake->prefetch = NULL;
    return PE_OK;
}

static enum pe_status bytes_take(struct api_intake *intake, const void *bytes, size_t size,
                                 struct pe_error *err)
{
    if (size > intake->limit || intake->received > intake->limit - size)
        return over_limit(intake, err);
    if (intake->expected != API_LENGTH_UNKNOWN && size > intake->expected - intake->received)
        return pe_fail(err, PE_MALFORMED, "header:Content-Length",
                       "the body is longer than its Content-Length, %llu",
                       (unsigned long long)intake->expected);
    intake->received += size;
    if (intake->discards)
        return PE_OK;
    if (intake->decoding)
        return decode_feed(intake, bytes, size, err);
    if (buffer_grow(intake, intake->size + size, err))
        return err->status;
    memcpy(intake->buffer + intake->size, bytes, size);
    intake->size += size;
    return PE_OK;
}

bool api_feed_waits(struct api_intake *intake, size_t size, void (*wake)(void *context),
                    void *context)
{
    return intake->prefetch &&
           api_prefetch_waits(intake->prefetch, intake->size + size, wake, context);
}

/* Copies the id of the request and the headers common to all responses. */
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

/* A refusal is a separate response: the caller still has to free the intake. */
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
        over_limit(intake, &err);
        return refuse(intake, &err);
    }
    intake->buffer = bytes;
    intake->size = intake->capacity = size;
    intake->expected = intake->received = size; /* further bytes are refused */
    return NULL;
}

enum pe_status api_body_type_check(struct api_intake *intake, const char *type,
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

/* Nanoseconds to receive a byte of a body from loopback into its buffer, and to parse a byte of
 * numbers as text. Other text costs more, which is charged by its parser. */
#define RECEIVING_COST 0.25
#define TEXT_COST      1.4

enum pe_status api_body_charge(const struct api_intake *intake, struct pe_error *err)
{
    const struct api_request *request = &intake->request;
    const size_t text = request->reader->text_size
                            ? request->reader->text_size(request->body, request->body_size)
                            : 0;
    const double cost = (double)intake->received * RECEIVING_COST + (double)text * TEXT_COST;

    if (pe_work_spend(request->work, (uint64_t)cost, err) != PE_TOO_LARGE)
        return err->status;
    *err = (struct pe_error){0};
    return pe_fail(err, PE_TOO_LARGE, "",
                   "to read this body takes more work than --work-max allows; send less at once");
}
