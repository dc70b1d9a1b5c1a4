/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
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

static void gone_fire(uv_poll_t *watch, int status, int events)
{
    struct srv_connection *c = watch->data;

    (void)status;
    (void)events;
    /* Level-triggered: it would fire for ever. From here on the tick takes over. */
    uv_poll_stop(watch);
    c->half_closed = true;
    c->half_closed_ms = uv_now(&c->loop->uv);
    shutdown(c->fd, SHUT_RD);
    c->loop->again = true;
    if (may_be_leaving(c, c->half_closed_ms))
        srv_loop_hurry(c->loop);
}

static void connection_add(struct srv_loop *loop, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct srv_connection *c = info ? calloc(1, sizeof(*c)) : NULL;

    *context = c;
    if (!c)
        return;
    c->loop = loop;
    c->counted = api_connection_began(loop->srv->api, SRV_CONNECTION_SIZE);
    c->fd = info->connect_fd;
    c->idle_since_ms = uv_now(&loop->uv);
    c->watch.data = c;
    c->watched = uv_poll_init(&loop->uv, &c->watch, c->fd) == 0;
    if (c->watched)
        uv_poll_start(&c->watch, UV_DISCONNECT, gone_fire);
    c->next = loop->connections;
    if (c->next)
        c->next->previous = c;
    loop->connections = c;
    if (!c->counted)
        shutdown(c->fd, SHUT_RDWR);
}

static void watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void connection_remove(struct srv_loop *loop, struct srv_connection *c)
{
    if (!c)
        return;
    if (c->counted)
        api_connection_ended(loop->srv->api, SRV_CONNECTION_SIZE);
    *(c->previous ? &c->previous->next : &loop->connections) = c->next;
    if (c->next)
        c->next->previous = c->previous;
    if (c->request)
        c->request->client = NULL;
    if (c->lingers)
        srv_linger_start(loop, c->fd);
    if (c->watched)
        uv_close((uv_handle_t *)&c->watch, watch_closed);
    else
        free(c);
    /* At the limit of connections MHD listens again only in its next run. */
    loop->again = true;
}

void srv_connection_notify(void *cls, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        connection_add(cls, connection, socket_context);
    else
        connection_remove(cls, *socket_context);
}

struct srv_connection *srv_connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* A client that shut down its side may still wait for the answer; one that is gone altogether shows
 * as an error or as both sides closed. */
static bool is_gone(const struct srv_connection *c)
{
    struct pollfd state = {.fd = c->fd, .events = 0};

    return poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP));
}

/* Deadlines of a request; true: the connection is to be cut. */
static bool request_is_late(struct srv_request *request, int fd, uint64_t now)
{
    const struct srv_config *config = &request->loop->srv->config;

    switch (request->state) {
    case REQUEST_NEW:
    case REQUEST_REFUSED:
        return now - request->began_ms > config->header_timeout;
    case REQUEST_BODY:
        if (!srv_body_is_slow(request, now))
            return false;
        srv_request_late(request);
        return true;
    case REQUEST_WORKING:
        if (now - request->began_ms > config->request_timeout)
            srv_request_abandon(request, true);
        return false;
    case REQUEST_READY:
        return false;
    case REQUEST_ANSWERED:
        return srv_reader_is_slow(request, fd, now);
    }
    return false;
}

/* Between two requests. A head has begun with the connection, even if no byte of it is here. */
static bool is_idle_too_long(const struct srv_connection *c, uint64_t now)
{
    const struct srv_config *config = &c->loop->srv->config;
    const uint64_t limit = !c->served && config->header_timeout < config->idle_timeout
                               ? config->header_timeout
                               : config->idle_timeout;

    return now - c->idle_since_ms > limit;
}

/* Bytes that a slow reader has not taken are thrown away with the connection: they would stay with
 * the kernel for as long as the reader pleases. */
static void connection_cut(struct srv_connection *c)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (c->request && c->request->state == REQUEST_ANSWERED)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    shutdown(c->fd, SHUT_RDWR);
}

/* Bytes that the library is still to read may be a whole head. */
static bool has_unread(const struct srv_connection *c)
{
    char byte;

    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Is the connection to be cut? end: the server goes down, and waits only for requests whose head is
 * complete. */
static bool is_over(const struct srv_connection *c, bool end, uint64_t now)
{
    struct srv_request *request = c->request;

    if (end && (!request || request->state == REQUEST_NEW) && !has_unread(c))
        return true;
    return request ? request_is_late(request, c->fd, now) : is_idle_too_long(c, now);
}

static void connection_check(struct srv_loop *loop, struct srv_connection *c, bool end)
{
    const uint64_t now = uv_now(&loop->uv);

    if (c->half_closed) {
        /* Data and FIN that came together lose MHD its edge: it sees the end only if it is there
         * again. Repeated, since one shutdown may race with MHD's own read. */
        shutdown(c->fd, SHUT_RD);
        loop->again = true;
        if (c->request)
            srv_request_probe(c->request, c->fd);
        if (c->request && is_gone(c))
            srv_request_abandon(c->request, false);
        if (may_be_leaving(c, now))
            srv_loop_hurry(loop);
    }
    if (is_over(c, end, now))
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
