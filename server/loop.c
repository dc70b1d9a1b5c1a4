/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/watch.h"

enum {
    TICK_MS = 50,
    HURRY_MS = 5, /* while somebody may have left whose work goes on */
};

/* ---- turns ------------------------------------------------------------------------------------
 */

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void srv_loop_turn(struct srv_loop *loop)
{
    if (loop->turn_began_ns != 0)
        return;
    loop->turn_began_ns = uv_hrtime();
    loop->turn_cpu = cpu_seconds();
}

static void turn_end(struct srv_loop *loop)
{
    if (loop->turn_began_ns == 0)
        return;
    srv_metrics_turn(loop->srv->metrics, (double)(uv_hrtime() - loop->turn_began_ns) / 1e9,
                     cpu_seconds() - loop->turn_cpu);
    loop->turn_began_ns = 0;
}

static void before_fire(uv_prepare_t *before)
{
    turn_end(before->data);
}

static void behind_fire(uv_check_t *behind)
{
    turn_end(behind->data);
}

static void soon_fire(uv_idle_t *idle)
{
    struct srv_loop *loop = idle->data;

    srv_loop_turn(loop);
    uv_idle_stop(idle);
    srv_connections_take(loop);
}

void srv_loop_soon(struct srv_loop *loop)
{
    uv_idle_start(&loop->soon, soon_fire);
}

/* ---- posts ------------------------------------------------------------------------------------
 */

void srv_loop_post(struct srv_loop *loop, struct srv_post *post)
{
    pthread_mutex_lock(&loop->lock);
    post->next = loop->posts;
    loop->posts = post;
    /* With the lock held: as soon as it is free the loop may take the post and end. */
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

/* ---- the end ----------------------------------------------------------------------------------
 */

static void handle_close(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void loop_end(struct srv_loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->ended = true;
    pthread_mutex_unlock(&loop->lock);
    srv_lingers_check(loop, true);
    uv_walk(&loop->uv, handle_close, NULL);
}

/* Every connection is closed, and what waits for the pool is taken back. */
static void connections_cut(struct srv_loop *loop)
{
    for (struct srv_connection *c = loop->connections, *next; c; c = next) {
        next = c->next;
        srv_connection_close(c);
    }
}

/* The loop lives for as long as somebody works for one of its connections: the pool wakes it. */
static void phase_check(struct srv_loop *loop)
{
    const int phase = atomic_load(&loop->phase);

    if (phase == SRV_RUNNING || loop->ended)
        return;
    if (!loop->quiesced) {
        loop->quiesced = true;
        srv_accept_end(loop);
    }
    if (phase == SRV_END_NOW)
        connections_cut(loop);
    srv_connections_check(loop, true);
    if (!loop->connections && loop->blocks == 0)
        loop_end(loop);
}

static void wake_fire(uv_async_t *wake)
{
    struct srv_loop *loop = wake->data;

    srv_loop_turn(loop);
    posts_take(loop);
    phase_check(loop);
}

static void tick_fire(uv_timer_t *tick);

/* Not put off by one hurry after the other. */
void srv_loop_hurry(struct srv_loop *loop)
{
    if (!loop->hurries)
        uv_timer_start(&loop->tick, tick_fire, HURRY_MS, TICK_MS);
    loop->hurries = true;
}

static void tick_fire(uv_timer_t *tick)
{
    struct srv_loop *loop = tick->data;

    srv_connections_check(loop, false);
    srv_lingers_check(loop, false);
    srv_accept_go_on(loop);
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

/* ---- the start --------------------------------------------------------------------------------
 */

static void *loop_run(void *context)
{
    struct srv_loop *loop = context;

    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    srv_watch_ended(loop->srv->watch);
    return NULL;
}

/* The handles of a loop that uv has begun; 0, or uv's word for what failed. */
static int handles_start(struct srv_loop *loop)
{
    int why = uv_async_init(&loop->uv, &loop->wake, wake_fire);

    loop->listen.data = loop->tick.data = loop->wake.data = loop;
    loop->soon.data = loop->before.data = loop->behind.data = loop;
    if (why || (why = srv_accept_start(loop)) || (why = uv_timer_init(&loop->uv, &loop->tick)) ||
        (why = uv_idle_init(&loop->uv, &loop->soon)) ||
        (why = uv_prepare_init(&loop->uv, &loop->before)) ||
        (why = uv_check_init(&loop->uv, &loop->behind)) ||
        (why = uv_prepare_start(&loop->before, before_fire)) ||
        (why = uv_check_start(&loop->behind, behind_fire)))
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

/* A loop whose thread did not start: as much of it as there is. */
static void loop_undo(struct srv_loop *loop)
{
    uv_walk(&loop->uv, handle_close, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    pthread_mutex_destroy(&loop->lock);
}

bool srv_loop_start(struct srv_loop *loop, struct srv *srv, int listener, char *message,
                    size_t size)
{
    int why;

    memset(loop, 0, sizeof(*loop));
    loop->srv = srv;
    loop->listener = listener;
    loop->room = malloc(SRV_ROOM + SRV_TEXT_ROOM);
    loop->text = loop->room + SRV_ROOM;
    why = loop->room ? -pthread_mutex_init(&loop->lock, NULL) : UV_ENOMEM;
    if (!why && (why = uv_loop_init(&loop->uv)))
        pthread_mutex_destroy(&loop->lock);
    if (!why) {
        why = handles_start(loop);
        if (!why)
            why = -thread_start(loop);
        if (why)
            loop_undo(loop);
    }
    if (why) {
        snprintf(message, size, "a loop did not start: %s", uv_strerror(why));
        free(loop->room);
    }
    return why == 0;
}

void srv_loop_join(struct srv_loop *loop)
{
    pthread_join(loop->thread, NULL);
}

void srv_loop_free(struct srv_loop *loop)
{
    free(loop->room);
    free(loop->spare);
    pthread_mutex_destroy(&loop->lock);
}
