/* SPDX-License-Identifier: MIT */
#include "api/response/result.h"

#include <assert.h>
#include <string.h>

#include "api/request/parameters.h"
#include "api/request/request.h"

const struct pe_param api_answer_list[] = {
    {.name = "flat",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Write the numbers of a tensor in JSON as one list instead of nested lists."},
    {.name = "data_format",
     .type = PE_CHOICE,
     .choices = "nested,base64",
     .fallback = "nested",
     .doc = "How JSON contains the elements of a tensor: nested lists of numbers, or their "
            "little-endian bytes in base64."},
    {.name = "download",
     .type = PE_BOOLEAN,
     .doc = "Whether a browser saves the answer as a file; if absent, it does for all "
            "formats except JSON."},
    {.name = "revision",
     .type = PE_TEXT,
     .doc = "The revision of the server as reported by GET /v1; with it, the answer may be "
            "cached for ever."},
};

const size_t api_answer_count = sizeof(api_answer_list) / sizeof(api_answer_list[0]);

void api_answer_params(struct api_request *request, struct pe_params *params)
{
    pe_params_init(params, api_answer_list, api_answer_count);
    /* These parameters have no lists, so nothing leaks if this fails. */
    api_params_keep(request->arena, params);
}

enum pe_status api_answer_apply(struct api_request *request, struct pe_params *params,
                                struct api_result *result, struct pe_error *err)
{
    const char *revision = api_request_text(request, "revision");

    if (pe_params_finish(params, err))
        return err->status;
    if (revision && strcmp(revision, request->api->revision) != 0)
        return pe_fail(err, PE_PRECONDITION, "parameter:revision",
                       "this server has revision %s, not %.40s; leave revision out for the latest",
                       request->api->revision, revision);
    if (result) {
        result->flat = pe_param_number(params, "flat") != 0;
        result->base64 = pe_param_number(params, "data_format") != 0;
        if (pe_param_given(params, "download"))
            result->download =
                pe_param_number(params, "download") != 0 ? API_DOWNLOAD_YES : API_DOWNLOAD_NO;
    }
    return PE_OK;
}

enum pe_status api_request_dtype(struct api_request *request, bool takes_bytes,
                                 enum pe_dtype fallback, enum pe_dtype *dtype, struct pe_error *err)
{
    const char *name;

    *dtype = fallback;
    if (api_request_scalar(request, "dtype", &name, err))
        return err->status;
    if (!name || (pe_dtype_find(name, dtype) &&
                  (pe_dtype_is_float(*dtype) || (takes_bytes && *dtype == PE_U8))))
        return PE_OK;
    return pe_fail(err, PE_INVALID, "parameter:dtype",
                   "dtype must be f64, f32, f16%s (or float64, float32, float16, bfloat16%s), "
                   "got '%.40s'",
                   takes_bytes ? ", bf16 or u8" : " or bf16", takes_bytes ? ", uint8" : "", name);
}

void api_result_width(struct api_result *result, const char *where, const char *noun, double width)
{
    assert(result->widths_count < API_WIDTHS_MAX);
    result->widths[result->widths_count++] = (struct api_width){where, noun, width};
}

void api_result_widths(struct api_result *result, const struct pe_params *params)
{
    static const struct api_width known[] = {{"parameter:dim", "dim", 0},
                                             {"parameter:heads", "heads", 0}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const int index = pe_params_find(params, known[i].noun);
        if (index >= 0 && params->values[index].present)
            api_result_width(result, known[i].where, known[i].noun, params->values[index].number);
    }
}
