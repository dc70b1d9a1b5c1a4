/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/memory/cache.h"
#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "api/routes/handler.h"
#include "api/routes/rotation_cache.h"
#include "api/store/store.h"

/* Every layer of a model sends the same head, which has dtype and shape, with new numbers after
 * it. The headers of the response and the rotation of such a head are cached; the next request with
 * an equal head is rotated without parsing a parameter. Routes with the trait REPEATS. */

enum { CACHED_BODY_MAX = 1 << 20 };

struct cached_head {
    struct api_cached_facts facts;
    uint64_t elements;
    struct api_rotation_repeat rotation;
    uint64_t rotation_hash; /* of rotation.key, which is long */
    char strings[];
};

/* The fields of a request that its response depends on, other than headers common to all. */
static const char *const fields[] = {"Content-Type", "Tensor-Dtype", "Tensor-Shape", "Accept",
                                     "Accept-Encoding"};

static void key_make(struct api_key *key, const struct api_intake *intake,
                     const struct api_head *head)
{
    static const char kind[] = "head";

    key->size = 0;
    key->overflow = false;
    api_key_add(key, kind, sizeof(kind));
    api_key_add(key, head->path, strlen(head->path) + 1);
    api_key_add(key, head->query ? head->query : "", head->query ? strlen(head->query) + 1 : 1);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const char *value = api_head_field(head, fields[i]);
        api_key_number(key, value != NULL);
        api_key_add(key, value ? value : "", value ? strlen(value) + 1 : 1);
    }
    api_key_number(key, (double)head->content_length);
    api_key_number(key, (double)api_store_generation(intake->request.api->store));
}

/* Requests with fields that can be refused take the usual way. With Tensor-Dtype and Tensor-Shape
 * the body is numbers alone. */
static bool is_cacheable(const struct api_intake *intake, const struct api_head *head)
{
    const struct api_route *route;

    if (!api_head_field(head, "Tensor-Dtype") || !api_head_field(head, "Tensor-Shape") ||
        !api_head_field(head, "Content-Type") || api_head_field(head, "Expect") ||
        api_head_field(head, "Content-Encoding") || api_head_repeats(head, "Accept") ||
        api_head_repeats(head, "Accept-Encoding") || head->content_length == 0 ||
        head->content_length > CACHED_BODY_MAX)
        return false;
    route = api_route_literal(intake->request.settings, head->method, head->path);
    return route && route->repeats;
}

/* A cached value, which stays valid as long as the request's arena; NULL: not cached, or no memory
 * to borrow it. */
static const void *borrow(struct api_intake *intake, struct api_cache_key key, uint64_t hash)
{
    struct api_cache *cache = intake->request.api->cache;
    struct api_cached *cached = api_cache_find_hashed(cache, key, hash);

    return cached && api_cache_drop_with(cache, cached, intake->request.arena) ? cached->value
                                                                               : NULL;
}

bool api_head_cache_find(struct api_intake *intake, const struct api_head *head)
{
    const struct cached_head *found;
    struct api_key key;

    if (!is_cacheable(intake, head))
        return false;
    key_make(&key, intake, head);
    if (key.overflow)
        return false;
    const struct api_cache_key head_key = {key.bytes, key.size};
    found = borrow(intake, head_key, api_cache_hash(intake->request.api->cache, head_key));
    if (!found)
        api_key_copy(&key, intake->request.arena, &intake->head_key);
    else
        intake->cached_rotation =
            borrow(intake, (struct api_cache_key){found->rotation.key, found->rotation.key_size},
                   found->rotation_hash);
    if (!found || !intake->cached_rotation)
        return false;
    intake->cached_head = found;
    intake->request.route = found->facts.route;
    intake->request.content_type = "application/octet-stream";
    intake->response->route = found->facts.route->pattern;
    return true;
}

/* ---- storing --------------------------------------------------------------------------------- */

static struct cached_head *cached_head_new(const struct api_intake *intake,
                                           const struct api_rotation_repeat *rotation, size_t *size)
{
    const struct api_response *response = intake->response;
    const size_t first = intake->common_headers, last = response->headers_count;
    const struct api_cache_key key = {rotation->key, rotation->key_size};
    struct cached_head *made;
    char *end;

    *size = sizeof(*made) + api_cached_facts_strings(response, first, last) + rotation->key_size;
    made = calloc(1, *size);
    if (!made)
        return NULL;
    made->facts.route = intake->request.route;
    made->facts.reads_store = intake->request.reads_store;
    end = api_cached_facts_copy(&made->facts, response, first, last, made->strings);
    made->elements = response->elements;
    made->rotation_hash = api_cache_hash(intake->request.api->cache, key);
    made->rotation = *rotation;
    made->rotation.key = memcpy(end, rotation->key, rotation->key_size);
    return made;
}

void api_head_cache_put(struct api_intake *intake)
{
    struct api_request *request = &intake->request;
    const struct api_body *body = &intake->response->body;
    struct api_rotation_repeat rotation;
    struct api_cached *cached;
    struct cached_head *made;
    size_t size;

    if (intake->head_key.size == 0 || intake->response->status != 200 || !body->buffer ||
        body->prefix_size > 0 || body->size != intake->size || !request->route->repeats ||
        !api_rotation_repeat(request, &intake->result, &rotation))
        return;
    made = cached_head_new(intake, &rotation, &size);
    if (!made)
        return;
    cached = api_cache_put(request->api->cache, intake->head_key, made, size, 0, free);
    if (cached)
        api_cache_drop(request->api->cache, cached);
    else
        free(made);
}

/* ---- responding ------------------------------------------------------------------------------ */

bool api_head_cache_respond(struct api_intake *intake, struct pe_error *err)
{
    const struct cached_head *found = intake->cached_head;
    struct api_response *response = intake->response;

    if (pe_rotate(intake->cached_rotation, intake->buffer, &found->rotation.axes, 0,
                  found->rotation.tokens, intake->request.work, err))
        return false;
    api_cached_facts_use(&found->facts, intake);
    response->elements = found->elements;
    response->body =
        (struct api_body){.kind = API_BYTES, .size = intake->size, .bytes = intake->buffer};
    return true;
}
