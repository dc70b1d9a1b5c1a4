/* SPDX-License-Identifier: MIT */
#include "api/memory/arena.h"

#include <stdio.h>
#include <string.h>

#include "api/base/locale.h"

char *api_arena_copy(struct api_arena *arena, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = api_arena_text(arena, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

char *api_arena_print(struct api_arena *arena, const char *format, ...)
{
    char here[256], *text = NULL;
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = api_vprint(here, sizeof(here), format, args);
    if (length >= 0)
        text = api_arena_text(arena, (size_t)length + 1);
    if (text && (size_t)length < sizeof(here))
        memcpy(text, here, (size_t)length);
    else if (text)
        api_vprint(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
