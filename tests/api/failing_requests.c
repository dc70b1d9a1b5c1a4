/* SPDX-License-Identifier: MIT */
#include "tests/api/failing_requests.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/codings/coding.h"
#include "tests/failing.h"

enum { DRAINED_MAX = 256 << 10 };

/* ---- the store ------------------------------------------------------------------------------- */

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void tables_folder_remove(const char *folder)
{
    nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

void tables_folder_make(const char *folder, bool has_stored)
{
    char command[200];

    tables_folder_remove(folder);
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

/* The hash of the decoded text: with less memory it may be coded differently. */
static uint64_t drained_hash(const struct drained *drained, const char *coding)
{
    static unsigned char text[4 << 10];
    struct api_flow flow = {.in = drained->bytes, .in_size = drained->size};
    const struct api_coding *const *at = api_codings;
    struct pe_error err = {0};
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

/* Hashes the headers that do not depend on how the answer was made. */
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
    if (!response && way.quickly && api_intake_cost(intake) == API_COST_MAYBE_QUICK)
        response = api_finish_if_quick(intake);
    return response ? response : api_finish(intake);
}

struct outcome failing_request(struct api *api, const struct request_text *request, struct way way,
                               unsigned long k, unsigned long *allocations)
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
    outcome.route = response->route;
    outcome.hash = headers_hash(response, drained_hash(&drained, coding));
    api_response_free(response);
    return outcome;
}

struct api *service_start(const char *folder)
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
    struct pe_error err = {0};
    struct api *api;

    if (api_new(&api, &settings, &err) != PE_OK && err.status != PE_OUT_OF_MEMORY) {
        printf("the service does not start: %s\n", err.detail);
        exit(1);
    }
    return api;
}
