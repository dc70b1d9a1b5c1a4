/* SPDX-License-Identifier: MIT */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

/* The objects of server/, shared by its files.
 *
 *   srv            the process: settings, api, pool, loops
 *   srv_loop       a thread with a uv loop, an MHD daemon and a listening socket
 *   srv_connection a client; watched for its end and for deadlines
 *   srv_request    one exchange; belongs to its loop, works on the pool
 *   srv_outcome    facts of a response, for the log and the metrics once it is on its way
 *
 * A request never leaves its loop: workers touch its job and its response only, and hand it back by
 * srv_loop_post. */

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "api/api.h"
#include "server/config.h"

struct srv_metrics;
struct srv_watch;

/* Of --loops: more than any machine has use for. */
enum { SRV_LOOPS_MAX = 256 };

struct srv {
    struct srv_config config;
    struct api *api;
    struct pe_pool *pool;
    struct srv_metrics *metrics;
    struct srv_watch *watch;
    struct srv_loop *loops;
    size_t loops_count;
    bool log_json, log_off;
    atomic_bool draining;   /* unready, and every answer closes its connection */
    atomic_size_t computed; /* requests that are computed or wait for it */
};

/* ---- loop.c ---------------------------------------------------------------------------------- */

/* Something a worker finished; `ready` is called on the loop. */
struct srv_post {
    struct srv_post *next;
    void (*ready)(struct srv_post *post);
};

struct srv_loop {
    struct srv *srv;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    uv_loop_t uv;
    uv_poll_t poll;       /* MHD's epoll descriptor */
    uv_timer_t timeout;   /* when MHD wants to be called again */
    uv_idle_t soon;       /* it wants to be called at once */
    uv_timer_t tick;      /* deadlines */
    uv_async_t wake;      /* posts, or a change of phase */
    pthread_mutex_t lock; /* of posts and ended */
    struct srv_post *posts;
    bool ended; /* uv closes its handles: nobody may wake it */
    struct srv_connection *connections;
    struct srv_linger *lingers;
    size_t lingers_count;
    struct srv_small *smalls; /* replies to be used again, the last one first */
    size_t smalls_count;
    size_t requests;  /* under way */
    size_t suspended; /* connections; none may be when MHD stops */
    size_t blocks; /* of streams, on the pool: each will post, so the loop must live until then */
    unsigned int idle_timeout_s; /* of MHD's connections */
    bool again;                  /* MHD must run once more in this turn */
    bool hurries;                /* somebody who is computed for may have left */
    bool quiesced;               /* no longer listening */
    atomic_int phase;
};

enum srv_phase { SRV_RUNNING, SRV_QUIESCE, SRV_END_NOW };

/* Bytes of a loop's stack, whatever `ulimit -s` says: quick requests are computed on it, and those
 * that the tests record take at most 40 KiB. Sanitizers widen frames. */
enum { SRV_STACK_SIZE = 1 << 20 };

/* Takes the listening socket, false or not. False: message says why. */
bool srv_loop_start(struct srv_loop *loop, struct srv *srv, int listener, char *message,
                    size_t size);
/* From any thread, ended or not. */
void srv_loop_set_phase(struct srv_loop *loop, enum srv_phase phase);
void srv_loop_join(struct srv_loop *loop);
/* Joined before, and nobody else has it. */
void srv_loop_free(struct srv_loop *loop);
/* From any thread. */
void srv_loop_post(struct srv_loop *loop, struct srv_post *post);
/* Lets a connection sleep. On the loop, in MHD's callbacks only. */
void srv_loop_suspend(struct srv_loop *loop, struct MHD_Connection *connection);
/* The next look at deadlines comes soon. On the loop. */
void srv_loop_hurry(struct srv_loop *loop);
/* Wakes a connection: MHD runs again before the turn of the loop ends. On the loop. */
void srv_loop_resume(struct srv_loop *loop, struct MHD_Connection *connection);

/* ---- connection.c ---------------------------------------------------------------------------- */

struct srv_connection {
    struct srv_connection *next, *previous;
    struct srv_loop *loop;
    int fd;
    uv_poll_t watch;
    struct srv_request *request; /* under way; NULL: between two */
    bool counted;                /* in the budget */
    bool watched;                /* watch is a handle of the loop */
    bool served;                 /* there was a request */
    bool half_closed;            /* the client sends no more */
    uint64_t half_closed_ms;     /* since when */
    bool lingers;                /* its upload was refused: read on for a while behind the answer */
    uint64_t idle_since_ms;      /* of the loop's clock */
};

/* MHD_NotifyConnectionCallback; cls is the loop. */
void srv_connection_notify(void *cls, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode code);
struct srv_connection *srv_connection_of(struct MHD_Connection *connection);
/* Every 50 ms, and more often while the loop hurries: those over a deadline are cut, and work of
 * those who left is ended. end: all between two requests are cut too. */
void srv_connections_check(struct srv_loop *loop, bool end);

/* ---- linger.c -------------------------------------------------------------------------------- */

/* Before the descriptor of a connection is closed: what still comes is read and dropped. */
void srv_linger_start(struct srv_loop *loop, int fd);
/* Every 50 ms; end: all of them. */
void srv_lingers_check(struct srv_loop *loop, bool end);

/* ---- request.c ------------------------------------------------------------------------------- */

/* Facts of a response that the log and the metrics need once MHD has it. */
struct srv_outcome {
    int status; /* 0: there was none */
    const char *route;
    const char *problem; /* its code; "" */
    char request_id[132], operation[32], encoding[68];
    enum pe_dtype dtype;
    uint64_t elements, size; /* size: of the body, of a stream what was handed to MHD */
};

struct srv_rate {
    uint64_t since_ms, bytes; /* since_ms 0: not begun */
};

struct srv_request {
    struct srv_post post; /* first: a post is its request */
    struct pe_job job;
    struct srv_loop *loop;
    struct srv_connection *client;
    struct MHD_Connection *connection;
    size_t counted;           /* bytes of it and its URI in the budget */
    char *uri;                /* raw, cut into its parts */
    const char *path, *query; /* of it; query NULL: none */
    enum {
        REQUEST_NEW,
        REQUEST_REFUSED, /* before its head was read, by srv_reply_raw: only its end is left */
        REQUEST_BODY,
        REQUEST_WORKING,
        REQUEST_READY,
        REQUEST_ANSWERED,
    } state;
    struct api_intake *intake;
    struct api_intake
        *working; /* on the pool: to be cancelled, not used, until it has a response */
    struct api_response *response;
    struct api_response *streamed; /* on its way: to be cancelled, not used */
    struct srv_stream *stream; /* of the response; MHD's once the answer has begun, as long as the
                                  request lasts */
    struct srv_small *small;   /* the reply that it is answered with; NULL: another one */
    uint64_t began_ns, began_ms, queued_ns, discarded;
    uint64_t received;
    struct srv_rate body_rate, read_rate;
    bool sleeping; /* its stream waits for a block, or its body for memory */
    bool brief;    /* what is left of its work is foretold to be short, or is not known */
    bool timed_out;
    bool in_buffer;     /* the blocks of the response are made in its one buffer, on the pool */
    bool made;          /* all of them are */
    bool takes_interim; /* HTTP/1.1: it may be sent an interim response */
    bool probed;        /* it was */
    struct srv_outcome outcome;
    atomic_bool abandoned, failed;
    char method[16];
    char trace_id[33];
};

/* MHD's callbacks: URI log, access handler, completion. cls is the loop. MHD calls the access
 * handler again and again until it has a response: with the head, with each piece of the body, at
 * its end, and once the work that suspended the connection is done. request->state says which call
 * it is: head_take, body_take or work_start, work_end. */
void *srv_request_begin(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result srv_request_access(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_size, void **context);
void srv_request_complete(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code);
/* Its body comes too slowly: 408, and the connection ends. */
void srv_request_late(struct srv_request *request);

/* ---- upload.c -------------------------------------------------------------------------------- */

/* Does the connection sleep until there is memory for the next bytes of its body? The library has
 * them still, and brings them again. */
bool srv_upload_waits(struct srv_request *request, size_t size);

/* ---- leave.c --------------------------------------------------------------------------------- */

/* Its client is gone, or its time is over: jobs of the pool that have not begun are taken back, and
 * those that have end soon. */
void srv_request_abandon(struct srv_request *request, bool timed_out);
/* Does the client wait for the pool, before its answer or in the middle of it? */
bool srv_request_computes(const struct srv_request *request);
/* A client that closed its connection looks like one that sends no more and waits. Bytes tell them
 * apart, because only the first answers them by a reset: before the answer an interim response, and
 * while a block of it is made the byte that was withheld. */
void srv_request_probe(struct srv_request *request, int fd);

/* ---- rate.c ---------------------------------------------------------------------------------- */

/* Is less than --body-rate-min coming, less than --read-rate-min being taken? Asked every 50 ms
 * while a body, an answer is on its way. */
bool srv_body_is_slow(struct srv_request *request, uint64_t now_ms);
bool srv_reader_is_slow(struct srv_request *request, int fd, uint64_t now_ms);

/* ---- head.c ---------------------------------------------------------------------------------- */

/* SRV_CONNECTION_MEMORY is zeroed at every keep-alive reset: more costs each request. Of it a URI
 * may take SRV_URI_MAX, and SRV_HEAD_MAX with all header fields, so that there is room for the
 * header of an answer. */
enum {
    SRV_CONNECTION_MEMORY = 64 << 10,
    SRV_CONNECTION_STRUCTS = 3 << 10, /* about: the library's and ours */
    SRV_CONNECTION_SIZE = SRV_CONNECTION_MEMORY + SRV_CONNECTION_STRUCTS,
    SRV_URI_MAX = 48 << 10,
    SRV_HEAD_MAX = 58 << 10,
    SRV_FIELD_SIZE = 64, /* what the library takes for a field, besides its text */
};

/* A copy of the URI; the query is taken away from the library. NULL: out of memory. */
char *srv_uri_take(const char *uri);
/* Longer than SRV_URI_MAX: 414, on the socket as it is; the connection can only be closed. */
void srv_uri_refuse(struct srv_request *request);
/* Cuts the target of a request into path and query. The host that stands in front of the path in a
 * target of absolute form (RFC 9112, 3.2.2); else NULL. */
const char *srv_target_cut(struct srv_request *request);
/* The budget has no room for one more head: 503, likewise. */
void srv_memory_refuse(struct srv_request *request);
/* A refusal that the server words itself, with the id of the request and what a page of another
 * origin needs to read it. On the loop, at any time before the request completes. */
struct api_response *srv_refuse(struct srv_request *request, struct pe_error *err);
void srv_trace_copy(struct srv_request *request, const struct api_head *head);
bool srv_expects_continue(const struct api_head *head);
/* The library sends no 100 for this request, which has no body. */
void srv_expectation_drop(const struct api_head *head);

/* ---- framing.c ------------------------------------------------------------------------------- */

/* Reads the header fields into `head`, and the length of the body; refuses what the HTTP library
 * lets pass: two lengths, unknown transfer codings, names with blanks, a Host that is none
 * (docs/internals/http-library.md). method and version as the library gave them; host: that of the
 * target, which takes the place of the Host field, or NULL. fields has room for SRV_FIELDS_MAX and
 * one.
 * PE_TOO_MANY_FIELDS: the library may have no memory left to answer with. */
enum { SRV_FIELDS_MAX = 128 };

enum pe_status srv_framing_read(struct MHD_Connection *connection, const char *method,
                                const char *version, const char *host, struct api_field *fields,
                                struct api_head *head, struct pe_error *err);

/* ---- reply.c --------------------------------------------------------------------------------- */

/* Hands the request's response to MHD; close: the connection ends after it. The response is freed
 * when MHD is done with it. */
enum MHD_Result srv_reply(struct srv_request *request, bool close);
/* Frees the request's response where MHD has not got it: at the end, or before another one. */
void srv_response_drop(struct srv_request *request);
/* In the middle of a body, where MHD takes no response: a refusal is written to the socket as it
 * is. The connection can only be closed behind it. */
void srv_reply_raw(struct srv_request *request);

/* ---- small.c --------------------------------------------------------------------------------- */

/* A reply with all of the request's response, which stays the caller's: lent until srv_small_give,
 * which the end of the request calls. NULL: the response is not small, or memory is out. */
struct MHD_Response *srv_small_take(struct srv_request *request);
void srv_small_give(struct srv_request *request);
/* No request is under way. */
void srv_smalls_free(struct srv_loop *loop);

/* ---- stream.c -------------------------------------------------------------------------------- */

struct srv_stream;

/* Is the body made while it is sent? */
bool srv_is_streamed(const struct api_response *response);
/* Begins to make the body of the request's response, which becomes the stream's. True: once its
 * first block is made, or failed, the post of the request is ready. False: nothing is under way,
 * because memory is out or there are no blocks. */
bool srv_stream_begin(struct srv_request *request);
bool srv_stream_failed(const struct srv_stream *stream); /* its first block did */
/* Of a stream that has begun, or begins now; its size is counted in the request's outcome. NULL:
 * out of memory. */
struct MHD_Response *srv_stream_response(struct srv_request *request);
/* Blocks that have not begun are taken back. */
void srv_stream_cancel(struct srv_stream *stream);
/* Sends the byte that was withheld, if there is one. */
void srv_stream_probe(struct srv_stream *stream);
/* The request ends, or has another response. */
void srv_stream_end(struct srv_stream *stream);

/* ---- metrics.c ------------------------------------------------------------------------------- */

struct srv_metrics *srv_metrics_new(void);
void srv_metrics_free(struct srv_metrics *metrics);
void srv_metrics_request(struct srv_metrics *metrics, const struct srv_request *request,
                         double seconds);
/* The length of a turn by the clock, and its part on the CPU. */
void srv_metrics_turn(struct srv_metrics *metrics, double seconds, double cpu_seconds);
void srv_metrics_in_flight(struct srv_metrics *metrics, int change);
/* api_host.metrics; context is the srv. */
void srv_metrics_write(void *context, void (*append)(void *sink, const char *text), void *sink);

/* ---- log.c ----------------------------------------------------------------------------------- */

void srv_log_request(const struct srv *srv, const struct srv_request *request, double seconds);
/* One line to stderr. */
void srv_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- healthcheck.c --------------------------------------------------------------------------- */

/* 0: the server of these settings is ready; else 1. */
int srv_healthcheck(const struct srv_config *config);

#endif
