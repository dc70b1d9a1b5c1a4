/* SPDX-License-Identifier: MIT */
#include "api/config/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/response/etag.h"

#include "api/request/bind.h"

#include "api/memory/json_memory.h"

/* Finds the config.json of a request and decides what it describes: the part about text, the
 * encoding, the layout and, where layers differ, whose positions are meant. */

const struct api_model_type api_model_types[] = {
#define MODEL_TYPE(model_type, encoding, layout, defaults, sliding, note)                          \
    {model_type, encoding, layout, defaults, sliding, note},
#include "api/config/model_types.def"
#undef MODEL_TYPE
    {0},
};

static const struct rule {
    const char *key, *value, *encoding;
} rules[] = {
#define CONFIG_RULE(key, value, encoding) {key, value, encoding},
#include "api/config/keys.def"
    {0},
};

static const struct sign {
    const char *key, *encoding;
} signs[] = {
#define CONFIG_SIGN(key, encoding) {key, encoding},
#include "api/config/keys.def"
    {0},
};

static const struct switches {
    const char *key, *when_true, *when_false;
} switches[] = {
#define CONFIG_LAYOUT(key, when_true, when_false) {key, when_true, when_false},
#include "api/config/keys.def"
    {0},
};

static const char *const weights[] = {
#define CONFIG_WEIGHTS(encoding) encoding,
#include "api/config/keys.def"
    NULL,
};

const struct pe_param api_config_list[] = {
    {.name = "config",
     .type = PE_TEXT,
     .doc = "A config.json of Hugging Face, as text: what it tells need not be given."},
    {.name = "layer_type",
     .type = PE_TEXT,
     .doc = "The layers that are meant, where those of the config differ."},
    {.name = "strict",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Refuse a config whose rope object has keys without a meaning."},
};

const size_t api_config_count = sizeof(api_config_list) / sizeof(api_config_list[0]);

static void json_release(void *json)
{
    json_decref(json);
}

/* ---- where it stands ------------------------------------------------------------------------- */

static bool is_config(const json_t *json)
{
    return json_object_get(json, "model_type") || json_object_get(json, "architectures") ||
           json_object_get(json, "hidden_size");
}

static json_t *text_parse(struct api_request *request, const char *text, struct api_error *err)
{
    json_t *json = api_json_parse(text, strlen(text), "parameter:config", err);

    if (json && !json_is_object(json)) {
        json_decref(json);
        api_fail(err, API_INVALID, "parameter:config", "config must be a JSON object");
        return NULL;
    }
    if (json && !api_arena_defer(request->arena, json_release, json)) {
        api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the config");
        return NULL;
    }
    return json;
}

/* *json stays NULL where there is no config. */
static enum api_status source_find(struct api_request *request, json_t **json, const char **pointer,
                                   struct api_error *err)
{
    json_t *inner = json_object_get(request->json, "config");
    const char *text = api_request_text(request, "config");
    const bool whole = request->tensors_count == 0 && is_config(request->json);

    *json = NULL;
    *pointer = NULL;
    if (inner && !json_is_object(inner) && !json_is_string(inner))
        return api_fail(err, API_INVALID, "pointer:/config",
                        "config must be an object, or the text of one");
    if ((text && json_is_object(inner)) || (whole && (text || inner)))
        return api_fail(err, API_CONFLICT, "parameter:config", "config is given twice");
    if (whole || json_is_object(inner)) {
        *json = whole ? request->json : inner;
        *pointer = whole ? "" : "/config";
        if (whole)
            request->json = NULL; /* the arena owns it */
        return API_OK;
    }
    if (text && !(*json = text_parse(request, text, err)))
        return api_failed(err);
    return API_OK;
}

/* ---- its part about text, and its model ------------------------------------------------------ */

static void text_choose(struct api_config *config)
{
    static const char *const names[][2] = {{"text_config", "text_config."},
                                           {"llm_config", "llm_config."},
                                           {"language_config", "language_config."},
                                           {NULL, NULL}};

    config->text = config->top;
    config->text_path = "";
    for (size_t i = 0; names[i][0]; i++) {
        json_t *inner = json_object_get(config->top, names[i][0]);
        if (json_object_size(inner) > 0) {
            config->text = inner;
            config->text_path = names[i][1];
            return;
        }
    }
}

static void model_find(struct api_config *config)
{
    char path[64];
    const json_t *type = json_object_get(config->text, "model_type");

    config->model_type =
        json_string_value(type ? type : json_object_get(config->top, "model_type"));
    api_config_note(config, "model_type");
    snprintf(path, sizeof(path), "%smodel_type", config->text_path);
    api_config_note(config, path);
    for (const struct api_model_type *at = api_model_types; config->model_type && at->model_type;
         at++)
        if (strcmp(at->model_type, config->model_type) == 0)
            config->model = at;
    config->layout = config->model ? config->model->layout : "";
    config->layout_from = "model_type";
    if (config->model && *config->model->note)
        api_config_warn(config, "%s", config->model->note);
}

static bool value_is(const json_t *value, const char *text)
{
    if (json_is_boolean(value))
        return strcmp(json_is_true(value) ? "true" : "false", text) == 0;
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

/* What the keys say, else the model, else the keys that only one encoding has. */
static enum api_status family_choose(struct api_config *config, struct api_error *err)
{
    const char *path = "";
    const json_t *value;

    for (const struct rule *at = rules; !config->family && at->key; at++) {
        value = api_config_find(config, "text top", at->key, &path);
        if (value_is(value, at->value))
            config->family = at->encoding;
    }
    value = api_config_find(config, "text top", "position_embedding_type", &path);
    if (!config->family && json_is_string(value))
        return api_config_fail(config, API_UNSUPPORTED, path, err,
                               "position_embedding_type %.40s is not offered by this version",
                               json_string_value(value));
    if (!config->family && config->model)
        config->family = config->model->encoding;
    for (const struct sign *at = signs; !config->family && at->key; at++)
        if (json_object_get(config->text, at->key) || json_object_get(config->top, at->key))
            config->family = at->encoding;
    if (!config->family)
        return api_config_fail(
            config, API_UNSUPPORTED, "", err,
            "nothing in this config tells its positions: model_type %.40s is not "
            "known, and there is no rope_theta, rope_scaling or rope_parameters",
            config->model_type ? config->model_type : "(absent)");
    if (!config->model)
        api_config_warn(config,
                        "model_type %.60s is not known: read by its keys, layout is not told",
                        config->model_type ? config->model_type : "(absent)");
    if (config->model && strcmp(config->model->encoding, config->family) != 0)
        config->layout = "";
    config->name = config->family;
    return API_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum api_status strict_read(struct api_request *request, bool *strict, struct api_error *err)
{
    const char *text;

    if (api_request_scalar(request, "strict", &text, err))
        return api_failed(err);
    *strict = text && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
    if (!text || *strict || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return API_OK;
    return api_fail(err, API_INVALID, "parameter:strict",
                    "strict must be true or false, got '%.40s'", text);
}

/* Without a config its companions mean nothing. */
static enum api_status alone_check(const struct api_request *request, struct api_error *err)
{
    char where[sizeof(err->where)];
    const char *text;

    for (const char *const *name = (const char *const[]){"layer_type", "strict", NULL}; *name;
         name++) {
        if (api_request_scalar(request, *name, &text, err))
            return api_failed(err);
        if (!text)
            continue;
        snprintf(where, sizeof(where), "parameter:%s", *name);
        return api_fail(err, API_CONFLICT, where,
                        "%s is about a config, and there is none; give config, or leave it out",
                        *name);
    }
    return API_OK;
}

static void layout_switch(struct api_config *config)
{
    const bool nothing_turns = config->model && !*config->layout;

    for (const struct switches *at = switches; at->key && !nothing_turns; at++) {
        const char *path;
        const json_t *value = api_config_find(config, "text", at->key, &path);
        if (!json_is_boolean(value))
            continue;
        config->layout = json_is_true(value) ? at->when_true : at->when_false;
        config->layout_from = path;
    }
}

static enum api_status config_make(struct api_arena *arena, json_t *json, const char *pointer,
                                   struct api_config **out, struct api_error *err)
{
    struct api_config *config = api_arena_take(arena, sizeof(*config));

    if (!config)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the config");
    *config = (struct api_config){.arena = arena,
                                  .top = json,
                                  .pointer = pointer,
                                  .read = json_object(),
                                  .provenance = json_object(),
                                  .warnings = json_array()};
    if (!api_arena_defer(arena, json_release, config->read) ||
        !api_arena_defer(arena, json_release, config->provenance) ||
        !api_arena_defer(arena, json_release, config->warnings))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the config");
    text_choose(config);
    model_find(config);
    layout_switch(config);
    *out = config;
    return family_choose(config, err);
}

enum api_status api_config_open(struct api_request *request, struct api_error *err)
{
    struct api_config *config;
    const char *pointer, *layer_type;
    json_t *json;
    bool strict;

    if (source_find(request, &json, &pointer, err))
        return api_failed(err);
    if (!json)
        return alone_check(request, err);
    if (strict_read(request, &strict, err) ||
        api_request_scalar(request, "layer_type", &layer_type, err) ||
        config_make(request->arena, json, pointer, &config, err) ||
        api_config_layers(config, layer_type, err))
        return api_failed(err);
    config->strict = strict;
    request->config = config;
    return API_OK;
}

static enum api_status member_fail(struct api_error *err, const char *key, const char *inner,
                                   const char *detail)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "pointer:/%.60s/%s", key, inner);
    return api_fail(err, API_INVALID, where, "%s", detail);
}

enum api_status api_config_open_at(struct api_request *request, const char *key,
                                   struct api_config **config, struct api_error *err)
{
    json_t *member = json_object_get(request->json, key),
           *inner = json_object_get(member, "config");
    const json_t *layer = json_object_get(member, "layer_type");
    const json_t *strict = json_object_get(member, "strict");
    const bool whole = is_config(member) && !json_object_get(member, "name");

    *config = NULL;
    if (!inner && !whole)
        return API_OK;
    if (!whole && !json_is_object(inner))
        return member_fail(err, key, "config", "config must be an object");
    if (!whole && layer && !json_is_string(layer))
        return member_fail(err, key, "layer_type", "layer_type must be text");
    if (!whole && strict && !json_is_boolean(strict))
        return member_fail(err, key, "strict", "strict must be true or false");
    if (config_make(request->arena, whole ? member : inner,
                    api_arena_print(request->arena, whole ? "/%s" : "/%s/config", key), config,
                    err) ||
        api_config_layers(*config, whole ? NULL : json_string_value(layer), err))
        return api_failed(err);
    (*config)->strict = !whole && json_is_true(strict);
    return API_OK;
}

bool api_config_is_weights(const struct api_config *config)
{
    for (const char *const *name = weights; *name; name++)
        if (strcmp(*name, config->name) == 0)
            return true;
    return false;
}

enum api_status api_config_encoding(const struct api_config *config,
                                    const struct pe_encoding **encoding, struct api_error *err)
{
    *encoding = pe_encoding_find(config->name);
    if (*encoding)
        return API_OK;
    return api_config_fail(config, API_UNSUPPORTED, "", err,
                           "the config describes %s, which this version does not offer",
                           config->name);
}

void api_config_hash(const struct api_config *config, struct api_hash *hash)
{
    const json_t *warning;
    size_t i;

    json_array_foreach(config->warnings, i, warning)
        api_hash_text(hash, json_string_value(warning));
}
