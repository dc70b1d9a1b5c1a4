/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/config/config.h"

/* Looking things up in a config.json, and saying what is wrong with it. */

void api_config_warn(struct api_config *config, const char *format, ...)
{
    char text[240];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    json_array_append_new(config->warnings, json_string(text));
}

void api_config_note(struct api_config *config, const char *path)
{
    for (size_t length = strcspn(path, ".");; length += 1 + strcspn(path + length + 1, ".")) {
        json_object_setn_new(config->read, path, length, json_true());
        if (path[length] == '\0')
            return;
    }
}

enum api_status api_config_fail(const struct api_config *config, enum api_status status,
                                const char *path, struct api_error *err, const char *format, ...)
{
    char where[sizeof(err->where)] = "parameter:config", text[sizeof(err->detail)];
    const size_t prefix = strlen("pointer:");
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (config->pointer && *path) {
        snprintf(where, sizeof(where), "pointer:%s/%s", config->pointer, path);
        for (char *at = where + prefix; *at; at++)
            if (*at == '.')
                *at = '/';
    }
    return api_fail(err, status, where, "%s", text);
}

static const char *const unset[] = {
#define CONFIG_UNSET(key) key,
#include "api/config/keys.def"
    NULL,
};

static bool is_unset(const char *key, const json_t *value)
{
    for (const char *const *at = unset; *at; at++)
        if (strcmp(*at, key) == 0)
            return json_is_integer(value) && json_integer_value(value) == -1;
    return false;
}

/* A dot in a key leads into an object. */
static json_t *member_get(json_t *object, const char *key)
{
    const char *dot = strchr(key, '.');
    char outer[64];

    if (!dot)
        return json_object_get(object, key);
    snprintf(outer, sizeof(outer), "%.*s", (int)(dot - key), key);
    return json_object_get(json_object_get(object, outer), dot + 1);
}

/* The object of a place, and the path that leads to it. */
static json_t *place_get(const struct api_config *config, const char *place, size_t length,
                         const char **path)
{
    if (strncmp(place, "rope", length) == 0) {
        *path = config->rope_path;
        return config->rope;
    }
    if (strncmp(place, "text", length) == 0) {
        *path = config->text_path;
        return config->text;
    }
    *path = "";
    return config->top;
}

/* The same key further out is read too, and told where it says something else. */
static void shadow_note(struct api_config *config, const char *path, const json_t *value,
                        const char *outer, const char *key, const json_t *other)
{
    char shadow[160];

    snprintf(shadow, sizeof(shadow), "%s%s", outer, key);
    if (strcmp(shadow, path) == 0)
        return;
    api_config_note(config, shadow);
    if (!json_equal(value, other))
        api_config_warn(config, "%s and %s differ; the first is read", path, shadow);
}

json_t *api_config_find(struct api_config *config, const char *places, const char *keys,
                        const char **path)
{
    json_t *found = NULL;
    const char *found_key = NULL;
    char key[64];

    for (const char *place = places; *place; place += strcspn(place, " "), place += *place == ' ') {
        const size_t length = strcspn(place, " ");
        const char *outer = "";
        json_t *object = place_get(config, place, length, &outer);
        for (const char *at = keys; *at; at += strcspn(at, " "), at += *at == ' ') {
            json_t *value;
            snprintf(key, sizeof(key), "%.*s", (int)strcspn(at, " "), at);
            value = member_get(object, key);
            if (!value || json_is_null(value) || is_unset(key, value))
                continue;
            if (found && strcmp(key, found_key) == 0)
                shadow_note(config, *path, found, outer, key, value);
            if (found)
                continue;
            found = value;
            *path = api_arena_print(config->arena, "%s%s", outer, key);
            found_key = api_arena_copy(config->arena, key);
            if (!*path || !found_key) /* nothing is answered then */
                return NULL;
            api_config_note(config, *path);
        }
    }
    return found;
}

static void unused_add(const struct api_config *config, json_t *list, json_t *object,
                       const char *prefix)
{
    const char *key;
    json_t *value;
    char path[200];

    json_object_foreach(object, key, value)
    {
        snprintf(path, sizeof(path), "%s%s", prefix, key);
        if (!json_object_get(config->read, path))
            json_array_append_new(list, json_string(path));
    }
}

void api_config_unused_warn(struct api_config *config)
{
    const char *key;
    json_t *value;
    char path[200];

    json_object_foreach(config->text, key, value)
    {
        snprintf(path, sizeof(path), "%s%s", config->text_path, key);
        if ((strstr(key, "rope") || strstr(key, "rotary")) && !json_is_null(value) &&
            !json_object_get(config->read, path))
            api_config_warn(config, "%s is not read, and may be about positions", path);
    }
}

json_t *api_config_unused(const struct api_config *config)
{
    json_t *list = json_array();

    unused_add(config, list, config->top, "");
    if (config->text != config->top)
        unused_add(config, list, config->text, config->text_path);
    return list;
}
