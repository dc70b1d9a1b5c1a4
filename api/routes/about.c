/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/memory/json.h"
#include "api/request/head.h"
#include "api/request/parameters.h"
#include "api/response/blocks.h"
#include "api/routes/handler.h"
#include "api/routes/page.h"

/* ---- links ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *path, *title;
    bool posted; /* has no GET */
} links[] = {
    {"about", "/v1", "version, limits and formats of this server", false},
    {"encodings", "/v1/encodings", "every encoding with its parameters, and URLs that work", false},
    {"engines", "/v1/engines", "what inference engines rotate for a config, as measured", false},
#define FUNCTION(name, title) {name, "/v1/" name, title, true},
#include "api/routes/functions.def"
#undef FUNCTION
    {"openapi", "/openapi.yaml", "the contract: every path, parameter and answer", false},
    {"openapi_json", "/openapi.json", "the same as JSON", false},
    {"problems", "/problems", "every way to fail, and how to mend it", false},
    {"client", "/client.js", "a client for pages and node", false},
    {"livez", "/livez", "does the process live?", false},
    {"readyz", "/readyz", "should it get requests?", false},
    {"metrics", "/metrics", "counters for Prometheus", false},
};

enum { LINKS = sizeof(links) / sizeof(links[0]) };

static json_t *links_make(struct api_request *request)
{
    json_t *found = json_object();

    for (size_t i = 0; i < LINKS; i++)
        json_object_set_new(found, links[i].name,
                            json_string(api_link(request, "%s", links[i].path)));
    return found;
}

/* ---- the index ------------------------------------------------------------------------------- */

static const char description[] = "Exact positional encodings for Transformers over HTTP.";

/* `link` NULL: words alone. */
static void item_put(struct api_text *page, const char *link, const char *words, const char *title)
{
    if (link)
        api_page_put(page, "<li><a href=\"%s\">", link);
    api_page_put(page, link ? "<code>%s</code></a>: " : "<li><code>POST %s</code>: ", words);
    api_page_put(page, "%s</li>\n", title);
}

static void lists_put(struct api_text *page, struct api_request *request)
{
    const struct pe_encoding *encoding;

    api_page_put(page, "<p>%s</p>\n<h2>Paths</h2>\n<ul>\n", description);
    for (size_t i = 0; i < LINKS; i++)
        item_put(page, links[i].posted ? NULL : api_link(request, "%s", links[i].path),
                 api_link(request, "%s", links[i].path), links[i].title);
    api_text_put(page, "</ul>\n<h2>Encodings</h2>\n<ul>\n");
    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++) {
        const struct pe_encoding_info *info = pe_encoding_info(encoding);
        item_put(page, api_link(request, "/v1/encodings/%s", info->name), info->name, info->title);
    }
    api_text_put(page, "</ul>\n");
}

static enum pe_status index_page(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    struct api_text page = {0};

    if (api_explorer_is_here(request->settings))
        return api_explorer_page(request, lists_put, result, err);
    api_page_begin(&page, "posenc");
    lists_put(&page, request);
    return api_page_end(&page, request, result, err);
}

static enum pe_status index_open(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    if (request->page && api_explorer_is_here(request->settings))
        return index_page(request, result, err); /* its query is read by its script */
    if (api_bind(request, NULL, 0, "", err))
        return err->status;
    return request->page ? index_page(request, result, err) : PE_OK;
}

static enum pe_status index_make(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    if (!request->page)
        result->report = json_pack("{ss ss ss so}", "name", "posenc", "version", pe_version(),
                                   "description", description, "links", links_make(request));
    return err->status;
}

const struct api_handler api_handler_index_page = {index_open, index_make};

/* The first limits below are always reported, the others only where there are such. */
enum { LIMITS_ALWAYS = 8 };

/* ---- the server ------------------------------------------------------------------------------ */

/* Limits that a flag sets have its name; the others are those of formats and of the server. */
static json_t *limits_make(const struct api_request *request)
{
    const struct api_limits *limits = &request->settings->limits;
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        {"body_max", limits->body_max},
        {"json_body_max", limits->json_body_max},
        {"output_max", limits->output_max},
        {"json_elements_max", limits->json_elements_max},
        {"json_values_max", limits->json_values_max},
        {"dim_max", limits->dim_max},
        {"tensors_max", limits->tensors_max},
        {"work_max", limits->work_max},
        {"memory_budget", limits->memory_budget},
        {"head_max", limits->head_max},
        {"fields_max", limits->fields_max},
        {"query_parameters_max", API_QUERY_MAX},
        {"json_keys_max", API_KEYS_MAX},
        {"json_depth_max", API_NESTING_MAX},
        {"safetensors_header_max", API_SAFETENSORS_HEADER_MAX},
        {"list_elements_max", PE_PARAM_LIST_MAX},
        {"rank_max", PE_RANK_MAX},
        {"diagnosis_pairs_max", PE_SAMPLE_PAIRS_MAX},
        {"errors_max", API_PARAMETER_ERRORS_MAX},
        {"json_tree_max", API_JSON_TREE_MAX},
        {"row_max", API_ROW_SIZE_MAX},
        {"zstd_window_max", UINT64_C(1) << API_ZSTD_WINDOW_LOG_MAX},
        {"layout_elements_max", API_LAYOUT_ELEMENTS_MAX},
        {"picture_bytes_max", PE_PICTURE_BYTES_MAX},
    };
    json_t *object = json_object();

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (i < LIMITS_ALWAYS || (all[i].value > 0 && all[i].value <= INT64_MAX))
            json_object_set_new(object, all[i].name, json_integer((json_int_t)all[i].value));
    return object;
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

static enum pe_status about_open(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    result->kind = API_REPORT;
    result->tagged = true;
    result->cache_control = "no-cache";
    return api_bind(request, NULL, 0, "", err);
}

static enum pe_status about_make(struct api_request *request, struct api_result *result,
                                 struct pe_error *err)
{
    const char *flags = request->settings->flags_json;
    json_t *parsed = NULL;

    if (flags && !(parsed = api_json_parse(flags, strlen(flags), "", err)))
        return err->status;
    result->report =
        json_pack("{ss ss ss ss so so so so so}", "name", "posenc", "version", pe_version(),
                  "revision", request->api->revision, "isa", pe_isa_name(), "limits",
                  limits_make(request), "dtypes", dtypes_make(), "formats", formats_make(),
                  "encodings", encodings_make(), "links", links_make(request));
    if (parsed)
        json_object_set_new(result->report, "flags", parsed);
    return PE_OK;
}

const struct api_handler api_handler_about = {about_open, about_make};
