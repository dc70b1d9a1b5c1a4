/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_PREFETCH_H
#define API_BASE_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "posenc/pool.h"

/* Has a pool populate the pages of a large receive buffer shortly before they are written to. The
 * kernel clears a new page at its first write, a huge one in .1 to 3 ms, which would stall the
 * event loop. Only a few pages ahead are populated: a request that sends no body costs no memory.
 */
struct api_prefetch;

/* NULL: out of memory. */
struct api_prefetch *api_prefetch_new(struct pe_pool *pool, unsigned char *buffer, size_t size);
/* Not while a caller waits for `wake`. The pool's job may outlive the buffer. */
void api_prefetch_end(void *prefetch);
/* Are the pages up to `end` still being populated? Then `wake` is called once they are, from any
 * thread. One thread at a time. */
bool api_prefetch_waits(struct api_prefetch *prefetch, size_t end, void (*wake)(void *context),
                        void *context);

#endif
