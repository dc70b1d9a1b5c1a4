/* SPDX-License-Identifier: MIT */
#include "bench/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double answer_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* RFC 9112, 7.1; trailers are not expected. */
static bool take_chunks(struct wire *wire, uint64_t *bytes)
{
    for (;;) {
        char *line = wire_line(wire), *end;
        uint64_t size;

        if (!line)
            return false;
        size = strtoull(line, &end, 16);
        if (end == line || !wire_take(wire, NULL, size) || !(line = wire_line(wire)) ||
            *line != '\r')
            return false;
        *bytes += size;
        if (size == 0)
            return true;
    }
}

static bool take_body(struct wire *wire, const char *head, uint64_t *bytes)
{
    const char *coding = wire_field(head, "\r\nTransfer-Encoding:");

    if (coding)
        return strncasecmp(coding, "chunked", 7) == 0 && take_chunks(wire, bytes);
    if (!wire_field(head, "\r\nContent-Length:"))
        return false;
    *bytes = wire_content_length(head);
    return wire_take(wire, NULL, *bytes);
}

bool answer_read(struct wire *wire, int wanted, struct answer *answer)
{
    char *head = wire_head(wire);

    *answer = (struct answer){.first_byte = answer_now()};
    if (!head || sscanf(head, "HTTP/1.1 %d", &answer->status) != 1)
        return false;
    return answer->status != wanted || take_body(wire, head, &answer->bytes);
}
