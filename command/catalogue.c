/* SPDX-License-Identifier: MIT */
#include "command/catalogue.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *cmd_member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool list_has(const json_t *list, const char *name)
{
    size_t index;
    json_t *item;

    json_array_foreach(list, index, item)
    {
        const char *text = json_string_value(item);
        if (text && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

void cmd_schema_walk(const json_t *object, const struct cmd_visitor *visitor)
{
    const json_t *required = json_object_get(object, "required");
    const char *name;
    json_t *schema;

    json_object_foreach(json_object_get(object, "properties"), name, schema)
        visitor->visit(visitor->context, name, schema, list_has(required, name));
}

/* ---- the contract ---------------------------------------------------------------------------- */

/* What "#/components/parameters/dim" refers to; anything else is itself. */
static const json_t *resolved(const json_t *contract, const json_t *value)
{
    const char *at = cmd_member(value, "$ref");
    const json_t *found = *at ? contract : value;

    while (*at) {
        char key[128];
        size_t length;
        at += strspn(at, "#/");
        length = strcspn(at, "/");
        snprintf(key, sizeof(key), "%.*s", (int)length, at);
        found = json_object_get(found, key);
        at += length;
    }
    return found;
}

const json_t *cmd_operation(const json_t *contract, const struct cmd_word *word)
{
    const json_t *path =
        json_object_get(json_object_get(contract, "paths"), word->target ? word->target : "");
    char method[16] = "";

    for (size_t i = 0; word->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)tolower((unsigned char)word->method[i]);
    return json_object_get(path, method);
}

void cmd_operation_walk(const json_t *contract, const json_t *operation,
                        const struct cmd_visitor *visitor)
{
    size_t index;
    json_t *item;

    json_array_foreach(json_object_get(operation, "parameters"), index, item)
    {
        const json_t *param = resolved(contract, item);
        const json_t *schema = resolved(contract, json_object_get(param, "schema"));
        json_t *whole = json_copy((json_t *)schema);
        if (whole && *cmd_member(param, "description"))
            json_object_set(whole, "description", json_object_get(param, "description"));
        if (whole && strcmp(cmd_member(param, "in"), "query") == 0)
            visitor->visit(visitor->context, cmd_member(param, "name"), whole,
                           json_is_true(json_object_get(param, "required")));
        json_decref(whole);
    }
}

/* ---- in words -------------------------------------------------------------------------------- */

/* The fewest digits that read back. */
static void real_print(double value, FILE *out)
{
    char text[32];
    double read;
    int digits = 0;

    do {
        snprintf(text, sizeof(text), "%.*g", ++digits, value);
        pe_from_text(&read, PE_F64, text, strlen(text));
    } while (read != value && digits < 17);
    fputs(text, out);
}

static void value_print(const json_t *value, FILE *out)
{
    if (json_is_string(value))
        fprintf(out, "%s", json_string_value(value));
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        real_print(json_real_value(value), out);
    else if (json_is_boolean(value))
        fprintf(out, "%s", json_is_true(value) ? "true" : "false");
}

static void choices_print(const json_t *schema, FILE *out)
{
    size_t index;
    json_t *choice;

    json_array_foreach(json_object_get(schema, "enum"), index, choice)
    {
        fputs(index > 0 ? " | " : "", out);
        value_print(choice, out);
    }
}

static void range_print(const json_t *schema, FILE *out)
{
    static const struct {
        const char *key, *before;
    } bounds[] = {{"minimum", " from "}, {"exclusiveMinimum", " above "}, {"maximum", " to "}};

    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (json_object_get(schema, bounds[i].key)) {
            fputs(bounds[i].before, out);
            value_print(json_object_get(schema, bounds[i].key), out);
        }
}

void cmd_schema_print(const json_t *schema, bool required, FILE *out)
{
    const char *type = cmd_member(schema, "type");

    if (json_object_get(schema, "enum"))
        choices_print(schema, out);
    else if (strcmp(type, "boolean") == 0)
        fputs("true | false", out);
    else if (strcmp(type, "array") == 0)
        fputs("numbers with commas between them", out);
    else
        fputs(strcmp(type, "integer") == 0  ? "a whole number"
              : strcmp(type, "number") == 0 ? "a number"
                                            : "a text",
              out);
    range_print(schema, out);
    if (json_object_get(schema, "default")) {
        fputs(", by default ", out);
        value_print(json_object_get(schema, "default"), out);
    } else if (required) {
        fputs(", required", out);
    }
    if (*cmd_member(schema, "description"))
        fprintf(out, ": %s", cmd_member(schema, "description"));
}
