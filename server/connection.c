/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server.h"

/* Bytes are received into memory that all connections of a loop share, and used there: only what
 * cannot be used yet is kept with its connection. So an idle connection holds none, and what small
 * requests touch stays in the cache, however many clients there are. Of a body of known length
 * bytes are received where they will be worked on. */

enum {
    FIRST_READ = 16 << 10, /* a head, and a short body: of a longer one little is to be copied */
    BODY_READ = 1 << 20,   /* at most at once */
    READS = 4,             /* in one turn */
    REQUESTS = 32,         /* the same, of those that were sent ahead */
};

/* ---- beginning and end ------------------------------------------------------------------------
 */

static void address_set(struct srv_connection *c, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        memcpy(&c->address.v6, address, sizeof(c->address.v6));
    else if (address->sa_family == AF_INET)
        memcpy(&c->address.v4, address, sizeof(c->address.v4));
}

bool srv_connection_new(struct srv_loop *loop, int fd, const struct sockaddr *address)
{
    struct srv_connection *c = calloc(1, sizeof(*c));

    if (c) {
        c->loop = loop;
        address_set(c, address);
    }
    if (!c || !srv_address_add(c) || uv_poll_init(&loop->uv, &c->watch, fd) != 0) {
        if (c)
            srv_address_remove(c);
        free(c);
        close(fd);
        return false;
    }
    c->fd = fd;
    c->open = true;
    c->watch.data = c;
    c->idle_since_ms = uv_now(&loop->uv);
    api_connection_began(loop->srv->api, SRV_CONNECTION_MEMORY);
    c->next = loop->connections;
    if (c->next)
        c->next->previous = c;
    loop->connections = c;
    loop->connections_count++;
    srv_connection_watch(c, UV_READABLE | UV_DISCONNECT);
    return true;
}

static void watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void kept_drop(struct srv_connection *c)
{
    free(c->kept);
    c->kept = NULL;
    c->kept_size = 0;
}

static void wait_end(struct srv_connection *c)
{
    struct srv_connection **at = &c->loop->waiting;

    while (c->waits && *at != c)
        at = &(*at)->waiting;
    if (c->waits)
        *at = c->waiting;
    c->waits = false;
}

static void connection_free(struct srv_connection *c)
{
    struct srv_loop *loop = c->loop;

    c->open = false;
    api_connection_ended(loop->srv->api, SRV_CONNECTION_MEMORY);
    *(c->previous ? &c->previous->next : &loop->connections) = c->next;
    if (c->next)
        c->next->previous = c->previous;
    loop->connections_count--;
    srv_address_remove(c);
    wait_end(c);
    kept_drop(c);
    srv_output_clear(&c->output);
    uv_close((uv_handle_t *)&c->watch, watch_closed);
    if (c->lingers) {
        shutdown(c->fd, SHUT_WR);
        srv_linger_start(loop, c->fd);
    } else {
        close(c->fd);
    }
    srv_accept_go_on(loop);
    if (atomic_load(&loop->phase) != SRV_RUNNING)
        uv_async_send(&loop->wake);
}

void srv_connection_close(struct srv_connection *c)
{
    if (!c->open)
        return;
    c->lost = true;
    if (c->request && c->request->state == REQUEST_WORKING) {
        srv_request_abandon(c->request, false);
        return;
    }
    if (c->request)
        srv_request_end(c->request);
    connection_free(c);
}

/* ---- using what came --------------------------------------------------------------------------
 */

/* The head at the beginning of these bytes: how many of them are used. 0: it is not whole. */
static size_t head_use(struct srv_connection *c, char *bytes, size_t size)
{
    struct api_error err = {0};
    size_t used = size;

    switch (srv_head_scan(&c->scan, bytes, size)) {
    case SRV_SCAN_MORE:
        return 0;
    case SRV_SCAN_WHOLE:
        used = c->scan.at;
        c->scan = (struct srv_scan){0};
        srv_request_begin(c, bytes, used);
        return used;
    case SRV_SCAN_BAD:
        api_fail(&err, API_MALFORMED, "",
                 "no request begins like this, or a line of its head does not end in CR LF");
        break;
    case SRV_SCAN_URI:
        api_fail(&err, API_URI_TOO_LONG, "", "a path and its query have at most %d bytes here",
                 SRV_URI_MAX);
        break;
    case SRV_SCAN_LONG:
        api_fail(&err, API_TOO_MANY_FIELDS, "",
                 "the URI and the header fields have at most %d bytes together", SRV_HEAD_MAX);
        break;
    }
    srv_request_refuse(c, &err);
    return used;
}

/* Empty lines in front of a request are no mistake (RFC 9112, section 2.2). */
static size_t blank_use(const char *bytes, size_t size)
{
    size_t used = 0;

    while (size - used >= 2 && bytes[used] == '\r' && bytes[used + 1] == '\n')
        used += 2;
    return used;
}

static void wait_begin(struct srv_connection *c)
{
    c->waits = true;
    c->waiting = c->loop->waiting;
    c->loop->waiting = c;
    srv_loop_soon(c->loop);
}

/* Uses bytes until there are none left, the request works or is answered, or the connection had its
 * share of the turn: how many. */
static size_t bytes_use(struct srv_connection *c, char *bytes, size_t size)
{
    size_t at = 0;

    for (int requests = 0; at < size && c->open && !c->lost;) {
        size_t used;
        if (c->request && c->request->state != REQUEST_BODY)
            break;
        if (c->request) {
            at += srv_request_body(c->request, bytes + at, size - at);
            continue;
        }
        if (requests++ == REQUESTS) {
            wait_begin(c);
            break;
        }
        if (c->scan.at == 0)
            at += blank_use(bytes + at, size - at);
        if (size - at == 1 && bytes[at] == '\r')
            break;
        if (at < size && (used = head_use(c, bytes + at, size - at)) == 0)
            break;
        else if (at < size)
            at += used;
    }
    return at;
}

/* Keeps what was not used. False: memory is short. */
static bool rest_keep(struct srv_connection *c, char *bytes, size_t used, size_t size)
{
    if (used == size) {
        kept_drop(c);
        return true;
    }
    if (!c->kept) {
        c->kept = malloc(SRV_ROOM);
        c->head_since_ms = uv_now(&c->loop->uv);
    }
    if (!c->kept)
        return false;
    memmove(c->kept, bytes + used, size - used);
    c->kept_size = size - used;
    return true;
}

static void bytes_take(struct srv_connection *c, char *bytes, size_t size)
{
    size_t used;

    c->taking = true;
    used = bytes_use(c, bytes, size);
    c->taking = false;
    if (c->open && !rest_keep(c, bytes, used, size))
        srv_connection_close(c);
}

/* ---- receiving --------------------------------------------------------------------------------
 */

static bool wants_bytes(const struct srv_connection *c)
{
    return c->open && !c->lost && !c->waits && !c->half_closed &&
           (!c->request || c->request->state == REQUEST_BODY);
}

/* Behind the last byte. Of a request only a part came: nobody waits for an answer. */
static void input_end(struct srv_connection *c)
{
    srv_connection_close(c);
}

/* Receives once; true: there may be more at once. */
static bool receive(struct srv_connection *c)
{
    size_t room = FIRST_READ;
    char *direct = c->request ? srv_request_room(c->request, &room) : NULL;
    char *at = c->loop->room;
    ssize_t size;

    if (direct) {
        at = direct;
        room = room < BODY_READ ? room : BODY_READ;
    } else if (c->kept) {
        at = c->kept + c->kept_size;
        room = SRV_ROOM - c->kept_size;
    } else if (c->request) {
        room = SRV_ROOM;
    }
    size = recv(c->fd, at, room, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (size <= 0) {
        input_end(c);
        return false;
    }
    c->idle_since_ms = uv_now(&c->loop->uv);
    if (direct)
        srv_request_body(c->request, direct, (size_t)size);
    else if (c->kept)
        bytes_take(c, c->kept, c->kept_size + (size_t)size);
    else
        bytes_take(c, at, (size_t)size);
    return (size_t)size == room && (!direct || c->request);
}

static void readable(struct srv_connection *c)
{
    /* What was sent ahead waits: the socket would be ready for ever. */
    if (!wants_bytes(c)) {
        srv_connection_watch(c, c->events & ~UV_READABLE);
        return;
    }
    for (int i = 0; i < READS && receive(c) && wants_bytes(c); i++)
        ;
}

static void watch_fire(uv_poll_t *watch, int status, int events)
{
    struct srv_connection *c = watch->data;

    srv_loop_turn(c->loop);
    if (status < 0) { /* a reset; nothing is watched for any more */
        c->events = 0;
        if (c->request && c->request->state == REQUEST_WORKING)
            srv_connection_half_closed(c);
        else
            srv_connection_close(c);
        return;
    }
    if (events & UV_WRITABLE)
        srv_send(c);
    if (c->open && (events & (UV_READABLE | UV_DISCONNECT)) && wants_bytes(c))
        readable(c);
    else if (c->open && (events & UV_DISCONNECT))
        srv_connection_half_closed(c);
    else if (c->open && (events & UV_READABLE))
        srv_connection_watch(c, c->events & ~UV_READABLE);
}

void srv_connection_watch(struct srv_connection *c, int events)
{
    if (events == c->events || !c->open)
        return;
    c->events = events;
    if (events)
        uv_poll_start(&c->watch, events, watch_fire);
    else
        uv_poll_stop(&c->watch);
}

/* ---- one request behind the other -------------------------------------------------------------
 */

void srv_connection_go_on(struct srv_connection *c)
{
    if (c->taking || !c->open) /* bytes_use goes on by itself */
        return;
    if (c->kept && !c->waits)
        bytes_take(c, c->kept, c->kept_size);
    if (!c->open || c->request)
        return;
    if (c->half_closed) {
        /* What came before the end is still to be answered. */
        c->half_closed = false;
        readable(c);
    }
    srv_connection_watch(c, UV_READABLE | UV_DISCONNECT);
}

/* No more than wait when it is called: each may wait again. */
void srv_connections_take(struct srv_loop *loop)
{
    struct srv_connection *c = loop->waiting, *next;

    loop->waiting = NULL;
    for (; c; c = next) {
        next = c->waiting;
        c->waits = false;
        srv_connection_go_on(c);
    }
}
