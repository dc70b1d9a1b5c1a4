/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sys/socket.h>

#include "server/server.h"

/* A probe and its answer take less. */
enum { LEAVING_MS = 200 };

/* Is it about to turn out whether a client has left whose request is computed? */
static bool may_be_leaving(const struct srv_connection *c, uint64_t now)
{
    return c->half_closed && c->request && srv_request_computes(c->request) &&
           now - c->half_closed_ms < LEAVING_MS;
}

/* Level-triggered: it would be told for ever. From here on the tick takes over. */
void srv_connection_half_closed(struct srv_connection *c)
{
    srv_connection_watch(c, c->events & ~(UV_DISCONNECT | UV_READABLE));
    if (c->half_closed)
        return;
    c->half_closed = true;
    c->half_closed_ms = uv_now(&c->loop->uv);
    if (may_be_leaving(c, c->half_closed_ms))
        srv_loop_hurry(c->loop);
}

/* A client that shut down its side may still wait for the answer; one that is gone altogether shows
 * as an error or as both sides closed. */
static bool is_gone(const struct srv_connection *c)
{
    struct pollfd state = {.fd = c->fd, .events = 0};

    return poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP));
}

/* Nothing moved for too long, either way, though it could. */
static bool is_silent(const struct srv_connection *c, uint64_t now)
{
    return !c->request->sleeping && now - c->idle_since_ms > c->loop->srv->config.idle_timeout;
}

/* Deadlines of a request; true: the connection is to be cut. */
static bool request_is_late(struct srv_connection *c, uint64_t now)
{
    struct srv_request *request = c->request;
    const struct srv_config *config = &c->loop->srv->config;

    switch (request->state) {
    case REQUEST_BODY:
        if (!srv_body_is_slow(request, now))
            return is_silent(c, now);
        srv_request_late(request);
        return true;
    case REQUEST_WORKING:
        if (now - request->began_ms > config->request_timeout)
            srv_request_abandon(request, true);
        return false;
    case REQUEST_ANSWERED:
        return srv_reader_is_slow(request, c->fd, now) || is_silent(c, now);
    }
    return false;
}

/* Between two requests, with a part of the next head or without. The first head has begun with the
 * connection, even if no byte of it is here. */
static bool is_idle_too_long(const struct srv_connection *c, uint64_t now)
{
    const struct srv_config *config = &c->loop->srv->config;
    const uint64_t limit = !c->served && config->header_timeout < config->idle_timeout
                               ? config->header_timeout
                               : config->idle_timeout;

    if (c->kept)
        return !c->waits && now - c->head_since_ms > config->header_timeout;
    return now - c->idle_since_ms > limit;
}

/* Bytes that a slow reader has not taken are thrown away with the connection: they would stay with
 * the kernel for as long as the reader pleases. */
static void connection_cut(struct srv_connection *c)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (c->open && c->request && c->request->state == REQUEST_ANSWERED)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    srv_connection_close(c);
}

/* The client has shut down its side. True: it is gone, and the connection with it. */
static bool half_closed_check(struct srv_connection *c, uint64_t now)
{
    if (c->request)
        srv_request_probe(c->request, c->fd);
    if (c->open && is_gone(c))
        srv_connection_close(c);
    if (c->open && may_be_leaving(c, now))
        srv_loop_hurry(c->loop);
    return !c->open;
}

static void connection_check(struct srv_loop *loop, struct srv_connection *c, bool end)
{
    const uint64_t now = uv_now(&loop->uv);

    if (c->half_closed && half_closed_check(c, now))
        return;
    if (c->request ? request_is_late(c, now) : (end && !c->kept) || is_idle_too_long(c, now))
        connection_cut(c);
}

void srv_connections_check(struct srv_loop *loop, bool end)
{
    uv_update_time(&loop->uv);
    loop->hurries = false;
    for (struct srv_connection *c = loop->connections, *next; c; c = next) {
        next = c->next;
        connection_check(loop, c, end);
    }
}
