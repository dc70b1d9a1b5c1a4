/* SPDX-License-Identifier: MIT */
#include "api/function.h"

#include <stdio.h>
#include <string.h>

#include "api/config.h"
#include "api/service.h"

static bool is_posted(const struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->tensors_count; i++)
        if (strcmp(request->tensors[i].name, name) == 0)
            return true;
    return json_object_get(request->json, name) || api_request_text(request, name);
}

enum pe_status api_function_start(struct api_request *request, const char *names,
                                  struct pe_error *err)
{
    char name[64], where[sizeof(err->where)];

    while (*names) {
        const size_t length = strcspn(names, " ");
        memcpy(name, names, length);
        name[length] = '\0';
        if (is_posted(request, name)) {
            snprintf(where, sizeof(where), "parameter:%s", name);
            return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                           "%s is not offered by this version; leave it out", name);
        }
        names += length + (names[length] != '\0');
    }
    if (request->body_size == 0)
        return pe_fail(err, PE_MALFORMED, "",
                       "the body is empty; send tensors as JSON, npy, safetensors or raw bytes");
    if (request->tensors_count == 0)
        return pe_fail(err, PE_MISSING, "parameter:tensors",
                       "tensors is required: {\"q\": {\"dtype\": \"f32\", \"data\": [...]}}");
    return PE_OK;
}

/* ---- the encoding --------------------------------------------------------------------------- */

static void params_release(void *params)
{
    pe_params_free(params);
}

static enum pe_status name_read(struct api_request *request, json_t **object, const char **name,
                                struct pe_error *err)
{
    json_t *json = json_object_get(request->json, "encoding");
    const char *inner;

    *object = json_is_object(json) ? json : NULL;
    *name = api_request_text(request, "encoding");
    if (json && !*object && !json_is_string(json))
        return pe_fail(err, PE_INVALID, "pointer:/encoding",
                       "encoding must be a name, or an object with a name");
    if (!*object && !*name && request->config)
        *name = request->config->name;
    if (!*object)
        return *name ? PE_OK
                     : pe_fail(err, PE_MISSING, "parameter:encoding",
                               "encoding is required; GET /v1/encodings lists them");
    inner = json_string_value(json_object_get(*object, "name"));
    if (!inner)
        return pe_fail(err, PE_MISSING, "pointer:/encoding/name",
                       "an encoding given as an object needs its name, a string");
    if (*name && strcmp(*name, inner) != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:encoding",
                       "encoding is given twice: %.40s and %.40s", *name, inner);
    *name = inner;
    return PE_OK;
}

static enum pe_status layout_set(json_t *object, struct pe_params *function, struct pe_error *err)
{
    const json_t *layout = json_object_get(object, "layout");
    const int index = pe_params_find(function, "layout");

    if (!layout)
        return PE_OK;
    if (!json_is_string(layout))
        return pe_fail(err, PE_INVALID, "pointer:/encoding/layout", "layout must be text");
    return pe_params_set_text(function, (size_t)index, json_string_value(layout), err);
}

enum pe_status api_function_encoding(struct api_request *request, bool none_allowed,
                                     const struct pe_encoding **encoding, struct pe_params *params,
                                     struct pe_params *function, struct pe_error *err)
{
    struct pe_params *sets[] = {params};
    const char *name;
    json_t *object;

    pe_params_init(params, NULL, 0);
    *encoding = NULL;
    if (name_read(request, &object, &name, err))
        return err->status;
    *encoding = pe_encoding_find(name);
    if (*encoding)
        pe_params_init(params, (*encoding)->params, (*encoding)->params_count);
    else if (!none_allowed || strcmp(name, "none") != 0)
        return api_encoding_unknown(name, err);
    if (!api_arena_defer(request->arena, params_release, params))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the parameters");
    if (!object)
        return PE_OK;
    if (layout_set(object, function, err))
        return err->status;
    return api_bind_object(request, object, "/encoding", sets, 1, "name layout", err);
}

enum pe_status api_function_infer(struct pe_params *params, const char *name, size_t value,
                                  struct pe_error *err)
{
    const int index = pe_params_find(params, name);

    if (index < 0 || params->values[index].given)
        return PE_OK;
    return pe_params_set_number(params, (size_t)index, (double)value, err);
}

static void json_release(void *json)
{
    json_decref(json);
}

enum pe_status api_function_describe(struct api_request *request, struct api_result *result,
                                     const struct pe_scheme *scheme, const char *layout,
                                     struct pe_error *err)
{
    json_t *none;

    if (scheme) {
        if (api_result_describe(request, result, scheme, err))
            return err->status;
    } else {
        none = json_pack("{ss}", "name", "none");
        if (!none || !api_arena_defer(request->arena, json_release, none))
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
        result->encoding = none;
    }
    if (layout && json_object_set_new(result->encoding, "layout", json_string(layout)))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    return PE_OK;
}

const char *api_layout_name(enum pe_layout layout)
{
    return layout == PE_LAYOUT_HALF ? "half" : "interleaved";
}
