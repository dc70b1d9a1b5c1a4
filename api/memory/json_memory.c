/* SPDX-License-Identifier: MIT */
#include "api/memory/json_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

/* Work is charged for so much at a time: a tree has millions of pieces. */
enum { GRANT = 16 << 10 };

static _Thread_local bool failed;
static _Thread_local struct api_json_owner *current;

/* With the allocator's own word in front of each piece. */
static size_t size_of(void *piece)
{
    return malloc_usable_size(piece) + sizeof(size_t);
}

static bool charge(struct api_json_owner *owner, size_t size)
{
    const size_t missing =
        size > owner->granted - owner->used ? size - (owner->granted - owner->used) : 0;
    const size_t grant = (missing + GRANT - 1) / GRANT * GRANT;

    if (grant > 0 && !pe_work_reserve(owner->work, grant))
        return false;
    owner->granted += grant;
    owner->used += size;
    owner->most = owner->used > owner->most ? owner->used : owner->most;
    return true;
}

static void *take(size_t size)
{
    void *piece = malloc(size);

    if (piece && current && !charge(current, size_of(piece))) {
        free(piece);
        piece = NULL;
    }
    if (!piece)
        failed = true;
    return piece;
}

/* A piece may be older than its owner of now, who has then not been charged for it. */
static void give(void *piece)
{
    if (piece && current) {
        const size_t size = size_of(piece);
        current->used -= size < current->used ? size : current->used;
    }
    free(piece);
}

void api_json_own(struct api_json_owner *owner, struct pe_work *work)
{
    *owner = (struct api_json_owner){.work = work, .outer = current};
    current = owner;
}

void api_json_disown(struct api_json_owner *owner)
{
    current = owner->outer;
    pe_work_release(owner->work, owner->granted - owner->used);
    owner->granted = owner->used;
}

static void set_once(void)
{
    json_set_alloc_funcs(take, give);
}

void api_json_memory_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_once);
}

void api_json_memory_reset(void)
{
    failed = false;
}

bool api_json_memory_failed(void)
{
    return failed;
}

static void json_drop(void *json)
{
    json_decref(json);
}

bool api_json_keep(struct api_arena *arena, json_t *json)
{
    return json && api_arena_defer(arena, json_drop, json);
}

json_t *api_json_parse(const char *text, size_t size, const char *where, struct api_error *err)
{
    json_error_t error;
    json_t *json;

    api_json_memory_init();
    api_json_memory_reset();
    json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (api_json_memory_failed()) {
        json_decref(json);
        api_fail(err, API_OUT_OF_MEMORY, where, "no memory to read the JSON text");
        return NULL;
    }
    if (!json)
        api_fail(err, API_MALFORMED, where,
                 "the JSON text cannot be read at line %d, column %d: %s", error.line, error.column,
                 error.text);
    return json;
}
