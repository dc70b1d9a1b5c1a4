/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/server.h"

/* Routes, methods and codes bound the number of series; further ones are counted in the last. */
enum { SERIES_MAX = 512, ROUTES_MAX = 64 };

static const double bounds[] = {1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2,
                                5e-2, 0.1,    0.25, 0.5,  1,      2.5,  5,    10};

enum { BOUNDS = sizeof(bounds) / sizeof(bounds[0]) };

struct histogram {
    uint64_t counts[BOUNDS + 1];
    double sum;
};

/* Texts are stored apart: printing labels for each request would take longer than rotating 1 KiB.
 */
struct series {
    char operation[32], encoding[68];
    enum pe_dtype dtype;
    uint64_t count; /* 0: not used yet */
};

/* Routes and methods are constant strings, compared by pointer. */
struct answers {
    const char *route, *method;
    int code;
    uint64_t count;
};

struct durations {
    const char *route; /* NULL: not used yet */
    struct histogram histogram;
};

struct counts {
    uint64_t received, sent;
    struct answers requests[SERIES_MAX];
    struct series elements[SERIES_MAX];
    struct durations durations[ROUTES_MAX];
    struct histogram turns, turns_cpu;
};

/* Loops take `lock` in each iteration, so pages are written from a copy, one page at a time. */
struct srv_metrics {
    pthread_mutex_t lock; /* of counts */
    struct counts counts;
    pthread_mutex_t copy_lock;
    struct counts copy;
    double started;
    atomic_long in_flight;
};

struct srv_metrics *srv_metrics_new(void)
{
    struct srv_metrics *metrics = calloc(1, sizeof(*metrics));

    if (!metrics)
        return NULL;
    if (pthread_mutex_init(&metrics->lock, NULL) != 0) {
        free(metrics);
        return NULL;
    }
    if (pthread_mutex_init(&metrics->copy_lock, NULL) != 0) {
        pthread_mutex_destroy(&metrics->lock);
        free(metrics);
        return NULL;
    }
    metrics->started = (double)time(NULL);
    return metrics;
}

void srv_metrics_free(struct srv_metrics *metrics)
{
    if (!metrics)
        return;
    pthread_mutex_destroy(&metrics->copy_lock);
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

static void histogram_add(struct histogram *histogram, double seconds)
{
    size_t i = 0;

    while (i < BOUNDS && seconds > bounds[i])
        i++;
    histogram->counts[i]++;
    histogram->sum += seconds;
}

static void elements_add(struct series *series, const struct srv_outcome *outcome)
{
    size_t i = 0;

    while (i + 1 < SERIES_MAX && series[i].count > 0 &&
           (series[i].dtype != outcome->dtype ||
            strcmp(series[i].operation, outcome->operation) != 0 ||
            strcmp(series[i].encoding, outcome->encoding) != 0))
        i++;
    if (series[i].count == 0) {
        memcpy(series[i].operation, outcome->operation, sizeof(series[i].operation));
        memcpy(series[i].encoding, outcome->encoding, sizeof(series[i].encoding));
        series[i].dtype = outcome->dtype;
    }
    series[i].count += outcome->elements;
}

static void answers_add(struct answers *answers, const char *route, const char *method, int code)
{
    size_t i = 0;

    while (i + 1 < SERIES_MAX && answers[i].method &&
           (answers[i].code != code || answers[i].route != route || answers[i].method != method))
        i++;
    if (!answers[i].method)
        answers[i] = (struct answers){route, method, code, 0};
    answers[i].count++;
}

static void durations_add(struct durations *durations, const char *route, double seconds)
{
    size_t i = 0;

    while (i + 1 < ROUTES_MAX && durations[i].route && durations[i].route != route)
        i++;
    if (!durations[i].route)
        durations[i].route = route;
    histogram_add(&durations[i].histogram, seconds);
}

/* Clients can send any method: only known ones become a label. */
static const char *method_label(const char *method)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(method, known[i]) == 0)
            return known[i];
    return "other";
}

void srv_metrics_request(struct srv_metrics *metrics, const struct srv_request *request,
                         double seconds)
{
    const struct srv_outcome *outcome = &request->outcome;
    const char *route = outcome->route ? outcome->route : "";
    struct counts *counts = &metrics->counts;

    pthread_mutex_lock(&metrics->lock);
    answers_add(counts->requests, route, method_label(request->method), outcome->status);
    durations_add(counts->durations, route, seconds);
    counts->received += request->received;
    counts->sent += outcome->size;
    if (outcome->elements > 0)
        elements_add(counts->elements, outcome);
    pthread_mutex_unlock(&metrics->lock);
}

void srv_metrics_turn(struct srv_metrics *metrics, double seconds, double cpu_seconds)
{
    pthread_mutex_lock(&metrics->lock);
    histogram_add(&metrics->counts.turns, seconds);
    histogram_add(&metrics->counts.turns_cpu, cpu_seconds);
    pthread_mutex_unlock(&metrics->lock);
}

void srv_metrics_in_flight(struct srv_metrics *metrics, int change)
{
    atomic_fetch_add_explicit(&metrics->in_flight, change, memory_order_relaxed);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct page {
    void (*append)(void *sink, const char *text);
    void *sink;
};

static void line(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void line(const struct page *page, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    page->append(page->sink, text);
}

static void type_line(const struct page *page, const char *name, const char *type, const char *help)
{
    line(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void elements_write(const struct page *page, const struct series *series)
{
    static const char name[] = "posenc_elements_total";

    type_line(page, name, "counter", "Elements computed.");
    for (size_t i = 0; i < SERIES_MAX && series[i].count > 0; i++)
        line(page, "%s{operation=\"%s\",encoding=\"%s\",dtype=\"%s\"} %llu\n", name,
             series[i].operation, series[i].encoding, pe_dtype_info(series[i].dtype)->name,
             (unsigned long long)series[i].count);
}

static void answers_write(const struct page *page, const struct answers *answers)
{
    static const char name[] = "posenc_http_requests_total";

    type_line(page, name, "counter", "Requests answered; code 0: none was.");
    for (size_t i = 0; i < SERIES_MAX && answers[i].method; i++)
        line(page, "%s{route=\"%s\",method=\"%s\",code=\"%d\"} %llu\n", name, answers[i].route,
             answers[i].method, answers[i].code, (unsigned long long)answers[i].count);
}

/* `label` is empty, or a label and a comma. */
static void histogram_lines(const struct page *page, const char *name, const char *label,
                            const struct histogram *histogram)
{
    const int labels = label[0] ? (int)strlen(label) - 1 : 0;
    const char *open = labels ? "{" : "", *close = labels ? "}" : "";
    uint64_t count = 0;

    for (size_t i = 0; i < BOUNDS; i++) {
        count += histogram->counts[i];
        line(page, "%s_bucket{%sle=\"%g\"} %llu\n", name, label, bounds[i],
             (unsigned long long)count);
    }
    count += histogram->counts[BOUNDS];
    line(page, "%s_bucket{%sle=\"+Inf\"} %llu\n", name, label, (unsigned long long)count);
    line(page, "%s_sum%s%.*s%s %.9g\n", name, open, labels, label, close, histogram->sum);
    line(page, "%s_count%s%.*s%s %llu\n", name, open, labels, label, close,
         (unsigned long long)count);
}

static void histogram_write(const struct page *page, const char *name, const char *help,
                            const struct histogram *histogram)
{
    type_line(page, name, "histogram", help);
    histogram_lines(page, name, "", histogram);
}

static void durations_write(const struct page *page, const struct durations *durations)
{
    static const char name[] = "posenc_http_request_duration_seconds";
    char label[96];

    type_line(page, name, "histogram", "From the request line to the last byte handed over.");
    for (size_t i = 0; i < ROUTES_MAX && durations[i].route; i++) {
        snprintf(label, sizeof(label), "route=\"%s\",", durations[i].route);
        histogram_lines(page, name, label, &durations[i].histogram);
    }
}

static void one_write(const struct page *page, const char *name, const char *type, const char *help,
                      double value)
{
    type_line(page, name, type, help);
    line(page, "%s %.17g\n", name, value);
}

/* Since Linux 6.2 the folder's size is the number; reading the folder takes 2.5 ms at 6000
 * connections. */
static double descriptors_count(void)
{
    double count = -3; /* two dots, and the folder itself */
    struct stat status;
    DIR *folder;

    if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0)
        return (double)status.st_size;
    folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void process_write(const struct page *page, const struct srv_metrics *metrics)
{
    struct rusage usage;
    struct rlimit descriptors = {0};
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");

    if (statm) {
        if (fscanf(statm, "%*u %lu", &pages) != 1)
            pages = 0;
        fclose(statm);
    }
    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &descriptors);
    one_write(page, "process_resident_memory_bytes", "gauge", "Resident memory.",
              (double)pages * (double)sysconf(_SC_PAGESIZE));
    one_write(page, "process_cpu_seconds_total", "counter", "CPU time, user and system.",
              (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    one_write(page, "process_open_fds", "gauge", "Open descriptors.", descriptors_count());
    one_write(page, "process_max_fds", "gauge", "Most descriptors that may be open.",
              (double)descriptors.rlim_cur);
    one_write(page, "process_start_time_seconds", "gauge", "Start, in seconds since 1970.",
              metrics->started);
}

static void memory_write(const struct page *page, const struct srv *srv)
{
    const struct api_state state = api_state_read(srv->api);

    one_write(page, "posenc_memory_budget_bytes", "gauge", "What requests may hold together.",
              (double)state.memory_budget);
    one_write(page, "posenc_memory_held_bytes", "gauge", "What requests hold.",
              (double)state.memory_held);
    one_write(page, "posenc_memory_held_max_bytes", "gauge",
              "The most that requests have held at once since the start.",
              (double)state.memory_held_max);
    one_write(page, "posenc_memory_connections_bytes", "gauge",
              "What open connections take; beyond a sixteenth, of the budget.",
              (double)state.memory_connections);
    one_write(page, "posenc_memory_kept_bytes", "gauge", "Free, kept for the next request.",
              (double)state.memory_idle);
    one_write(page, "posenc_cache_bytes", "gauge", "Answers, rotations and schemes kept.",
              (double)state.cache_size);
    one_write(page, "posenc_cache_hits_total", "counter", "Found among them.",
              (double)state.cache_hits);
    one_write(page, "posenc_cache_misses_total", "counter", "Not found.",
              (double)state.cache_misses);
    one_write(page, "posenc_tables", "gauge", "Learned tables that are stored.",
              (double)state.tables_count);
    one_write(page, "posenc_tables_bytes", "gauge", "What their latest versions take of memory.",
              (double)state.tables_size);
    one_write(page, "posenc_tables_damaged", "gauge", "Of them, those that cannot be read.",
              (double)state.tables_damaged);
    one_write(page, "posenc_tables_waiting", "gauge", "Those to be read again: it failed for now.",
              (double)state.tables_waiting);
}

static void counts_write(const struct page *page, const struct counts *counts)
{
    answers_write(page, counts->requests);
    durations_write(page, counts->durations);
    one_write(page, "posenc_http_request_bytes_total", "counter", "Bytes of request bodies.",
              (double)counts->received);
    one_write(page, "posenc_http_response_bytes_total", "counter", "Bytes of response bodies.",
              (double)counts->sent);
    histogram_write(page, "posenc_loop_turn_seconds", "What one turn of a loop took.",
                    &counts->turns);
    histogram_write(page, "posenc_loop_turn_cpu_seconds",
                    "Of that on the CPU; the rest is other threads' time.", &counts->turns_cpu);
    elements_write(page, counts->elements);
}

void srv_metrics_write(void *context, void (*append)(void *sink, const char *text), void *sink)
{
    const struct srv *srv = context;
    struct srv_metrics *metrics = srv->metrics;
    const struct page page = {append, sink};

    pthread_mutex_lock(&metrics->copy_lock);
    pthread_mutex_lock(&metrics->lock);
    metrics->copy = metrics->counts;
    pthread_mutex_unlock(&metrics->lock);
    counts_write(&page, &metrics->copy);
    pthread_mutex_unlock(&metrics->copy_lock);
    one_write(&page, "posenc_http_requests_in_flight", "gauge", "Requests under way.",
              (double)atomic_load(&metrics->in_flight));
    one_write(&page, "posenc_queue_depth", "gauge", "Jobs on the pool.",
              (double)pe_pool_depth(srv->pool));
    one_write(&page, "posenc_requests_computed", "gauge",
              "Requests that are computed or wait for it; --queue-max at most.",
              (double)atomic_load(&srv->computed));
    memory_write(&page, srv);
    process_write(&page, metrics);
}
