/* SPDX-License-Identifier: MIT */
#include "api/response/cors.h"

#include <string.h>

#include "api/base/names.h"
#include "api/memory/arena.h"
#include "api/request/request.h"
#include "api/response/respond.h"

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
    api_response_header_drop(response, allow_origin);
    api_response_header_drop(response, timing_allow_origin);
    api_response_header_drop(response, expose_headers);
}

void api_cors_drop(struct api_response *response)
{
    api_response_header_drop(response, "Vary");
    api_response_header_drop(response, timing_allow_origin);
    api_response_header_drop(response, expose_headers);
}

/* Pages may read whatever they like, but only those of listed origins may store and delete. */
static const char *methods_allowed(const struct api *api, struct api_arena *arena,
                                   const char *methods)
{
    char *allowed = api_arena_copy(arena, methods),
         *write = allowed ? strstr(allowed, "PUT") : NULL;

    if (write && strcmp(api->settings.cors_origin, "*") == 0)
        strcpy(write, "OPTIONS"); /* what stands behind PUT and DELETE */
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
