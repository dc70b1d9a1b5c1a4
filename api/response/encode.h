/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_ENCODE_H
#define API_RESPONSE_ENCODE_H

#include "api/codings/coding.h"
#include "api/request/service.h"

/* Answers in the coding that was asked for. Text only: tensors have a length that is known, ranges,
 * and bytes that hardly compress. */

/* Sets Content-Encoding where the answer will be coded, and encodes bytes. Text that is not made
 * yet is api_encode_text's, where it is made whole, or else api_encode_blocks'.
 * API_NOT_ACCEPTABLE, API_OUT_OF_MEMORY. */
enum api_status api_encode_begin(struct api_intake *intake, struct api_error *err);

/* The bytes in the coding, in a room of the arena; *size is that of the bytes and then theirs.
 * NULL: no memory. */
unsigned char *api_encode_text(struct api_arena *arena, const struct api_coding *coding,
                               const void *bytes, size_t *size);

/* Has the blocks encoded one by one, if the answer is text in blocks. API_OUT_OF_MEMORY. */
enum api_status api_encode_blocks(struct api_intake *intake, struct api_error *err);

#endif
