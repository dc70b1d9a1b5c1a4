/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_REQUEST_H
#define TESTS_FUZZ_REQUEST_H

/* A request as text, much as it is on the wire:
 *
 *     POST /v1/rotation?start=0
 *     Content-Type: application/json
 *
 *     the body
 */

#include "api/api.h"

enum { REQUEST_FIELDS_MAX = 32 };

struct request_text {
    struct api_head head; /* content_length is that of the body */
    struct api_field fields[REQUEST_FIELDS_MAX];
    char *lines; /* what the head points to */
    const unsigned char *body;
    size_t body_size;
};

/* Reads any bytes; lines that are no fields are left out. The body stays where it is. */
void request_text_read(struct request_text *request, const unsigned char *text, size_t size);
void request_text_free(struct request_text *request);

/* Replaces a field, or adds it where there is room. */
void request_text_field(struct request_text *request, const char *name, const char *value);

#endif
