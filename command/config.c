/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "command/catalogue.h"

/* Prints what a config says for people: a line for each kind of layer, and each tower. */

static void value_print(const json_t *value)
{
    if (json_is_string(value))
        printf("%s", json_string_value(value));
    else
        json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
}

/* "dim=128 base=10000": all but names and where they came from. Long lists are counted. */
static void pairs_print(json_t *object)
{
    json_t *value;
    const char *key;

    json_object_foreach(object, key, value)
    {
        if (strcmp(key, "name") == 0 || strcmp(key, "provenance") == 0)
            continue;
        printf(" %s=", key);
        if (json_array_size(value) > 8)
            printf("(%zu values)", json_array_size(value));
        else if (json_is_object(value))
            value_print(json_object_get(value, "kind"));
        else
            value_print(value);
    }
}

/* "0..4 6..10": numbers in runs. */
static void runs_print(const json_t *numbers)
{
    const size_t count = json_array_size(numbers);

    for (size_t i = 0, from = 0; i < count; i++) {
        const json_int_t at = json_integer_value(json_array_get(numbers, i));
        const json_int_t next = json_integer_value(json_array_get(numbers, i + 1));
        if (i + 1 < count && next == at + 1)
            continue;
        printf(" %lld", (long long)json_integer_value(json_array_get(numbers, from)));
        if (from < i)
            printf("..%lld", (long long)at);
        from = i + 1;
    }
}

static void encoding_put(const json_t *row)
{
    json_t *encoding = json_object_get(row, "encoding");

    if (json_is_object(encoding)) {
        printf(" %s", cmd_member(encoding, "name"));
        pairs_print(encoding);
    } else if (json_object_get(row, "reason")) {
        printf(" not read: %s", cmd_member(row, "reason"));
    } else {
        printf(" no positions");
    }
}

static void layers_print(const json_t *row)
{
    const char *type = cmd_member(row, "layer_type");

    printf("%s", *type ? type : "layers");
    runs_print(json_object_get(row, "layers"));
    printf(":");
    if (json_is_null(json_object_get(row, "attention")))
        printf(" no attention");
    else
        encoding_put(row);
    printf("\n");
    if (json_object_size(json_object_get(row, "attention")) > 0) {
        printf("    attention:");
        pairs_print(json_object_get(row, "attention"));
        printf("\n");
    }
}

static void readers_print(json_t *readers)
{
    json_t *engines, *told;
    const char *key, *engine;

    json_object_foreach(readers, key, engines)
    {
        json_object_foreach(engines, engine, told)
        {
            printf("%s in %s: %s\n", key, engine, cmd_member(told, "reads"));
        }
    }
}

void cmd_encoding_print(const json_t *answer)
{
    const json_t *encoding = json_object_get(answer, "encoding");

    printf("%s", cmd_member(encoding, "name"));
    pairs_print((json_t *)encoding);
    putchar('\n');
}

void cmd_warnings_print(const json_t *answer)
{
    const json_t *warning;
    size_t index;

    json_array_foreach(json_object_get(answer, "warnings"), index, warning)
    {
        const json_t *detail = json_object_get(warning, "detail");
        printf("warning: %s\n", json_string_value(detail ? detail : warning));
    }
}

void cmd_config_print(const json_t *answer)
{
    const json_t *rows = json_object_get(answer, "layers"), *row;
    size_t index;

    json_array_foreach(rows, index, row) layers_print(row);
    if (!rows)
        layers_print(answer);
    json_array_foreach(json_object_get(answer, "towers"), index, row)
    {
        printf("%s (%s):", cmd_member(row, "part"), cmd_member(row, "model_type"));
        encoding_put(row);
        printf("\n");
    }
    readers_print(json_object_get(answer, "readers"));
    cmd_warnings_print(answer);
}
