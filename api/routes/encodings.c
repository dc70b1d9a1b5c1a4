/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/formats/formats.h"
#include "api/pictures/plot.h"
#include "api/routes/handler.h"

/* Estimated nanoseconds of the list, printing included. */
#define LIST_WORK 4.8e6

/* Can the view be pooled, and returned as u8? */
static bool is_picture(const struct pe_view_info *view)
{
    for (size_t i = 0; i < view->params_count; i++)
        if (strcmp(view->params[i].name, "pool") == 0)
            return true;
    return false;
}

/* Adds the parameters that every view takes beside its own and the encoding's. */
static void common_describe(json_t *schema, const struct pe_view_info *view)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *dtypes = json_array(), *formats = json_array();

    for (enum pe_dtype dtype = 0; dtype < PE_DTYPES && pe_dtype_is_float(dtype); dtype++)
        json_array_append_new(dtypes, json_string(pe_dtype_info(dtype)->name));
    if (is_picture(view))
        json_array_append_new(dtypes, json_string(pe_dtype_info(PE_U8)->name));
    for (const struct api_format *const *format = api_formats; *format; format++)
        json_array_append_new(formats, json_string((*format)->name));
    json_object_set_new(properties, "dtype",
                        json_pack("{ss so ss ss}", "type", "string", "enum", dtypes, "default",
                                  "f32", "description", "The dtype of the elements."));
    json_object_set_new(
        properties, "format",
        json_pack("{ss so ss}", "type", "string", "enum", formats, "description",
                  "Format of the answer, svg and png of views; else Accept decides, else JSON."));
    api_params_describe(schema, api_config_list, api_config_count);
    api_params_describe(schema, api_answer_list, api_answer_count);
    api_params_describe(schema, api_plot_list, api_plot_count);
}

static const char *view_link(struct api_request *request, const struct pe_encoding *encoding,
                             const struct pe_view_info *view)
{
    return api_link(request, "/v1/encodings/%s/%s%s%s", pe_encoding_info(encoding)->name,
                    view->group ? view->group : "", view->group ? "/" : "", view->name);
}

/* A view with an example: parameters of the encoding, then the view's own. */
static json_t *example_make(struct api_request *request, const struct pe_encoding *encoding,
                            const struct pe_view_info *view)
{
    const char *own =
        pe_encoding_info(encoding)->example ? pe_encoding_info(encoding)->example : "";
    const char *rest = view->example ? view->example : "";

    return json_string(api_arena_print(request->arena, "%s%s%s%s%s",
                                       view_link(request, encoding, view), *own || *rest ? "?" : "",
                                       own, *own && *rest ? "&" : "", rest));
}

static json_t *operation_make(struct api_request *request, const struct pe_encoding *encoding,
                              const struct pe_view_info *view)
{
    json_t *schema = api_params_schema(view->params, view->params_count);
    json_t *tensors = json_array();

    common_describe(schema, view);
    if (view->tensor)
        json_array_append_new(tensors, json_string(view->tensor));
    return json_pack("{ss ss ss ss s[sss] so so so}", "name", view->name, "title", view->title,
                     "description", view->doc, "href", view_link(request, encoding, view),
                     "methods", "GET", "HEAD", "POST", "parameters", schema, "tensors", tensors,
                     "example", example_make(request, encoding, view));
}

/* The functions that an encoding can be named in. */
static json_t *functions_make(const struct pe_encoding *encoding)
{
    const struct {
        const char *name;
        bool takes;
    } functions[] = {
        {"rotation", pe_encoding_has(encoding, PE_KIND_ROTARY)},
        {"attention", pe_attention_takes(encoding)},
        {"embedding", pe_encoding_has(encoding, PE_KIND_ROWS)},
        {"comparison", pe_encoding_view(encoding, "table") != NULL},
    };
    json_t *names = json_array();

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (functions[i].takes)
            json_array_append_new(names, json_string(functions[i].name));
    return names;
}

static json_t *entry_make(struct api_request *request, const struct pe_encoding *encoding)
{
    const struct pe_view_type *type;
    json_t *operations = json_array();

    for (size_t i = 0; (type = pe_encoding_view_at(encoding, i)); i++)
        json_array_append_new(operations, operation_make(request, encoding, pe_view_info(type)));
    return json_pack(
        "{ss ss ss ss ss ss so so so}", "name", pe_encoding_info(encoding)->name, "family",
        pe_encoding_info(encoding)->family, "title", pe_encoding_info(encoding)->title, "formula",
        pe_encoding_info(encoding)->formula, "reference", pe_encoding_info(encoding)->source,
        "href", api_link(request, "/v1/encodings/%s", pe_encoding_info(encoding)->name),
        "parameters",
        api_params_schema(pe_encoding_info(encoding)->params,
                          pe_encoding_info(encoding)->params_count),
        "operations", operations, "functions", functions_make(encoding));
}

static bool family_exists(const char *family)
{
    const struct pe_encoding *encoding;

    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++)
        if (strcmp(pe_encoding_info(encoding)->family, family) == 0)
            return true;
    return false;
}

static enum pe_status list_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    const char *family = api_request_text(request, "family");

    result->kind = API_REPORT;
    result->tagged = true;
    result->work = LIST_WORK;
    result->cache_control =
        api_store_has_folder(request->api->store) ? "no-cache" : "public, max-age=60";
    if (api_bind(request, NULL, 0, "family", err))
        return err->status;
    if (family && !family_exists(family))
        return pe_fail(err, PE_INVALID, "parameter:family",
                       "family must be absolute, rotary, bias or relative, got '%.40s'", family);
    return PE_OK;
}

static enum pe_status list_make(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    const char *family = api_request_text(request, "family");
    const struct pe_encoding *encoding;
    json_t *entries, *tables = NULL;

    if (api_store_has_folder(request->api->store) &&
        (!family || strcmp(pe_encoding_info(api_stored_encoding())->family, family) == 0) &&
        api_store_list_json(api_store_of(request), &tables, err))
        return err->status;
    entries = json_array();
    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++)
        if (!family || strcmp(pe_encoding_info(encoding)->family, family) == 0)
            json_array_append_new(entries, entry_make(request, encoding));
    result->report = json_pack("{so}", "encodings", entries);
    if (tables)
        json_object_set_new(result->report, "tables", tables);
    return err->status;
}

const struct api_handler api_handler_list_encodings = {list_open, list_make};

/* The name of a stored table in ->state; NULL: an encoding. */
static enum pe_status show_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    const struct api_stored_table *table;
    const struct pe_encoding *encoding;
    const char *stored;

    if (api_encoding_named(request, request->name, &encoding, &stored, err) ||
        api_bind(request, NULL, 0, "", err))
        return err->status;
    if (!stored)
        request->name = pe_encoding_info(encoding)->name; /* it may have come in capitals */
    result->kind = API_REPORT;
    result->cache_control = stored ? "no-cache" : "public, max-age=60";
    result->tagged = !stored;
    if (!stored)
        return PE_OK;
    /* A damaged table has no tag, and is reported nevertheless. */
    if (api_store_take(api_store_of(request), request->name, 0, &table, &(struct pe_error){0}) ==
        PE_OK)
        result->etag = api_stored_table_etag(request, table);
    api_stored_table_drop(table);
    return PE_OK;
}

/* The entry of a stored table, with the URL of its rows. */
static json_t *stored_make(struct api_request *request)
{
    json_t *entry = api_store_entry_json(api_store_of(request), request->name);

    if (!entry)
        return NULL;
    json_object_set_new(entry, "href",
                        json_string(api_link(request, "/v1/encodings/%s", request->name)));
    json_object_set_new(entry, "table",
                        json_string(api_link(request, "/v1/encodings/%s/table", request->name)));
    return entry;
}

static enum pe_status show_make(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(request->name);

    result->report = encoding ? entry_make(request, encoding) : stored_make(request);
    return err->status;
}

const struct api_handler api_handler_show_encoding = {show_open, show_make};
