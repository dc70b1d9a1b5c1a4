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

enum cmd_exit cmd_help(struct cmd *cmd, const char *name)
{
    const struct cmd_word *word = cmd_word_find(name);
    enum cmd_exit code;
    json_t *contract;
    const json_t *operation;

    if (!word)
        return encoding_help(cmd, name);
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
