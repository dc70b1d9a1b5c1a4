/* SPDX-License-Identifier: MIT */
#ifndef API_CODINGS_CODING_H
#define API_CODINGS_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* Content codings (RFC 9110, 8.4.1). Bodies of requests are decoded as they arrive. Answers are
 * encoded in pieces that depend on nothing else, so that blocks of an answer stay pure: a head, the
 * pieces in order, and a tail that holds the check sum of all of them. */

/* Both ends move as bytes are taken and made. */
struct api_flow {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
};

/* More than any head or tail has. */
enum { API_CODING_ENDS_MAX = API_TAIL_MAX };

struct api_coding {
    const char *name, *alias; /* alias NULL: none */

    /* NULL: no memory. */
    void *(*decode_open)(void);
    /* Takes and makes as much as it can. API_MALFORMED, API_OUT_OF_MEMORY. */
    enum api_status (*decode)(void *decoder, struct api_flow *flow, struct api_error *err);
    /* May the body end here? */
    bool (*decode_ended)(const void *decoder);
    /* Bytes that it holds now. */
    size_t (*decode_memory)(const void *decoder);
    void (*decode_close)(void *decoder);

    /* Room for a piece of `size` bytes, whatever they are. */
    size_t (*piece_room)(size_t size);
    /* SIZE_MAX: no memory. */
    size_t (*piece)(const void *bytes, size_t size, unsigned char *out, size_t room);
    /* The check sum of a piece, and of two things one behind the other. NULL: there is none. */
    uint32_t (*sum)(const void *bytes, size_t size);
    uint32_t (*sum_combine)(uint32_t first, uint32_t second, uint64_t second_size);
    /* Return their sizes. */
    size_t (*head)(unsigned char *out);
    size_t (*tail)(unsigned char *out, uint32_t sum, uint64_t size);
};

#define CODING(name, symbol) extern const struct api_coding api_coding_##symbol;
#include "api/codings/codings.def"
#undef CODING

extern const struct api_coding *const api_codings[]; /* ends with NULL */
extern const char api_codings_text[];                /* "zstd, gzip, ..., identity" */

#endif
