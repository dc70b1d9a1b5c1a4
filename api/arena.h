/* SPDX-License-Identifier: MIT */
#ifndef API_ARENA_H
#define API_ARENA_H

#include <stdarg.h>
#include <stddef.h>

/* Memory of one request: taken piece by piece, freed at once with the response. */
struct api_arena;

struct api_arena *api_arena_new(void);
void api_arena_free(struct api_arena *arena);

/* Zeroed and aligned to 64 bytes; NULL when memory is short. */
void *api_arena_take(struct api_arena *arena, size_t size);
char *api_arena_copy(struct api_arena *arena, const char *text);
char *api_arena_print(struct api_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls `release(what)` when the arena is freed, newest first. False: memory is short, and `what`
 * was released already. */
int api_arena_defer(struct api_arena *arena, void (*release)(void *what), void *what);

#endif
