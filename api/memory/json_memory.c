/* SPDX-License-Identifier: MIT */
#include "api/memory/json_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Work is charged for so much at a time: a tree has millions of pieces. */
enum { GRANT = 16 << 10 };

/* jansson 2.14 does not look whether its buffer for a string or a number could grow, and then reads
 * and writes behind the end of one. So during a parse a failure is noted, the piece is taken from a
 * spare room, and the text ends STEP bytes later at most: SPARE is more than the pieces of so much
 * text, and its buffer doubles. The room is not touched where memory is at hand. */
enum { STEP = 64, SPARE = 64 << 10, SPARE_ALIGNMENT = 16 };

static _Thread_local struct {
    unsigned char *begin, *at, *end;
} spare;

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

static bool spare_has(const void *piece)
{
    return spare.begin && (const unsigned char *)piece >= spare.begin &&
           (const unsigned char *)piece < spare.end;
}

static void *spare_take(size_t size)
{
    void *piece = spare.at;

    size = (size + SPARE_ALIGNMENT - 1) & ~(size_t)(SPARE_ALIGNMENT - 1);
    if (size > (size_t)(spare.end - spare.at))
        return NULL;
    spare.at += size;
    return piece;
}

static void *take(size_t size)
{
    void *piece = malloc(size);

    if (piece && current && !charge(current, size_of(piece))) {
        free(piece);
        piece = NULL;
    }
    if (!piece) {
        failed = true;
        piece = spare_take(size);
    }
    return piece;
}

/* A piece may be older than its owner of now, who has then not been charged for it. */
static void give(void *piece)
{
    if (spare_has(piece))
        return;
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

struct feed {
    const char *text;
    size_t size;
};

static size_t feed_step(void *out, size_t room, void *context)
{
    struct feed *feed = context;
    size_t size = feed->size < STEP ? feed->size : STEP;

    size = failed ? 0 : size < room ? size : room;
    memcpy(out, feed->text, size);
    feed->text += size;
    feed->size -= size;
    return size;
}

json_t *api_json_load(const char *text, size_t size, json_error_t *error)
{
    struct feed feed = {text, size};
    const size_t room = 4 * size + SPARE;
    json_t *json = NULL;

    api_json_memory_init();
    *error = (json_error_t){0};
    spare.begin = spare.at = size < SIZE_MAX / 8 ? malloc(room) : NULL;
    if (!spare.begin) {
        failed = true;
        return NULL;
    }
    spare.end = spare.begin + room;
    json = json_load_callback(feed_step, &feed, JSON_REJECT_DUPLICATES, error);
    if (failed) {
        json_decref(json);
        json = NULL;
    }
    free(spare.begin);
    spare.begin = spare.at = spare.end = NULL;
    return json;
}

json_t *api_json_parse(const char *text, size_t size, const char *where, struct api_error *err)
{
    json_error_t error;
    json_t *json;

    api_json_memory_reset();
    json = api_json_load(text, size, &error);
    if (api_json_memory_failed()) {
        api_fail(err, API_OUT_OF_MEMORY, where, "no memory to read the JSON text");
        return NULL;
    }
    if (!json)
        api_fail(err, API_MALFORMED, where,
                 "the JSON text cannot be read at line %d, column %d: %s", error.line, error.column,
                 error.text);
    return json;
}
