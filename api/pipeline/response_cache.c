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

/* Complete responses of views are cached for the next request with the same path, query and Accept
 * fields, which is answered without parsing a parameter. There are three structs: api_caching has
 * the data by which api_response_made caches a response; cached_response is the cache's copy;
 * response_use is the reference of a response to the cached bytes. */

struct api_caching {
    struct api *api;
    const struct api_route *route;
    const char *key; /* NULL: not to be cached */
    bool reads_store;
    size_t headers_begin, headers_end;
    unsigned char *bytes; /* prefix and blocks, in the arena */
};

/* Longer responses are streamed: they would evict too many others, and the first byte should not
 * wait for the last. Text is made by one thread, and so is streamed sooner; so is a body that is
 * not cached and that the loop can make while it is sent. */
enum { KEY_MAX = 2048, COMPLETE_MAX = 8 << 20, UNCACHED_MAX = 256 << 10, TEXT_MAX = 2 << 20 };

struct cached_response {
    struct api_cached_facts facts;
    struct api_memory *memory;
    unsigned char *bytes;
    size_t size, capacity, own; /* own: bytes of this struct with its strings */
    char strings[];
};

static void cached_release(void *context)
{
    struct cached_response *made = context;

    api_memory_give(made->memory, made->bytes, made->capacity);
    free(made);
}

/* ---- facts of cached responses --------------------------------------------------------------- */

size_t api_cached_facts_strings(const struct api_response *response, size_t first, size_t last)
{
    size_t size = strlen(response->operation) + strlen(response->encoding) + 2;

    for (size_t i = first; i < last; i++)
        size += strlen(response->headers[i].name) + strlen(response->headers[i].value) + 2;
    return size;
}

static const char *string_add(char **at, const char *text)
{
    const char *added = *at;

    *at = stpcpy(*at, text) + 1;
    return added;
}

char *api_cached_facts_copy(struct api_cached_facts *facts, const struct api_response *response,
                            size_t first, size_t last, char *strings)
{
    facts->operation = string_add(&strings, response->operation);
    facts->encoding = string_add(&strings, response->encoding);
    facts->dtype = response->dtype;
    for (size_t i = first; i < last; i++)
        facts->headers[facts->headers_count++] =
            (struct api_field){string_add(&strings, response->headers[i].name),
                               string_add(&strings, response->headers[i].value)};
    return strings;
}

void api_cached_facts_use(const struct api_cached_facts *facts, struct api_intake *intake)
{
    struct api_response *response = intake->response;

    intake->request.reads_store = facts->reads_store;
    api_intake_restrict_cors(intake);
    response->status = 200;
    response->operation = facts->operation;
    response->encoding = facts->encoding;
    response->dtype = facts->dtype;
    memcpy(response->headers + response->headers_count, facts->headers,
           facts->headers_count * sizeof(facts->headers[0]));
    response->headers_count += facts->headers_count;
}

/* ---- finding -------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Prints all that a response of a view depends on, the generation of the store included. CORS and
 * the id of the request are set for each. No field has a line feed, which therefore separates
 * them. */
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
    for (; generation > 0; generation >>= 4) /* the last digit first */
        key[size++] = "0123456789abcdef"[generation & 15];
    key[size] = '\0';
    return size;
}

void api_response_cache_find(struct api_intake *intake, const struct api_head *head)
{
    struct api_arena *arena = intake->request.arena;
    struct api_cache *cache = intake->request.api->cache;
    struct api_cached *cached;
    char key[KEY_MAX];
    size_t size;

    /* Requests with fields that can be refused take the usual way. */
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
        intake->response_key = api_arena_copy(arena, key);
        return;
    }
    if (api_cache_drop_with(cache, cached, arena))
        intake->cached_response = cached->value;
}

void api_response_cache_respond(struct api_intake *intake)
{
    const struct cached_response *made = intake->cached_response;
    struct api_response *response = intake->response;

    api_cached_facts_use(&made->facts, intake);
    response->route = made->facts.route->pattern;
    response->body = (struct api_body){.kind = API_BYTES, .size = made->size, .bytes = made->bytes};
    api_response_header(response, "Server-Timing", "cache;desc=hit");
}

/* ---- making --------------------------------------------------------------------------------- */

/* Makes a text, whose length is unknown: in a buffer of the largest size, then copied or encoded to
 * one of its own. False: no memory, and the body is unchanged. */
static bool text_make(struct api_response *response, const struct api_coding *coding,
                      struct api_caching *caching)
{
    struct api_body *body = &response->body;
    struct api_arena *arena = response->arena;
    unsigned char *most =
        api_arena_buffer(arena, body->prefix_size + body->blocks * body->block_size);
    size_t size = body->prefix_size, made = 0;

    if (!most)
        return false;
    memcpy(most, body->prefix, size);
    for (size_t block = 0; block < body->blocks && made != SIZE_MAX; block++) {
        made = body->fill(response, block, most + size);
        size += made != SIZE_MAX ? made : 0;
    }
    if (made != SIZE_MAX)
        caching->bytes =
            coding ? api_encode_text(arena, coding, most, &size) : api_arena_buffer(arena, size);
    if (caching->bytes && !coding)
        memcpy(caching->bytes, most, size);
    if (caching->bytes)
        body->size = size;
    api_arena_buffer_drop(arena, most);
    return caching->bytes;
}

/* The most bytes of a body of known size that are made before the first is sent. */
static uint64_t complete_max(const struct api_intake *intake, bool cheap)
{
    return intake->response_key || !cheap ? COMPLETE_MAX : UNCACHED_MAX;
}

static bool is_moderate(const struct api_intake *intake, const struct api_body *body)
{
    if (body->size == API_SIZE_UNKNOWN)
        return body->blocks <= TEXT_MAX / body->block_size;
    return body->size <= complete_max(intake, body->cheap) && !intake->request.range;
}

bool api_streams_cheaply(const struct api_intake *intake)
{
    const struct api_request *request = &intake->request;
    const struct api_result *result = &intake->result;
    uint64_t size = 0;

    for (size_t i = 0; i < result->outputs_count; i++)
        size += api_output_size(&result->outputs[i]);
    return result->kind == API_TENSORS && request->format->binary &&
           (request->range || size > complete_max(intake, true)) && api_blocks_are_cheap(result);
}

void api_response_cache_prepare(struct api_intake *intake)
{
    struct api_arena *arena = intake->request.arena;
    struct api_response *response = intake->response;
    struct api_body *body = &response->body;
    struct api_caching *caching;

    if (response->head_only || response->status != 200 || body->kind != API_PLAN)
        return;
    if (!is_moderate(intake, body)) {
        if (intake->request.format->binary && intake->result.kind == API_TENSORS)
            api_blocks_make_cheap(&intake->result, response);
        return;
    }
    caching = api_arena_take(arena, sizeof(*caching));
    if (!caching)
        return;
    *caching = (struct api_caching){
        .api = intake->request.api,
        .route = intake->request.route,
        .key = intake->response_key,
        .reads_store = intake->request.reads_store,
        .headers_begin = intake->common_headers,
        .headers_end = response->headers_count,
    };
    if (body->size == API_SIZE_UNKNOWN) {
        if (!text_make(response, intake->request.response_coding, caching))
            return;
        response->caching = caching;
        api_response_made(response);
        return;
    }
    caching->bytes = api_arena_buffer(arena, (size_t)body->size);
    if (!caching->bytes)
        return;
    if (body->prefix_size > 0)
        memcpy(caching->bytes, body->prefix, body->prefix_size);
    body->buffer = caching->bytes + body->prefix_size;
    response->caching = caching;
}

/* ---- storing -------------------------------------------------------------------------------- */

static struct cached_response *cached_new(const struct api_response *response)
{
    const struct api_caching *caching = response->caching;
    const size_t strings =
        api_cached_facts_strings(response, caching->headers_begin, caching->headers_end);
    struct cached_response *made = calloc(1, sizeof(*made) + strings);

    if (!made)
        return NULL;
    made->own = sizeof(*made) + strings;
    made->facts.route = caching->route;
    made->facts.reads_store = caching->reads_store;
    api_cached_facts_copy(&made->facts, response, caching->headers_begin, caching->headers_end,
                          made->strings);
    return made;
}

/* The use of a cached response by the one that it was made of; or that response itself, if it could
 * not be cached. */
struct response_use {
    struct api_cache *cache;
    struct api_cached *cached;   /* NULL: not cached */
    struct cached_response *own; /* NULL: the cache's */
    uint64_t reserved;           /* for `own` */
};

static void use_end(void *context)
{
    const struct response_use *use = context;

    if (use->cached)
        api_cache_drop(use->cache, use->cached);
    if (!use->own)
        return;
    api_memory_release(use->own->memory, use->reserved);
    cached_release(use->own);
}

/* The bytes leave the arena only after all allocations, so that the response keeps them on a
 * failure. */
static void cached_put(struct api_response *response)
{
    struct api_caching *caching = response->caching;
    struct api_cache *cache = caching->api->cache;
    struct response_use *use = api_arena_take(response->arena, sizeof(*use));
    struct cached_response *made;

    if (!use || !api_arena_defer(response->arena, use_end, use))
        return;
    made = cached_new(response);
    if (!made)
        return;
    made->memory = caching->api->memory;
    made->bytes = caching->bytes;
    made->size = (size_t)response->body.size;
    made->capacity = api_arena_buffer_leave(response->arena, caching->bytes, &use->reserved);
    use->cache = cache;
    use->cached = api_cache_put(cache, (struct api_cache_key){caching->key, strlen(caching->key)},
                                made, made->own + made->capacity, use->reserved, cached_release);
    use->own = use->cached ? NULL : made;
}

void api_response_made(struct api_response *response)
{
    struct api_caching *caching = response->caching;

    if (!caching)
        return;
    response->body =
        (struct api_body){.kind = API_BYTES, .size = response->body.size, .bytes = caching->bytes};
    if (caching->key)
        cached_put(response);
    response->caching = NULL;
}
