/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_ENCODE_H
#define API_RESPONSE_ENCODE_H

#include "api/codings/coding.h"
#include "api/response/result.h"

/* Answers in the coding that was asked for. Text only: tensors have a length that is known, ranges,
 * and bytes that hardly compress. */

/* Nanoseconds of a byte that is sent: the system's, measured on loopback. */
#define API_SENDING_WORK 0.2

/* Sets Content-Encoding and *encodes where the answer will be in request->response_coding, and
 * encodes a body of bytes. Text that is not made yet is left to api_encode_text, where it is made
 * whole, and to api_encode_blocks. PE_NOT_ACCEPTABLE, PE_OUT_OF_MEMORY. */
enum pe_status api_encode_begin(const struct api_request *request, struct api_response *response,
                                bool *encodes, struct pe_error *err);

/* The bytes in the coding, in a room of the arena; *size is that of the bytes and then theirs.
 * NULL: no memory. */
unsigned char *api_encode_text(struct api_arena *arena, const struct api_coding *coding,
                               const void *bytes, size_t *size);

/* Has the blocks of a response encoded one by one, if it is text in blocks. PE_OUT_OF_MEMORY. */
enum pe_status api_encode_blocks(struct api_response *response, const struct api_coding *coding,
                                 struct pe_error *err);

#endif
