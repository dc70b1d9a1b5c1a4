/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_JSON_MEMORY_H
#define API_MEMORY_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

#include "api/memory/heap.h"

/* jansson 2.14 drops a digit, and reports no error, where memory for its text buffer is short. So
 * it allocates by functions of ours, which note every failure for the thread that it happens in. */

/* Has jansson allocate by these functions. To be called before any other use of jansson; later
 * calls do nothing. */
void api_json_memory_init(void);

/* Forgets the failures of this thread; tells whether one has happened since. */
void api_json_memory_reset(void);
bool api_json_memory_failed(void);

/* Whose heap the pieces come from that jansson takes on this thread: the arena's, in which they
 * stay until it is freed; arena NULL: the system's allocator. Owners may be nested, as blocks of a
 * pool are. */
struct api_json_owner {
    struct api_heap heap;
    struct api_json_owner *outer;
};

void api_json_own(struct api_json_owner *owner, struct api_arena *arena);
void api_json_disown(struct api_json_owner *owner);

/* Lets the heap of this thread grow by so many bytes and no more; 0: as the budget has room. */
void api_json_memory_limit(uint64_t more);
/* Did the limit refuse a piece since it was set? */
bool api_json_memory_is_over(void);

/* Calls parse(context), which a failed allocation ends at once, with NULL: jansson 2.14 reads
 * beyond the end of its text buffer where that could not grow. So parse must hold nothing but
 * pieces of the heap of this thread; without a heap it goes on, and is to be given short texts. */
json_t *api_json_memory_try(json_t *(*parse)(void *context), void *context);

/* Has the arena drop its reference when it is freed. false: memory is short, or json is NULL, and
 * it was dropped at once. */
bool api_json_keep(struct api_arena *arena, json_t *json);
/* Likewise, of a tree of which nothing is shared: it is not walked where it lies in the heap. */
bool api_json_keep_whole(struct api_arena *arena, json_t *json);

#endif
