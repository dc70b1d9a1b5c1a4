/* SPDX-License-Identifier: MIT */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

/* HTTP/1.1 as bytes (RFC 9112), with no socket in sight: where a head ends, what stands in it,
 * where its body ends, and which bytes of a chunked body are data. Where one request ends must be
 * beyond doubt: a proxy in front that read it otherwise would let one client speak for another. So
 * nothing is guessed: lines end in CR LF, fields have a name, and whatever else comes is refused.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* Of SRV_HEAD_ROOM a URI may take SRV_URI_MAX, and SRV_HEAD_MAX with all header fields, each
 * counted as SRV_FIELD_SIZE more than its text. */
enum {
    SRV_HEAD_ROOM = 64 << 10,
    SRV_URI_MAX = 48 << 10,
    SRV_HEAD_MAX = 58 << 10,
    SRV_FIELD_SIZE = 64,
    SRV_FIELDS_MAX = 128,
};

/* ---- head.c ---------------------------------------------------------------------------------- */

/* How far the lines of a head were looked at, so that no byte is looked at twice however slowly
 * they come. Zeroed before the first look. */
struct srv_scan {
    size_t at, line, lines; /* the next byte, the beginning of its line, lines before that one */
};

enum srv_scanned {
    SRV_SCAN_MORE,  /* the end is not here */
    SRV_SCAN_WHOLE, /* scan->at is behind the empty line */
    SRV_SCAN_BAD,   /* no head: a line feed alone, or a first byte that begins no method */
    SRV_SCAN_URI,   /* the first line is longer than any that is taken */
    SRV_SCAN_LONG,  /* all of it is */
};

enum srv_scanned srv_head_scan(struct srv_scan *scan, const char *text, size_t size);

/* A head, cut up where it lies: the strings are parts of its text. */
struct srv_head {
    const char *method, *target;
    unsigned minor; /* of HTTP/1 */
    struct api_field fields[SRV_FIELDS_MAX];
    size_t fields_count; /* those in `fields` */
    size_t fields_all,
        size; /* all that there were; their names and values, as SRV_HEAD_MAX counts */
    uint64_t content_length; /* of the body; API_LENGTH_UNKNOWN: chunked */
    bool keeps;              /* the connection may go on behind the answer */
    bool expects;            /* "100 Continue", or something else that nobody can meet */
};

/* Reads a whole head, which is overwritten. API_OK; or why it is refused, with as much in `head` as
 * was read: method and target are never NULL. */
enum api_status srv_head_read(struct srv_head *head, char *text, size_t size,
                              struct api_error *err);
/* NULL: there is none. Names in any case. */
const char *srv_head_field(const struct srv_head *head, const char *name);

/* ---- framing.c ------------------------------------------------------------------------------- */

/* Where the body ends and whether the connection goes on; refuses two lengths, unknown transfer
 * codings, and a Host that is none. */
enum api_status srv_framing_read(struct srv_head *head, struct api_error *err);

/* ---- chunks.c -------------------------------------------------------------------------------- */

/* A chunked body on its way. Zeroed before the first byte. */
struct srv_chunks {
    enum {
        CHUNK_SIZE,
        CHUNK_EXTENSION,
        CHUNK_SIZE_LF,
        CHUNK_DATA,
        CHUNK_CR,
        CHUNK_LF,
        CHUNK_TRAILER,      /* at the beginning of a line of the trailer section */
        CHUNK_TRAILER_LINE, /* in such a line */
        CHUNK_TRAILER_LF,   /* at its end */
        CHUNK_LAST_LF,
        CHUNK_END,
        CHUNK_BAD,
    } state;
    unsigned digits;
    size_t extra;  /* bytes of an extension, of the trailer section */
    uint64_t left; /* of a chunk */
};

/* Takes bytes of a body until it ends or the bytes do, or one is wrong: returns how many. *data:
 * how many of them were data, which is moved to their front. */
size_t srv_chunks_take(struct srv_chunks *chunks, char *bytes, size_t size, size_t *data);

#endif
