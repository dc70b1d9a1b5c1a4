/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/errors.h"
#include "core/base/params.h"
#include "core/base/text.h"
#include "core/base/work.h"

/* Values of parameters from text. */

/* ---- one value ------------------------------------------------------------------------------ */

/* Maps letters that are interchangeable in the names of choices to one of them. */
static char letter_fold(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return (char)(letter - 'A' + 'a');
    return letter == '-' || letter == ' ' ? '_' : letter;
}

/* Is `text` one of the spellings of a choice, "half=neox=rotate_half", up to letter_fold? */
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

/* A part of a list: a number, or the integers of a range. */
struct part {
    double first;
    size_t count;
    bool is_range;
};

static enum pe_status range_read(const struct pe_param *param, double first, double last,
                                 struct part *part, struct pe_error *err)
{
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
    *part = (struct part){first, (size_t)span + 1, true};
    return pe_param_number_check(param, first, err) ? err->status
                                                    : pe_param_number_check(param, last, err);
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

static enum pe_status part_read(const struct pe_param *param, const char **at, const char *text,
                                struct part *part, struct pe_error *err)
{
    double first, last;

    if (!pe_text_number(at, &first))
        return list_refuse(param, text, err);
    *part = (struct part){first, 1, false};
    if (param->type != PE_RANGES || (*at)[0] != '.' || (*at)[1] != '.')
        return pe_param_number_check(param, first, err);
    *at += 2;
    if (!pe_text_number(at, &last))
        return pe_param_fail(err, PE_INVALID, param, "a range of %s lacks its end in '%.60s'",
                             text);
    return range_read(param, first, last, part, err);
}

/* ---- counting the numbers of a text --------------------------------------------------------- */

/* How many numbers a part has, which ends before `end`. An invalid part counts as one. */
static size_t part_count(const char *at, const char *end, bool has_ranges)
{
    double first, last;

    at += strspn(at, " [(");
    if (at >= end || strchr(")]", *at))
        return 0;
    const char *dots = has_ranges ? memmem(at, (size_t)(end - at), "..", 2) : NULL;
    if (!dots || !pe_text_number(&at, &first) || at != dots)
        return 1;
    at += 2;
    if (!pe_text_number(&at, &last) || at + strspn(at, " )]") != end || !(last >= first) ||
        !(last - first < (double)PE_PARAM_LIST_MAX))
        return 1;
    return (size_t)(last - first) + 1;
}

/* How many numbers a list has, which ends before one of `ends` other than a comma, and its end. */
static size_t list_count(const char *text, const char *ends, bool has_ranges, const char **end)
{
    size_t count = 0;

    for (const char *at = text;; at = *end + 1) {
        *end = at + strcspn(at, ends);
        count += part_count(at, *end, has_ranges);
        if (count > PE_PARAM_LIST_MAX)
            count = PE_PARAM_LIST_MAX + 1;
        if (**end != ',')
            return count;
    }
}

size_t pe_ranges_count(const char *text)
{
    const char *at = text, *end;
    size_t count = 0;

    if (!text)
        return 0;
    do {
        count += list_count(at, ",;", true, &end);
        at = end + 1;
    } while (*end && count <= PE_PARAM_LIST_MAX);
    return count > PE_PARAM_LIST_MAX ? PE_PARAM_LIST_MAX + 1 : count;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* A list of at least SEGMENTS_MIN elements, and SEGMENT_ELEMENTS a segment, is stored as ranges, so
 * that it is not written out before it may be refused. */
enum { SEGMENTS_MIN = 4096, SEGMENT_ELEMENTS = 8 };

/* Where the numbers of a text are stored. Memory is allocated for their total count. */
struct list {
    struct pe_params *params;
    size_t index, rows;
    double *to;                  /* NULL: as segments */
    struct pe_segment *segments; /* NULL: written out */
    size_t parts, segments_count;
    size_t count, left;
    bool was_given; /* the list had elements before */
};

/* An upper bound of the parts of a text between commas and semicolons. */
static size_t parts_count(const char *text)
{
    size_t count = 1;

    for (text += strcspn(text, ",;"); *text; text += 1 + strcspn(text + 1, ",;"))
        count++;
    return count;
}

/* May a list be stored as ranges? A list that is given already must be stored so too. */
static bool stored_as_ranges(const struct pe_params *params, size_t index, size_t count,
                             size_t parts)
{
    const struct pe_value *value = &params->values[index];

    return params->list[index].type == PE_RANGES && (!value->given || value->range) &&
           count >= SEGMENTS_MIN && count / SEGMENT_ELEMENTS >= parts;
}

/* rows: as in pe_params_list_extend. */
static enum pe_status list_begin(struct list *list, struct pe_params *params, size_t index,
                                 size_t rows, size_t count, const char *text, struct pe_error *err)
{
    const size_t parts = parts_count(text);

    *list = (struct list){.params = params,
                          .index = index,
                          .rows = rows,
                          .parts = parts,
                          .count = count,
                          .left = count,
                          .was_given = params->values[index].given};
    if (stored_as_ranges(params, index, count, parts))
        list->segments = pe_memory_take(params->work, parts, sizeof(*list->segments),
                                        params->list[index].name, err);
    else
        list->to = pe_params_list_extend(params, index, rows, count, err);
    return list->to || list->segments ? PE_OK : err->status;
}

/* A flat list of one segment is a range. */
static enum pe_status segments_end(struct list *list, struct pe_error *err)
{
    if (!err->status && list->segments_count == 1 && list->rows == 0)
        pe_params_set_range(list->params, list->index, list->segments[0].first,
                            list->segments[0].end, err);
    else if (!err->status)
        pe_params_add_segments(list->params, list->index, list->rows, list->segments,
                               list->segments_count, err);
    pe_memory_give(list->params->work, list->segments, list->parts, sizeof(*list->segments));
    return err->status;
}

/* A refused text sets nothing. */
static enum pe_status list_end(struct list *list, struct pe_error *err)
{
    struct pe_value *value = &list->params->values[list->index];

    if (list->segments)
        return segments_end(list, err);
    pe_params_list_cut(list->params, list->index, err->status ? list->count : list->left);
    if (err->status && !list->was_given) {
        value->given = value->present = false;
        value->rows = 0;
    }
    return err->status;
}

/* A part that continues the last segment extends it. */
static void segment_store(struct list *list, const struct part *part)
{
    struct pe_segment *last =
        list->segments_count > 0 ? &list->segments[list->segments_count - 1] : NULL;
    const size_t begin = last && list->segments_count > 1 ? last[-1].end : 0;

    if (last && part->first == last->first + (double)(last->end - begin))
        last->end += part->count;
    else
        list->segments[list->segments_count++] =
            (struct pe_segment){part->first, (last ? last->end : 0) + part->count};
}

static enum pe_status part_store(struct list *list, const struct part *part, struct pe_error *err)
{
    const struct pe_value value = {.range = true, .number = part->first, .list_count = part->count};

    if (part->count > list->left)
        return pe_param_fail(err, PE_INTERNAL, &list->params->list[list->index],
                             "%s has more elements than were counted%s", "");
    list->left -= part->count;
    if (list->segments) {
        segment_store(list, part);
        return PE_OK;
    }
    if (part->is_range) {
        if (pe_value_expand(&value, list->to, list->params->work, err))
            return err->status;
    } else {
        *list->to = part->first;
    }
    list->to += part->count;
    return PE_OK;
}

/* Lists may have brackets and blanks: "[0, 1, 2]". */
static enum pe_status parts_store(struct list *list, const char *text, struct pe_error *err)
{
    const struct pe_param *param = &list->params->list[list->index];
    const char *at = text + strspn(text, " ");
    const char close = *at == '[' ? ']' : *at == '(' ? ')' : '\0';
    struct part part;

    if (close)
        at += 1 + strspn(at + 1, " ");
    while (*at && *at != close) {
        if (part_read(param, &at, text, &part, err))
            return err->status;
        at += strspn(at, " ");
        if (*at && *at != ',' && *at != close)
            return list_refuse(param, text, err);
        if (part_store(list, &part, err))
            return err->status;
        if (*at == ',' && at[1] != '\0')
            at += 1 + strspn(at + 1, " ");
        else if (*at != close)
            return list_refuse(param, text, err);
    }
    if (close && (*at != close || at[1]))
        return list_refuse(param, text, err);
    return PE_OK;
}

/* Is the text a single range? */
static bool range_alone(const struct pe_param *param, const char *text, struct part *part,
                        struct pe_error *err)
{
    const char *at = text;

    return param->type == PE_RANGES && strstr(text, "..") && !strchr(text, ',') &&
           !part_read(param, &at, text, part, err) && part->is_range && !*at;
}

static enum pe_status list_set(struct pe_params *params, size_t index, const char *text,
                               struct pe_error *err)
{
    struct pe_error ignored = {0};
    struct list list;
    struct part part;
    const char *end;

    if (range_alone(&params->list[index], text, &part, &ignored))
        return pe_params_set_range(params, index, part.first, part.count, err);
    const bool has_ranges = params->list[index].type == PE_RANGES;
    if (list_begin(&list, params, index, 0, list_count(text, ",", has_ranges, &end), text, err))
        return err->status;
    parts_store(&list, text, err);
    return list_end(&list, err);
}

/* The columns of a text with semicolons between rows; SIZE_MAX: rows differ. */
static size_t columns_count(const char *text, bool has_ranges, size_t *rows)
{
    size_t columns = 0;
    const char *end;

    *rows = 0;
    do {
        const size_t count = list_count(text, ",;", has_ranges, &end);
        if ((*rows)++ > 0 && count != columns)
            return SIZE_MAX;
        columns = count;
        text = end + 1;
    } while (*end);
    return columns;
}

/* Rows between semicolons, each a list of its own. */
static enum pe_status rows_set(struct pe_params *params, size_t index, const char *text,
                               struct pe_error *err)
{
    const struct pe_param *param = &params->list[index];
    const size_t size = strlen(text) + 1;
    size_t rows;
    const size_t columns = columns_count(text, param->type == PE_RANGES, &rows);
    struct list list;

    if (columns == SIZE_MAX)
        return pe_param_fail(err, PE_SHAPE_MISMATCH, param, "%s must have rows of one length%s",
                             "");
    if (columns > PE_PARAM_LIST_MAX / rows)
        return pe_param_fail(err, PE_TOO_LARGE, param, "%s has more than 16777216 elements%s", "");
    char *copy = pe_memory_take(params->work, size, 1, param->name, err), *rest = copy;
    if (!copy)
        return err->status;
    memcpy(copy, text, size);
    if (!list_begin(&list, params, index, rows, rows * columns, text, err)) {
        for (char *row; !err->status && (row = strsep(&rest, ";"));)
            parts_store(&list, row, err);
        if (!err->status && list.left > 0)
            pe_param_fail(err, PE_SHAPE_MISMATCH, param, "%s must have rows of one length%s", "");
        list_end(&list, err);
    }
    pe_memory_give(params->work, copy, size, 1);
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

/* ---- printing ------------------------------------------------------------------------------- */

/* The reason is the first sentence of the doc, without its full stop; a program's own parameter may
 * have none. */
enum pe_status pe_fail_missing(struct pe_error *err, const struct pe_param *param)
{
    if (!param->doc)
        return pe_param_fail(err, PE_MISSING, param, "%s is required%s", "");

    const char *end = strstr(param->doc, ". ");
    size_t length = end ? (size_t)(end - param->doc) : strlen(param->doc);
    char doc[240];

    if (!end && length > 0 && param->doc[length - 1] == '.')
        length--;
    snprintf(doc, sizeof(doc), "%.*s", (int)length, param->doc);
    if (doc[0] >= 'A' && doc[0] <= 'Z')
        doc[0] = (char)(doc[0] - 'A' + 'a');
    return pe_param_fail(err, PE_MISSING, param, "%s is required: %s", doc);
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
