/* SPDX-License-Identifier: MIT */
#ifndef API_CONFIG_SCHEME_KEPT_H
#define API_CONFIG_SCHEME_KEPT_H

#include "api/memory/cache.h"
#include "api/request/request.h"

/* Keys of what is kept: everything that it depends on, byte for byte, so that two requests never
 * meet by a hash. What would be longer is not kept. */
enum { API_KEY_MAX = 2048 };

struct api_key {
    size_t size;
    bool overflow;
    unsigned char bytes[API_KEY_MAX];
};

void api_key_add(struct api_key *key, const void *bytes, size_t size);
void api_key_number(struct api_key *key, double number);
void api_key_list(struct api_key *key, const double *list, size_t count);
/* The encoding and what its values are. */
void api_key_scheme(struct api_key *key, const struct pe_scheme *scheme);
/* A copy that lives as long as the arena; size 0: the key is too long to be one. False: memory is
 * short. */
bool api_key_copy(const struct api_key *key, struct api_arena *arena, struct api_cache_key *copy);

/* Frequencies are the same for every request with these parameters, and take longer than a short
 * table: prepared schemes are kept in the service's cache, shared and only read. */
struct api_scheme_keep {
    bool found;               /* the scheme is one that was kept */
    struct api_cache_key key; /* under which it will be kept; size 0: it will not */
};

/* Puts a kept scheme in the place of one that was opened alike and is the caller's to free; such a
 * one has no tensors that were given. Of a request with a config none is kept. */
enum pe_status api_scheme_find(struct api_request *request, struct pe_scheme **scheme,
                               struct api_scheme_keep *keep, struct pe_error *err);
/* Prepares the scheme, and keeps it where the cache has room. */
enum pe_status api_scheme_prepare(struct api_request *request, struct pe_scheme *scheme,
                                  const struct api_scheme_keep *keep, struct pe_error *err);

#endif
