/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_BASE64_H
#define API_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Padded standard base64 (RFC 4648, 4). */

/* Writes the text of the bytes and returns its end; `to` has room for 4 characters for each 3 bytes
 * begun. Texts of pieces can be joined where all but the last have a multiple of 3 bytes. */
char *api_base64_encode(char *to, const unsigned char *bytes, size_t size);

/* Decodes exactly `size` bytes. False: the text is not their base64. */
bool api_base64_decode(const char *text, size_t length, unsigned char *out, size_t size);

/* Does the text consist of base64 digits and '=' alone? */
bool api_base64_only(const unsigned char *at, const unsigned char *end);

#endif
