/* SPDX-License-Identifier: MIT */
#ifndef API_PIPELINE_INTAKE_H
#define API_PIPELINE_INTAKE_H

/* A request on its way, from its head to its response. */

#include "api/memory/cache.h"
#include "api/response/result.h"

/* A request on its way. It lies in the arena of its request, and so does the response. */
struct api_intake {
    struct api_request request;
    struct api_response *response;
    size_t common_headers;        /* of the response; those behind them are the handler's */
    struct api_response *refusal; /* decided by the head, handed out by api_finish */
    const char *accept, *accept_encoding, *format_wanted;
    double waited_ms, parse_ms, compute_ms;
    struct api_result result; /* of the handler */
    bool read;                /* the body, where there is one */
    bool opened;              /* and judged */
    bool prepares;            /* what is judged needs its second phase */
    double spent;             /* ns that the body had cost when that was judged */
    double work;              /* ns that are foretold of the second phase and the body */
    double first_work;        /* the same, without blocks that are made while they are sent */
    const void *kept;         /* kept from before: the request is not read any further */
    const char *kept_key;     /* under which the answer can be kept */
    const void *cached_head;  /* of an earlier request with an equal head; NULL: none */
    const struct pe_rotation *cached_rotation; /* that of cached_head */
    struct api_cache_key head_key;             /* to cache this head; size 0: it is not */
    unsigned char *buffer;                     /* the body; a room of the arena */
    size_t size, room;
    struct api_ahead *ahead; /* of the buffer; NULL: its pages come as they are written to */
    const struct api_coding *body_coding; /* of the body; NULL: it comes as it is */
    struct api_decoding *decoding;
    uint64_t received; /* bytes of the body as they come */
    uint64_t limit;    /* of the body, as it comes and decoded */
    const char *limit_flag;
    uint64_t expected; /* Content-Length, or API_LENGTH_UNKNOWN */
    bool discards;     /* a body that no one asked for: counted and dropped */
};

/* An intake with an arena, an empty response and what every answer carries (CORS, X-Request-Id).
 * NULL: memory is short. head NULL: nothing is known. */
struct api_intake *api_intake_new(struct api *api, const struct api_head *head);

/* Takes the fields of CORS off an answer that depends on stored tables, unless --cors-origin was
 * given. Called once what the answer depends on is certain, and before it is kept. */
void api_intake_origins_settle(struct api_intake *intake);

/* Ends an intake with a problem document. Never NULL. */
struct api_response *api_intake_fail(struct api_intake *intake, struct pe_error *err);

/* Reserves for so many bytes of a body and for the work on them: as much again, and three times
 * that for text, where a number of two characters becomes four or eight bytes. The handler that
 * knows better corrects it. PE_BUSY. */
enum pe_status api_intake_reserve(struct api_intake *intake, uint64_t size, struct pe_error *err);
/* Room for so many bytes of the body, which is within its limit. */
enum pe_status api_intake_room(struct api_intake *intake, size_t needed, struct pe_error *err);
enum pe_status api_intake_over_limit(const struct api_intake *intake, struct pe_error *err);

#endif
