/* SPDX-License-Identifier: MIT */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens `count` sockets that share one address by SO_REUSEPORT; port 0 becomes the one chosen.
 * False: message says why, and none is open. */
bool srv_listen(const char *host, uint64_t *port, int *listeners, size_t count, char *message,
                size_t size);

#endif
