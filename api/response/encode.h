/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_ENCODE_H
#define API_RESPONSE_ENCODE_H

#include "api/codings/coding.h"
#include "api/response/result.h"

/* Content codings of answers. Text only: tensors have a known length, ranges, and bytes that hardly
 * compress. */

/* Nanoseconds that the system takes to send a byte, measured on loopback. */
#define API_SENDING_COST 0.2

/* If the answer is to be in request->response_coding, sets Content-Encoding and *encodes, and
 * encodes a body of bytes. Text that is made later is encoded by api_encode_text if it is made at
 * once, else by api_encode_blocks. PE_NOT_ACCEPTABLE, PE_OUT_OF_MEMORY. */
enum pe_status api_encode_begin(const struct api_request *request, struct api_response *response,
                                bool *encodes, struct pe_error *err);

/* Returns the encoded bytes, in the arena; *size is the size of the bytes and becomes that of the
 * code. NULL: no memory. */
unsigned char *api_encode_text(struct api_arena *arena, const struct api_coding *coding,
                               const void *bytes, size_t *size);

/* Makes the blocks of a response, if it has blocks, encoded ones. PE_OUT_OF_MEMORY. */
enum pe_status api_encode_blocks(struct api_response *response, const struct api_coding *coding,
                                 struct pe_error *err);

#endif
