/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_ARENA_H
#define API_MEMORY_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of one request: taken piece by piece, freed at once with the response. What is large is
 * reserved in the service's budget first. One thread at a time. */
struct api_arena;
struct api_memory;

/* memory NULL: nothing is counted. */
struct api_arena *api_arena_new(struct api_memory *memory);
void api_arena_free(struct api_arena *arena);

/* Reserves for what the request will need, in all: the body, and what the work takes. What is taken
 * draws on it; more than that is reserved as it is taken. False: the budget has no room now. */
bool api_arena_reserve(struct api_arena *arena, uint64_t size);
/* The request needs no more than it has taken. */
void api_arena_settle(struct api_arena *arena);
/* Counts memory that is taken elsewhere for this request (the core, libraries). */
bool api_arena_count(struct api_arena *arena, uint64_t size);
/* Was something refused that even an idle service has no room for? */
bool api_arena_over_budget(const struct api_arena *arena);

/* Large and not zeroed, aligned to 64. NULL: no room in the budget, or no memory. */
unsigned char *api_arena_room(struct api_arena *arena, size_t size);
/* Gives one back early. NULL is fine. */
void api_arena_room_drop(struct api_arena *arena, unsigned char *bytes);
/* Lets one go to the caller, who gives it back to the arena's memory and releases what is reserved
 * for it. Returns its room. */
size_t api_arena_room_leave(struct api_arena *arena, unsigned char *bytes, uint64_t *reserved);

/* Zeroed and aligned to 64 bytes; NULL when memory is short. */
void *api_arena_take(struct api_arena *arena, size_t size);
/* Was memory short before? Links and names that then are NULL leave holes in an answer. */
bool api_arena_failed(const struct api_arena *arena);
char *api_arena_copy(struct api_arena *arena, const char *text);
char *api_arena_print(struct api_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls `release(what)` when the arena is freed, newest first. False: memory is short, and `what`
 * was released already. */
int api_arena_defer(struct api_arena *arena, void (*release)(void *what), void *what);

#endif
