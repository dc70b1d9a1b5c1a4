/* SPDX-License-Identifier: MIT */
#ifndef SERVER_TCP_H
#define SERVER_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* Facts that the kernel knows of a connection, apart from uv.h, whose system headers do not go
 * together with the kernel's. */

/* Bytes that the client's side has acknowledged of all that was ever sent; false: this system
 * cannot tell. */
bool srv_tcp_taken(int fd, uint64_t *bytes);
/* Is there something that it has not taken? */
bool srv_tcp_has_unsent(int fd);

#endif
