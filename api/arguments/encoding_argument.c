/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/base/names.h"
#include "api/base/system.h"
#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/request/parameters.h"
#include "api/store/store.h"

/* The argument "encoding": its name, the object of a name and parameters, or a config; and its
 * description in an answer. */

/* ---- names ----------------------------------------------------------------------------------- */

/* Names that encodings have elsewhere. */
static const struct {
    const char *advice;
    const char *const *names;
} other_names[] = {
#define OTHER_NAMES(advice, ...) {advice, (const char *const[]){__VA_ARGS__, NULL}},
#include "api/arguments/encoding_names.def"
#undef OTHER_NAMES
};

static const char *advice_find(const char *fold)
{
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
        for (const char *const *name = other_names[i].names; *name; name++)
            if (api_names_alike(*name, fold))
                return other_names[i].advice;
    return NULL;
}

/* Rope types are parameters of rope, but are often requested as encodings. */
static bool is_rope_type(const char *fold)
{
    const struct pe_encoding *rope = pe_encoding_find("rope");
    struct pe_params params;
    struct pe_error ignored = {0};
    bool is = false;

    pe_params_init(&params, pe_encoding_info(rope)->params, pe_encoding_info(rope)->params_count);
    const int index = pe_params_find(&params, "rope_type");
    if (index >= 0)
        is = pe_params_set_text(&params, (size_t)index, fold, &ignored) == PE_OK;
    pe_params_free(&params);
    return is;
}

static enum pe_status names_offer(const char *name, struct pe_error *err)
{
    const struct pe_encoding *encoding;
    struct api_nearest nearest = {.word = name};
    char text[160], names[248];
    size_t used = 0;

    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++) {
        const char *known = pe_encoding_info(encoding)->name;
        api_nearest_offer(&nearest, known, strlen(known));
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                     used > 0 ? ", " : "", known);
    }
    if (nearest.count > 0)
        return pe_fail(err, PE_NOT_FOUND, "", "there is no encoding '%.60s'%s", name,
                       api_nearest_print(&nearest, text, sizeof(text)));
    if (used < sizeof(names))
        return pe_fail(err, PE_NOT_FOUND, "", "there is no encoding '%.36s'; there are %s", name,
                       names);
    return pe_fail(err, PE_NOT_FOUND, "",
                   "there is no encoding '%.40s'; GET /v1/encodings lists all", name);
}

enum pe_status api_encoding_unknown(const char *name, struct pe_error *err)
{
    char fold[48];
    size_t size = 0;
    const char *advice;

    for (; name[size] && size + 1 < sizeof(fold); size++)
        fold[size] = api_letter_fold(name[size]);
    fold[size] = '\0';
    advice = advice_find(fold);
    if (advice)
        return pe_fail(err, PE_NOT_FOUND, "", "there is no encoding '%.60s'; %s", name, advice);
    if (is_rope_type(fold))
        return pe_fail(err, PE_NOT_FOUND, "",
                       "there is no encoding '%.60s'; it is rope with rope_type=%s", name, fold);
    return names_offer(name, err);
}

/* In capitals, or with '_' for '-'. */
static const struct pe_encoding *alike_find(const char *name)
{
    const struct pe_encoding *encoding;

    for (size_t i = 0; (encoding = pe_encoding_at(i)); i++)
        if (api_names_alike(pe_encoding_info(encoding)->name, name))
            return encoding;
    return NULL;
}

enum pe_status api_encoding_named(struct api_request *request, const char *name,
                                  const struct pe_encoding **encoding, const char **stored,
                                  struct pe_error *err)
{
    *stored = NULL;
    *encoding = pe_encoding_find(name);
    if (!*encoding && api_store_has(api_store_of(request), name)) {
        *encoding = api_stored_encoding();
        *stored = name;
    }
    if (!*encoding)
        *encoding = alike_find(name);
    if (*encoding || api_store_absent(api_store_of(request), name, err))
        return err->status;
    return api_encoding_unknown(name, err);
}

/* ---- the argument ---------------------------------------------------------------------------- */

/* Prints the place of an error: a key, or a member of its object. */
static const char *place_print(char *out, size_t size, const char *form, const char *key)
{
    snprintf(out, size, form, key);
    return out;
}

/* {"type": "rope"} is a common spelling; beside a name, type is a parameter. */
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

/* Sets parameters from the object of an encoding. A layout in it is the function's where the
 * encoding has none of its own. Answers write one for every rotary encoding, so it is accepted even
 * where the function has no use for it. */
static enum pe_status object_set(struct api_request *request, const char *key,
                                 const struct pe_encoding *encoding, json_t *object,
                                 struct pe_params *params, struct pe_params *function,
                                 struct pe_error *err)
{
    const bool has_layout = pe_params_find(params, "layout") >= 0;
    const bool is_functions = function && pe_params_find(function, "layout") >= 0 && !has_layout;
    const bool is_unused = !has_layout && encoding && pe_encoding_has(encoding, PE_KIND_ROTARY);
    struct pe_params *sets[] = {params};
    char at[64], own[64];

    if (is_functions && layout_set(object, key, function, err))
        return err->status;
    snprintf(own, sizeof(own), "%s%s%s", name_key(object),
             is_functions || is_unused ? " layout" : "",
             json_object_get(object, "config") ? " " API_CONFIG_OWN : "");
    return api_bind_object(request, object, place_print(at, sizeof(at), "/%.40s", key), sets, 1,
                           own, err);
}

/* Sets the parameters of an encoding from its object, if there is one. */
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

/* Beside a config, parameters that it leaves open are accepted, and the encoding's name. */
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

/* ---- in the answer --------------------------------------------------------------------------- */

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
              "seq_len sets a longer one",
              farthest, pe_scheme_length(scheme));
    json_array_append_new(result->warnings, json_string(text));
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
