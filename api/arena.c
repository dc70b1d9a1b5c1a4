/* SPDX-License-Identifier: MIT */
#include "api/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, CHUNK_SIZE = 8192 };

struct chunk {
    struct chunk *next;
    unsigned char *free, *end;
};

struct deferred {
    struct deferred *next;
    void (*release)(void *what);
    void *what;
};

struct api_arena {
    struct chunk *chunks;
    struct deferred *deferred;
};

struct api_arena *api_arena_new(void)
{
    return calloc(1, sizeof(struct api_arena));
}

void api_arena_free(struct api_arena *arena)
{
    if (!arena)
        return;
    /* One may defer another while it runs. */
    while (arena->deferred) {
        struct deferred *first = arena->deferred;
        arena->deferred = first->next;
        first->release(first->what);
    }
    while (arena->chunks) {
        struct chunk *first = arena->chunks;
        arena->chunks = first->next;
        free(first);
    }
    free(arena);
}

static unsigned char *align(unsigned char *at)
{
    return at + (-(uintptr_t)at & (ALIGNMENT - 1));
}

/* calloc, because the system's fresh pages are zero already and large ones are never touched. */
static struct chunk *chunk_new(size_t size)
{
    struct chunk *chunk;

    if (size > SIZE_MAX - sizeof(*chunk) - ALIGNMENT)
        return NULL;
    chunk = calloc(1, sizeof(*chunk) + ALIGNMENT + size);
    if (chunk) {
        chunk->free = align((unsigned char *)(chunk + 1));
        chunk->end = chunk->free + size;
    }
    return chunk;
}

void *api_arena_take(struct api_arena *arena, size_t size)
{
    struct chunk *chunk = arena->chunks;
    unsigned char *taken;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!chunk || (size_t)(chunk->end - chunk->free) < size) {
        chunk = chunk_new(size > CHUNK_SIZE ? size : CHUNK_SIZE);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    taken = chunk->free;
    chunk->free += size;
    return taken;
}

char *api_arena_copy(struct api_arena *arena, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = api_arena_take(arena, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

char *api_arena_print(struct api_arena *arena, const char *format, ...)
{
    va_list args, again;
    char *text = NULL;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    if (length >= 0)
        text = api_arena_take(arena, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

int api_arena_defer(struct api_arena *arena, void (*release)(void *what), void *what)
{
    struct deferred *deferred = api_arena_take(arena, sizeof(*deferred));

    if (!deferred) {
        release(what);
        return 0;
    }
    *deferred = (struct deferred){arena->deferred, release, what};
    arena->deferred = deferred;
    return 1;
}
