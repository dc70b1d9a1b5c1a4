/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_CACHE_H
#define API_MEMORY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/memory/arena.h"
#include "api/memory/budget.h"

/* An LRU cache of values that are pure functions of their key: responses, cos and sin of rotations.
 * The least recently used one is evicted when the cache is full or a request needs the memory. A
 * value in use lives until it is dropped, even after its eviction. All calls are thread-safe. */
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

/* Makes a key of everything that a value depends on, byte for byte, so that two requests never
 * share a value by a colliding hash. A key that overflows is not used. */
enum { API_KEY_MAX = 2048 };

struct api_key {
    size_t size;
    bool overflow;
    unsigned char bytes[API_KEY_MAX];
};

void api_key_add(struct api_key *key, const void *bytes, size_t size);
void api_key_number(struct api_key *key, double number);
void api_key_list(struct api_key *key, const double *list, size_t count);
/* A copy in the arena; size 0 where the key overflowed. False: out of memory. */
bool api_key_copy(const struct api_key *key, struct api_arena *arena, struct api_cache_key *copy);

/* The hash of keys depends on this secret, so that clients cannot make keys that share a bucket. */
enum { API_CACHE_SECRET_SIZE = 16 };

/* size_max: the most bytes of values, keys and bookkeeping; they are reserved in `memory`. secret:
 * API_CACHE_SECRET_SIZE random bytes, copied. NULL: there is no memory. */
struct api_cache *api_cache_new(struct api_memory *memory, uint64_t size_max,
                                const unsigned char *secret);
/* After every value in use was dropped. NULL is allowed. */
void api_cache_free(struct api_cache *cache);

/* The value of a key, to be dropped after use. NULL: not cached. */
struct api_cached *api_cache_find(struct api_cache *cache, struct api_cache_key key);
/* The same with the hash of a key, computed once for a key that is looked up often. */
uint64_t api_cache_hash(const struct api_cache *cache, struct api_cache_key key);
struct api_cached *api_cache_find_hashed(struct api_cache *cache, struct api_cache_key key,
                                         uint64_t hash);
/* Caches a value of `size` bytes, which `release` will free, and returns it, to be dropped after
 * use. `reserved` of its bytes are already reserved by the caller; the cache takes this reservation
 * over. A value that does not fit, or whose key is cached already, is only released when it is
 * dropped. NULL: out of memory; value and reservation stay the caller's. */
struct api_cached *api_cache_put(struct api_cache *cache, struct api_cache_key key, void *value,
                                 uint64_t size, uint64_t reserved, void (*release)(void *value));
void api_cache_drop(struct api_cache *cache, struct api_cached *cached);
/* Drops a value when the arena is freed. False: out of memory, and it was dropped at once. */
bool api_cache_drop_with(struct api_cache *cache, struct api_cached *cached,
                         struct api_arena *arena);

/* Evicts the least recently used value. False: the cache is empty. */
bool api_cache_shed(struct api_cache *cache);

struct api_cache_state api_cache_state(struct api_cache *cache);

/* The number of entries in the fullest bucket, for tests. */
size_t api_cache_longest_chain(struct api_cache *cache);

#endif
