/* SPDX-License-Identifier: MIT */
#include "api/api.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/memory/json_memory.h"
#include "api/memory/random.h"
#include "api/request/service.h"
#include "api/store/access.h"

/* Counted up whenever the bytes of any answer change while the version does not. */
#define REPRESENTATION "1"

/* ---- the service ---------------------------------------------------------------------------- */

static enum api_status string_keep(const char **string, struct api_error *err)
{
    if (!*string)
        return API_OK;
    *string = strdup(*string);
    return *string ? API_OK : api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the settings");
}

static void revision_print(char *out)
{
    struct api_hash hash;

    api_hash_start(&hash);
    api_hash_text(&hash, pe_version());
    api_hash_text(&hash, REPRESENTATION);
    snprintf(out, API_REVISION_SIZE, "%016llx", (unsigned long long)hash.state);
}

/* What is kept must not be most of what there is. */
static uint64_t cache_size(const struct api_limits *limits)
{
    const uint64_t most = limits->memory_budget / 4;

    return limits->cache_max < most ? limits->cache_max : most;
}

static bool cache_shed(void *cache)
{
    return api_cache_shed(cache);
}

/* The budget and the cache, and whatever of the service must be unknown to others. */
static enum api_status memory_make(struct api *api, struct api_error *err)
{
    unsigned char secret[API_CACHE_SECRET_SIZE];

    /* sodium_init ends the process where there is no random byte, so one is asked for before. */
    if (api_random(secret, sizeof(secret), err) ||
        api_random(&api->id_seed, sizeof(api->id_seed), err))
        return api_failed(err);
    if (sodium_init() < 0)
        return api_fail(err, API_INTERNAL, "", "libsodium does not start");
    api->memory = api_memory_new(api->settings.limits.memory_budget);
    if (api->memory)
        api->cache = api_cache_new(api->memory, cache_size(&api->settings.limits), secret);
    sodium_memzero(secret, sizeof(secret));
    return api->cache ? API_OK : api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the service");
}

enum api_status api_new(struct api **out, const struct api_settings *settings,
                        struct api_error *err)
{
    struct api *api = calloc(1, sizeof(*api));

    *out = NULL;
    if (!api)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the service");
    api_json_memory_init();
    api->settings = *settings;
    if (!api->settings.base_path || strcmp(api->settings.base_path, "/") == 0)
        api->settings.base_path = "";
    if (!api->settings.cors_origin)
        api->settings.cors_origin = "*";
    if (api->settings.limits.memory_budget == 0)
        api->settings.limits.memory_budget = UINT64_MAX;
    memory_make(api, err);
    /* All of them first, so that freeing is the same wherever this fails. */
    string_keep(&api->settings.base_path, err);
    string_keep(&api->settings.cors_origin, err);
    string_keep(&api->settings.allowed_hosts, err);
    string_keep(&api->settings.flags_json, err);
    string_keep(&api->settings.tables, err);
    string_keep(&api->settings.token_file, err);
    if (!api_failed(err))
        api_access_new(&api->access, settings->token_file, err);
    if (api_failed(err)) {
        api_free(api);
        return api_failed(err);
    }
    if (api_store_new(&api->store, settings->tables, api->memory, &settings->host, err)) {
        api_free(api);
        return api_failed(err);
    }
    revision_print(api->revision);
    api_memory_on_shortage(api->memory, cache_shed, api->cache);
    *out = api;
    return API_OK;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    free((char *)api->settings.base_path);
    free((char *)api->settings.cors_origin);
    free((char *)api->settings.allowed_hosts);
    free((char *)api->settings.flags_json);
    free((char *)api->settings.tables);
    free((char *)api->settings.token_file);
    api_store_free(api->store);
    api_access_free(api->access);
    api_cache_free(api->cache);
    api_memory_free(api->memory);
    free(api);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Longer than a batch job pauses between two requests. */
enum { KEPT_IDLE_MS = 10000 };

struct api_state api_state_read(struct api *api)
{
    const struct api_memory_state memory = api_memory_state(api->memory);
    const struct api_cache_state cache = api_cache_state(api->cache);

    /* What the cache reserved is not held by any request; the two are read one after the other. */
    const uint64_t held = memory.held > cache.size ? memory.held - cache.size : 0;

    const struct api_store_state store = api_store_state(api->store);

    return (struct api_state){memory.budget, held,        memory.kept, cache.size,   cache.hits,
                              cache.misses,  store.count, store.size,  store.damaged};
}

void api_trim(struct api *api)
{
    api_memory_trim(api->memory, api_now_ms(), KEPT_IDLE_MS);
}

/* ---- tables and tokens ---------------------------------------------------------------------- */

void api_scan(struct api *api)
{
    api_store_scan(api->store, false);
}

void api_reload(struct api *api)
{
    const struct api_host *host = &api->settings.host;
    struct api_error err = {0};

    if (api_access_reload(api->access, &err) && host->log)
        host->log(host->context, err.detail);
    api_store_scan(api->store, true);
}

/* ---- what every exchange begins and may end with -------------------------------------------- */

const char *api_head_field(const struct api_head *head, const char *name)
{
    for (size_t i = 0; i < head->fields_count; i++)
        if (strcasecmp(head->fields[i].name, name) == 0)
            return head->fields[i].value;
    return NULL;
}

/* An id of the client's is repeated if it can stand in a header and in a line of a log. */
static bool id_is_sane(const char *id)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:";
    const size_t length = id ? strlen(id) : 0;

    return length > 0 && length <= 128 && strspn(id, allowed) == length;
}

/* SplitMix64's finish: neighbouring counts do not look alike. */
static char *id_mint(struct api *api, struct api_arena *arena)
{
    uint64_t id = api->id_seed + 0x9e3779b97f4a7c15 * (atomic_fetch_add(&api->ids, 1) + 1);

    char *text = api_arena_take(arena, 17);

    id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9;
    id = (id ^ id >> 27) * 0x94d049bb133111eb;
    id ^= id >> 31;
    for (int i = 0; text && i < 16; i++)
        text[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
    return text;
}

struct api_intake *api_intake_new(struct api *api, const struct api_head *head)
{
    struct api_arena *arena = api_arena_new(api->memory);
    struct api_intake *intake = arena ? api_arena_take(arena, sizeof(*intake)) : NULL;
    struct api_response *response = intake ? api_arena_take(arena, sizeof(*response)) : NULL;
    const char *id = head ? api_head_field(head, "X-Request-Id") : NULL;

    if (!response)
        goto no_memory;
    response->arena = arena;
    response->route = response->operation = response->encoding = "";
    response->dtype = PE_F32;
    response->request_id = id_is_sane(id) ? api_arena_copy(arena, id) : id_mint(api, arena);
    if (!response->request_id)
        goto no_memory;
    api_response_header(response, "X-Request-Id", response->request_id);
    api_cors_headers(api, response, head ? api_head_field(head, "Origin") : NULL);
    intake->response = response;
    intake->common_headers = response->headers_count;
    intake->request = (struct api_request){
        .api = api,
        .settings = &api->settings,
        .arena = arena,
        .method = head ? api_arena_copy(arena, head->method) : "",
        .content_type = "",
        .head_only = head && strcmp(head->method, "HEAD") == 0,
    };
    if (!intake->request.method)
        goto no_memory;
    return intake;

no_memory:
    api_arena_free(arena);
    return NULL;
}

struct api_response *api_intake_fail(struct api_intake *intake, struct api_error *err)
{
    struct api_response *response = intake->response;

    response->headers_count = intake->common_headers;
    response->body = (struct api_body){0};
    response->head_only = intake->request.head_only;
    if (api_failed(err) != API_OUT_OF_MEMORY &&
        api_problem_write(intake->request.api, response, err))
        return response;
    api_response_free(response);
    return api_problem_no_memory();
}

void api_intake_free(struct api_intake *intake)
{
    if (intake)
        api_response_free(intake->response);
}

struct api_response *api_refuse(struct api *api, const struct api_head *head, struct api_error *err)
{
    struct api_intake *intake = api_intake_new(api, head);
    struct api_response *response;

    if (!intake)
        return api_problem_no_memory();
    response = api_intake_fail(intake, err);
    if (response->arena)
        response->close = true;
    return response;
}

struct api_response *api_handle(struct api *api, const struct api_head *head, const void *body,
                                size_t size)
{
    struct api_intake *intake = NULL;
    struct api_response *response = api_begin(api, head, &intake);

    if (response)
        return response;
    response = api_feed(intake, body, size);
    if (response) {
        api_intake_free(intake);
        return response;
    }
    return api_finish(intake);
}
