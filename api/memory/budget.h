/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_BUDGET_H
#define API_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Large buffers of all requests, counted against one budget before they are taken. They come from
 * huge pages and are kept for a while when they are given back, because mapping fresh pages takes
 * longer than filling them.
 *
 *   held   bytes that requests have reserved, whether taken yet or not
 *   kept   bytes of buffers that were given back and wait for another request
 *   claimed  bytes of connections
 *   small    bytes of small pieces of requests: their heads, the first ones of each arena
 *
 * held + kept never exceeds what is left of the budget beside the other two; a reservation that
 * needs the room unmaps kept buffers. Connections and small pieces are granted though requests hold
 * all of the budget, so that probes are answered: up to API_MEMORY_SLACK bytes more than the budget
 * together. A sixteenth of the budget of them comes on top of it. All calls are thread-safe. */
#define API_MEMORY_SLACK (UINT64_C(32) << 20)

struct api_memory;

struct api_memory_state {
    uint64_t budget, held, kept, claimed, small;
    uint64_t held_max; /* the most held, claimed and small at once so far */
    uint64_t left;     /* of the budget for requests, beside what is claimed and small */
};

/* budget UINT64_MAX: no bound. NULL: there is no memory. */
struct api_memory *api_memory_new(uint64_t budget);
/* Every reservation must have been released. NULL is fine. */
void api_memory_free(struct api_memory *memory);

/* Calls `shed`, with no lock held, when a reservation fails. True: it released some memory, and the
 * reservation is tried again. To be set before other threads reserve. */
void api_memory_on_shortage(struct api_memory *memory, bool (*shed)(void *context), void *context);

/* False: the budget has no room. */
bool api_memory_reserve(struct api_memory *memory, uint64_t size);
void api_memory_release(struct api_memory *memory, uint64_t size);

/* Counts the bytes of a connection, and small pieces: requests have so much less. False: with them
 * the slack would be used up. */
bool api_memory_claim(struct api_memory *memory, uint64_t size);
void api_memory_unclaim(struct api_memory *memory, uint64_t size);
bool api_memory_claim_small(struct api_memory *memory, uint64_t size);
void api_memory_unclaim_small(struct api_memory *memory, uint64_t size);

/* Takes memory that stays, such as stored tables, out of the budget, so that no request is promised
 * bytes that will not come free. False: the budget has no room. */
bool api_memory_pin(struct api_memory *memory, uint64_t size);
void api_memory_unpin(struct api_memory *memory, uint64_t size);

/* A buffer of at least `size` bytes that were reserved, aligned to 64, contents undefined. *room:
 * its size, for api_memory_give. NULL: the system has no memory. */
unsigned char *api_memory_take(struct api_memory *memory, size_t size, size_t *room);
void api_memory_give(struct api_memory *memory, unsigned char *bytes, size_t room);

/* Makes a buffer longer or shorter, its contents kept, in place or elsewhere; a large one moves
 * with its pages and is not copied. *room: its size before, and after. `used` bytes of it matter.
 * NULL: the system has no memory, and the buffer is as it was. */
unsigned char *api_memory_resize(struct api_memory *memory, unsigned char *bytes, size_t used,
                                 size_t size, size_t *room);

/* Unmaps the buffers that have been kept for idle_ms and not been used. */
void api_memory_trim(struct api_memory *memory, double now_ms, double idle_ms);

/* Is less than so much held, and have as many bytes been released since this was last true? */
bool api_memory_rests(struct api_memory *memory, uint64_t least);

struct api_memory_state api_memory_state(struct api_memory *memory);

#endif
