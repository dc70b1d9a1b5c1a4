/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/formats/reader.h"
#include "api/memory/budget.h"
#include "api/memory/json.h"

void fuzz_check(bool holds, const char *condition, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* ---- costs ----------------------------------------------------------------------------------- */

enum { INPUT_MAX = 64 << 10, CPU_MAX = 1, MEMORY_MAX = 256 << 20 };

static double cpu_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
/* A sanitizer keeps what was freed, so that the pieces are counted. */
int __sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void *, size_t),
                                              void (*given)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *piece);

static size_t pieces_live, pieces_most;

static void piece_taken(const volatile void *piece, size_t size)
{
    (void)piece;
    pieces_live += size;
    pieces_most = pieces_live > pieces_most ? pieces_live : pieces_most;
}

static void piece_given(const volatile void *piece)
{
    pieces_live -= piece ? __sanitizer_get_allocated_size(piece) : 0;
}

static size_t memory_begin(void)
{
    static bool hooked;

    if (!hooked)
        __sanitizer_install_malloc_and_free_hooks(piece_taken, piece_given);
    hooked = true;
    pieces_most = pieces_live;
    return pieces_live;
}

static size_t memory_taken(size_t before)
{
    return pieces_most - before;
}
#else
/* The most memory of the process at any time, in bytes; it never falls. */
static size_t memory_most(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss << 10;
}

static size_t memory_begin(void)
{
    return memory_most();
}

static size_t memory_taken(size_t before)
{
    return memory_most() - before;
}
#endif

void fuzz_run(void (*target)(const uint8_t *data, size_t size), const uint8_t *data, size_t size)
{
    double least = CPU_MAX + 1;

    /* Twice where it was slow: the first use of anything, or a neighbour, can make it so. */
    for (int i = 0; i < 2 && least > CPU_MAX; i++) {
        const double begin = cpu_now();
        const size_t before = memory_begin();
        target(data, size);
        const double seconds = cpu_now() - begin;
        least = seconds < least ? seconds : least;
        if (size < INPUT_MAX && memory_taken(before) > MEMORY_MAX) {
            fprintf(stderr, "%zu bytes of input take %zu of memory\n", size, memory_taken(before));
            abort();
        }
    }
    if (size < INPUT_MAX && least > CPU_MAX) {
        fprintf(stderr, "%zu bytes of input take %.2f s of CPU\n", size, least);
        abort();
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

uint8_t fuzz_byte(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    (*size)--;
    return *(*data)++;
}

char *fuzz_line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size > 0 ? memchr(*data, '\n', *size) : NULL;
    const size_t length = end ? (size_t)(end - *data) : *size;
    char *line = malloc(length + 1);

    for (size_t i = 0; i < length; i++)
        line[i] = (*data)[i] ? (char)(*data)[i] : '?';
    line[length] = '\0';
    *data += length + (end != NULL);
    *size -= length + (end != NULL);
    return line;
}

size_t fuzz_piece(uint32_t *seed, size_t most)
{
    if (*seed == 0 || most == 0)
        return most;
    *seed = *seed * 1664525u + 1013904223u;
    const size_t size = 1 + (*seed >> 8) % (1u << (*seed >> 28));
    *seed = *seed ? *seed : 1;
    return size < most ? size : most;
}

/* ---- services -------------------------------------------------------------------------------- */

const struct api_settings fuzz_settings = {
    .limits = {.body_max = 4 << 20,
               .json_body_max = 1 << 20,
               .output_max = 1ull << 40,
               .json_elements_max = 1 << 16,
               .dim_max = 65536,
               .tensors_max = 64,
               .json_values_max = 1 << 16,
               .work_max = 1 << 24,
               .memory_budget = 128 << 20},
    .cors_origin = "https://a.example,*",
    .anonymous_writes = true,
};

/* How many requests share a store. */
enum { STORE_AGE_MAX = 2000 };

static char folder[] = "/tmp/posenc-fuzz-XXXXXX";

static void folder_empty(void)
{
    char command[sizeof(folder) + 20];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    FUZZ_CHECK(system(command) == 0);
}

static struct api *service_new(bool storing)
{
    struct api_settings settings = fuzz_settings;
    struct pe_error err = {0};
    struct api *api = NULL;
    static bool named;

    if (storing) {
        if (named)
            folder_empty();
        FUZZ_CHECK(named ? mkdir(folder, 0700) == 0 : mkdtemp(folder) != NULL);
        if (!named)
            atexit(folder_empty);
        named = true;
        settings.tables = folder;
        settings.limits.cache_max = 1 << 20;
    }
    FUZZ_CHECK(api_new(&api, &settings, &err) == PE_OK);
    return api;
}

struct api *fuzz_service(bool storing)
{
    static struct api *services[2];
    static int age;

    if (storing && services[1] && ++age > STORE_AGE_MAX) {
        api_free(services[1]);
        services[1] = NULL;
        age = 0;
    }
    if (!services[storing])
        services[storing] = service_new(storing);
    return services[storing];
}

/* ---- readers --------------------------------------------------------------------------------- */

void fuzz_request_open(struct fuzz_request *made)
{
    api_json_memory_init();
    made->memory = api_memory_new(fuzz_settings.limits.memory_budget);
    FUZZ_CHECK(made->memory);
    made->request = (struct api_request){.settings = &fuzz_settings,
                                         .arena = api_arena_new(made->memory),
                                         .method = "POST",
                                         .content_type = ""};
    FUZZ_CHECK(made->request.arena);
    made->request.work = api_arena_work_new(made->request.arena, fuzz_settings.limits.work_max, 0);
    FUZZ_CHECK(made->request.work);
}

void fuzz_request_close(struct fuzz_request *made)
{
    api_arena_free(made->request.arena);
    FUZZ_CHECK(api_memory_state(made->memory).held == 0);
    api_memory_free(made->memory);
}

static uint64_t bytes_hash(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static void tensors_check(const struct api_tensor *tensors, size_t count)
{
    static volatile uint64_t seen;

    for (size_t i = 0; i < count; i++) {
        struct pe_error err = {0};
        const struct pe_tensor *tensor = &tensors[i].tensor;
        size_t elements, bytes;
        FUZZ_CHECK(tensors[i].name && tensor->rank <= PE_RANK_MAX);
        FUZZ_CHECK(api_reader_size(tensors[i].name, tensor, &elements, &bytes, &err) == PE_OK);
        FUZZ_CHECK((uintptr_t)tensor->data % pe_dtype_info(tensor->dtype)->size == 0);
        seen = bytes_hash(seen, tensor->data, bytes);
    }
}

bool fuzz_read(const struct api_reader *reader, struct api_request *request, const uint8_t *body,
               size_t size)
{
    struct api_json_owner owner;
    struct pe_error err = {0};

    if (size == 0)
        return false;
    request->body = api_arena_buffer(request->arena, size);
    request->body_size = size;
    FUZZ_CHECK(request->body);
    memcpy(request->body, body, size);
    request->reader = reader;
    api_json_memory_reset();
    api_json_own(&owner, request->arena);
    if (reader->read(request, &err) == PE_OK) {
        tensors_check(request->tensors, request->tensors_count);
        tensors_check(request->lists, request->lists_count);
    } else {
        FUZZ_CHECK(err.status != PE_INTERNAL && err.status != PE_OUT_OF_MEMORY);
        FUZZ_CHECK(err.detail[0] && memchr(err.detail, '\0', sizeof(err.detail)));
    }
    api_json_disown(&owner);
    return err.status == PE_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

enum { DRAINED_MAX = 4 << 20, PROBLEM_MAX = 16 << 10 };

struct drained {
    uint64_t size, hash;
    char start[PROBLEM_MAX];
};

static bool sink(void *context, const void *bytes, size_t size)
{
    struct drained *drained = context;

    drained->hash = bytes_hash(drained->hash, bytes, size);
    if (drained->size + size <= PROBLEM_MAX)
        memcpy(drained->start + drained->size, bytes, size);
    drained->size += size;
    return drained->size < DRAINED_MAX;
}

static void problem_check(const struct drained *drained)
{
    json_t *json = json_loadb(drained->start, drained->size, JSON_REJECT_DUPLICATES, NULL);

    FUZZ_CHECK(json_is_string(json_object_get(json, "detail")));
    json_decref(json);
}

struct fuzz_answer fuzz_answer_take(struct api_response *response)
{
    const struct api_body *body = &response->body;
    struct drained drained = {0};
    const int status = response->status;

    FUZZ_CHECK(status >= 200 && status < 600 && status != 500);
    FUZZ_CHECK(response->headers_count <= API_HEADERS_MAX);
    for (size_t i = 0; i < response->headers_count; i++)
        FUZZ_CHECK(!strpbrk(response->headers[i].value, "\r\n"));
    if (api_drain(response, sink, &drained)) {
        if (!response->head_only && body->size != API_SIZE_UNKNOWN)
            FUZZ_CHECK(drained.size == body->size);
    } else {
        FUZZ_CHECK(drained.size >= DRAINED_MAX);
    }
    if (status >= 400 && !response->head_only && drained.size <= PROBLEM_MAX)
        problem_check(&drained);
    api_response_free(response);
    return (struct fuzz_answer){status, drained.hash};
}
