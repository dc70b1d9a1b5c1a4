/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_TEXT_H
#define API_NUMBERS_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/memory/arena.h"

/* Text that grows, always ended by a zero byte. A failure to grow is remembered, and nothing is
 * added behind it. Large text of a request names its arena, so that the budget has a say in each
 * growth. */
struct api_text {
    char *bytes; /* NULL while empty */
    size_t size, room;
    bool failed;
    struct api_arena *arena; /* NULL: nothing is counted before the text is taken */
    size_t counted;          /* of the room, in the arena */
};

void api_text_free(struct api_text *text);
void api_text_add(struct api_text *text, const void *bytes, size_t size);
void api_text_put(struct api_text *text, const char *string);
void api_text_print(struct api_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a JSON value, compact, numbers in their shortest digits. ascii: \u for all else. */
void api_text_json(struct api_text *text, const json_t *json, bool ascii);

/* Hands the bytes to an arena, which is that of the text if it names one. NULL: memory was short,
 * here or before; the text is empty either way. */
char *api_text_take(struct api_text *text, struct api_arena *arena);

/* A copy of foreign text in which every byte that is no part of a UTF-8 character is a question
 * mark, so that an error can quote it. NULL: memory is short. */
char *api_text_mend(struct api_arena *arena, const char *foreign);
/* The same where the text lies. */
void api_text_mend_here(char *text);

#endif
