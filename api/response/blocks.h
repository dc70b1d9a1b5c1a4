/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_BLOCKS_H
#define API_RESPONSE_BLOCKS_H

#include "api/response/result.h"

/* Bodies of tensors as contiguous bytes, cut into blocks; and which blocks the event loop may fill.
 */

/* A row must fit into a block, and a block into memory. */
#define API_ROW_SIZE_MAX ((size_t)64 << 20)

/* About the size of a block: large enough to be worth handing to a thread, small enough for a
 * cache. */
#define API_BLOCK_SIZE ((size_t)512 << 10)

/* Bytes of a block that the event loop fills. */
enum { API_CHEAP_BLOCK = 256 << 10 };

/* Do blocks take so little time that the event loop fills them itself? */
bool api_blocks_are_cheap(const struct api_result *result);
/* If the blocks of a result are cheap once its once_work is done, does this, which may take some
 * milliseconds, and marks the body as cheap. Not on a loop. A failure shows when the blocks are
 * filled. */
void api_blocks_make_cheap(struct api_result *result, struct api_response *response);
/* Nanoseconds of once_work in one block, which may begin several parts. */
double api_block_once_cost(const struct pe_output *output);
/* Bytes of a block of an output: fewer than API_BLOCK_SIZE if that would take more than 10 ms, but
 * not because of an output that takes less in total. */
size_t api_block_size(const struct pe_output *output);

/* Bytes of the rows that are filled together, the unit of ranges. */
size_t api_group_size(const struct api_result *result, const struct pe_output *output);

size_t api_output_row_size(const struct pe_output *output);
uint64_t api_output_size(const struct pe_output *output);

/* The shape as written, in which complex tensors have a last dimension of 2. Returns the rank. */
unsigned api_output_shape(const struct pe_output *output, size_t *shape);

/* The bytes of rows: in the memory of the result, or filled into `buffer`, which is large enough
 * and aligned to 64 bytes. NULL: filling failed. */
const unsigned char *api_rows_get(struct api_result *result, size_t output, size_t row_begin,
                                  size_t row_end, unsigned char *buffer);

/* Makes the body of a binary format: the prefix (in the arena; NULL: none), then the outputs. */
enum pe_status api_blocks_render(struct api_request *request, struct api_result *result,
                                 const void *prefix, size_t prefix_size,
                                 struct api_response *response, struct pe_error *err);

#endif
