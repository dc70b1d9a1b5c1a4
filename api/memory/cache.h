/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_CACHE_H
#define API_MEMORY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/memory/budget.h"

/* Things that are pure functions of their key and cost more to make than to keep: answers, cos and
 * sin of rotations. The least recently used go first, when they are more than the cache may hold or
 * when requests need the memory. Who has one keeps it until it is dropped, in the cache or out of
 * it. All calls are thread-safe. */
struct api_cache;

struct api_cache_state {
    uint64_t size, hits, misses;
    size_t count;
};

struct api_cache_key {
    const void *bytes;
    size_t size;
};

struct api_cached {
    void *value;
};

/* Keys are put into buckets by a hash that depends on this secret: who does not know it cannot make
 * keys that share a bucket. */
enum { API_CACHE_SECRET_SIZE = 16 };

/* size_max: bytes that it may hold, keys and its own included; they are reserved in `memory`.
 * secret: API_CACHE_SECRET_SIZE random bytes, copied. NULL: there is no memory. */
struct api_cache *api_cache_new(struct api_memory *memory, uint64_t size_max,
                                const unsigned char *secret);
/* Nobody may have anything of it. NULL is fine. */
void api_cache_free(struct api_cache *cache);

/* NULL: it is not there. */
struct api_cached *api_cache_find(struct api_cache *cache, struct api_cache_key key);
/* Takes a value of so many bytes, freed by `release`, and hands it out. Of those `reserved` are
 * reserved already, which passes to the value: what is reserved for it is released with it. Where
 * another has put one under this key, or it does not fit, the value is handed out all the same and
 * goes when it is dropped. NULL: no memory, and the value was released. */
struct api_cached *api_cache_put(struct api_cache *cache, struct api_cache_key key, void *value,
                                 uint64_t size, uint64_t reserved, void (*release)(void *value));
void api_cache_drop(struct api_cache *cache, struct api_cached *cached);

/* Lets go of the least recently used one; false: there is none. */
bool api_cache_shed(struct api_cache *cache);

struct api_cache_state api_cache_state(struct api_cache *cache);

/* Entries of the fullest bucket: what a search costs at worst. Walks the whole cache. */
size_t api_cache_longest_chain(struct api_cache *cache);

#endif
