/* SPDX-License-Identifier: MIT */
#include "api/memory/budget.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/system.h"

/* Below LARGE the system's allocator is as fast. IDLE_MAX bounds the time to search idle buffers,
 * not their bytes. With AddressSanitizer every buffer comes from its allocator, which finds
 * accesses beyond the end. */
enum { ALIGNMENT = 64, IDLE_MAX = 64 };
#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX
#else
#define LARGE ((size_t)256 << 10)
#endif

struct idle {
    unsigned char *bytes;
    size_t capacity;
    double since_ms;
};

struct api_memory {
    pthread_mutex_t lock;
    uint64_t budget, held, held_max, claimed, small, idle_size, released;
    struct idle idle[IDLE_MAX]; /* the most recently used one last */
    size_t idle_count;
    bool (*shed)(void *context);
    void *shed_context;
};

struct api_memory *api_memory_new(uint64_t budget)
{
    struct api_memory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return NULL;
    memory->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    memory->budget = budget;
    return memory;
}

/* The budget of requests. Connections and small pieces may use 1/16 of the budget for free, so that
 * a few connections do not refuse a request as large as the budget; what exceeds that reduces it.
 * With the lock held. */
static uint64_t budget_left(const struct api_memory *memory)
{
    const uint64_t granted = memory->budget / 16, both = memory->claimed + memory->small;
    const uint64_t claimed = both > granted ? both - granted : 0;

    return memory->budget > claimed ? memory->budget - claimed : 0;
}

static uint64_t free_bytes(const struct api_memory *memory)
{
    const uint64_t left = budget_left(memory);

    return left > memory->held ? left - memory->held : 0;
}

/* ---- idle buffers; the lock is held ---------------------------------------------------------- */

static struct idle idle_remove(struct api_memory *memory, size_t index)
{
    const struct idle removed = memory->idle[index];

    memory->idle_count--;
    for (size_t i = index; i < memory->idle_count; i++)
        memory->idle[i] = memory->idle[i + 1];
    memory->idle_size -= removed.capacity;
    return removed;
}

static void idle_unmap_oldest(struct api_memory *memory)
{
    const struct idle oldest = idle_remove(memory, 0);

    api_pages_unmap(oldest.bytes, oldest.capacity);
}

/* Unmaps idle buffers until `size` bytes are free beside the others. */
static void idle_make_way(struct api_memory *memory, uint64_t size)
{
    while (memory->idle_count > 0 && memory->idle_size + size > free_bytes(memory))
        idle_unmap_oldest(memory);
}

/* The smallest buffer that fits and wastes at most a quarter; of equal ones the last used, which
 * the CPU's caches may still hold. False: none. */
static bool idle_find(const struct api_memory *memory, size_t capacity, size_t *index)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < memory->idle_count; i++)
        if (memory->idle[i].capacity >= capacity && memory->idle[i].capacity <= best &&
            memory->idle[i].capacity - capacity <= capacity / 4) {
            best = memory->idle[i].capacity;
            *index = i;
        }
    return best != SIZE_MAX;
}

/* ---- counting ------------------------------------------------------------------------------- */

static void most_note(struct api_memory *memory)
{
    const uint64_t now = memory->held + memory->claimed + memory->small;

    memory->held_max = now > memory->held_max ? now : memory->held_max;
}

static bool reserve_once(struct api_memory *memory, uint64_t size)
{
    bool fits;

    pthread_mutex_lock(&memory->lock);
    fits = size <= free_bytes(memory);
    if (fits) {
        memory->held += size;
        most_note(memory);
        idle_make_way(memory, 0);
    }
    pthread_mutex_unlock(&memory->lock);
    return fits;
}

bool api_memory_reserve(struct api_memory *memory, uint64_t size)
{
    while (!reserve_once(memory, size))
        if (size > memory->budget || !memory->shed || !memory->shed(memory->shed_context))
            return false;
    return true;
}

/* count: claimed or small. */
static bool claim(struct api_memory *memory, uint64_t *count, uint64_t size)
{
    pthread_mutex_lock(&memory->lock);
    const uint64_t both = memory->claimed + memory->small;
    const bool fits =
        both + size < API_MEMORY_SLACK || both + size - API_MEMORY_SLACK <= memory->budget;
    if (fits) {
        *count += size;
        most_note(memory);
        idle_make_way(memory, 0);
    }
    pthread_mutex_unlock(&memory->lock);
    return fits;
}

static void unclaim(struct api_memory *memory, uint64_t *count, uint64_t size)
{
    pthread_mutex_lock(&memory->lock);
    assert(*count >= size);
    *count -= size;
    pthread_mutex_unlock(&memory->lock);
}

bool api_memory_claim(struct api_memory *memory, uint64_t size)
{
    return claim(memory, &memory->claimed, size);
}

void api_memory_unclaim(struct api_memory *memory, uint64_t size)
{
    unclaim(memory, &memory->claimed, size);
}

bool api_memory_claim_small(struct api_memory *memory, uint64_t size)
{
    return claim(memory, &memory->small, size);
}

void api_memory_unclaim_small(struct api_memory *memory, uint64_t size)
{
    unclaim(memory, &memory->small, size);
}

void api_memory_release(struct api_memory *memory, uint64_t size)
{
    pthread_mutex_lock(&memory->lock);
    assert(memory->held >= size);
    memory->held -= size;
    memory->released += size;
    pthread_mutex_unlock(&memory->lock);
}

bool api_memory_is_calm(struct api_memory *memory, uint64_t bytes)
{
    pthread_mutex_lock(&memory->lock);
    const bool is_calm = memory->released >= bytes && memory->held < bytes;
    if (is_calm)
        memory->released = 0;
    pthread_mutex_unlock(&memory->lock);
    return is_calm;
}

bool api_memory_pin(struct api_memory *memory, uint64_t size)
{
    if (!api_memory_reserve(memory, size))
        return false;
    pthread_mutex_lock(&memory->lock);
    memory->held -= size;
    memory->budget -= size;
    idle_make_way(memory, 0); /* connections get less */
    pthread_mutex_unlock(&memory->lock);
    return true;
}

void api_memory_unpin(struct api_memory *memory, uint64_t size)
{
    pthread_mutex_lock(&memory->lock);
    memory->budget += size;
    pthread_mutex_unlock(&memory->lock);
}

void api_memory_on_shortage(struct api_memory *memory, bool (*shed)(void *context), void *context)
{
    memory->shed = shed;
    memory->shed_context = context;
}

struct api_memory_state api_memory_state(struct api_memory *memory)
{
    struct api_memory_state state;

    pthread_mutex_lock(&memory->lock);
    state = (struct api_memory_state){.budget = memory->budget,
                                      .held = memory->held,
                                      .held_max = memory->held_max,
                                      .idle = memory->idle_size,
                                      .claimed = memory->claimed,
                                      .small = memory->small,
                                      .left = budget_left(memory)};
    pthread_mutex_unlock(&memory->lock);
    return state;
}

/* ---- taking --------------------------------------------------------------------------------- */

static size_t capacity_of(size_t size)
{
    const size_t unit = size < LARGE ? ALIGNMENT : size < API_HUGE_PAGE ? LARGE : API_HUGE_PAGE;

    return (size + unit - 1) / unit * unit;
}

unsigned char *api_memory_take(struct api_memory *memory, size_t size, size_t *capacity)
{
    unsigned char *bytes = NULL;
    size_t index;

    if (size > SIZE_MAX / 2)
        return NULL;
    *capacity = capacity_of(size > 0 ? size : 1);
    if (*capacity < LARGE)
        return aligned_alloc(ALIGNMENT, *capacity);
    pthread_mutex_lock(&memory->lock);
    if (idle_find(memory, *capacity, &index)) {
        const struct idle found = idle_remove(memory, index);
        bytes = found.bytes;
        *capacity = found.capacity;
    }
    pthread_mutex_unlock(&memory->lock);
    return bytes ? bytes : api_pages_map(*capacity);
}

void api_memory_give(struct api_memory *memory, unsigned char *bytes, size_t capacity)
{
    if (capacity < LARGE) {
        free(bytes);
        return;
    }
    pthread_mutex_lock(&memory->lock);
    if (capacity <= free_bytes(memory)) {
        if (memory->idle_count == IDLE_MAX)
            idle_unmap_oldest(memory);
        idle_make_way(memory, capacity);
        memory->idle[memory->idle_count++] = (struct idle){bytes, capacity, api_now_ms()};
        memory->idle_size += capacity;
        bytes = NULL;
    }
    pthread_mutex_unlock(&memory->lock);
    if (bytes)
        api_pages_unmap(bytes, capacity);
}

unsigned char *api_memory_resize(struct api_memory *memory, unsigned char *bytes, size_t used,
                                 size_t size, size_t *capacity)
{
    const size_t new_capacity = capacity_of(size > 0 ? size : 1);
    unsigned char *other;

    if (*capacity >= LARGE && new_capacity >= LARGE && new_capacity < *capacity) {
        api_pages_shorten(bytes, *capacity, new_capacity);
        *capacity = new_capacity;
        return bytes;
    }
    if (new_capacity <= *capacity)
        return bytes;
    if (*capacity >= LARGE) {
        other = api_pages_lengthen(bytes, *capacity, new_capacity);
        *capacity = other ? new_capacity : *capacity;
        return other;
    }
    size_t other_capacity;
    other = api_memory_take(memory, size, &other_capacity);
    if (!other)
        return NULL;
    memcpy(other, bytes, used);
    api_memory_give(memory, bytes, *capacity);
    *capacity = other_capacity;
    return other;
}

/* Unmaps without the lock, because a large buffer takes long. */
void api_memory_trim(struct api_memory *memory, double now_ms, double idle_ms)
{
    struct idle oldest = {0};

    do {
        if (oldest.bytes)
            api_pages_unmap(oldest.bytes, oldest.capacity);
        oldest.bytes = NULL;
        pthread_mutex_lock(&memory->lock);
        if (memory->idle_count > 0 && now_ms - memory->idle[0].since_ms > idle_ms)
            oldest = idle_remove(memory, 0);
        pthread_mutex_unlock(&memory->lock);
    } while (oldest.bytes);
}

void api_memory_free(struct api_memory *memory)
{
    if (!memory)
        return;
    api_memory_trim(memory, 1, 0);
    while (memory->idle_count > 0)
        idle_unmap_oldest(memory);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}
