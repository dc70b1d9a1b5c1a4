/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command/command.h"

/* Progress is shown every TICK_MS after SHOW_AFTER ticks. After a signal the request has GRACE_MS
 * to end by itself: it may be blocked in a read. */
enum { SHOW_AFTER = 5, TICK_MS = 200, GRACE_MS = 500 };

static int signal_wait(const sigset_t *signals, long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    return sigtimedwait(signals, NULL, &time);
}

/* "12.3 MB" */
static void size_print(char *out, size_t capacity, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    size_t unit = 0;

    while (size >= 999.5 && unit < 4) {
        size /= 1000;
        unit++;
    }
    snprintf(out, capacity, "%.*f %s", unit > 0, size, units[unit]);
}

static void progress_show(struct cmd_monitor *monitor, unsigned ticks)
{
    const uint64_t done = atomic_load(&monitor->done), total = atomic_load(&monitor->total);
    const unsigned seconds = ticks * TICK_MS / 1000;
    char sizes[2][32], line[128];
    int size;

    size_print(sizes[0], sizeof(sizes[0]), done);
    size_print(sizes[1], sizeof(sizes[1]), total);
    if (done == 0)
        size = snprintf(line, sizeof(line), "\r%u s: computing\033[K", seconds);
    else if (total == 0 || total == PE_LENGTH_UNKNOWN)
        size = snprintf(line, sizeof(line), "\r%u s: %s\033[K", seconds, sizes[0]);
    else
        size = snprintf(line, sizeof(line), "\r%u s: %3.0f %% of %s\033[K", seconds,
                        100.0 * (double)done / (double)total, sizes[1]);
    pthread_mutex_lock(&monitor->lock);
    if (monitor->shows && write(STDERR_FILENO, line, (size_t)size) == size)
        monitor->shown = true;
    pthread_mutex_unlock(&monitor->lock);
}

/* Removes the unfinished file, and ends the process. */
static void give_up(struct cmd_monitor *monitor, int caught)
{
    pthread_mutex_lock(&monitor->lock);
    if (monitor->unfinished)
        unlink(monitor->unfinished);
    _exit(128 + caught);
}

static void *watch_run(void *context)
{
    struct cmd_monitor *monitor = context;
    int caught = -1;

    for (unsigned ticks = 1; caught < 0; ticks++) {
        caught = signal_wait(&monitor->signals, TICK_MS);
        if (caught < 0 && ticks >= SHOW_AFTER)
            progress_show(monitor, ticks);
    }
    if (atomic_load(&monitor->ended))
        return NULL;
    atomic_store(&monitor->caught, caught);
    pthread_mutex_lock(&monitor->lock);
    if (monitor->request)
        pe_request_cancel(monitor->request);
    pthread_mutex_unlock(&monitor->lock);
    signal_wait(&monitor->signals, GRACE_MS); /* or a second signal, or the end */
    if (!atomic_load(&monitor->ended))
        give_up(monitor, caught);
    return NULL;
}

/* Signals that were ignored when the program started stay ignored: sigtimedwait would receive them
 * all the same. */
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

void cmd_monitor_start(struct cmd_monitor *monitor, bool quiet)
{
    *monitor = (struct cmd_monitor){.shows = !quiet && isatty(STDERR_FILENO)};
    pthread_mutex_init(&monitor->lock, NULL);
    signals_choose(&monitor->signals);
    pthread_sigmask(SIG_BLOCK, &monitor->signals, NULL);
    monitor->runs = pthread_create(&monitor->thread, NULL, watch_run, monitor) == 0;
    if (!monitor->runs) /* the signals end the process by default */
        pthread_sigmask(SIG_UNBLOCK, &monitor->signals, NULL);
}

void cmd_monitor_hide(struct cmd_monitor *monitor)
{
    static const char wipe[] = "\r\033[K";

    pthread_mutex_lock(&monitor->lock);
    if (monitor->shown && write(STDERR_FILENO, wipe, strlen(wipe)) > 0)
        monitor->shown = false;
    monitor->shows = false;
    pthread_mutex_unlock(&monitor->lock);
}

void cmd_monitor_end(struct cmd_monitor *monitor)
{
    cmd_monitor_hide(monitor);
    atomic_store(&monitor->ended, true);
    if (monitor->runs) {
        pthread_kill(monitor->thread, SIGUSR1); /* wakes it */
        pthread_join(monitor->thread, NULL);
    }
    pthread_mutex_destroy(&monitor->lock);
}

void cmd_monitor_request(struct cmd_monitor *monitor, struct pe_request *request)
{
    pthread_mutex_lock(&monitor->lock);
    monitor->request = request;
    if (request && atomic_load(&monitor->caught))
        pe_request_cancel(request);
    pthread_mutex_unlock(&monitor->lock);
}

void cmd_monitor_file(struct cmd_monitor *monitor, const char *path)
{
    pthread_mutex_lock(&monitor->lock);
    monitor->unfinished = path;
    pthread_mutex_unlock(&monitor->lock);
}
