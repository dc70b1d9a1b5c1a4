/* SPDX-License-Identifier: MIT */

/* check_allocations [--ever | --short] FILE ...: asks the request of each file (in the form of
 * tests/fuzz/request.h) once for every allocation that it makes, to the last byte of the answer,
 * and has that allocation fail, with --ever all behind it too. The answer is 503, the right one, or
 * cut; nothing leaks when the service is freed. Its start is tried likewise.
 * --short leaves out requests of more than 300 allocations. */

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/codings/coding.h"
#include "tests/failing.h"
#include "tests/fuzz/request.h"

enum { DRAINED_MAX = 256 << 10, SHORT_MAX = 300 };

static char folder[] = "/tmp/posenc-failing-XXXXXX";

/* How an answer comes about: fed in pieces, on the loop where that goes, where what a request
 * writes is there already; and does all fail behind the first failure? */
struct way {
    bool in_pieces, quickly, has_stored, ever, is_short;
};

struct outcome {
    int status;
    bool cut;
    uint64_t hash;
};

/* ---- the store ------------------------------------------------------------------------------- */

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static void folder_remove(void)
{
    nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* The tables that the recorded requests ask for, as they are before any request; has_stored: and
 * one under the name that they write. */
static void folder_make(bool has_stored)
{
    char command[200];

    folder_remove();
    snprintf(command, sizeof(command), "cp -r tests/data/tables %s%s%s%s", folder,
             has_stored ? " && cp -r tests/data/tables/sample " : "", has_stored ? folder : "",
             has_stored ? "/recorded" : "");
    if (system(command) != 0)
        exit(1);
}

/* ---- one request ----------------------------------------------------------------------------- */

struct drained {
    size_t size;
    unsigned char bytes[DRAINED_MAX];
};

static bool gather(void *context, const void *bytes, size_t size)
{
    struct drained *drained = context;
    const size_t room = DRAINED_MAX - drained->size;

    memcpy(drained->bytes + drained->size, bytes, size < room ? size : room);
    drained->size += size < room ? size : room;
    return size < room;
}

static uint64_t bytes_hash(uint64_t hash, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* The hash of the text: with less memory it is coded otherwise. */
static uint64_t drained_hash(const struct drained *drained, const char *coding)
{
    static unsigned char text[4 << 10];
    struct api_flow flow = {.in = drained->bytes, .in_size = drained->size};
    const struct api_coding *const *at = api_codings;
    struct api_error err = {0};
    uint64_t hash = 0;

    while (coding && *at && strcmp((*at)->name, coding) != 0)
        at++;
    if (!coding || !*at)
        return bytes_hash(0, drained->bytes, drained->size);
    void *decoder = (*at)->decode_open(NULL);
    do {
        flow.out = text;
        flow.out_size = sizeof(text);
        if ((*at)->decode(decoder, &flow, &err))
            break;
        hash = bytes_hash(hash, text, sizeof(text) - flow.out_size);
    } while (flow.in_size > 0 || flow.out_size == 0);
    (*at)->decode_close(decoder);
    return hash;
}

/* But for those that tell how the answer came about. */
static uint64_t headers_hash(const struct api_response *response, uint64_t hash)
{
    static const char *const left_out[] = {"Server-Timing", "Content-Encoding"};

    for (size_t i = 0; i < response->headers_count; i++) {
        const struct api_field *field = &response->headers[i];
        if (strcmp(field->name, left_out[0]) == 0 || strcmp(field->name, left_out[1]) == 0)
            continue;
        hash = bytes_hash(hash, (const unsigned char *)field->name, strlen(field->name));
        hash = bytes_hash(hash, (const unsigned char *)field->value, strlen(field->value));
    }
    return hash;
}

static struct api_response *respond(struct api *api, const struct request_text *request,
                                    struct way way)
{
    const size_t size = request->body_size;
    struct api_head head = request->head;
    struct api_intake *intake;

    if (way.in_pieces)
        head.content_length = API_LENGTH_UNKNOWN;
    struct api_response *response = api_begin(api, &head, &intake);
    for (size_t fed = 0, piece; !response && fed < size; fed += piece) {
        piece = way.in_pieces && size - fed > size / 3 + 1 ? size / 3 + 1 : size - fed;
        response = api_feed(intake, request->body + fed, piece);
        if (response)
            api_intake_free(intake);
    }
    if (!response && way.quickly && api_intake_cost(intake) == API_POOLED)
        response = api_finish_quickly(intake);
    return response ? response : api_finish(intake);
}

/* Allocation k of the request fails; *allocations: how many there were. */
static struct outcome request_ask(struct api *api, const struct request_text *request,
                                  struct way way, unsigned long k, unsigned long *allocations)
{
    static struct drained drained;
    struct outcome outcome = {0};
    const char *coding = NULL;

    drained.size = 0;
    failing_begin(k, way.ever);
    struct api_response *response = respond(api, request, way);
    outcome.status = response->status;
    for (size_t i = 0; i < response->headers_count; i++)
        if (strcmp(response->headers[i].name, "Content-Encoding") == 0)
            coding = response->headers[i].value;
    outcome.cut = !api_drain(response, gather, &drained);
    *allocations = failing_end();
    outcome.hash = headers_hash(response, drained_hash(&drained, coding));
    api_response_free(response);
    return outcome;
}

/* A service that keeps nothing for later requests. NULL: memory is short. */
static struct api *service_new(void)
{
    const struct api_settings settings = {
        .limits = {.body_max = 256 << 20,
                   .json_body_max = 32 << 20,
                   .output_max = 1ull << 40,
                   .json_elements_max = 1 << 24,
                   .dim_max = 65536,
                   .tensors_max = 1024,
                   .json_values_max = 1 << 20,
                   .work_max = 1ull << 50,
                   .memory_budget = 2ull << 30},
        .tables = folder,
        .anonymous_writes = true,
    };
    struct api_error err = {0};
    struct api *api;

    if (api_new(&api, &settings, &err) != API_OK && err.status != API_OUT_OF_MEMORY) {
        printf("the service does not start: %s\n", err.detail);
        exit(1);
    }
    return api;
}

/* ---- every allocation of it ------------------------------------------------------------------ */

struct counts {
    unsigned long requests, failed, refused, left, wrong;
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

/* How many allocations of a request are to fail. */
static unsigned long most_of(unsigned long allocations, struct way way, struct counts *counts)
{
    if (!way.is_short || allocations <= SHORT_MAX)
        return allocations;
    counts->left++;
    return 0;
}

static void read_check(const char *name, const struct request_text *request, struct way way,
                       struct counts *counts)
{
    struct api *api = service_new();
    struct outcome wanted;
    unsigned long allocations, reached;

    for (int i = 0; i < 3; i++) /* what is made once in a process is made */
        wanted = request_ask(api, request, way, 0, &allocations);
    allocations = most_of(allocations, way, counts);
    for (unsigned long k = 1; k <= allocations; k++) {
        const long before = failing_live();
        const struct outcome outcome = request_ask(api, request, way, k, &reached);
        if (failing_live() != before)
            wrong(counts, name, "something leaks", k);
        outcome_check(name, request, &outcome, &wanted, k, counts);
        counts->failed += reached >= k;
    }
    api_free(api);
}

/* Asks twice of a new service, the first time with a failure: the second answer tells what the
 * first request has changed. False: something leaks. */
static bool write_ask(const struct request_text *request, struct way way, unsigned long k,
                      struct outcome outcomes[2], unsigned long *allocations)
{
    unsigned long again;

    folder_make(way.has_stored);
    const long before = failing_live();
    struct api *api = service_new();
    outcomes[0] = request_ask(api, request, way, k, allocations);
    outcomes[1] = request_ask(api, request, way, 0, &again);
    api_free(api);
    return failing_live() == before;
}

/* A write that was refused has changed nothing, and one that was answered has been done. */
static void write_check(const char *name, const struct request_text *request, struct way way,
                        struct counts *counts)
{
    struct outcome wanted[2], outcomes[2];
    unsigned long allocations, reached;

    for (int i = 0; i < 3; i++)
        write_ask(request, way, 0, wanted, &allocations);
    allocations = most_of(allocations, way, counts);
    for (unsigned long k = 1; k <= allocations; k++) {
        if (!write_ask(request, way, k, outcomes, &reached))
            wrong(counts, name, "something leaks", k);
        outcome_check(name, request, &outcomes[0], &wanted[0], k, counts);
        if (!is_same(&outcomes[1], &wanted[outcomes[0].status != 503]))
            wrong(counts, name, "refused and done, or answered and not done", k);
        counts->failed += reached >= k;
    }
    folder_make(false);
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

/* A service that starts short of memory has every table once it was asked to look again, and says
 * 503 until then. */
static void started_check(struct api *api, const struct request_text *request, unsigned long k,
                          struct counts *counts)
{
    static struct outcome wanted;
    struct outcome outcome;
    unsigned long allocations;

    outcome = request_ask(api, request, (struct way){0}, 0, &allocations);
    if (k == 0)
        wanted = outcome;
    outcome_check("start", request, &outcome, &wanted, k, counts);
    api_reload(api);
    outcome = request_ask(api, request, (struct way){0}, 0, &allocations);
    if (!is_same(&outcome, &wanted))
        wrong(counts, "start", "a table stays away", k);
}

/* The service's own allocations. */
static void start_check(bool ever, struct counts *counts)
{
    static const char text[] = "GET /v1/encodings/sample/table?format=npy\nX-Request-Id: 1\n\n";
    struct request_text request;
    unsigned long reached, allocations = 1;

    request_text_read(&request, (const unsigned char *)text, sizeof(text) - 1);
    for (unsigned long k = 0; k <= allocations; k++) {
        const long before = failing_live();
        failing_begin(k, ever);
        struct api *api = service_new();
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
    const struct way way = {.ever = argc > 1 && strcmp(argv[1], "--ever") == 0,
                            .is_short = argc > 1 && strcmp(argv[1], "--short") == 0};
    struct counts counts = {0};

    if (!mkdtemp(folder))
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
    folder_make(false);
    start_check(way.ever, &counts);
    for (int i = 1 + way.ever + way.is_short; i < argc; i++)
        file_check(argv[i], way, &counts);
    folder_remove();
    printf("%lu requests, %lu too long, %lu allocations failed, %lu answers refused, %lu wrong\n",
           counts.requests, counts.left, counts.failed, counts.refused, counts.wrong);
    return counts.wrong > 0 || counts.refused == 0;
}
