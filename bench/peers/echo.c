/* SPDX-License-Identifier: MIT */
/* The limit of a request whose answer has its length: the body is received into one buffer and sent
 * back from there. */
#include "bench/peers/bare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

/* Kept for the connection's next request: its pages are then already there. */
struct buffer {
    size_t size;
    char *bytes;
};

static bool reserve(struct buffer *buffer, size_t size)
{
    if (buffer->size >= size)
        return true;
    free(buffer->bytes);
    buffer->size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    buffer->bytes = aligned_alloc(HUGE_PAGE, buffer->size);
    if (!buffer->bytes)
        return false;
    madvise(buffer->bytes, buffer->size, MADV_HUGEPAGE);
    return true;
}

static bool echo(struct wire *wire, const char *head, struct buffer *buffer)
{
    const uint64_t length = wire_content_length(head);
    char answer[128];
    int answer_length;

    if (!reserve(buffer, length) || !wire_take(wire, buffer->bytes, length))
        return false;
    answer_length = snprintf(answer, sizeof(answer),
                             "HTTP/1.1 200 OK\r\nContent-Length: %" PRIu64 "\r\n\r\n", length);
    return wire_send(wire->fd, answer, (size_t)answer_length, buffer->bytes, length);
}

static void serve(struct wire *wire)
{
    struct buffer buffer = {0, NULL};
    const char *head;

    while ((head = wire_head(wire)) && echo(wire, head, &buffer))
        ;
    free(buffer.bytes);
}

int main(void)
{
    return bare_serve(serve);
}
