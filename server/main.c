/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/server.h"

/* ---- the start ------------------------------------------------------------------------------- */

static bool host_ready(void *context)
{
    return !atomic_load(&((struct srv *)context)->draining);
}

static void host_log(void *context, const char *text)
{
    (void)context;
    srv_log("posencd: %s", text);
}

/* On a loopback address only its own names are accepted as Host, against DNS rebinding; elsewhere
 * any name, unless there is a list. */
static void hosts_list(const struct srv_options *options, char *out, size_t size)
{
    const char *more = options->service.allowed_host;

    *out = '\0';
    if (srv_options_is_loopback(options))
        snprintf(out, size, "localhost,127.0.0.1,[::1],%s%s%s", options->bind, *more ? "," : "",
                 more);
    else
        snprintf(out, size, "%s", more);
}

static bool api_start(struct srv *srv, struct pe_error *err)
{
    const struct srv_options *options = &srv->options;
    char *flags = srv_options_json(options), hosts[1024];
    struct api_settings settings = {
        .host = {srv, host_ready, srv_metrics_write, host_log},
        .pool = srv->pool,
        .flags_json = flags,
        .files = srv_page_files(),
    };

    svc_settings_give(&options->service, &settings);
    settings.limits.head_max = SRV_HEAD_MAX;
    settings.limits.fields_max = SRV_FIELDS_MAX;
    hosts_list(options, hosts, sizeof(hosts));
    settings.allowed_hosts = *hosts ? hosts : NULL;
    api_new(&srv->api, &settings, err);
    free(flags);
    return err->status == PE_OK;
}

/* Descriptors for the start, for each loop (libuv's epolls, pipes and wake-ups, MHD's epoll, the
 * listening socket: 6, and libuv may have two more), and for serving: connections, folders of
 * tables, /proc. libuv aborts if it gets too few, so they are counted first. */
enum { DESCRIPTORS_START = 8, DESCRIPTORS_LOOP = 8, DESCRIPTORS_SERVE = 8 };

static bool descriptors_suffice(size_t loops, char *message, size_t size)
{
    const size_t wanted = DESCRIPTORS_START + loops * DESCRIPTORS_LOOP + DESCRIPTORS_SERVE;
    int taken[DESCRIPTORS_START + SRV_LOOPS_MAX * DESCRIPTORS_LOOP + DESCRIPTORS_SERVE];
    size_t count = 0;

    while (count < wanted && (taken[count] = eventfd(0, EFD_CLOEXEC)) >= 0)
        count++;
    const int why = errno;
    for (size_t i = 0; i < count; i++)
        close(taken[i]);
    if (count < wanted)
        snprintf(message, size,
                 "--loops %zu takes %zu descriptors, and %zu can be had (%s); "
                 "allow more with ulimit -n",
                 loops, wanted, count, strerror(why));
    return count == wanted;
}

/* Memory for the first requests: glibc's threads allocate more than requested at first. */
enum { MEMORY_SERVE = 16 << 20 };

static bool memory_suffices(char *message, size_t size)
{
    void *spare =
        mmap(NULL, MEMORY_SERVE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (spare != MAP_FAILED)
        return munmap(spare, MEMORY_SERVE) == 0;
    snprintf(message, size, "the first requests need %d MiB of memory, which cannot be had (%s)",
             MEMORY_SERVE >> 20, strerror(errno));
    return false;
}

static bool loops_start(struct srv *srv, char *message, size_t size)
{
    int listeners[SRV_LOOPS_MAX];
    bool fine = srv_listen(srv->options.bind, &srv->options.port, listeners,
                           (size_t)srv->options.loops, message, size);

    for (; fine && srv->loops_count < srv->options.loops; srv->loops_count += fine)
        fine = srv_loop_start(&srv->loops[srv->loops_count], srv, listeners[srv->loops_count],
                              message, size);
    return fine;
}

static bool srv_start(struct srv *srv, char *message, size_t size)
{
    struct pe_error err = {0};

    srv->log_off = strcmp(srv->options.log_format, "off") == 0;
    srv->log_json = strcmp(srv->options.log_format, "json") == 0 ||
                    (strcmp(srv->options.log_format, "auto") == 0 && !isatty(STDOUT_FILENO));
    if (!descriptors_suffice((size_t)srv->options.loops, message, size) ||
        !(srv->supervisor = srv_supervisor_new(srv, message, size)))
        return false;
    srv->metrics = srv_metrics_new();
    srv->loops = calloc(srv->options.loops, sizeof(*srv->loops));
    if (!srv->metrics || !srv->loops ||
        pe_pool_new(&srv->pool, svc_settings_threads(&srv->options.service), true, &err) ||
        !api_start(srv, &err)) {
        snprintf(message, size, "%s", err.status ? err.detail : "memory is short");
        return false;
    }
    return loops_start(srv, message, size) && memory_suffices(message, size);
}

/* Ends the loops if they still run. */
static void srv_stop(struct srv *srv)
{
    if (srv->supervisor)
        srv_supervisor_end(srv->supervisor);
    for (size_t i = 0; i < srv->loops_count; i++) {
        srv_loop_join(&srv->loops[i]);
        srv_loop_free(&srv->loops[i]);
    }
    srv_supervisor_free(srv->supervisor);
    pe_pool_free(srv->pool);
    api_free(srv->api);
    srv_metrics_free(srv->metrics);
    free(srv->loops);
}

/* Raises the soft limit, which is often 1024 for programs that use select. */
static void descriptors_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* At a terminal also a link to open and a request to try. */
static void banner(const struct srv *srv)
{
    const bool v6 = strchr(srv->options.bind, ':') != NULL;
    char url[400];

    snprintf(url, sizeof(url), "http://%s%s%s:%u%s", v6 ? "[" : "", srv->options.bind,
             v6 ? "]" : "", (unsigned)srv->options.port, srv->options.service.base_path);
    srv_log("posencd %s listening on %s (%s, %zu threads)", pe_version(), url, pe_isa_name(),
            pe_pool_workers(srv->pool));
    if (srv->log_off || srv->log_json || !srv_options_is_loopback(&srv->options))
        return;
    srv_log("Open %s in a browser, or try in another terminal:", url);
    srv_log("  curl '%sv1/encodings/rope/table?dim=8&length=4'", url);
}

static void warning_log(const char *sentence)
{
    srv_log("posencd: %s", sentence);
}

/* Freed memory goes back to the system, so that the process holds only what the budget counts. By
 * default glibc raises these limits to 32 and 64 MiB after an allocation of such a size, and each
 * thread retains as much. */
static void malloc_limit(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

static int serve(struct srv *srv)
{
    char message[400];
    bool started;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is a failure to write it */
    srv_signals_mask(SIG_BLOCK);
    descriptors_allow();
    srv_options_warn(&srv->options, false, warning_log);
    started = srv_start(srv, message, sizeof(message));
    if (started) {
        banner(srv);
        srv_notify("READY=1");
        srv_supervisor_run(srv->supervisor);
    } else {
        srv_log("posencd: %s", message);
    }
    srv_stop(srv);
    return started ? 0 : 1;
}

/* 1: the text on the standard output is incomplete. */
static int printed(void)
{
    if (fflush(stdout) == 0)
        return 0;
    srv_log("posencd: standard output: %s", strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    static struct srv srv;
    char message[400];

    switch (srv_options_read(&srv.options, argc, argv, message, sizeof(message))) {
    case SRV_SERVE:
        malloc_limit();
        return serve(&srv);
    case SRV_HELP:
        srv_options_help(stdout);
        return printed();
    case SRV_VERSION:
        printf("posencd %s\n", pe_version());
        return printed();
    case SRV_CHECK_CONFIG:
        srv_options_warn(&srv.options, true, warning_log);
        printf("the settings are sound\n");
        return printed();
    case SRV_PRINT_CONFIG:
        srv_options_print(&srv.options, stdout);
        return printed();
    case SRV_MANUAL:
        srv_manual_print(stdout);
        return printed();
    case SRV_HEALTHCHECK:
        return srv_healthcheck(&srv.options);
    case SRV_BAD_USAGE:
        srv_log("posencd: %s (--help lists what there is)", message);
        return 2;
    }
    return 2;
}
