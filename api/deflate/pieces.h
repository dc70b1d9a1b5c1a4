/* SPDX-License-Identifier: MIT */
#ifndef API_DEFLATE_PIECES_H
#define API_DEFLATE_PIECES_H

#include <stddef.h>

/* Text compressed quickly (RFC 1951), piece by piece: each refers to nothing before it, ends at a
 * whole byte and has no last block, so that pieces in a row are one stream, whoever made them. The
 * same bytes on every machine. */

/* Most bytes that a piece of so many becomes. */
size_t api_piece_room(size_t size);

/* Bytes that making one works in, aligned to 64. */
size_t api_piece_workspace(size_t size);

/* Returns the size of what is written. SIZE_MAX: room or workspace is too small. */
size_t api_piece_make(const void *bytes, size_t size, unsigned char *out, size_t room,
                      unsigned char *workspace, size_t workspace_size);

#endif
