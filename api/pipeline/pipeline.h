/* SPDX-License-Identifier: MIT */
#ifndef API_PIPELINE_PIPELINE_H
#define API_PIPELINE_PIPELINE_H

/* The stages of a request between its head and its response. */

#include "api/memory/cache.h"
#include "api/response/result.h"

/* A request on its way, from its head to its response. */

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
    struct api_prefetch *ahead; /* of the buffer; NULL: its pages come as they are written to */
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

/* ---- routes.c -------------------------------------------------------------------------------- */

/* Finds the route of a path below the base path and sets route, name and view of the request.
 * For OPTIONS, which finds any route of the path, and for a method the path lacks, *allow is set to
 * the path's methods: "GET, HEAD, OPTIONS". PE_MALFORMED, PE_NOT_FOUND, PE_WRONG_METHOD. */
enum pe_status api_route_find(struct api_request *request, const char *path, const char **allow,
                              struct pe_error *err);
/* The route whose pattern has no braces and equals the path; NULL: none. */
const struct api_route *api_route_literal(const struct api_settings *settings, const char *method,
                                          const char *path);

/* ---- negotiate.c ----------------------------------------------------------------------------- */

/* Sets request->format and response_coding by what is known so far: the header and, later, what
 * read the body. PE_NOT_ACCEPTABLE. */
enum pe_status api_format_choose(struct api_intake *intake, struct pe_error *err);

/* Takes the format that a body asks for itself; false: it asks for none. PE_CONFLICT. */
bool api_format_told(struct api_intake *intake, struct pe_error *err);

/* ---- feed.c ---------------------------------------------------------------------------------- */

/* Makes ready for the body that a head announces: its limit, whether it is read or dropped, and for
 * a known length its place in the budget and its buffer. PE_TOO_LARGE, PE_BUSY. */
enum pe_status api_body_prepare(struct api_intake *intake, const struct api_head *head,
                                struct pe_error *err);

/* Does the route take a body of this media type? Asked of what the head says, and of the reader
 * that was found for bytes of no certain type. PE_UNKNOWN_FORMAT, with the field Accept. */
enum pe_status api_feed_type_check(struct api_intake *intake, const char *type,
                                   struct pe_error *err);

/* Counts the work of a body that has come whole and is about to be read. PE_TOO_LARGE. */
enum pe_status api_body_count(const struct api_intake *intake, struct pe_error *err);

/* ---- decode.c -------------------------------------------------------------------------------- */

/* For a body in intake->body_coding: api_decode_feed decodes bytes into the intake's buffer, and
 * api_decode_end the rest of them. PE_MALFORMED, PE_TOO_LARGE. */
enum pe_status api_decode_begin(struct api_intake *intake, struct pe_error *err);
enum pe_status api_decode_feed(struct api_intake *intake, const void *bytes, size_t size,
                               struct pe_error *err);
enum pe_status api_decode_end(struct api_intake *intake, struct pe_error *err);

/* ---- head_cache.c ---------------------------------------------------------------------------- */

/* Looks up a head equal to an earlier one. true: intake->cached_head is set, and the body needs no
 * parameters. false: intake->head_key is set where this head may be cached. */
bool api_head_cache_find(struct api_intake *intake, const struct api_head *head);
/* Caches the head of a finished response under intake->head_key, where its route can repeat it. */
void api_head_cache_put(struct api_intake *intake);
/* Makes the intake's response by intake->cached_head. false: it failed, see err. */
bool api_head_cache_respond(struct api_intake *intake, struct pe_error *err);

/* Nanoseconds, foretold to a factor of 4, that a loop may stand still for one request. */
#define API_QUICK_WORK 1e5

/* Elements that ranges ("0..7") of one request may be written out to on a loop. */
enum { API_LOOP_ELEMENTS = 4096 };

/* ---- finish.c -------------------------------------------------------------------------------- */

/* How many numbers a text is written out to if it is read as ranges; 0: it has none. */
size_t api_text_elements(const char *text);

/* ---- kept.c ---------------------------------------------------------------------------------- */

/* Responses of views that are kept whole for the next request alike in path, query and Accept
 * fields, which gets the bytes without a parameter being read. */

/* Sets intake->kept, or intake->kept_key for the response that will be made; neither where
 * responses are not kept. */
void api_kept_find(struct api_intake *intake, const struct api_head *head);

/* Makes the intake's response out of intake->kept. */
void api_kept_use(struct api_intake *intake);

/* Is the body a stream whose blocks the loop makes? */
bool api_streams_cheaply(const struct api_intake *intake);
/* Has a plan of moderate size made in one piece before it is sent, so that it can be kept: gives a
 * plan of a known size a buffer, which its blocks are made in later (then api_response_made);
 * makes text here and now, all its blocks. Other bodies stay as they are. Called when the response
 * has all its headers. */
void api_kept_prepare(struct api_intake *intake);

/* ---- intake.c -------------------------------------------------------------------------------- */

/* Rewords an error by its causes: short memory, a deadline, an unquoted URL. */
void api_error_explain(const struct api_intake *intake, struct pe_error *err);

/* ---- judge.c --------------------------------------------------------------------------------- */

/* Between the two phases of a handler, once: is what `open` announced within the limits, and can
 * the format hold it? Does the client have it already, and is `prepare` needed? Sets the response's
 * status where it is 304, and intake->prepares. */
enum pe_status api_judge(struct api_intake *intake, struct pe_error *err);

/* Judges a kept response: turns a 200 whose ETag the client has into a 304. */
void api_validate(struct api_intake *intake);

/* Gives a report that is made the ETag of its bytes and its coding, and turns it into a 304 where
 * the client has it. PE_OUT_OF_MEMORY. */
enum pe_status api_report_tag(struct api_intake *intake, struct pe_error *err);

/* ---- range.c --------------------------------------------------------------------------------- */

/* Ranges are sent of pure binary files, and never as answers to POST. */
bool api_has_ranges(const struct api_request *request, const struct api_result *result);

/* How much of a result's rows is made: the part that lies in the range that is asked for, 0 for
 * HEAD, else 1. `size`: bytes of all of them. */
double api_range_share(const struct api_request *request, const struct api_result *result,
                       uint64_t size);

/* Turns a 200 that accepts ranges into the 206 that was asked for. PE_RANGE. */
enum pe_status api_range_apply(struct api_intake *intake, struct pe_error *err);

#endif
