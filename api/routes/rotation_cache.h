/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ROTATION_CACHE_H
#define API_ROUTES_ROTATION_CACHE_H

#include "api/memory/cache.h"
#include "api/routes/handler.h"

/* cos and sin, in the service's cache since every layer of a model needs the same ones. Valid as
 * long as the request's arena. */
struct api_rotation {
    const struct pe_rotation *made; /* NULL: still to be made */
    struct api_cache_key key;       /* to cache it under; size 0: not cached */
};

/* A rotation in place to be repeated on other numbers, by cached cos and sin. */
struct api_rotation_repeat {
    struct pe_axes axes;
    size_t tokens;
    const void *key; /* of cos and sin, in the cache */
    size_t key_size;
};

/* For a finished result. false: it depends on more than cos and sin and the bytes of its body. The
 * key is valid as long as the arena. */
bool api_rotation_repeat(struct api_request *request, const struct api_result *result,
                         struct api_rotation_repeat *repeat);

/* The key of cos and sin; size 0: not cached, or no memory. */
struct api_cache_key api_rotation_key(struct api_request *request,
                                      const struct pe_rotation_spec *spec, enum pe_dtype dtype);

/* Looks for cos and sin in the cache, else sets the key. The scheme may be unprepared.
 * PE_OUT_OF_MEMORY. */
enum pe_status api_rotation_find(struct api_request *request, const struct pe_rotation_spec *spec,
                                 enum pe_dtype dtype, struct api_rotation *rotation,
                                 struct pe_error *err);

/* Makes what api_rotation_find has not found for this spec, and caches it. spec->scheme is
 * `scheme`, which is prepared here if need be. */
enum pe_status api_rotation_make(struct api_request *request, struct pe_scheme *scheme,
                                 const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                 struct api_rotation *rotation, struct pe_error *err);

#endif
