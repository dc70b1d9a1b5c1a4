/* SPDX-License-Identifier: MIT */
#ifndef API_HANDLERS_HANDLER_H
#define API_HANDLERS_HANDLER_H

/* What a handler needs: the request, what it hands back, and the lists it is in. */

#include "api/request/bind.h"
#include "api/request/describe.h"
#include "api/request/service.h"
#include "api/response/etag.h"
#include "api/response/respond.h"
#include "api/response/result.h"

/* Does the work of a route up to the first row: checks everything, sets *result (in the arena) or
 * builds the response itself (api_respond_json, api_respond_text) and leaves *result NULL. */
typedef enum api_status api_handler(struct api_request *request, struct api_response *response,
                                    struct api_result **result, struct api_error *err);

struct api_route {
    const char *method;
    const char *pattern; /* "/v1/encodings/{name}/table" */
    api_handler *handle;
    const char
        *formats; /* names it can answer in, first is the default: "json npy safetensors raw";
                     "" : the handler answers by itself, `*` alone: the request's own format */
    bool takes_body;
};

/* Every handler of routes.def: api_handle_rotation. */
#define ROUTE(method, pattern, handler, formats, body) api_handler api_handle_##handler;
#include "api/handlers/routes.def"
#undef ROUTE

#endif
