/* SPDX-License-Identifier: MIT */
#ifndef API_CODINGS_DECODER_MEMORY_H
#define API_CODINGS_DECODER_MEMORY_H

#include "posenc/work.h"

/* The allocator that decoders hand to their libraries: each piece is charged to a work and knows
 * its size, so that the same bytes are given back. */

/* count * size bytes, not zeroed, aligned for any type. NULL: no memory, or no room in the work. */
void *api_decoder_take(struct pe_work *work, size_t count, size_t size);
void api_decoder_give(struct pe_work *work, void *piece); /* NULL is fine */

#endif
