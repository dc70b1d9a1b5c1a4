/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* An argument on its way: a flag's value may stand in the next one. */
struct reading {
    struct cmd_line *line;
    char **argv;
    int argc, at;
};

static const char *setting_name(const char *text, size_t length)
{
    for (size_t i = 0; pe_service_setting(i); i++) {
        const char *name = pe_service_setting(i)->name;
        if (strlen(name) == length && strncmp(name, text, length) == 0)
            return name;
    }
    return NULL;
}

/* Cuts "name=value" in argv, where a program may write. */
static void param_add(struct cmd_line *line, char *text)
{
    char *equals = strchr(text, '=');

    *equals = '\0';
    line->params[line->params_count++] = (struct pe_field){text, equals + 1};
}

/* A name of a parameter: what else has a = in it is a file. */
static bool is_param(const char *text)
{
    size_t length = 0;

    while (isalnum((unsigned char)text[length]) || strchr("_.-", text[length]))
        if (text[length++] == '\0')
            return false;
    return text[length] == '=' && (isalpha((unsigned char)*text) || *text == '_');
}

static bool field_add(struct cmd_line *line, char *text)
{
    char *colon = strchr(text, ':');

    if (!colon || colon == text || line->fields_count == CMD_FIELDS_MAX) {
        cmd_say("-H takes NAME:TEXT, up to %d times, got '%.60s'", CMD_FIELDS_MAX, text);
        return false;
    }
    *colon = '\0';
    line->fields[line->fields_count++] =
        (struct pe_field){text, colon + 1 + strspn(colon + 1, " \t")};
    return true;
}

/* ---- flags ----------------------------------------------------------------------------------- */

enum flag_kind {
    FLAG_OUTPUT,
    FLAG_CONFIG,
    FLAG_HEADER,
    FLAG_QUIET,
    FLAG_JSON,
    FLAG_HELP,
    FLAG_VERSION
};

static const struct {
    const char *name, *letter;
    enum flag_kind kind;
    bool has_value;
} flags[] = {
    {"--output", "-o", FLAG_OUTPUT, true},  {"--config", "", FLAG_CONFIG, true},
    {"--header", "-H", FLAG_HEADER, true},  {"--quiet", "-q", FLAG_QUIET, false},
    {"--json", "", FLAG_JSON, false},       {"--help", "-h", FLAG_HELP, false},
    {"--version", "", FLAG_VERSION, false},
};

enum { FLAGS = sizeof(flags) / sizeof(flags[0]) };

static bool flag_apply(struct cmd_line *line, enum flag_kind kind, char *value)
{
    switch (kind) {
    case FLAG_OUTPUT:
        line->output = strcmp(value, "-") == 0 ? NULL : value;
        return true;
    case FLAG_CONFIG:
        line->config = value;
        return true;
    case FLAG_HEADER:
        return field_add(line, value);
    case FLAG_QUIET:
        return line->quiet = true;
    case FLAG_JSON:
        return line->json = true;
    case FLAG_HELP:
        return line->help = true;
    case FLAG_VERSION:
        return line->version = true;
    }
    return false;
}

/* The value behind a flag: "--name=value", "-ovalue", or the next argument. NULL: a sentence was
 * printed. */
static char *value_of(struct reading *reading, char *rest)
{
    if (*rest)
        return rest + (*rest == '=');
    if (reading->at + 1 < reading->argc)
        return reading->argv[++reading->at];
    cmd_say("%s needs a value", reading->argv[reading->at]);
    return NULL;
}

static bool setting_add(struct reading *reading, char *text)
{
    struct cmd_line *line = reading->line;
    const size_t length = strcspn(text + 2, "=");
    const char *name = setting_name(text + 2, length);
    const char *value;

    if (strncmp(text, "--", 2) != 0) {
        cmd_say("there is no flag '%.60s' (--help lists what there is)", text);
        return false;
    }
    if (!name) {
        cmd_say("there is no flag '%.60s' (--help lists what there is); a parameter is written "
                "%.*s=VALUE",
                text, (int)(length < 60 ? length : 60), text + 2);
        return false;
    }
    value = value_of(reading, text + 2 + length);
    if (value)
        line->settings[line->settings_count++] = (struct pe_setting){name, value};
    return value;
}

static bool flag_read(struct reading *reading, char *text)
{
    for (size_t i = 0; i < FLAGS; i++) {
        const bool is_long = strncmp(text, "--", 2) == 0;
        const char *name = is_long ? flags[i].name : flags[i].letter;
        const size_t length = strlen(name);
        char *value = text;
        if (length == 0 || strncmp(text, name, length) != 0)
            continue;
        if (text[length] != '\0' && (!flags[i].has_value || (is_long && text[length] != '=')))
            continue;
        if (flags[i].has_value && !(value = value_of(reading, text + length)))
            return false;
        return flag_apply(reading->line, flags[i].kind, value);
    }
    return setting_add(reading, text);
}

/* ---- the line -------------------------------------------------------------------------------- */

static void word_read(struct cmd_line *line, char *text)
{
    if (!line->word)
        line->word = text;
    else if (is_param(text))
        param_add(line, text);
    else
        line->names[line->names_count++] = text;
}

bool cmd_line_read(struct cmd_line *line, int argc, char **argv)
{
    struct reading reading = {line, argv, argc, 1};
    const size_t most = (size_t)argc + 1;
    bool flags_end = false;

    *line = (struct cmd_line){
        .names = calloc(most, sizeof(*line->names)),
        .params = calloc(most, sizeof(*line->params)),
        .settings = calloc(most, sizeof(*line->settings)),
    };
    if (!line->names || !line->params || !line->settings) {
        cmd_say("memory is short");
        return false;
    }
    for (; reading.at < argc; reading.at++) {
        char *text = argv[reading.at];
        if (!flags_end && strcmp(text, "--") == 0)
            flags_end = true;
        else if (flags_end || *text != '-' || text[1] == '\0')
            word_read(line, text);
        else if (!flag_read(&reading, text))
            return false;
    }
    return true;
}

void cmd_line_free(struct cmd_line *line)
{
    free(line->names);
    free(line->params);
    free(line->settings);
}
