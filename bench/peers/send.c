/* SPDX-License-Identifier: MIT */
/* The limit of a long answer: GET /N is answered with N bytes, over and over the same buffer. Of 16
 * to 1024 KiB, 32 took the least processor time. */
#include "bench/normal.h"
#include "bench/peers/bare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_FLOATS = 8192, SEED = 1 };

static float buffer[BUFFER_FLOATS];

static bool answer(int fd, const char *head)
{
    uint64_t left = strtoull(head + sizeof("GET /") - 1, NULL, 10);
    char text[128];
    int text_length = snprintf(text, sizeof(text),
                               "HTTP/1.1 200 OK\r\nContent-Length: %" PRIu64 "\r\n\r\n", left);

    do {
        const size_t part = left < sizeof(buffer) ? left : sizeof(buffer);

        if (!wire_send(fd, text, (size_t)text_length, (const char *)buffer, part))
            return false;
        left -= part;
        text_length = 0;
    } while (left > 0);
    return true;
}

static void serve(struct wire *wire)
{
    const char *head;

    while ((head = wire_head(wire)) && answer(wire->fd, head))
        ;
}

int main(void)
{
    normal_fill(buffer, BUFFER_FLOATS, SEED);
    return bare_serve(serve);
}
