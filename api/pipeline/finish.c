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

/* Finds out what the body, which is whole, is to be read by. */
static enum pe_status reader_choose(struct api_intake *intake, struct pe_error *err)
{
    intake->request.body = intake->buffer;
    intake->request.body_size = intake->size;
    return api_reader_find(&intake->request, &intake->request.reader, err);
}

static enum pe_status body_is_whole(const struct api_intake *intake, struct pe_error *err)
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

    if (body_is_whole(intake, err))
        return err->status;
    if (intake->decoding && api_decode_end(intake, err))
        return err->status;
    if (intake->discards || intake->size == 0)
        return PE_OK;
    if ((!request->reader && reader_choose(intake, err)) ||
        api_feed_type_check(intake, request->reader->media_type, err))
        return err->status;
    if (api_type_is_json(request->reader->media_type) && intake->size > limits->json_body_max)
        return pe_fail(err, PE_TOO_LARGE, "",
                       "a JSON body has at most %llu bytes, the value of --json-body-max",
                       (unsigned long long)limits->json_body_max);
    if (api_body_count(intake, err))
        return err->status;
    if (request->reader->read(request, err)) {
        api_reader_advise(request, err);
        return err->status;
    }
    /* Only a body that was recognised by itself, or that says so, can change what the head said of
     * the format. */
    return !api_format_told(intake, err) &&
                   strcmp(request->reader->media_type, request->content_type) == 0
               ? err->status
               : api_format_choose(intake, err);
}

/* False: memory is short. */
static bool json_header(struct api_response *response, const char *name, const json_t *json)
{
    enum { SIZE_MAX_OF_HEADER = 4096 }; /* all headers share one small block of the HTTP library */
    struct api_text text = {0};

    api_text_json(&text, json, true);
    const bool printed = !text.failed;
    if (text.size <= SIZE_MAX_OF_HEADER)
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
    if (api_respond_json(intake->response, intake->result.report, err))
        return err->status;
    return intake->result.tagged ? api_report_tag(intake, err) : PE_OK;
}

/* The body, by the kind of the result. A 304 of tensors has the headers of 200, its length
 * included; one of anything else has no more than its validator. */
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

/* Was memory refused, even where nobody has said so? A report may lack a part then. Asked behind
 * each half. */
static bool is_short_of_memory(const struct api_intake *intake)
{
    return api_json_memory_failed() || api_arena_failed(intake->request.arena);
}

/* A response that was kept. */
static struct api_response *response_again(struct api_intake *intake)
{
    struct pe_error err = {0};

    api_kept_use(intake);
    api_validate(intake);
    return api_range_apply(intake, &err) ? api_intake_fail(intake, &err) : intake->response;
}

/* Up to here a rotation by cos and sin at hand takes 100 us or so; text takes that long to read. */
enum { QUICK_SIZE = 1 << 20, QUICK_TEXT_SIZE = 8 << 10 };

/* Is the body short enough for the loop, by how much text and how many other bytes its reader
 * will read? A body of no known type is not: the pool says so. */
static bool is_short(struct api_intake *intake)
{
    struct api_request *request = &intake->request;

    if (intake->size <= QUICK_TEXT_SIZE)
        return true;
    return intake->size <= QUICK_SIZE && reader_choose(intake, &(struct pe_error){0}) == PE_OK &&
           (!request->reader->text_size ||
            request->reader->text_size(request->body, request->body_size) <= QUICK_TEXT_SIZE);
}

/* ---- two halves ------------------------------------------------------------------------------ */

static enum pe_status request_open(struct api_intake *intake, struct pe_error *err)
{
    struct api_request *request = &intake->request;

    request->route->handler->open(request, &intake->result, err);
    return api_mistakes_end(request, err);
}

size_t api_text_elements(const char *text)
{
    return strstr(text, "..") ? pe_ranges_count(text) : 0;
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

/* May a loop open the request, whose body is read and short? The query was looked at before. */
static bool is_open_light(const struct api_request *request)
{
    size_t elements = json_elements(request->json);

    for (size_t i = 0; i < request->metadata_count; i++)
        elements += api_text_elements(request->metadata[i].value);
    return elements <= API_LOOP_ELEMENTS;
}

/* Reads the body: on the loop or on the pool, but once. */
static void read_once(struct api_intake *intake, struct pe_error *err)
{
    const double start = api_now_ms();

    body_read(intake, err);
    if (is_short_of_memory(intake))
        err->status = PE_OUT_OF_MEMORY;
    intake->read = true;
    intake->parse_ms = api_now_ms() - start;
}

/* Opens and judges the result, likewise. */
static void open_once(struct api_intake *intake, struct pe_error *err)
{
    const double start = api_now_ms();

    if (!err->status && request_open(intake, err) == PE_OK)
        api_judge(intake, err);
    if (is_short_of_memory(intake))
        err->status = PE_OUT_OF_MEMORY;
    intake->opened = true;
    intake->compute_ms = api_now_ms() - start;
}

static void timing_tell(struct api_intake *intake)
{
    if (*intake->request.route->formats)
        api_response_timing(intake->response, intake->waited_ms, intake->parse_ms,
                            intake->compute_ms);
}

/* Does the work of a result that was judged, and makes the response of it, or of what failed. */
static struct api_response *second_half(struct api_intake *intake, struct pe_error *err)
{
    struct api_response *response = intake->response;
    const double start = api_now_ms();
    bool encodes = false;

    if (!err->status && response_make(intake, err) == PE_OK &&
        api_range_apply(intake, err) == PE_OK && !intake->request.route->writes)
        /* Where a table was stored neither memory nor Accept-Encoding may refuse to say so. */
        api_encode_begin(&intake->request, response, &encodes, err);
    if (is_short_of_memory(intake))
        err->status = PE_OUT_OF_MEMORY;
    if (err->status) {
        api_error_explain(intake, err);
        return api_intake_fail(intake, err);
    }
    api_intake_origins_settle(intake);
    api_kept_prepare(intake);
    if (encodes && api_encode_blocks(response, intake->request.response_coding, err))
        return api_intake_fail(intake, err);
    api_head_cache_put(intake);
    api_arena_settle(intake->request.arena);
    intake->compute_ms += api_now_ms() - start;
    timing_tell(intake);
    return response;
}

/* The head equals an earlier one; only the numbers of the body are new. */
static struct api_response *respond_by_cached_head(struct api_intake *intake)
{
    const double start = api_now_ms();
    struct pe_error err = {0};

    if (body_is_whole(intake, &err) || !api_head_cache_respond(intake, &err))
        return api_intake_fail(intake, &err);
    api_arena_settle(intake->request.arena);
    pe_work_deadline(intake->request.work, 0);
    intake->compute_ms = api_now_ms() - start;
    timing_tell(intake);
    return intake->response;
}

/* With trees of up to so many bytes the arena is freed on the loop, in some 10 us; else on the
 * pool, because the rules of a config may have made a tree of their own. */
enum { QUICKLY_FREED = 64 << 10 };

/* How much of a request this thread may do. */
enum share { SHARE_QUICK, SHARE_BRIEF, SHARE_ALL };

/* Nanoseconds, foretold to a factor of 4: a block of the pool takes 20 ms at most, a loop stands
 * still for a tenth of one. */
#define BRIEF_WORK 5e6

static bool is_in_share(const struct api_intake *intake, enum share share)
{
    return share == SHARE_ALL || intake->result.at_hand ||
           (intake->result.cheap && intake->first_work <= API_QUICK_WORK) ||
           (share == SHARE_BRIEF && intake->work <= BRIEF_WORK);
}

/* Goes as far as this thread may; NULL: the second half is for another. JSON is made in the arena,
 * and so in the budget, where a client posts it. Without a body there is little of it, and probes
 * are answered however short memory is. The deadline is one for the beginning of the response: a
 * reader may take long. */
static struct api_response *finish(struct api_intake *intake, enum share share)
{
    const struct api_request *request = &intake->request;
    struct api_response *response = NULL;
    struct api_json_owner owner;
    struct pe_error err = {0};

    api_json_own(&owner, request->route->takes_body ? request->arena : NULL);
    api_json_memory_reset();
    if (!intake->read)
        read_once(intake, &err);
    if (!intake->opened && (share != SHARE_QUICK || err.status || is_open_light(request)))
        open_once(intake, &err);
    if (intake->opened && (is_in_share(intake, share) || err.status))
        response = second_half(intake, &err);
    api_json_disown(&owner);
    if (owner.heap.size > QUICKLY_FREED)
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

struct api_response *api_finish_quickly(struct api_intake *intake)
{
    struct api_response *response;

    if (intake->cached_head)
        return respond_by_cached_head(intake);
    if (api_intake_cost(intake) != API_COST_SIZE || !is_short(intake))
        return NULL;
    response = finish(intake, SHARE_QUICK);
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
    return intake->kept ? response_again(intake) : finish(intake, SHARE_ALL);
}

/* JSON of so many bytes is read in a few milliseconds. */
enum { BRIEF_SIZE = 128 << 10 };

bool api_intake_is_brief(const struct api_intake *intake)
{
    return !intake->decoding && intake->size <= BRIEF_SIZE;
}

struct api_response *api_finish_briefly(struct api_intake *intake)
{
    return intake->refusal || intake->kept || intake->cached_head ? api_finish(intake)
                                                                  : finish(intake, SHARE_BRIEF);
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
