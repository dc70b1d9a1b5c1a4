/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_WATCH_H
#define COMMAND_WATCH_H

/* A thread beside the request: SIGINT and SIGTERM cancel it, and on a terminal it shows how far the
 * answer is once it takes long. */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "command/command.h"

struct cmd_watch {
    pthread_t thread;
    bool runs;
    sigset_t signals;
    pthread_mutex_t lock; /* of the next four */
    bool shows, shown;
    struct pe_request *request;
    const char *unfinished; /* a file that must not stay; NULL: none */
    atomic_bool ended;
    atomic_int caught; /* the signal; 0: none */
    _Atomic uint64_t done, whole;
};

/* Blocks the signals, in every thread that is started from here on. */
void cmd_watch_start(struct cmd_watch *watch, bool quiet);
/* Wipes its line from the terminal, and shows no more. */
void cmd_watch_hide(struct cmd_watch *watch);
/* Ends the thread. */
void cmd_watch_end(struct cmd_watch *watch);

/* What a signal cancels, and which file it removes; NULL: nothing any more. */
void cmd_watch_request(struct cmd_watch *watch, struct pe_request *request);
void cmd_watch_file(struct cmd_watch *watch, const char *path);

#endif
