/* SPDX-License-Identifier: MIT */
#include "bench/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

bool wire_open(struct wire *wire, int fd, size_t size)
{
    *wire = (struct wire){.fd = fd, .size = size, .bytes = malloc(size)};
    return wire->bytes != NULL;
}

void wire_close(struct wire *wire)
{
    close(wire->fd);
    free(wire->bytes);
}

/* A long body comes faster in pieces of this size than in as much as there is: 1.1 to 1.2 times. */
enum { PIECE = 64 << 10 };

static ssize_t receive(int fd, void *to, size_t size)
{
    ssize_t got;

    do {
        got = recv(fd, to, size, 0);
    } while (got < 0 && errno == EINTR);
    return got;
}

static bool receive_more(struct wire *wire)
{
    ssize_t got;

    if (wire->at > 0) {
        memmove(wire->bytes, wire->bytes + wire->at, wire->have - wire->at);
        wire->have -= wire->at;
        wire->at = 0;
    }
    if (wire->have == wire->size)
        return false;
    got = receive(wire->fd, wire->bytes + wire->have, wire->size - wire->have);
    if (got <= 0)
        return false;
    wire->have += (size_t)got;
    return true;
}

/* The text up to `end`, whose last character becomes the terminating zero. */
static char *take_until(struct wire *wire, const char *end)
{
    const size_t length = strlen(end);

    for (;;) {
        char *text = wire->bytes + wire->at;
        char *found = memmem(text, wire->have - wire->at, end, length);

        if (found) {
            found[length - 1] = '\0';
            wire->at = (size_t)(found + length - wire->bytes);
            return text;
        }
        if (!receive_more(wire))
            return NULL;
    }
}

char *wire_head(struct wire *wire)
{
    return take_until(wire, "\r\n\r\n");
}

char *wire_line(struct wire *wire)
{
    return take_until(wire, "\r\n");
}

bool wire_take(struct wire *wire, char *to, uint64_t length)
{
    const size_t here = wire->have - wire->at;
    uint64_t done = here < length ? here : length;

    if (to)
        memcpy(to, wire->bytes + wire->at, done);
    wire->at += done;
    while (done < length) {
        const uint64_t left = length - done;
        const size_t most = to ? PIECE : wire->size;
        const size_t room = left < most ? left : most;
        const ssize_t got = receive(wire->fd, to ? to + done : wire->bytes, room);

        if (got <= 0)
            return false;
        done += (uint64_t)got;
    }
    return true;
}

bool wire_send(int fd, const char *head, size_t head_length, const char *body, size_t length)
{
    struct iovec parts[2] = {{(void *)head, head_length}, {(void *)body, length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return false;
        for (size_t i = 0; i < 2; i++) {
            const size_t part = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;

            parts[i].iov_base = (char *)parts[i].iov_base + part;
            parts[i].iov_len -= part;
            sent -= (ssize_t)part;
        }
    }
    return true;
}

const char *wire_field(const char *head, const char *name)
{
    const char *found = strcasestr(head, name);

    if (!found)
        return NULL;
    found += strlen(name);
    return found + strspn(found, " ");
}

uint64_t wire_content_length(const char *head)
{
    const char *value = wire_field(head, "\r\nContent-Length:");

    return value ? strtoull(value, NULL, 10) : 0;
}
