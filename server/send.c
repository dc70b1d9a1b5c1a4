/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/server.h"

enum {
    CALL_SIZE = 1 << 20, /* the kernel copies for as long as there is room: others wait */
    TURN_SIZE = 2 << 20,
};

void srv_output_add(struct srv_output *output, const void *bytes, size_t size)
{
    if (size > 0)
        output->parts[output->count++] = (struct iovec){(void *)bytes, size};
}

void srv_output_clear(struct srv_output *output)
{
    free(output->held);
    *output = (struct srv_output){.at = 0};
}

static bool is_empty(const struct srv_output *output)
{
    return output->at == output->count;
}

static void sent_drop(struct srv_output *output, size_t sent)
{
    while (sent > 0) {
        struct iovec *part = &output->parts[output->at];
        const size_t size = sent < part->iov_len ? sent : part->iov_len;
        part->iov_base = (char *)part->iov_base + size;
        part->iov_len -= size;
        sent -= size;
        output->at += part->iov_len == 0;
    }
    if (is_empty(output))
        srv_output_clear(output);
}

/* One call's worth. Negative: nothing could be sent, errno says why. */
static ssize_t send_some(struct srv_connection *c)
{
    const struct srv_output *output = &c->output;
    struct iovec parts[SRV_PARTS];
    struct msghdr message = {.msg_iov = parts};
    size_t all = 0;
    ssize_t sent;

    for (size_t i = output->at; i < output->count && all < CALL_SIZE; i++) {
        struct iovec *part = &parts[message.msg_iovlen++];
        *part = output->parts[i];
        if (part->iov_len > CALL_SIZE - all)
            part->iov_len = CALL_SIZE - all;
        all += part->iov_len;
    }
    do
        sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

/* The memory that heads are printed in is the loop's: the rest of one moves out of it. */
static bool head_hold(struct srv_connection *c)
{
    struct iovec *part = &c->output.parts[c->output.at];
    const char *at = part->iov_base;

    if (at < c->loop->text || at >= c->loop->text + SRV_TEXT_ROOM)
        return true;
    c->output.held = malloc(part->iov_len);
    if (!c->output.held)
        return false;
    memcpy(c->output.held, at, part->iov_len);
    part->iov_base = c->output.held;
    return true;
}

static void answer_end(struct srv_connection *c)
{
    const bool closes = c->request->closes;

    srv_request_end(c->request);
    if (closes)
        srv_connection_close(c);
    else
        srv_connection_go_on(c);
}

static enum srv_more more_get(struct srv_connection *c)
{
    struct srv_stream *stream = c->request->stream;

    if (!is_empty(&c->output))
        return SRV_MORE;
    return stream ? srv_stream_next(stream, &c->output) : SRV_END;
}

static void wait_for_room(struct srv_connection *c)
{
    if (head_hold(c))
        srv_connection_watch(c, c->events | UV_WRITABLE);
    else
        srv_connection_close(c);
}

void srv_send(struct srv_connection *c)
{
    for (ssize_t sent, all = 0;; all += sent) {
        if (!c->request || c->request->state != REQUEST_ANSWERED) {
            srv_connection_watch(c, c->events & ~UV_WRITABLE);
            return;
        }
        switch (more_get(c)) {
        case SRV_MORE:
            break;
        case SRV_SLEEP:
            srv_connection_watch(c, c->events & ~UV_WRITABLE);
            return;
        case SRV_END:
            srv_connection_watch(c, c->events & ~UV_WRITABLE);
            answer_end(c);
            return;
        case SRV_FAILED:
            srv_connection_close(c);
            return;
        }
        if (all >= TURN_SIZE) {
            wait_for_room(c);
            return;
        }
        sent = send_some(c);
        if (sent < 0 && errno == EAGAIN) {
            wait_for_room(c);
            return;
        }
        if (sent < 0) {
            srv_connection_close(c);
            return;
        }
        c->idle_since_ms = uv_now(&c->loop->uv);
        sent_drop(&c->output, (size_t)sent);
    }
}
