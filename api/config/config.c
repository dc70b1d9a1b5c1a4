/* SPDX-License-Identifier: MIT */
#include "api/config/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/formats/formats.h"
#include "api/memory/json.h"
#include "api/request/parameters.h"

/* Finds the config.json of a request, makes a tree of it, and reads it. */

const struct pe_param api_config_list[] = {
    {.name = "config",
     .type = PE_TEXT,
     .doc = "A config.json of Hugging Face, as JSON text. It supplies the parameters of the "
            "encoding that are not given."},
    {.name = "layer_type",
     .type = PE_TEXT,
     .doc = "The type of layer whose encoding is taken, where the layers of the config differ."},
    {.name = "strict",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether a config is refused whose rope object has unknown keys."},
};

const size_t api_config_count = sizeof(api_config_list) / sizeof(api_config_list[0]);

/* ---- finding --------------------------------------------------------------------------------- */

static bool has_any(const json_t *json, const char *const *keys)
{
    for (; *keys; keys++)
        if (json_object_get(json, *keys))
            return true;
    return false;
}

/* Is an object a config, of any publisher? By keys that are no parameter of any operation, nor
 * another spelling of one. */
static bool is_config(const json_t *json)
{
    return has_any(json,
                   (const char *const[]){"model_type", "architectures", "hidden_size", "n_layers",
                                         "num_hidden_layers", "vocab_size", "_class_name",
                                         "text_config", "pretrained_cfg", "architecture", NULL});
}

/* The same where only a config can be posted: spellings of parameters of operations count too. */
static bool is_bare_config(const json_t *json)
{
    return !has_any(json, (const char *const[]){"config", "encoding", "tensors", NULL}) &&
           has_any(json, (const char *const[]){"model_config", "rope_theta", "rope_scaling",
                                               "rope_parameters", "n_heads", "n_head", "n_embd",
                                               "d_model", "num_attention_heads",
                                               "max_position_embeddings", "yarn", NULL});
}

static json_t *text_parse(struct api_request *request, const char *text, struct pe_error *err)
{
    json_t *json =
        api_json_parse_limited(text, strlen(text), "parameter:config",
                               request->settings->limits.json_values_max, request->work, err);

    if (json && !json_is_object(json)) {
        json_decref(json);
        pe_fail(err, PE_INVALID, "parameter:config", "config must be a JSON object");
        return NULL;
    }
    if (json && !api_json_keep_whole(request->arena, json)) {
        pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
        return NULL;
    }
    return json;
}

/* Is the body the head of a GGUF file? */
static bool is_gguf(const struct api_request *request)
{
    return request->reader == &api_reader_gguf;
}

/* Finds the config in JSON, in the body or in a parameter; *json stays NULL where there is none. */
static enum pe_status source_find(struct api_request *request, bool is_about_config, json_t **json,
                                  const char **pointer, struct pe_error *err)
{
    json_t *inner = json_object_get(request->json, "config");
    const char *text = api_request_text(request, "config");
    const bool is_body =
        request->tensors_count == 0 &&
        (is_config(request->json) || (is_about_config && !text && is_bare_config(request->json)));

    *json = NULL;
    *pointer = NULL;
    if (inner && !json_is_object(inner) && !json_is_string(inner))
        return pe_fail(err, PE_INVALID, "pointer:/config",
                       "config must be an object, or the text of one");
    if ((text && json_is_object(inner)) || (is_body && (text || inner)))
        return pe_fail(err, PE_CONFLICT, "parameter:config", "config is given twice");
    if (is_body || json_is_object(inner)) {
        *json = is_body ? request->json : inner;
        *pointer = is_body ? "" : "/config";
        if (is_body)
            request->json = NULL; /* the arena owns it */
        return PE_OK;
    }
    if (text && !(*json = text_parse(request, text, err)))
        return err->status;
    return PE_OK;
}

/* ---- JSON to values -------------------------------------------------------------------------- */

/* Adds a value; key NULL: to a list. jansson bounds the depth. */
static enum pe_status value_add(struct pe_config_node *node, const char *key, json_t *value,
                                struct pe_error *err);

static enum pe_status list_add(struct pe_config_node *list, const json_t *json,
                               struct pe_error *err)
{
    json_t *value;
    size_t i;

    json_array_foreach(json, i, value)
    {
        if (value_add(list, NULL, value, err))
            return err->status;
    }
    return PE_OK;
}

static enum pe_status object_add(struct pe_config_node *object, json_t *json, struct pe_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value)
    {
        if (value_add(object, key, value, err))
            return err->status;
    }
    return PE_OK;
}

static enum pe_status value_add(struct pe_config_node *node, const char *key, json_t *value,
                                struct pe_error *err)
{
    struct pe_config_node *inner;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return pe_config_set_object(node, key, &inner, err) ? err->status
                                                            : object_add(inner, value, err);
    case JSON_ARRAY:
        return pe_config_set_list(node, key, &inner, err) ? err->status
                                                          : list_add(inner, value, err);
    case JSON_STRING:
        return pe_config_set_text(node, key, json_string_value(value), err);
    case JSON_INTEGER:
        return pe_config_set_integer(node, key, json_integer_value(value), err);
    case JSON_REAL:
        return pe_config_set_number(node, key, json_real_value(value), err);
    case JSON_TRUE:
    case JSON_FALSE:
        return pe_config_set_bool(node, key, json_is_true(value), err);
    case JSON_NULL:
        break;
    }
    return pe_config_set_null(node, key, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum pe_status strict_read(struct api_request *request, bool *strict, struct pe_error *err)
{
    const char *text;

    if (api_request_scalar(request, "strict", &text, err))
        return err->status;
    *strict = text && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
    if (!text || *strict || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return PE_OK;
    return pe_fail(err, PE_INVALID, "parameter:strict", "strict must be true or false, got '%.40s'",
                   text);
}

/* The default of strict, which is accepted without a config. */
static bool is_false(const char *text)
{
    return strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

/* Refuses the parameters of a config where there is none. */
static enum pe_status companions_refuse(const struct api_request *request, struct pe_error *err)
{
    char where[sizeof(err->where)];
    const char *text;

    for (const char *const *name = (const char *const[]){"layer_type", "strict", NULL}; *name;
         name++) {
        if (api_request_scalar(request, *name, &text, err))
            return err->status;
        if (!text || (strcmp(*name, "strict") == 0 && is_false(text)))
            continue;
        snprintf(where, sizeof(where), "parameter:%s", *name);
        return pe_fail(err, PE_CONFLICT, where,
                       "%s is about a config, and there is none; give config, or leave it out",
                       *name);
    }
    return PE_OK;
}

static void values_release(void *values)
{
    pe_config_free(values);
}

static void reading_release(void *reading)
{
    pe_config_reading_free(reading);
}

static enum pe_status config_read(struct api_request *request, struct api_config *config,
                                  const char *layer_type, bool strict, struct pe_error *err)
{
    config->strict = strict;
    if (pe_config_read(&config->reading, config->values, layer_type, strict, err))
        return api_config_fail(config, err);
    if (!api_arena_defer(request->arena, reading_release, config->reading))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    config->name = pe_config_encoding(config->reading);
    api_config_warnings_take(config);
    return PE_OK;
}

/* json NULL: the values of a GGUF file, which is the body. */
static enum pe_status values_add(struct api_request *request, struct api_config *config,
                                 json_t *json, struct pe_error *err)
{
    if (json)
        return object_add(pe_config_top(config->values), json, err);
    if (pe_config_set_gguf(config->values, request->body, request->body_size, err) == PE_INVALID) {
        const struct pe_error inner = *err;
        *err = (struct pe_error){0};
        return pe_fail(err, PE_MALFORMED, "", "%s", inner.detail);
    }
    return err->status;
}

/* A config without a reading. */
static enum pe_status config_make(struct api_request *request, json_t *json, const char *pointer,
                                  struct api_config **out, struct pe_error *err)
{
    struct api_config *config = api_arena_take(request->arena, sizeof(*config));

    if (!config)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    *config = (struct api_config){.top = json, .pointer = pointer, .warnings = json_array()};
    if (!api_json_keep(request->arena, config->warnings))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    if (pe_config_new(&config->values, request->work, err))
        return err->status;
    if (!api_arena_defer(request->arena, values_release, config->values))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    *out = config;
    return values_add(request, config, json, err);
}

/* Makes the config of a request, and reads its parameters; *out stays NULL where there is none. */
static enum pe_status config_find(struct api_request *request, bool is_about_config,
                                  struct api_config **out, const char **layer_type, bool *strict,
                                  struct pe_error *err)
{
    const char *pointer;
    json_t *json;

    *out = NULL;
    if (source_find(request, is_about_config, &json, &pointer, err))
        return err->status;
    if (!json && !is_gguf(request))
        return companions_refuse(request, err);
    if (json && is_gguf(request))
        return pe_fail(err, PE_CONFLICT, "parameter:config", "config is given twice");
    if (strict_read(request, strict, err) ||
        api_request_scalar(request, "layer_type", layer_type, err))
        return err->status;
    return config_make(request, json, pointer, out, err);
}

enum pe_status api_config_open(struct api_request *request, struct pe_error *err)
{
    struct api_config *config;
    const char *layer_type;
    bool strict;

    if (config_find(request, false, &config, &layer_type, &strict, err))
        return err->status;
    if (config && config_read(request, config, layer_type, strict, err))
        return err->status;
    request->config = config;
    return PE_OK;
}

static void kinds_release(void *kinds)
{
    pe_config_kinds_free(kinds);
}

enum pe_status api_config_kinds_find(struct api_request *request, struct api_config *config,
                                     struct pe_error *err)
{
    if (pe_config_kinds_new(&config->kinds, config->values, err))
        return api_config_fail(config, err);
    return api_arena_defer(request->arena, kinds_release, config->kinds)
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
}

/* The type of layers to read where none is given; NULL: all have the same positions. */
static const char *usual_type(const struct api_config *config)
{
    const struct pe_config_kind *usual =
        pe_config_kind(config->kinds, pe_config_kinds_usual(config->kinds));

    return pe_config_layer_type(config->values, 0) ? usual->layer_type : NULL;
}

/* Finds the kinds of layers, and reads the config for the usual one. */
static enum pe_status full_read(struct api_request *request, struct api_config *config, bool strict,
                                struct pe_error *err)
{
    const char *usual;

    if (api_config_kinds_find(request, config, err))
        return err->status;
    usual = usual_type(config);
    if (config_read(request, config, usual, strict, err))
        return err->status;
    if (pe_config_layer_type(config->values, 1))
        json_array_append_new(
            config->warnings,
            json_sprintf("the layers of this config differ: `encoding` is that of %s, `layers` has "
                         "all of them; functions take layer_type",
                         usual));
    return PE_OK;
}

enum pe_status api_config_open_full(struct api_request *request, struct pe_error *err)
{
    struct api_config *config;
    const char *layer_type;
    bool strict;

    if (config_find(request, true, &config, &layer_type, &strict, err))
        return err->status;
    if (config && (layer_type ? config_read(request, config, layer_type, strict, err)
                              : full_read(request, config, strict, err)))
        return err->status;
    request->config = config;
    return PE_OK;
}

enum pe_status api_config_of_layer(struct api_request *request, const struct api_config *config,
                                   const char *layer_type, struct api_config **out,
                                   struct pe_error *err)
{
    struct api_config *other = api_arena_take(request->arena, sizeof(*other));

    if (!other)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    *other = (struct api_config){.top = config->top,
                                 .pointer = config->pointer,
                                 .values = config->values,
                                 .warnings = json_array()};
    if (!api_json_keep(request->arena, other->warnings))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    *out = other;
    return config_read(request, other, layer_type, config->strict, err);
}

enum pe_status api_config_of_part(struct api_request *request, json_t *part,
                                  struct api_config **out, struct pe_error *err)
{
    return config_make(request, part, NULL, out, err) || full_read(request, *out, false, err)
               ? err->status
               : PE_OK;
}

/* ---- a config inside of the body ------------------------------------------------------------- */

static enum pe_status member_fail(struct pe_error *err, const char *key, const char *inner,
                                  const char *detail)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "pointer:/%.60s/%s", key, inner);
    return pe_fail(err, PE_INVALID, where, "%s", detail);
}

static enum pe_status member_open(struct api_request *request, const char *key, bool is_full,
                                  struct api_config **config, struct pe_error *err)
{
    json_t *member = json_object_get(request->json, key),
           *inner = json_object_get(member, "config");
    const json_t *layer = json_object_get(member, "layer_type");
    const json_t *strict = json_object_get(member, "strict");
    const bool is_itself = is_config(member) && !json_object_get(member, "name");
    const char *pointer, *layer_type;
    bool is_strict;

    *config = NULL;
    if (!inner && !is_itself)
        return PE_OK;
    if (!is_itself && !json_is_object(inner))
        return member_fail(err, key, "config", "config must be an object");
    if (!is_itself && layer && !json_is_string(layer))
        return member_fail(err, key, "layer_type", "layer_type must be text");
    if (!is_itself && strict && !json_is_boolean(strict))
        return member_fail(err, key, "strict", "strict must be true or false");
    pointer = api_arena_print(request->arena, is_itself ? "/%s" : "/%s/config", key);
    if (config_make(request, is_itself ? member : inner, pointer, config, err))
        return err->status;
    layer_type = is_itself ? NULL : json_string_value(layer);
    is_strict = !is_itself && json_is_true(strict);
    return is_full && !layer_type ? full_read(request, *config, is_strict, err)
                                  : config_read(request, *config, layer_type, is_strict, err);
}

enum pe_status api_config_open_at(struct api_request *request, const char *key,
                                  struct api_config **config, struct pe_error *err)
{
    return member_open(request, key, false, config, err);
}

enum pe_status api_config_open_full_at(struct api_request *request, const char *key,
                                       struct api_config **config, struct pe_error *err)
{
    return member_open(request, key, true, config, err);
}

/* ---- the encoding ---------------------------------------------------------------------------- */

enum pe_status api_config_encoding(const struct api_config *config,
                                   const struct pe_encoding **encoding, struct pe_error *err)
{
    *encoding = pe_encoding_find(config->name);
    if (*encoding)
        return PE_OK;
    return pe_fail(err, PE_UNSUPPORTED, "parameter:config",
                   "the config describes %s, which this version does not offer", config->name);
}

static enum pe_status encoding_check(const struct api_config *config,
                                     const struct pe_encoding *encoding, struct pe_error *err)
{
    const char *name = pe_encoding_info(encoding)->name;

    if (strcmp(name, config->name) == 0)
        return PE_OK;
    return pe_fail(err, PE_CONFLICT, "parameter:config", "the config describes %s, not %s",
                   config->name, name);
}

enum pe_status api_config_fill(struct api_config *config, const struct pe_encoding *encoding,
                               struct pe_params *params, struct pe_error *err)
{
    if (!config)
        return PE_OK;
    if (encoding_check(config, encoding, err))
        return err->status;
    if (pe_config_fill(config->reading, params, err))
        return api_config_fail(config, err);
    api_config_warnings_take(config);
    return PE_OK;
}

enum pe_status api_scheme_open(struct api_config *config, const struct pe_encoding *encoding,
                               struct pe_params *params, struct pe_work *work,
                               struct pe_scheme **scheme, struct pe_error *err)
{
    if (!config)
        return pe_scheme_open(scheme, encoding, params, work, err);
    if (encoding_check(config, encoding, err))
        return err->status;
    if (pe_config_scheme(scheme, config->reading, params, err))
        return api_config_fail(config, err);
    api_config_warnings_take(config);
    return PE_OK;
}

enum pe_status api_config_layout(const struct api_config *config, struct pe_params *params,
                                 struct pe_error *err)
{
    const char *layout = config ? pe_config_layout(config->reading) : NULL;
    const int index = pe_params_find(params, "layout");

    if (!layout || index < 0 || params->values[index].given)
        return PE_OK;
    return pe_params_set_text(params, (size_t)index, layout, err);
}
