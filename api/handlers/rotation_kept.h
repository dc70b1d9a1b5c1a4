/* SPDX-License-Identifier: MIT */
#ifndef API_HANDLERS_ROTATION_KEPT_H
#define API_HANDLERS_ROTATION_KEPT_H

#include "api/handlers/handler.h"
#include "api/memory/cache.h"

/* cos and sin for a spec: every layer of a model asks for the same ones, so they are kept in the
 * service's cache. They live as long as the request's arena. API_OUT_OF_MEMORY. */
struct api_rotation {
    const struct pe_rotation *made; /* NULL: they are still to be made */
    struct api_cache_key key;       /* under which they will be kept; size 0: they will not */
};

/* Looks for cos and sin, and notes the key where there are none. The scheme may be unprepared. */
enum api_status api_rotation_find(struct api_request *request, const struct pe_rotation_spec *spec,
                                  enum pe_dtype dtype, struct api_rotation *rotation,
                                  struct api_error *err);

/* Makes what api_rotation_find has not found for this spec, and keeps it where the cache has room.
 * spec->scheme is `scheme`, which is prepared here, unless it was for another tensor. */
enum api_status api_rotation_make(struct api_request *request, struct pe_scheme *scheme,
                                  const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                  struct api_rotation *rotation, struct api_error *err);

#endif
