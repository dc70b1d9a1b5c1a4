/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* ---- commands -------------------------------------------------------------------------------- */

static const struct cmd_word words[] = {
#define WORD(name, method, target, takes, arguments, doc)                                          \
    {name, method, target, CMD_##takes, arguments, doc},
#include "command/commands.def"
#undef WORD
};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

const struct cmd_word *cmd_word_at(size_t index)
{
    return index < WORDS ? &words[index] : NULL;
}

const struct cmd_word *cmd_word_find(const char *name)
{
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].name, name) == 0)
            return &words[i];
    return NULL;
}

/* The edit distance of two words; LONG for long ones. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONG = 32 };
    size_t row[LONG + 1];
    const size_t length = strlen(b);

    if (strlen(a) > LONG || length > LONG)
        return LONG;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            const size_t replaced = corner + (a[i - 1] != b[j - 1]);
            const size_t inserted = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = inserted < replaced ? inserted : replaced;
        }
    }
    return row[length];
}

const char *cmd_word_near(const char *typed, const json_t *operations)
{
    const size_t words_and_views = WORDS + json_array_size(operations);
    size_t least = strlen(typed) / 3 + 2;
    const char *near = NULL;

    for (size_t i = 0; i < words_and_views; i++) {
        const json_t *view = i < WORDS ? NULL : json_array_get(operations, i - WORDS);
        const char *name = view ? json_string_value(json_object_get(view, "name")) : words[i].name;
        if (name && edit_distance(typed, name) < least) {
            near = name;
            least = edit_distance(typed, name);
        }
    }
    return near;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* The argument that is parsed; a flag's value may be the next one. */
struct parsing {
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

/* Is it name=value? Other texts with a = are file names. */
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
#define FLAG(kind, name, letter, value, doc) FLAG_##kind,
#include "command/flags.def"
#undef FLAG
};

/* By kind. */
static const struct cmd_flag flags[] = {
#define FLAG(kind, name, letter, value, doc) {name, letter, value, doc},
#include "command/flags.def"
#undef FLAG
};

enum { FLAGS = sizeof(flags) / sizeof(flags[0]) };

const struct cmd_flag *cmd_flag_at(size_t index)
{
    return index < FLAGS ? &flags[index] : NULL;
}

static bool flag_apply(struct cmd_line *line, enum flag_kind kind, char *value)
{
    switch (kind) {
    case FLAG_OUTPUT:
        line->output = strcmp(value, "-") == 0 ? NULL : value;
        return true;
    case FLAG_CONFIG:
        line->config = value;
        return true;
    case FLAG_ENGINES:
        line->engines = value;
        return true;
    case FLAG_AGAINST:
        line->against = value;
        return true;
    case FLAG_FORMAT:
        line->format = value;
        return true;
    case FLAG_TO:
        line->to = value;
        return true;
    case FLAG_TYPE:
        line->type = value;
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

/* The value of a flag: "--name=value", "-ovalue", or the next argument. NULL: a message was
 * printed. */
static char *value_of(struct parsing *parsing, char *rest)
{
    if (*rest)
        return rest + (*rest == '=');
    if (parsing->at + 1 < parsing->argc)
        return parsing->argv[++parsing->at];
    cmd_say("%s needs a value", parsing->argv[parsing->at]);
    return NULL;
}

static bool setting_add(struct parsing *parsing, char *text)
{
    struct cmd_line *line = parsing->line;
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
    value = value_of(parsing, text + 2 + length);
    if (value)
        line->settings[line->settings_count++] = (struct pe_setting){name, value};
    return value;
}

static bool flag_read(struct parsing *parsing, char *text)
{
    for (size_t i = 0; i < FLAGS; i++) {
        const bool is_long = strncmp(text, "--", 2) == 0, has_value = *flags[i].value;
        const char *name = is_long ? flags[i].name : flags[i].letter;
        char *rest = text + (is_long ? 2 : 1), *value = text;
        const size_t length = strlen(name);
        if (length == 0 || strncmp(rest, name, length) != 0)
            continue;
        rest += length;
        if (*rest && (!has_value || (is_long && *rest != '=')))
            continue;
        if (has_value && !(value = value_of(parsing, rest)))
            return false;
        return flag_apply(parsing->line, (enum flag_kind)i, value);
    }
    return setting_add(parsing, text);
}

/* ---- the command line ------------------------------------------------------------------------ */

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
    struct parsing parsing = {line, argv, argc, 1};
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
    for (; parsing.at < argc; parsing.at++) {
        char *text = argv[parsing.at];
        if (!flags_end && strcmp(text, "--") == 0)
            flags_end = true;
        else if (flags_end || *text != '-' || text[1] == '\0')
            word_read(line, text);
        else if (!flag_read(&parsing, text))
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
