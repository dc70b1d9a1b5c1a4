/* SPDX-License-Identifier: MIT */
#ifndef API_API_H
#define API_API_H

/* The whole face of api/ towards server/: HTTP as values, with no socket in sight.
 *
 *   head ──api_begin──▶ a refusal, or an intake    (by the head alone: before the upload)
 *   bytes ─api_feed───▶ nothing, or a refusal      (as often as bytes arrive)
 *          api_finish─▶ a response                 (always; a failure is a response)
 *          api_drain──▶ its bytes                  (the server makes the blocks by itself)
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
    uint64_t memory_budget;     /* bytes that all requests may hold; 0: no bound */
    uint64_t cache_max;         /* bytes kept of answers and rotations; part of the budget */
    /* Of what the server reads before a request is here; told by GET /v1. 0: it has no such limit.
     */
    uint64_t uri_max, head_max, fields_max;
};

/* The server, as /metrics and /readyz see it. */
struct api_host {
    void *context;
    bool (*ready)(void *context);
    /* Appends Prometheus text to a string that grows by `append`. */
    void (*metrics)(void *context, void (*append)(void *sink, const char *text), void *sink);
    /* A sentence for whoever runs the service; may be NULL. */
    void (*log)(void *context, const char *text);
};

/* A file of the page for people, as it is and as gzip. */
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
                                * of the service's own origin read */
    const char *allowed_hosts; /* names separated by commas; NULL: any Host */
    const char *tables;        /* folder of the stored tables; NULL: none are */
    const char *token_file;    /* of those who may store, one a line; NULL: nobody may */
    bool anonymous_writes;     /* unless this: everybody may */
    /* The page for people: its HTML, shown at "/" where Accept prefers that, and behind it at most
     * API_FILES_MAX files that it asks for. Ends with a path of NULL; not copied. One without bytes
     * is not there. NULL, or no HTML: what is shown at "/" is a list of paths. */
    const struct api_file *files;
    /* Shown by GET /v1 as {"name": value, ...}: flags in force, as JSON text; NULL: none. */
    const char *flags_json;
};

/* The settings' strings are copied. */
enum pe_status api_new(struct api **api, const struct api_settings *settings, struct pe_error *err);
void api_free(struct api *api);

/* Gives the service its threads later than api_new, once; requests that have begun may do without.
 * Thread-safe. */
void api_pool_set(struct api *api, struct pe_pool *pool);

/* Memory of the service at this moment, in bytes, and counts. */
struct api_state {
    uint64_t memory_budget, memory_held, memory_held_max, memory_kept, memory_connections;
    uint64_t cache_size, cache_hits, cache_misses;
    uint64_t tables_count, tables_size, tables_damaged, tables_waiting;
};

struct api_state api_state_read(struct api *api);

/* Counts the bytes of a connection that begins, or ends, in the budget: requests have what
 * connections leave. False: there is no memory for one more, and it must end. Thread-safe. */
bool api_connection_began(struct api *api, uint64_t bytes);
void api_connection_ended(struct api *api, uint64_t bytes);
/* The same of what the server keeps of a request beside its arena: its head, a short reply. */
bool api_small_take(struct api *api, uint64_t bytes);
void api_small_give(struct api *api, uint64_t bytes);
/* Connections of so many bytes each that the budget has room for. */
uint64_t api_connections_max(struct api *api, uint64_t bytes);

/* Called about once a second: memory that was kept and not used for a while goes back to the
 * system. */
void api_trim(struct api *api);

/* Reads the tables that another process has stored or deleted in the folder, and what could not be
 * read before. */
void api_scan(struct api *api);
/* Like api_scan, and reads the token file again; host.log is told what is wrong with it. */
void api_reload(struct api *api);

/* ---- requests -------------------------------------------------------------------------------- */

struct api_field {
    const char *name, *value;
};

#define API_LENGTH_UNKNOWN UINT64_MAX /* chunked */

/* Read during the call only, except that api_begin copies what it needs later. */
struct api_head {
    const char *method;             /* "GET" */
    const char *path;               /* as on the wire: still percent-encoded, no query */
    const char *query;              /* behind '?', still encoded; NULL: none */
    const struct api_field *fields; /* header fields, names in any case */
    size_t fields_count;
    uint64_t content_length; /* 0: no body; API_LENGTH_UNKNOWN: chunked */
    uint64_t deadline;       /* of CLOCK_MONOTONIC, in ns: api_finish ends soon after it; 0: none */
};

/* Where a response is made: of a route in routes.def, and of a request by what its head says. */
enum api_cost {
    API_COST_LOOP,  /* on the loop: under about 100 us */
    API_COST_PLAIN, /* of a route alone: on the loop, but on the pool where it is encoded */
    API_COST_SIZE,  /* opened on the loop where the body is short, and ended there where nothing is
                       left to make (api_finish_quickly); else on the pool */
    API_COST_POOL,  /* on the pool: it can take any time, if only to make its frequencies */
};

struct api_intake;
struct api_keep;
struct api_response;

/* NULL and an intake; or a refusal (which should close the connection if a body is on its way). */
struct api_response *api_begin(struct api *api, const struct api_head *head,
                               struct api_intake **intake);

/* Takes a copy of the bytes. NULL; or a refusal, after which no more may be fed. */
struct api_response *api_feed(struct api_intake *intake, const void *bytes, size_t size);

/* Is memory for the next `size` bytes still being made? They are not to be fed before `wake` is
 * called, once and from any thread. For a loop, which else makes it when it is fed. */
bool api_feed_waits(struct api_intake *intake, size_t size, void (*wake)(void *context),
                    void *context);

/* The whole body at once, of API_LENGTH_UNKNOWN: the bytes stay where they are, are worked in, and
 * must live until the response is freed. */
struct api_response *api_lend(struct api_intake *intake, void *bytes, size_t size);

/* Known from the head on. Never API_COST_PLAIN. */
enum api_cost api_intake_cost(const struct api_intake *intake);

/* For API_COST_SIZE, once all bytes are in: finishes on the loop where that takes under about 100
 * us, the blocks of a buffer included. NULL where it would take longer or nobody knows: api_finish
 * is still to be called, and goes on from where this ended. */
struct api_response *api_finish_quickly(struct api_intake *intake);

/* On a worker, whatever the cost: may api_finish_briefly be called? */
bool api_intake_is_brief(const struct api_intake *intake);
/* Finishes where the whole response is foretold to take a few milliseconds of CPU, its blocks
 * included. NULL where it would take longer: api_finish is still to be called, and goes on from
 * where this ended. */
struct api_response *api_finish_briefly(struct api_intake *intake);

/* How long the request waited for api_finish, for its Server-Timing. */
void api_intake_waited(struct api_intake *intake, double milliseconds);

/* The body is complete: consumes the intake. Never NULL, even when memory is short. */
struct api_response *api_finish(struct api_intake *intake);

/* Nobody waits for the answer any more: api_finish, where it is at work on another thread, ends
 * within a tenth of a second with a refusal. Thread-safe, and to be called while api_finish runs
 * and afterwards, until its response is freed. */
void api_intake_cancel(struct api_intake *intake);

/* For a request that is not finished: a client that left, a refusal by api_feed. NULL is fine. */
void api_intake_free(struct api_intake *intake);

/* A refusal that the server words itself (framing, deadlines); `head` NULL where none was read. */
struct api_response *api_refuse(struct api *api, const struct api_head *head, struct pe_error *err);

/* begin, feed and finish in one call, for tests and fuzzing: the whole body is at hand. */
struct api_response *api_handle(struct api *api, const struct api_head *head, const void *body,
                                size_t size);

/* ---- responses ------------------------------------------------------------------------------- */

#define API_SIZE_UNKNOWN UINT64_MAX

enum api_body_kind {
    API_BYTES, /* `bytes` holds all `size` of them */
    API_PLAN,  /* `fill` is pure: any block, in any order, on any thread, again if need be */
    API_JOB,   /* `fill` runs once for each block, side by side; after that the input is gone */
};

/* A body of blocks on a fixed grid, known before the first of them is made. It begins with the
 * `prefix` (a file header), then the blocks in order. Every block has block_size bytes but the last
 * one, unless size is API_SIZE_UNKNOWN (text): then fill says how long each is. */
struct api_body {
    enum api_body_kind kind;
    uint64_t size;              /* to be sent, prefix included; or API_SIZE_UNKNOWN */
    const unsigned char *bytes; /* API_BYTES */
    const unsigned char *prefix;
    size_t prefix_size;
    size_t blocks, block_size; /* block_size: room that a block needs, for text too */
    uint64_t skip;             /* a range: bytes of the whole before the first of `size` */
    unsigned char *buffer;     /* block b is made at buffer + b * block_size, all of them before the
                                  first byte is sent; NULL: fill writes to `out` */
    /* The bytes written, or SIZE_MAX: failed, the connection can only be cut. */
    size_t (*fill)(struct api_response *response, size_t block, unsigned char *out);
    /* Bytes behind the blocks, API_TAIL_MAX at most: asked for once, when every block is made.
     * NULL: none; never where the size is known. */
    size_t (*tail)(struct api_response *response, unsigned char *out);
    bool cheap;  /* a block takes under about 100 us: fill it on the loop */
    void *state; /* of the format whose `fill` it is, or of what encodes its blocks */
};

enum { API_HEADERS_MAX = 32, API_TAIL_MAX = 16 };

struct api_response {
    int status;
    const char *route; /* its pattern, for metrics: "/v1/encodings/{name}/{view}"; "": none fits */
    const char *request_id;
    const char *problem;              /* of a failure, its code, for logs: "too-large"; else NULL */
    const char *operation, *encoding; /* for metrics and logs; "" where there is none */
    enum pe_dtype dtype;
    uint64_t elements; /* computed by the answer, for metrics */
    bool close;        /* the connection should not be used again */
    bool head_only;    /* HEAD or 304: headers as they are, size as it would be, no body */
    struct api_field headers[API_HEADERS_MAX]; /* Content-Length is the server's business */
    size_t headers_count;
    struct api_body body;
    struct api_keep *keep;   /* until api_response_made: how to keep a copy */
    struct api_arena *arena; /* owns everything above */
};

/* Memory for sending it, freed with it, from the budget; NULL: there is none now. */
unsigned char *api_response_room(struct api_response *response, size_t size);
/* Counts memory that a library takes for sending it, until it is freed; false: as above. */
bool api_response_count(struct api_response *response, size_t size);

/* All blocks of a body with a buffer are filled: it becomes bytes, and is kept for the next one who
 * asks where `keep` says how. Text that is made in one piece is bytes before it is handed out. */
void api_response_made(struct api_response *response);

/* The part of a body that is sent, which a range may cut: the prefix without its first bytes, then
 * the blocks [first, last), the first of them without its first bytes. */
struct api_extent {
    uint64_t prefix_skip;
    size_t first, last, first_skip;
};

struct api_extent api_body_extent(const struct api_body *body);

/* The pump, for programs without a socket: makes the body of a response on this thread, one block
 * after the other, and hands each run of bytes to the sink, in order, until the sink returns false.
 * Nothing is handed out for head_only. Once for each response.
 *
 * false: the sink had enough, a block failed or was cancelled, or memory is short. */
bool api_drain(struct api_response *response,
               bool (*sink)(void *context, const void *bytes, size_t size), void *context);

/* Nobody waits for the rest: blocks that are being filled end soon, and fail. Thread-safe. */
void api_response_cancel(struct api_response *response);

/* Only when no block is being filled any more. */
void api_response_free(struct api_response *response);

#endif
