/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/fail.h"
#include "core/base/memory.h"
#include "core/base/params.h"
#include "core/base/text.h"

/* Values of parameters from text. */

/* ---- one value ------------------------------------------------------------------------------ */

/* Letters that people write for each other in the names of choices. */
static char letter_fold(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return (char)(letter - 'A' + 'a');
    return letter == '-' || letter == ' ' ? '_' : letter;
}

/* Is `text` one of the spellings of a choice, "half=neox=rotate_half", but for such letters? */
static bool is_spelling(struct pe_name spellings, const char *text)
{
    const size_t size = strlen(text);

    for (const char *at = spellings.at, *end = at + spellings.size; at < end;) {
        const char *next = memchr(at, '=', (size_t)(end - at)) ?: end;
        size_t same = 0;
        while (same < size && at + same < next && letter_fold(at[same]) == letter_fold(text[same]))
            same++;
        if (same == size && at + same == next)
            return true;
        at = next + 1;
    }
    return false;
}

static enum pe_status choice_set(struct pe_params *params, size_t index, const char *text,
                                 struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    const char *choices = pe_param_choices(param);
    struct pe_name name;

    for (size_t choice = 0; pe_text_next(&choices, ',', &name); choice++)
        if (is_spelling(name, text))
            return pe_param_store(params, index, (double)choice, err);
    char detail[200];
    snprintf(detail, sizeof(detail), "%s; got '%.40s'", pe_param_choices(param), text);
    return pe_param_fail(err, PE_INVALID, param, "%s must be one of %s", detail);
}

static enum pe_status boolean_set(struct pe_params *params, size_t index, const char *text,
                                  struct pe_error *err)
{
    if (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0)
        return pe_param_store(params, index, 1, err);
    if (strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return pe_param_store(params, index, 0, err);
    return pe_param_fail(err, PE_INVALID, &params->list[index],
                         "%s must be true or false, got '%.60s'", text);
}

static enum pe_status range_expand(struct pe_params *params, size_t index, double first,
                                   double last, struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    const double span = fabs(last - first);

    if (first != floor(first) || last != floor(last))
        return pe_param_fail(err, PE_INVALID, param,
                             "the ends of a range of %s must be whole numbers%s", "");
    if (last < first)
        return pe_param_fail(err, PE_INVALID, param, "a range of %s must not run backwards%s", "");
    if (!(span < (double)PE_PARAM_LIST_MAX))
        return pe_param_fail(err, PE_TOO_LARGE, param,
                             "a range of %s has more than 16777216 elements%s; "
                             "use start, step and length",
                             "");
    return pe_params_set_range(params, index, first, (size_t)span + 1, err);
}

static enum pe_status list_refuse(const struct pe_param *param, const char *text,
                                  struct pe_error *err)
{
    return pe_param_fail(err, PE_INVALID, param,
                         param->type == PE_RANGES
                             ? "%s must be numbers or ranges (0..3 is 0,1,2,3), separated by "
                               "commas, got '%.60s'"
                             : "%s must be numbers separated by commas, got '%.60s'",
                         text);
}

/* One number, or a range. */
static enum pe_status element_set(struct pe_params *params, size_t index, const char **at,
                                  const char *text, struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    double first, last;

    if (!pe_text_number(at, &first))
        return list_refuse(param, text, err);
    if (param->type != PE_RANGES || (*at)[0] != '.' || (*at)[1] != '.')
        return pe_params_set_list(params, index, &first, 1, err);
    *at += 2;
    if (!pe_text_number(at, &last))
        return pe_param_fail(err, PE_INVALID, param, "a range of %s lacks its end in '%.60s'",
                             text);
    return range_expand(params, index, first, last, err);
}

/* Brackets around a list, and blanks in it, are as people print lists: "[0, 1, 2]". */
static enum pe_status list_set(struct pe_params *params, size_t index, const char *text,
                               struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    const char *at = text + strspn(text, " ");
    const char close = *at == '[' ? ']' : *at == '(' ? ')' : '\0';

    if (close)
        at += 1 + strspn(at + 1, " ");
    while (*at && *at != close) {
        if (element_set(params, index, &at, text, err))
            return err->status;
        at += strspn(at, " ");
        if (*at == ',' && at[1] != '\0')
            at += 1 + strspn(at + 1, " ");
        else if (*at != close)
            return list_refuse(param, text, err);
    }
    if (close && (*at != close || at[1]))
        return list_refuse(param, text, err);
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
        pe_param_fail(err, PE_OUT_OF_MEMORY, param, "no memory for the elements of %s%s", "");
    for (char *row; !err->status && (row = strsep(&rest, ";"));) {
        const size_t before = flat.values[0].list_count;
        if (list_set(&flat, 0, row, err))
            break;
        columns = rows++ == 0 ? flat.values[0].list_count : columns;
        if (flat.values[0].list_count - before != columns)
            pe_param_fail(err, PE_SHAPE_MISMATCH, param, "%s must have rows of one length%s", "");
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
        return pe_param_fail(err, PE_CONFLICT, param, "%s is given twice: %s", both);
    }
    if (!value->text) {
        value->text = pe_memory_take(params->work, strlen(text) + 1, 1, param->name, err);
        if (!value->text)
            return err->status;
        strcpy(value->text, text);
    }
    value->given = value->present = true;
    return PE_OK;
}

enum pe_status pe_params_set_text(struct pe_params *params, size_t index, const char *text,
                                  struct pe_error *err)
{
    const char *at = text;
    double number;

    if (pe_param_index_check(params, index, err))
        return err->status;
    const struct pe_param *param = &params->list[index];
    switch (param->type) {
    case PE_NUMBER:
    case PE_INTEGER:
        if (!pe_text_number(&at, &number) || *at)
            return pe_param_fail(
                err, PE_INVALID, param,
                at > text ? "%s must be a number, without separators or units, got '%.60s'"
                          : "%s must be a number, got '%.60s'",
                text);
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

/* ---- several -------------------------------------------------------------------------------- */

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

/* ---- and back ------------------------------------------------------------------------------- */

/* A doc of one sentence loses its full stop. */
enum pe_status pe_param_missing(struct pe_error *err, const struct pe_param *param)
{
    char what[240];
    const int length = snprintf(what, sizeof(what), "%s", param->doc);

    if (length > 0 && (size_t)length < sizeof(what) && what[length - 1] == '.' &&
        !strstr(what, ". "))
        what[length - 1] = '\0';
    if (what[0] >= 'A' && what[0] <= 'Z')
        what[0] = (char)(what[0] - 'A' + 'a');
    return pe_param_fail(err, PE_MISSING, param, "%s is required: %s", what);
}

size_t pe_choice_name(const struct pe_param *param, size_t index, char *out, size_t size)
{
    const char *choices = pe_param_choices(param);
    struct pe_name name = {"", 0};

    for (size_t i = 0; i <= index; i++)
        if (!pe_text_next(&choices, ',', &name))
            return (size_t)snprintf(out, size, "%s", "");
    return (size_t)snprintf(out, size, "%.*s", (int)strcspn(name.at, ",="), name.at);
}
