/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/params.h"
#include "core/base/text.h"
#include "core/base/work.h"

static const char *param_where(const struct pe_param *param, char *out, size_t size)
{
    snprintf(out, size, "parameter:%s", param->name);
    return out;
}

enum pe_status pe_param_fail(struct pe_error *err, enum pe_status status,
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

static void segments_free(const struct pe_params *params, struct pe_value *value)
{
    pe_memory_give(params->work, value->segments, value->segments_count, sizeof(*value->segments));
    value->segments = NULL;
    value->segments_count = 0;
}

void pe_params_free(struct pe_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        struct pe_value *value = &params->values[i];
        if (!value->lent) {
            pe_memory_give(params->work, value->list, value->list_count, sizeof(*value->list));
            segments_free(params, value);
        }
        pe_memory_give(params->work, value->text, value->text ? strlen(value->text) + 1 : 0, 1);
    }
    memset(params, 0, sizeof(*params));
}

int pe_params_find(const struct pe_params *params, const char *name)
{
    const size_t size = strlen(name);

    /* Names first: internal callers use them, and lists of aliases are long. */
    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->list[i].name, name) == 0)
            return (int)i;
    for (size_t i = 0; i < params->count; i++)
        if (pe_text_lists(params->list[i].aliases, ',', name, size))
            return (int)i;
    return -1;
}

const char *pe_param_choices(const struct pe_param *param)
{
    return param->choices ? param->choices : "";
}

enum pe_status pe_param_index_check(const struct pe_params *params, size_t index,
                                    struct pe_error *err)
{
    if (index < params->count)
        return PE_OK;
    return pe_fail(err, PE_UNKNOWN_PARAMETER, "", "there are %zu parameters, and none of index %zu",
                   params->count, index);
}

/* ---- one value ------------------------------------------------------------------------------ */

enum pe_status pe_param_number_check(const struct pe_param *param, double number,
                                     struct pe_error *err)
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
    /* From 2^53 on only the first digits are certain to be those of the input. */
    return pe_fail(err, PE_OUT_OF_RANGE, where, "%s must be %s %.17g and at most %.17g, got %.*g",
                   param->name, param->above_min ? "above" : "at least", param->min, param->max,
                   param->max == 0x1p53 - 1 && fabs(number) >= 0x1p53 ? 4 : 17, number);
}

static size_t value_print(const struct pe_param *param, double number, char *out, size_t size)
{
    switch (param->type) {
    case PE_CHOICE:
        return pe_choice_name(param, (size_t)number, out, size);
    case PE_BOOLEAN:
        return (size_t)snprintf(out, size, "%s", number != 0 ? "true" : "false");
    default:
        return (size_t)pe_text_print(out, size, "%.17g", number);
    }
}

enum pe_status pe_param_store(struct pe_params *params, size_t index, double number,
                              struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    struct pe_value *value = &params->values[index];

    if (value->given && value->number != number) {
        char text[128];
        size_t used = value_print(param, value->number, text, sizeof(text) / 2 - 5);
        used += (size_t)snprintf(text + used, sizeof(text) - used, " and ");
        value_print(param, number, text + used, sizeof(text) - used);
        return pe_param_fail(err, PE_CONFLICT, param, "%s is given twice: %s", text);
    }
    value->number = number == 0 && param->type != PE_NUMBER ? 0 : number;
    value->given = value->present = true;
    return PE_OK;
}

enum pe_status pe_params_set_number(struct pe_params *params, size_t index, double number,
                                    struct pe_error *err)
{
    enum pe_status status;

    if (pe_param_index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
        status = pe_param_number_check(param, number, err);
        return status ? status : pe_param_store(params, index, number, err);
    case PE_NUMBERS:
    case PE_RANGES:
        return pe_params_set_list(params, index, &number, 1, err);
    case PE_BOOLEAN:
        return pe_param_fail(err, PE_INVALID, param, "%s must be true or false%s", "");
    case PE_CHOICE:
        return pe_param_fail(err, PE_INVALID, param, "%s must be one of %s",
                             pe_param_choices(param));
    case PE_TEXT:
        return pe_param_fail(err, PE_INVALID, param, "%s must be text%s", "");
    }
    return PE_OK;
}

/* May `count` elements be appended to a list? The first `checked` of them are in `list`; the others
 * lie between these. */
static enum pe_status list_check(const struct pe_params *params, size_t index, const double *list,
                                 size_t checked, size_t count, struct pe_error *err)
{
    if (pe_param_index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    const struct pe_value *value = &params->values[index];
    if (param->type != PE_NUMBERS && param->type != PE_RANGES)
        return pe_param_fail(err, PE_INVALID, param, "%s must be a single value, got a list%s", "");
    if (value->rows > 0)
        return pe_param_fail(err, PE_CONFLICT, param,
                             "%s is given twice, and once as a list of lists%s", "");
    if (count > PE_PARAM_LIST_MAX - value->list_count)
        return pe_param_fail(err, PE_TOO_LARGE, param, "%s has more than 16777216 elements%s", "");
    for (size_t i = 0; i < checked; i++)
        if (pe_param_number_check(param, list[i], err))
            return err->status;
    return PE_OK;
}

/* Memory for `count` more elements, owned by the value. */
static double *list_grow(const struct pe_params *params, const struct pe_value *value, size_t count,
                         struct pe_error *err)
{
    const bool is_foreign = value->lent || value->range; /* the value owns no memory */
    const size_t taken = ((is_foreign ? value->list_count : 0) + count) * sizeof(double);
    double *joined;

    if (!pe_work_reserve(params->work, taken))
        return NULL;
    joined =
        realloc(is_foreign ? NULL : value->list, (value->list_count + count + 1) * sizeof(*joined));
    if (!joined)
        pe_work_release(params->work, taken);
    if (joined && is_foreign && pe_value_expand(value, joined, params->work, err)) {
        free(joined);
        pe_work_release(params->work, taken);
        return NULL;
    }
    return joined;
}

/* As list_check; returns where the elements are to be written. NULL: they are not allowed, or
 * out of memory. */
static double *list_extend(struct pe_params *params, size_t index, const double *list,
                           size_t checked, size_t count, struct pe_error *err)
{
    if (list_check(params, index, list, checked, count, err))
        return NULL;
    struct pe_value *value = &params->values[index];
    double *joined = list_grow(params, value, count, err);
    if (!joined && err->status)
        return NULL;
    if (!joined) {
        pe_param_fail(err, PE_OUT_OF_MEMORY, &params->list[index],
                      "no memory for the elements of %s%s", "");
        return NULL;
    }
    if (!value->lent)
        segments_free(params, value);
    value->segments = NULL;
    value->segments_count = 0;
    value->list = joined;
    value->list_count += count;
    value->number = value->range ? 0 : value->number;
    value->lent = value->range = false;
    value->given = value->present = true;
    return joined + value->list_count - count;
}

enum pe_status pe_params_set_list(struct pe_params *params, size_t index, const double *list,
                                  size_t count, struct pe_error *err)
{
    double *to = list_extend(params, index, list, count, count, err);

    if (to && count > 0)
        memcpy(to, list, count * sizeof(*to));
    return to ? PE_OK : err->status;
}

enum pe_status pe_params_set_range(struct pe_params *params, size_t index, double first,
                                   size_t count, struct pe_error *err)
{
    const double ends[] = {first, first + (double)count - 1};
    double *to;

    if (list_check(params, index, ends, 2, count, err))
        return err->status;
    struct pe_value *value = &params->values[index];
    if (!value->given && count > 0) {
        value->number = first;
        value->list_count = count;
        value->given = value->present = value->range = true;
        return PE_OK;
    }
    to = pe_params_list_extend(params, index, 0, count, err);
    return to ? pe_value_expand(
                    &(struct pe_value){.range = true, .number = first, .list_count = count}, to,
                    params->work, err)
              : err->status;
}

static enum pe_status rows_check(const struct pe_params *params, size_t index, size_t rows,
                                 size_t columns, struct pe_error *err)
{
    if (pe_param_index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    if (!param->nested)
        return pe_param_fail(err, PE_INVALID, param, "%s must be a list of numbers, not of lists%s",
                             "");
    if (params->values[index].given)
        return pe_param_fail(err, PE_CONFLICT, param,
                             "%s is given twice, and once as a list of lists%s", "");
    if (columns > 0 && rows > PE_PARAM_LIST_MAX / columns)
        return pe_param_fail(err, PE_TOO_LARGE, param, "%s has more than 16777216 elements%s", "");
    return PE_OK;
}

/* The segments of a value and the added ones, in new memory. */
static struct pe_segment *segments_join(const struct pe_params *params, size_t index,
                                        const struct pe_segment *segments, size_t count,
                                        struct pe_error *err)
{
    const struct pe_value *value = &params->values[index];
    const struct pe_segment run = {value->number, value->list_count};
    const size_t run_count = value->given && !value->segments ? 1 : 0;
    const size_t old = value->segments_count + run_count;
    struct pe_segment *joined =
        pe_memory_take(params->work, old + count, sizeof(*joined), params->list[index].name, err);

    if (!joined)
        return NULL;
    if (old > 0)
        memcpy(joined, run_count > 0 ? &run : value->segments, old * sizeof(*joined));
    for (size_t i = 0; i < count; i++)
        joined[old + i] =
            (struct pe_segment){segments[i].first, segments[i].end + value->list_count};
    return joined;
}

enum pe_status pe_params_add_segments(struct pe_params *params, size_t index, size_t rows,
                                      const struct pe_segment *segments, size_t segments_count,
                                      struct pe_error *err)
{
    const size_t count = segments[segments_count - 1].end;

    if ((rows > 0 && rows_check(params, index, rows, count / rows, err)) ||
        list_check(params, index, NULL, 0, count, err))
        return err->status;
    struct pe_value *value = &params->values[index];
    if (value->given && !value->range) {
        const struct pe_value added = {.range = true,
                                       .list_count = count,
                                       .segments = (struct pe_segment *)(uintptr_t)segments,
                                       .segments_count = segments_count};
        double *to = list_extend(params, index, NULL, 0, count, err);
        return to ? pe_value_expand(&added, to, params->work, err) : err->status;
    }
    const size_t all = value->segments_count + (value->given && !value->segments) + segments_count;
    struct pe_segment *joined = segments_join(params, index, segments, segments_count, err);
    if (!joined)
        return err->status;
    if (!value->lent)
        segments_free(params, value);
    value->number = 0;
    value->segments = joined;
    value->segments_count = all;
    value->list_count += count;
    value->rows = rows;
    value->lent = false;
    value->given = value->present = value->range = true;
    return PE_OK;
}

double *pe_params_list_extend(struct pe_params *params, size_t index, size_t rows, size_t count,
                              struct pe_error *err)
{
    double *to;

    if (rows > 0 && rows_check(params, index, rows, count / rows, err))
        return NULL;
    to = list_extend(params, index, NULL, 0, count, err);
    if (to)
        params->values[index].rows = rows;
    return to;
}

void pe_params_list_cut(struct pe_params *params, size_t index, size_t count)
{
    struct pe_value *value = &params->values[index];

    value->list_count -= count;
    pe_work_release(params->work, count * sizeof(*value->list));
}

enum pe_status pe_params_set_rows(struct pe_params *params, size_t index, const double *list,
                                  size_t rows, size_t columns, struct pe_error *err)
{
    if (rows_check(params, index, rows, columns, err) ||
        pe_params_set_list(params, index, list, rows * columns, err))
        return err->status;
    params->values[index].rows = rows;
    return PE_OK;
}

enum pe_status pe_params_lend_list(struct pe_params *params, size_t index, const double *list,
                                   size_t rows, size_t columns, struct pe_error *err)
{
    if (rows > 0 ? rows_check(params, index, rows, columns, err)
                 : pe_param_index_check(params, index, err))
        return err->status;
    const size_t count = rows > 0 ? rows * columns : columns;
    struct pe_value *value = &params->values[index];
    if (value->given)
        return pe_params_set_list(params, index, list, count, err);
    if (list_check(params, index, list, count, count, err))
        return err->status;
    value->list = (double *)(uintptr_t)list; /* a borrowed list is never written to */
    value->list_count = count;
    value->rows = rows;
    value->given = value->present = value->lent = true;
    return PE_OK;
}

/* ---- all parameters ------------------------------------------------------------------------- */

enum pe_status pe_params_finish(struct pe_params *params, struct pe_error *err)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct pe_param *param = &params->list[i];
        struct pe_value *value = &params->values[i];

        if (value->present)
            continue;
        if (param->required)
            return pe_fail_missing(err, param);
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

enum pe_status pe_params_set_value(struct pe_params *params, size_t index,
                                   const struct pe_param *param, const struct pe_value *value,
                                   struct pe_error *err)
{
    char choice[32];

    if (value->segments)
        return pe_params_add_segments(params, index, value->rows, value->segments,
                                      value->segments_count, err);
    if (value->range)
        return pe_params_set_range(params, index, value->number, value->list_count, err);
    if (value->lent)
        return pe_params_lend_list(params, index, value->list, value->rows,
                                   value->list_count / (value->rows > 0 ? value->rows : 1), err);
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
    /* A number that is no index, such as NaN, is the invalid choice "". */
    pe_choice_name(param,
                   value->number >= 0 && value->number < INT_MAX ? (size_t)value->number : SIZE_MAX,
                   choice, sizeof(choice));
    return pe_params_set_text(params, index, choice, err);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* The segment of an element of the list. */
static size_t segment_of(const struct pe_value *value, size_t index)
{
    size_t low = 0, high = value->segments_count - 1;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (index < value->segments[middle].end)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The difference of the elements of a segment and their indices in the list. */
static double segment_offset(const struct pe_value *value, size_t segment)
{
    return value->segments[segment].first -
           (segment > 0 ? (double)value->segments[segment - 1].end : 0);
}

double pe_value_at(const struct pe_value *value, size_t index)
{
    if (!value || index >= value->list_count)
        return 0;
    if (value->segments)
        return segment_offset(value, segment_of(value, index)) + (double)index;
    return value->range ? value->number + (double)index : value->list[index];
}

/* Writes the elements from `begin` to `end` of a list stored as ranges. */
static void ranges_expand(const struct pe_value *value, size_t begin, size_t end, double *out)
{
    size_t segment = value->segments ? segment_of(value, begin) : 0;

    for (size_t i = begin; i < end; segment++) {
        const double offset = value->segments ? segment_offset(value, segment) : value->number;
        const size_t last = value->segments ? value->segments[segment].end : end;
        for (; i < end && i < last; i++)
            out[i] = offset + (double)i;
    }
}

enum pe_status pe_value_expand(const struct pe_value *value, double *out, struct pe_work *work,
                               struct pe_error *err)
{
    enum { BLOCK = 1 << 18 }; /* elements between two checks of the work */

    if (!value || (value->list_count > 0 && !out))
        return pe_fail(err, PE_INVALID, "", "pe_value_expand takes a value and memory for it");
    for (size_t begin = 0; begin < value->list_count; begin += BLOCK) {
        const size_t left = value->list_count - begin, count = left < BLOCK ? left : BLOCK;
        if (pe_work_spend(work, count, err))
            return err->status;
        if (value->range)
            ranges_expand(value, begin, begin + count, out);
        else
            memcpy(out + begin, value->list + begin, count * sizeof(*out));
    }
    return PE_OK;
}

/* ---- getters -------------------------------------------------------------------------------- */

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

int pe_param_choice(const struct pe_params *params, const char *name)
{
    return (int)pe_param_number(params, name);
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

bool pe_params_forgive(struct pe_params *params, const struct pe_error *err)
{
    const char *colon = strchr(err->where, ':');
    const int index = colon ? pe_params_find(params, colon + 1) : -1;
    struct pe_error ignored = {0};
    struct pe_params fresh;
    struct pe_value *value;

    if (err->status != PE_CONFLICT || index < 0)
        return false;
    value = &params->values[index];
    if (!value->given || value->text || value->list || !params->list[index].fallback)
        return false;
    pe_params_init(&fresh, &params->list[index], 1);
    if (pe_params_finish(&fresh, &ignored) || fresh.values[0].number != value->number)
        return false;
    *value = (struct pe_value){0};
    return true;
}
