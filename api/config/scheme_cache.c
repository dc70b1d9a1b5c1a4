/* SPDX-License-Identifier: MIT */
#include "api/config/scheme_cache.h"

#include <string.h>

void api_key_scheme(struct api_key *key, const struct pe_scheme *scheme)
{
    const struct pe_encoding *encoding = pe_scheme_encoding(scheme);
    const struct pe_params *params = pe_scheme_params(scheme);

    api_key_add(key, &encoding, sizeof(encoding));
    for (size_t i = 0; i < params->count; i++) {
        api_key_number(key, params->values[i].present);
        api_key_number(key, params->values[i].number);
        api_key_list(key, params->values[i].list, params->values[i].list_count);
    }
}

enum {
    CACHED_COST_MIN = 2000, /* estimated ns of the cheapest scheme that is cached */
    STRUCTS_SIZE = 4 << 10, /* about what the structs take */
};

/* Answers distinguish given values from defaults, so the key does too. */
static void key_make(struct api_key *key, const struct pe_scheme *scheme)
{
    static const char kind[] = "scheme";
    const struct pe_params *params = pe_scheme_params(scheme);

    key->size = 0;
    key->overflow = false;
    api_key_add(key, kind, sizeof(kind));
    api_key_scheme(key, scheme);
    for (size_t i = 0; i < params->count; i++) {
        const char *text = params->values[i].text;
        api_key_number(key, params->values[i].given);
        api_key_number(key, (double)params->values[i].rows);
        api_key_add(key, text ? text : "", text ? strlen(text) + 1 : 1);
    }
}

static enum pe_status no_memory(struct pe_error *err)
{
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the frequencies");
}

enum pe_status api_scheme_cache_find(struct api_request *request, struct pe_scheme **scheme,
                                     struct api_scheme_caching *caching, struct pe_error *err)
{
    struct api_cached *cached;
    struct api_key key;

    *caching = (struct api_scheme_caching){0};
    if (request->config || pe_encoding_has(pe_scheme_encoding(*scheme), PE_KIND_LEARNED) ||
        pe_scheme_work(*scheme) < CACHED_COST_MIN)
        return PE_OK;
    key_make(&key, *scheme);
    if (key.overflow)
        return PE_OK;
    cached = api_cache_find(request->api->cache, (struct api_cache_key){key.bytes, key.size});
    if (!cached)
        return api_key_copy(&key, request->arena, &caching->key) ? PE_OK : no_memory(err);
    pe_scheme_free(*scheme);
    *scheme = pe_scheme_share(cached->value);
    caching->found = true;
    api_cache_drop(request->api->cache, cached);
    return PE_OK;
}

static void scheme_release(void *scheme)
{
    pe_scheme_free(scheme);
}

enum pe_status api_scheme_prepare(struct api_request *request, struct pe_scheme *scheme,
                                  const struct api_scheme_caching *caching, struct pe_error *err)
{
    const uint64_t before = pe_work_memory(request->work);
    struct api_cached *cached;
    uint64_t size;

    if (pe_scheme_prepare(scheme, request->work, err))
        return err->status;
    if (caching->key.size == 0)
        return PE_OK;
    /* Charged a second time for the cache, since the request's own charge ends with it. Without
     * memory for that the scheme is not cached. */
    size = pe_work_memory(request->work) - before + STRUCTS_SIZE;
    cached = api_cache_put(request->api->cache, caching->key, pe_scheme_share(scheme), size, 0,
                           scheme_release);
    if (cached)
        api_cache_drop(request->api->cache, cached);
    else
        pe_scheme_free(scheme);
    return PE_OK;
}
