/* SPDX-License-Identifier: MIT */
#include "api/numbers/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/system.h"
#include "api/numbers/print.h"

/* Shorter text is counted when it is complete, among the small pieces of its arena. */
enum { COUNTED_MIN = 32 << 10 };

/* Counts the part of a capacity that is not yet counted. False: it exceeds the budget. */
static bool capacity_count(struct api_text *text, struct api_arena *arena, size_t capacity)
{
    if (capacity < COUNTED_MIN)
        return true;
    if (!api_arena_count(arena, capacity - text->counted))
        return false;
    text->counted = capacity;
    return true;
}

void api_text_free(struct api_text *text)
{
    free(text->bytes);
    if (text->counted > 0)
        api_arena_uncount(text->arena, text->counted);
    *text = (struct api_text){.arena = text->arena};
}

static bool grow(struct api_text *text, size_t size)
{
    size_t capacity = text->capacity ? text->capacity : 256;
    char *bytes;

    if (text->failed || size > SIZE_MAX / 4 - text->size) {
        text->failed = true;
        return false;
    }
    while (capacity <= text->size + size)
        capacity *= 2;
    if (capacity == text->capacity)
        return true;
    bytes = text->arena && !capacity_count(text, text->arena, capacity)
                ? NULL
                : realloc(text->bytes, capacity);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void api_text_add(struct api_text *text, const void *bytes, size_t size)
{
    if (!grow(text, size))
        return;
    if (size > 0)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

void api_text_put(struct api_text *text, const char *string)
{
    api_text_add(text, string, strlen(string));
}

void api_text_print(struct api_text *text, const char *format, ...)
{
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = api_vprint(NULL, 0, format, args);
    if (length < 0)
        text->failed = true;
    else if (grow(text, (size_t)length + 1))
        text->size +=
            (size_t)api_vprint(text->bytes + text->size, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
}

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

/* Returns the length of the character at `at`; 0: none (overlong, surrogate, too large, cut). */
static size_t character_read(const unsigned char *at, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = at[0] < 0x80   ? 1
                          : at[0] < 0xc2 ? 0
                          : at[0] < 0xe0 ? 2
                          : at[0] < 0xf0 ? 3
                          : at[0] < 0xf5 ? 4
                                         : 0;
    uint32_t value = length > 1 ? at[0] & (0x7fu >> length) : at[0];

    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    if (value < least[length] || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff)
        return 0;
    *character = value;
    return length;
}

void api_text_sanitize_in_place(char *text)
{
    uint32_t character;

    for (char *at = text; *at;) {
        const size_t length = character_read((unsigned char *)at, &character);
        if (length == 0)
            *at = '?';
        at += length ? length : 1;
    }
}

char *api_text_sanitize(struct api_arena *arena, const char *foreign)
{
    char *text = api_arena_copy(arena, foreign);

    if (text)
        api_text_sanitize_in_place(text);
    return text;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void escape_put(struct api_text *text, uint32_t character)
{
    if (character == '"' || character == '\\')
        api_text_print(text, "\\%c", (char)character);
    else if (character == '\n')
        api_text_put(text, "\\n");
    else if (character < 0x10000)
        api_text_print(text, "\\u%04" PRIx32, character);
    else
        api_text_print(text, "\\u%04" PRIx32 "\\u%04" PRIx32,
                       0xd800 + ((character - 0x10000) >> 10), 0xdc00 + (character & 0x3ff));
}

static void string_put(struct api_text *text, const char *string, bool ascii)
{
    const unsigned char *at = (const unsigned char *)string;
    uint32_t character;

    api_text_put(text, "\"");
    while (*at) {
        size_t length = character_read(at, &character);
        if (length == 0) {
            character = '?';
            api_text_put(text, "?");
            length = 1;
        } else if (character < 0x20 || character == '"' || character == '\\' || character == 0x7f ||
                   (ascii && character > 0x7e)) {
            escape_put(text, character);
        } else {
            api_text_add(text, at, length);
        }
        at += length;
    }
    api_text_put(text, "\"");
}

static void array_put(struct api_text *text, const json_t *json, bool ascii)
{
    for (size_t i = 0; i < json_array_size(json); i++) {
        api_text_put(text, i > 0 ? "," : "[");
        api_text_json(text, json_array_get(json, i), ascii);
    }
    api_text_put(text, json_array_size(json) > 0 ? "]" : "[]");
}

static void object_put(struct api_text *text, json_t *json, bool ascii)
{
    const char *key;
    json_t *value;

    api_text_put(text, "{");
    json_object_foreach(json, key, value)
    {
        if (text->bytes && text->bytes[text->size - 1] != '{')
            api_text_put(text, ",");
        string_put(text, key, ascii);
        api_text_put(text, ":");
        api_text_json(text, value, ascii);
    }
    api_text_put(text, "}");
}

void api_text_json(struct api_text *text, const json_t *json, bool ascii)
{
    char number[API_NUMBER_MAX];

    switch (json_typeof(json)) {
    case JSON_OBJECT:
        object_put(text, (json_t *)json, ascii);
        return;
    case JSON_ARRAY:
        array_put(text, json, ascii);
        return;
    case JSON_STRING:
        string_put(text, json_string_value(json), ascii);
        return;
    case JSON_INTEGER:
        api_text_print(text, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
        return;
    case JSON_REAL:
        api_double_print(number, json_real_value(json));
        api_text_put(text, number);
        if (text->has_points && !number[strcspn(number, ".eE")])
            api_text_put(text, ".0");
        return;
    case JSON_TRUE:
        api_text_put(text, "true");
        return;
    case JSON_FALSE:
        api_text_put(text, "false");
        return;
    case JSON_NULL:
        api_text_put(text, "null");
        return;
    }
}

char *api_text_take(struct api_text *text, struct api_arena *arena)
{
    char *bytes = text->bytes;

    if (!bytes || text->failed ||
        !(text->counted > 0 ? capacity_count(text, arena, text->capacity)
                            : api_arena_hold(arena, text->capacity))) {
        api_text_free(text);
        return NULL;
    }
    *text = (struct api_text){0};
    return api_arena_defer(arena, free, bytes) ? bytes : NULL;
}
