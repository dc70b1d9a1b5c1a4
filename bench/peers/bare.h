/* SPDX-License-Identifier: MIT */
/* A server that does nothing but what the sockets ask for: one blocking thread a connection. What
 * it reaches is taken as the limit of the machine. */
#ifndef BENCH_PEERS_BARE_H
#define BENCH_PEERS_BARE_H

#include "bench/wire.h"

/* Answers the requests of one connection until it ends. */
typedef void bare_serve_connection(struct wire *wire);

/* Listens at a free port of 127.0.0.1, prints it on a line, and serves until it is killed. */
int bare_serve(bare_serve_connection *serve);

#endif
