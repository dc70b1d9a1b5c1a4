/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/server.h"

enum {
    TICK_MS = 50,
    TICK_SOON_MS = 5,        /* after srv_loop_check_soon */
    MHD_RUN_MAX_NS = 250000, /* then other handles of uv run */
    CONNECTIONS_MIN = 16,    /* of a loop, even with a small budget */
};

/* ---- running MHD ----------------------------------------------------------------------------- */

/* Milliseconds until MHD has to run again without an event of its sockets; -1: never. */
static int64_t timeout_of(struct MHD_Daemon *daemon)
{
#if MHD_VERSION >= 0x01000000
    return MHD_get_timeout64s(daemon);
#else
    MHD_UNSIGNED_LONG_LONG timeout;

    return MHD_get_timeout(daemon, &timeout) == MHD_YES ? (int64_t)timeout : -1;
#endif
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void timeout_fire(uv_timer_t *timer);
static void soon_fire(uv_idle_t *idle);

/* Runs MHD until it has nothing more to do. Its sockets are edge-triggered inside its epoll
 * descriptor, so pending work shows only in its timeout; and after a closed connection it listens
 * again only in the next run (loop->again). */
static void mhd_run(struct srv_loop *loop)
{
    const uint64_t began = uv_hrtime();
    const double cpu_began = cpu_seconds();
    int64_t timeout;

    do {
        loop->again = false;
        MHD_run(loop->daemon);
        timeout = timeout_of(loop->daemon);
    } while ((timeout == 0 || loop->again) && uv_hrtime() - began < MHD_RUN_MAX_NS);
    /* Not a timer of 0 ms: uv before 1.45 loops on a timer whose callback restarts it, and handles
     * no other event. */
    if (timeout == 0 || loop->again)
        uv_idle_start(&loop->soon, soon_fire);
    else
        uv_idle_stop(&loop->soon);
    if (timeout > 0)
        uv_timer_start(&loop->timeout, timeout_fire, (uint64_t)timeout, 0);
    else
        uv_timer_stop(&loop->timeout);
    srv_metrics_turn(loop->srv->metrics, (double)(uv_hrtime() - began) / 1e9,
                     cpu_seconds() - cpu_began);
}

static void timeout_fire(uv_timer_t *timer)
{
    mhd_run(timer->data);
}

static void soon_fire(uv_idle_t *idle)
{
    mhd_run(idle->data);
}

static void poll_fire(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    mhd_run(poll->data);
}

void srv_loop_suspend(struct srv_loop *loop, struct MHD_Connection *connection)
{
    MHD_suspend_connection(connection);
    loop->suspended++;
}

void srv_loop_resume(struct srv_loop *loop, struct MHD_Connection *connection)
{
    MHD_resume_connection(connection);
    loop->suspended--;
    loop->again = true;
}

/* ---- posts ----------------------------------------------------------------------------------- */

void srv_loop_post(struct srv_loop *loop, struct srv_post *post)
{
    pthread_mutex_lock(&loop->lock);
    post->next = loop->posts;
    loop->posts = post;
    /* With the lock held: once it is released the loop may take the post and end. */
    uv_async_send(&loop->wake);
    pthread_mutex_unlock(&loop->lock);
}

static void posts_take(struct srv_loop *loop)
{
    struct srv_post *post, *next;

    pthread_mutex_lock(&loop->lock);
    post = loop->posts;
    loop->posts = NULL;
    pthread_mutex_unlock(&loop->lock);
    for (; post; post = next) {
        next = post->next;
        post->ready(post);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void listener_close(struct srv_loop *loop)
{
    const MHD_socket listener = MHD_quiesce_daemon(loop->daemon);

    if (listener != MHD_INVALID_SOCKET)
        close(listener);
    mhd_run(loop);
}

static void handle_close(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* uv stops polling MHD's epoll descriptor before MHD closes it. */
static void loop_end(struct srv_loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->ended = true;
    pthread_mutex_unlock(&loop->lock);
    uv_poll_stop(&loop->poll);
    MHD_stop_daemon(loop->daemon);
    srv_cached_replies_free(loop);
    srv_lingers_check(loop, true);
    uv_walk(&loop->uv, handle_close, NULL);
}

/* Closes every connection, and cancels all requests. */
static void requests_cut(struct srv_loop *loop)
{
    for (struct srv_connection *c = loop->connections; c; c = c->next) {
        shutdown(c->fd, SHUT_RDWR);
        if (c->request)
            srv_request_cancel(c->request, true);
    }
}

static void phase_check(struct srv_loop *loop)
{
    const int phase = atomic_load(&loop->phase);

    if (phase == SRV_RUNNING || uv_is_closing((uv_handle_t *)&loop->poll))
        return;
    if (!loop->quiesced) {
        loop->quiesced = true;
        listener_close(loop);
    }
    if (phase == SRV_END_NOW)
        requests_cut(loop);
    srv_connections_check(loop, true);
    mhd_run(loop);
    /* MHD must not be stopped while a connection is suspended; the pool's posts resume each. */
    if (loop->suspended == 0 && loop->blocks == 0 && (loop->requests == 0 || phase == SRV_END_NOW))
        loop_end(loop);
}

static void wake_fire(uv_async_t *wake)
{
    struct srv_loop *loop = wake->data;

    posts_take(loop);
    mhd_run(loop);
    phase_check(loop);
}

static void tick_fire(uv_timer_t *tick);

/* Further calls do not postpone the tick. */
void srv_loop_check_soon(struct srv_loop *loop)
{
    if (!loop->checks_soon)
        uv_timer_start(&loop->tick, tick_fire, TICK_SOON_MS, TICK_MS);
    loop->checks_soon = true;
}

static void tick_fire(uv_timer_t *tick)
{
    struct srv_loop *loop = tick->data;

    srv_connections_check(loop, false);
    srv_lingers_check(loop, false);
    if (loop->again)
        mhd_run(loop);
    phase_check(loop);
}

void srv_loop_set_phase(struct srv_loop *loop, enum srv_phase phase)
{
    atomic_store(&loop->phase, phase);
    pthread_mutex_lock(&loop->lock);
    if (!loop->ended)
        uv_async_send(&loop->wake);
    pthread_mutex_unlock(&loop->lock);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Connections beyond the budget or --connections-max wait in the backlog until one is closed. */
static unsigned int connections_max(const struct srv_loop *loop)
{
    const uint64_t most = loop->srv->options.connections_max;
    const uint64_t fit =
        api_connections_max(loop->srv->api, SRV_CONNECTION_SIZE) / loop->srv->options.loops;

    return (unsigned int)(most < fit ? most : fit > CONNECTIONS_MIN ? fit : CONNECTIONS_MIN);
}

static struct MHD_Daemon *daemon_start(struct srv_loop *loop, int listener)
{
    const struct srv_options *options = &loop->srv->options;

    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        srv_request_access, loop, MHD_OPTION_EXTERNAL_LOGGER, srv_connection_log, loop,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_URI_LOG_CALLBACK, srv_request_begin, loop,
        MHD_OPTION_NOTIFY_COMPLETED, srv_request_complete, loop, MHD_OPTION_NOTIFY_CONNECTION,
        srv_connection_notify, loop, MHD_OPTION_CONNECTION_LIMIT, connections_max(loop),
        MHD_OPTION_CONNECTION_TIMEOUT, loop->idle_timeout_s, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned int)options->per_ip_max, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)SRV_CONNECTION_MEMORY, MHD_OPTION_CONNECTION_MEMORY_INCREMENT,
        (size_t)SRV_CONNECTION_MEMORY,
#if MHD_VERSION >= 0x00097701
        MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#endif
        /* Older versions, when strict, answer a missing Host with the header block twice; framing.c
         * refuses it instead. */
        MHD_OPTION_END);
}

static void *loop_run(void *context)
{
    struct srv_loop *loop = context;

    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    srv_supervisor_loop_ended(loop->srv->supervisor);
    return NULL;
}

/* Starts the handles of a loop; 0, or uv's error. */
static int handles_start(struct srv_loop *loop)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    int why = info ? uv_async_init(&loop->uv, &loop->wake, wake_fire) : UV_EINVAL;

    loop->poll.data = loop->timeout.data = loop->tick.data = loop->wake.data = loop;
    loop->soon.data = loop;
    if (why || (why = uv_poll_init(&loop->uv, &loop->poll, info->epoll_fd)) ||
        (why = uv_timer_init(&loop->uv, &loop->timeout)) ||
        (why = uv_timer_init(&loop->uv, &loop->tick)) ||
        (why = uv_idle_init(&loop->uv, &loop->soon)) ||
        (why = uv_poll_start(&loop->poll, UV_READABLE, poll_fire)))
        return why;
    return uv_timer_start(&loop->tick, tick_fire, TICK_MS, TICK_MS);
}

static int thread_start(struct srv_loop *loop)
{
    pthread_attr_t attributes;
    int why = pthread_attr_init(&attributes);

    if (why)
        return why;
    why = pthread_attr_setstacksize(&attributes, SRV_STACK_SIZE);
    if (!why)
        why = pthread_create(&loop->thread, &attributes, loop_run, loop);
    pthread_attr_destroy(&attributes);
    return why;
}

/* Frees a loop whose thread did not start. */
static void loop_undo(struct srv_loop *loop)
{
    uv_walk(&loop->uv, handle_close, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    MHD_stop_daemon(loop->daemon);
    pthread_mutex_destroy(&loop->lock);
}

bool srv_loop_start(struct srv_loop *loop, struct srv *srv, int listener, char *message,
                    size_t size)
{
    int why;

    memset(loop, 0, sizeof(*loop));
    loop->srv = srv;
    loop->idle_timeout_s = (unsigned int)((srv->options.idle_timeout + 999) / 1000);
    why = -pthread_mutex_init(&loop->lock, NULL);
    if (!why && (why = uv_loop_init(&loop->uv)))
        pthread_mutex_destroy(&loop->lock);
    if (!why) {
        errno = ENOMEM; /* in case the HTTP library does not set it */
        loop->daemon = daemon_start(loop, listener);
        why = loop->daemon ? handles_start(loop) : uv_translate_sys_error(errno);
        if (!why)
            why = -thread_start(loop);
        if (why)
            loop_undo(loop);
    }
    if (why)
        snprintf(message, size, "a loop did not start: %s", uv_strerror(why));
    return why == 0;
}

void srv_loop_join(struct srv_loop *loop)
{
    pthread_join(loop->thread, NULL);
}

void srv_loop_free(struct srv_loop *loop)
{
    pthread_mutex_destroy(&loop->lock);
}
