/* SPDX-License-Identifier: MIT */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

/* The objects of server/, shared by its files.
 *
 *   srv            the process: settings, api, pool, loops
 *   srv_loop       a thread with a uv loop and a listening socket
 *   srv_connection a client: bytes in, bytes out, and one request at a time
 *   srv_request    one exchange; belongs to its connection, works on the pool
 *   srv_outcome    facts of a response, for the log and the metrics once it is on its way
 *
 * A request never leaves its loop: workers touch its job and its response only, and hand it back by
 * srv_loop_post. */

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <uv.h>

#include "api/api.h"
#include "server/config.h"
#include "server/http.h"

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

enum {
    SRV_ROOM = 64 << 10,      /* of a loop, for heads and chunked bodies on their way in */
    SRV_TEXT_ROOM = 16 << 10, /* of a loop, for heads on their way out */
    SRV_ADDRESSES = 256,      /* lists that connections are found in by their address */
};

struct srv_loop {
    struct srv *srv;
    pthread_t thread;
    uv_loop_t uv;
    uv_poll_t listen; /* the listening socket */
    int listener;
    uv_timer_t tick;     /* deadlines */
    uv_async_t wake;     /* posts, or a change of phase */
    uv_idle_t soon;      /* connections that had more than their share of a turn */
    uv_prepare_t before; /* a turn ends before the loop waits, and behind what it waited for */
    uv_check_t behind;
    pthread_mutex_t lock; /* of posts and ended */
    struct srv_post *posts;
    bool ended;                                   /* uv closes its handles: nobody may wake it */
    struct srv_connection *connections, *waiting; /* waiting: for their share of the next turn */
    struct srv_request *spare;                    /* memory of a request that is over; NULL: none */
    struct srv_connection *addresses[SRV_ADDRESSES]; /* where --per-ip-max is set */
    size_t connections_count;
    struct srv_linger *lingers;
    size_t lingers_count;
    size_t blocks;  /* of streams, on the pool: each will post, so the loop must live until then */
    bool listening; /* listen is on */
    bool hurries;   /* somebody who is computed for may have left */
    bool quiesced;  /* no longer listening */
    atomic_int phase;
    uint64_t turn_began_ns; /* 0: none has */
    double turn_cpu;
    time_t date_of; /* the second that `date` tells */
    char date[32];
    char *room; /* SRV_ROOM bytes: what a connection reads into first */
    char *text; /* SRV_TEXT_ROOM bytes */
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
/* The next look at deadlines comes soon. On the loop. */
void srv_loop_hurry(struct srv_loop *loop);
/* Something happens in this turn of the loop, which is measured. */
void srv_loop_turn(struct srv_loop *loop);
/* srv_connections_take is called in the next turn, which does not wait. */
void srv_loop_soon(struct srv_loop *loop);

/* ---- accept.c -------------------------------------------------------------------------------- */

/* uv's word for what failed, or 0. */
int srv_accept_start(struct srv_loop *loop);
/* Listens if there is room for a connection, at the latest 50 ms after there was none. */
void srv_accept_go_on(struct srv_loop *loop);
/* For good. */
void srv_accept_end(struct srv_loop *loop);
/* Counts the connection among those of its address; false: there are as many as may be. */
bool srv_address_add(struct srv_connection *c);
void srv_address_remove(struct srv_connection *c);

/* ---- connection.c ---------------------------------------------------------------------------- */

enum {
    SRV_PARTS = 8,
    /* About what one may hold: bytes that came, and structs of ours and libuv's. */
    SRV_CONNECTION_MEMORY = SRV_ROOM + (3 << 10),
};

/* Bytes on their way out, where they lie. */
struct srv_output {
    struct iovec parts[SRV_PARTS];
    size_t at, count; /* the next part to be sent; one behind the last */
    char *held; /* a copy of what lay in the loop's own memory and could not be sent at once */
};

struct srv_request;

struct srv_connection {
    struct srv_connection *next, *previous, *waiting;
    struct srv_connection *address_next, **address_at; /* among those of its address */
    struct srv_loop *loop;
    uv_poll_t watch;
    int fd, events; /* events: those that are watched for */
    bool open;      /* the descriptor is */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    struct srv_request *request; /* under way; NULL: between two */
    char *kept;                  /* bytes that came and were not used yet; NULL: there are none */
    size_t kept_size;
    struct srv_scan scan; /* of the head that begins there */
    struct srv_output output;
    bool served;      /* there was a request */
    bool half_closed; /* the client sends no more */
    bool lost;        /* it can only be closed, once nothing works for it any more */
    bool lingers;     /* its upload was refused: read on for a while behind the answer */
    bool taking;      /* bytes of it are being used: whatever ends now goes on from there */
    bool waits;       /* more was there than is used in one turn */
    uint64_t half_closed_ms, head_since_ms; /* of the loop's clock */
    uint64_t idle_since_ms;                 /* a byte moved, or could from then on */
};

/* Takes the descriptor; false: memory is short, and it was closed. */
bool srv_connection_new(struct srv_loop *loop, int fd, const struct sockaddr *address);
/* Ends its request. Where work is still under way the connection is closed after that. */
void srv_connection_close(struct srv_connection *c);
/* Behind a request: the next one, as far as it is here. */
void srv_connection_go_on(struct srv_connection *c);
/* Those that had more than their share of the turn before. */
void srv_connections_take(struct srv_loop *loop);
/* Watches for room to send. */
void srv_connection_watch(struct srv_connection *c, int events);

/* ---- send.c ---------------------------------------------------------------------------------- */

/* Sends what there is, and of a stream what comes, until the socket has no room, or the answer is
 * over: then the request ends, and the connection goes on or is closed. */
void srv_send(struct srv_connection *c);
/* Adds bytes that lie where they are until they were sent. */
void srv_output_add(struct srv_output *output, const void *bytes, size_t size);
void srv_output_clear(struct srv_output *output);

/* ---- deadlines.c ----------------------------------------------------------------------------- */

/* Every 50 ms, and more often while the loop hurries: those over a deadline are closed, and work of
 * those who left is ended. end: all between two requests are closed too. */
void srv_connections_check(struct srv_loop *loop, bool end);
/* Its client sends no more, or is gone. */
void srv_connection_half_closed(struct srv_connection *c);

/* ---- linger.c -------------------------------------------------------------------------------- */

/* Takes the descriptor of a connection: what still comes is read and dropped, and then it is
 * closed.
 */
void srv_linger_start(struct srv_loop *loop, int fd);
/* Every 50 ms; end: all of them. */
void srv_lingers_check(struct srv_loop *loop, bool end);

/* ---- request.c ------------------------------------------------------------------------------- */

/* Facts of a response that the log and the metrics need once it is on its way. */
struct srv_outcome {
    int status; /* 0: there was none */
    const char *route;
    const char *problem; /* its code; "" */
    char request_id[132], operation[32], encoding[68];
    enum pe_dtype dtype;
    uint64_t elements, size; /* size: of the body, of a stream what was begun to be sent */
};

struct srv_rate {
    uint64_t since_ms, bytes; /* since_ms 0: not begun */
};

struct srv_request {
    struct srv_post post; /* first: a post is its request */
    struct pe_job job;
    struct srv_loop *loop;
    struct srv_connection *connection;
    char *uri; /* raw, cut into path and query */
    const char *query;
    enum {
        REQUEST_BODY,     /* its head is here */
        REQUEST_WORKING,  /* all of it is */
        REQUEST_ANSWERED, /* the response is being sent */
    } state;
    struct api_intake *intake;
    struct api_intake
        *working; /* on the pool: to be cancelled, not used, until it has a response */
    struct api_response *response;
    struct srv_stream *stream; /* of the response, which it owns */
    uint64_t began_ns, began_ms, queued_ns, discarded;
    uint64_t received, length; /* length: of the body, as its head tells */
    struct srv_chunks chunks;
    struct srv_rate body_rate, read_rate;
    bool minor;    /* HTTP/1.1: it may be sent an interim response, and chunks */
    bool keeps;    /* the client would go on behind the answer */
    bool closes;   /* the answer says that the connection ends */
    bool sleeping; /* its stream waits for a block */
    bool brief;    /* what is left of its work is foretold to be short, or is not known */
    bool timed_out;
    bool in_buffer; /* the blocks of the response are made in its one buffer, on the pool */
    bool made;      /* all of them are */
    bool probed;    /* an interim response was sent */
    struct srv_outcome outcome;
    atomic_bool abandoned, failed;
    char method[16];
    char trace_id[33];
    char *id, *origin; /* X-Request-Id and Origin, for refusals behind the head; NULL: none */
    char uri_room[256];
};

/* One with a head, which is read during the call: text is cut up. It may be over when this returns.
 */
void srv_request_begin(struct srv_connection *c, char *text, size_t size);
/* One whose head cannot be read: the connection ends behind the answer. */
void srv_request_refuse(struct srv_connection *c, struct api_error *err);
/* Takes bytes of its body, which are cut up; returns how many. It may be over then. */
size_t srv_request_body(struct srv_request *request, char *bytes, size_t size);
/* Where the next bytes of the body may be received, so that nobody copies them; NULL: anywhere. */
char *srv_request_room(const struct srv_request *request, size_t *size);
/* The connection is told no more of it. */
void srv_request_end(struct srv_request *request);
/* Its body comes too slowly: 408, and the connection ends. */
void srv_request_late(struct srv_request *request);

/* ---- work.c ---------------------------------------------------------------------------------- */

/* Its body is still to come: it is refused where it would have no place in the queue. */
void srv_work_foresee(struct srv_request *request);
/* All of it is here. It may be over when this returns. */
void srv_work_start(struct srv_request *request);

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

/* ---- reply.c --------------------------------------------------------------------------------- */

/* Begins to send the request's response; close: the connection ends after it. The request may be
 * over when this returns. */
void srv_reply(struct srv_request *request, bool close);
/* Frees the request's response. */
void srv_response_drop(struct srv_request *request);
/* A refusal that the server words itself, with the id of the request and what a page of another
 * origin needs to read it. */
struct api_response *srv_refuse(struct srv_request *request, struct api_error *err);

/* ---- stream.c -------------------------------------------------------------------------------- */

struct srv_stream;

/* Is the body made while it is sent? */
bool srv_is_streamed(const struct api_response *response);
/* Begins to make the body of the request's response, which becomes the stream's. NULL: out of
 * memory. */
struct srv_stream *srv_stream_new(struct srv_request *request);
/* Is its first block still to come from the pool? */
bool srv_stream_waits(const struct srv_stream *stream);
bool srv_stream_failed(const struct srv_stream *stream); /* its first block did */

enum srv_more {
    SRV_MORE,   /* parts were added */
    SRV_SLEEP,  /* they come later: srv_send is called then */
    SRV_END,    /* there are none */
    SRV_FAILED, /* the connection can only be closed */
};

/* The next parts of the body; those before were sent. */
enum srv_more srv_stream_next(struct srv_stream *stream, struct srv_output *output);
/* Blocks that have not begun are taken back. */
void srv_stream_cancel(struct srv_stream *stream);
/* Sends the byte that was withheld, if there is one. False: the client is gone. */
bool srv_stream_probe(struct srv_stream *stream);
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
