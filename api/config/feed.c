/* SPDX-License-Identifier: MIT */
#include "api/config/config.h"

/* Feeds the library's rules with a config.json, value by value. jansson bounds the depth. */

/* key NULL: into a list. */
static enum pe_status value_feed(struct pe_config_node *node, const char *key, json_t *value,
                                 struct pe_error *err);

static enum pe_status list_feed(struct pe_config_node *list, const json_t *json,
                                struct pe_error *err)
{
    json_t *value;
    size_t i;

    json_array_foreach(json, i, value)
    {
        if (value_feed(list, NULL, value, err))
            return err->status;
    }
    return PE_OK;
}

static enum pe_status value_feed(struct pe_config_node *node, const char *key, json_t *value,
                                 struct pe_error *err)
{
    struct pe_config_node *inner;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return pe_config_set_object(node, key, &inner, err) ? err->status
                                                            : api_config_feed(inner, value, err);
    case JSON_ARRAY:
        return pe_config_set_list(node, key, &inner, err) ? err->status
                                                          : list_feed(inner, value, err);
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

enum pe_status api_config_feed(struct pe_config_node *object, json_t *json, struct pe_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value)
    {
        if (value_feed(object, key, value, err))
            return err->status;
    }
    return PE_OK;
}
