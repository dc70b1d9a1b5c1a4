/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/formats/formats.h"
#include "api/handlers/handler.h"
#include "api/memory/json_parse.h"

static json_t *links_make(struct api_request *request)
{
    return json_pack(
        "{ss ss ss ss ss ss ss ss ss ss}", "about", api_link(request, "/v1"), "encodings",
        api_link(request, "/v1/encodings"), "rotation", api_link(request, "/v1/rotation"),
        "attention", api_link(request, "/v1/attention"), "openapi",
        api_link(request, "/openapi.yaml"), "openapi_json", api_link(request, "/openapi.json"),
        "livez", api_link(request, "/livez"), "readyz", api_link(request, "/readyz"), "metrics",
        api_link(request, "/metrics"), "config", api_link(request, "/v1/config"));
}

static enum api_status index_open(struct api_request *request, struct api_result *result,
                                  struct api_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    return api_bind(request, NULL, 0, "", err);
}

static enum api_status index_make(struct api_request *request, struct api_result *result,
                                  struct api_error *err)
{
    result->report = json_pack(
        "{ss ss ss so}", "name", "posenc", "version", pe_version(), "description",
        "Exact positional encodings for Transformers over HTTP.", "links", links_make(request));
    return api_failed(err);
}

const struct api_handler api_handler_index_page = {index_open, index_make};

static json_t *limits_make(const struct api_limits *limits)
{
    return json_pack(
        "{sI sI sI sI sI sI sI sI}", "body_max", (json_int_t)limits->body_max, "json_body_max",
        (json_int_t)limits->json_body_max, "output_max", (json_int_t)limits->output_max,
        "json_elements_max", (json_int_t)limits->json_elements_max, "json_values_max",
        (json_int_t)limits->json_values_max, "dim_max", (json_int_t)limits->dim_max, "tensors_max",
        (json_int_t)limits->tensors_max, "work_max", (json_int_t)limits->work_max);
}

static json_t *dtypes_make(void)
{
    json_t *dtypes = json_array();

    for (enum pe_dtype dtype = 0; dtype < PE_DTYPES; dtype++)
        json_array_append_new(dtypes, json_string(pe_dtype_info(dtype)->name));
    return dtypes;
}

static json_t *formats_make(void)
{
    json_t *formats = json_array();

    for (const struct api_format *const *at = api_formats; *at; at++)
        json_array_append_new(
            formats, json_pack("{ss ss}", "name", (*at)->name, "media_type", (*at)->media_type));
    return formats;
}

static json_t *encodings_make(void)
{
    const struct pe_encoding *encoding;
    json_t *names = json_array();

    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++)
        json_array_append_new(names, json_string(pe_encoding_info(encoding)->name));
    return names;
}

static enum api_status about_open(struct api_request *request, struct api_result *result,
                                  struct api_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "no-cache";
    return api_bind(request, NULL, 0, "", err);
}

static enum api_status about_make(struct api_request *request, struct api_result *result,
                                  struct api_error *err)
{
    const char *flags = request->settings->flags_json;
    json_t *parsed = NULL;

    if (flags && !(parsed = api_json_parse(flags, strlen(flags), "", err)))
        return api_failed(err);
    result->report =
        json_pack("{ss ss ss ss so so so so so}", "name", "posenc", "version", pe_version(),
                  "revision", request->api->revision, "isa", pe_isa_name(), "limits",
                  limits_make(&request->settings->limits), "dtypes", dtypes_make(), "formats",
                  formats_make(), "encodings", encodings_make(), "links", links_make(request));
    if (parsed)
        json_object_set_new(result->report, "flags", parsed);
    return API_OK;
}

const struct api_handler api_handler_about = {about_open, about_make};
