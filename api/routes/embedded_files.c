/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "api/base/compiler.h"
#include "api/codings/coding.h"
#include "api/routes/handler.h"

/* Files of the project in the program: the contract and client.js. */

/* openapi.json is made of openapi.yaml by tools/openapi.py; a test compares them. */
API_EMBED(api_openapi_yaml_text, "openapi.yaml")
API_EMBED(api_openapi_json_text, "openapi.json")
API_EMBED(api_client_js_text, "clients/js/client.js")

void api_contract_tag(struct api *api)
{
    const struct {
        const char *text, *end;
    } files[API_CONTRACTS] = {{api_openapi_yaml_text, api_openapi_yaml_text_end},
                              {api_openapi_json_text, api_openapi_json_text_end}};
    struct api_hash hash;

    for (size_t i = 0; i < API_CONTRACTS; i++) {
        api_hash_start(&hash);
        api_hash_bytes(&hash, files[i].text, (size_t)(files[i].end - files[i].text));
        snprintf(api->contract_tags[i], sizeof(api->contract_tags[i]), "%016llx",
                 (unsigned long long)(hash.state >> 64));
    }
}

static enum pe_status contract_answer(struct api_request *request, struct api_result *result,
                                      const char *tag, const char *media_type, const char *text,
                                      const char *end, struct pe_error *err)
{
    const struct api_coding *coding = request->response_coding;

    result->etag = coding ? api_arena_print(request->arena, "\"%s-%s-%s\"", tag, coding->name,
                                            coding->version())
                          : api_arena_print(request->arena, "\"%s\"", tag);
    if (!result->etag)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    result->kind = API_MEDIA;
    result->cache_control = "public, max-age=60";
    result->media_type = media_type;
    result->bytes = text;
    result->size = (size_t)(end - text);
    return PE_OK;
}

static enum pe_status yaml_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    return contract_answer(request, result, request->api->contract_tags[0], "application/yaml",
                           api_openapi_yaml_text, api_openapi_yaml_text_end, err);
}

static enum pe_status json_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    return contract_answer(request, result, request->api->contract_tags[1], "application/json",
                           api_openapi_json_text, api_openapi_json_text_end, err);
}

const struct api_handler api_handler_openapi_yaml = {yaml_open, NULL};
const struct api_handler api_handler_openapi_json = {json_open, NULL};

/* ---- client.js ------------------------------------------------------------------------------- */

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
