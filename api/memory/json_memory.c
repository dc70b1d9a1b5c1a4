/* SPDX-License-Identifier: MIT */
#include "api/memory/json_memory.h"

#include <pthread.h>
#include <setjmp.h>

static _Thread_local bool failed;
static _Thread_local struct api_json_owner *current;
static _Thread_local jmp_buf *way_out; /* of a parse; NULL: none is under way */

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
    if (way_out)
        longjmp(*way_out, 1);
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

json_t *api_json_memory_try(json_t *(*parse)(void *context), void *context)
{
    jmp_buf here;
    json_t *json;

    if (!heap_of_now())
        return parse(context);
    if (setjmp(here) != 0) {
        way_out = NULL;
        return NULL;
    }
    way_out = &here;
    json = parse(context);
    way_out = NULL;
    return json;
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
