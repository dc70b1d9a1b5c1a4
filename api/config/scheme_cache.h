/* SPDX-License-Identifier: MIT */
#ifndef API_CONFIG_SCHEME_CACHE_H
#define API_CONFIG_SCHEME_CACHE_H

#include "api/memory/cache.h"
#include "api/request/request.h"

/* Prepared schemes in the service's cache, shared and only read: their frequencies take longer than
 * a short table, and are the same for every request with the same parameters. */

/* Adds the encoding and its values to a key. */
void api_key_scheme(struct api_key *key, const struct pe_scheme *scheme);

struct api_scheme_caching {
    bool found;               /* the scheme is a cached one */
    struct api_cache_key key; /* for api_scheme_prepare; size 0: the scheme will not be cached */
};

/* Replaces an opened scheme, which the caller frees, by a cached one with the same parameters. Not
 * for schemes with posted weights, and not done for a request with a config, nor for learned
 * tables: a scheme points to its table, which the request or the store may free. */
enum pe_status api_scheme_cache_find(struct api_request *request, struct pe_scheme **scheme,
                                     struct api_scheme_caching *caching, struct pe_error *err);
/* Prepares the scheme, and caches it where memory allows. */
enum pe_status api_scheme_prepare(struct api_request *request, struct pe_scheme *scheme,
                                  const struct api_scheme_caching *caching, struct pe_error *err);

#endif
