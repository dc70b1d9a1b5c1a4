/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server.h"

/* A client that is refused in the middle of its upload may write all of it before it reads. Closing
 * then would answer its bytes with a reset, and the reset would overtake the answer. So the end is
 * sent, and what still comes is read and dropped for a while (RFC 9112, 9.6). */

enum {
    LINGERS_MAX = 256,     /* of one loop; more are closed at once */
    TOTAL_MS = 10000,      /* for everything that still comes */
    SILENCE_MS = 2000,     /* for the next byte */
    TURN_SIZE = 256 << 10, /* read in one turn */
};

struct srv_linger {
    uv_poll_t poll; /* first: what uv closes is its linger */
    struct srv_linger *next, *previous;
    struct srv_loop *loop;
    int fd;
    uint64_t began_ms, last_ms;
};

static void linger_closed(uv_handle_t *handle)
{
    free(handle);
}

static void linger_end(struct srv_linger *linger)
{
    struct srv_loop *loop = linger->loop;

    *(linger->previous ? &linger->previous->next : &loop->lingers) = linger->next;
    if (linger->next)
        linger->next->previous = linger->previous;
    loop->lingers_count--;
    uv_close((uv_handle_t *)&linger->poll, linger_closed);
    close(linger->fd);
}

static void linger_read(uv_poll_t *poll, int status, int events)
{
    struct srv_linger *linger = (struct srv_linger *)poll;
    char dropped[8 << 10];
    ssize_t size = 1;

    (void)events;
    linger->last_ms = uv_now(&linger->loop->uv);
    for (size_t all = 0; status == 0 && size > 0 && all < TURN_SIZE; all += (size_t)size)
        size = recv(linger->fd, dropped, sizeof(dropped), MSG_DONTWAIT | MSG_TRUNC);
    if (status != 0 || size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        linger_end(linger);
}

void srv_linger_start(struct srv_loop *loop, int fd)
{
    struct srv_linger *linger;

    if (loop->lingers_count == LINGERS_MAX)
        return;
    linger = calloc(1, sizeof(*linger));
    if (!linger)
        return;
    linger->loop = loop;
    linger->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (linger->fd < 0 || uv_poll_init(&loop->uv, &linger->poll, linger->fd) != 0) {
        if (linger->fd >= 0)
            close(linger->fd);
        free(linger);
        return;
    }
    linger->began_ms = linger->last_ms = uv_now(&loop->uv);
    linger->next = loop->lingers;
    if (linger->next)
        linger->next->previous = linger;
    loop->lingers = linger;
    loop->lingers_count++;
    uv_poll_start(&linger->poll, UV_READABLE, linger_read);
}

void srv_lingers_check(struct srv_loop *loop, bool end)
{
    const uint64_t now = uv_now(&loop->uv);

    for (struct srv_linger *linger = loop->lingers, *next; linger; linger = next) {
        next = linger->next;
        if (end || now - linger->began_ms > TOTAL_MS || now - linger->last_ms > SILENCE_MS)
            linger_end(linger);
    }
}
