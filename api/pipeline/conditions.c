/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/pictures/plot.h"
#include "api/pipeline/pipeline.h"
#include "api/request/request.h"
#include "api/response/blocks.h"
#include "api/response/encode.h"
#include "api/response/etag.h"
#include "api/response/response.h"
#include "api/routes/handler.h"
#include "api/routes/result_limits.h"

/* ---- ranges ---------------------------------------------------------------------------------- */

/* RFC 9110, 14: one range of bytes. Others (several, another unit, a syntax error) are ignored, and
 * the complete answer is sent. */

struct range {
    uint64_t first, last; /* last included */
};

static bool number_read(const char **at, uint64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    *at = end;
    if (errno)
        *number = UINT64_MAX;
    return true;
}

/* "bytes=0-99", "bytes=100-", "bytes=-100". False: not a range. If first > last or first >= size,
 * it cannot be satisfied. */
static bool range_read(const char *text, uint64_t size, struct range *range)
{
    uint64_t suffix;

    if (strncasecmp(text, "bytes=", 6) != 0)
        return false;
    text += 6;
    if (*text == '-') {
        text++;
        if (!number_read(&text, &suffix) || *text)
            return false;
        /* The last 0 bytes cannot be sent. */
        *range = suffix == 0 ? (struct range){size, size}
                             : (struct range){suffix < size ? size - suffix : 0, size - 1};
        return true;
    }
    if (!number_read(&text, &range->first) || *text++ != '-')
        return false;
    range->last = size - 1;
    if (*text && (!number_read(&text, &range->last) || *text || range->last < range->first))
        return false;
    if (range->last >= size)
        range->last = size - 1;
    return true;
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool api_has_ranges(const struct api_request *request, const struct api_result *result)
{
    return request->format->is_file && request->format->binary && result->pure &&
           strcmp(request->method, "POST") != 0;
}

/* The fraction of a result's rows that is made: those in the requested range, 0 for HEAD, else 1.
 * size: bytes of all rows. */
static double range_fraction(const struct api_request *request, const struct api_result *result,
                             uint64_t size)
{
    struct range range;
    uint64_t unit = 1; /* bytes of rows that are filled together */

    if (request->head_only)
        return 0;
    if (size == 0 || !request->range || !api_has_ranges(request, result) ||
        (request->if_range && (!result->etag || strcmp(request->if_range, result->etag) != 0)) ||
        !range_read(request->range, size, &range) || range.first >= size)
        return 1;
    for (size_t i = 0; i < result->outputs_count; i++)
        unit = most_of(unit, api_group_size(result, &result->outputs[i]));
    const uint64_t made = (range.last / unit - range.first / unit + 1) * unit;
    return made < size ? (double)made / (double)size : 1;
}

enum pe_status api_range_apply(struct api_intake *intake, struct pe_error *err)
{
    const struct api_request *request = &intake->request;
    struct api_response *response = intake->response;
    struct api_body *body = &response->body;
    const char *etag;
    struct range range;

    if (!request->range || request->head_only || response->status != 200 ||
        !api_response_field(response, "Accept-Ranges"))
        return PE_OK;
    etag = api_response_field(response, "ETag");
    if ((request->if_range && (!etag || strcmp(request->if_range, etag) != 0)) ||
        !range_read(request->range, body->size, &range))
        return PE_OK;
    if (range.first >= body->size) {
        intake->response->headers_count = intake->common_headers;
        api_response_header(
            response, "Content-Range",
            api_arena_print(response->arena, "bytes */%llu", (unsigned long long)body->size));
        intake->common_headers = response->headers_count;
        return pe_fail(err, PE_RANGE, "header:Range",
                       "the answer has %llu bytes, and none of them is in the range '%.60s'",
                       (unsigned long long)body->size, request->range);
    }
    api_response_header(
        response, "Content-Range",
        api_arena_print(response->arena, "bytes %llu-%llu/%llu", (unsigned long long)range.first,
                        (unsigned long long)range.last, (unsigned long long)body->size));
    response->status = 206;
    response->elements = (uint64_t)((double)response->elements / (double)body->size *
                                    (double)(range.last - range.first + 1));
    body->skip = range.first;
    body->size = range.last - range.first + 1;
    body->cheap |= intake->result.cheap && intake->first_cost <= API_QUICK_COST;
    if (body->kind == API_BYTES) {
        body->bytes += body->skip;
        body->skip = 0;
    }
    return PE_OK;
}

/* ---- conditional requests -------------------------------------------------------------------- */

static void not_modified(struct api_intake *intake)
{
    intake->response->status = 304;
    intake->response->head_only = true;
    intake->response->elements = 0;
    atomic_fetch_add_explicit(&intake->request.api->not_modified, 1, memory_order_relaxed);
}

/* Does the client have the representation with this ETag? */
static bool is_fresh(const struct api_request *request, const char *etag)
{
    return etag && api_etag_listed(request->if_none_match, etag);
}

void api_validate(struct api_intake *intake)
{
    if (is_fresh(&intake->request, api_response_field(intake->response, "ETag")))
        not_modified(intake);
}

enum pe_status api_report_tag(struct api_intake *intake, struct pe_error *err)
{
    const struct api_coding *coding = intake->request.response_coding;
    struct api_response *response = intake->response;
    struct api_hash hash;
    const char *etag;

    api_hash_start(&hash);
    if (coding)
        api_hash_coding(&hash, coding);
    else
        api_hash_text(&hash, NULL);
    api_hash_bytes(&hash, response->body.bytes, (size_t)response->body.size);
    etag = api_hash_etag(&hash, response->arena);
    if (!etag)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_response_header(response, "ETag", etag);
    api_validate(intake);
    if (response->status == 304)
        response->body = (struct api_body){0};
    return PE_OK;
}

/* ---- between the two phases ------------------------------------------------------------------ */

static enum pe_status format_check(const struct api_request *request,
                                   const struct api_result *result, struct pe_error *err)
{
    return result->kind == API_TENSORS && request->format->check
               ? request->format->check(result, err)
               : PE_OK;
}

enum pe_status api_result_check(struct api_intake *intake, struct pe_error *err)
{
    const struct api_request *request = &intake->request;
    const struct api_result *result = &intake->result;
    struct api_response *response = intake->response;
    struct api_amounts amounts = api_amounts_of(request, result);
    /* Conditions of other methods concern what they change; their handlers check them. */
    const bool fresh =
        strcmp(request->route->method, "GET") == 0 && is_fresh(request, result->etag);

    if (amounts.bytes <= UINT64_MAX)
        api_amounts_send(&amounts, result,
                         range_fraction(request, result, (uint64_t)amounts.bytes));
    if (result->operation) {
        response->operation = result->operation;
        response->encoding = result->encoding_name ? result->encoding_name : "";
        response->dtype = result->dtype;
    }
    if (api_limits_check(request, result, &amounts, !fresh, err) ||
        format_check(request, result, err))
        return err->status;
    response->head_only = request->head_only;
    if (fresh)
        not_modified(intake);
    /* For HEAD, the length of a report is known only when it is made. */
    intake->prepares = result->kind == API_TENSORS ? !response->head_only : response->status != 304;
    if (!intake->prepares)
        return PE_OK;
    intake->cost = amounts.work;
    intake->first_cost = api_streams_cheaply(intake) ? amounts.first_work : amounts.work;
    intake->spent = (double)pe_work_operations(request->work);
    response->elements = (uint64_t)amounts.elements;
    if (!api_arena_count(request->arena, result->memory))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the work");
    return pe_work_spend(request->work, (uint64_t)amounts.rendering, err);
}
