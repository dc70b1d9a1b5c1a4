/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_BUDGET_H
#define API_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of bodies: counted against one budget before it is taken, from huge pages where it is
 * large, and kept for a while, because fresh pages cost more than the bytes that are put there.
 *
 *   held   what requests have reserved, taken or not
 *   kept   what nobody has and the next request finds
 *
 * held + kept never exceeds the budget; what is kept makes way. All calls are thread-safe. */
struct api_memory;

struct api_memory_state {
    uint64_t budget, held, kept;
};

/* budget UINT64_MAX: no bound. NULL: there is no memory. */
struct api_memory *api_memory_new(uint64_t budget);
/* Nothing may be held. NULL is fine. */
void api_memory_free(struct api_memory *memory);

/* Asked for room when a reservation fails; true: it made some. Called without any lock. */
void api_memory_on_shortage(struct api_memory *memory, bool (*shed)(void *context), void *context);

/* False: the budget has no room. */
bool api_memory_reserve(struct api_memory *memory, uint64_t size);
void api_memory_release(struct api_memory *memory, uint64_t size);

/* For what stays as long as the service does, or nearly: the budget is less by it, so that nobody
 * is promised what never comes free. False: it has no room. */
bool api_memory_pin(struct api_memory *memory, uint64_t size);
void api_memory_unpin(struct api_memory *memory, uint64_t size);

/* At least `size` bytes for a reservation of `size`, aligned to 64, contents undefined; *room is
 * what api_memory_give wants back. NULL: the system has none. */
unsigned char *api_memory_take(struct api_memory *memory, size_t size, size_t *room);
void api_memory_give(struct api_memory *memory, unsigned char *bytes, size_t room);

/* Gives back to the system what was kept and not used for idle_ms. */
void api_memory_trim(struct api_memory *memory, double now_ms, double idle_ms);

struct api_memory_state api_memory_state(struct api_memory *memory);

#endif
