/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "command/catalogue.h"

/* posenc encodings, posenc help NAME. */

/* "operations" of the service are called views here, as everywhere. */
static void views_list(const json_t *encoding)
{
    size_t index;
    json_t *view;

    json_array_foreach(json_object_get(encoding, "operations"), index, view)
        printf("%s%s", index > 0 ? " " : "", cmd_member(view, "name"));
}

enum cmd_exit cmd_encodings(struct cmd *cmd)
{
    struct cmd_ask ask = {0};
    json_t *list, *encoding;
    enum cmd_exit code;
    size_t index;

    if (cmd->line->names_count > 0) {
        cmd_say("encodings takes no name (posenc help %s tells of one)", cmd->line->names[0]);
        return CMD_USAGE;
    }
    cmd_text_put(&ask.target, "/v1/encodings");
    for (size_t i = 0; i < cmd->line->params_count; i++)
        cmd_ask_param(&ask, cmd->line->params[i].name, cmd->line->params[i].value);
    list = cmd_document(cmd, "GET", ask.target.bytes, &code);
    json_array_foreach(json_object_get(list, "encodings"), index, encoding)
    {
        printf("%-16s%-10s%s\n%26s", cmd_member(encoding, "name"), cmd_member(encoding, "family"),
               cmd_member(encoding, "title"), "");
        views_list(encoding);
        putchar('\n');
    }
    json_decref(list);
    cmd_text_free(&ask.target);
    return code;
}

static void param_show(void *context, const char *name, const json_t *schema, bool required)
{
    (void)context;
    printf("  %s=\n      ", name);
    cmd_schema_print(schema, required, stdout);
    putchar('\n');
}

static const struct cmd_visitor shower = {param_show, NULL};

/* "dim=4 length=3" of an example's query. */
static void example_show(const json_t *view, const char *encoding)
{
    const char *query = strchr(cmd_member(view, "example"), '?');

    if (!query)
        return;
    printf("  for instance: posenc %s %s ", cmd_member(view, "name"), encoding);
    for (query++; *query; query++)
        putchar(*query == '&' ? ' ' : *query);
    putchar('\n');
}

/* Parameters that only a view has, beside those of its encoding. */
static void view_show(const json_t *view, const char *encoding)
{
    const json_t *params = json_object_get(view, "parameters");
    const char *name;
    json_t *schema;

    printf("\nposenc %s %s: %s\n ", cmd_member(view, "name"), encoding, cmd_member(view, "title"));
    json_object_foreach(json_object_get(params, "properties"), name, schema) printf(" %s=", name);
    putchar('\n');
    example_show(view, encoding);
}

static enum cmd_exit encoding_help(struct cmd *cmd, const char *name)
{
    enum cmd_exit code;
    json_t *encoding = cmd_encoding(cmd, name, &code), *view;
    size_t index;

    if (!encoding)
        return code;
    printf("%s (%s): %s\n  %s\n  %s\n\n", cmd_member(encoding, "name"),
           cmd_member(encoding, "family"), cmd_member(encoding, "title"),
           cmd_member(encoding, "formula"), cmd_member(encoding, "reference"));
    cmd_schema_walk(json_object_get(encoding, "parameters"), &shower);
    json_array_foreach(json_object_get(encoding, "operations"), index, view)
        view_show(view, cmd_member(encoding, "name"));
    json_decref(encoding);
    return CMD_DONE;
}

/* ---- views and parameters -------------------------------------------------------------------- */

/* Where a name is used: {"what it is": ["rope", "posenc rotate"]}. */
struct uses {
    const char *name;
    const char *place; /* that is visited */
    json_t *found;
};

static void use_add(struct uses *uses, const char *text)
{
    json_t *places = json_object_get(uses->found, text), *place;
    size_t index;

    if (!places) {
        places = json_array();
        json_object_set_new(uses->found, text, places);
    }
    json_array_foreach(places, index,
                       place) if (strcmp(json_string_value(place), uses->place) == 0) return;
    json_array_append_new(places, json_string(uses->place));
}

static void param_use(void *context, const char *name, const json_t *schema, bool required)
{
    struct uses *uses = context;
    char *text = NULL;
    size_t size;
    FILE *out = strcmp(name, uses->name) == 0 ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    cmd_schema_print(schema, required, out);
    fclose(out);
    use_add(uses, text);
    free(text);
}

static void uses_print(const struct uses *uses, const char *title)
{
    const char *text;
    json_t *places, *place;
    size_t index;

    json_object_foreach(uses->found, text, places)
    {
        printf("%s\n      %s\n     ", title, text);
        json_array_foreach(places, index, place)
            printf("%s %s", index > 0 ? "," : "", json_string_value(place));
        putchar('\n');
    }
}

/* Encodings, their views, and commands with a parameter of this name. */
static bool parameter_help(struct cmd *cmd, const json_t *list, const char *name)
{
    struct uses uses = {.name = name, .found = json_object()};
    const struct cmd_visitor visitor = {param_use, &uses};
    struct cmd_text title = {0};
    json_t *encoding, *view, *contract;
    enum cmd_exit code;
    size_t i, j;

    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
    {
        uses.place = cmd_member(encoding, "name");
        cmd_schema_walk(json_object_get(encoding, "parameters"), &visitor);
        json_array_foreach(json_object_get(encoding, "operations"), j, view)
        {
            uses.place = cmd_member(view, "name");
            cmd_schema_walk(json_object_get(view, "parameters"), &visitor);
        }
    }
    contract = cmd_document(cmd, "GET", "/openapi.json", &code);
    for (i = 0; cmd_word_at(i); i++) {
        uses.place = cmd_word_at(i)->name;
        if (cmd_word_at(i)->takes != CMD_ENCODING)
            cmd_operation_walk(contract, cmd_operation(contract, cmd_word_at(i)), &visitor);
    }
    cmd_text_put(&title, name);
    cmd_text_put(&title, "=");
    uses_print(&uses, title.bytes);
    const bool is_known = json_object_size(uses.found) > 0;
    cmd_text_free(&title);
    json_decref(uses.found);
    json_decref(contract);
    return is_known;
}

/* Encodings with a view of this name. */
static bool view_help(const json_t *list, const char *name)
{
    struct uses uses = {.name = name, .found = json_object()};
    json_t *encoding, *view;
    size_t i, j;

    json_array_foreach(json_object_get(list, "encodings"), i, encoding)
    {
        uses.place = cmd_member(encoding, "name");
        json_array_foreach(json_object_get(encoding, "operations"), j, view)
        {
            if (strcmp(cmd_member(view, "name"), name) == 0)
                use_add(&uses, cmd_member(view, "title"));
        }
    }
    const bool is_known = json_object_size(uses.found) > 0;
    if (is_known)
        printf("posenc %s ENCODING [FILE] [name=value]...\n", name);
    uses_print(&uses, "");
    json_decref(uses.found);
    return is_known;
}

static bool is_encoding(const json_t *list, const char *name)
{
    json_t *encoding;
    size_t index;

    json_array_foreach(json_object_get(list, "encodings"), index,
                       encoding) if (strcmp(cmd_member(encoding, "name"), name) == 0) return true;
    return false;
}

/* A name that is no word. */
static enum cmd_exit other_help(struct cmd *cmd, const char *name)
{
    enum cmd_exit code;
    json_t *list = cmd_document(cmd, "GET", "/v1/encodings", &code);
    const bool is_known = list && !is_encoding(list, name) &&
                          (view_help(list, name) | parameter_help(cmd, list, name));

    json_decref(list);
    if (!list || is_known)
        return code;
    return encoding_help(cmd, name);
}

enum cmd_exit cmd_help(struct cmd *cmd, const char *name)
{
    const struct cmd_word *word = cmd_word_find(name);
    enum cmd_exit code;
    json_t *contract;
    const json_t *operation;

    if (!word)
        return other_help(cmd, name);
    printf("posenc %s %s\n  %s\n", word->name, word->arguments, word->doc);
    if (word->takes == CMD_TARGET)
        return CMD_DONE;
    if (word->takes == CMD_ENCODING) {
        printf("\nposenc help ENCODING lists its parameters.\n");
        return CMD_DONE;
    }
    contract = cmd_document(cmd, "GET", "/openapi.json", &code);
    operation = cmd_operation(contract, word);
    if (*cmd_member(operation, "description"))
        printf("\n%s\n", cmd_member(operation, "description"));
    cmd_operation_walk(contract, operation, &shower);
    json_decref(contract);
    return code;
}
