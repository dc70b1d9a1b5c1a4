/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command/command.h"

/* ---- parameters ------------------------------------------------------------------------------ */

/* Reads a file as a text, without the end of its last line. */
static enum cmd_exit file_read(const char *path, struct cmd_text *text)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char piece[4096];
    size_t size;

    while (file && (size = fread(piece, 1, sizeof(piece), file)) > 0)
        cmd_text_add(text, piece, size);
    if (!file || ferror(file)) {
        cmd_say("%s: %s", path, strerror(errno));
        return CMD_FILES;
    }
    if (file != stdin)
        fclose(file);
    cmd_text_put(text, "");
    while (text->size > 0 && text->bytes[text->size - 1] == '\n')
        text->bytes[--text->size] = '\0';
    return CMD_DONE;
}

static enum cmd_exit file_param_add(struct cmd_request *request, const char *name, const char *path)
{
    struct cmd_text text = {0};
    const enum cmd_exit code = file_read(path, &text);

    if (!code)
        cmd_request_param(request, name, text.bytes);
    cmd_text_free(&text);
    return code;
}

/* A value that begins with @ names a file that holds it. */
static enum cmd_exit params_add(const struct cmd_line *line, struct cmd_request *request)
{
    enum cmd_exit code = CMD_DONE;

    for (size_t i = 0; !code && i < line->params_count; i++) {
        const struct pe_field *param = &line->params[i];
        if (*param->value == '@')
            code = file_param_add(request, param->name, param->value + 1);
        else
            cmd_request_param(request, param->name, param->value);
    }
    return !code && line->config ? file_param_add(request, "config", line->config) : code;
}

static bool has_param(const struct cmd_line *line, const char *name)
{
    for (size_t i = 0; i < line->params_count; i++)
        if (strcmp(line->params[i].name, name) == 0)
            return true;
    return false;
}

/* ---- formats --------------------------------------------------------------------------------- */

/* npy of "a/b.npy"; "" where there is none. */
static const char *suffix_of(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');

    return dot ? dot + 1 : "";
}

char *cmd_media_type(struct cmd *cmd, const char *path)
{
    enum cmd_exit code;
    json_t *about = *suffix_of(path) ? cmd_document(cmd, "GET", "/v1", &code) : NULL, *format;
    const char *name, *type = NULL;
    char *found = NULL;
    size_t index;

    json_array_foreach(json_object_get(about, "formats"), index, format)
    {
        name = json_string_value(json_object_get(format, "name"));
        if (name && strcmp(name, suffix_of(path)) == 0)
            type = json_string_value(json_object_get(format, "media_type"));
    }
    if (type)
        found = strdup(type);
    json_decref(about);
    return found;
}

static void field_add(struct cmd_request *request, const char *name, const char *value)
{
    if (value)
        request->fields[request->fields_count++] = (struct pe_field){name, value};
}

/* Suffixes of number files of other programs, for which JSON is not expected. */
static bool is_foreign(const char *suffix)
{
    static const char *const foreign[] = {"npz", "pt",   "pth", "bin",  "pkl",     "pickle",
                                          "h5",  "hdf5", "mat", "gguf", "parquet", "arrow"};

    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (strcasecmp(suffix, foreign[i]) == 0)
            return true;
    return false;
}

static enum cmd_exit foreign_refuse(struct cmd *cmd, const char *path)
{
    enum cmd_exit code;
    json_t *about = cmd_document(cmd, "GET", "/v1", &code), *format;
    struct cmd_text names = {0};
    size_t index;

    json_array_foreach(json_object_get(about, "formats"), index, format)
    {
        cmd_text_put(&names, index > 0 ? ", " : "");
        cmd_text_put(&names, json_string_value(json_object_get(format, "name")));
    }
    if (about)
        cmd_say("%s: .%s is none of the formats: %s; with format=NAME any file name will do", path,
                suffix_of(path), names.bytes);
    cmd_text_free(&names);
    json_decref(about);
    return about ? CMD_USAGE : code;
}

/* Sets Content-Type and Accept by the names of the files, unless the command line gives them. */
static enum cmd_exit formats_set(struct cmd *cmd, struct cmd_request *request)
{
    const struct cmd_line *line = cmd->line;
    const bool is_given = has_param(line, "format") || line->fields_count > 0;

    for (size_t i = 0; i < line->fields_count; i++)
        request->fields[request->fields_count++] = line->fields[i];
    if (request->body_path && strcmp(request->body_path, "-") != 0)
        field_add(request, "Content-Type", request->type = cmd_media_type(cmd, request->body_path));
    if (line->output && !has_param(line, "format"))
        field_add(request, "Accept", request->accept = cmd_media_type(cmd, line->output));
    if (line->output && !is_given && !request->accept && is_foreign(suffix_of(line->output)))
        return foreign_refuse(cmd, line->output);
    return CMD_DONE;
}

/* ---- commands -------------------------------------------------------------------------------- */

static enum cmd_exit usage(const char *word, const char *what)
{
    cmd_say("%s %s (posenc --help lists what there is)", word, what);
    return CMD_USAGE;
}

/* The path of a command, with the name of an encoding in it; or the typed target. */
static void target_put(struct cmd_request *request, const char *pattern, const char *name)
{
    const char *hole = strstr(pattern, "{name}");

    if (!*pattern) {
        cmd_text_put(&request->target, *name == '/' ? "" : "/");
        cmd_text_put(&request->target, name);
        return;
    }
    cmd_text_add(&request->target, pattern, hole ? (size_t)(hole - pattern) : strlen(pattern));
    if (!hole)
        return;
    cmd_text_escape(&request->target, name);
    cmd_text_put(&request->target, hole + strlen("{name}"));
}

/* Reads the arguments after the word: a name for the target, and a file. */
static enum cmd_exit names_read(const struct cmd *cmd, const struct cmd_word *word,
                                struct cmd_request *request)
{
    const struct cmd_line *line = cmd->line;
    const bool named = !cmd->encoding && (word->takes == CMD_ENCODING || word->takes == CMD_TARGET);
    /* POST and PUT */
    const bool reads =
        word->takes == CMD_BODY || (word->takes == CMD_TARGET && *word->method == 'P');
    const size_t files = reads || word->takes == CMD_ENCODING || word->takes == CMD_MAYBE;

    if (line->names_count < named)
        return usage(word->name, word->takes == CMD_TARGET ? "takes a path: /v1/encodings"
                                                           : "takes the name of an encoding");
    if (line->names_count > named + files)
        return usage(line->names[named + files], "is one argument too many");
    target_put(request, word->target, cmd->encoding ?: named ? line->names[0] : "");
    request->method = word->method;
    if (line->names_count > named)
        request->body_path = line->names[named];
    else if (reads && isatty(STDIN_FILENO))
        return usage(word->name, "takes a file, or - for the standard input");
    else if (reads)
        request->body_path = "-";
    if (request->body_path && strcmp(word->method, "GET") == 0)
        request->method = "POST";
    return CMD_DONE;
}

/* Is the command lint or extend? */
static bool has_own_flags(const struct cmd_word *word)
{
    return word && (word->takes == CMD_CONFIGS || word->takes == CMD_EXTENSION);
}

/* Makes the request of a command. */
static enum cmd_exit word_run(struct cmd *cmd, const struct cmd_word *word)
{
    struct cmd_request request = {0};
    enum cmd_exit code = word->takes == CMD_OPERANDS    ? cmd_compare(cmd, word, &request)
                         : word->takes == CMD_TWO_FILES ? cmd_check(cmd, word, &request)
                         : word->takes == CMD_CONFIGS   ? cmd_lint(cmd, word, &request)
                         : word->takes == CMD_EXTENSION ? cmd_extend(cmd, word, &request)
                                                        : names_read(cmd, word, &request);

    if (!code && word->takes != CMD_OPERANDS && !has_own_flags(word))
        code = params_add(cmd->line, &request);
    if (!code)
        code = formats_set(cmd, &request);
    if (!has_own_flags(word))
        request.is_for_people = !cmd->line->json && !cmd->line->output &&
                                !has_param(cmd->line, "format") && cmd->line->fields_count == 0 &&
                                isatty(STDOUT_FILENO);
    if (!code)
        code = cmd_request_run(cmd, &request);
    cmd_text_free(&request.target);
    cmd_text_free(&request.body);
    free(request.type);
    free(request.accept);
    return code;
}

static enum cmd_exit unknown(const char *word, const char *what, const json_t *operations)
{
    const char *near = cmd_word_near(word, operations);

    cmd_say("Unknown command '%s'%s%s%s%s (posenc --help lists the commands)", word, what,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return CMD_USAGE;
}

/* Any other word is looked up among the views of the encoding that follows it. */
static enum cmd_exit view_run(struct cmd *cmd)
{
    const struct cmd_line *line = cmd->line;
    struct cmd_word word = {.name = line->word, .method = "GET", .takes = CMD_ENCODING};
    json_t *encoding, *view;
    enum cmd_exit code = CMD_DONE;
    size_t index;

    if (line->names_count == 0 && !cmd->encoding)
        return unknown(line->word, "", NULL);
    encoding = cmd_encoding(cmd, cmd->encoding ?: line->names[0], &code);
    json_array_foreach(json_object_get(encoding, "operations"), index, view)
    {
        const char *name = json_string_value(json_object_get(view, "name"));
        if (name && strcmp(name, line->word) == 0)
            word.target = json_string_value(json_object_get(view, "href"));
    }
    if (word.target)
        code = word_run(cmd, &word);
    else if (!code)
        code = unknown(line->word, ", and no view of this encoding has this name",
                       json_object_get(encoding, "operations"));
    json_decref(encoding);
    return code;
}

/* The name of the encoding in the line's config, for the caller to free; NULL: a message was
 * printed, and *code is set. */
static char *config_encoding(struct cmd *cmd, enum cmd_exit *code)
{
    const struct cmd_line *line = cmd->line;
    struct cmd_request request = {0};
    json_t *report = NULL;
    char *found = NULL;

    cmd_text_put(&request.target, "/v1/config");
    *code = file_param_add(&request, "config", line->config);
    /* Some classes of diffusers need the size of the latents. */
    const bool sized = !*code && strstr(request.target.bytes, "_class_name");
    for (size_t i = 0; i < line->params_count; i++)
        if (strcmp(line->params[i].name, "layer_type") == 0 ||
            (sized && (strcmp(line->params[i].name, "height") == 0 ||
                       strcmp(line->params[i].name, "width") == 0)))
            cmd_request_param(&request, line->params[i].name, line->params[i].value);
    if (!*code)
        report = cmd_document(cmd, "POST", request.target.bytes, code);
    const char *name =
        json_string_value(json_object_get(json_object_get(report, "encoding"), "name"));
    if (name)
        found = strdup(name);
    else if (report)
        *code = usage(line->word, "takes the name of an encoding, or a layer_type: the layers of "
                                  "this config differ");
    json_decref(report);
    cmd_text_free(&request.target);
    return found;
}

static enum cmd_exit dispatch(struct cmd *cmd)
{
    const struct cmd_line *line = cmd->line;
    const struct cmd_word *word = cmd_word_find(line->word);
    const char *name = line->names_count > 0 ? line->names[0] : NULL;
    enum cmd_exit code = CMD_DONE;

    if (strcmp(line->word, "help") == 0)
        return name ? cmd_help(cmd, name) : (cmd_usage_print(stdout), CMD_DONE);
    if (strcmp(line->word, "generate") == 0)
        return cmd_generate(cmd, name ? name : "");
    if (line->config && !name && (!word || word->takes == CMD_ENCODING))
        cmd->encoding = config_encoding(cmd, &code);
    if (code)
        return code;
    if ((line->engines || line->against || line->format) && !has_own_flags(word)) {
        cmd_say("--for, --against and --format are flags of lint and extend; a parameter is "
                "written format=VALUE");
        return CMD_USAGE;
    }
    if ((line->to || line->type) && (!word || word->takes != CMD_EXTENSION)) {
        cmd_say("--to and --type are flags of extend; a parameter is written to=VALUE");
        return CMD_USAGE;
    }
    if (!word)
        return view_run(cmd);
    if (strcmp(word->name, "encodings") == 0 && !line->output)
        return cmd_encodings(cmd);
    return word_run(cmd, word);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void log_say(void *context, const char *sentence)
{
    const struct cmd *cmd = context;

    if (!cmd->line->quiet)
        cmd_say("%s", sentence);
}

static enum cmd_exit serve(const struct cmd_line *line)
{
    struct cmd_monitor monitor;
    struct cmd cmd = {.line = line, .monitor = &monitor};
    const struct pe_service_options options = {
        .size = sizeof(options),
        .settings = line->settings,
        .settings_count = line->settings_count,
        .log = log_say,
        .context = &cmd,
    };
    struct pe_error err = {0};
    enum cmd_exit code;

    cmd_monitor_start(&monitor, line->quiet);
    if (pe_service_new(&cmd.service, &options, &err)) {
        cmd_say("%s%s", strncmp(err.where, "setting:", 8) == 0 ? "--" : "", err.detail);
        code = err.status == PE_OUT_OF_MEMORY ? CMD_TOO_LARGE
               : err.status == PE_INTERNAL    ? CMD_FILES
                                              : CMD_USAGE;
    } else {
        code = dispatch(&cmd);
    }
    cmd_monitor_end(&monitor);
    free(cmd.encoding);
    pe_service_free(cmd.service);
    return code;
}

int main(int argc, char **argv)
{
    struct cmd_line line;
    enum cmd_exit code = CMD_DONE;

    if (!cmd_line_read(&line, argc, argv))
        code = CMD_USAGE;
    else if (line.version)
        printf("posenc %s\n", pe_version());
    else if (line.help)
        cmd_usage_print(stdout);
    else if (line.word)
        code = serve(&line);
    else {
        cmd_usage_print(stderr);
        code = CMD_USAGE;
    }
    cmd_line_free(&line);
    /* A verdict says that the answer is written. */
    if (fflush(stdout) != 0 && (code == CMD_DONE || code == CMD_WRONG)) {
        cmd_say("standard output: %s", strerror(errno));
        code = CMD_FILES;
    }
    return code;
}
