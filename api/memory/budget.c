/* SPDX-License-Identifier: MIT */
#include "api/memory/budget.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/system.h"

/* Below LARGE the system's allocator is as fast. KEPT_MAX bounds the time of the search for a kept
 * buffer, not the bytes. With AddressSanitizer every buffer is its allocator's, which finds
 * accesses beyond the end. */
enum { ALIGNMENT = 64, KEPT_MAX = 64 };
#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX
#else
#define LARGE ((size_t)256 << 10)
#endif

struct kept {
    unsigned char *bytes;
    size_t room;
    double since_ms;
};

struct api_memory {
    pthread_mutex_t lock;
    uint64_t budget, held, held_max, claimed, small, kept_size, released;
    struct kept kept[KEPT_MAX]; /* the most recently used one last */
    size_t kept_count;
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

/* The budget without connections and small pieces, of which a sixteenth more than the budget is
 * granted: a few connections do not keep a request out that may have all of it. With the lock held.
 */
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

/* ---- kept buffers; the lock is held --------------------------------------------------------- */

static struct kept kept_remove(struct api_memory *memory, size_t index)
{
    const struct kept removed = memory->kept[index];

    memory->kept_count--;
    for (size_t i = index; i < memory->kept_count; i++)
        memory->kept[i] = memory->kept[i + 1];
    memory->kept_size -= removed.room;
    return removed;
}

static void kept_unmap_oldest(struct api_memory *memory)
{
    const struct kept oldest = kept_remove(memory, 0);

    api_pages_unmap(oldest.bytes, oldest.room);
}

/* Unmaps until so many bytes are left beside the kept ones. */
static void kept_make_way(struct api_memory *memory, uint64_t size)
{
    while (memory->kept_count > 0 && memory->kept_size + size > free_bytes(memory))
        kept_unmap_oldest(memory);
}

/* The smallest buffer that fits and wastes a quarter at most; of equal ones the last used, which
 * the CPU's caches may still hold. False: none fits. */
static bool kept_find(const struct api_memory *memory, size_t room, size_t *index)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < memory->kept_count; i++)
        if (memory->kept[i].room >= room && memory->kept[i].room <= best &&
            memory->kept[i].room - room <= room / 4) {
            best = memory->kept[i].room;
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
        kept_make_way(memory, 0);
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
        kept_make_way(memory, 0);
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

bool api_memory_rests(struct api_memory *memory, uint64_t bytes)
{
    pthread_mutex_lock(&memory->lock);
    const bool rests = memory->released >= bytes && memory->held < bytes;
    if (rests)
        memory->released = 0;
    pthread_mutex_unlock(&memory->lock);
    return rests;
}

bool api_memory_pin(struct api_memory *memory, uint64_t size)
{
    if (!api_memory_reserve(memory, size))
        return false;
    pthread_mutex_lock(&memory->lock);
    memory->held -= size;
    memory->budget -= size;
    kept_make_way(memory, 0); /* less is granted to connections */
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
                                      .kept = memory->kept_size,
                                      .claimed = memory->claimed,
                                      .small = memory->small,
                                      .left = budget_left(memory)};
    pthread_mutex_unlock(&memory->lock);
    return state;
}

/* ---- taking --------------------------------------------------------------------------------- */

static size_t room_of(size_t size)
{
    const size_t unit = size < LARGE ? ALIGNMENT : size < API_HUGE_PAGE ? LARGE : API_HUGE_PAGE;

    return (size + unit - 1) / unit * unit;
}

unsigned char *api_memory_take(struct api_memory *memory, size_t size, size_t *room)
{
    unsigned char *bytes = NULL;
    size_t index;

    if (size > SIZE_MAX / 2)
        return NULL;
    *room = room_of(size > 0 ? size : 1);
    if (*room < LARGE)
        return aligned_alloc(ALIGNMENT, *room);
    pthread_mutex_lock(&memory->lock);
    if (kept_find(memory, *room, &index)) {
        const struct kept found = kept_remove(memory, index);
        bytes = found.bytes;
        *room = found.room;
    }
    pthread_mutex_unlock(&memory->lock);
    return bytes ? bytes : api_pages_map(*room);
}

void api_memory_give(struct api_memory *memory, unsigned char *bytes, size_t room)
{
    if (room < LARGE) {
        free(bytes);
        return;
    }
    pthread_mutex_lock(&memory->lock);
    if (room <= free_bytes(memory)) {
        if (memory->kept_count == KEPT_MAX)
            kept_unmap_oldest(memory);
        kept_make_way(memory, room);
        memory->kept[memory->kept_count++] = (struct kept){bytes, room, api_now_ms()};
        memory->kept_size += room;
        bytes = NULL;
    }
    pthread_mutex_unlock(&memory->lock);
    if (bytes)
        api_pages_unmap(bytes, room);
}

unsigned char *api_memory_resize(struct api_memory *memory, unsigned char *bytes, size_t used,
                                 size_t size, size_t *room)
{
    const size_t new_room = room_of(size > 0 ? size : 1);
    unsigned char *other;

    if (*room >= LARGE && new_room >= LARGE && new_room < *room) {
        api_pages_shorten(bytes, *room, new_room);
        *room = new_room;
        return bytes;
    }
    if (new_room <= *room)
        return bytes;
    if (*room >= LARGE) {
        other = api_pages_lengthen(bytes, *room, new_room);
        *room = other ? new_room : *room;
        return other;
    }
    size_t other_room;
    other = api_memory_take(memory, size, &other_room);
    if (!other)
        return NULL;
    memcpy(other, bytes, used);
    api_memory_give(memory, bytes, *room);
    *room = other_room;
    return other;
}

/* Unmaps without the lock: a large buffer takes a while, for which nobody should wait. */
void api_memory_trim(struct api_memory *memory, double now_ms, double idle_ms)
{
    struct kept idle = {0};

    do {
        if (idle.bytes)
            api_pages_unmap(idle.bytes, idle.room);
        idle.bytes = NULL;
        pthread_mutex_lock(&memory->lock);
        if (memory->kept_count > 0 && now_ms - memory->kept[0].since_ms > idle_ms)
            idle = kept_remove(memory, 0);
        pthread_mutex_unlock(&memory->lock);
    } while (idle.bytes);
}

void api_memory_free(struct api_memory *memory)
{
    if (!memory)
        return;
    api_memory_trim(memory, 1, 0);
    while (memory->kept_count > 0)
        kept_unmap_oldest(memory);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}
