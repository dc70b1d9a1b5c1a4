/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "api/service.h"

/* Parameters as JSON. A failed allocation leaves something out; whoever runs the handler looks at
 * api_json_memory_failed before anything of it is sent. */

static json_t *number_json(double number)
{
    if (fabs(number) < 0x1p53 && number == floor(number))
        return json_integer((json_int_t)number);
    return json_real(number);
}

static json_t *param_json(const struct pe_param *param, const struct pe_value *value)
{
    char choice[64];
    json_t *list;

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
        list = json_array();
        for (size_t i = 0; list && i < value->list_count; i++)
            json_array_append_new(list, number_json(value->list[i]));
        return list;
    case PE_TEXT:
        return NULL;
    }
    return NULL;
}

json_t *api_scheme_json(const struct pe_scheme *scheme)
{
    json_t *json = json_pack("{ss}", "name", scheme->encoding->name);

    for (size_t i = 0; json && i < scheme->params.count; i++)
        if (scheme->params.values[i].present)
            json_object_set_new(json, scheme->params.list[i].name,
                                param_json(&scheme->params.list[i], &scheme->params.values[i]));
    return json;
}
