/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "command/command.h"

/* posenc extend FILE --to POSITIONS --type yarn --for ENGINES --format text|json: the request of a
 * config, and its report. */

static enum cmd_exit usage(const char *sentence)
{
    cmd_say("extend %s (posenc help extend)", sentence);
    return CMD_USAGE;
}

enum cmd_exit cmd_extend(struct cmd *cmd, const struct cmd_word *word, struct cmd_request *request)
{
    const struct cmd_line *line = cmd->line;
    const char *path = line->names_count > 0 ? line->names[0] : "-";
    const char *format = line->format ? line->format : line->json || line->output ? "json" : "text";
    enum cmd_exit code;

    if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0)
        return usage("takes --format text or json");
    if (strcmp(format, "text") == 0 && line->output)
        return usage("writes json to a file; text goes to the standard output");
    if (line->names_count > 1)
        return usage("takes one config");
    if (line->config || line->against)
        return usage("takes the file itself, and neither --config nor --against");
    if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
        return usage("takes a config.json; - is the standard input");
    request->method = word->method;
    cmd_text_put(&request->target, word->target);
    if (line->to)
        cmd_request_param(request, "to", line->to);
    if (line->type)
        cmd_request_param(request, "type", line->type);
    if (line->engines)
        cmd_request_param(request, "for", line->engines);
    for (size_t i = 0; i < line->params_count; i++)
        cmd_request_param(request, line->params[i].name, line->params[i].value);
    request->fields[request->fields_count++] =
        (struct pe_field){"Content-Type", "application/json"};
    request->is_for_people = strcmp(format, "text") == 0;
    cmd_text_put(&request->body, "{\"config\":");
    code = cmd_file_add(&request->body, path);
    cmd_text_put(&request->body, "}");
    return code;
}

/* ---- the report ------------------------------------------------------------------------------ */

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* "28 layers of full_attention", "the layers" */
static void whose_print(const json_t *row)
{
    const size_t count = json_array_size(json_object_get(row, "layers"));
    const char *type = cmd_member(row, "layer_type");

    if (count > 0)
        printf("%zu layer%s", count, count == 1 ? "" : "s");
    else
        printf("the layers");
    printf("%s%s: ", *type ? " of " : "", type);
}

static void layers_print(const json_t *row)
{
    const json_t *factor = json_object_get(row, "attention_factor");

    whose_print(row);
    if (!json_is_true(json_object_get(row, "rotates"))) {
        printf("no positions; cached keys stay as they are\n");
        return;
    }
    printf("%.0f of %.0f pairs change", number_of(row, "pairs"), number_of(row, "of"));
    if (json_object_get(row, "first"))
        printf(" (%.0f to %.0f), by up to %.3g rad at position %.0f", number_of(row, "first"),
               number_of(row, "last"), number_of(row, "radians"), number_of(row, "at"));
    if (number_of(factor, "before") != number_of(factor, "after"))
        printf("; attention factor %.6g to %.6g", number_of(factor, "before"),
               number_of(factor, "after"));
    if (strcmp(cmd_member(row, "cache"), "scaled") == 0)
        printf("; cached keys need the factor\n");
    else
        printf("; cached keys are %s\n", cmd_member(row, "cache"));
}

static void form_print(const char *number, const json_t *form)
{
    if (!json_is_object(json_object_get(form, "patch"))) {
        printf("\nno patch in the form of transformers %s: %s\n", number,
               cmd_member(form, "reason"));
        return;
    }
    printf("\npatch in the form of transformers %s:\n", number);
    json_dumpf(json_object_get(form, "patch"), stdout, JSON_INDENT(2));
    printf("\n");
}

static void engine_print(const json_t *row)
{
    const json_t *verdict, *finding;
    const char *number, *command = cmd_member(row, "command");
    size_t index;

    printf("\n%s %s: %s%s\n", cmd_member(row, "engine"), cmd_member(row, "version"),
           *command ? "the unpatched model with " : "the patched config", command);
    json_object_foreach((json_t *)json_object_get(row, "forms"), number, verdict)
    {
        printf("  form %s: %s%s%s\n", number, cmd_member(verdict, "verdict"),
               *cmd_member(verdict, "reason") ? ": " : "", cmd_member(verdict, "reason"));
        json_array_foreach(json_object_get(verdict, "findings"), index, finding)
            printf("    %s\n", cmd_member(finding, "message"));
    }
}

void cmd_extend_print(json_t *answer)
{
    json_t *row, *form;
    const char *number;
    size_t index;

    printf("%s, factor %.6g: from %.0f to %.0f positions\n", cmd_member(answer, "type"),
           number_of(answer, "factor"), number_of(answer, "from"), number_of(answer, "to"));
    json_array_foreach(json_object_get(answer, "layers"), index, row) layers_print(row);
    json_object_foreach(json_object_get(answer, "forms"), number, form) form_print(number, form);
    json_array_foreach(json_object_get(answer, "engines"), index, row) engine_print(row);
    printf("\n%s\n", cmd_member(answer, "note"));
}

/* Does an engine rotate otherwise, or refuse the config, in every form? */
static bool is_wrong(const json_t *engine)
{
    const json_t *verdict;
    const char *number;
    size_t count = 0;

    json_object_foreach((json_t *)json_object_get(engine, "forms"), number, verdict)
    {
        const char *name = cmd_member(verdict, "verdict");
        if (strcmp(name, "same") == 0 || strcmp(name, "not-measured") == 0)
            return false;
        count++;
    }
    return count > 0;
}

enum cmd_exit cmd_extend_verdict(const json_t *answer)
{
    const json_t *row;
    size_t index;

    json_array_foreach(json_object_get(answer, "engines"), index,
                       row) if (is_wrong(row)) return CMD_WRONG;
    return CMD_DONE;
}
