/* SPDX-License-Identifier: MIT */
#include "api/base/embed.h"
#include "api/handlers/handler.h"

/* openapi.json is made of openapi.yaml by tools/openapi.py; a test compares them. */
API_EMBED(api_openapi_yaml_text, "openapi.yaml")
API_EMBED(api_openapi_json_text, "openapi.json")

static enum api_status contract_answer(struct api_result *result, const char *media_type,
                                       const char *text, const char *end)
{
    result->kind = API_MEDIA;
    result->cache_control = "public, max-age=60";
    result->media_type = media_type;
    result->bytes = text;
    result->size = (size_t)(end - text);
    return API_OK;
}

static enum api_status yaml_open(struct api_request *request, struct api_result *result,
                                 struct api_error *err)
{
    (void)request, (void)err;
    return contract_answer(result, "application/yaml", api_openapi_yaml_text,
                           api_openapi_yaml_text_end);
}

static enum api_status json_open(struct api_request *request, struct api_result *result,
                                 struct api_error *err)
{
    (void)request, (void)err;
    return contract_answer(result, "application/json", api_openapi_json_text,
                           api_openapi_json_text_end);
}

const struct api_handler api_handler_openapi_yaml = {yaml_open, NULL};
const struct api_handler api_handler_openapi_json = {json_open, NULL};
