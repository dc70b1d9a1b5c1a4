/* SPDX-License-Identifier: MIT */
#ifndef API_CODINGS_CODING_H
#define API_CODINGS_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "posenc/work.h"

/* Content codings (RFC 9110, 8.4.1). Bodies of requests are decoded as they arrive. Answers are
 * encoded in pieces, each on its own, so that threads can make them in any order: an answer is a
 * head, the pieces, and a tail with the check sum of all of them. */

/* Input and output of a decoder. A call moves both on by the bytes that it has read and written. */
struct api_flow {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
};

/* Most bytes of a head or a tail. */
enum { API_CODING_ENDS_MAX = API_TAIL_MAX };

/* The window of a body in zstd as a content coding has at most 8 MiB (RFC 9659). */
enum { API_ZSTD_WINDOW_LOG_MAX = 23 };

struct api_coding {
    const char *name, *alias; /* alias NULL: none */
    /* Of the library that encodes. Another version may write other bytes, so that entity tags of
     * encoded answers include it. */
    const char *(*version)(void);

    /* Nanoseconds, about: of a byte that is encoded, and of one that a decoder reads or writes. */
    double encode_work, decode_work;

    /* A decoder, its memory charged to the work as it is taken; NULL: no memory. */
    void *(*decode_open)(struct pe_work *work);
    /* Decodes until input or output is used up. PE_MALFORMED, PE_OUT_OF_MEMORY. */
    enum pe_status (*decode)(void *decoder, struct api_flow *flow, struct pe_error *err);
    /* May the body end here? */
    bool (*decode_ended)(const void *decoder);
    void (*decode_close)(void *decoder);

    /* Most bytes that `size` bytes can become. */
    size_t (*piece_room)(size_t size);
    /* Bytes that encoding a piece of at most `size` bytes works in: the caller's, aligned to 64, so
     * that they are in the budget and cannot be missing in the middle of an answer. */
    size_t (*workspace)(size_t size);
    /* Encodes a piece and returns the size of its code. SIZE_MAX: room or workspace is too small.
     */
    size_t (*piece)(const void *bytes, size_t size, unsigned char *out, size_t room,
                    unsigned char *workspace, size_t workspace_size);
    /* The check sum of a piece, and that of two pieces in a row from theirs. NULL: the coding has
     * none. */
    uint32_t (*sum)(const void *bytes, size_t size);
    uint32_t (*sum_combine)(uint32_t first, uint32_t second, uint64_t second_size);
    /* Write the head and the tail, and return their sizes. NULL: the coding has none. */
    size_t (*head)(unsigned char *out);
    size_t (*tail)(unsigned char *out, uint32_t sum, uint64_t size);
};

#define CODING(name, symbol) extern const struct api_coding api_coding_##symbol;
#include "api/codings/codings.def"
#undef CODING

extern const struct api_coding *const api_codings[]; /* ends with NULL */
extern const char api_codings_text[];                /* "zstd, gzip, ..., identity" */

/* The coding of a body by its Content-Encoding; *coding NULL: none. PE_UNKNOWN_FORMAT for one that
 * is not in the list, and for more than one. */
enum pe_status api_coding_find(const struct api_head *head, const struct api_coding **coding,
                               struct pe_error *err);

/* The coding that a client likes best, of an answer that may have any. *coding NULL: none;
 * *plain_refused: and that is not acceptable. field NULL: there is none. */
void api_coding_choose(const char *field, const struct api_coding **coding, bool *plain_refused);

/* May an answer have the coding of this name? field NULL: there is none. */
bool api_coding_is_taken(const char *field, const char *name);

#endif
