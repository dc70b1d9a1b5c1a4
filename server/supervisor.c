/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/server.h"

/* ---- the service manager --------------------------------------------------------------------- */

void srv_notify(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    const size_t length = path ? strlen(path) : 0;
    int from;

    if (length == 0 || length >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, length);
    if (*path == '@') /* of the abstract namespace */
        address.sun_path[0] = '\0';
    from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (from < 0)
        return;
    sendto(from, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(from);
}

/* ---- signals and the end --------------------------------------------------------------------- */

/* The process exits after this time even if work is still running: a block cannot be interrupted.
 */
enum { LAST_MS = 3000 };

struct srv_supervisor {
    struct srv *srv;
    uv_loop_t uv;
    uv_signal_t term, interrupt, hangup;
    uv_timer_t delay, deadline, second, poll;
    uv_async_t ended; /* a loop has ended */
    atomic_size_t ended_count;
    bool ending;
};

static void phase_all(struct srv *srv, enum srv_phase phase)
{
    for (size_t i = 0; i < srv->loops_count; i++)
        srv_loop_set_phase(&srv->loops[i], phase);
}

static void last_fire(uv_timer_t *timer)
{
    (void)timer;
    srv_log("posencd: what is under way does not end; leaving it");
    _exit(1);
}

static void end_now(struct srv_supervisor *supervisor)
{
    phase_all(supervisor->srv, SRV_END_NOW);
    uv_timer_start(&supervisor->deadline, last_fire, LAST_MS, 0);
}

static void deadline_fire(uv_timer_t *timer)
{
    srv_log("posencd: --shutdown-timeout is over, ending what is under way");
    end_now(timer->data);
}

static void ended_fire(uv_async_t *handle)
{
    struct srv_supervisor *supervisor = handle->data;

    if (atomic_load(&supervisor->ended_count) == supervisor->srv->loops_count)
        uv_stop(handle->loop);
}

void srv_supervisor_loop_ended(struct srv_supervisor *supervisor)
{
    atomic_fetch_add(&supervisor->ended_count, 1);
    uv_async_send(&supervisor->ended);
}

/* Stops accepting; the loops end when their requests are done. */
static void end_begin(struct srv_supervisor *supervisor)
{
    supervisor->ending = true;
    uv_timer_stop(&supervisor->delay);
    uv_timer_start(&supervisor->deadline, deadline_fire, supervisor->srv->options.shutdown_timeout,
                   0);
    phase_all(supervisor->srv, SRV_QUIESCE);
}

static void delay_fire(uv_timer_t *timer)
{
    end_begin(timer->data);
}

/* The first signal: not ready at once, but accepting for --drain-delay, since a balancer needs time
 * to notice; then requests under way are finished. The second signal: the end. */
static void signal_fire(uv_signal_t *handle, int number)
{
    struct srv_supervisor *supervisor = handle->data;
    const struct srv_options *options = &supervisor->srv->options;

    if (atomic_exchange(&supervisor->srv->draining, true)) {
        if (!supervisor->ending)
            end_begin(supervisor);
        end_now(supervisor);
        return;
    }
    srv_log("posencd: draining");
    srv_notify("STOPPING=1");
    uv_timer_start(&supervisor->delay, delay_fire, number == SIGTERM ? options->drain_delay : 0, 0);
}

static void second_fire(uv_timer_t *timer)
{
    api_trim(((struct srv_supervisor *)timer->data)->srv->api);
}

static void poll_fire(uv_timer_t *timer)
{
    api_scan(((struct srv_supervisor *)timer->data)->srv->api);
}

/* Reads tokens and tables again. */
static void hangup_fire(uv_signal_t *handle, int number)
{
    (void)number;
    api_reload(((struct srv_supervisor *)handle->data)->srv->api);
}

void srv_signals_mask(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

/* Starts all handles; 0 or the first error. Timers cannot fail. */
static int handles_start(struct srv_supervisor *supervisor)
{
    const struct srv_options *options = &supervisor->srv->options;
    const struct {
        uv_signal_t *handle;
        uv_signal_cb fire;
        int number;
    } signals[] = {{&supervisor->term, signal_fire, SIGTERM},
                   {&supervisor->interrupt, signal_fire, SIGINT},
                   {&supervisor->hangup, hangup_fire, SIGHUP}};
    uv_timer_t *timers[] = {&supervisor->delay, &supervisor->deadline, &supervisor->second,
                            &supervisor->poll};
    int why = uv_async_init(&supervisor->uv, &supervisor->ended, ended_fire);

    supervisor->ended.data = supervisor;
    for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]) && !why; i++) {
        why = uv_timer_init(&supervisor->uv, timers[i]);
        timers[i]->data = supervisor;
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]) && !why; i++) {
        why = uv_signal_init(&supervisor->uv, signals[i].handle);
        signals[i].handle->data = supervisor;
        if (!why)
            why = uv_signal_start(signals[i].handle, signals[i].fire, signals[i].number);
    }
    if (!why && *options->service.tables && options->service.tables_poll > 0)
        why = uv_timer_start(&supervisor->poll, poll_fire, options->service.tables_poll,
                             options->service.tables_poll);
    return why ? why : uv_timer_start(&supervisor->second, second_fire, 1000, 1000);
}

struct srv_supervisor *srv_supervisor_new(struct srv *srv, char *message, size_t size)
{
    struct srv_supervisor *supervisor = calloc(1, sizeof(*supervisor));
    int why = supervisor ? uv_loop_init(&supervisor->uv) : UV_ENOMEM;

    if (why) {
        free(supervisor);
        supervisor = NULL;
    } else {
        supervisor->srv = srv;
        why = handles_start(supervisor);
    }
    if (!why)
        return supervisor;
    snprintf(message, size, "signals cannot be received: %s", uv_strerror(why));
    srv_supervisor_free(supervisor);
    return NULL;
}

void srv_supervisor_run(struct srv_supervisor *supervisor)
{
    srv_signals_mask(SIG_UNBLOCK);
    uv_run(&supervisor->uv, UV_RUN_DEFAULT);
}

void srv_supervisor_end(struct srv_supervisor *supervisor)
{
    if (atomic_load(&supervisor->ended_count) == supervisor->srv->loops_count)
        return;
    end_now(supervisor);
    uv_run(&supervisor->uv, UV_RUN_DEFAULT);
}

static void handle_close(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void srv_supervisor_free(struct srv_supervisor *supervisor)
{
    if (!supervisor)
        return;
    uv_walk(&supervisor->uv, handle_close, NULL);
    uv_run(&supervisor->uv, UV_RUN_DEFAULT);
    uv_loop_close(&supervisor->uv);
    free(supervisor);
}
