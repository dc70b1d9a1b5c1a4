/* SPDX-License-Identifier: MIT */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include "server/server.h"

/* The main thread's own small loop: signals, timers of the process, and the end of the other loops.
 */

/* Takes what it needs of the system, before anything else runs. NULL: message says why not. */
struct srv_watch *srv_watch_new(struct srv *srv, char *message, size_t size);
/* Lets signals in, and returns once they have ended all loops. */
void srv_watch_wait(struct srv_watch *watch);
/* Ends the loops that run, without a signal: one of them did not start. */
void srv_watch_end(struct srv_watch *watch);
/* Loops were joined before. NULL is fine. */
void srv_watch_free(struct srv_watch *watch);
/* A loop is over; its last call. From its thread. */
void srv_watch_ended(struct srv_watch *watch);

/* SIG_BLOCK: from before the first thread until there is a handler signals wait, so that one that
 * comes while the server starts is a signal all the same. */
void srv_signals_hold(int how);

#endif
