/* SPDX-License-Identifier: MIT */
#include "api/handlers/rotation_kept.h"
#include "api/request/service.h"

#include <string.h>

/* Everything that cos and sin depend on, byte for byte: two requests must never meet by a hash. A
 * list of positions that is longer than this is not kept. */
enum { KEY_MAX = 2048 };

struct key {
    size_t size;
    bool overflow;
    unsigned char bytes[KEY_MAX];
};

static void key_add(struct key *key, const void *bytes, size_t size)
{
    if (key->overflow || size > KEY_MAX - key->size) {
        key->overflow = true;
        return;
    }
    if (size > 0)
        memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

static void key_number(struct key *key, double number)
{
    key_add(key, &number, sizeof(number));
}

static void key_list(struct key *key, const double *list, size_t count)
{
    key_number(key, (double)count);
    key_add(key, list, count < KEY_MAX ? count * sizeof(*list) : SIZE_MAX);
}

static void key_make(struct key *key, const struct pe_rotation_spec *spec, enum pe_dtype dtype)
{
    const struct pe_encoding *encoding = pe_scheme_encoding(spec->scheme);
    const struct pe_params *params = pe_scheme_params(spec->scheme);
    const struct pe_positions *positions = &spec->positions;
    const size_t batch = positions->batch > 1 ? positions->batch : 1;
    const size_t axes = positions->axes > 1 ? positions->axes : 1;

    key->size = 0;
    key->overflow = spec->cos != NULL; /* a table that is given is its owner's */
    key_add(key, &encoding, sizeof(encoding));
    for (size_t i = 0; i < params->count; i++) {
        key_number(key, params->values[i].present);
        key_number(key, params->values[i].number);
        key_list(key, params->values[i].list, params->values[i].list_count);
    }
    for (const int *flag =
             (const int[]){spec->layout, spec->output_layout, spec->is_delta, spec->inverse,
                           spec->is_key, spec->without_attention_factor, (int)dtype,
                           positions->values != NULL, -1};
         *flag >= 0; flag++)
        key_number(key, *flag);
    key_number(key, positions->start);
    key_number(key, positions->step);
    key_number(key, (double)batch);
    key_number(key, (double)positions->count);
    key_number(key, (double)axes);
    if (positions->values)
        key_list(key, positions->values, axes * batch * positions->count);
}

static void rotation_release(void *rotation)
{
    pe_rotation_free(rotation);
}

static enum api_status no_memory(struct api_error *err)
{
    return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for cos and sin");
}

/* The rotation of a loan, which ends with the arena. */
static enum api_status loan_use(struct api_request *request, struct api_cached *cached,
                                struct api_rotation *out, struct api_error *err)
{
    if (!api_cache_lend(request->api->cache, cached, request->arena))
        return no_memory(err);
    out->made = cached->value;
    return API_OK;
}

enum api_status api_rotation_find(struct api_request *request, const struct pe_rotation_spec *spec,
                                  enum pe_dtype dtype, struct api_rotation *out,
                                  struct api_error *err)
{
    struct api_cached *cached;
    struct key key;
    void *bytes;

    *out = (struct api_rotation){0};
    key_make(&key, spec, dtype);
    if (key.overflow)
        return API_OK;
    cached = api_cache_find(request->api->cache, (struct api_cache_key){key.bytes, key.size});
    if (cached)
        return loan_use(request, cached, out, err);
    bytes = api_arena_take(request->arena, key.size);
    if (!bytes)
        return no_memory(err);
    out->key = (struct api_cache_key){memcpy(bytes, key.bytes, key.size), key.size};
    return API_OK;
}

enum api_status api_rotation_make(struct api_request *request, struct pe_scheme *scheme,
                                  const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                  struct api_rotation *out, struct api_error *err)
{
    struct api_cache *cache = request->api->cache;
    struct pe_rotation *rotation;
    struct api_cached *cached;

    /* Another request may have made it while this one waited for the pool. */
    cached = out->key.size > 0 ? api_cache_find(cache, out->key) : NULL;
    if (cached)
        return loan_use(request, cached, out, err);
    if (!spec->cos && pe_scheme_prepare(scheme, request->work, &err->core))
        return api_failed(err);
    const uint64_t before = pe_work_memory(request->work);
    if (pe_rotation_new(&rotation, spec, dtype, api_pool(request->api), request->work, &err->core))
        return api_failed(err);
    if (out->key.size == 0) {
        out->made = rotation;
        return api_arena_defer(request->arena, rotation_release, rotation) ? API_OK
                                                                           : no_memory(err);
    }
    /* The cache takes over what the rotation was charged for: it may live longer than the work. */
    const uint64_t size = pe_work_memory(request->work) - before;
    api_arena_work_leave(request->arena, size);
    cached = api_cache_put(cache, out->key, rotation, size, size, rotation_release);
    if (cached)
        return loan_use(request, cached, out, err);
    api_memory_release(request->api->memory, size);
    rotation_release(rotation);
    return no_memory(err);
}
