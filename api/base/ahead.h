/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_AHEAD_H
#define API_BASE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "posenc/pool.h"

/* Pages of a large room that bytes are received into, made by a pool ahead of them. A new page is
 * cleared when it is first written to, a huge one in .1 to 3 ms, and on a loop everybody waits for
 * that. No more than a few are made ahead of what has come: a head alone costs no memory. */
struct api_ahead;

/* NULL: memory is short. */
struct api_ahead *api_ahead_new(struct pe_pool *pool, unsigned char *room, size_t size);
/* Not while anybody waits to be woken. What the pool is at may last longer than the room. */
void api_ahead_end(void *ahead);
/* Of one thread at a time: are the pages up to `end` still being made? Then `wake` is called when
 * they are, once and from any thread. */
bool api_ahead_waits(struct api_ahead *ahead, size_t end, void (*wake)(void *context),
                     void *context);

#endif
