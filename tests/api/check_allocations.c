/* SPDX-License-Identifier: MIT */

/* check_allocations [--ever] [--short] [--routes] FILE ...: makes the request of each file (in the
 * form of tests/fuzz/request.h) once for every allocation that it needs, with that allocation
 * failing, with --ever all later ones too. The answer has to be 503, the correct one, or cut, and
 * nothing may leak. The start of the service is checked likewise. --short: at most 300 allocations
 * of a request, evenly spread. --routes: each route has to be among the requests that succeed. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/api/failing_requests.h"
#include "tests/failing.h"

enum { SHORT_MAX = 300 };

/* In memory if possible, because tables are flushed. */
static char in_memory[] = "/dev/shm/posenc-failing-XXXXXX";
static char on_disk[] = "/tmp/posenc-failing-XXXXXX";
static const char *folder;

static const struct {
    const char *method, *pattern;
} routes[] = {
#define ROUTE(method, pattern, ...) {method, pattern},
#include "api/routes/routes.def"
#undef ROUTE
};

enum { ROUTES = sizeof(routes) / sizeof(routes[0]) };

static bool route_asked[ROUTES];

struct counts {
    unsigned long requests, failed, refused, wrong;
};

static bool is_same(const struct outcome *a, const struct outcome *b)
{
    return a->status == b->status && a->cut == b->cut && a->hash == b->hash;
}

static bool is_right(const struct outcome *outcome, const struct outcome *wanted,
                     const struct request_text *request)
{
    if (outcome->status == 503)
        return true;
    if (outcome->status != wanted->status)
        return false;
    return outcome->cut || outcome->hash == wanted->hash ||
           strcmp(request->head.path, "/metrics") == 0;
}

static void wrong(struct counts *counts, const char *name, const char *what, unsigned long k)
{
    counts->wrong++;
    printf("%s: allocation %lu: %s\n", name, k, what);
}

static void outcome_check(const char *name, const struct request_text *request,
                          const struct outcome *outcome, const struct outcome *wanted,
                          unsigned long k, struct counts *counts)
{
    if (!is_right(outcome, wanted, request))
        wrong(counts, name, outcome->status == wanted->status ? "another answer" : "another status",
              k);
    counts->refused += outcome->status == 503 || outcome->cut;
}

/* The step from one failing allocation to the next. */
static unsigned long step_of(unsigned long allocations, struct way way)
{
    return way.is_short ? (allocations + SHORT_MAX - 1) / SHORT_MAX : 1;
}

static void route_note(const struct request_text *request, const struct outcome *wanted)
{
    for (size_t i = 0; i < ROUTES; i++)
        if (wanted->status < 300 && strcmp(routes[i].method, request->head.method) == 0 &&
            strcmp(routes[i].pattern, wanted->route) == 0)
            route_asked[i] = true;
}

static void routes_check(struct counts *counts)
{
    for (size_t i = 0; i < ROUTES; i++)
        if (!route_asked[i]) {
            counts->wrong++;
            printf("%s %s was not asked\n", routes[i].method, routes[i].pattern);
        }
}

static void read_check(const char *name, const struct request_text *request, struct way way,
                       struct counts *counts)
{
    struct api *api = service_start(folder);
    struct outcome wanted;
    unsigned long allocations, reached;

    for (int i = 0; i < 3; i++) /* for all that is allocated once in a process */
        wanted = failing_request(api, request, way, 0, &allocations);
    route_note(request, &wanted);
    for (unsigned long k = 1; k <= allocations; k += step_of(allocations, way)) {
        const long before = failing_live();
        const struct outcome outcome = failing_request(api, request, way, k, &reached);
        if (failing_live() != before)
            wrong(counts, name, "something leaks", k);
        outcome_check(name, request, &outcome, &wanted, k, counts);
        counts->failed += reached >= k;
    }
    api_free(api);
}

/* Makes a request twice to a new service, the first time with a failure: the second answer shows
 * what the first request changed. False: something leaks. */
static bool write_ask(const struct request_text *request, struct way way, unsigned long k,
                      struct outcome outcomes[2], unsigned long *allocations)
{
    unsigned long again;

    tables_folder_make(folder, way.has_stored);
    const long before = failing_live();
    struct api *api = service_start(folder);
    outcomes[0] = failing_request(api, request, way, k, allocations);
    outcomes[1] = failing_request(api, request, way, 0, &again);
    api_free(api);
    return failing_live() == before;
}

/* A refused write changes nothing, and an answered one is stored. */
static void write_check(const char *name, const struct request_text *request, struct way way,
                        struct counts *counts)
{
    struct outcome wanted[2], outcomes[2];
    unsigned long allocations, reached;

    for (int i = 0; i < 3; i++)
        write_ask(request, way, 0, wanted, &allocations);
    route_note(request, &wanted[0]);
    for (unsigned long k = 1; k <= allocations; k += step_of(allocations, way)) {
        if (!write_ask(request, way, k, outcomes, &reached))
            wrong(counts, name, "something leaks", k);
        outcome_check(name, request, &outcomes[0], &wanted[0], k, counts);
        if (!is_same(&outcomes[1], &wanted[outcomes[0].status != 503]))
            wrong(counts, name, "refused and done, or answered and not done", k);
        counts->failed += reached >= k;
    }
    tables_folder_make(folder, false);
}

static void way_check(const char *name, const struct request_text *request, struct way way,
                      struct counts *counts)
{
    const bool writes =
        strcmp(request->head.method, "PUT") == 0 || strcmp(request->head.method, "DELETE") == 0;
    const long mapped = failing_mapped();

    counts->requests++;
    if (writes)
        write_check(name, request, way, counts);
    else
        read_check(name, request, way, counts);
    if (failing_mapped() != mapped)
        wrong(counts, name, "something stays mapped, by one of", counts->failed);
    if (writes && !way.has_stored) {
        way.has_stored = true;
        way_check(name, request, way, counts);
    }
}

/* A service that starts without memory has every table after a reload, and answers 503 before. */
static void started_check(struct api *api, const struct request_text *request, unsigned long k,
                          struct counts *counts)
{
    static struct outcome wanted;
    struct outcome outcome;
    unsigned long allocations;

    outcome = failing_request(api, request, (struct way){0}, 0, &allocations);
    if (k == 0)
        wanted = outcome;
    outcome_check("start", request, &outcome, &wanted, k, counts);
    api_reload(api);
    outcome = failing_request(api, request, (struct way){0}, 0, &allocations);
    if (!is_same(&outcome, &wanted))
        wrong(counts, "start", "a table stays away", k);
}

/* The allocations of the service's start. */
static void start_check(bool ever, struct counts *counts)
{
    static const char text[] = "GET /v1/encodings/sample/table?format=npy\nX-Request-Id: 1\n\n";
    struct request_text request;
    unsigned long reached, allocations = 1;

    request_text_read(&request, (const unsigned char *)text, sizeof(text) - 1);
    for (unsigned long k = 0; k <= allocations; k++) {
        const long before = failing_live();
        failing_begin(k, ever);
        struct api *api = service_start(folder);
        reached = failing_end();
        if (k == 0)
            allocations = reached;
        if (api)
            started_check(api, &request, k, counts);
        counts->refused += !api;
        counts->failed += k > 0 && reached >= k;
        api_free(api);
        if (failing_live() != before && k > 0)
            wrong(counts, "start", "something leaks", k);
    }
    request_text_free(&request);
}

static void file_check(const char *path, struct way way, struct counts *counts)
{
    FILE *file = fopen(path, "rb");
    struct request_text request;
    unsigned char *text;
    long size = 0;

    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0) {
        perror(path);
        exit(1);
    }
    rewind(file);
    text = malloc((size_t)size + 1);
    if (fread(text, 1, (size_t)size, file) != (size_t)size)
        exit(1);
    fclose(file);
    request_text_read(&request, text, (size_t)size);
    request_text_field(&request, "X-Request-Id", "1");
    way_check(path, &request, way, counts);
    if (request.body_size > 0) {
        struct way other = way;
        other.in_pieces = true;
        way_check(path, &request, other, counts);
        other = way;
        other.quickly = true;
        way_check(path, &request, other, counts);
    }
    request_text_free(&request);
    free(text);
}

int main(int argc, char **argv)
{
    struct counts counts = {0};
    struct way way = {0};
    bool has_routes = false;
    int at = 1;

    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        way.ever |= strcmp(argv[at], "--ever") == 0;
        way.is_short |= strcmp(argv[at], "--short") == 0;
        has_routes |= strcmp(argv[at], "--routes") == 0;
    }

    folder = mkdtemp(in_memory) ? in_memory : mkdtemp(on_disk);
    if (!folder)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
    tables_folder_make(folder, false);
    start_check(way.ever, &counts);
    for (; at < argc; at++)
        file_check(argv[at], way, &counts);
    if (has_routes)
        routes_check(&counts);
    tables_folder_remove(folder);
    printf("%lu requests, %lu allocations failed, %lu answers refused, %lu wrong\n",
           counts.requests, counts.failed, counts.refused, counts.wrong);
    return counts.wrong > 0 || counts.refused == 0;
}
