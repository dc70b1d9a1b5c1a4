/* SPDX-License-Identifier: MIT */
#include "api/response/result.h"

#include <string.h>

#include "api/request/bind.h"
#include "api/request/service.h"

const struct pe_param api_answer_list[] = {
    {.name = "flat",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "JSON: all numbers of a tensor in one list."},
    {.name = "data_format",
     .type = PE_CHOICE,
     .choices = "nested,base64",
     .fallback = "nested",
     .doc = "JSON: numbers in nested lists, or little-endian bytes in base64."},
    {.name = "download",
     .type = PE_BOOLEAN,
     .doc = "Should a browser save the answer? Binary formats: yes, JSON: no."},
    {.name = "revision",
     .type = PE_TEXT,
     .doc = "The server's revision as GET /v1 tells it: the answer may be kept for ever."},
};

const size_t api_answer_count = sizeof(api_answer_list) / sizeof(api_answer_list[0]);

static void params_release(void *params)
{
    pe_params_free(params);
}

void api_answer_params(struct api_request *request, struct pe_params *params)
{
    pe_params_init(params, api_answer_list, api_answer_count);
    /* It holds no lists, so nothing is lost where this fails. */
    api_arena_defer(request->arena, params_release, params);
}

enum api_status api_answer_apply(struct api_request *request, struct pe_params *params,
                                 struct api_result *result, struct api_error *err)
{
    const char *revision = api_request_text(request, "revision");

    if (pe_params_finish(params, &err->core))
        return api_failed(err);
    if (revision && strcmp(revision, request->api->revision) != 0)
        return api_fail(err, API_PRECONDITION, "parameter:revision",
                        "this server has revision %s, not %.40s; leave revision out for the latest",
                        request->api->revision, revision);
    if (result) {
        result->flat = pe_param_number(params, "flat") != 0;
        result->base64 = pe_param_number(params, "data_format") != 0;
        if (pe_param_given(params, "download"))
            result->download =
                pe_param_number(params, "download") != 0 ? API_DOWNLOAD_YES : API_DOWNLOAD_NO;
    }
    return API_OK;
}

enum api_status api_request_dtype(struct api_request *request, enum pe_dtype fallback,
                                  enum pe_dtype *dtype, struct api_error *err)
{
    const char *name;

    *dtype = fallback;
    if (api_request_scalar(request, "dtype", &name, err))
        return api_failed(err);
    if (!name || (pe_dtype_find(name, dtype) && pe_dtype_is_float(*dtype)))
        return API_OK;
    return api_fail(err, API_INVALID, "parameter:dtype",
                    "dtype must be f64, f32, f16 or bf16 (or float64, float32, float16, bfloat16), "
                    "got '%.40s'",
                    name);
}

/* A row is made by one thread, which no one can stop: seconds. */
#define ROW_WORK_MAX (1ull << 32)

enum api_status api_result_check(struct api_request *request, const struct api_result *result,
                                 struct api_response *response, struct api_error *err)
{
    const struct api_limits *limits = &request->settings->limits;
    unsigned __int128 elements = 0, operations = 0, bytes = 0;

    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const unsigned __int128 count = (unsigned __int128)output->rows * output->row_elements;
        const size_t work = output->element_work > 1 ? output->element_work : 1;
        if ((unsigned __int128)output->row_elements * work > ROW_WORK_MAX)
            return api_fail(
                err, API_TOO_LARGE, "",
                "a row of %s would take more than %llu operations at once; ask for less",
                output->name, ROW_WORK_MAX);
        elements += count;
        operations += count * work;
        bytes += count * pe_dtype_info(output->dtype)->size;
    }
    if (bytes > limits->output_max)
        return api_fail(err, API_TOO_LARGE, "",
                        "the answer would have more than %llu bytes, the value of --output-max",
                        (unsigned long long)limits->output_max);
    if (operations > limits->work_max)
        return api_fail(err, API_TOO_LARGE, "",
                        "the answer would take more than %llu operations, the value of --work-max",
                        (unsigned long long)limits->work_max);
    if (!request->format->binary && elements > limits->json_elements_max)
        return api_fail(
            err, API_TOO_LARGE, "",
            "a JSON answer has at most %llu elements, the value of --json-elements-max; "
            "ask for format=npy, safetensors or raw",
            (unsigned long long)limits->json_elements_max);
    response->elements = (uint64_t)elements;
    return API_OK;
}
