/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/config/scheme_kept.h"
#include "api/memory/cache.h"
#include "api/pipeline/stages.h"
#include "api/request/head.h"
#include "api/routes/handler.h"
#include "api/routes/rotation_kept.h"
#include "api/store/store.h"

/* A rotation of raw numbers whose head came before, as each layer of a model sends one: dtype and
 * shape stand in the head, so nothing but the numbers is new. What the head came to is kept beside
 * cos and sin, and no parameter is read again. */

enum { REPEAT_BODY_MAX = 1 << 20 };

struct repeat {
    const struct api_route *route;
    const char *operation, *encoding;
    enum pe_dtype dtype;
    uint64_t elements;
    bool reads_store;
    struct api_rotation_again again;
    uint64_t again_hash; /* of its key, which is long */
    struct api_field headers[API_HEADERS_MAX];
    size_t headers_count;
    char strings[];
};

/* Everything in a head that such an answer depends on, but for what every answer carries. */
static const char *const fields[] = {"Content-Type", "Tensor-Dtype", "Tensor-Shape", "Accept",
                                     "Accept-Encoding"};

static void key_make(struct api_key *key, const struct api_intake *intake,
                     const struct api_head *head)
{
    static const char kind[] = "repeat";

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

/* Fields that may be refused are judged elsewhere. Where the head tells both dtype and shape, no
 * byte of the body says how it is to be read. */
static bool may_be_kept(const struct api_head *head)
{
    return strcmp(head->method, "POST") == 0 && head->content_length > 0 &&
           head->content_length <= REPEAT_BODY_MAX && strstr(head->path, "/v1/rotation") &&
           api_head_field(head, "Tensor-Dtype") && api_head_field(head, "Tensor-Shape") &&
           api_head_field(head, "Content-Type") && !api_head_field(head, "Expect") &&
           !api_head_field(head, "Content-Encoding") && !api_head_repeats(head, "Accept") &&
           !api_head_repeats(head, "Accept-Encoding");
}

/* Lends a kept value to the request; NULL: there is none, or no memory for the loan. */
static const void *lent(struct api_intake *intake, struct api_cache_key key, uint64_t hash)
{
    struct api_cache *cache = intake->request.api->cache;
    struct api_cached *cached = api_cache_find_hashed(cache, key, hash);

    return cached && api_cache_lend(cache, cached, intake->request.arena) ? cached->value : NULL;
}

bool api_repeat_find(struct api_intake *intake, const struct api_head *head)
{
    const struct repeat *repeat;
    struct api_key key;

    if (!may_be_kept(head))
        return false;
    key_make(&key, intake, head);
    if (key.overflow)
        return false;
    const struct api_cache_key whole = {key.bytes, key.size};
    repeat = lent(intake, whole, api_cache_hash(intake->request.api->cache, whole));
    if (!repeat)
        api_key_copy(&key, intake->request.arena, &intake->repeat_key);
    else
        intake->repeat_rotation =
            lent(intake, (struct api_cache_key){repeat->again.key, repeat->again.key_size},
                 repeat->again_hash);
    if (!repeat || !intake->repeat_rotation)
        return false;
    intake->repeat = repeat;
    intake->request.route = repeat->route;
    intake->request.content_type = "application/octet-stream";
    intake->response->route = repeat->route->pattern;
    return true;
}

/* ---- keeping ----------------------------------------------------------------------------------
 */

static const char *string_add(char **at, const char *text)
{
    const char *added = *at;

    *at = stpcpy(*at, text) + 1;
    return added;
}

static struct repeat *repeat_new(const struct api_intake *intake,
                                 const struct api_rotation_again *again, size_t *size)
{
    const struct api_response *response = intake->response;
    const size_t first = intake->common_headers;
    size_t strings = strlen(response->operation) + strlen(response->encoding) + 2;
    struct repeat *repeat;
    char *at;

    for (size_t i = first; i < response->headers_count; i++)
        strings += strlen(response->headers[i].name) + strlen(response->headers[i].value) + 2;
    *size = sizeof(*repeat) + strings + again->key_size;
    repeat = calloc(1, *size);
    if (!repeat)
        return NULL;
    at = repeat->strings;
    repeat->route = intake->request.route;
    repeat->operation = string_add(&at, response->operation);
    repeat->encoding = string_add(&at, response->encoding);
    repeat->dtype = response->dtype;
    repeat->elements = response->elements;
    repeat->reads_store = intake->request.reads_store;
    for (size_t i = first; i < response->headers_count; i++)
        repeat->headers[repeat->headers_count++] =
            (struct api_field){string_add(&at, response->headers[i].name),
                               string_add(&at, response->headers[i].value)};
    repeat->again_hash = api_cache_hash(intake->request.api->cache,
                                        (struct api_cache_key){again->key, again->key_size});
    repeat->again = *again;
    repeat->again.key = memcpy(at, again->key, again->key_size);
    return repeat;
}

void api_repeat_keep(struct api_intake *intake)
{
    struct api_request *request = &intake->request;
    const struct api_body *body = &intake->response->body;
    struct api_rotation_again again;
    struct api_cached *cached;
    struct repeat *repeat;
    size_t size;

    if (intake->repeat_key.size == 0 || intake->response->status != 200 || !body->buffer ||
        body->prefix_size > 0 || body->size != intake->size ||
        request->route->handler != &api_handler_rotation ||
        !api_rotation_again(request, &intake->result, &again))
        return;
    repeat = repeat_new(intake, &again, &size);
    if (!repeat)
        return;
    cached = api_cache_put(request->api->cache, intake->repeat_key, repeat, size, 0, free);
    if (cached)
        api_cache_drop(request->api->cache, cached);
    else
        free(repeat);
}

/* ---- answering --------------------------------------------------------------------------------
 */

bool api_repeat_run(struct api_intake *intake, struct pe_error *err)
{
    const struct repeat *repeat = intake->repeat;
    struct api_response *response = intake->response;

    if (pe_rotate(intake->repeat_rotation, intake->buffer, &repeat->again.axes, 0,
                  repeat->again.tokens, intake->request.work, err))
        return false;
    intake->request.reads_store = repeat->reads_store;
    api_intake_origins_settle(intake);
    response->status = 200;
    response->operation = repeat->operation;
    response->encoding = repeat->encoding;
    response->dtype = repeat->dtype;
    response->elements = repeat->elements;
    memcpy(response->headers + response->headers_count, repeat->headers,
           repeat->headers_count * sizeof(repeat->headers[0]));
    response->headers_count += repeat->headers_count;
    response->body =
        (struct api_body){.kind = API_BYTES, .size = intake->size, .bytes = intake->buffer};
    return true;
}
