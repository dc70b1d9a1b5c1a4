/* SPDX-License-Identifier: MIT */
#include "api/base/compiler.h"
#include "api/routes/handler.h"

API_EMBED(api_client_js_text, "clients/js/client.js")

static enum pe_status client_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    struct api_hash hash;

    result->kind = API_MEDIA;
    result->cache_control = "public, max-age=3600";
    result->media_type = "text/javascript";
    result->bytes = api_client_js_text;
    result->size = (size_t)(api_client_js_text_end - api_client_js_text);
    api_hash_start(&hash);
    api_hash_bytes(&hash, result->bytes, result->size);
    result->etag = api_hash_etag(&hash, request->arena);
    return result->etag ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
}

const struct api_handler api_handler_client_js = {client_open, NULL};
