/* SPDX-License-Identifier: MIT */
#include "api/request/parameters.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/system.h"

/* A failed allocation leaves members out; the pipeline checks api_json_memory_failed before
 * anything is sent. */

static json_t *number_json(double number)
{
    if (fabs(number) < 0x1p53 && number == floor(number))
        return json_integer((json_int_t)number);
    return json_real(number);
}

/* A list of lists has one list for each of its rows. */
static json_t *list_json(const struct pe_value *value)
{
    json_t *list = json_array(), *row = list;

    for (size_t i = 0; list && i < value->list_count; i++) {
        if (value->rows > 0 && i % (value->list_count / value->rows) == 0) {
            row = json_array();
            json_array_append_new(list, row);
        }
        json_array_append_new(row, number_json(pe_value_at(value, i)));
    }
    return list;
}

static json_t *param_json(const struct pe_param *param, const struct pe_value *value)
{
    char choice[64];

    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
        return number_json(value->number);
    case PE_BOOLEAN:
        return json_boolean(value->number != 0);
    case PE_CHOICE:
        pe_choice_name(param, (size_t)value->number, choice, sizeof(choice));
        return json_string(choice);
    case PE_NUMBERS:
    case PE_RANGES:
        return list_json(value);
    case PE_TEXT:
        return json_string(value->text);
    }
    return NULL;
}

json_t *api_scheme_json(const struct pe_scheme *scheme)
{
    const struct pe_params *params = pe_scheme_params(scheme);
    json_t *json = json_pack("{ss}", "name", pe_encoding_info(pe_scheme_encoding(scheme))->name);

    for (size_t i = 0; json && i < params->count; i++)
        if (params->values[i].present)
            json_object_set_new(json, params->list[i].name,
                                param_json(&params->list[i], &params->values[i]));
    return json;
}

void api_scheme_warnings(const struct pe_scheme *scheme, json_t *warnings)
{
    for (size_t i = 0; scheme && pe_scheme_warning(scheme, i); i++)
        json_array_append_new(warnings, json_string(pe_scheme_warning(scheme, i)));
}

/* ---- JSON Schema ---------------------------------------------------------------------------- */

/* The core's description of `table`, whose text may be any name there, is replaced. */
static const char *doc_of(const struct pe_param *param)
{
    if (param->type == PE_TEXT && strcmp(param->name, "table") == 0)
        return "The learned table: the name of a stored table, or tensor:NAME for a posted one.";
    return param->doc;
}

static json_t *names_json(const char *list, const char *separator)
{
    json_t *names = json_array();

    while (names && list && *list) {
        const size_t length = strcspn(list, separator);
        json_array_append_new(names, json_stringn(list, length));
        list += length + (list[length] != '\0');
    }
    return names;
}

static json_t *choices_json(const char *choices)
{
    json_t *names = json_array();

    while (names && *choices) {
        json_array_append_new(names, json_stringn(choices, strcspn(choices, "=,")));
        choices += strcspn(choices, ",");
        choices += *choices == ',';
    }
    return names;
}

static void bounds_describe(json_t *schema, const struct pe_param *param)
{
    if (param->min == 0 && param->max == 0)
        return;
    json_object_set_new(schema, param->above_min ? "exclusiveMinimum" : "minimum",
                        number_json(param->min));
    json_object_set_new(schema, "maximum", number_json(param->max));
}

static void type_describe(json_t *schema, const struct pe_param *param)
{
    json_t *items;

    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
        json_object_set_new(schema, "type",
                            json_string(param->type == PE_INTEGER ? "integer" : "number"));
        bounds_describe(schema, param);
        return;
    case PE_BOOLEAN:
        json_object_set_new(schema, "type", json_string("boolean"));
        return;
    case PE_CHOICE:
        json_object_set_new(schema, "type", json_string("string"));
        json_object_set_new(schema, "enum", choices_json(param->choices));
        return;
    case PE_RANGES:
    case PE_NUMBERS:
        /* In JSON ranges can only be written as text. */
        json_object_set_new(schema, "type",
                            param->type == PE_RANGES ? json_pack("[ss]", "array", "string")
                                                     : json_string("array"));
        items = json_pack("{ss}", "type", "number");
        bounds_describe(items, param);
        if (param->nested)
            items = json_pack("{s[o,{ss,so}]}", "anyOf", json_incref(items), "type", "array",
                              "items", items);
        json_object_set_new(schema, "items", items);
        return;
    case PE_TEXT:
        json_object_set_new(schema, "type", json_string("string"));
        return;
    }
}

static json_t *default_json(const struct pe_param *param)
{
    struct pe_params params;
    struct pe_error err = {0};
    json_t *json = NULL;

    pe_params_init(&params, param, 1);
    if (pe_params_set_text(&params, 0, param->fallback, &err) == PE_OK)
        json = param_json(param, &params.values[0]);
    pe_params_free(&params);
    return json;
}

static json_t *param_schema(const struct pe_param *param)
{
    json_t *schema = json_object();

    if (!schema)
        return NULL;
    type_describe(schema, param);
    if (param->fallback)
        json_object_set_new(schema, "default", default_json(param));
    json_object_set_new(schema, "description", json_string(doc_of(param)));
    if (param->unit)
        json_object_set_new(schema, "unit", json_string(param->unit));
    if (param->aliases)
        json_object_set_new(schema, "aliases", names_json(param->aliases, ","));
    return schema;
}

void api_params_describe(json_t *schema, const struct pe_param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_object_set_new(json_object_get(schema, "properties"), params[i].name,
                            param_schema(&params[i]));
        if (params[i].required)
            json_array_append_new(json_object_get(schema, "required"), json_string(params[i].name));
    }
}

json_t *api_params_schema(const struct pe_param *params, size_t count)
{
    json_t *schema = json_pack("{ss s{} s[] sb}", "type", "object", "properties", "required",
                               "additionalProperties", 0);

    api_params_describe(schema, params, count);
    return schema;
}

const char *api_link(struct api_request *request, const char *format, ...)
{
    char path[400];
    va_list args;

    va_start(args, format);
    api_vprint(path, sizeof(path), format, args);
    va_end(args);
    return api_arena_print(request->arena, "%s%s", request->settings->base_path, path);
}
