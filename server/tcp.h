/* SPDX-License-Identifier: MIT */
#ifndef SERVER_TCP_H
#define SERVER_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* What the kernel reports of a connection. Apart from server.h, because the system headers of uv.h
 * conflict with the kernel's. */

/* Bytes that the client has acknowledged since the connection began; false: unknown on this
 * system. */
bool srv_tcp_taken(int fd, uint64_t *bytes);
/* Are there bytes that it has not acknowledged? */
bool srv_tcp_has_unsent(int fd);

/* The bytes that were received and read. False: not known. */
bool srv_tcp_received(int fd, uint64_t *bytes);

#endif
