/* SPDX-License-Identifier: MIT */
#include "api/memory/heap.h"

#include <stdlib.h>

/* Rooms double from one to the next, so that a small tree takes little and a large one few rooms.
 * A large piece has a room of its own, which goes back when the piece does. */
enum { UNIT = 8, ROOM_MIN = 8 << 10, ROOM_MAX = 4 << 20, LARGE = 64 << 10, LARGE_FRONT = 64 };

/* In front of each piece: its size, a multiple of UNIT, or that of its room. */
struct front {
    uint64_t size;
};

static struct front *front_of(void *piece)
{
    return (struct front *)((unsigned char *)piece - sizeof(struct front));
}

static unsigned char *room_take(struct api_heap *heap, size_t size)
{
    const bool is_over =
        heap->most > 0 && (heap->size > heap->most || size > heap->most - heap->size);
    unsigned char *room = is_over ? NULL : api_arena_room(heap->arena, size);

    heap->is_over = heap->is_over || is_over;
    heap->size += room ? size : 0;
    return room;
}

static void *large_take(struct api_heap *heap, size_t size)
{
    unsigned char *room = room_take(heap, size + LARGE_FRONT);

    if (!room)
        return NULL;
    front_of(room + LARGE_FRONT)->size = size + LARGE_FRONT;
    return room + LARGE_FRONT;
}

/* The class of a size: multiples of UNIT while there are classes; what is longer is not used again.
 */
static size_t class_of(uint64_t size)
{
    return size / UNIT - 1;
}

static bool room_add(struct api_heap *heap)
{
    size_t size = heap->size < ROOM_MIN   ? ROOM_MIN
                  : heap->size > ROOM_MAX ? ROOM_MAX
                                          : (size_t)heap->size;
    if (heap->most > heap->size && size > heap->most - heap->size &&
        heap->most - heap->size > LARGE)
        size = (size_t)(heap->most - heap->size);
    heap->at = room_take(heap, size);
    heap->end = heap->at ? heap->at + size : NULL;
    return heap->at;
}

/* Of the system's allocator, with size 0 in front of it. */
static void *plain_take(size_t size)
{
    struct front *front = malloc(sizeof(*front) + size);

    if (!front)
        return NULL;
    front->size = 0;
    return front + 1;
}

void *api_heap_take(struct api_heap *heap, size_t size)
{
    struct front *front;

    if (size > SIZE_MAX / 2)
        return NULL;
    if (!heap)
        return plain_take(size);
    size = (size + UNIT - (size > 0)) / UNIT * UNIT;
    if (size >= LARGE)
        return large_take(heap, size);
    const size_t class = class_of(size);
    if (class < API_HEAP_CLASSES && heap->given[class]) {
        void *piece = heap->given[class];
        heap->given[class] = *(void **)piece;
        return piece;
    }
    while ((size_t)(heap->end - heap->at) < sizeof(*front) + size)
        if (!room_add(heap))
            return NULL;
    front = (struct front *)heap->at;
    front->size = size;
    heap->at += sizeof(*front) + size;
    return front + 1;
}

void api_heap_give(struct api_heap *heap, void *piece)
{
    const uint64_t size = front_of(piece)->size;

    if (size == 0)
        free(front_of(piece));
    else if (!heap)
        return; /* it goes with its arena */
    else if (size >= LARGE) {
        heap->size -= size;
        api_arena_room_drop(heap->arena, (unsigned char *)piece - LARGE_FRONT);
    } else if (class_of(size) < API_HEAP_CLASSES) {
        *(void **)piece = heap->given[class_of(size)];
        heap->given[class_of(size)] = piece;
    }
}

bool api_heap_frees(void *piece)
{
    return front_of(piece)->size > 0;
}
