/* SPDX-License-Identifier: MIT */
#include "api/config/scheme_kept.h"

#include <string.h>

/* ---- keys -------------------------------------------------------------------------------------
 */

void api_key_add(struct api_key *key, const void *bytes, size_t size)
{
    if (key->overflow || size > API_KEY_MAX - key->size) {
        key->overflow = true;
        return;
    }
    if (size > 0)
        memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

void api_key_number(struct api_key *key, double number)
{
    api_key_add(key, &number, sizeof(number));
}

void api_key_list(struct api_key *key, const double *list, size_t count)
{
    api_key_number(key, (double)count);
    api_key_add(key, list, count < API_KEY_MAX ? count * sizeof(*list) : SIZE_MAX);
}

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

bool api_key_copy(const struct api_key *key, struct api_arena *arena, struct api_cache_key *copy)
{
    void *bytes;

    *copy = (struct api_cache_key){0};
    if (key->overflow)
        return true;
    bytes = api_arena_take(arena, key->size);
    if (bytes)
        *copy = (struct api_cache_key){memcpy(bytes, key->bytes, key->size), key->size};
    return bytes;
}

/* ---- schemes ----------------------------------------------------------------------------------
 */

/* Foretold nanoseconds from which on a scheme is worth its place; about what the structs take. */
#define WORTH_WORK 2000
enum { STRUCTS_SIZE = 4 << 10 };

/* Values of a scheme are told in answers: those that were given are told apart from defaults. */
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

enum pe_status api_scheme_find(struct api_request *request, struct pe_scheme **scheme,
                               struct api_scheme_keep *keep, struct pe_error *err)
{
    struct api_cached *cached;
    struct api_key key;

    *keep = (struct api_scheme_keep){0};
    if (request->config || pe_scheme_work(*scheme) < WORTH_WORK)
        return PE_OK;
    key_make(&key, *scheme);
    if (key.overflow)
        return PE_OK;
    cached = api_cache_find(request->api->cache, (struct api_cache_key){key.bytes, key.size});
    if (!cached)
        return api_key_copy(&key, request->arena, &keep->key) ? PE_OK : no_memory(err);
    pe_scheme_free(*scheme);
    *scheme = pe_scheme_share(cached->value);
    keep->found = true;
    api_cache_drop(request->api->cache, cached);
    return PE_OK;
}

static void scheme_release(void *scheme)
{
    pe_scheme_free(scheme);
}

enum pe_status api_scheme_prepare(struct api_request *request, struct pe_scheme *scheme,
                                  const struct api_scheme_keep *keep, struct pe_error *err)
{
    const uint64_t before = pe_work_memory(request->work);
    struct api_cached *cached;
    uint64_t size;

    if (pe_scheme_prepare(scheme, request->work, err))
        return err->status;
    if (keep->key.size == 0)
        return PE_OK;
    /* Charged once more for the cache, because it may live longer than this request, whose own
     * charge ends with it. Where there is no room it is not kept. */
    size = pe_work_memory(request->work) - before + STRUCTS_SIZE;
    cached = api_cache_put(request->api->cache, keep->key, pe_scheme_share(scheme), size, 0,
                           scheme_release);
    if (cached)
        api_cache_drop(request->api->cache, cached);
    else
        pe_scheme_free(scheme);
    return PE_OK;
}
