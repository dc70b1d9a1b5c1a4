/* SPDX-License-Identifier: MIT */
#include "api/arguments/function.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/described.h"
#include "api/arguments/table_use.h"
#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/store/store.h"

bool api_function_posted(const struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->tensors_count; i++)
        if (strcmp(request->tensors[i].name, name) == 0)
            return true;
    return json_object_get(request->json, name) || api_request_text(request, name);
}

enum pe_status api_function_refuse(struct api_request *request, const char *names,
                                   struct pe_error *err)
{
    char name[64], where[sizeof(err->where)];

    while (*names) {
        const size_t length = strcspn(names, " ");
        memcpy(name, names, length);
        name[length] = '\0';
        if (api_function_posted(request, name)) {
            snprintf(where, sizeof(where), "parameter:%s", name);
            return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                           "%s is not offered by this version; leave it out", name);
        }
        names += length + (names[length] != '\0');
    }
    return PE_OK;
}

enum pe_status api_function_start(struct api_request *request, const char *names,
                                  struct pe_error *err)
{
    if (api_function_refuse(request, names, err))
        return err->status;
    if (api_tables_lend(request, err))
        return err->status;
    if (request->body_size == 0)
        return pe_fail(err, PE_MALFORMED, "",
                       "the body is empty; send tensors as JSON, npy, safetensors or raw bytes");
    if (request->tensors_count > 0)
        return PE_OK;
    pe_fail(err, PE_MISSING, "parameter:tensors",
            "tensors is required: {\"q\": {\"dtype\": \"f32\", \"data\": [...]}}");
    return api_mistake_note(request, "tensors", err);
}

/* ---- the encoding --------------------------------------------------------------------------- */

/* Where an error is to be looked for: key, or something in the object that it is. */
static const char *place_print(char *out, size_t size, const char *form, const char *key)
{
    snprintf(out, size, form, key);
    return out;
}

/* {"type": "rope"} is what others write; beside a name it is a parameter. */
static const char *name_key(const json_t *object)
{
    return json_object_get(object, "name") || !json_object_get(object, "type") ? "name" : "type";
}

static enum pe_status name_read(struct api_request *request, const char *key, json_t **object,
                                const char **name, struct pe_error *err)
{
    json_t *json = json_object_get(request->json, key);
    char where[sizeof(err->where)];
    const char *inner;

    *object = json_is_object(json) ? json : NULL;
    *name = api_request_text(request, key);
    if (json && !*object && !json_is_string(json))
        return pe_fail(err, PE_INVALID, place_print(where, sizeof(where), "pointer:/%.40s", key),
                       "%s must be a name, or an object with a name", key);
    if (!*object && !*name && request->config && strcmp(key, "encoding") == 0)
        *name = request->config->name;
    if (!*object)
        return *name ? PE_OK
                     : pe_fail(err, PE_MISSING,
                               place_print(where, sizeof(where), "parameter:%.40s", key),
                               "%s is required; GET /v1/encodings lists them", key);
    inner = json_string_value(json_object_get(*object, name_key(*object)));
    if (!inner)
        return pe_fail(err, PE_MISSING,
                       place_print(where, sizeof(where), "pointer:/%.40s/name", key),
                       "an encoding given as an object needs its name, a string");
    if (*name && strcmp(*name, inner) != 0)
        return pe_fail(err, PE_CONFLICT, place_print(where, sizeof(where), "parameter:%.40s", key),
                       "%s is given twice: %.40s and %.40s", key, *name, inner);
    *name = inner;
    return PE_OK;
}

static enum pe_status layout_set(json_t *object, const char *key, struct pe_params *function,
                                 struct pe_error *err)
{
    const json_t *layout = json_object_get(object, "layout");
    const int index = pe_params_find(function, "layout");
    char where[sizeof(err->where)];

    if (!layout)
        return PE_OK;
    if (!json_is_string(layout))
        return pe_fail(err, PE_INVALID,
                       place_print(where, sizeof(where), "pointer:/%.40s/layout", key),
                       "layout must be text");
    return pe_params_set_text(function, (size_t)index, json_string_value(layout), err);
}

/* Sets parameters from the object of an encoding. A layout there is the function's where the
 * encoding has none of its own; answers tell one with what rotates, so it may stand there even
 * where nothing is done with it. */
static enum pe_status object_set(struct api_request *request, const char *key,
                                 const struct pe_encoding *encoding, json_t *object,
                                 struct pe_params *params, struct pe_params *function,
                                 struct pe_error *err)
{
    const bool has_layout = pe_params_find(params, "layout") >= 0;
    const bool lends = function && pe_params_find(function, "layout") >= 0 && !has_layout;
    const bool idle = !has_layout && encoding && pe_encoding_has(encoding, PE_KIND_ROTARY);
    struct pe_params *sets[] = {params};
    char at[64], own[64];

    if (lends && layout_set(object, key, function, err))
        return err->status;
    snprintf(own, sizeof(own), "%s%s%s", name_key(object), lends || idle ? " layout" : "",
             json_object_get(object, "config") ? " " API_CONFIG_OWN : "");
    return api_bind_object(request, object, place_print(at, sizeof(at), "/%.40s", key), sets, 1,
                           own, err);
}

/* An encoding by its name, with the parameters that stand in the object, if there is one. */
static enum pe_status params_open(struct api_request *request, const char *key,
                                  const struct pe_encoding *encoding, json_t *object,
                                  struct pe_params *params, struct pe_params *function,
                                  struct pe_error *err)
{
    if (encoding)
        pe_params_init(params, pe_encoding_info(encoding)->params,
                       pe_encoding_info(encoding)->params_count);
    if (!api_params_keep(request->arena, params))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the parameters");
    return object ? object_set(request, key, encoding, object, params, function, err) : PE_OK;
}

bool api_encoding_is_posted(const struct api_request *request)
{
    const json_t *json = json_object_get(request->json, "encoding");

    /* A body that is a config.json has keys of its own. */
    return json && !json_is_null(json) &&
           !(request->config && request->config->top == request->json);
}

enum pe_status api_encoding_again(struct api_request *request, const struct pe_encoding *encoding,
                                  const char *stored, struct pe_params *params,
                                  struct pe_error *err)
{
    const char *known = pe_encoding_info(encoding)->name, *name;
    json_t *object;

    if (name_read(request, "encoding", &object, &name, err))
        return err->status;
    if (strcmp(name, known) != 0 && (!stored || strcmp(name, stored) != 0))
        return pe_fail(err, PE_CONFLICT, "pointer:/encoding", "the path names %s, the body %.60s",
                       stored ? stored : known, name);
    return object ? object_set(request, "encoding", encoding, object, params, NULL, err) : PE_OK;
}

/* Parameters that a config leaves open may stand beside it, and so may the encoding's name. */
static enum pe_status config_params(struct api_request *request, const char *key,
                                    const struct pe_encoding *encoding, struct api_config *config,
                                    struct pe_params *params, struct pe_params *function,
                                    struct pe_error *err)
{
    json_t *object = json_object_get(request->json, key);
    const char *name = json_string_value(json_object_get(object, "name"));
    char where[sizeof(err->where)];

    if (name && strcmp(name, pe_encoding_info(encoding)->name) != 0)
        return pe_fail(
            err, PE_CONFLICT, place_print(where, sizeof(where), "pointer:/%.40s/name", key),
            "the config describes %s, not %.40s", pe_encoding_info(encoding)->name, name);
    if (params_open(request, key, encoding, config->top == object ? NULL : object, params, function,
                    err) ||
        api_config_fill(config, encoding, params, err))
        return err->status;
    return function ? api_config_layout(config, function, err) : PE_OK;
}

static enum pe_status named_open(struct api_request *request, const char *key, const char *name,
                                 const struct pe_encoding **encoding, json_t *object,
                                 struct pe_params *params, struct pe_params *function,
                                 struct pe_error *err)
{
    const char *stored;

    return api_encoding_named(request, name, encoding, &stored, err) ||
                   params_open(request, key, *encoding, object, params, function, err) ||
                   api_stored_name_set(params, stored, err)
               ? err->status
               : PE_OK;
}

enum pe_status api_function_encoding(struct api_request *request, const char **other,
                                     const struct pe_encoding **encoding, struct pe_params *params,
                                     struct pe_params *function, struct pe_error *err)
{
    struct api_config *config;
    const char *name;
    json_t *object;

    pe_params_init(params, NULL, 0);
    *encoding = NULL;
    if (api_config_open_at(request, "encoding", &config, err))
        return err->status;
    if (config && request->config)
        return pe_fail(err, PE_CONFLICT, "parameter:config", "config is given twice");
    if (config) {
        request->config = config;
        return api_config_encoding(config, encoding, err)
                   ? err->status
                   : config_params(request, "encoding", *encoding, config, params, function, err);
    }
    if (name_read(request, "encoding", &object, &name, err))
        return err->status;
    if (other && (strcmp(name, "none") == 0 || strcmp(name, "absolute") == 0)) {
        *other = name;
        return params_open(request, "encoding", NULL, object, params, function, err);
    }
    return named_open(request, "encoding", name, encoding, object, params, function, err);
}

enum pe_status api_function_encoding_at(struct api_request *request, const char *key,
                                        const struct pe_encoding **encoding,
                                        struct pe_params *params, struct pe_params *function,
                                        struct api_config **config, struct pe_error *err)
{
    const char *name;
    json_t *object;

    pe_params_init(params, NULL, 0);
    if (api_config_open_at(request, key, config, err))
        return err->status;
    if (*config)
        return api_config_encoding(*config, encoding, err)
                   ? err->status
                   : config_params(request, key, *encoding, *config, params, function, err);
    if (name_read(request, key, &object, &name, err))
        return err->status;
    return named_open(request, key, name, encoding, object, params, function, err);
}

json_t *api_number_json(double number)
{
    if (isfinite(number))
        return json_real(number);
    return json_string(isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
}

enum pe_status api_function_describe(struct api_request *request, struct api_result *result,
                                     const struct pe_scheme *scheme, const char *layout,
                                     struct pe_error *err)
{
    json_t *none, *warnings;

    if (scheme) {
        if (api_result_describe(request, result, scheme, err))
            return err->status;
    } else {
        none = json_pack("{ss}", "name", "none");
        warnings = json_array();
        if (api_json_keep(request->arena, none))
            result->encoding = none;
        if (api_json_keep(request->arena, warnings))
            result->warnings = warnings;
        if (!result->encoding || !result->warnings)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    }
    if (layout && json_object_set_new(result->encoding, "layout", json_string(layout)))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    return PE_OK;
}

const char *api_layout_name(enum pe_layout layout)
{
    return layout == PE_LAYOUT_HALF ? "half" : "interleaved";
}
