/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ROTATION_KEPT_H
#define API_ROUTES_ROTATION_KEPT_H

#include "api/memory/cache.h"
#include "api/routes/handler.h"

/* cos and sin for a spec: every layer of a model asks for the same ones, so they are kept in the
 * service's cache. They live as long as the request's arena. PE_OUT_OF_MEMORY. */
struct api_rotation {
    const struct pe_rotation *made; /* NULL: they are still to be made */
    struct api_cache_key key;       /* under which they will be kept; size 0: they will not */
};

/* How a rotation in place is done once more, on other numbers: by cos and sin that are kept. */
struct api_rotation_again {
    struct pe_axes axes;
    size_t tokens;
    const void *key; /* of cos and sin, in the cache */
    size_t key_size;
};

/* Of a result that is ready. False: more than its body's bytes and cos and sin takes part. The key
 * lives as long as the arena. */
bool api_rotation_again(struct api_request *request, const struct api_result *result,
                        struct api_rotation_again *again);

/* The key of cos and sin; size 0: they are not kept, or memory is short. */
struct api_cache_key api_rotation_key(struct api_request *request,
                                      const struct pe_rotation_spec *spec, enum pe_dtype dtype);

/* Looks for cos and sin, and notes the key where there are none. The scheme may be unprepared. */
enum pe_status api_rotation_find(struct api_request *request, const struct pe_rotation_spec *spec,
                                 enum pe_dtype dtype, struct api_rotation *rotation,
                                 struct pe_error *err);

/* Makes what api_rotation_find has not found for this spec, and keeps it where the cache has room.
 * spec->scheme is `scheme`, which is prepared here, unless it was for another tensor. */
enum pe_status api_rotation_make(struct api_request *request, struct pe_scheme *scheme,
                                 const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                 struct api_rotation *rotation, struct pe_error *err);

#endif
