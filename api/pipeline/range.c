/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/pipeline/stages.h"
#include "api/request/service.h"
#include "api/response/blocks.h"
#include "api/response/etag.h"
#include "api/response/respond.h"

/* RFC 9110, 14: one range of bytes. What is not one (several, another unit, a typo) is ignored, as
 * it may be, and the whole answer sent. */

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

/* "bytes=0-99", "bytes=100-", "bytes=-100". False: not a range. first > last or beyond the size: it
 * cannot be satisfied. */
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
        /* The last 0 bytes are none. */
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

double api_range_share(const struct api_request *request, const struct api_result *result,
                       uint64_t size)
{
    struct range range;
    uint64_t unit = 1; /* rows that are filled together are made whole */

    if (request->head_only)
        return 0;
    if (size == 0 || !request->range || !api_has_ranges(request, result) ||
        (request->if_range && (!result->etag || strcmp(request->if_range, result->etag) != 0)) ||
        !range_read(request->range, size, &range) || range.first >= size)
        return 1;
    for (size_t i = 0; i < result->outputs_count; i++)
        unit = most_of(unit, api_group_size(result, &result->outputs[i]));
    const uint64_t whole = (range.last / unit - range.first / unit + 1) * unit;
    return whole < size ? (double)whole / (double)size : 1;
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
    body->cheap |= intake->result.cheap && intake->first_work <= API_QUICK_WORK;
    if (body->kind == API_BYTES) {
        body->bytes += body->skip;
        body->skip = 0;
    }
    return PE_OK;
}
