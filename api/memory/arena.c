/* SPDX-License-Identifier: MIT */
#include "api/memory/arena.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/system.h"
#include "api/memory/budget.h"
#include "posenc/pool.h"
#include "posenc/work.h"

enum { ALIGNMENT = 64, SMALL_ALIGNMENT = 16, CHUNK_SIZE = 8192 };

struct chunk {
    struct chunk *next;
    unsigned char *free, *end;
};

struct buffer {
    struct buffer *next;
    unsigned char *bytes;
    size_t size, capacity; /* bytes requested, and allocated */
};

struct deferred {
    struct deferred *next;
    void (*release)(void *thing);
    void *thing;
};

struct api_arena {
    struct api_memory *memory;
    struct pe_work *work;
    pthread_mutex_t lock;     /* of the next two lines: any thread charges the work */
    uint64_t reserved, spent; /* spent <= reserved, if there is a budget */
    uint64_t small;           /* bytes counted as small pieces */
    bool over_budget, refused, settled;
    bool failed;
    struct pe_pool *freed_by; /* NULL: the calling thread */
    struct pe_job freeing;
    struct chunk *chunks;
    struct buffer *buffers;
    struct deferred *deferred;
};

struct api_arena *api_arena_new(struct api_memory *memory)
{
    struct api_arena *arena = calloc(1, sizeof(*arena));

    if (!arena)
        return NULL;
    arena->memory = memory;
    arena->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (api_arena_hold(arena, sizeof(*arena)))
        return arena;
    free(arena);
    return NULL;
}

/* Without a budget buffers come from the system's allocator. */
static unsigned char *bytes_take(struct api_arena *arena, size_t size, size_t *capacity)
{
    return arena->memory ? api_memory_take(arena->memory, size, capacity)
                         : aligned_alloc(ALIGNMENT, (size | (ALIGNMENT - 1)) + 1);
}

static void bytes_give(struct api_arena *arena, unsigned char *bytes, size_t capacity)
{
    if (bytes && arena->memory)
        api_memory_give(arena->memory, bytes, capacity);
    else
        free(bytes);
}

static void buffers_give(struct api_arena *arena)
{
    while (arena->buffers) {
        struct buffer *first = arena->buffers;
        arena->buffers = first->next;
        bytes_give(arena, first->bytes, first->capacity);
    }
}

static void arena_end(struct api_arena *arena)
{
    /* A release may defer another one. */
    while (arena->deferred) {
        struct deferred *first = arena->deferred;
        arena->deferred = first->next;
        first->release(first->thing);
    }
    pe_work_free(arena->work);
    if (arena->memory)
        api_memory_release(arena->memory, arena->reserved);
    buffers_give(arena);
    while (arena->chunks) {
        struct chunk *first = arena->chunks;
        arena->chunks = first->next;
        free(first);
    }
    if (arena->memory)
        api_memory_unclaim_small(arena->memory, arena->small);
    pthread_mutex_destroy(&arena->lock);
    free(arena);
}

static void nothing_run(struct pe_job *job, size_t block)
{
    (void)job;
    (void)block;
}

/* The job is part of the arena, and is no longer used once `done` is called. */
static void freeing_done(struct pe_job *job)
{
    arena_end((struct api_arena *)((char *)job - offsetof(struct api_arena, freeing)));
}

void api_arena_free(struct api_arena *arena)
{
    if (!arena)
        return;
    if (!arena->freed_by) {
        arena_end(arena);
        return;
    }
    arena->freeing = (struct pe_job){.run = nothing_run, .done = freeing_done, .blocks = 1};
    pe_pool_submit(arena->freed_by, &arena->freeing);
}

void api_arena_free_by(struct api_arena *arena, struct pe_pool *pool)
{
    arena->freed_by = pool;
}

/* ---- the budget ------------------------------------------------------------------------------ */

/* With the lock held. */
static bool reserve(struct api_arena *arena, uint64_t size)
{
    if (!arena->memory || size <= arena->reserved)
        return true;
    if (api_memory_reserve(arena->memory, size - arena->reserved)) {
        arena->reserved = size;
        return true;
    }
    arena->refused = true;
    if (size > api_memory_state(arena->memory).budget)
        arena->over_budget = true;
    return false;
}

bool api_arena_reserve(struct api_arena *arena, uint64_t size)
{
    pthread_mutex_lock(&arena->lock);
    const bool fits = reserve(arena, size);
    pthread_mutex_unlock(&arena->lock);
    return fits;
}

bool api_arena_count(struct api_arena *arena, uint64_t size)
{
    bool fits = false;

    pthread_mutex_lock(&arena->lock);
    if (size > UINT64_MAX - arena->spent)
        arena->over_budget = arena->refused = true;
    else
        fits = reserve(arena, arena->spent + size);
    if (fits)
        arena->spent += size;
    pthread_mutex_unlock(&arena->lock);
    return fits;
}

void api_arena_uncount(struct api_arena *arena, uint64_t size)
{
    uint64_t unused = 0;

    pthread_mutex_lock(&arena->lock);
    assert(size <= arena->spent);
    arena->spent -= size;
    /* Before api_arena_settle the request may still need it. */
    if (arena->settled && arena->reserved > arena->spent) {
        unused = arena->reserved - arena->spent;
        arena->reserved = arena->spent;
    }
    pthread_mutex_unlock(&arena->lock);
    if (arena->memory && unused > 0)
        api_memory_release(arena->memory, unused);
}

bool api_arena_hold(struct api_arena *arena, uint64_t size)
{
    if (!arena->memory)
        return true;
    pthread_mutex_lock(&arena->lock);
    const bool is_small =
        arena->small + size <= API_ARENA_SMALL && api_memory_claim_small(arena->memory, size);
    arena->small += is_small ? size : 0;
    pthread_mutex_unlock(&arena->lock);
    return is_small || api_arena_count(arena, size);
}

void api_arena_settle(struct api_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    arena->settled = true;
    pthread_mutex_unlock(&arena->lock);
    api_arena_uncount(arena, 0);
}

bool api_arena_over_budget(const struct api_arena *arena)
{
    return arena->over_budget;
}

bool api_arena_refused(const struct api_arena *arena)
{
    return arena->refused;
}

/* ---- work ------------------------------------------------------------------------------------ */

static bool work_reserve(void *arena, size_t bytes)
{
    return api_arena_count(arena, bytes);
}

static void work_release(void *arena, size_t bytes)
{
    api_arena_uncount(arena, bytes);
}

struct pe_work *api_arena_work_new(struct api_arena *arena, uint64_t operations_max,
                                   uint64_t deadline)
{
    const struct pe_work_limits limits = {.size = sizeof(limits),
                                          .reserve = work_reserve,
                                          .release = work_release,
                                          .context = arena,
                                          .operations_max = operations_max,
                                          .deadline = deadline};

    assert(!arena->work);
    pe_work_new(&arena->work, &limits, &(struct pe_error){0});
    return arena->work;
}

struct pe_work *api_arena_work(const struct api_arena *arena)
{
    return arena->work;
}

void api_arena_work_leave(struct api_arena *arena, size_t size)
{
    assert(arena->memory && !arena->settled);
    pe_work_release(arena->work, size);
    /* No longer spent; the reservation is the caller's now. */
    pthread_mutex_lock(&arena->lock);
    arena->reserved -= size;
    pthread_mutex_unlock(&arena->lock);
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* The counted bytes of a buffer: rounded up for a short one, as an allocator does. */
static size_t buffer_size(size_t size)
{
    enum { SHORT = 4096 };

    return size < SHORT ? size / ALIGNMENT * ALIGNMENT + ALIGNMENT : size;
}

unsigned char *api_arena_buffer(struct api_arena *arena, size_t size)
{
    struct buffer *buffer = api_arena_take(arena, sizeof(*buffer));

    size = buffer_size(size);
    if (!buffer || !api_arena_count(arena, size))
        return NULL;
    buffer->size = size;
    buffer->bytes = bytes_take(arena, size, &buffer->capacity);
    if (!buffer->bytes) {
        api_arena_uncount(arena, size);
        return NULL;
    }
    buffer->next = arena->buffers;
    arena->buffers = buffer;
    return buffer->bytes;
}

static struct buffer *buffer_find(struct api_arena *arena, const unsigned char *bytes)
{
    struct buffer *buffer = arena->buffers;

    while (buffer && buffer->bytes != bytes)
        buffer = buffer->next;
    return buffer;
}

void api_arena_buffer_drop(struct api_arena *arena, unsigned char *bytes)
{
    struct buffer *buffer = bytes ? buffer_find(arena, bytes) : NULL;

    if (!buffer)
        return;
    bytes_give(arena, bytes, buffer->capacity);
    buffer->bytes = NULL;
    api_arena_uncount(arena, buffer->size);
}

const void *api_arena_buffer_newest(const struct api_arena *arena)
{
    return arena->buffers;
}

void api_arena_buffers_drop(struct api_arena *arena, const void *newest)
{
    for (struct buffer *buffer = arena->buffers; buffer != newest; buffer = buffer->next)
        api_arena_buffer_drop(arena, buffer->bytes);
}

unsigned char *api_arena_buffer_resize(struct api_arena *arena, unsigned char *bytes, size_t used,
                                       size_t size)
{
    struct buffer *buffer = buffer_find(arena, bytes);
    const size_t before = buffer->size;
    unsigned char *other;

    size = buffer_size(size);
    if (size > before && !api_arena_count(arena, size - before))
        return NULL;
    assert(arena->memory);
    other = api_memory_resize(arena->memory, bytes, used, size, &buffer->capacity);
    if (!other) {
        api_arena_uncount(arena, size > before ? size - before : 0);
        return NULL;
    }
    if (size < before)
        api_arena_uncount(arena, before - size);
    buffer->size = size;
    return buffer->bytes = other;
}

size_t api_arena_buffer_leave(struct api_arena *arena, unsigned char *bytes, uint64_t *reserved)
{
    struct buffer *buffer = buffer_find(arena, bytes);

    assert(buffer && arena->memory);
    buffer->bytes = NULL;
    pthread_mutex_lock(&arena->lock);
    arena->spent -= buffer->size;
    arena->reserved -= buffer->size;
    pthread_mutex_unlock(&arena->lock);
    *reserved = buffer->size;
    return buffer->capacity;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static unsigned char *align_up(unsigned char *at, size_t alignment)
{
    return at + ((alignment - ((uintptr_t)at & (alignment - 1))) & (alignment - 1));
}

/* Adds a chunk that has space for a piece. NULL: out of memory. */
static struct chunk *chunk_add(struct api_arena *arena, size_t size)
{
    const size_t capacity = (size > CHUNK_SIZE ? size : CHUNK_SIZE) + ALIGNMENT;
    struct chunk *chunk = NULL;

    if (api_arena_hold(arena, sizeof(*chunk) + capacity))
        chunk = malloc(sizeof(*chunk) + capacity);
    arena->failed = arena->failed || !chunk;
    if (!chunk)
        return NULL;
    *chunk = (struct chunk){arena->chunks, (unsigned char *)(chunk + 1),
                            (unsigned char *)(chunk + 1) + capacity};
    return arena->chunks = chunk;
}

static void *piece_take(struct api_arena *arena, size_t size, size_t alignment)
{
    struct chunk *chunk = arena->chunks;
    unsigned char *taken;

    if (size > SIZE_MAX / 2)
        return NULL;
    if (!chunk || (size_t)(chunk->end - chunk->free) < size + alignment - 1)
        chunk = chunk_add(arena, size);
    if (!chunk)
        return NULL;
    taken = align_up(chunk->free, alignment);
    chunk->free = taken + size;
    return memset(taken, 0, size);
}

void *api_arena_take(struct api_arena *arena, size_t size)
{
    return piece_take(arena, size > 0 ? size : 1, size < ALIGNMENT ? SMALL_ALIGNMENT : ALIGNMENT);
}

char *api_arena_text(struct api_arena *arena, size_t size)
{
    return piece_take(arena, size > 0 ? size : 1, 1);
}

bool api_arena_failed(const struct api_arena *arena)
{
    return arena->failed;
}

int api_arena_defer(struct api_arena *arena, void (*release)(void *thing), void *thing)
{
    struct deferred *deferred = api_arena_take(arena, sizeof(*deferred));

    if (!deferred) {
        release(thing);
        return 0;
    }
    *deferred = (struct deferred){arena->deferred, release, thing};
    arena->deferred = deferred;
    return 1;
}

/* ---- text ------------------------------------------------------------------------------------ */

char *api_arena_copy(struct api_arena *arena, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = api_arena_text(arena, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

char *api_arena_print(struct api_arena *arena, const char *format, ...)
{
    char here[256], *text = NULL;
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = api_vprint(here, sizeof(here), format, args);
    if (length >= 0)
        text = api_arena_text(arena, (size_t)length + 1);
    if (text && (size_t)length < sizeof(here))
        memcpy(text, here, (size_t)length);
    else if (text)
        api_vprint(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
