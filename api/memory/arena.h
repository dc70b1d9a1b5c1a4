/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_ARENA_H
#define API_MEMORY_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of one request: allocated in pieces, freed at once with the response. All of it is counted
 * in the budget of the service first: the first API_ARENA_SMALL bytes of pieces as small ones,
 * which succeed even when the budget is used up, all else as reserved. Pieces and buffers are used
 * by one thread at a time; counting and the work by any. */
enum { API_ARENA_SMALL = 64 << 10 };

struct api_arena;
struct api_memory;
struct pe_pool;
struct pe_work;

/* memory NULL: nothing is counted. */
struct api_arena *api_arena_new(struct api_memory *memory);
void api_arena_free(struct api_arena *arena);
/* Makes a pool free the arena, because its deferred releases and buffers would block a loop. The
 * pool must end before the memory does. NULL: the calling thread frees it. */
void api_arena_free_by(struct api_arena *arena, struct pe_pool *pool);

/* Reserves memory for the body and its work. Later allocations use this reservation; one that
 * exceeds it reserves the difference. False: the budget is used up. */
bool api_arena_reserve(struct api_arena *arena, uint64_t size);
/* Releases what is reserved and not allocated, once the request is computed. Later releases reduce
 * the reservation too. */
void api_arena_settle(struct api_arena *arena);
/* Counts memory that the core or a library allocates for this request. False: as above. */
bool api_arena_count(struct api_arena *arena, uint64_t size);
void api_arena_uncount(struct api_arena *arena, uint64_t size);
/* Counts a piece that lives as long as the arena, as a small one if possible. */
bool api_arena_hold(struct api_arena *arena, uint64_t size);
/* Was more requested than the complete budget, so that no retry can succeed? */
bool api_arena_over_budget(const struct api_arena *arena);
/* Did the budget refuse anything so far? */
bool api_arena_refused(const struct api_arena *arena);

/* Makes the work of the request, once. Memory that the core allocates for it is counted here. It is
 * freed with the arena, after the deferred releases. operations_max, deadline: as in
 * pe_work_limits. NULL: out of memory. */
struct pe_work *api_arena_work_new(struct api_arena *arena, uint64_t operations_max,
                                   uint64_t deadline);
struct pe_work *api_arena_work(const struct api_arena *arena); /* NULL: none was made */
/* Transfers bytes charged to the work to the caller, who calls api_memory_release. Before
 * api_arena_settle. */
void api_arena_work_leave(struct api_arena *arena, size_t size);

/* A large piece: not zeroed, aligned to 64 bytes, reserved in the budget. NULL: the budget is used
 * up, or the system has no memory. */
unsigned char *api_arena_buffer(struct api_arena *arena, size_t size);
/* Frees a buffer before the arena is freed. NULL is allowed. */
void api_arena_buffer_drop(struct api_arena *arena, unsigned char *bytes);
/* Frees every buffer that was taken after `newest`, which was the newest one before. */
const void *api_arena_buffer_newest(const struct api_arena *arena);
void api_arena_buffers_drop(struct api_arena *arena, const void *newest);
/* Resizes a buffer, and may move it; its first `used` bytes are preserved. NULL: as above, and the
 * buffer is unchanged. Only for an arena with a budget. */
unsigned char *api_arena_buffer_resize(struct api_arena *arena, unsigned char *bytes, size_t used,
                                       size_t size);
/* Transfers a buffer to the caller, who calls api_memory_give with the returned size, and
 * api_memory_release with *reserved. */
size_t api_arena_buffer_leave(struct api_arena *arena, unsigned char *bytes, uint64_t *reserved);

/* A piece, zeroed, aligned to 64 bytes from 64 bytes on and to 16 below. NULL: out of memory. */
void *api_arena_take(struct api_arena *arena, size_t size);
/* A piece for text: zeroed, not aligned. */
char *api_arena_text(struct api_arena *arena, size_t size);
/* Has an allocation ever failed? Then some texts are NULL, and the answer would be incomplete. */
bool api_arena_failed(const struct api_arena *arena);
char *api_arena_copy(struct api_arena *arena, const char *text);
char *api_arena_print(struct api_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Calls release(thing) when the arena is freed, the newest thing first. False: out of memory, and
 * the thing was released at once. */
int api_arena_defer(struct api_arena *arena, void (*release)(void *thing), void *thing);

#endif
