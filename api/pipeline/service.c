/* SPDX-License-Identifier: MIT */
#include "api/api.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/system.h"
#include "api/memory/budget.h"
#include "api/memory/cache.h"
#include "api/memory/json.h"
#include "api/memory/random.h"
#include "api/request/request.h"
#include "api/response/etag.h"
#include "api/routes/handler.h"
#include "api/store/access.h"
#include "api/store/store.h"

/* To be incremented when the bytes of an answer change without the version. */
#define REPRESENTATION "1"

/* ---- the service ---------------------------------------------------------------------------- */

static enum pe_status string_keep(const char **string, struct pe_error *err)
{
    if (!*string)
        return PE_OK;
    *string = strdup(*string);
    return *string ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the settings");
}

static void revision_print(char *out)
{
    struct api_hash hash;

    api_hash_start(&hash);
    api_hash_text(&hash, pe_version());
    api_hash_text(&hash, REPRESENTATION);
    snprintf(out, API_REVISION_SIZE, "%016llx", (unsigned long long)hash.state);
}

/* At most a quarter of the budget. */
static uint64_t cache_size(const struct api_limits *limits)
{
    const uint64_t most = limits->memory_budget / 4;

    return limits->cache_max < most ? limits->cache_max : most;
}

static bool cache_shed(void *cache)
{
    return api_cache_shed(cache);
}

/* Makes the budget, the cache, and the random secrets. */
static enum pe_status memory_make(struct api *api, struct pe_error *err)
{
    unsigned char secret[API_CACHE_SECRET_SIZE];
    size_t seed;

    /* sodium_init aborts the process if there is no random source, so that is checked first. */
    if (api_random(secret, sizeof(secret), err) ||
        api_random(&api->id_seed, sizeof(api->id_seed), err) ||
        api_random(&seed, sizeof(seed), err))
        return err->status;
    /* The seed of jansson's hash of member names, which clients choose. By default, and for 0,
     * jansson falls back to the time if /dev/urandom cannot be opened. */
    json_object_seed(seed | 1);
    if (sodium_init() < 0)
        return pe_fail(err, PE_INTERNAL, "", "libsodium does not start");
    api->memory = api_memory_new(api->settings.limits.memory_budget);
    if (api->memory)
        api->cache = api_cache_new(api->memory, cache_size(&api->settings.limits), secret);
    sodium_memzero(secret, sizeof(secret));
    return api->cache ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the service");
}

enum pe_status api_new(struct api **out, const struct api_settings *settings, struct pe_error *err)
{
    struct api *api = calloc(1, sizeof(*api));

    *out = NULL;
    if (!api)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the service");
    api_json_memory_init();
    api->settings = *settings;
    atomic_init(&api->pool, settings->pool);
    if (!api->settings.base_path || strcmp(api->settings.base_path, "/") == 0)
        api->settings.base_path = "";
    api->origins_given = api->settings.cors_origin;
    if (!api->settings.cors_origin)
        api->settings.cors_origin = "*";
    if (api->settings.limits.memory_budget == 0)
        api->settings.limits.memory_budget = UINT64_MAX;
    memory_make(api, err);
    /* All strings are copied first, so that api_free frees copies after any failure. */
    string_keep(&api->settings.base_path, err);
    string_keep(&api->settings.cors_origin, err);
    string_keep(&api->settings.allowed_hosts, err);
    string_keep(&api->settings.flags_json, err);
    string_keep(&api->settings.tables, err);
    string_keep(&api->settings.token_file, err);
    if (!err->status)
        api_access_new(&api->access, settings->token_file, err);
    if (err->status) {
        api_free(api);
        return err->status;
    }
    if (api_store_new(&api->store, settings->tables,
                      settings->token_file || settings->anonymous_writes, api->memory,
                      &settings->host, err)) {
        api_free(api);
        return err->status;
    }
    revision_print(api->revision);
    api_contract_tag(api);
    api_explorer_tag(api);
    api_memory_on_shortage(api->memory, cache_shed, api->cache);
    *out = api;
    return PE_OK;
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

void api_pool_set(struct api *api, struct pe_pool *pool)
{
    atomic_store_explicit(&api->pool, pool, memory_order_release);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* IDLE_MS is longer than a batch job pauses between two requests. After RELEASED_MIN bytes were
 * released and less is in use, the system's allocator gives memory back: not during traffic, whose
 * threads would wait for it and allocate the same pages again. */
enum { IDLE_MS = 2000, RELEASED_MIN = 32 << 20 };

struct api_state api_state_read(struct api *api)
{
    const struct api_memory_state memory = api_memory_state(api->memory);
    const struct api_cache_state cache = api_cache_state(api->cache);

    /* Bytes of the cache are not held by requests. The two states are not read atomically. */
    const uint64_t held = memory.held > cache.size ? memory.held - cache.size : 0;

    const struct api_store_state store = api_store_state(api->store);

    return (struct api_state){
        .memory_budget = memory.budget,
        .memory_held = held,
        .memory_held_max = memory.held_max,
        .memory_idle = memory.idle,
        .memory_connections = memory.claimed,
        .cache_size = cache.size,
        .cache_hits = cache.hits,
        .cache_misses = cache.misses,
        .tables_count = store.count,
        .tables_size = store.size,
        .tables_damaged = store.damaged,
        .tables_waiting = store.waiting,
    };
}

bool api_connection_began(struct api *api, uint64_t bytes)
{
    return api_memory_claim(api->memory, bytes);
}

void api_connection_ended(struct api *api, uint64_t bytes)
{
    api_memory_unclaim(api->memory, bytes);
}

bool api_small_take(struct api *api, uint64_t bytes)
{
    return api_memory_claim_small(api->memory, bytes);
}

void api_small_give(struct api *api, uint64_t bytes)
{
    api_memory_unclaim_small(api->memory, bytes);
}

uint64_t api_connections_max(struct api *api, uint64_t bytes)
{
    return api->settings.limits.memory_budget / bytes;
}

void api_trim(struct api *api)
{
    api_memory_trim(api->memory, api_now_ms(), IDLE_MS);
    if (api_memory_is_calm(api->memory, RELEASED_MIN))
        api_malloc_trim();
}

/* ---- tables and tokens ---------------------------------------------------------------------- */

void api_scan(struct api *api)
{
    api_store_scan(api->store, false);
}

void api_reload(struct api *api)
{
    const struct api_host *host = &api->settings.host;
    struct pe_error err = {0};

    if (api_access_reload(api->access, &err) && host->log)
        host->log(host->context, err.detail);
    api_store_scan(api->store, true);
}
