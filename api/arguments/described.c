/* SPDX-License-Identifier: MIT */
#include "api/arguments/described.h"

#include "api/base/system.h"
#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/request/parameters.h"

enum pe_status api_result_describe(const struct api_request *request, struct api_result *result,
                                   const struct pe_scheme *scheme, struct pe_error *err)
{
    json_t *encoding = api_scheme_json(scheme), *warnings = json_array();

    if (api_json_keep(request->arena, encoding))
        result->encoding = encoding;
    if (api_json_keep(request->arena, warnings))
        result->warnings = warnings;
    if (!result->encoding || !result->warnings)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_scheme_warnings(scheme, warnings);
    if (request->config)
        json_array_extend(warnings, request->config->warnings);
    return PE_OK;
}

void api_result_warn_beyond(struct api_result *result, const struct pe_scheme *scheme,
                            const struct pe_positions *positions)
{
    char text[200];
    double farthest;

    if (!pe_scheme_beyond(scheme, positions, &farthest))
        return;
    api_print(text, sizeof(text),
              "position %.17g lies beyond the sequence of %.17g that the frequencies are for; "
              "seq_len tells of a longer one",
              farthest, pe_scheme_length(scheme));
    json_array_append_new(result->warnings, json_string(text));
}
