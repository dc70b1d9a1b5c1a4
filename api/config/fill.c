/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/names.h"
#include "api/config/fill.h"

/* Sets what a request leaves open from its config.json, and keeps account of what came whence. */

static const struct key {
    const char *encoding, *param, *places, *keys;
} keys[] = {
#define CONFIG_KEY(encoding, param, places, keys) {encoding, param, places, keys},
#include "api/config/keys.def"
    {0},
};

static const struct value {
    const char *value, *beside, *stands_for, *without;
} values[] = {
#define CONFIG_VALUE(value, beside, stands_for, without) {value, beside, stands_for, without},
#include "api/config/keys.def"
    {0},
};

/* ---- one value ------------------------------------------------------------------------------- */

static const struct value *value_row(const struct api_config *config, const char *text)
{
    for (const struct value *at = values; text && at->value; at++)
        if (strcmp(at->value, text) == 0 &&
            (!*at->beside || json_is_number(json_object_get(config->rope, at->beside))))
            return at;
    return NULL;
}

static const char *value_translate(const struct api_config *config, const char *text)
{
    const struct value *row = value_row(config, text);

    return row ? row->stands_for : text;
}

/* Is this key of the rope object without a part in what its type stands for? */
static bool is_without(const struct api_config *config, const char *key)
{
    const json_t *type = json_object_get(config->rope, "rope_type");
    const struct value *row =
        value_row(config, json_string_value(type ? type : json_object_get(config->rope, "type")));

    return row && strcmp(row->without, key) == 0;
}

static enum api_status list_set(struct pe_params *params, size_t index, const json_t *array,
                                struct api_error *err)
{
    const size_t count = json_array_size(array);
    double *list = malloc((count + 1) * sizeof(*list));
    enum api_status status = API_OK;

    if (!list)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the config");
    for (size_t i = 0; i < count && !status; i++) {
        const json_t *element = json_array_get(array, i);
        list[i] = json_number_value(element);
        if (!json_is_number(element))
            status = api_fail(err, API_INVALID, "", "element %zu of %s is not a number", i,
                              params->list[index].name);
    }
    if (!status)
        status = api_core(err, pe_params_set_list(params, index, list, count, &err->core));
    free(list);
    return status;
}

static enum api_status json_set(const struct api_filling *filling, size_t index,
                                const json_t *value, struct api_error *err)
{
    struct pe_params *params = filling->params;
    const struct pe_param *param = &params->list[index];

    if (json_is_number(value))
        return api_core(err,
                        pe_params_set_number(params, index, json_number_value(value), &err->core));
    if (json_is_boolean(value) && param->type == PE_BOOLEAN)
        return api_core(
            err,
            pe_params_set_text(params, index, json_is_true(value) ? "true" : "false", &err->core));
    if (json_is_string(value) && param->type == PE_CHOICE)
        return api_core(
            err, pe_params_set_text(params, index,
                                    value_translate(filling->config, json_string_value(value)),
                                    &err->core));
    if (json_is_array(value) && param->type == PE_NUMBERS)
        return list_set(params, index, value, err);
    return api_fail(err, API_INVALID, "", "%s must be a %s", param->name,
                    param->type == PE_CHOICE    ? "string"
                    : param->type == PE_BOOLEAN ? "boolean"
                    : param->type == PE_NUMBERS ? "list of numbers"
                                                : "number");
}

void api_filling_note(const struct api_filling *filling, size_t index, const char *path)
{
    json_object_set_new(filling->config->provenance, filling->params->list[index].name,
                        json_string(path));
}

static enum api_status value_set(const struct api_filling *filling, size_t index,
                                 const json_t *value, const char *path)
{
    const struct pe_param *param = &filling->params->list[index];
    struct api_error inner = {0};

    if (json_set(filling, index, value, &inner) == API_OK) {
        api_filling_note(filling, index, path);
        return API_OK;
    }
    if (inner.status == API_INVALID && param->type == PE_CHOICE && json_is_string(value))
        return api_config_fail(filling->config, API_UNSUPPORTED, path, filling->err,
                               "%s '%.60s' is not offered by this version", param->name,
                               json_string_value(value));
    return api_config_fail(filling->config, inner.status, path, filling->err, "%s: %s", path,
                           inner.detail);
}

/* ---- what is open ---------------------------------------------------------------------------- */

/* These say the same: who gives one has given both. Where a config has both they must agree. */
static const char rotary_parts[] = "rotary_dim,partial_rotary_factor";

bool api_filling_open(const struct api_filling *filling, int index)
{
    const char *rest = rotary_parts, *name;

    if (index < 0 || filling->params->values[index].given)
        return false;
    name = filling->params->list[index].name;
    if (!api_names_have(rotary_parts, ",", name, strlen(name)))
        return true;
    for (; *rest; rest += strcspn(rest, ","), rest += *rest == ',') {
        char other[32];
        const char *from;
        snprintf(other, sizeof(other), "%.*s", (int)strcspn(rest, ","), rest);
        from = json_string_value(json_object_get(filling->config->provenance, other));
        if (from && strcmp(from, "request") == 0)
            return false;
    }
    return true;
}

bool api_filling_given(const struct api_filling *filling, const char *name)
{
    const int index = pe_params_find(filling->params, name);

    return index >= 0 && filling->params->values[index].given;
}

static enum api_status keys_fill(const struct api_filling *filling)
{
    const char *path = "";

    for (const struct key *at = keys; at->encoding; at++) {
        const int index = pe_params_find(filling->params, at->param);
        const json_t *value;
        if (strcmp(at->encoding, filling->config->family) != 0)
            continue;
        value = api_config_find(filling->config, at->places, at->keys, &path);
        if (value && api_filling_open(filling, index) &&
            value_set(filling, (size_t)index, value, path))
            return api_failed(filling->err);
    }
    return API_OK;
}

/* The other members of the rope object have the names of parameters, or mean nothing. */
static enum api_status rope_fill(const struct api_filling *filling)
{
    struct api_config *config = filling->config;
    const char *name;
    json_t *value;
    char path[200];

    json_object_foreach(config->rope, name, value)
    {
        const int index = pe_params_find(filling->params, name);
        snprintf(path, sizeof(path), "%s%s", config->rope_path, name);
        if (json_object_get(config->read, path) || json_is_null(value))
            continue;
        api_config_note(config, path);
        if (is_without(config, name)) {
            api_config_warn(config, "%s has no part in this rope_type and is not read", path);
        } else if (index >= 0 && api_filling_open(filling, index)) {
            if (value_set(filling, (size_t)index, value, path))
                return api_failed(filling->err);
        } else if (index < 0 && config->strict) {
            return api_config_fail(config, API_UNKNOWN_PARAMETER, path, filling->err,
                                   "%.120s is no parameter of %s", path, config->name);
        } else if (index < 0) {
            api_config_warn(config, "%s is no parameter of %s and is not read", path, config->name);
        }
    }
    return API_OK;
}

static enum api_status sliding_fill(const struct api_filling *filling)
{
    const struct api_config *config = filling->config;
    const int index = pe_params_find(filling->params, "base");

    if (!config->sliding_base || !api_filling_open(filling, index))
        return API_OK;
    return value_set(filling, (size_t)index, config->sliding_base, config->sliding_path);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum api_status fill(const struct api_filling *filling)
{
    for (size_t i = 0; i < filling->params->count; i++)
        if (filling->params->values[i].given)
            api_filling_note(filling, i, "request");
    return sliding_fill(filling) || keys_fill(filling) || rope_fill(filling) ||
                   api_config_derive(filling)
               ? api_failed(filling->err)
               : API_OK;
}

/* What the rope type has no use for was written in vain: it is left out. False: the failure is
 * another one, or the request's. */
static bool vain_drop(const struct api_filling *filling, const struct api_error *err)
{
    static const char of_request[] = "request,model_type,default";
    const char *name = strchr(err->where, ':'), *from;
    const int index = name ? pe_params_find(filling->params, name + 1) : -1;
    struct pe_value *value;

    if (err->status != API_CONFLICT || index < 0 || filling->config->strict ||
        api_names_have(rotary_parts, ",", name + 1, strlen(name + 1)))
        return false;
    name++;
    from = json_string_value(json_object_get(filling->config->provenance, name));
    if (!from || api_names_have(of_request, ",", from, strlen(from)))
        return false;
    api_config_warn(filling->config, "%s is left out: %.*s", from, (int)strcspn(err->detail, ";"),
                    err->detail);
    value = &filling->params->values[index];
    free(value->list);
    *value = (struct pe_value){0};
    json_object_del(filling->config->provenance, name);
    return true;
}

static void defaults_note(const struct api_config *config, const struct pe_params *params)
{
    for (size_t i = 0; i < params->count; i++)
        if (!params->values[i].present)
            json_object_del(config->provenance, params->list[i].name);
        else if (!json_object_get(config->provenance, params->list[i].name))
            json_object_set_new(config->provenance, params->list[i].name, json_string("default"));
}

enum api_status api_config_fill(struct api_config *config, const struct pe_encoding *encoding,
                                struct pe_params *params, struct api_error *err)
{
    const struct api_filling filling = {config, params, err};

    if (!config || config->filled)
        return API_OK;
    if (strcmp(pe_encoding_info(encoding)->name, config->name) != 0)
        return api_config_fail(config, API_CONFLICT, "", err, "the config describes %s, not %s",
                               config->name, pe_encoding_info(encoding)->name);
    config->filled = true;
    return fill(&filling);
}

enum api_status api_config_scheme(struct api_config *config, const struct pe_encoding *encoding,
                                  struct pe_params *params, struct pe_scheme **scheme,
                                  struct api_error *err)
{
    const struct api_filling filling = {config, params, err};

    if (!config)
        return api_core(err, pe_scheme_open(scheme, encoding, params, NULL, &err->core));
    if (api_config_fill(config, encoding, params, err))
        return api_failed(err);
    for (;;) {
        struct api_error trial = {0};
        if (pe_scheme_open(scheme, encoding, params, NULL, &trial.core) == PE_OK)
            break;
        api_failed(&trial);
        if (!vain_drop(&filling, &trial)) {
            *err = trial;
            return api_failed(err);
        }
    }
    defaults_note(config, pe_scheme_params(*scheme));
    api_config_unused_warn(config);
    return API_OK;
}

enum api_status api_config_layout(const struct api_config *config, struct pe_params *params,
                                  struct api_error *err)
{
    const int index = pe_params_find(params, "layout");

    if (!config || index < 0 || params->values[index].given || !*config->layout)
        return API_OK;
    return api_core(err, pe_params_set_text(params, (size_t)index, config->layout, &err->core));
}

enum api_status api_config_weights(struct api_config *config, json_t *encoding,
                                   struct api_error *err)
{
    const char *path = "";

    for (const struct key *at = keys; at->encoding; at++) {
        json_t *value;
        if (strcmp(at->encoding, config->name) != 0)
            continue;
        value = api_config_find(config, at->places, at->keys, &path);
        if (!json_is_integer(value) || json_integer_value(value) < 1)
            return value ? api_config_fail(config, API_INVALID, path, err,
                                           "%s must be a whole number above 0", path)
                         : api_config_fail(config, API_MISSING, "", err,
                                           "the config has none of: %s", at->keys);
        json_object_set(encoding, at->param, value);
        json_object_set_new(config->provenance, at->param, json_string(path));
    }
    return API_OK;
}
