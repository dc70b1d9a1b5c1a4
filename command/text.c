/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

void cmd_say(const char *format, ...)
{
    va_list args;

    fputs("posenc: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void cmd_text_add(struct cmd_text *text, const void *bytes, size_t size)
{
    if (text->room - text->size <= size) {
        text->room = 2 * (text->size + size) + 64;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes) {
            cmd_say("memory is short");
            exit(CMD_TOO_LARGE);
        }
    }
    if (size > 0)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

void cmd_text_put(struct cmd_text *text, const char *string)
{
    cmd_text_add(text, string, strlen(string));
}

void cmd_text_escape(struct cmd_text *text, const char *string)
{
    for (const char *c = string; *c; c++) {
        char escaped[4];
        const bool plain = isalnum((unsigned char)*c) || strchr("-._~,:", *c);
        const int size = snprintf(escaped, sizeof(escaped), plain ? "%c" : "%%%02X",
                                  plain ? *c : (int)(unsigned char)*c);
        cmd_text_add(text, escaped, (size_t)size);
    }
}

void cmd_text_free(struct cmd_text *text)
{
    free(text->bytes);
    *text = (struct cmd_text){0};
}

void cmd_ask_param(struct cmd_ask *ask, const char *name, const char *value)
{
    cmd_text_put(&ask->target, strchr(ask->target.bytes, '?') ? "&" : "?");
    cmd_text_escape(&ask->target, name);
    cmd_text_put(&ask->target, "=");
    cmd_text_escape(&ask->target, value);
}
