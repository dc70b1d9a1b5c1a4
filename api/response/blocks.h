/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_BLOCKS_H
#define API_RESPONSE_BLOCKS_H

#include "api/response/result.h"

/* Named tensors as one run of bytes, cut into blocks: shared by the tensor formats. */

/* One row must fit in a block, and a block in memory. */
#define API_ROW_SIZE_MAX ((size_t)64 << 20)

/* About how much a block holds: enough to be worth a hand-over, little enough to stay in a cache.
 */
#define API_BLOCK_SIZE ((size_t)512 << 10)

/* Bytes of a block that the loop makes for itself. */
enum { API_CHEAP_BLOCK = 256 << 10 };

/* Does a block take so little that to hand it to another thread is not worth it? It stays in the
 * cache until it is sent. */
bool api_blocks_are_cheap(const struct api_result *result);
/* Are blocks cheap once the work is done that is done once, which takes too long for a loop, but
 * not long? */
bool api_blocks_get_cheap(const struct api_result *result);
/* Does the work that is done once, and makes the body of a result a cheap one. Not on a loop. A
 * failure comes back with the blocks. */
void api_blocks_cheapen(struct api_result *result, struct api_response *response);
/* Nanoseconds of an element: 1 where nobody told. */
double api_element_work(const struct pe_output *output);
/* Nanoseconds of an output's once_work that fall on one block, which may begin several parts. */
double api_block_once_work(const struct pe_output *output);
/* Bytes of a block of an output: less than API_BLOCK_SIZE where it would take longer than 10 ms; an
 * output that is made faster than that as a whole does not cut the others small. */
size_t api_block_size(const struct pe_output *output);

/* Bytes of rows that are filled together: of a range as much is made whole. */
size_t api_group_size(const struct api_result *result, const struct pe_output *output);

size_t api_output_row_size(const struct pe_output *output);
uint64_t api_output_size(const struct pe_output *output);

/* Complex tensors are written as pairs: their shape has a last dimension of two. Returns the rank.
 */
unsigned api_output_shape(const struct pe_output *output, size_t *shape);

/* Rows as bytes: where they lie already, or made in `room`, which holds them and is aligned to 64.
 * NULL: filling failed. */
const unsigned char *api_rows_get(struct api_result *result, size_t output, size_t row_begin,
                                  size_t row_end, unsigned char *room);

/* Makes the body of a fixed-width format: the prefix (in the arena, NULL for none), then the
 * outputs in order with nothing between them. */
enum pe_status api_blocks_render(struct api_request *request, struct api_result *result,
                                 const void *prefix, size_t prefix_size,
                                 struct api_response *response, struct pe_error *err);

#endif
