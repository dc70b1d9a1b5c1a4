/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_HEAP_H
#define API_MEMORY_HEAP_H

/* Small pieces of a library, such as the values of a JSON tree, in large rooms of one arena. The
 * rooms go back with the arena, at once and whole: no piece is looked at again, so freeing a tree
 * takes no time, and no allocator keeps what it took. One thread at a time. */

#include "api/memory/arena.h"

enum { API_HEAP_CLASSES = 32 };

struct api_heap {
    struct api_arena *arena;
    unsigned char *at, *end;       /* of the newest room, not handed out yet */
    uint64_t size;                 /* of all rooms, those of large pieces included */
    uint64_t most;                 /* that size may become; 0: no limit but the budget */
    bool is_over;                  /* a piece was refused by `most` */
    void *given[API_HEAP_CLASSES]; /* pieces that were given back, by size */
};

/* A piece aligned to 8, not zeroed. heap NULL: of the system's allocator. NULL: no memory, or more
 * than `most`. */
void *api_heap_take(struct api_heap *heap, size_t size);
/* Takes a piece back. One of a heap is used again by it alone: with heap NULL nothing happens to
 * it. */
void api_heap_give(struct api_heap *heap, void *piece);
/* Does the piece go with an arena, given back or not? */
bool api_heap_frees(void *piece);

#endif
