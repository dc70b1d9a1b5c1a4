/* SPDX-License-Identifier: MIT */
#include "command/watch.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Progress is shown from then on, so often. A request that a signal cancelled has so long to end by
 * itself: it may sit in a read that nothing wakes. */
enum { SHOW_AFTER = 5, TICK_MS = 200, GRACE_MS = 500 };

static int signal_wait(const sigset_t *signals, long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    return sigtimedwait(signals, NULL, &time);
}

/* "12.3 MB" */
static void size_print(char *out, size_t room, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    size_t unit = 0;

    while (size >= 999.5 && unit < 4) {
        size /= 1000;
        unit++;
    }
    snprintf(out, room, "%.*f %s", unit > 0, size, units[unit]);
}

static void progress_show(struct cmd_watch *watch, unsigned ticks)
{
    const uint64_t done = atomic_load(&watch->done), whole = atomic_load(&watch->whole);
    const unsigned seconds = ticks * TICK_MS / 1000;
    char sizes[2][32], line[128];
    int size;

    size_print(sizes[0], sizeof(sizes[0]), done);
    size_print(sizes[1], sizeof(sizes[1]), whole);
    if (done == 0)
        size = snprintf(line, sizeof(line), "\r%u s: computing\033[K", seconds);
    else if (whole == 0 || whole == PE_LENGTH_UNKNOWN)
        size = snprintf(line, sizeof(line), "\r%u s: %s\033[K", seconds, sizes[0]);
    else
        size = snprintf(line, sizeof(line), "\r%u s: %3.0f %% of %s\033[K", seconds,
                        100.0 * (double)done / (double)whole, sizes[1]);
    pthread_mutex_lock(&watch->lock);
    if (watch->shows && write(STDERR_FILENO, line, (size_t)size) == size)
        watch->shown = true;
    pthread_mutex_unlock(&watch->lock);
}

/* What is half written goes, and the process with it. */
static void give_up(struct cmd_watch *watch, int caught)
{
    pthread_mutex_lock(&watch->lock);
    if (watch->unfinished)
        unlink(watch->unfinished);
    _exit(128 + caught);
}

static void *watch_run(void *context)
{
    struct cmd_watch *watch = context;
    int caught = -1;

    for (unsigned ticks = 1; caught < 0; ticks++) {
        caught = signal_wait(&watch->signals, TICK_MS);
        if (caught < 0 && ticks >= SHOW_AFTER)
            progress_show(watch, ticks);
    }
    if (atomic_load(&watch->ended))
        return NULL;
    atomic_store(&watch->caught, caught);
    pthread_mutex_lock(&watch->lock);
    if (watch->request)
        pe_request_cancel(watch->request);
    pthread_mutex_unlock(&watch->lock);
    signal_wait(&watch->signals, GRACE_MS); /* or a second signal, or the end */
    if (!atomic_load(&watch->ended))
        give_up(watch, caught);
    return NULL;
}

/* A signal that whoever started the program has it ignore stays ignored: it would come all the same
 * to a thread that waits for it. */
static void signals_choose(sigset_t *signals)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;

    sigemptyset(signals);
    sigaddset(signals, SIGUSR1);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(signals, ends[i]);
}

void cmd_watch_start(struct cmd_watch *watch, bool quiet)
{
    *watch = (struct cmd_watch){.shows = !quiet && isatty(STDERR_FILENO)};
    pthread_mutex_init(&watch->lock, NULL);
    signals_choose(&watch->signals);
    pthread_sigmask(SIG_BLOCK, &watch->signals, NULL);
    watch->runs = pthread_create(&watch->thread, NULL, watch_run, watch) == 0;
    if (!watch->runs) /* then they end the process as ever */
        pthread_sigmask(SIG_UNBLOCK, &watch->signals, NULL);
}

void cmd_watch_hide(struct cmd_watch *watch)
{
    static const char wipe[] = "\r\033[K";

    pthread_mutex_lock(&watch->lock);
    if (watch->shown && write(STDERR_FILENO, wipe, strlen(wipe)) > 0)
        watch->shown = false;
    watch->shows = false;
    pthread_mutex_unlock(&watch->lock);
}

void cmd_watch_end(struct cmd_watch *watch)
{
    cmd_watch_hide(watch);
    atomic_store(&watch->ended, true);
    if (watch->runs) {
        pthread_kill(watch->thread, SIGUSR1); /* wakes it */
        pthread_join(watch->thread, NULL);
    }
    pthread_mutex_destroy(&watch->lock);
}

void cmd_watch_request(struct cmd_watch *watch, struct pe_request *request)
{
    pthread_mutex_lock(&watch->lock);
    watch->request = request;
    if (request && atomic_load(&watch->caught))
        pe_request_cancel(request);
    pthread_mutex_unlock(&watch->lock);
}

void cmd_watch_file(struct cmd_watch *watch, const char *path)
{
    pthread_mutex_lock(&watch->lock);
    watch->unfinished = path;
    pthread_mutex_unlock(&watch->lock);
}
