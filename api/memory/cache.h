/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_CACHE_H
#define API_MEMORY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/memory/arena.h"
#include "api/memory/budget.h"

/* Values that are pure functions of their key and cost more to make than to keep: answers, cos and
 * sin of rotations. The least recently used one goes first, when the cache is full or a request
 * needs the memory. A value that was handed out lives until it is dropped, even if the cache has
 * let it go. All calls are thread-safe. */
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

/* size_max: most bytes of values, keys and bookkeeping together; they are reserved in `memory`.
 * secret: API_CACHE_SECRET_SIZE random bytes, copied. NULL: there is no memory. */
struct api_cache *api_cache_new(struct api_memory *memory, uint64_t size_max,
                                const unsigned char *secret);
/* Every value handed out must have been dropped. NULL is fine. */
void api_cache_free(struct api_cache *cache);

/* Hands out the value of a key, to be dropped. NULL: the cache has none. */
struct api_cached *api_cache_find(struct api_cache *cache, struct api_cache_key key);
/* A key that is asked for again and again is given with its hash. */
uint64_t api_cache_hash(const struct api_cache *cache, struct api_cache_key key);
struct api_cached *api_cache_find_hashed(struct api_cache *cache, struct api_cache_key key,
                                         uint64_t hash);
/* Takes over a value of `size` bytes, which `release` will free, and hands it out, to be dropped.
 * `reserved` of these bytes are reserved in the budget by the caller; the cache takes over this
 * reservation and releases it with the value. A value that does not fit, or whose key has another
 * one, is not kept: it is released when it is dropped. NULL: memory is short, and value and
 * reservation stay the caller's. */
struct api_cached *api_cache_put(struct api_cache *cache, struct api_cache_key key, void *value,
                                 uint64_t size, uint64_t reserved, void (*release)(void *value));
void api_cache_drop(struct api_cache *cache, struct api_cached *cached);
/* Drops a value that was handed out when the arena is freed. False: memory is short, and the value
 * was dropped at once. */
bool api_cache_lend(struct api_cache *cache, struct api_cached *cached, struct api_arena *arena);

/* Lets the least recently used value go. False: the cache is empty. */
bool api_cache_shed(struct api_cache *cache);

struct api_cache_state api_cache_state(struct api_cache *cache);

/* Entries of the fullest bucket, the most that a search looks at. Walks the whole cache. */
size_t api_cache_longest_chain(struct api_cache *cache);

#endif
