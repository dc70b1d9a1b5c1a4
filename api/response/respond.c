/* SPDX-License-Identifier: MIT */
#include "api/response/respond.h"

#include <assert.h>
#include <string.h>

#include "api/memory/arena.h"
#include "api/numbers/text.h"

void api_response_header(struct api_response *response, const char *name, const char *value)
{
    if (!value)
        return;
    assert(response->headers_count < API_HEADERS_MAX);
    response->headers[response->headers_count++] = (struct api_field){name, value};
}

void api_response_header_drop(struct api_response *response, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < response->headers_count; i++)
        if (strcmp(response->headers[i].name, name) != 0)
            response->headers[kept++] = response->headers[i];
    response->headers_count = kept;
}

const char *api_response_field(const struct api_response *response, const char *name)
{
    for (size_t i = 0; i < response->headers_count; i++)
        if (strcmp(response->headers[i].name, name) == 0)
            return response->headers[i].value;
    return NULL;
}

void api_respond_bytes(struct api_response *response, const char *media_type, const void *bytes,
                       size_t size)
{
    if (!response->status)
        response->status = 200;
    api_response_header(response, "Content-Type", media_type);
    response->body = (struct api_body){.kind = API_BYTES, .size = size, .bytes = bytes};
}

enum pe_status api_respond_json(struct api_response *response, json_t *json, struct pe_error *err)
{
    struct api_text text = {0};
    size_t size;
    char *bytes;

    if (!json)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_text_json(&text, json, false);
    api_text_put(&text, "\n");
    json_decref(json);
    size = text.size;
    bytes = api_text_take(&text, response->arena);
    if (!bytes)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_respond_bytes(response, "application/json", bytes, size);
    return PE_OK;
}

unsigned char *api_response_room(struct api_response *response, size_t size)
{
    return api_arena_room(response->arena, size);
}

bool api_response_count(struct api_response *response, size_t size)
{
    return api_arena_count(response->arena, size);
}

void api_response_free(struct api_response *response)
{
    if (response && response->arena) /* the one for want of memory has none */
        api_arena_free(response->arena);
}

void api_response_cancel(struct api_response *response)
{
    if (response->arena)
        pe_work_cancel(api_arena_work(response->arena));
}

/* A millisecond in thousandths. Without printf: three numbers were a seventh of what a rotation of
 * 1 KiB takes. */
static char *timing_put(char *at, const char *name, double ms)
{
    uint64_t us = (uint64_t)(ms * 1e3 + 0.5), left = us / 1000;
    char digits[20];
    size_t count = 0;

    at = stpcpy(stpcpy(at, name), ";dur=");
    do
        digits[count++] = (char)('0' + left % 10);
    while (left /= 10);
    while (count > 0)
        *at++ = digits[--count];
    *at++ = '.';
    for (us %= 1000, left = 100; left > 0; left /= 10)
        *at++ = (char)('0' + us / left % 10);
    *at = '\0';
    return at;
}

void api_response_timing(struct api_response *response, double queue_ms, double parse_ms,
                         double compute_ms)
{
    char text[128], *at = text;

    at = stpcpy(timing_put(at, "queue", queue_ms), ", ");
    at = stpcpy(timing_put(at, "parse", parse_ms), ", ");
    timing_put(at, "compute", compute_ms);
    api_response_header(response, "Server-Timing", api_arena_copy(response->arena, text));
}
