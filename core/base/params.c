/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/fail.h"
#include "core/base/text.h"
#include "posenc/parameters.h"

/* A list is held in memory and its ranges are written out: a limit that no use comes near. */
enum { LIST_MAX = 1 << 24 };

static const char *param_where(const struct pe_param *param, char *out, size_t size)
{
    snprintf(out, size, "parameter:%s", param->name);
    return out;
}

static enum pe_status fail(struct pe_error *err, enum pe_status status,
                           const struct pe_param *param, const char *format, const char *text)
{
    char where[sizeof(err->where)];

    return pe_fail(err, status, param_where(param, where, sizeof(where)), format, param->name,
                   text);
}

void pe_params_init(struct pe_params *params, const struct pe_param *list, size_t count)
{
    memset(params, 0, sizeof(*params));
    params->list = list;
    if (list)
        params->count = count < PE_PARAMS_MAX ? count : PE_PARAMS_MAX;
}

void pe_params_free(struct pe_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        free(params->values[i].list);
        free(params->values[i].text);
    }
    memset(params, 0, sizeof(*params));
}

int pe_params_find(const struct pe_params *params, const char *name)
{
    const size_t size = strlen(name);

    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->list[i].name, name) == 0 ||
            pe_text_lists(params->list[i].aliases, ",", name, size))
            return (int)i;
    return -1;
}

static const char *choices_of(const struct pe_param *param)
{
    return param->choices ? param->choices : "";
}

static enum pe_status index_check(const struct pe_params *params, size_t index,
                                  struct pe_error *err)
{
    if (index < params->count)
        return PE_OK;
    return pe_fail(err, PE_UNKNOWN_PARAMETER, "", "there are %zu parameters, and none of index %zu",
                   params->count, index);
}

/* ---- one value ------------------------------------------------------------------------------ */

static enum pe_status range_check(const struct pe_param *param, double number, struct pe_error *err)
{
    char where[sizeof(err->where)];
    const bool bounded = param->min != 0 || param->max != 0;

    if (isfinite(number) && (param->type != PE_INTEGER || number == floor(number)) &&
        (!bounded || (number >= param->min && number <= param->max &&
                      !(param->above_min && number == param->min))))
        return PE_OK;
    param_where(param, where, sizeof(where));
    if (!isfinite(number))
        return pe_fail(err, PE_OUT_OF_RANGE, where, "%s must be finite, got %g", param->name,
                       number);
    if (param->type == PE_INTEGER && number != floor(number))
        return pe_fail(err, PE_INVALID, where, "%s must be a whole number, got %.17g", param->name,
                       number);
    return pe_fail(err, PE_OUT_OF_RANGE, where, "%s must be %s %.17g and at most %.17g, got %.17g",
                   param->name, param->above_min ? "above" : "at least", param->min, param->max,
                   number);
}

static size_t value_print(const struct pe_param *param, double number, char *out, size_t size)
{
    switch (param->type) {
    case PE_CHOICE:
        return pe_choice_name(param, (size_t)number, out, size);
    case PE_BOOLEAN:
        return (size_t)snprintf(out, size, "%s", number != 0 ? "true" : "false");
    default:
        return (size_t)snprintf(out, size, "%.17g", number);
    }
}

static enum pe_status value_store(struct pe_params *params, size_t index, double number,
                                  struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    struct pe_value *value = &params->values[index];

    if (value->given && value->number != number) {
        char text[128];
        size_t used = value_print(param, value->number, text, sizeof(text) / 2 - 5);
        used += (size_t)snprintf(text + used, sizeof(text) - used, " and ");
        value_print(param, number, text + used, sizeof(text) - used);
        return fail(err, PE_CONFLICT, param, "%s is given twice: %s", text);
    }
    value->number = number == 0 && param->type != PE_NUMBER ? 0 : number;
    value->given = value->present = true;
    return PE_OK;
}

enum pe_status pe_params_set_number(struct pe_params *params, size_t index, double number,
                                    struct pe_error *err)
{
    enum pe_status status;

    if (index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
        status = range_check(param, number, err);
        return status ? status : value_store(params, index, number, err);
    case PE_NUMBERS:
    case PE_RANGES:
        return pe_params_set_list(params, index, &number, 1, err);
    case PE_BOOLEAN:
        return fail(err, PE_INVALID, param, "%s must be true or false%s", "");
    case PE_CHOICE:
        return fail(err, PE_INVALID, param, "%s must be one of %s", choices_of(param));
    case PE_TEXT:
        return fail(err, PE_INVALID, param, "%s must be text%s", "");
    }
    return PE_OK;
}

enum pe_status pe_params_set_list(struct pe_params *params, size_t index, const double *list,
                                  size_t count, struct pe_error *err)
{
    double *joined;

    if (index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    struct pe_value *value = &params->values[index];
    if (param->type != PE_NUMBERS && param->type != PE_RANGES)
        return fail(err, PE_INVALID, param, "%s must be a single value, got a list%s", "");
    if (value->rows > 0)
        return fail(err, PE_CONFLICT, param, "%s is given twice, and once as a list of lists%s",
                    "");
    if (count > LIST_MAX - value->list_count)
        return fail(err, PE_TOO_LARGE, param, "%s has more than 16777216 elements%s", "");
    for (size_t i = 0; i < count; i++)
        if (range_check(param, list[i], err))
            return err->status;

    joined = realloc(value->list, (value->list_count + count + 1) * sizeof(*joined));
    if (!joined)
        return fail(err, PE_OUT_OF_MEMORY, param, "no memory for the elements of %s%s", "");
    if (count > 0)
        memcpy(joined + value->list_count, list, count * sizeof(*joined));
    value->list = joined;
    value->list_count += count;
    value->given = value->present = true;
    return PE_OK;
}

enum pe_status pe_params_set_rows(struct pe_params *params, size_t index, const double *list,
                                  size_t rows, size_t columns, struct pe_error *err)
{
    if (index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    if (!param->nested)
        return fail(err, PE_INVALID, param, "%s must be a list of numbers, not of lists%s", "");
    if (params->values[index].given)
        return fail(err, PE_CONFLICT, param, "%s is given twice, and once as a list of lists%s",
                    "");
    if (columns > 0 && rows > LIST_MAX / columns)
        return fail(err, PE_TOO_LARGE, param, "%s has more than 16777216 elements%s", "");
    if (pe_params_set_list(params, index, list, rows * columns, err))
        return err->status;
    params->values[index].rows = rows;
    return PE_OK;
}

/* ---- text ----------------------------------------------------------------------------------- */

static enum pe_status choice_set(struct pe_params *params, size_t index, const char *text,
                                 struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    const char *at = choices_of(param);
    size_t size = strlen(text);

    for (size_t choice = 0; *at; choice++) {
        const size_t length = strcspn(at, ",");
        char spellings[128] = "";
        memcpy(spellings, at, length < sizeof(spellings) ? length : sizeof(spellings) - 1);
        if (pe_text_lists(spellings, "=", text, size))
            return value_store(params, index, (double)choice, err);
        at += length + (at[length] == ',');
    }
    char detail[200];
    snprintf(detail, sizeof(detail), "%s; got '%.40s'", choices_of(param), text);
    return fail(err, PE_INVALID, param, "%s must be one of %s", detail);
}

static enum pe_status boolean_set(struct pe_params *params, size_t index, const char *text,
                                  struct pe_error *err)
{
    if (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0)
        return value_store(params, index, 1, err);
    if (strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return value_store(params, index, 0, err);
    return fail(err, PE_INVALID, &params->list[index], "%s must be true or false, got '%.60s'",
                text);
}

static enum pe_status range_expand(struct pe_params *params, size_t index, double first,
                                   double last, struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    const double span = fabs(last - first);
    enum pe_status status = PE_OK;
    double *list;

    if (first != floor(first) || last != floor(last))
        return fail(err, PE_INVALID, param, "the ends of a range of %s must be whole numbers%s",
                    "");
    if (last < first)
        return fail(err, PE_INVALID, param, "a range of %s must not run backwards%s", "");
    if (!(span < LIST_MAX))
        return fail(err, PE_TOO_LARGE, param,
                    "a range of %s has more than 16777216 elements%s; "
                    "use start, step and length",
                    "");
    list = malloc(((size_t)span + 1) * sizeof(*list));
    if (!list)
        return fail(err, PE_OUT_OF_MEMORY, param, "no memory for the elements of %s%s", "");
    for (size_t i = 0; i <= (size_t)span; i++)
        list[i] = first + (double)i;
    status = pe_params_set_list(params, index, list, (size_t)span + 1, err);
    free(list);
    return status;
}

static enum pe_status list_set(struct pe_params *params, size_t index, const char *text,
                               struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    const char *at = text;
    double first, last;

    while (*at) {
        if (!pe_text_number(&at, &first))
            return fail(err, PE_INVALID, param,
                        "%s must be numbers separated by commas, got '%.60s'", text);
        if (param->type == PE_RANGES && at[0] == '.' && at[1] == '.') {
            at += 2;
            if (!pe_text_number(&at, &last))
                return fail(err, PE_INVALID, param, "a range of %s lacks its end in '%.60s'", text);
            if (range_expand(params, index, first, last, err))
                return err->status;
        } else if (pe_params_set_list(params, index, &first, 1, err)) {
            return err->status;
        }
        if (*at == ',' && at[1] != '\0')
            at++;
        else if (*at)
            return fail(err, PE_INVALID, param,
                        "%s must be numbers separated by commas, got '%.60s'", text);
    }
    return params->values[index].present ? PE_OK : pe_params_set_list(params, index, NULL, 0, err);
}

/* Rows between semicolons, each a list of its own. */
static enum pe_status rows_set(struct pe_params *params, size_t index, const char *text,
                               struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    struct pe_params flat;
    char *copy = strdup(text), *rest = copy;
    size_t rows = 0, columns = 0;

    pe_params_init(&flat, param, 1);
    if (!copy)
        fail(err, PE_OUT_OF_MEMORY, param, "no memory for the elements of %s%s", "");
    for (char *row; !err->status && (row = strsep(&rest, ";"));) {
        const size_t before = flat.values[0].list_count;
        if (list_set(&flat, 0, row, err))
            break;
        columns = rows++ == 0 ? flat.values[0].list_count : columns;
        if (flat.values[0].list_count - before != columns)
            fail(err, PE_SHAPE_MISMATCH, param, "%s must have rows of one length%s", "");
    }
    if (!err->status)
        pe_params_set_rows(params, index, flat.values[0].list, rows, columns, err);
    pe_params_free(&flat);
    free(copy);
    return err->status;
}

static enum pe_status text_set(struct pe_params *params, size_t index, const char *text,
                               struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    struct pe_value *value = &params->values[index];
    char both[128];

    if (value->text && strcmp(value->text, text) != 0) {
        snprintf(both, sizeof(both), "%.40s and %.40s", value->text, text);
        return fail(err, PE_CONFLICT, param, "%s is given twice: %s", both);
    }
    if (!value->text)
        value->text = strdup(text);
    if (!value->text)
        return fail(err, PE_OUT_OF_MEMORY, param, "no memory for %s%s", "");
    value->given = value->present = true;
    return PE_OK;
}

enum pe_status pe_params_set_text(struct pe_params *params, size_t index, const char *text,
                                  struct pe_error *err)
{
    const char *at = text;
    double number;

    if (index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
        if (!pe_text_number(&at, &number) || *at)
            return fail(err, PE_INVALID, param, "%s must be a number, got '%.60s'", text);
        return pe_params_set_number(params, index, number, err);
    case PE_BOOLEAN:
        return boolean_set(params, index, text, err);
    case PE_CHOICE:
        return choice_set(params, index, text, err);
    case PE_NUMBERS:
    case PE_RANGES:
        return (param->nested && strchr(text, ';') ? rows_set : list_set)(params, index, text, err);
    case PE_TEXT:
        return text_set(params, index, text, err);
    }
    return PE_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

enum pe_status pe_params_finish(struct pe_params *params, struct pe_error *err)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct pe_param *param = &params->list[i];
        struct pe_value *value = &params->values[i];

        if (value->present)
            continue;
        if (param->required)
            return fail(err, PE_MISSING, param, "%s is required: %s", param->doc);
        if (param->fallback) {
            if (pe_params_set_text(params, i, param->fallback, err))
                return err->status;
            value->given = false;
        }
    }
    return PE_OK;
}

enum pe_status pe_params_infer(struct pe_params *params, const char *name, double number,
                               struct pe_error *err)
{
    const int index = pe_params_find(params, name);

    if (index < 0 || params->values[index].given)
        return PE_OK;
    return pe_params_set_number(params, (size_t)index, number, err);
}

enum pe_status pe_params_set_pairs(struct pe_params *params, const char *text, struct pe_error *err)
{
    char *copy = strdup(text), *rest = copy;

    if (!copy)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the parameters");
    for (char *pair; !err->status && (pair = strtok_r(rest, " \t\r\n&", &rest));) {
        char *value = strchr(pair, '=');
        int index;

        if (value)
            *value++ = '\0';
        index = pe_params_find(params, pair);
        if (index < 0)
            pe_fail(err, PE_UNKNOWN_PARAMETER, "", "there is no parameter '%.60s'", pair);
        else if (!value)
            pe_fail(err, PE_MALFORMED, "", "'%.60s' has no value; write name=value", pair);
        else
            pe_params_set_text(params, (size_t)index, value, err);
    }
    free(copy);
    return err->status;
}

enum pe_status pe_params_set_value(struct pe_params *params, size_t index,
                                   const struct pe_param *param, const struct pe_value *value,
                                   struct pe_error *err)
{
    char choice[32];

    if (value->rows > 0)
        return pe_params_set_rows(params, index, value->list, value->rows,
                                  value->list_count / value->rows, err);
    if (value->list)
        return pe_params_set_list(params, index, value->list, value->list_count, err);
    if (value->text)
        return pe_params_set_text(params, index, value->text, err);
    if (param->type == PE_BOOLEAN)
        return pe_params_set_text(params, index, value->number != 0 ? "true" : "false", err);
    if (param->type != PE_CHOICE)
        return pe_params_set_number(params, index, value->number, err);
    /* A number that is no index, NaN among them, is no choice either: "". */
    pe_choice_name(param,
                   value->number >= 0 && value->number < INT_MAX ? (size_t)value->number : SIZE_MAX,
                   choice, sizeof(choice));
    return pe_params_set_text(params, index, choice, err);
}

/* ---- reading them --------------------------------------------------------------------------- */

const struct pe_value *pe_param_value(const struct pe_params *params, const char *name)
{
    const int index = pe_params_find(params, name);

    return index >= 0 ? &params->values[index] : NULL;
}

double pe_param_number(const struct pe_params *params, const char *name)
{
    const struct pe_value *value = pe_param_value(params, name);

    return value && value->present ? value->number : NAN;
}

const char *pe_param_text(const struct pe_params *params, const char *name)
{
    const struct pe_value *value = pe_param_value(params, name);

    return value ? value->text : NULL;
}

bool pe_param_given(const struct pe_params *params, const char *name)
{
    const struct pe_value *value = pe_param_value(params, name);

    return value && value->given;
}

size_t pe_choice_name(const struct pe_param *param, size_t index, char *out, size_t size)
{
    const char *at = choices_of(param);

    for (; index > 0 && *at; index--) {
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return (size_t)snprintf(out, size, "%.*s", (int)strcspn(at, ",="), at);
}
