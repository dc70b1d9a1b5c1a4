/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server.h"

enum { ACCEPTS = 64 }; /* in one turn */

/* ---- addresses --------------------------------------------------------------------------------
 */

static size_t address_hash(const struct srv_connection *c)
{
    const unsigned char *bytes = (const unsigned char *)&c->address.v4.sin_addr;
    size_t size = sizeof(c->address.v4.sin_addr), hash = 0;

    if (c->address.any.sa_family == AF_INET6) {
        bytes = (const unsigned char *)&c->address.v6.sin6_addr;
        size = sizeof(c->address.v6.sin6_addr);
    }
    for (size_t i = 0; i < size; i++)
        hash = hash * 31 + bytes[i];
    return hash % SRV_ADDRESSES;
}

static bool address_is(const struct srv_connection *a, const struct srv_connection *b)
{
    if (a->address.any.sa_family != b->address.any.sa_family)
        return false;
    if (a->address.any.sa_family == AF_INET6)
        return memcmp(&a->address.v6.sin6_addr, &b->address.v6.sin6_addr,
                      sizeof(a->address.v6.sin6_addr)) == 0;
    return a->address.v4.sin_addr.s_addr == b->address.v4.sin_addr.s_addr;
}

bool srv_address_add(struct srv_connection *c)
{
    const struct srv_loop *loop = c->loop;
    struct srv_connection **list = &c->loop->addresses[address_hash(c)];
    uint64_t count = 0;

    if (loop->srv->config.per_ip_max == 0)
        return true;
    for (const struct srv_connection *other = *list; other; other = other->address_next)
        count += address_is(c, other);
    if (count >= loop->srv->config.per_ip_max)
        return false;
    c->address_next = *list;
    if (*list)
        (*list)->address_at = &c->address_next;
    *list = c;
    c->address_at = list;
    return true;
}

void srv_address_remove(struct srv_connection *c)
{
    if (!c->address_at)
        return;
    *c->address_at = c->address_next;
    if (c->address_next)
        c->address_next->address_at = c->address_at;
}

/* ---- listening --------------------------------------------------------------------------------
 */

static bool has_room(const struct srv_loop *loop)
{
    return loop->connections_count < loop->srv->config.connections_max;
}

static void pause_listening(struct srv_loop *loop)
{
    if (loop->listening)
        uv_poll_stop(&loop->listen);
    loop->listening = false;
}

/* False: nobody waits, or descriptors are out; then the tick tries again. */
static bool accept_one(struct srv_loop *loop)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage room;
    } address;
    socklen_t size = sizeof(address);
    const int fd = accept4(loop->listener, &address.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const int on = 1;

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_listening(loop);
        return errno == ECONNABORTED || errno == EINTR;
    }
    /* An answer goes out in one call wherever it can: nothing is to wait for more. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    srv_connection_new(loop, fd, &address.any);
    return true;
}

static void listen_fire(uv_poll_t *poll, int status, int events)
{
    struct srv_loop *loop = poll->data;

    (void)status;
    (void)events;
    srv_loop_turn(loop);
    for (int i = 0; i < ACCEPTS && has_room(loop); i++)
        if (!accept_one(loop))
            return;
    if (!has_room(loop))
        pause_listening(loop);
}

void srv_accept_go_on(struct srv_loop *loop)
{
    if (loop->listening || loop->quiesced || loop->ended || !has_room(loop))
        return;
    loop->listening = uv_poll_start(&loop->listen, UV_READABLE, listen_fire) == 0;
}

int srv_accept_start(struct srv_loop *loop)
{
    const int why = uv_poll_init(&loop->uv, &loop->listen, loop->listener);

    if (!why)
        srv_accept_go_on(loop);
    return why;
}

void srv_accept_end(struct srv_loop *loop)
{
    uv_close((uv_handle_t *)&loop->listen, NULL);
    close(loop->listener);
    loop->listening = false;
}
