/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command/watch.h"

/* ---- parameters ------------------------------------------------------------------------------ */

/* A whole file as a text, without the end of its last line. */
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

static enum cmd_exit file_param_add(struct cmd_ask *ask, const char *name, const char *path)
{
    struct cmd_text text = {0};
    const enum cmd_exit code = file_read(path, &text);

    if (!code)
        cmd_ask_param(ask, name, text.bytes);
    cmd_text_free(&text);
    return code;
}

/* A value that begins with @ is a file's. */
static enum cmd_exit params_add(const struct cmd_line *line, struct cmd_ask *ask)
{
    enum cmd_exit code = CMD_DONE;

    for (size_t i = 0; !code && i < line->params_count; i++) {
        const struct pe_field *param = &line->params[i];
        if (*param->value == '@')
            code = file_param_add(ask, param->name, param->value + 1);
        else
            cmd_ask_param(ask, param->name, param->value);
    }
    return !code && line->config ? file_param_add(ask, "config", line->config) : code;
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

static void field_add(struct cmd_ask *ask, const char *name, const char *value)
{
    if (value)
        ask->fields[ask->fields_count++] = (struct pe_field){name, value};
}

/* Endings of files of numbers that other programs write: under such a name nobody expects JSON. */
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

/* By the names of the files that come and go, unless the line says it itself. */
static enum cmd_exit formats_set(struct cmd *cmd, struct cmd_ask *ask)
{
    const struct cmd_line *line = cmd->line;
    const bool is_told = has_param(line, "format") || line->fields_count > 0;

    for (size_t i = 0; i < line->fields_count; i++)
        ask->fields[ask->fields_count++] = line->fields[i];
    if (ask->body_path && strcmp(ask->body_path, "-") != 0)
        field_add(ask, "Content-Type", ask->type = cmd_media_type(cmd, ask->body_path));
    if (line->output && !has_param(line, "format"))
        field_add(ask, "Accept", ask->accept = cmd_media_type(cmd, line->output));
    if (line->output && !is_told && !ask->accept && is_foreign(suffix_of(line->output)))
        return foreign_refuse(cmd, line->output);
    return CMD_DONE;
}

/* ---- words ----------------------------------------------------------------------------------- */

static enum cmd_exit usage(const char *word, const char *what)
{
    cmd_say("%s %s (posenc --help lists what there is)", word, what);
    return CMD_USAGE;
}

/* The path of a word, with the name of an encoding in it; or the target that was typed. */
static void target_put(struct cmd_ask *ask, const char *pattern, const char *name)
{
    const char *hole = strstr(pattern, "{name}");

    if (!*pattern) {
        cmd_text_put(&ask->target, *name == '/' ? "" : "/");
        cmd_text_put(&ask->target, name);
        return;
    }
    cmd_text_add(&ask->target, pattern, hole ? (size_t)(hole - pattern) : strlen(pattern));
    if (!hole)
        return;
    cmd_text_escape(&ask->target, name);
    cmd_text_put(&ask->target, hole + strlen("{name}"));
}

/* What stands behind the word: a name for its target, and a file. */
static enum cmd_exit names_read(const struct cmd *cmd, const struct cmd_word *word,
                                struct cmd_ask *ask)
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
    target_put(ask, word->target, cmd->encoding ?: named ? line->names[0] : "");
    ask->method = word->method;
    if (line->names_count > named)
        ask->body_path = line->names[named];
    else if (reads && isatty(STDIN_FILENO))
        return usage(word->name, "takes a file, or - for the standard input");
    else if (reads)
        ask->body_path = "-";
    if (ask->body_path && strcmp(word->method, "GET") == 0)
        ask->method = "POST";
    return CMD_DONE;
}

/* Asks what a word says. */
static enum cmd_exit word_run(struct cmd *cmd, const struct cmd_word *word)
{
    struct cmd_ask ask = {0};
    enum cmd_exit code =
        word->takes == CMD_SIDES ? cmd_compare(cmd, word, &ask) : names_read(cmd, word, &ask);

    if (!code && word->takes != CMD_SIDES)
        code = params_add(cmd->line, &ask);
    if (!code)
        code = formats_set(cmd, &ask);
    ask.is_for_people = !cmd->line->json && !cmd->line->output && !has_param(cmd->line, "format") &&
                        cmd->line->fields_count == 0 && isatty(STDOUT_FILENO);
    if (!code)
        code = cmd_ask_run(cmd, &ask);
    cmd_text_free(&ask.target);
    cmd_text_free(&ask.body);
    free(ask.type);
    free(ask.accept);
    return code;
}

static enum cmd_exit unknown(const char *word, const char *what, const json_t *operations)
{
    const char *near = cmd_word_near(word, operations);

    cmd_say("Unknown command '%s'%s%s%s%s (posenc --help lists the commands)", word, what,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return CMD_USAGE;
}

/* Any other word is looked for among the views of the encoding behind it. */
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

/* The name of the encoding that the line's config means, for the caller to free; NULL: a sentence
 * was printed, and *code set. */
static char *config_encoding(struct cmd *cmd, enum cmd_exit *code)
{
    const struct cmd_line *line = cmd->line;
    struct cmd_ask ask = {0};
    json_t *told = NULL;
    char *found = NULL;

    cmd_text_put(&ask.target, "/v1/config");
    *code = file_param_add(&ask, "config", line->config);
    for (size_t i = 0; i < line->params_count; i++)
        if (strcmp(line->params[i].name, "layer_type") == 0)
            cmd_ask_param(&ask, line->params[i].name, line->params[i].value);
    if (!*code)
        told = cmd_document(cmd, "POST", ask.target.bytes, code);
    const char *name =
        json_string_value(json_object_get(json_object_get(told, "encoding"), "name"));
    if (name)
        found = strdup(name);
    else if (told)
        *code = usage(line->word, "takes the name of an encoding, or a layer_type: the layers of "
                                  "this config differ");
    json_decref(told);
    cmd_text_free(&ask.target);
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
    if (!word)
        return view_run(cmd);
    if (word->takes == CMD_NOTHING && !line->output)
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
    struct cmd_watch watch;
    struct cmd cmd = {.line = line, .watch = &watch};
    const struct pe_service_options options = {
        .size = sizeof(options),
        .settings = line->settings,
        .settings_count = line->settings_count,
        .log = log_say,
        .context = &cmd,
    };
    struct pe_error err = {0};
    enum cmd_exit code;

    cmd_watch_start(&watch, line->quiet);
    if (pe_service_new(&cmd.service, &options, &err)) {
        cmd_say("%s%s", strncmp(err.where, "setting:", 8) == 0 ? "--" : "", err.detail);
        code = err.status == PE_OUT_OF_MEMORY ? CMD_TOO_LARGE
               : err.status == PE_INTERNAL    ? CMD_FILES
                                              : CMD_USAGE;
    } else {
        code = dispatch(&cmd);
    }
    cmd_watch_end(&watch);
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
    if (fflush(stdout) != 0 && !code) {
        cmd_say("standard output: %s", strerror(errno));
        code = CMD_FILES;
    }
    return code;
}
