/* SPDX-License-Identifier: MIT */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

/* The objects of server/, shared by its files.
 *
 *   srv            the process: options, api, pool, loops
 *   srv_loop       a thread with a uv loop, an MHD daemon and a listening socket
 *   srv_connection a client's connection, checked for its end and for deadlines
 *   srv_request    one exchange; belongs to its loop, is computed on the pool
 *   srv_outcome    facts of a response, for the log and the metrics once MHD has it
 *
 * A request never leaves its loop: workers use only its job and its response, and hand it back by
 * srv_loop_post. */

#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "api/api.h"
#include "server/options.h"

struct srv_metrics;
struct srv_supervisor;

/* The largest --loops. */
enum { SRV_LOOPS_MAX = 256 };

struct srv {
    struct srv_options options;
    struct api *api;
    struct pe_pool *pool;
    struct srv_metrics *metrics;
    struct srv_supervisor *supervisor;
    struct srv_loop *loops;
    size_t loops_count;
    bool log_json, log_off;
    atomic_bool draining;   /* /readyz fails, and every answer closes its connection */
    atomic_size_t computed; /* requests that are computed or queued */
};

/* ---- supervisor.c ---------------------------------------------------------------------------- */

/* The main thread's uv loop: signals, timers of the process, and the end of the other loops. */

/* Allocates all it needs of the system before anything else runs. NULL: message has the reason. */
struct srv_supervisor *srv_supervisor_new(struct srv *srv, char *message, size_t size);
/* Unblocks the signals, and returns when all loops have ended. */
void srv_supervisor_run(struct srv_supervisor *supervisor);
/* Ends the running loops without a signal, for a start that failed. */
void srv_supervisor_end(struct srv_supervisor *supervisor);
/* After all loops were joined. NULL is allowed. */
void srv_supervisor_free(struct srv_supervisor *supervisor);
/* The last call of each loop, from its thread. */
void srv_supervisor_loop_ended(struct srv_supervisor *supervisor);

/* SIG_BLOCK before the first thread starts, SIG_UNBLOCK once there are handlers: a signal that
 * arrives during the start stays pending until then. */
void srv_signals_mask(int how);

/* Sends a state, "READY=1" or "STOPPING=1", to the service manager's socket that NOTIFY_SOCKET
 * names (the protocol of sd_notify). Without that variable nothing happens. */
void srv_notify(const char *state);

/* ---- listen.c -------------------------------------------------------------------------------- */

/* Opens `count` sockets that share one address by SO_REUSEPORT; port 0 becomes the one chosen.
 * False: message has the reason, and none is open. */
bool srv_listen(const char *host, uint64_t *port, int *listeners, size_t count, char *message,
                size_t size);

/* ---- loop.c ---------------------------------------------------------------------------------- */

/* Work that a pool thread finished; `ready` is called on the loop. */
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
    uv_timer_t timeout;   /* MHD's next timeout */
    uv_idle_t soon;       /* active while MHD has to run at once */
    uv_timer_t tick;      /* checks of deadlines */
    uv_async_t wake;      /* posts, or a change of phase */
    pthread_mutex_t lock; /* of posts and ended */
    struct srv_post *posts;
    bool ended; /* uv closes its handles: uv_async_send is no longer allowed */
    struct srv_connection *connections;
    struct srv_linger *lingers;
    size_t lingers_count;
    struct srv_cached_reply *cached_replies; /* the most recently used first */
    size_t cached_replies_count;
    size_t requests;  /* under way */
    size_t suspended; /* connections; MHD must not be stopped while there are any */
    size_t blocks;    /* of streams, on the pool: the loop lives until each of them has posted */
    unsigned int idle_timeout_s; /* of MHD's connections */
    uint64_t heads_next_ns;      /* no search for a large head before it */
    bool again;                  /* MHD must run once more before the loop waits */
    bool checks_soon;            /* the next tick comes early: a client may have left */
    bool quiesced;               /* no longer listening */
    atomic_int phase;
};

enum srv_phase { SRV_RUNNING, SRV_QUIESCE, SRV_END_NOW };

/* Bytes of a loop's stack, independent of `ulimit -s`. Requests computed on the loop take up to
 * 40 KiB in the recorded tests; sanitizers widen frames. */
enum { SRV_STACK_SIZE = 1 << 20 };

/* Takes the listening socket over, even on failure. False: message has the reason. */
bool srv_loop_start(struct srv_loop *loop, struct srv *srv, int listener, char *message,
                    size_t size);
/* From any thread, even after the loop's end. */
void srv_loop_set_phase(struct srv_loop *loop, enum srv_phase phase);
void srv_loop_join(struct srv_loop *loop);
/* After srv_loop_join, and after the last post. */
void srv_loop_free(struct srv_loop *loop);
/* From any thread. */
void srv_loop_post(struct srv_loop *loop, struct srv_post *post);
/* Suspends a connection. On the loop, in MHD's callbacks only. */
void srv_loop_suspend(struct srv_loop *loop, struct MHD_Connection *connection);
/* Resumes a connection: MHD runs again before the loop waits. On the loop. */
void srv_loop_resume(struct srv_loop *loop, struct MHD_Connection *connection);
/* Brings the next check of deadlines forward. On the loop. */
void srv_loop_check_soon(struct srv_loop *loop);

/* ---- connection.c ---------------------------------------------------------------------------- */

struct srv_connection {
    struct srv_connection *next, *previous;
    struct srv_loop *loop;
    struct MHD_Connection *connection;
    int fd;
    uv_poll_t watch;             /* for UV_DISCONNECT */
    struct srv_request *request; /* under way; NULL: between two */
    bool counted;                /* in the budget */
    bool watched;                /* `watch` is a handle of the loop */
    bool served;                 /* there was a request */
    bool half_closed;            /* the client sends no more */
    uint64_t half_closed_ms;     /* since when */
    bool lingers;                /* after an upload was refused: read on for a while */
    unsigned int requests;       /* that were completed */
    uint64_t received;           /* bytes of these; less for pipelined requests */
    uint64_t idle_since_ms;      /* of the loop's clock */
};

/* MHD_NotifyConnectionCallback; cls is the loop. */
void srv_connection_notify(void *cls, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode code);
struct srv_connection *srv_connection_of(struct MHD_Connection *connection);
/* Of a request that is completed. */
void srv_connection_request_ended(struct srv_connection *c, const struct srv_request *request);
/* The library's log (MHD_OPTION_EXTERNAL_LOGGER): answers a head that is too large for the
 * library's memory before the library does. cls is the loop. */
void srv_connection_log(void *cls, const char *format, va_list arguments);
/* Closes connections that are past a deadline, and cancels the work of clients that left. Called
 * every 50 ms, and sooner after srv_loop_check_soon. end: also closes all between two requests. */
void srv_connections_check(struct srv_loop *loop, bool end);
/* Every 50 ms: closes lingering sockets whose time is over; end: all of them. */
void srv_lingers_check(struct srv_loop *loop, bool end);

/* ---- request.c ------------------------------------------------------------------------------- */

/* Facts of a response that the log and the metrics need once MHD has it. */
struct srv_outcome {
    int status; /* 0: there was none */
    const char *route;
    const char *problem; /* its code; "" */
    char request_id[132], operation[32], encoding[68];
    enum pe_dtype dtype;
    uint64_t elements, size; /* size: of the body; of a stream, the bytes that MHD has got */
};

/* Bytes counted since a moment. */
struct srv_rate {
    uint64_t since_ms, bytes; /* since_ms 0: not begun */
};

struct srv_request {
    struct srv_post post; /* first: a post is its request */
    struct pe_job job;
    struct srv_loop *loop;
    struct srv_connection *client;
    struct MHD_Connection *connection;
    size_t counted;           /* bytes of this struct and its URI in the budget */
    char *uri;                /* raw, split into its parts */
    const char *path, *query; /* parts of uri; query NULL: none */
    enum {
        REQUEST_NEW,
        REQUEST_REFUSED, /* by srv_reply_raw, before its head was read; it only ends */
        REQUEST_BODY,
        REQUEST_WORKING,
        REQUEST_READY,
        REQUEST_ANSWERED,
    } state;
    struct api_intake *intake;
    struct api_intake *working; /* on the pool, until it has a response: only to be cancelled */
    struct api_response *response;
    struct api_response *streamed; /* being sent: only to be cancelled */
    struct srv_stream *stream;     /* of the response; owned by MHD once the answer has begun, and
                                      valid as long as the request */
    struct srv_cached_reply *cached_reply; /* the reply in use; NULL: another one */
    uint64_t began_ns, began_ms, queued_ns, discarded;
    uint64_t received;
    size_t head_bytes, head_size; /* as srv_head_bytes and srv_head_size count them */
    bool chunked;
    struct srv_rate body_rate, read_rate;
    bool sleeping; /* suspended: its stream waits for a block, or its body for memory */
    bool brief;    /* the remaining work is estimated to be short, or unknown */
    bool timed_out;
    bool in_buffer;     /* the blocks of the response are made in its one buffer, on the pool */
    bool made;          /* all of them are made */
    bool takes_interim; /* HTTP/1.1: may be sent an interim response */
    bool probed;        /* an interim response was sent */
    struct srv_outcome outcome;
    atomic_bool cancelled, failed;
    char method[16];
    char trace_id[33];
};

/* MHD's callbacks: URI log, access handler, completion. cls is the loop. MHD calls the access
 * handler again and again until it has a response: with the head, with each piece of the body, at
 * its end, and once the work that suspended the connection is done. By request->state these calls
 * are head_take, body_take, work_start and work_end. */
void *srv_request_begin(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result srv_request_access(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_size, void **context);
void srv_request_complete(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code);
/* Answers a body that arrives too slowly with 408. */
void srv_request_refuse_slow(struct srv_request *request);

/* The client left or a timeout ended: queued jobs are removed from the pool, running ones end
 * soon. */
void srv_request_cancel(struct srv_request *request, bool timed_out);
/* Does the client wait for the pool, before its answer or in the middle of it? */
bool srv_request_is_computing(const struct srv_request *request);
/* Sends a byte to a client that has shut down its side. One that closed its socket answers with a
 * reset, one that still waits does not. The byte is of an interim response before the answer, and
 * within a stream the byte that was withheld. */
void srv_request_probe(struct srv_request *request, int fd);

/* ---- framing.c ------------------------------------------------------------------------------- */

/* SRV_CONNECTION_MEMORY is zeroed at every keep-alive reset: more of it costs each request time. A
 * head may take SRV_HEAD_MAX of it, counted by srv_head_size, which leaves memory for the header of
 * an answer. */
enum {
    SRV_CONNECTION_MEMORY = 20 << 10,
    SRV_CONNECTION_STRUCTS = 3 << 10, /* about: the library's and ours */
    SRV_CONNECTION_SIZE = SRV_CONNECTION_MEMORY + SRV_CONNECTION_STRUCTS,
    SRV_HEAD_MAX = 16 << 10,
    SRV_FIELD_SIZE = 64, /* the library's memory for a field or a cookie, besides its text */
    SRV_FIELDS_MAX = 128,
};

/* The bytes of a complete head as it was received. */
size_t srv_head_bytes(struct MHD_Connection *connection);
/* The library's memory for a head of so many bytes, whose fields are parsed, all or the first ones:
 * its text, SRV_FIELD_SIZE for each field and cookie, and a copy of the Cookie field. */
size_t srv_head_size(struct MHD_Connection *connection, size_t bytes);
/* The error of a head of such a size, if it is over SRV_HEAD_MAX: PE_URI_TOO_LONG where path and
 * query are the larger part of it, or were not received completely, else PE_TOO_MANY_FIELDS, with
 * the name of the longest field. is_complete: all of the head was received. */
enum pe_status srv_head_size_check(struct MHD_Connection *connection, const struct api_head *head,
                                   size_t size, bool is_complete, struct pe_error *err);

/* Copies the URI, and removes the query from the library's buffer. NULL: out of memory. */
char *srv_uri_take(const char *uri);
/* Splits the URI of a request into path and query. Returns the host of a target in absolute form
 * (RFC 9112, 3.2.2), else NULL. */
const char *srv_target_split(struct srv_request *request);

/* Reads the header fields into `head`, and the length of the body; refuses heads that the HTTP
 * library accepts wrongly: two lengths, unknown transfer codings, names with blanks, a bad Host
 * (docs/internals/http-library.md). size: of srv_head_size. method and version are the library's
 * pointers. host: that of the target, which replaces the Host field, or NULL. fields has
 * SRV_FIELDS_MAX + 1 elements. PE_TOO_MANY_FIELDS, PE_URI_TOO_LONG: the library may have no memory
 * left for an answer. */
enum pe_status srv_framing_read(struct MHD_Connection *connection, size_t size, const char *method,
                                const char *version, const char *host, struct api_field *fields,
                                struct api_head *head, struct pe_error *err);

void srv_trace_copy(struct srv_request *request, const struct api_head *head);
bool srv_expects_continue(const struct api_head *head);
/* Prevents the library from sending 100 to a request without a body. */
void srv_expectation_hide(const struct api_head *head);

/* ---- reply.c --------------------------------------------------------------------------------- */

/* Hands the request's response to MHD; close: the connection ends after it. The response is freed
 * when MHD is done with it. */
enum MHD_Result srv_reply(struct srv_request *request, bool close);
/* Frees the request's response if MHD does not own it: at the end, or to replace it. */
void srv_response_drop(struct srv_request *request);
/* Writes a refusal to the socket itself, in the middle of a body, where MHD accepts no response.
 * Afterwards the connection can only be closed. */
void srv_reply_raw(struct srv_request *request);

/* A refusal made by the server, with the headers that depend on the request's id and origin. On the
 * loop, at any time before the request completes. */
struct api_response *srv_refuse(struct srv_request *request, struct pe_error *err);
/* Refuses a head of which so much was received, more than SRV_HEAD_MAX, by srv_reply_raw. */
void srv_head_refuse(struct srv_request *request, size_t size);
/* Refuses a head that the budget has no memory for (503), by srv_reply_raw. */
void srv_memory_refuse(struct srv_request *request);

/* Ends the use of the request's cached reply, if it has one. */
void srv_cached_reply_give(struct srv_request *request);
/* When no request is under way. */
void srv_cached_replies_free(struct srv_loop *loop);

/* ---- stream.c -------------------------------------------------------------------------------- */

struct srv_stream;

/* Is the body made while it is sent? */
bool srv_is_streamed(const struct api_response *response);
/* Starts to make the body of the request's response, which the stream takes over. True: the
 * request's post becomes ready when the first block is made or has failed. False: nothing was
 * started, because memory is out or there are no blocks. */
bool srv_stream_begin(struct srv_request *request);
bool srv_stream_failed(const struct srv_stream *stream); /* its first block did */
/* The reply of a stream, which is begun if it was not; its size is counted in the request's
 * outcome. NULL: out of memory. */
struct MHD_Response *srv_stream_response(struct srv_request *request);
/* Removes queued blocks from the pool. */
void srv_stream_cancel(struct srv_stream *stream);
/* Sends the withheld byte, if there is one. */
void srv_stream_probe(struct srv_stream *stream);
/* The request ends, or gets another response. */
void srv_stream_end(struct srv_stream *stream);

/* ---- metrics.c ------------------------------------------------------------------------------- */

struct srv_metrics *srv_metrics_new(void);
void srv_metrics_free(struct srv_metrics *metrics);
void srv_metrics_request(struct srv_metrics *metrics, const struct srv_request *request,
                         double seconds);
/* The time of one iteration of a loop, by the clock and on the CPU. */
void srv_metrics_turn(struct srv_metrics *metrics, double seconds, double cpu_seconds);
void srv_metrics_in_flight(struct srv_metrics *metrics, int change);
/* api_host.metrics; context is the srv. */
void srv_metrics_write(void *context, void (*append)(void *sink, const char *text), void *sink);

/* ---- log.c ----------------------------------------------------------------------------------- */

void srv_log_request(const struct srv *srv, const struct srv_request *request, double seconds);
/* One line to stderr. */
void srv_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- page_files.c, healthcheck.c ------------------------------------------------------------- */

/* The embedded files of the explorer and of /docs. */
const struct api_file *srv_page_files(void);

/* 0: the server of these options is ready; else 1. */
int srv_healthcheck(const struct srv_options *options);

#endif
