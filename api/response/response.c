/* SPDX-License-Identifier: MIT */
#include "api/response/response.h"

#include <assert.h>
#include <string.h>

#include "api/base/names.h"
#include "api/memory/arena.h"
#include "api/numbers/text.h"
#include "api/request/request.h"

void api_response_header(struct api_response *response, const char *name, const char *value)
{
    if (!value)
        return;
    assert(response->headers_count < API_HEADERS_MAX);
    response->headers[response->headers_count++] = (struct api_field){name, value};
}

static void header_drop(struct api_response *response, const char *name)
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

enum pe_status api_respond_json(struct api_response *response, json_t *json, bool has_points,
                                struct pe_error *err)
{
    struct api_text text = {.has_points = has_points};
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

unsigned char *api_response_buffer(struct api_response *response, size_t size)
{
    return api_arena_buffer(response->arena, size);
}

bool api_response_count(struct api_response *response, size_t size)
{
    return api_arena_count(response->arena, size);
}

void api_response_free(struct api_response *response)
{
    if (response && response->arena) /* that of api_problem_no_memory has none */
        api_arena_free(response->arena);
}

void api_response_cancel(struct api_response *response)
{
    if (response->arena)
        pe_work_cancel(api_arena_work(response->arena));
}

/* Milliseconds with three decimals. Not by printf, which took a seventh of the time of a rotation
 * of 1 KiB. */
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

/* ---- CORS ----------------------------------------------------------------------------------- */

#define ALLOWED                                                                                    \
    "Content-Type, Authorization, Range, If-None-Match, If-Match, If-Range, Tensor-Dtype, "        \
    "Tensor-Shape, X-Request-Id, traceparent"
#define EXPOSED                                                                                    \
    "ETag, Content-Disposition, Content-Range, Content-Location, Accept-Ranges, Retry-After, "     \
    "Server-Timing, X-Request-Id, Allow, Accept-Post, Tensor-Dtype, Tensor-Shape, "                \
    "Encoding-Parameters, Encoding-Warnings"

static const char allow_origin[] = "Access-Control-Allow-Origin",
                  timing_allow_origin[] = "Timing-Allow-Origin",
                  expose_headers[] = "Access-Control-Expose-Headers";

const char api_accept_post[] = "application/json, application/x-npy, application/x-safetensors, "
                               "application/octet-stream, application/x-gguf";

void api_cors_headers(const struct api *api, struct api_response *response, const char *origin)
{
    const char *allowed = api->settings.cors_origin;

    if (strcmp(allowed, "*") == 0) {
        origin = "*";
        api_response_header(response, "Vary", "Accept, Accept-Encoding");
    } else {
        api_response_header(response, "Vary", "Accept, Accept-Encoding, Origin");
        if (!origin || !api_names_have(allowed, ",", origin, strlen(origin)))
            return;
        origin = api_arena_copy(response->arena, origin);
    }
    api_response_header(response, allow_origin, origin);
    api_response_header(response, timing_allow_origin, origin);
    api_response_header(response, expose_headers, EXPOSED);
}

void api_cors_withhold(struct api_response *response)
{
    header_drop(response, allow_origin);
    header_drop(response, timing_allow_origin);
    header_drop(response, expose_headers);
}

void api_cors_drop(struct api_response *response)
{
    header_drop(response, "Vary");
    header_drop(response, timing_allow_origin);
    header_drop(response, expose_headers);
}

/* Any page may read, but only pages of listed origins may store and delete. */
static const char *methods_allowed(const struct api *api, struct api_arena *arena,
                                   const char *methods)
{
    char *allowed = api_arena_copy(arena, methods),
         *write = allowed ? strstr(allowed, "PUT") : NULL;

    if (write && strcmp(api->settings.cors_origin, "*") == 0)
        strcpy(write, "OPTIONS"); /* which follows PUT and DELETE */
    return allowed;
}

void api_cors_preflight(const struct api *api, struct api_response *response, const char *methods)
{
    response->status = 204;
    api_response_header(response, "Allow", methods);
    api_response_header(response, "Access-Control-Allow-Methods",
                        methods_allowed(api, response->arena, methods));
    api_response_header(response, "Access-Control-Allow-Headers", ALLOWED);
    api_response_header(response, "Access-Control-Max-Age", "7200");
    if (strstr(methods, "POST")) /* Linked Data Platform 1.0, 7.1.3 */
        api_response_header(response, "Accept-Post", api_accept_post);
}
