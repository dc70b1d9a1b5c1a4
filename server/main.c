/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/listen.h"
#include "server/server.h"

/* ---- signals: the main thread has a small loop of its own --------------------------------------
 */

/* How long work that is asked to end at once may take for it: a block of a job has no way out. */
enum { LAST_MS = 3000 };

/* How often the store of tables is tended to: a writer that ended has a successor so soon. */
enum { TEND_MS = 500 };

struct watch {
    struct srv *srv;
    uv_signal_t term, interrupt, hangup;
    uv_timer_t delay, deadline, second, poll, tend;
    uv_work_t join;
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

static void end_now(struct watch *watch)
{
    phase_all(watch->srv, SRV_END_NOW);
    uv_timer_start(&watch->deadline, last_fire, LAST_MS, 0);
}

static void deadline_fire(uv_timer_t *timer)
{
    srv_log("posencd: --shutdown-timeout is over, ending what is under way");
    end_now(timer->data);
}

static void join_all(uv_work_t *work)
{
    struct watch *watch = work->data;

    for (size_t i = 0; i < watch->srv->loops_count; i++)
        srv_loop_join(&watch->srv->loops[i]);
}

static void joined(uv_work_t *work, int status)
{
    (void)status;
    uv_stop(work->loop);
}

/* No more connections; the loops end with what is under way. */
static void end_begin(struct watch *watch)
{
    watch->ending = true;
    uv_timer_stop(&watch->delay);
    uv_timer_start(&watch->deadline, deadline_fire, watch->srv->config.shutdown_timeout, 0);
    phase_all(watch->srv, SRV_QUIESCE);
    uv_queue_work(watch->delay.loop, &watch->join, join_all, joined);
}

static void delay_fire(uv_timer_t *timer)
{
    end_begin(timer->data);
}

/* The first signal: unready at once, still accepting for the delay (a balancer needs a moment to
 * look), then the end of what is under way. The second: the end. */
static void signal_fire(uv_signal_t *handle, int number)
{
    struct watch *watch = handle->data;
    const struct srv_config *config = &watch->srv->config;

    if (atomic_exchange(&watch->srv->draining, true)) {
        if (!watch->ending)
            end_begin(watch);
        end_now(watch);
        return;
    }
    srv_log("posencd: draining");
    uv_timer_start(&watch->delay, delay_fire, number == SIGTERM ? config->drain_delay : 0, 0);
}

static void handle_close(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void second_fire(uv_timer_t *timer)
{
    api_trim(((struct watch *)timer->data)->srv->api);
}

static void poll_fire(uv_timer_t *timer)
{
    api_scan(((struct watch *)timer->data)->srv->api);
}

static void tend_fire(uv_timer_t *timer)
{
    api_tend(((struct watch *)timer->data)->srv->api);
}

/* Tokens and tables are read again. */
static void hangup_fire(uv_signal_t *handle, int number)
{
    (void)number;
    api_reload(((struct watch *)handle->data)->srv->api);
}

/* From before the first thread until there is a handler, signals wait: one that comes while the
 * server starts is a signal all the same. */
static void signals_hold(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(how, &set, NULL);
}

/* Until a signal and the end of the loops. */
static void signals_wait(struct srv *srv)
{
    struct watch watch = {.srv = srv};
    uv_loop_t uv;

    uv_loop_init(&uv);
    uv_signal_init(&uv, &watch.term);
    uv_signal_init(&uv, &watch.interrupt);
    uv_timer_init(&uv, &watch.delay);
    uv_timer_init(&uv, &watch.deadline);
    uv_timer_init(&uv, &watch.second);
    uv_timer_init(&uv, &watch.poll);
    uv_timer_init(&uv, &watch.tend);
    uv_signal_init(&uv, &watch.hangup);
    watch.term.data = watch.interrupt.data = watch.delay.data = watch.deadline.data = &watch;
    watch.join.data = watch.second.data = watch.poll.data = watch.hangup.data = &watch;
    watch.tend.data = &watch;
    if (*srv->config.tables)
        uv_timer_start(&watch.tend, tend_fire, TEND_MS, TEND_MS);
    if (*srv->config.tables && srv->config.tables_poll > 0)
        uv_timer_start(&watch.poll, poll_fire, srv->config.tables_poll, srv->config.tables_poll);
    uv_signal_start(&watch.hangup, hangup_fire, SIGHUP);
    uv_timer_start(&watch.second, second_fire, 1000, 1000);
    uv_signal_start(&watch.term, signal_fire, SIGTERM);
    uv_signal_start(&watch.interrupt, signal_fire, SIGINT);
    signals_hold(SIG_UNBLOCK);
    uv_run(&uv, UV_RUN_DEFAULT);

    uv_walk(&uv, handle_close, NULL);
    uv_run(&uv, UV_RUN_DEFAULT);
    uv_loop_close(&uv);
}

/* ---- the start ---------------------------------------------------------------------------------
 */

static bool host_ready(void *context)
{
    return !atomic_load(&((struct srv *)context)->draining);
}

static void host_log(void *context, const char *text)
{
    (void)context;
    srv_log("posencd: %s", text);
}

static bool is_loopback(const char *bind)
{
    return strncmp(bind, "127.", 4) == 0 || strcmp(bind, "::1") == 0 ||
           strcmp(bind, "localhost") == 0;
}

/* On a loopback address only its own names are answered, so that no page of another name that
 * resolves to it can ask; elsewhere any, unless there is a list. */
static void hosts_list(const struct srv_config *config, char *out, size_t size)
{
    const char *more = config->allowed_host;

    *out = '\0';
    if (is_loopback(config->bind))
        snprintf(out, size, "localhost,127.0.0.1,[::1],%s%s%s", config->bind, *more ? "," : "",
                 more);
    else
        snprintf(out, size, "%s", more);
}

static bool api_start(struct srv *srv, struct api_error *err)
{
    const struct srv_config *config = &srv->config;
    char *flags = srv_config_json(config), hosts[1024];
    struct api_settings settings = {
        .limits = {config->body_max, config->json_body_max, config->output_max,
                   config->json_elements_max, config->dim_max, config->tensors_max,
                   config->work_max, config->memory_budget, config->cache_max},
        .host = {srv, host_ready, srv_metrics_write, host_log},
        .pool = srv->pool,
        .base_path = config->base_path,
        .cors_origin = config->cors_origin,
        .flags_json = flags,
        .tables = *config->tables ? config->tables : NULL,
        .token_file = *config->token_file ? config->token_file : NULL,
        .anonymous_writes = config->anonymous_writes != 0,
    };

    hosts_list(config, hosts, sizeof(hosts));
    settings.allowed_hosts = *hosts ? hosts : NULL;
    api_new(&srv->api, &settings, err);
    free(flags);
    return api_failed(err) == API_OK;
}

static bool srv_start(struct srv *srv, char *message, size_t size)
{
    struct api_error err = {0};
    int listeners[256];

    srv->log_off = strcmp(srv->config.log_format, "off") == 0;
    srv->log_json = strcmp(srv->config.log_format, "json") == 0 ||
                    (strcmp(srv->config.log_format, "auto") == 0 && !isatty(STDOUT_FILENO));
    srv->metrics = srv_metrics_new();
    srv->loops = calloc(srv->config.loops, sizeof(*srv->loops));
    if (!srv->metrics || !srv->loops ||
        pe_pool_new(&srv->pool, (size_t)srv->config.threads, true, &err.core) ||
        !api_start(srv, &err)) {
        snprintf(message, size, "%s", api_failed(&err) ? err.detail : "memory is short");
        return false;
    }
    if (!srv_listen(srv->config.bind, &srv->config.port, listeners, (size_t)srv->config.loops,
                    message, size))
        return false;
    for (; srv->loops_count < srv->config.loops; srv->loops_count++)
        if (!srv_loop_start(&srv->loops[srv->loops_count], srv, listeners[srv->loops_count])) {
            snprintf(message, size,
                     "a loop did not start; are there enough descriptors (ulimit -n)?");
            return false;
        }
    return true;
}

/* The system's soft limit is often 1024, for the sake of programs that use select. */
static void descriptors_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void banner(const struct srv *srv)
{
    const bool v6 = strchr(srv->config.bind, ':') != NULL;

    srv_log("posencd %s listening on http://%s%s%s:%u%s (%s, %zu threads)", pe_version(),
            v6 ? "[" : "", srv->config.bind, v6 ? "]" : "", (unsigned)srv->config.port,
            srv->config.base_path, pe_isa_name(), pe_pool_workers(srv->pool));
}

static int serve(struct srv *srv)
{
    char message[400];

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is a failure to write it */
    signal(SIGHUP, SIG_IGN);
    signals_hold(SIG_BLOCK);
    descriptors_allow();
    if (!srv_start(srv, message, sizeof(message))) {
        srv_log("posencd: %s", message);
        return 1;
    }
    banner(srv);
    signals_wait(srv);
    for (size_t i = 0; i < srv->loops_count; i++)
        srv_loop_free(&srv->loops[i]);
    pe_pool_free(srv->pool);
    api_free(srv->api);
    srv_metrics_free(srv->metrics);
    free(srv->loops);
    return 0;
}

int main(int argc, char **argv)
{
    static struct srv srv;
    char message[400];

    switch (srv_config_read(&srv.config, argc, argv, message, sizeof(message))) {
    case SRV_SERVE:
        return serve(&srv);
    case SRV_HELP:
        srv_config_help(stdout);
        return 0;
    case SRV_VERSION:
        printf("posencd %s\n", pe_version());
        return 0;
    case SRV_CHECK_CONFIG:
        printf("the settings are sound\n");
        return 0;
    case SRV_PRINT_CONFIG:
        srv_config_print(&srv.config, stdout);
        return 0;
    case SRV_HEALTHCHECK:
        return srv_healthcheck(&srv.config);
    case SRV_BAD_USAGE:
        srv_log("posencd: %s (--help lists what there is)", message);
        return 2;
    }
    return 2;
}
