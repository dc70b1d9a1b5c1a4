/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/system.h"
#include "api/formats/formats.h"
#include "api/memory/json.h"
#include "api/numbers/text.h"
#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/response/encode.h"
#include "api/response/response.h"
#include "api/routes/handler.h"

/* Finds the reader of the complete body. */
static enum pe_status reader_choose(struct api_intake *intake, struct pe_error *err)
{
    intake->request.body = intake->buffer;
    intake->request.body_size = intake->size;
    return api_reader_find(&intake->request, &intake->request.reader, err);
}

static enum pe_status body_check_complete(const struct api_intake *intake, struct pe_error *err)
{
    if (intake->expected != API_LENGTH_UNKNOWN && intake->received < intake->expected)
        return pe_fail(err, PE_MALFORMED, "header:Content-Length",
                       "the body ended after %llu bytes of %llu",
                       (unsigned long long)intake->received, (unsigned long long)intake->expected);
    return PE_OK;
}

static enum pe_status body_read(struct api_intake *intake, struct pe_error *err)
{
    struct api_request *request = &intake->request;
    const struct api_limits *limits = &request->settings->limits;

    if (body_check_complete(intake, err))
        return err->status;
    if (intake->decoding && api_decode_end(intake, err))
        return err->status;
    if (intake->discards || intake->size == 0)
        return PE_OK;
    if ((!request->reader && reader_choose(intake, err)) ||
        api_body_type_check(intake, request->reader->media_type, err))
        return err->status;
    if (api_type_is_json(request->reader->media_type) && intake->size > limits->json_body_max)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "a JSON body has at most %llu bytes, the value of --json-body-max",
                       (unsigned long long)limits->json_body_max);
    if (api_body_charge(intake, err))
        return err->status;
    if (request->reader->read(request, err)) {
        api_reader_advise(request, err);
        return err->status;
    }
    /* The format of the head can change only by a body of another type than announced, or one with
     * a `format`. */
    return !api_format_of_body(intake, err) &&
                   strcmp(request->reader->media_type, request->content_type) == 0
               ? err->status
               : api_format_choose(intake, err);
}

/* False: out of memory. */
static bool json_header(struct api_response *response, const char *name, const json_t *json)
{
    enum { VALUE_MAX = 4096 }; /* the HTTP library has one small buffer for all headers */
    struct api_text text = {0};

    api_text_json(&text, json, true);
    const bool printed = !text.failed;
    if (text.size <= VALUE_MAX)
        api_response_header(response, name, api_text_take(&text, response->arena));
    api_text_free(&text);
    return printed;
}

static enum pe_status tensors_headers(const struct api_request *request,
                                      const struct api_result *result,
                                      struct api_response *response, struct pe_error *err)
{
    const struct api_format *format = request->format;

    api_response_header(response, "Content-Type",
                        format->parameters ? api_arena_print(response->arena, "%s%s",
                                                             format->media_type, format->parameters)
                                           : format->media_type);
    if (result->file_stem && (result->download == API_DOWNLOAD_YES ||
                              (result->download == API_DOWNLOAD_DEFAULT && format->is_file)))
        api_response_header(response, "Content-Disposition",
                            api_arena_print(response->arena, "attachment; filename=\"%s.%s\"",
                                            result->file_stem, format->extension));
    api_response_header(response, "Content-Security-Policy", format->policy);
    if (!format->is_file)
        return PE_OK;
    if (api_has_ranges(request, result))
        api_response_header(response, "Accept-Ranges", "bytes");
    if ((!result->encoding || json_header(response, "Encoding-Parameters", result->encoding)) &&
        (json_array_size(result->warnings) == 0 ||
         json_header(response, "Encoding-Warnings", result->warnings)))
        return PE_OK;
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the header of the answer");
}

static void headers_put(const struct api_result *result, struct api_response *response)
{
    if (result->bare)
        api_cors_drop(response);
    api_response_header(response, "Location", result->location);
    api_response_header(response, "Content-Location", result->content_location);
    api_response_header(response, "Content-Security-Policy", result->policy);
    api_response_header(response, "Content-Encoding", result->coding);
    api_response_header(response, "ETag", result->etag);
    api_response_header(response, "Cache-Control", result->cache_control);
}

static enum pe_status report_make(struct api_intake *intake, struct pe_error *err)
{
    if (!intake->prepares)
        return PE_OK;
    if (api_respond_json(intake->response, intake->result.report, intake->result.has_points, err))
        return err->status;
    return intake->result.tagged ? api_report_tag(intake, err) : PE_OK;
}

/* Makes the body of a result. A 304 of tensors has the headers of 200, its length included; others
 * have only their validator. */
static enum pe_status body_make(struct api_intake *intake, struct pe_error *err)
{
    struct api_request *request = &intake->request;
    struct api_response *response = intake->response;
    struct api_result *result = &intake->result;

    switch (result->kind) {
    case API_TENSORS:
        if (request->format->render(request, result, response, err))
            return err->status;
        return tensors_headers(request, result, response, err);
    case API_REPORT:
        return report_make(intake, err);
    case API_MEDIA:
        if (intake->prepares && result->media_type)
            api_respond_bytes(response, result->media_type, result->bytes, result->size);
        return PE_OK;
    }
    return pe_fail(err, PE_INTERNAL, "", "a result of no kind");
}

static enum pe_status response_make(struct api_intake *intake, struct pe_error *err)
{
    const struct api_handler *handler = intake->request.route->handler;
    struct api_result *result = &intake->result;
    struct api_response *response = intake->response;

    if (intake->prepares && handler->prepare && handler->prepare(&intake->request, result, err))
        return err->status;
    if (!response->status)
        response->status = result->status ? result->status : 200;
    headers_put(result, response);
    return body_make(intake, err);
}

/* Was memory refused, even without a failure? Then a report may be incomplete. Checked after each
 * phase. */
static bool is_short_of_memory(const struct api_intake *intake)
{
    return api_json_memory_failed() || api_arena_failed(intake->request.arena);
}

/* The response is in the response cache. */
static struct api_response *respond_from_cache(struct api_intake *intake)
{
    struct pe_error err = {0};

    api_response_cache_respond(intake);
    api_validate(intake);
    return api_range_apply(intake, &err) ? api_intake_fail(intake, &err) : intake->response;
}

/* A rotation of so many bytes by cached cos and sin takes about 100 us, as does reading so much
 * text. */
enum { QUICK_SIZE = 1 << 20, QUICK_TEXT_SIZE = 8 << 10 };

/* Is the body short enough for the loop, in bytes and in bytes of text? One of unknown type is not:
 * the pool refuses it. */
static bool is_short(struct api_intake *intake)
{
    struct api_request *request = &intake->request;

    if (intake->size <= QUICK_TEXT_SIZE)
        return true;
    return intake->size <= QUICK_SIZE && reader_choose(intake, &(struct pe_error){0}) == PE_OK &&
           (!request->reader->text_size ||
            request->reader->text_size(request->body, request->body_size) <= QUICK_TEXT_SIZE);
}

/* ---- the two phases -------------------------------------------------------------------------- */

static enum pe_status request_open(struct api_intake *intake, struct pe_error *err)
{
    struct api_request *request = &intake->request;

    request->route->handler->open(request, &intake->result, err);
    return api_parameter_errors_end(request, err);
}

static size_t json_elements(const json_t *json)
{
    size_t sum = 0, index;
    const char *key;
    json_t *value;

    if (json_is_string(json))
        return api_text_elements(json_string_value(json));
    json_array_foreach(json, index, value) sum += json_elements(value);
    json_object_foreach((json_t *)(uintptr_t)json, key, value) sum += json_elements(value);
    return sum;
}

/* May a loop open the request, whose short body is read? The query was checked before. */
static bool is_open_light(const struct api_request *request)
{
    size_t elements = json_elements(request->json);

    for (size_t i = 0; i < request->metadata_count; i++)
        elements += api_text_elements(request->metadata[i].value);
    return elements <= API_LOOP_ELEMENTS;
}

/* Reads the body, once, on the loop or the pool. */
static void read_once(struct api_intake *intake, struct pe_error *err)
{
    const double start = api_now_ms();

    body_read(intake, err);
    if (is_short_of_memory(intake))
        err->status = PE_OUT_OF_MEMORY;
    intake->read = true;
    intake->parse_ms = api_now_ms() - start;
}

/* Opens and checks the result, likewise. */
static void open_once(struct api_intake *intake, struct pe_error *err)
{
    const double start = api_now_ms();

    if (!err->status && request_open(intake, err) == PE_OK)
        api_result_check(intake, err);
    if (is_short_of_memory(intake))
        err->status = PE_OUT_OF_MEMORY;
    intake->opened = true;
    intake->compute_ms = api_now_ms() - start;
}

static void timing_report(struct api_intake *intake)
{
    if (*intake->request.route->formats)
        api_response_timing(intake->response, intake->waited_ms, intake->parse_ms,
                            intake->compute_ms);
}

/* The second phase: makes the response of a checked result, or of its failure. */
static struct api_response *second_phase(struct api_intake *intake, struct pe_error *err)
{
    struct api_response *response = intake->response;
    const double start = api_now_ms();
    bool encodes = false;

    if (!err->status && response_make(intake, err) == PE_OK &&
        api_range_apply(intake, err) == PE_OK && !intake->request.route->writes)
        /* After a table was stored, the response must not fail by memory or Accept-Encoding. */
        api_encode_begin(&intake->request, response, &encodes, err);
    if (is_short_of_memory(intake))
        err->status = PE_OUT_OF_MEMORY;
    if (err->status) {
        api_error_explain(intake, err);
        return api_intake_fail(intake, err);
    }
    api_intake_restrict_cors(intake);
    api_response_cache_prepare(intake);
    if (encodes && api_encode_blocks(response, intake->request.response_coding, err))
        return api_intake_fail(intake, err);
    api_head_cache_put(intake);
    api_arena_settle(intake->request.arena);
    intake->compute_ms += api_now_ms() - start;
    timing_report(intake);
    return response;
}

/* The head equals an earlier one; only the numbers of the body are new. */
static struct api_response *respond_by_cached_head(struct api_intake *intake)
{
    const double start = api_now_ms();
    struct pe_error err = {0};

    if (body_check_complete(intake, &err) || !api_head_cache_respond(intake, &err))
        return api_intake_fail(intake, &err);
    api_arena_settle(intake->request.arena);
    pe_work_deadline(intake->request.work, 0);
    intake->compute_ms = api_now_ms() - start;
    timing_report(intake);
    return intake->response;
}

/* Freeing an arena with a JSON tree of up to so many bytes takes some 10 us, and is done on the
 * loop; larger ones are freed on the pool. */
enum { FREED_ON_LOOP_MAX = 64 << 10 };

/* How long this thread may work on a request, see enum api_cost. */
enum duration { QUICK, BRIEF, LONG };

static bool is_within(const struct api_intake *intake, enum duration most)
{
    return most == LONG || intake->result.quick ||
           (intake->result.cheap && intake->first_cost <= API_QUICK_COST) ||
           (most == BRIEF && intake->cost <= API_BRIEF_COST);
}

/* NULL: the second phase would take longer than `most`. If the route takes a body, JSON is
 * allocated in the arena, and so counted; else there is little of it, and probes are answered even
 * when the budget is used up. The deadline ends with the beginning of the response: the client may
 * read slowly. */
static struct api_response *finish(struct api_intake *intake, enum duration most)
{
    const struct api_request *request = &intake->request;
    struct api_response *response = NULL;
    struct api_json_owner owner;
    struct pe_error err = {0};

    api_json_own(&owner, request->route->takes_body ? request->arena : NULL);
    api_json_memory_reset();
    if (!intake->read)
        read_once(intake, &err);
    if (!intake->opened && (most != QUICK || err.status || is_open_light(request)))
        open_once(intake, &err);
    if (intake->opened && (is_within(intake, most) || err.status))
        response = second_phase(intake, &err);
    api_json_disown(&owner);
    if (owner.heap.size > FREED_ON_LOOP_MAX)
        api_arena_free_by(request->arena, api_pool(request->api));
    if (response)
        pe_work_deadline(request->work, 0);
    return response;
}

static struct api_response *blocks_failed(struct api_intake *intake)
{
    struct pe_error err = {0};

    pe_fail(&err, PE_OUT_OF_MEMORY, "", "memory ran out while the answer was made");
    return api_intake_fail(intake, &err);
}

struct api_response *api_finish_if_quick(struct api_intake *intake)
{
    struct api_response *response;

    if (intake->cached_head)
        return respond_by_cached_head(intake);
    if (api_intake_cost(intake) != API_COST_MAYBE_QUICK || !is_short(intake))
        return NULL;
    response = finish(intake, QUICK);
    for (size_t block = 0; response && response->body.buffer && block < response->body.blocks;
         block++)
        if (response->body.fill(response, block, NULL) == SIZE_MAX)
            return blocks_failed(intake);
    if (response && response->body.buffer)
        api_response_made(response);
    return response;
}

struct api_response *api_finish(struct api_intake *intake)
{
    if (intake->refusal)
        return intake->refusal;
    if (intake->cached_head)
        return respond_by_cached_head(intake);
    return intake->cached_response ? respond_from_cache(intake) : finish(intake, LONG);
}

/* JSON of so many bytes is parsed in a few milliseconds. */
enum { BRIEF_SIZE = 128 << 10 };

bool api_intake_may_be_brief(const struct api_intake *intake)
{
    return !intake->decoding && intake->size <= BRIEF_SIZE;
}

struct api_response *api_finish_if_brief(struct api_intake *intake)
{
    return intake->refusal || intake->cached_response || intake->cached_head
               ? api_finish(intake)
               : finish(intake, BRIEF);
}

struct api_response *api_handle(struct api *api, const struct api_head *head, const void *body,
                                size_t size)
{
    struct api_intake *intake = NULL;
    struct api_response *response = api_begin(api, head, &intake);

    if (response)
        return response;
    response = api_feed(intake, body, size);
    if (response) {
        api_intake_free(intake);
        return response;
    }
    return api_finish(intake);
}
