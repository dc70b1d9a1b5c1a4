/* SPDX-License-Identifier: MIT */
#ifndef API_CODINGS_DEFLATE_H
#define API_CODINGS_DEFLATE_H

#include <stddef.h>

#include "posenc/work.h"

/* Bytes compressed by zlib at its fastest level, in memory of the caller, so that the memory is in
 * the budget and cannot be missing in the middle of an answer. Other versions of zlib may write
 * other bytes: api_deflate_version belongs into entity tags. */

enum api_deflate_form {
    API_DEFLATE_PIECE, /* raw data (RFC 1951) that refers to nothing before it, ends at a whole byte
                          and has no last block: pieces in a row are one stream */
    API_DEFLATE_WHOLE, /* a stream of zlib's format (RFC 1950) */
};

/* Most bytes that `size` bytes become in either form. */
size_t api_deflate_room(size_t size);

/* Bytes of workspace, aligned to 64, that compressing `size` bytes takes. */
size_t api_deflate_workspace(size_t size);

/* Returns the size of what is written; SIZE_MAX: room or workspace is too small, or the work has
 * ended. work NULL: nothing ends it. Any thread. */
size_t api_deflate(enum api_deflate_form form, const void *bytes, size_t size, unsigned char *out,
                   size_t room, unsigned char *workspace, size_t workspace_size,
                   struct pe_work *work);

/* The CRC of PNG and gzip. */
unsigned long api_deflate_crc(const void *bytes, size_t size);

/* Of the library in use. */
const char *api_deflate_version(void);

#endif
