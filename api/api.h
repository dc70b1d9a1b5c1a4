/* SPDX-License-Identifier: MIT */
#ifndef API_H
#define API_H

/* The interface of api/ to server/ and service/: HTTP as values, without sockets.
 *
 *   head ──api_begin──▶ a refusal, or an intake    (by the head alone: before the upload)
 *   bytes ─api_feed───▶ nothing, or a refusal      (as often as bytes arrive)
 *          api_finish─▶ a response                 (always; a failure is a response)
 *          api_drain──▶ its bytes                  (the server makes the blocks itself)
 *
 * All calls are synchronous and thread-safe; one intake is used by one thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "posenc/posenc.h"
#include "posenc/status.h"

/* ---- the service ----------------------------------------------------------------------------- */

struct api;

struct api_limits {
    uint64_t body_max;          /* bytes of a request body */
    uint64_t json_body_max;     /* bytes of a JSON body */
    uint64_t output_max;        /* bytes of a response body */
    uint64_t json_elements_max; /* elements of a JSON answer */
    uint64_t json_values_max;   /* values of a JSON body outside of lists of numbers; 0: any */
    uint64_t dim_max;           /* width of an encoding, and of a head */
    uint64_t tensors_max;       /* tensors of one request */
    uint64_t work_max;          /* of one request, in ns of one core */
    uint64_t memory_budget;     /* bytes that all requests may hold; 0: no limit */
    uint64_t cache_max;         /* bytes of cached responses and rotations; part of the budget */
    /* The server's limits of a head, reported by GET /v1. 0: no such limit. */
    uint64_t head_max, fields_max;
};

/* The program around the service, for /metrics and /readyz. */
struct api_host {
    void *context;
    bool (*ready)(void *context);
    /* Appends Prometheus text to a string that grows by `append`. */
    void (*metrics)(void *context, void (*append)(void *sink, const char *text), void *sink);
    /* Logs a sentence; may be NULL. */
    void (*log)(void *context, const char *text);
};

/* A file of the explorer, plain and as gzip. */
struct api_file {
    const char *path; /* below the base path: "/explorer.js" */
    const char *media_type;
    const char *bytes, *bytes_end, *gzip, *gzip_end;
};

enum { API_FILES_MAX = 8 };

struct api_settings {
    struct api_limits limits;
    struct api_host host;
    struct pe_pool *pool;      /* not owned; NULL: the calling thread alone */
    const char *base_path;     /* "" or "/prefix"; links are relative to it */
    const char *cors_origin;   /* "*" or a list of origins separated by commas; NULL: "*",
                                * except for answers that depend on stored tables, which only pages
                                * of the service's own origin may read */
    const char *allowed_hosts; /* names separated by commas; NULL: any Host */
    const char *tables;        /* folder of the stored tables; NULL: none */
    const char *token_file;    /* tokens that may store, one a line; NULL: none */
    bool anonymous_writes;     /* storing needs no token */
    /* The explorer: its HTML, shown at "/" if Accept prefers that, then at most API_FILES_MAX files
     * that it loads. Ends with a path of NULL; not copied. A file without bytes is absent. Without
     * HTML "/" shows a list of paths. */
    const struct api_file *files;
    /* The flags in force as a JSON object, shown by GET /v1; NULL: none. */
    const char *flags_json;
};

/* The settings' strings are copied. */
enum pe_status api_new(struct api **api, const struct api_settings *settings, struct pe_error *err);
void api_free(struct api *api);

/* Sets the pool after api_new, once; requests that have begun may not use it. Thread-safe. */
void api_pool_set(struct api *api, struct pe_pool *pool);

/* The service's memory in bytes, and counts. */
struct api_state {
    uint64_t memory_budget, memory_held, memory_held_max, memory_idle, memory_connections;
    uint64_t cache_size, cache_hits, cache_misses;
    uint64_t tables_count, tables_size, tables_damaged, tables_waiting;
};

struct api_state api_state_read(struct api *api);

/* Counts the bytes of a connection in the budget when it begins, and when it ends. False: there is
 * no memory for it, and it has to be closed. Thread-safe. */
bool api_connection_began(struct api *api, uint64_t bytes);
void api_connection_ended(struct api *api, uint64_t bytes);
/* The same for the server's memory of a request: its head, a short reply. */
bool api_small_take(struct api *api, uint64_t bytes);
void api_small_give(struct api *api, uint64_t bytes);
/* The number of connections of `bytes` each that fit the budget. */
uint64_t api_connections_max(struct api *api, uint64_t bytes);

/* Gives memory that was not used for a while back to the system. To be called about once a second.
 */
void api_trim(struct api *api);

/* Reads tables that another process stored or deleted in the folder, and those that could not be
 * read before. */
void api_scan(struct api *api);
/* Like api_scan, and reads the token file again; host.log gets its errors. */
void api_reload(struct api *api);

/* ---- requests -------------------------------------------------------------------------------- */

struct api_field {
    const char *name, *value;
};

#define API_LENGTH_UNKNOWN UINT64_MAX /* chunked */

/* Used during the call only; api_begin copies what it needs later. */
struct api_head {
    const char *method;             /* "GET" */
    const char *path;               /* as received: percent-encoded, without the query */
    const char *query;              /* after '?', percent-encoded; NULL: none */
    const struct api_field *fields; /* header fields, names in any case */
    size_t fields_count;
    uint64_t content_length; /* 0: no body; API_LENGTH_UNKNOWN: chunked */
    uint64_t deadline;       /* of CLOCK_MONOTONIC, in ns; api_finish ends soon after it; 0: none */
};

/* The CPU time of a response, by its route in routes.def and the head of the request. Quick: under
 * about 100 us, so it is made on the loop. Brief: a few milliseconds, so a worker may make it
 * beside long ones. All else is made on the pool. */
enum api_cost {
    API_COST_QUICK,
    API_COST_QUICK_UNENCODED, /* only of routes: long if the response is encoded */
    API_COST_MAYBE_QUICK,     /* api_finish_if_quick decides */
    API_COST_LONG,            /* any time; api_finish_if_brief decides whether it is brief */
};

struct api_intake;
struct api_caching;
struct api_response;

/* NULL and an intake; or a refusal, after which the connection should be closed if it has a body.
 */
struct api_response *api_begin(struct api *api, const struct api_head *head,
                               struct api_intake **intake);

/* Copies the bytes. NULL; or a refusal, after which no more may be fed. */
struct api_response *api_feed(struct api_intake *intake, const void *bytes, size_t size);

/* Are the pages for the next `size` bytes still being made on the pool? Then these bytes are to be
 * fed after `wake` is called, once and from any thread. Without this call api_feed makes the pages,
 * which would block a loop. */
bool api_feed_waits(struct api_intake *intake, size_t size, void (*wake)(void *context),
                    void *context);

/* Feeds the complete body without a copy, after a head with API_LENGTH_UNKNOWN: the request may
 * modify the bytes, and they have to live until the response is freed. */
struct api_response *api_lend(struct api_intake *intake, void *bytes, size_t size);

/* Known after api_begin. Never API_COST_QUICK_UNENCODED. */
enum api_cost api_intake_cost(const struct api_intake *intake);

/* For API_COST_MAYBE_QUICK, after all bytes were fed: finishes if that is quick, the blocks of a
 * buffer included. NULL: it would take longer, or that is unknown; api_finish continues. */
struct api_response *api_finish_if_quick(struct api_intake *intake);

/* On a worker: may api_finish_if_brief be called? */
bool api_intake_may_be_brief(const struct api_intake *intake);
/* Finishes if the response, its blocks included, is estimated to be brief. NULL: it would take
 * longer; api_finish continues. */
struct api_response *api_finish_if_brief(struct api_intake *intake);

/* Sets the time that the request waited for api_finish, for Server-Timing. */
void api_intake_waited(struct api_intake *intake, double milliseconds);

/* Answers a request whose body is complete, and consumes the intake. Never NULL, even when out of
 * memory. */
struct api_response *api_finish(struct api_intake *intake);

/* Cancels a request: api_finish, if it runs on another thread, ends within 0.1 s with a refusal.
 * Thread-safe; allowed until the response of api_finish is freed. */
void api_intake_cancel(struct api_intake *intake);

/* Frees the intake of a request that will not be finished. NULL is allowed. */
void api_intake_free(struct api_intake *intake);

/* A refusal by the server (framing, deadlines); head NULL: none was read. */
struct api_response *api_refuse(struct api *api, const struct api_head *head, struct pe_error *err);

/* begin, feed and finish in one call, for tests and fuzzing. */
struct api_response *api_handle(struct api *api, const struct api_head *head, const void *body,
                                size_t size);

/* ---- responses ------------------------------------------------------------------------------- */

#define API_SIZE_UNKNOWN UINT64_MAX

enum api_body_kind {
    API_BYTES, /* `bytes` has all of them */
    API_PLAN,  /* `fill` is pure: any block, in any order, on any thread, any number of times */
    API_JOB,   /* `fill` runs once for each block, in any order, on any thread; it uses up its input
                */
};

/* A body of blocks on a fixed grid, known before the first of them is made: the `prefix` (a file
 * header), then the blocks in order. Every block but the last has block_size bytes, unless size is
 * API_SIZE_UNKNOWN (text): then fill returns the size of each. */
struct api_body {
    enum api_body_kind kind;
    uint64_t size;              /* bytes to be sent, prefix included; or API_SIZE_UNKNOWN */
    const unsigned char *bytes; /* API_BYTES */
    const unsigned char *prefix;
    size_t prefix_size;
    size_t blocks, block_size; /* block_size: the most bytes of a block, for text too */
    uint64_t skip;             /* of a range: bytes before the first that is sent */
    unsigned char *buffer;     /* block b is made at buffer + b * block_size, all of them before the
                                  first byte is sent; NULL: fill writes to `out` */
    /* Returns the bytes written; SIZE_MAX: it failed, and the connection has to be closed. */
    size_t (*fill)(struct api_response *response, size_t block, unsigned char *out);
    /* Writes the bytes after the blocks, at most API_TAIL_MAX; called once, after all blocks are
     * made. NULL: none. Only for a body of unknown size. */
    size_t (*tail)(struct api_response *response, unsigned char *out);
    bool cheap;  /* filling a block is quick, and may be done on the loop */
    void *state; /* of fill and tail */
};

/* So few blocks are made by one thread: a job would take longer. */
enum { API_BLOCKS_FEW = 2 };

enum { API_HEADERS_MAX = 32, API_TAIL_MAX = 16 };

struct api_response {
    int status;
    const char *route; /* its pattern, for metrics: "/v1/encodings/{name}/{view}"; "": none */
    const char *request_id;
    const char *problem;              /* the code of a failure, for logs: "too-large"; else NULL */
    const char *operation, *encoding; /* for metrics and logs; "": none */
    enum pe_dtype dtype;
    uint64_t elements; /* computed for the answer, for metrics */
    bool close;        /* the connection should not be used again */
    bool head_only;    /* HEAD or 304: headers and size of the body, which is not sent */
    struct api_field headers[API_HEADERS_MAX]; /* the server adds Content-Length */
    size_t headers_count;
    struct api_body body;
    struct api_caching *caching; /* until api_response_made: how to cache a copy; NULL: it is not */
    struct api_arena *arena;     /* owns everything above */
};

/* Memory for sending a response, counted in the budget and freed with it; NULL: the budget is used
 * up. */
unsigned char *api_response_buffer(struct api_response *response, size_t size);
/* Counts memory that a library allocates for sending it, until it is freed; false: as above. */
bool api_response_count(struct api_response *response, size_t size);

/* To be called when all blocks of a body with a buffer are filled: it becomes bytes, and is cached
 * if `caching` is set. */
void api_response_made(struct api_response *response);

/* The part of a body that is sent: the prefix without its first bytes, then the blocks [first,
 * last), the first of them without its first bytes. A range can skip bytes. */
struct api_extent {
    uint64_t prefix_skip;
    size_t first, last, first_skip;
};

struct api_extent api_body_extent(const struct api_body *body);

/* Makes the body of a response on this thread, one block after the other, and passes each run of
 * bytes to the sink, in order, until the sink returns false. Nothing is passed for head_only. Once
 * for each response.
 *
 * false: the sink returned false, a block failed or was cancelled, or out of memory. */
bool api_drain(struct api_response *response,
               bool (*sink)(void *context, const void *bytes, size_t size), void *context);

/* Cancels a response: blocks that are being filled end soon, and fail. Thread-safe. */
void api_response_cancel(struct api_response *response);

/* When no block is being filled. */
void api_response_free(struct api_response *response);

#endif
