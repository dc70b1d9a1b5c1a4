/* SPDX-License-Identifier: MIT */
#include "api/routes/rotation_cache.h"
#include "api/config/scheme_cache.h"
#include "api/request/request.h"

#include <string.h>

static void key_make(struct api_key *key, const struct pe_rotation_spec *spec, enum pe_dtype dtype)
{
    const struct pe_positions *positions = &spec->positions;
    const size_t batch = positions->batch > 1 ? positions->batch : 1;
    const size_t axes = positions->axes > 1 ? positions->axes : 1;

    key->size = 0;
    key->overflow = spec->cos != NULL; /* a posted table is not cached */
    api_key_scheme(key, spec->scheme);
    for (const int *flag =
             (const int[]){spec->layout, spec->output_layout, spec->is_delta, spec->inverse,
                           spec->is_key, spec->without_attention_factor, (int)dtype,
                           positions->values != NULL, -1};
         *flag >= 0; flag++)
        api_key_number(key, *flag);
    api_key_number(key, positions->start);
    api_key_number(key, positions->step);
    api_key_number(key, (double)batch);
    api_key_number(key, (double)positions->count);
    api_key_number(key, (double)axes);
    if (positions->values)
        api_key_list(key, positions->values, axes * batch * positions->count);
}

struct api_cache_key api_rotation_key(struct api_request *request,
                                      const struct pe_rotation_spec *spec, enum pe_dtype dtype)
{
    struct api_cache_key copy;
    struct api_key key;

    key_make(&key, spec, dtype);
    api_key_copy(&key, request->arena, &copy);
    return copy;
}

static void rotation_release(void *rotation)
{
    pe_rotation_free(rotation);
}

static enum pe_status no_memory(struct pe_error *err)
{
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for cos and sin");
}

/* Borrows a cached rotation until the arena ends. */
static enum pe_status cached_use(struct api_request *request, struct api_cached *cached,
                                 struct api_rotation *out, struct pe_error *err)
{
    if (!api_cache_drop_with(request->api->cache, cached, request->arena))
        return no_memory(err);
    out->made = cached->value;
    return PE_OK;
}

enum pe_status api_rotation_find(struct api_request *request, const struct pe_rotation_spec *spec,
                                 enum pe_dtype dtype, struct api_rotation *out,
                                 struct pe_error *err)
{
    struct api_cached *cached;
    struct api_key key;

    *out = (struct api_rotation){0};
    key_make(&key, spec, dtype);
    if (key.overflow)
        return PE_OK;
    cached = api_cache_find(request->api->cache, (struct api_cache_key){key.bytes, key.size});
    if (cached)
        return cached_use(request, cached, out, err);
    return api_key_copy(&key, request->arena, &out->key) ? PE_OK : no_memory(err);
}

enum pe_status api_rotation_make(struct api_request *request, struct pe_scheme *scheme,
                                 const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                 struct api_rotation *out, struct pe_error *err)
{
    struct api_cache *cache = request->api->cache;
    struct pe_rotation *rotation;
    struct api_cached *cached;

    /* Another request may have made it while this one waited for the pool. */
    cached = out->key.size > 0 ? api_cache_find(cache, out->key) : NULL;
    if (cached)
        return cached_use(request, cached, out, err);
    if (!spec->cos && pe_scheme_prepare(scheme, request->work, err))
        return err->status;
    const uint64_t before = pe_work_memory(request->work);
    if (pe_rotation_new(&rotation, spec, dtype, api_pool(request->api), request->work, err))
        return err->status;
    if (out->key.size == 0) {
        out->made = rotation;
        return api_arena_defer(request->arena, rotation_release, rotation) ? PE_OK : no_memory(err);
    }
    /* The cache takes over the charge: the rotation may outlive the work. */
    const uint64_t size = pe_work_memory(request->work) - before;
    api_arena_work_leave(request->arena, size);
    cached = api_cache_put(cache, out->key, rotation, size, size, rotation_release);
    if (cached)
        return cached_use(request, cached, out, err);
    api_memory_release(request->api->memory, size);
    rotation_release(rotation);
    return no_memory(err);
}
