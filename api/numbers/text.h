/* SPDX-License-Identifier: MIT */
#ifndef API_NUMBERS_TEXT_H
#define API_NUMBERS_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/memory/arena.h"

/* A string that grows, always ended by a zero byte. After a failure to grow, `failed` is set and
 * nothing more is added. Text of a request that may become large names its arena, so that each
 * growth is counted in the budget. */
struct api_text {
    char *bytes; /* NULL while empty */
    size_t size, capacity;
    bool failed;
    bool has_points;         /* real numbers of JSON that are whole are written as 4.0 */
    struct api_arena *arena; /* NULL: nothing is counted until the text is taken */
    size_t counted;          /* bytes of the capacity that the arena has counted */
};

void api_text_free(struct api_text *text);
void api_text_add(struct api_text *text, const void *bytes, size_t size);
void api_text_put(struct api_text *text, const char *string);
void api_text_print(struct api_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a JSON value, compact, numbers in their shortest digits. ascii: other characters as \u. */
void api_text_json(struct api_text *text, const json_t *json, bool ascii);

/* Moves the bytes to an arena: that of the text, if it names one. NULL: an allocation failed, now
 * or before. The text is empty afterwards in both cases. */
char *api_text_take(struct api_text *text, struct api_arena *arena);

/* A copy of foreign text with '?' for each byte that is not part of a UTF-8 character, so that an
 * error can quote it. NULL: out of memory. */
char *api_text_sanitize(struct api_arena *arena, const char *foreign);
void api_text_sanitize_in_place(char *text);

#endif
