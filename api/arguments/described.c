/* SPDX-License-Identifier: MIT */
#include "api/arguments/described.h"

#include "api/config/config.h"
#include "api/request/describe.h"

static void json_release(void *json)
{
    json_decref(json);
}

enum api_status api_result_describe(const struct api_request *request, struct api_result *result,
                                    const struct pe_scheme *scheme, struct api_error *err)
{
    json_t *encoding = api_scheme_json(scheme), *warnings = json_array();

    if (encoding && api_arena_defer(request->arena, json_release, encoding))
        result->encoding = encoding;
    if (warnings && api_arena_defer(request->arena, json_release, warnings))
        result->warnings = warnings;
    if (!result->encoding || !result->warnings)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the answer");
    api_scheme_warnings(scheme, warnings);
    if (request->config)
        json_array_extend(warnings, request->config->warnings);
    return API_OK;
}
