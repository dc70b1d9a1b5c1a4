/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config/config.h"

/* The rope object of a config.json, and whose layers it is about. */

static const struct within {
    const char *key, *encoding;
} within[] = {
#define CONFIG_WITHIN(key, encoding) {key, encoding},
#include "api/config/keys.def"
    {0},
};

static void json_release(void *json)
{
    json_decref(json);
}

static enum api_status rope_find(struct api_config *config, struct api_error *err)
{
    const char *path = "", *other;

    config->rope = api_config_find(config, "text top", "rope_parameters rope_scaling", &path);
    if (config->rope && !json_is_object(config->rope))
        return api_config_fail(config, API_INVALID, path, err, "%s must be an object", path);
    config->rope_path = api_arena_print(config->arena, "%s.", path);
    if (config->rope && strstr(path, "rope_parameters") &&
        api_config_find(config, "text top", "rope_scaling", &other))
        api_config_warn(config, "%s and %s are both there; the first is read", path, other);
    return API_OK;
}

/* "full_attention, sliding_attention": the members of a rope object that are objects themselves. */
static size_t layers_list(const json_t *rope, char *out, size_t size)
{
    size_t count = 0, used = 0;
    const char *name;
    json_t *layer;

    *out = '\0';
    json_object_foreach((json_t *)rope, name, layer)
    {
        if (!json_is_object(layer))
            continue;
        if (used < size)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%.60s", count > 0 ? ", " : "", name);
        count++;
    }
    return count;
}

static enum api_status layer_unknown(const char *wanted, const char *names, struct api_error *err)
{
    if (!wanted)
        return api_fail(err, API_MISSING, "parameter:layer_type",
                        "layer_type is required, the layers of this config differ: %s", names);
    return api_fail(err, API_INVALID, "parameter:layer_type",
                    "this config has no layer_type '%.60s'; it has %s", wanted, names);
}

/* rope_parameters with a member for each type of layer. */
static enum api_status layer_enter(struct api_config *config, const char *wanted,
                                   struct api_error *err)
{
    const char *name, *chosen = NULL;
    char names[200];
    const size_t count = layers_list(config->rope, names, sizeof(names));
    json_t *layer;

    json_object_foreach(config->rope, name, layer)
    {
        if (json_is_object(layer) && (wanted ? strcmp(name, wanted) == 0 : count == 1))
            chosen = name;
    }
    if (!chosen)
        return layer_unknown(wanted, names, err);
    config->rope_path = api_arena_print(config->arena, "%s%s.", config->rope_path, chosen);
    config->rope = json_object_get(config->rope, chosen);
    return API_OK;
}

/* Without such members, layers of sliding attention can have a base of their own, or no scaling. */
static enum api_status sliding_choose(struct api_config *config, const char *wanted,
                                      struct api_error *err)
{
    const char *path = "model_type", *of_model = config->model ? config->model->sliding : "";
    json_t *base =
        api_config_find(config, "text top", "rope_local_base_freq local_rope_theta", &path);
    const bool unscaled = strcmp(of_model, "=") == 0;

    if (!base && !unscaled && *of_model) {
        base = json_integer(strtol(of_model, NULL, 10));
        if (!base || !api_arena_defer(config->arena, json_release, base))
            return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the config");
        path = "model_type";
    }
    if (!base && !(unscaled && config->rope))
        return wanted ? api_fail(err, API_CONFLICT, "parameter:layer_type",
                                 "all layers of this config have the same positions; leave "
                                 "layer_type out")
                      : API_OK;
    if (!wanted ||
        (strcmp(wanted, "full_attention") != 0 && strcmp(wanted, "sliding_attention") != 0))
        return layer_unknown(wanted, "full_attention, sliding_attention", err);
    config->sliding = strcmp(wanted, "sliding_attention") == 0;
    config->sliding_base = config->sliding ? base : NULL;
    config->sliding_path = path;
    if (config->sliding)
        config->rope = NULL;
    return API_OK;
}

enum api_status api_config_layers(struct api_config *config, const char *layer_type,
                                  struct api_error *err)
{
    char names[8];

    if (rope_find(config, err) || (layers_list(config->rope, names, sizeof(names)) > 0
                                       ? layer_enter(config, layer_type, err)
                                       : sliding_choose(config, layer_type, err)))
        return api_failed(err);
    for (const struct within *at = within; at->key; at++)
        if (json_object_get(config->rope, at->key))
            config->name = at->encoding;
    return API_OK;
}
