/* SPDX-License-Identifier: MIT */
#include "server/watch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/notify.h"

/* How long work that is asked to end at once may take for it: a block of a job has no way out. */
enum { LAST_MS = 3000 };

struct srv_watch {
    struct srv *srv;
    uv_loop_t uv;
    uv_signal_t term, interrupt, hangup;
    uv_timer_t delay, deadline, second, poll;
    uv_async_t ended; /* a loop has */
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

static void end_now(struct srv_watch *watch)
{
    phase_all(watch->srv, SRV_END_NOW);
    uv_timer_start(&watch->deadline, last_fire, LAST_MS, 0);
}

static void deadline_fire(uv_timer_t *timer)
{
    srv_log("posencd: --shutdown-timeout is over, ending what is under way");
    end_now(timer->data);
}

static void ended_fire(uv_async_t *handle)
{
    struct srv_watch *watch = handle->data;

    if (atomic_load(&watch->ended_count) == watch->srv->loops_count)
        uv_stop(handle->loop);
}

void srv_watch_ended(struct srv_watch *watch)
{
    atomic_fetch_add(&watch->ended_count, 1);
    uv_async_send(&watch->ended);
}

/* No more connections; the loops end with what is under way. */
static void end_begin(struct srv_watch *watch)
{
    watch->ending = true;
    uv_timer_stop(&watch->delay);
    uv_timer_start(&watch->deadline, deadline_fire, watch->srv->config.shutdown_timeout, 0);
    phase_all(watch->srv, SRV_QUIESCE);
}

static void delay_fire(uv_timer_t *timer)
{
    end_begin(timer->data);
}

/* The first signal: unready at once, still accepting for the delay (a balancer needs a moment to
 * look), then the end of what is under way. The second: the end. */
static void signal_fire(uv_signal_t *handle, int number)
{
    struct srv_watch *watch = handle->data;
    const struct srv_config *config = &watch->srv->config;

    if (atomic_exchange(&watch->srv->draining, true)) {
        if (!watch->ending)
            end_begin(watch);
        end_now(watch);
        return;
    }
    srv_log("posencd: draining");
    srv_notify("STOPPING=1");
    uv_timer_start(&watch->delay, delay_fire, number == SIGTERM ? config->drain_delay : 0, 0);
}

static void second_fire(uv_timer_t *timer)
{
    api_trim(((struct srv_watch *)timer->data)->srv->api);
}

static void poll_fire(uv_timer_t *timer)
{
    api_scan(((struct srv_watch *)timer->data)->srv->api);
}

/* Tokens and tables are read again. */
static void hangup_fire(uv_signal_t *handle, int number)
{
    (void)number;
    api_reload(((struct srv_watch *)handle->data)->srv->api);
}

void srv_signals_hold(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

/* The handles, and the first failure among them. Timers take nothing of the system. */
static int handles_start(struct srv_watch *watch)
{
    const struct srv_config *config = &watch->srv->config;
    const struct {
        uv_signal_t *handle;
        uv_signal_cb fire;
        int number;
    } signals[] = {{&watch->term, signal_fire, SIGTERM},
                   {&watch->interrupt, signal_fire, SIGINT},
                   {&watch->hangup, hangup_fire, SIGHUP}};
    uv_timer_t *timers[] = {&watch->delay, &watch->deadline, &watch->second, &watch->poll};
    int why = uv_async_init(&watch->uv, &watch->ended, ended_fire);

    watch->ended.data = watch;
    for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]) && !why; i++) {
        why = uv_timer_init(&watch->uv, timers[i]);
        timers[i]->data = watch;
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]) && !why; i++) {
        why = uv_signal_init(&watch->uv, signals[i].handle);
        signals[i].handle->data = watch;
        if (!why)
            why = uv_signal_start(signals[i].handle, signals[i].fire, signals[i].number);
    }
    if (!why && *config->service.tables && config->service.tables_poll > 0)
        why = uv_timer_start(&watch->poll, poll_fire, config->service.tables_poll,
                             config->service.tables_poll);
    return why ? why : uv_timer_start(&watch->second, second_fire, 1000, 1000);
}

struct srv_watch *srv_watch_new(struct srv *srv, char *message, size_t size)
{
    struct srv_watch *watch = calloc(1, sizeof(*watch));
    int why = watch ? uv_loop_init(&watch->uv) : UV_ENOMEM;

    if (why) {
        free(watch);
        watch = NULL;
    } else {
        watch->srv = srv;
        why = handles_start(watch);
    }
    if (!why)
        return watch;
    snprintf(message, size, "signals cannot be received: %s", uv_strerror(why));
    srv_watch_free(watch);
    return NULL;
}

void srv_watch_wait(struct srv_watch *watch)
{
    srv_signals_hold(SIG_UNBLOCK);
    uv_run(&watch->uv, UV_RUN_DEFAULT);
}

void srv_watch_end(struct srv_watch *watch)
{
    if (atomic_load(&watch->ended_count) == watch->srv->loops_count)
        return;
    end_now(watch);
    uv_run(&watch->uv, UV_RUN_DEFAULT);
}

static void handle_close(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void srv_watch_free(struct srv_watch *watch)
{
    if (!watch)
        return;
    uv_walk(&watch->uv, handle_close, NULL);
    uv_run(&watch->uv, UV_RUN_DEFAULT);
    uv_loop_close(&watch->uv);
    free(watch);
}
