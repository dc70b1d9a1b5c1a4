/* SPDX-License-Identifier: MIT */
/* The least of HTTP/1.1 over a blocking socket, for the bench's client and for the bare servers
 * that it measures beside posencd. It trusts both ends: they are the bench's own. */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A socket with a buffer: bytes[at .. have) were received and not yet taken. */
struct wire {
    int fd;
    size_t size, at, have;
    char *bytes;
};

bool wire_open(struct wire *wire, int fd, size_t size);
void wire_close(struct wire *wire);

/* The next head as text, valid until the next call; NULL at the end of the connection, after an
 * error, and where the head does not fit. */
char *wire_head(struct wire *wire);
/* The next line without its end, or NULL. */
char *wire_line(struct wire *wire);
/* Takes length bytes of a body; without `to` they are thrown away. */
bool wire_take(struct wire *wire, char *to, uint64_t length);

bool wire_send(int fd, const char *head, size_t head_length, const char *body, size_t length);

/* The value of a field of a head, from its first character on, or NULL. The name comes with the
 * line's beginning and the colon: "\r\nContent-Length:". */
const char *wire_field(const char *head, const char *name);
uint64_t wire_content_length(const char *head);

#endif
