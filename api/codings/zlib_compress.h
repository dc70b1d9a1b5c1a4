/* SPDX-License-Identifier: MIT */
#ifndef API_CODINGS_ZLIB_COMPRESS_H
#define API_CODINGS_ZLIB_COMPRESS_H

#include <stddef.h>

#include "posenc/work.h"

/* Compression by zlib at its fastest level, in memory of the caller, which is in the budget and
 * cannot be missing in the middle of an answer. Other versions of zlib may write other bytes, so
 * api_deflate_version belongs into entity tags. */

enum api_deflate_form {
    API_DEFLATE_PIECE,  /* raw data (RFC 1951) that refers to nothing before it, ends at a byte and
                           has no last block: consecutive pieces are one stream */
    API_DEFLATE_STREAM, /* a complete stream in zlib's format (RFC 1950) */
};

/* The most bytes that `size` bytes become in either form. */
size_t api_deflate_max(size_t size);

/* Bytes of workspace, aligned to 64, for compressing `size` bytes. */
size_t api_deflate_workspace(size_t size);

/* Returns the bytes written. SIZE_MAX: `out` or the workspace is too small, or the work was ended.
 * work NULL: it is never ended. Thread-safe. */
size_t api_deflate(enum api_deflate_form form, const void *bytes, size_t size, unsigned char *out,
                   size_t out_size, unsigned char *workspace, size_t workspace_size,
                   struct pe_work *work);

/* The CRC of PNG and gzip. */
unsigned long api_deflate_crc(const void *bytes, size_t size);

/* The version of zlib in use. */
const char *api_deflate_version(void);

#endif
