/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/config/config.h"
#include "api/request/request.h"
#include "api/response/etag.h"

/* Turns the results of a reading into parts of an answer. */

/* "pointer:/encoding/config/rope_scaling/factor", cut where `where` ends. */
static void pointer_print(char *where, size_t size, const char *pointer, const char *path)
{
    size_t used = (size_t)snprintf(where, size, "pointer:%.64s/", pointer);

    for (; *path && used + 1 < size; path++)
        where[used++] = *path == '.' ? '/' : *path;
    where[used] = '\0';
}

enum pe_status api_config_failed(const struct api_config *config, struct pe_error *err)
{
    static const char key[] = "key:";
    char path[sizeof(err->where)];
    const bool at_key = strncmp(err->where, key, sizeof(key) - 1) == 0;

    memcpy(path, err->where, sizeof(path));
    if (at_key && config->pointer)
        pointer_print(err->where, sizeof(err->where), config->pointer, path + sizeof(key) - 1);
    else if (at_key || strcmp(path, "config") == 0)
        snprintf(err->where, sizeof(err->where), "parameter:config");
    return err->status;
}

void api_config_tell(struct api_config *config)
{
    const char *text;

    for (; (text = pe_config_warning(config->reading, config->told)); config->told++)
        json_array_append_new(config->warnings, json_string(text));
}

static const char *source_text(const struct pe_config_source *source)
{
    switch (source->from) {
    case PE_CONFIG_GIVEN:
        return "request";
    case PE_CONFIG_MODEL:
        return "model_type";
    case PE_CONFIG_DEFAULT:
        return "default";
    case PE_CONFIG_KEY:
    case PE_CONFIG_DERIVED:
        break;
    }
    return source->key;
}

static void source_put(json_t *provenance, const struct pe_config_source *source)
{
    json_object_set_new(provenance, source->param, json_string(source_text(source)));
}

json_t *api_config_provenance(const struct api_config *config)
{
    json_t *provenance = json_object();
    const struct pe_config_source *source;

    for (size_t i = 0; (source = pe_config_source(config->reading, i)); i++)
        source_put(provenance, source);
    if ((source = pe_config_layout_source(config->reading)))
        source_put(provenance, source);
    return provenance;
}

static void path_put(void *list, const char *path)
{
    json_array_append_new(list, json_string(path));
}

json_t *api_config_unused(const struct api_config *config)
{
    json_t *list = json_array();

    pe_config_unused(config->reading, path_put, list);
    return list;
}

enum pe_status api_config_weights(struct api_config *config, json_t *encoding, struct pe_error *err)
{
    int64_t size;

    for (const char *const *name = (const char *const[]){"length", "dim", NULL}; *name; name++) {
        if (pe_config_size(config->reading, *name, &size, err))
            return api_config_failed(config, err);
        json_object_set_new(encoding, *name, json_integer(size));
    }
    api_config_tell(config);
    return PE_OK;
}

void api_config_hash(const struct api_config *config, struct api_hash *hash)
{
    const json_t *warning;
    size_t i;

    json_array_foreach(config->warnings, i, warning)
        api_hash_text(hash, json_string_value(warning));
}
