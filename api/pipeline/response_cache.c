/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/memory/budget.h"
#include "api/memory/cache.h"
#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "api/response/blocks.h"
#include "api/response/encode.h"
#include "api/routes/handler.h"
#include "api/store/store.h"

/* Three structs: an order to keep a response (api_keep), the kept response, which the cache owns,
 * and the hold that the response it was made of has on it. */

/* For api_response_made. */
struct api_keep {
    struct api *api;
    const struct api_route *route;
    const char *key; /* NULL: not to be kept */
    bool reads_store;
    size_t headers_begin, headers_end;
    unsigned char *bytes; /* a room of the arena, prefix and blocks */
};

/* Longer responses are streamed: they would displace too many others, and the first byte should not
 * wait for the last. Text is made by one thread, so it is streamed sooner, and so is what the loop
 * can make while it sends and nobody keeps. */
enum { KEY_MAX = 2048, WHOLE_MAX = 8 << 20, UNKEPT_MAX = 256 << 10, TEXT_MAX = 2 << 20 };

struct kept_response {
    const struct api_route *route;
    const char *operation, *encoding;
    enum pe_dtype dtype;
    bool reads_store;
    struct api_field headers[API_HEADERS_MAX];
    size_t headers_count;
    struct api_memory *memory;
    unsigned char *bytes;
    size_t size, room, own; /* own: bytes of all this, strings included */
    char strings[];
};

static void kept_release(void *what)
{
    struct kept_response *kept = what;

    api_memory_give(kept->memory, kept->bytes, kept->room);
    free(kept);
}

/* ---- finding -------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Everything that a response of a view depends on, the generation of the store included. CORS and
 * the id of the request are no part of it: they are made for each. No field can hold a line feed,
 * which is therefore between them. */
static size_t key_print(char *key, const struct api_head *head, uint64_t generation)
{
    enum { PARTS = 4, GENERATION_MAX = 16 };
    const char *const parts[PARTS] = {head->path, or_empty(head->query),
                                      or_empty(api_head_field(head, "Accept")),
                                      or_empty(api_head_field(head, "Accept-Encoding"))};
    size_t size = 0;

    for (size_t i = 0; i < PARTS; i++) {
        const size_t length = strlen(parts[i]);
        if (length >= KEY_MAX - GENERATION_MAX - PARTS - size)
            return 0;
        memcpy(key + size, parts[i], length);
        size += length;
        key[size++] = i == 0 ? '?' : '\n';
    }
    for (; generation > 0; generation >>= 4) /* its last digit first */
        key[size++] = "0123456789abcdef"[generation & 15];
    key[size] = '\0';
    return size;
}

void api_kept_find(struct api_intake *intake, const struct api_head *head)
{
    struct api_arena *arena = intake->request.arena;
    struct api_cache *cache = intake->request.api->cache;
    struct api_cached *cached;
    char key[KEY_MAX];
    size_t size;

    /* Fields that may be refused are judged elsewhere, so these requests go the long way. */
    if (intake->request.settings->limits.cache_max == 0 || strcmp(head->method, "GET") != 0 ||
        head->content_length != 0 || !strstr(head->path, "/v1/encodings/") ||
        api_head_field(head, "Expect") || api_head_field(head, "Content-Encoding") ||
        api_head_repeats(head, "Accept") || api_head_repeats(head, "Accept-Encoding"))
        return;
    size = key_print(key, head, api_store_generation(intake->request.api->store));
    if (size == 0)
        return;
    cached = api_cache_find(cache, (struct api_cache_key){key, size});
    if (!cached) {
        intake->kept_key = api_arena_copy(arena, key);
        return;
    }
    if (api_cache_lend(cache, cached, arena))
        intake->kept = cached->value;
}

void api_kept_use(struct api_intake *intake)
{
    const struct kept_response *kept = intake->kept;
    struct api_response *response = intake->response;

    intake->request.reads_store = kept->reads_store;
    api_intake_origins_settle(intake);
    response->status = 200;
    response->route = kept->route->pattern;
    response->operation = kept->operation;
    response->encoding = kept->encoding;
    response->dtype = kept->dtype;
    memcpy(response->headers + response->headers_count, kept->headers,
           kept->headers_count * sizeof(kept->headers[0]));
    response->headers_count += kept->headers_count;
    response->body = (struct api_body){.kind = API_BYTES, .size = kept->size, .bytes = kept->bytes};
    api_response_header(response, "Server-Timing", "cache;desc=hit");
}

/* ---- making --------------------------------------------------------------------------------- */

/* Text is as long as it turns out: made in a room of its most, then moved or encoded to one of its
 * own. False: no memory, and the body is as it was. */
static bool text_make(struct api_response *response, const struct api_coding *coding,
                      struct api_keep *keep)
{
    struct api_body *body = &response->body;
    struct api_arena *arena = response->arena;
    unsigned char *most =
        api_arena_room(arena, body->prefix_size + body->blocks * body->block_size);
    size_t size = body->prefix_size, made = 0;

    if (!most)
        return false;
    memcpy(most, body->prefix, size);
    for (size_t block = 0; block < body->blocks && made != SIZE_MAX; block++) {
        made = body->fill(response, block, most + size);
        size += made != SIZE_MAX ? made : 0;
    }
    if (made != SIZE_MAX)
        keep->bytes =
            coding ? api_encode_text(arena, coding, most, &size) : api_arena_room(arena, size);
    if (keep->bytes && !coding)
        memcpy(keep->bytes, most, size);
    if (keep->bytes)
        body->size = size;
    api_arena_room_drop(arena, most);
    return keep->bytes;
}

/* The most bytes that are made before the first of them is sent, where their number is known. */
static uint64_t whole_max(const struct api_intake *intake, bool cheap)
{
    return intake->kept_key || !cheap ? WHOLE_MAX : UNKEPT_MAX;
}

static bool is_moderate(const struct api_intake *intake, const struct api_body *body)
{
    if (body->size == API_SIZE_UNKNOWN)
        return body->blocks <= TEXT_MAX / body->block_size;
    return body->size <= whole_max(intake, body->cheap) && !intake->request.range;
}

bool api_streams_cheaply(const struct api_intake *intake)
{
    const struct api_request *request = &intake->request;
    const struct api_result *result = &intake->result;
    uint64_t size = 0;

    for (size_t i = 0; i < result->outputs_count; i++)
        size += api_output_size(&result->outputs[i]);
    return result->kind == API_TENSORS && request->format->binary &&
           (request->range || size > whole_max(intake, true)) && api_blocks_are_cheap(result);
}

void api_kept_prepare(struct api_intake *intake)
{
    struct api_arena *arena = intake->request.arena;
    struct api_response *response = intake->response;
    struct api_body *body = &response->body;
    struct api_keep *keep;

    if (response->head_only || response->status != 200 || body->kind != API_PLAN)
        return;
    if (!is_moderate(intake, body)) {
        if (intake->request.format->binary && intake->result.kind == API_TENSORS)
            api_blocks_make_cheap(&intake->result, response);
        return;
    }
    keep = api_arena_take(arena, sizeof(*keep));
    if (!keep)
        return;
    *keep = (struct api_keep){
        .api = intake->request.api,
        .route = intake->request.route,
        .key = intake->kept_key,
        .reads_store = intake->request.reads_store,
        .headers_begin = intake->common_headers,
        .headers_end = response->headers_count,
    };
    if (body->size == API_SIZE_UNKNOWN) {
        if (!text_make(response, intake->request.response_coding, keep))
            return;
        response->keep = keep;
        api_response_made(response);
        return;
    }
    keep->bytes = api_arena_room(arena, (size_t)body->size);
    if (!keep->bytes)
        return;
    if (body->prefix_size > 0)
        memcpy(keep->bytes, body->prefix, body->prefix_size);
    body->buffer = keep->bytes + body->prefix_size;
    response->keep = keep;
}

/* ---- keeping -------------------------------------------------------------------------------- */

static const char *string_add(char **at, const char *text)
{
    const char *added = *at;

    *at = stpcpy(*at, text) + 1;
    return added;
}

static struct kept_response *kept_new(const struct api_response *response)
{
    const struct api_keep *keep = response->keep;
    size_t strings = strlen(response->operation) + strlen(response->encoding) + 2;
    struct kept_response *kept;
    char *at;

    for (size_t i = keep->headers_begin; i < keep->headers_end; i++)
        strings += strlen(response->headers[i].name) + strlen(response->headers[i].value) + 2;
    kept = calloc(1, sizeof(*kept) + strings);
    if (!kept)
        return NULL;
    at = kept->strings;
    kept->own = sizeof(*kept) + strings;
    kept->route = keep->route;
    kept->operation = string_add(&at, response->operation);
    kept->encoding = string_add(&at, response->encoding);
    kept->dtype = response->dtype;
    kept->reads_store = keep->reads_store;
    for (size_t i = keep->headers_begin; i < keep->headers_end; i++)
        kept->headers[kept->headers_count++] =
            (struct api_field){string_add(&at, response->headers[i].name),
                               string_add(&at, response->headers[i].value)};
    return kept;
}

/* A kept response in use by the one that it was made of; one that could not be kept is its own. */
struct kept_hold {
    struct api_cache *cache;
    struct api_cached *cached; /* NULL: not kept */
    struct kept_response *own; /* NULL: the cache's */
    uint64_t reserved;         /* for `own` */
};

static void hold_end(void *what)
{
    const struct kept_hold *hold = what;

    if (hold->cached)
        api_cache_drop(hold->cache, hold->cached);
    if (!hold->own)
        return;
    api_memory_release(hold->own->memory, hold->reserved);
    kept_release(hold->own);
}

/* The bytes leave the arena last of all: whatever fails, the response has them. */
static void kept_put(struct api_response *response)
{
    struct api_keep *keep = response->keep;
    struct api_cache *cache = keep->api->cache;
    struct kept_hold *hold = api_arena_take(response->arena, sizeof(*hold));
    struct kept_response *kept;

    if (!hold || !api_arena_defer(response->arena, hold_end, hold))
        return;
    kept = kept_new(response);
    if (!kept)
        return;
    kept->memory = keep->api->memory;
    kept->bytes = keep->bytes;
    kept->size = (size_t)response->body.size;
    kept->room = api_arena_room_leave(response->arena, keep->bytes, &hold->reserved);
    hold->cache = cache;
    hold->cached = api_cache_put(cache, (struct api_cache_key){keep->key, strlen(keep->key)}, kept,
                                 kept->own + kept->room, hold->reserved, kept_release);
    hold->own = hold->cached ? NULL : kept;
}

void api_response_made(struct api_response *response)
{
    struct api_keep *keep = response->keep;

    if (!keep)
        return;
    response->body =
        (struct api_body){.kind = API_BYTES, .size = response->body.size, .bytes = keep->bytes};
    if (keep->key)
        kept_put(response);
    response->keep = NULL;
}
