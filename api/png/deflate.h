/* SPDX-License-Identifier: MIT */
#ifndef API_PNG_DEFLATE_H
#define API_PNG_DEFLATE_H

#include "api/memory/arena.h"
#include "api/numbers/text.h"

/* Adds bytes compressed (RFC 1950). What stands `hint` bytes before is likely to be alike. The
 * result is the same on every machine and through every door, which those of zlib's versions are
 * not. Memory that ends shows as out->failed. */
void api_deflate_put(struct api_text *out, struct api_arena *arena, const unsigned char *bytes,
                     size_t size, size_t hint);

#endif
