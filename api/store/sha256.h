/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_SHA256_H
#define API_STORE_SHA256_H

#include <stddef.h>

/* SHA-256 (FIPS 180-4). */
enum { API_SHA256_SIZE = 32, API_SHA256_TEXT = 2 * API_SHA256_SIZE + 1 };

void api_sha256(const void *bytes, size_t size, unsigned char *digest);
/* The same in hexadecimal, ended by a zero byte. */
void api_sha256_text(const void *bytes, size_t size, char *text);

#endif
