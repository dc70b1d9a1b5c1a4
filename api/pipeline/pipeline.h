/* SPDX-License-Identifier: MIT */
#ifndef API_PIPELINE_PIPELINE_H
#define API_PIPELINE_PIPELINE_H

/* The stages of a request between its head and its response. */

#include "api/memory/cache.h"
#include "api/response/result.h"

/* A request being received and computed. It is in the arena of its request, as is the response. */
struct api_intake {
    struct api_request request;
    struct api_response *response;
    size_t common_headers;        /* the first headers of the response; the handler's follow */
    struct api_response *refusal; /* decided by the head, returned by api_finish */
    const char *accept, *accept_encoding, *format_wanted;
    double waited_ms, parse_ms, compute_ms;
    struct api_result result;    /* of the handler */
    bool read;                   /* the body was read, if there is one */
    bool opened;                 /* the result was opened and checked */
    bool prepares;               /* the checked result needs its second phase */
    double spent;                /* ns that reading the body cost */
    double cost;                 /* estimated ns of the body and the second phase */
    double first_cost;           /* the same without blocks that are made while they are sent */
    const void *cached_response; /* from the response cache: nothing else is read */
    const char *response_key;    /* to cache the response; NULL: it is not */
    const void *cached_head;     /* of an earlier request with an equal head; NULL: none */
    const struct pe_rotation *cached_rotation; /* that of cached_head */
    struct api_cache_key head_key;             /* to cache this head; size 0: it is not */
    unsigned char *buffer;                     /* the body; in the arena */
    size_t size, capacity;                     /* of the buffer */
    struct api_prefetch *prefetch;        /* makes pages of the buffer in advance; NULL: nothing */
    const struct api_coding *body_coding; /* of the body; NULL: none */
    struct api_decoding *decoding;
    uint64_t received; /* bytes of the body as received */
    uint64_t limit;    /* of the body, received and decoded */
    const char *limit_flag;
    uint64_t expected; /* Content-Length, or API_LENGTH_UNKNOWN */
    bool discards;     /* the route takes no body: it is counted and dropped */
};

/* ---- intake.c: beginning, failure and end of an intake --------------------------------------- */

/* An intake with an arena, an empty response and the headers of every response (CORS,
 * X-Request-Id). NULL: out of memory. head NULL: unknown. */
struct api_intake *api_intake_new(struct api *api, const struct api_head *head);

/* Removes the CORS headers from a response that depends on stored tables, unless --cors-origin was
 * given. Called when the dependence is decided, and before the response is cached. */
void api_intake_restrict_cors(struct api_intake *intake);

/* Replaces an error by its cause: out of memory, a deadline, an unquoted URL. */
void api_error_explain(const struct api_intake *intake, struct pe_error *err);

/* Ends an intake with a problem document. Never NULL. */
/* Adds to the refusal of a long URI how the same is requested by POST. */
void api_post_advise(struct api_intake *intake, const struct api_head *head, struct pe_error *err);
struct api_response *api_intake_fail(struct api_intake *intake, struct pe_error *err);

/* ---- begin.c: the head ----------------------------------------------------------------------- */

/* Elements that the ranges ("0..7") of one request may be expanded to on a loop. */
enum { API_LOOP_ELEMENTS = 4096 };

/* The number of elements that a text is expanded to if it is read as ranges; 0: it has none. */
size_t api_text_elements(const char *text);

/* ---- routes.c -------------------------------------------------------------------------------- */

/* Finds the route of a path below the base path and sets route, name and view of the request. For
 * OPTIONS, which finds any route of the path, and for a method that the path lacks, *allow is set
 * to the path's methods: "GET, HEAD, OPTIONS". PE_MALFORMED, PE_NOT_FOUND, PE_WRONG_METHOD. */
enum pe_status api_route_find(struct api_request *request, const char *path, const char **allow,
                              struct pe_error *err);
/* Does a POST to the path of a GET answer the same, with parameters in its body? */
bool api_route_is_posted(struct api_request *request, const char *path);
/* The route whose pattern has no braces and equals the path; NULL: none. */
const struct api_route *api_route_literal(const struct api_settings *settings, const char *method,
                                          const char *path);

/* ---- negotiate.c ----------------------------------------------------------------------------- */

/* Sets request->format and response_coding by the head and, once it is read, the body.
 * PE_NOT_ACCEPTABLE. */
enum pe_status api_format_choose(struct api_intake *intake, struct pe_error *err);

/* Reads the `format` of a body. false: it has none. PE_CONFLICT. */
bool api_format_of_body(struct api_intake *intake, struct pe_error *err);

/* ---- body.c ---------------------------------------------------------------------------------- */

/* Sets the limit of the body that a head announces, and whether it is dropped; reserves and
 * allocates a buffer of known size. PE_TOO_LARGE, PE_BUSY. */
enum pe_status api_body_prepare(struct api_intake *intake, const struct api_head *head,
                                struct pe_error *err);

/* Does the route take a body of this media type? For the type in the head, and later for that of
 * the reader that recognised the bytes. PE_UNKNOWN_FORMAT, with the header Accept. */
enum pe_status api_body_type_check(struct api_intake *intake, const char *type,
                                   struct pe_error *err);

/* Begins to decode a body in intake->body_coding; bytes are decoded as they are fed. */
enum pe_status api_decode_begin(struct api_intake *intake, struct pe_error *err);
/* Decodes the rest. PE_MALFORMED, PE_TOO_LARGE. */
enum pe_status api_decode_end(struct api_intake *intake, struct pe_error *err);

/* Charges the cost of reading a complete body. PE_TOO_LARGE. */
enum pe_status api_body_charge(const struct api_intake *intake, struct pe_error *err);

/* ---- response_cache.c: complete responses of views ------------------------------------------- */

/* Sets intake->cached_response, or intake->response_key for the response that will be made; neither
 * if the response is not to be cached. */
void api_response_cache_find(struct api_intake *intake, const struct api_head *head);

/* Makes the intake's response from intake->cached_response. */
void api_response_cache_respond(struct api_intake *intake);

/* Is the body a stream whose blocks are made on the loop? */
bool api_streams_cheaply(const struct api_intake *intake);
/* Makes a plan of moderate size complete before it is sent, so that it can be cached: a plan of
 * known size gets a buffer for its blocks (then api_response_made), text is made here. Other bodies
 * stay as they are. Called when the response has all its headers. */
void api_response_cache_prepare(struct api_intake *intake);

/* A cached response without its body. */
struct api_cached_facts {
    const struct api_route *route;
    const char *operation, *encoding;
    enum pe_dtype dtype;
    bool reads_store;
    struct api_field headers[API_HEADERS_MAX];
    size_t headers_count;
};

/* Copies operation, encoding, dtype and the headers [first, last) of a response; `strings` has
 * api_cached_facts_strings bytes for their texts. Returns the end of these. */
size_t api_cached_facts_strings(const struct api_response *response, size_t first, size_t last);
char *api_cached_facts_copy(struct api_cached_facts *facts, const struct api_response *response,
                            size_t first, size_t last, char *strings);
/* Makes the intake's response from cached facts, as a 200 without a body. */
void api_cached_facts_use(const struct api_cached_facts *facts, struct api_intake *intake);

/* ---- head_cache.c: rotations of an equal head ------------------------------------------------ */

/* Looks up a head equal to an earlier one. true: intake->cached_head is set, and the body needs no
 * parameters. false: intake->head_key is set if this head may be cached. */
bool api_head_cache_find(struct api_intake *intake, const struct api_head *head);
/* Caches the head of a finished response under intake->head_key, if its route can repeat it. */
void api_head_cache_put(struct api_intake *intake);
/* Makes the intake's response by intake->cached_head. false: it failed, see err. */
bool api_head_cache_respond(struct api_intake *intake, struct pe_error *err);

/* ---- conditions.c: limits, conditional requests, ranges -------------------------------------- */

/* Estimated nanoseconds, to a factor of 4, of a quick and of a brief request (enum api_cost). A
 * block of the pool takes at most 20 ms. */
#define API_QUICK_COST 1e5
#define API_BRIEF_COST 5e6

/* Between the two phases of a handler: checks the limits and the format, and whether the client has
 * the result already and the second phase is needed. Sets the response's status if it is 304, and
 * intake->prepares. */
enum pe_status api_result_check(struct api_intake *intake, struct pe_error *err);

/* Turns a cached 200 into a 304 if the client has its ETag. */
void api_validate(struct api_intake *intake);

/* Sets the ETag of a report by its bytes and coding, and turns it into a 304 if the client has it.
 * PE_OUT_OF_MEMORY. */
enum pe_status api_report_tag(struct api_intake *intake, struct pe_error *err);

/* Only pure binary files have ranges, and never as answers to POST. */
bool api_has_ranges(const struct api_request *request, const struct api_result *result);

/* Turns a 200 that accepts ranges into the requested 206. PE_RANGE. */
enum pe_status api_range_apply(struct api_intake *intake, struct pe_error *err);

#endif
