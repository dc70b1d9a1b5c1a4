/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "command/command.h"

static const struct cmd_word words[] = {
#define WORD(name, method, target, takes, arguments, doc)                                          \
    {name, method, target, CMD_##takes, arguments, doc},
#include "command/words.def"
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

/* How many letters are put in, left out or exchanged between two words; long ones are far. */
static size_t slips(const char *a, const char *b)
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
            const size_t exchanged = corner + (a[i - 1] != b[j - 1]);
            const size_t put = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = put < exchanged ? put : exchanged;
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
        if (name && slips(typed, name) < least) {
            near = name;
            least = slips(typed, name);
        }
    }
    return near;
}

void cmd_usage_print(FILE *out)
{
    static const struct {
        int code;
        const char *doc;
    } exits[] = {
#define EXIT(name, code, doc) {code, doc},
#include "command/exits.def"
#undef EXIT
    };

    fprintf(out, "posenc: positional encodings, exact\n\nusage: posenc WORD [argument]...\n\n");
    for (size_t i = 0; i < WORDS; i++)
        fprintf(out, "  %-12s%-33s%s\n", words[i].name, words[i].arguments, words[i].doc);
    fprintf(out, "  %-12s%-33s%s\n", "help", "[NAME]",
            "a command, an encoding, a view or a parameter");
    fprintf(out, "  %-12s%-33s%s\n", "VIEW", "ENCODING [FILE] [name=value]...",
            "any other view or analysis of an encoding: similarity");
    fprintf(out,
            "\nname=value is a parameter; name=@FILE takes its value from a file. FILE is a body\n"
            "(.npy, .safetensors, .json), - the standard input.\n\n"
            "  -o, --output FILE       written whole or not at all; its name decides the format\n"
            "      --config FILE       a model's config: config=@FILE\n"
            "  -H, --header NAME:TEXT  a header field of the request\n"
            "  -q, --quiet             neither progress nor warnings\n"
            "  -h, --help              this text\n"
            "      --version           the version\n\n"
            "settings of the service, as posencd has them:\n\n");
    for (size_t i = 0; pe_service_setting(i); i++) {
        const struct pe_setting_info *info = pe_service_setting(i);
        fprintf(out, "      --%-18s%s (%s)\n", info->name, info->doc,
                *info->fallback ? info->fallback : "none");
    }
    fprintf(out, "\nexit codes:\n\n");
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
        fprintf(out, "  %4d  %s\n", exits[i].code, exits[i].doc);
}
