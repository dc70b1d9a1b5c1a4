/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_BUDGET_H
#define API_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Large buffers of all requests, counted against one budget before they are allocated. They come
 * from huge pages, and freed ones are cached for a while, because mapping new pages takes longer
 * than filling them.
 *
 *   held     bytes that requests have reserved, allocated or not
 *   idle     bytes of cached buffers that wait for another request
 *   claimed  bytes of connections
 *   small    bytes of small pieces of requests: their heads, the first ones of each arena
 *
 * Connections and small pieces may use 1/16 of the budget for free; what exceeds that reduces the
 * budget for requests. held + idle never exceeds the rest; a reservation unmaps idle buffers if
 * necessary. Connections and small pieces are still allowed when requests hold all of the budget,
 * so that probes are answered, up to API_MEMORY_SLACK bytes beyond it. All calls are thread-safe.
 */
#define API_MEMORY_SLACK (UINT64_C(32) << 20)

struct api_memory;

struct api_memory_state {
    uint64_t budget, held, idle, claimed, small;
    uint64_t held_max; /* the largest sum of held, claimed and small so far */
    uint64_t left;     /* the budget of requests, reduced by connections and small pieces */
};

/* budget UINT64_MAX: no bound. NULL: there is no memory. */
struct api_memory *api_memory_new(uint64_t budget);
/* After every reservation was released. NULL is allowed. */
void api_memory_free(struct api_memory *memory);

/* Calls `shed`, with no lock held, when a reservation fails. True: it released memory, and the
 * reservation is tried again. Set before other threads reserve. */
void api_memory_on_shortage(struct api_memory *memory, bool (*shed)(void *context), void *context);

/* False: the budget is used up. */
bool api_memory_reserve(struct api_memory *memory, uint64_t size);
void api_memory_release(struct api_memory *memory, uint64_t size);

/* Counts the bytes of a connection, or of small pieces. False: they would exceed the slack. */
bool api_memory_claim(struct api_memory *memory, uint64_t size);
void api_memory_unclaim(struct api_memory *memory, uint64_t size);
bool api_memory_claim_small(struct api_memory *memory, uint64_t size);
void api_memory_unclaim_small(struct api_memory *memory, uint64_t size);

/* Removes memory that stays allocated, such as stored tables, from the budget, so that no request
 * waits for it. False: the budget is used up. */
bool api_memory_pin(struct api_memory *memory, uint64_t size);
void api_memory_unpin(struct api_memory *memory, uint64_t size);

/* A buffer of at least `size` reserved bytes, aligned to 64, contents undefined. *capacity: its
 * size, for api_memory_give. NULL: the system has no memory. */
unsigned char *api_memory_take(struct api_memory *memory, size_t size, size_t *capacity);
void api_memory_give(struct api_memory *memory, unsigned char *bytes, size_t capacity);

/* Resizes a buffer, in place or elsewhere, and preserves its first `used` bytes; a large one moves
 * with its pages, without a copy. *capacity: its size before, and after. NULL: the system has no
 * memory, and the buffer is unchanged. */
unsigned char *api_memory_resize(struct api_memory *memory, unsigned char *bytes, size_t used,
                                 size_t size, size_t *capacity);

/* Unmaps buffers that have been idle for idle_ms. */
void api_memory_trim(struct api_memory *memory, double now_ms, double idle_ms);

/* Are less than `bytes` held, and were as many released since this was last true? Then the system's
 * allocator has memory to give back. */
bool api_memory_is_calm(struct api_memory *memory, uint64_t bytes);

struct api_memory_state api_memory_state(struct api_memory *memory);

#endif
