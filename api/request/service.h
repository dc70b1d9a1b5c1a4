/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_SERVICE_H
#define API_REQUEST_SERVICE_H

/* The service: what all requests share. */

#include <stdatomic.h>

#include "api/api.h"

enum { API_REVISION_SIZE = 17, API_CONTRACTS = 2 };

struct api {
    struct api_settings settings; /* its strings are ours */
    bool origins_given;           /* cors_origin was set: it applies to stored tables too */
    _Atomic(struct pe_pool *) pool;
    struct api_memory *memory;
    struct api_cache *cache; /* of answers and rotations */
    struct api_store *store;
    struct api_access *access;
    char revision[API_REVISION_SIZE];
    char contract_tags[API_CONTRACTS][17]; /* of openapi.yaml and openapi.json, for ETags */
    char file_tags[API_FILES_MAX + 1][17]; /* of the settings' files, likewise */
    uint64_t id_seed;
    _Atomic uint64_t ids;
    _Atomic uint64_t problems[PE_STATUSES]; /* by status */
    _Atomic uint64_t not_modified;
};

/* The threads of the service; NULL: the calling one alone. */
static inline struct pe_pool *api_pool(const struct api *api)
{
    return atomic_load_explicit(&api->pool, memory_order_acquire);
}

#endif
