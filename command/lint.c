/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"

/* posenc lint FILE --for ENGINES --against FILE --format text|json|sarif: the request of one
 * config, or of two, as the text of their files, so that lines of keys are those of the file. */

enum { FILE_MAX = 64 << 20 };

enum cmd_exit cmd_file_add(struct cmd_text *text, const char *path)
{
    const bool is_input = strcmp(path, "-") == 0;
    const int file = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char bytes[1 << 13];
    ssize_t size = file < 0 ? -1 : 0;
    size_t total = 0;

    while (file >= 0 && total <= FILE_MAX && (size = read(file, bytes, sizeof(bytes))) > 0) {
        cmd_text_add(text, bytes, (size_t)size);
        total += (size_t)size;
    }
    if (size < 0)
        cmd_say("%s: %s", path, strerror(errno));
    else if (total > FILE_MAX)
        cmd_say("%s: a config has at most %d MiB", path, FILE_MAX >> 20);
    if (file > STDIN_FILENO)
        close(file);
    return size < 0 ? CMD_FILES : total > FILE_MAX ? CMD_TOO_LARGE : CMD_DONE;
}

static enum cmd_exit usage(const char *sentence)
{
    cmd_say("lint %s (posenc help lint)", sentence);
    return CMD_USAGE;
}

/* "text", "json" or "sarif"; NULL: a message was printed. */
static const char *format_of(const struct cmd_line *line)
{
    const char *usual = line->json || line->output ? "json" : "text";
    const char *format = line->format ? line->format : usual;

    if (strcmp(format, "json") == 0 || strcmp(format, "sarif") == 0)
        return format;
    if (strcmp(format, "text") != 0) {
        usage("takes --format text, json or sarif");
        return NULL;
    }
    if (line->output) {
        usage("writes json or sarif to a file; text goes to the standard output");
        return NULL;
    }
    return format;
}

static bool is_given(const struct cmd_line *line, const char *name)
{
    for (size_t i = 0; i < line->params_count; i++)
        if (strcmp(line->params[i].name, name) == 0)
            return true;
    return false;
}

static enum cmd_exit body_make(const struct cmd_line *line, const char *path, struct cmd_text *body)
{
    enum cmd_exit code;

    cmd_text_put(body, "{\"config\":");
    code = cmd_file_add(body, path);
    if (!code && line->against) {
        cmd_text_put(body, ",\"against\":");
        code = cmd_file_add(body, line->against);
    }
    cmd_text_put(body, "}");
    return code;
}

enum cmd_exit cmd_lint(struct cmd *cmd, const struct cmd_word *word, struct cmd_request *request)
{
    const struct cmd_line *line = cmd->line;
    const char *path = line->names_count > 0 ? line->names[0] : "-";
    const char *format = format_of(line);

    if (!format)
        return CMD_USAGE;
    if (line->names_count > 1)
        return usage("takes one config; --against names the other");
    if (line->config)
        return usage("takes the file itself, and no --config");
    if (strcmp(path, "-") == 0 && (isatty(STDIN_FILENO) || line->against))
        return usage("takes a config.json; - is the standard input, where nothing is --against");
    request->method = word->method;
    cmd_text_put(&request->target, word->target);
    if (line->engines)
        cmd_request_param(request, "for", line->engines);
    if (!is_given(line, "file"))
        cmd_request_param(request, "file", strcmp(path, "-") == 0 ? "config.json" : path);
    if (strcmp(format, "sarif") == 0)
        cmd_request_param(request, "report", format);
    for (size_t i = 0; i < line->params_count; i++)
        cmd_request_param(request, line->params[i].name, line->params[i].value);
    request->fields[request->fields_count++] =
        (struct pe_field){"Content-Type", "application/json"};
    request->is_for_people = strcmp(format, "text") == 0;
    return body_make(line, path, &request->body);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* "config.json:12: mlx-lm 0.32.2: sentence" */
static void line_print(const char *file, json_int_t line, const char *name, const char *version,
                       const char *sentence)
{
    printf("%s:", file);
    if (line > 0)
        printf("%" JSON_INTEGER_FORMAT ":", line);
    printf(" %s%s%s: %s\n", name, *version ? " " : "", version, sentence);
}

static void findings_print(const char *file, const json_t *row, const char *name)
{
    const char *version = cmd_member(row, "version"), *verdict = cmd_member(row, "verdict");
    const json_t *finding;
    char sentence[1200];
    size_t index;

    json_array_foreach(json_object_get(row, "findings"), index, finding)
    {
        const json_t *evidence = json_object_get(finding, "evidence");
        snprintf(sentence, sizeof(sentence), "%s%s%s%s%s%s", cmd_member(finding, "message"),
                 evidence ? " [measured: " : "", cmd_member(evidence, "config"),
                 evidence ? ", " : "", cmd_member(evidence, "rope"), evidence ? "]" : "");
        line_print(file, json_integer_value(json_object_get(finding, "line")), name, version,
                   sentence);
    }
    if (index > 0)
        return;
    snprintf(sentence, sizeof(sentence), "%s%s%s", verdict, *cmd_member(row, "reason") ? ": " : "",
             cmd_member(row, "reason"));
    line_print(file, 0, name, version, sentence);
}

void cmd_lint_print(json_t *answer)
{
    const char *file = cmd_member(answer, "file");
    const json_t *against = json_object_get(answer, "against"), *row;
    size_t index;

    json_array_foreach(json_object_get(answer, "engines"), index, row)
        findings_print(file, row, cmd_member(row, "engine"));
    if (against)
        findings_print(file, against, "against");
}

enum cmd_exit cmd_lint_verdict(const json_t *answer)
{
    const json_t *run = json_array_get(json_object_get(answer, "runs"), 0);
    const char *verdict = run ? cmd_member(json_object_get(run, "properties"), "verdict")
                              : cmd_member(answer, "verdict");

    if (strcmp(verdict, "same") == 0)
        return CMD_DONE;
    return strcmp(verdict, "differs") == 0 ? CMD_WRONG : CMD_REFUSED;
}
