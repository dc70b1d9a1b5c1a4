/* SPDX-License-Identifier: MIT */
#ifndef API_CODINGS_CODING_H
#define API_CODINGS_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "posenc/work.h"

/* Content codings (RFC 9110, 8.4.1). Request bodies are decoded as they arrive. Answers are encoded
 * in independent pieces, which threads can make in any order: a head, the pieces, and a tail with
 * the check sum of all. */

/* Input and output of a decoder; a call advances both. */
struct api_flow {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
};

/* The most bytes of a head or a tail. */
enum { API_CODING_ENDS_MAX = API_TAIL_MAX };

/* The window of zstd as a content coding is at most 8 MiB (RFC 9659). */
enum { API_ZSTD_WINDOW_LOG_MAX = 23 };

struct api_coding {
    const char *name, *alias; /* alias NULL: none */
    /* The version of the library. Another one may write other bytes, so entity tags of encoded
     * answers include it. */
    const char *(*version)(void);

    /* Estimated nanoseconds of a byte of text encoded, and of a byte read or written by a decoder.
     */
    double encode_cost, decode_cost;

    /* A decoder, whose memory is charged to the work; NULL: no memory. */
    void *(*decode_open)(struct pe_work *work);
    /* Decodes until input or output is used up. PE_MALFORMED, PE_OUT_OF_MEMORY. */
    enum pe_status (*decode)(void *decoder, struct api_flow *flow, struct pe_error *err);
    /* May the body end here? */
    bool (*decode_ended)(const void *decoder);
    void (*decode_close)(void *decoder);

    /* The most bytes of the code of `size` bytes. */
    size_t (*piece_max)(size_t size);
    /* Bytes of workspace for a piece of up to `size` bytes, aligned to 64. The caller provides it,
     * so that it is in the budget and cannot be missing in the middle of an answer. */
    size_t (*workspace)(size_t size);
    /* Encodes a piece and returns the size of the code. SIZE_MAX: `out` or the workspace is too
     * small. */
    size_t (*piece)(const void *bytes, size_t size, unsigned char *out, size_t out_size,
                    unsigned char *workspace, size_t workspace_size);
    /* The check sum of a piece, and that of two consecutive pieces from theirs. NULL: none. */
    uint32_t (*sum)(const void *bytes, size_t size);
    uint32_t (*sum_combine)(uint32_t first, uint32_t second, uint64_t second_size);
    /* Write the head and the tail, and return their sizes. NULL: none. */
    size_t (*head)(unsigned char *out);
    size_t (*tail)(unsigned char *out, uint32_t sum, uint64_t size);
};

#define CODING(name, symbol) extern const struct api_coding api_coding_##symbol;
#include "api/codings/codings.def"
#undef CODING

extern const struct api_coding *const api_codings[]; /* ends with NULL */
extern const char api_codings_text[];                /* "zstd, gzip, ..., identity" */

/* The coding of a body by its Content-Encoding; *coding NULL: none. PE_UNKNOWN_FORMAT for several
 * codings and for an unknown one. */
enum pe_status api_coding_find(const struct api_head *head, const struct api_coding **coding,
                               struct pe_error *err);

/* The coding that a client prefers by its Accept-Encoding field, which may be NULL. *coding NULL:
 * none; *plain_refused: an answer without coding is not acceptable. */
void api_coding_choose(const char *field, const struct api_coding **coding, bool *plain_refused);

/* Does the field, which may be NULL, accept the coding of this name? */
bool api_coding_is_accepted(const char *field, const char *name);

/* The allocator of decoders, whose memory is charged to a work. Returns count * size bytes, not
 * zeroed, aligned for any type. NULL: no memory, or over the limit of the work. */
void *api_decoder_take(struct pe_work *work, size_t count, size_t size);
void api_decoder_give(struct pe_work *work, void *piece); /* NULL is fine */

#endif
