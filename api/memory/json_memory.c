/* SPDX-License-Identifier: MIT */
#include "api/memory/json_memory.h"

#include <pthread.h>

#include "api/base/system.h"

static _Thread_local bool failed;
static _Thread_local struct api_json_owner *current;

static struct api_heap *heap_of_now(void)
{
    return current && current->heap.arena ? &current->heap : NULL;
}

static void *take(size_t size)
{
    void *piece = api_heap_take(heap_of_now(), size);

    if (piece)
        return piece;
    failed = true;
    api_attempt_leave();
    return NULL;
}

static void give(void *piece)
{
    if (piece)
        api_heap_give(heap_of_now(), piece);
}

void api_json_own(struct api_json_owner *owner, struct api_arena *arena)
{
    *owner = (struct api_json_owner){.heap = {.arena = arena}, .outer = current};
    current = owner;
}

void api_json_disown(struct api_json_owner *owner)
{
    current = owner->outer;
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

void api_json_memory_limit(uint64_t more)
{
    struct api_heap *heap = heap_of_now();

    if (!heap)
        return;
    heap->most = more > 0 ? heap->size + more : 0;
    heap->is_over = false;
}

bool api_json_memory_is_over(void)
{
    return heap_of_now() && heap_of_now()->is_over;
}

struct parsing {
    json_t *(*parse)(void *context);
    void *context;
    json_t *json;
};

static void parse_run(void *context)
{
    struct parsing *parsing = context;

    parsing->json = parsing->parse(parsing->context);
}

json_t *api_json_memory_try(json_t *(*parse)(void *context), void *context)
{
    struct parsing parsing = {parse, context, NULL};

    if (!heap_of_now())
        return parse(context);
    return api_attempt(parse_run, &parsing) ? parsing.json : NULL;
}

static void json_drop(void *json)
{
    json_decref(json);
}

bool api_json_keep(struct api_arena *arena, json_t *json)
{
    return json && api_arena_defer(arena, json_drop, json);
}

bool api_json_keep_whole(struct api_arena *arena, json_t *json)
{
    if ((json_is_object(json) || json_is_array(json)) && api_heap_frees(json))
        return true;
    return api_json_keep(arena, json);
}
