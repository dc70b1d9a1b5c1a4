/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_ARENA_H
#define API_MEMORY_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of one request: taken piece by piece, freed at once with the response. All of it is
 * counted in the budget of the service before it is taken: the first API_ARENA_SMALL bytes of
 * pieces as small ones, which are granted however short memory is, all else as reserved. Pieces and
 * rooms are for one thread at a time; counting and the work are for any. */
enum { API_ARENA_SMALL = 64 << 10 };

struct api_arena;
struct api_memory;
struct pe_pool;
struct pe_work;

/* memory NULL: nothing is counted. */
struct api_arena *api_arena_new(struct api_memory *memory);
void api_arena_free(struct api_arena *arena);
/* Has a pool free the arena when the time comes, because what was deferred and its rooms are so
 * many that a loop would stand still. The pool must end before the memory does. NULL: the thread
 * that frees it does so itself. */
void api_arena_free_by(struct api_arena *arena, struct pe_pool *pool);

/* Reserves all that the request will need, for its body and its work. Pieces are taken out of this
 * reservation; one that exceeds it reserves the difference. False: the budget has no room now. */
bool api_arena_reserve(struct api_arena *arena, uint64_t size);
/* Gives back all that is reserved and not taken: the request is computed. From here on memory that
 * is given back leaves the reservation too. */
void api_arena_settle(struct api_arena *arena);
/* Counts memory that the core or a library takes for this request. False: no room, as above. */
bool api_arena_count(struct api_arena *arena, uint64_t size);
void api_arena_uncount(struct api_arena *arena, uint64_t size);
/* Counts a piece that stays until the arena is freed, among the small ones first. */
bool api_arena_hold(struct api_arena *arena, uint64_t size);
/* Was more asked for than the whole budget, so that no retry can succeed? */
bool api_arena_over_budget(const struct api_arena *arena);
/* Did the budget refuse anything, at any time? */
bool api_arena_refused(const struct api_arena *arena);

/* Makes the work of the request, once: what the core takes for it is counted here. It is freed with
 * the arena, after everything that was deferred. operations_max, deadline: as in pe_work_limits.
 * NULL: memory is short. */
struct pe_work *api_arena_work_new(struct api_arena *arena, uint64_t operations_max,
                                   uint64_t deadline);
struct pe_work *api_arena_work(const struct api_arena *arena); /* NULL: none was made */
/* Hands bytes that are charged to the work over to the caller, who calls api_memory_release. Before
 * the settling. */
void api_arena_work_leave(struct api_arena *arena, size_t size);

/* A large piece, called a room: not zeroed, aligned to 64 bytes, counted in the budget. NULL: the
 * budget has no room, or the system no memory. */
unsigned char *api_arena_room(struct api_arena *arena, size_t size);
/* Gives a room back before the arena is freed. NULL is fine. */
void api_arena_room_drop(struct api_arena *arena, unsigned char *bytes);
/* Makes a room longer or shorter, its first `used` bytes kept, and may move it. NULL: as above, and
 * the room is as it was. Of an arena with a budget. */
unsigned char *api_arena_room_resize(struct api_arena *arena, unsigned char *bytes, size_t used,
                                     size_t size);
/* Hands a room over to the caller, who calls api_memory_give with the size that is returned, and
 * api_memory_release with *reserved. */
size_t api_arena_room_leave(struct api_arena *arena, unsigned char *bytes, uint64_t *reserved);

/* A piece, zeroed, aligned to 64 bytes from 64 bytes on and to 16 below. NULL: memory is short. */
void *api_arena_take(struct api_arena *arena, size_t size);
/* Room for text: zeroed, not aligned. */
char *api_arena_text(struct api_arena *arena, size_t size);
/* Was memory short at any time? Links and names are NULL then, and an answer made of them would
 * have holes. */
bool api_arena_failed(const struct api_arena *arena);
char *api_arena_copy(struct api_arena *arena, const char *text);
char *api_arena_print(struct api_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls release(thing) when the arena is freed, the newest thing first. False: memory is short, and
 * the thing was released at once. */
int api_arena_defer(struct api_arena *arena, void (*release)(void *thing), void *thing);

#endif
