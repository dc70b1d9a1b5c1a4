/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "command/catalogue.h"

/* The tensors of an answer as short tables on a terminal: of a long axis the first and the last
 * items, with an ellipsis between them. */

enum { COLUMN = 11, NAME_MAX = 64, VALUE_MAX = 200 };

/* How many items of an axis are shown at its ends, where there are more than `most`. */
struct ends {
    size_t most, first, last;
};

static const struct ends of_rows = {8, 4, 3}, of_tables = {3, 1, 1};

/* The index behind the i-th that is shown; *gap: items are left out between them. */
static size_t next_shown(struct ends ends, size_t i, size_t count, bool *gap)
{
    *gap = count > ends.most && i + 1 == ends.first;
    return *gap ? count - ends.last : i + 1;
}

static void item_print(const json_t *item)
{
    if (json_is_string(item)) /* Infinity, NaN */
        printf("%*s", COLUMN, json_string_value(item));
    else if (json_is_boolean(item))
        printf("%*s", COLUMN, json_is_true(item) ? "true" : "false");
    else if (json_is_integer(item))
        printf("%*" JSON_INTEGER_FORMAT, COLUMN, json_integer_value(item));
    else
        printf("%*.5g", COLUMN, json_number_value(item));
}

static void row_print(const json_t *row)
{
    const size_t count = json_array_size(row);
    bool gap;

    for (size_t i = 0; i < count;) {
        item_print(json_array_get(row, i));
        i = next_shown(of_rows, i, count, &gap);
        if (gap)
            fputs(" ...", stdout);
    }
    putchar('\n');
}

static bool is_row(const json_t *data)
{
    return !json_is_array(json_array_get(data, 0));
}

/* Rows of an axis, each behind its index. */
static void rows_print(const json_t *data)
{
    const size_t count = json_array_size(data);
    bool gap;

    for (size_t i = 0; i < count;) {
        printf("%8zu ", i);
        row_print(json_array_get(data, i));
        i = next_shown(of_rows, i, count, &gap);
        if (gap)
            puts("     ...");
    }
}

/* The tables of more than two axes, each below the indices of the others. */
static void data_print(const json_t *data, const char *indices)
{
    const size_t count = json_array_size(data);
    char next[NAME_MAX];
    bool gap;

    if (is_row(json_array_get(data, 0))) {
        if (*indices)
            printf("  [%s]\n", indices);
        rows_print(data);
        return;
    }
    for (size_t i = 0; i < count;) {
        snprintf(next, sizeof(next), "%s%s%zu", indices, *indices ? ", " : "", i);
        data_print(json_array_get(data, i), next);
        i = next_shown(of_tables, i, count, &gap);
        if (gap)
            puts("  ...");
    }
}

static void tensor_print(const char *name, const json_t *tensor)
{
    const json_t *data = json_object_get(tensor, "data"), *size;
    size_t index;

    printf("%s: %s [", name, cmd_member(tensor, "dtype"));
    json_array_foreach(json_object_get(tensor, "shape"), index, size)
        printf("%s%" JSON_INTEGER_FORMAT, index > 0 ? ", " : "", json_integer_value(size));
    printf("]\n");
    if (!json_is_array(data)) {
        item_print(data);
        putchar('\n');
    } else if (is_row(data)) {
        printf("%9s", "");
        row_print(data);
    } else {
        data_print(data, "");
    }
}

/* What an answer has beside tensors, where it is short. */
static void others_print(json_t *answer)
{
    static const char *const printed[] = {"encoding", "tensors", "warnings"};
    char text[VALUE_MAX];
    const char *key;
    json_t *value;

    json_object_foreach(answer, key, value)
    {
        const size_t size = json_dumpb(value, text, sizeof(text),
                                       JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        bool is_other = size > 0 && size <= sizeof(text);
        for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); i++)
            is_other = is_other && strcmp(key, printed[i]) != 0;
        if (is_other)
            printf("%s: %.*s\n", key, (int)size, text);
    }
}

bool cmd_tables_print(json_t *answer)
{
    json_t *tensors = json_object_get(answer, "tensors"), *tensor;
    const char *name;

    json_object_foreach(tensors, name, tensor) if (!json_object_get(tensor, "data")) return false;
    if (json_object_size(tensors) == 0)
        return false;
    if (json_object_get(answer, "encoding"))
        cmd_encoding_print(answer);
    others_print(answer);
    json_object_foreach(tensors, name, tensor) tensor_print(name, tensor);
    cmd_warnings_print(answer);
    printf("(-o FILE writes the complete answer, format=json prints it)\n");
    return true;
}
