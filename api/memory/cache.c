/* SPDX-License-Identifier: MIT */
#include "api/memory/cache.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 14 };
_Static_assert(API_CACHE_SECRET_SIZE == crypto_shorthash_KEYBYTES, "SipHash-2-4 takes 16 bytes");

/* The cache is one user of each entry. The bytes of an entry stay reserved until its last user
 * drops it: a response to a slow client is used long after its eviction. */
struct entry {
    struct api_cached cached; /* first, so that a pointer to it is one to the entry */
    void (*release)(void *value);
    uint64_t reserved; /* bytes of the budget; all of the entry's while it is cached */
    size_t users;
    struct entry *chain;         /* of its bucket */
    struct entry *newer, *older; /* of all, by use */
    uint64_t hash;
    size_t key_size;
    unsigned char key[];
};

struct api_cache {
    pthread_mutex_t lock;
    struct api_memory *memory;
    uint64_t size_max;
    unsigned char secret[API_CACHE_SECRET_SIZE];
    struct api_cache_state state;
    struct entry *newest, *oldest;
    struct entry *buckets[BUCKETS];
};

struct api_cache *api_cache_new(struct api_memory *memory, uint64_t size_max,
                                const unsigned char *secret)
{
    struct api_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return NULL;
    cache->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    cache->memory = memory;
    cache->size_max = size_max;
    memcpy(cache->secret, secret, sizeof(cache->secret));
    return cache;
}

/* Keys are made from requests: a client that knew the hash could fill one bucket and slow down all
 * searches. */
uint64_t api_cache_hash(const struct api_cache *cache, struct api_cache_key key)
{
    unsigned char bytes[crypto_shorthash_BYTES];
    uint64_t hash;

    _Static_assert(sizeof(hash) == sizeof(bytes), "the hash is one number");
    crypto_shorthash(bytes, key.bytes, key.size, cache->secret);
    memcpy(&hash, bytes, sizeof(hash));
    return hash;
}

/* ---- with the lock held --------------------------------------------------------------------- */

static struct entry *entry_find(struct api_cache *cache, struct api_cache_key key, uint64_t hash)
{
    struct entry *at = cache->buckets[hash % BUCKETS];

    while (at && (at->hash != hash || at->key_size != key.size ||
                  memcmp(at->key, key.bytes, key.size) != 0))
        at = at->chain;
    return at;
}

static void order_remove(struct api_cache *cache, struct entry *entry)
{
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void order_add(struct api_cache *cache, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

/* Removes the oldest entry. Returns it, to be freed, if it has no other user. */
static struct entry *oldest_remove(struct api_cache *cache)
{
    struct entry *entry = cache->oldest;
    struct entry **at = &cache->buckets[entry->hash % BUCKETS];

    while (*at != entry)
        at = &(*at)->chain;
    *at = entry->chain;
    order_remove(cache, entry);
    cache->state.count--;
    cache->state.size -= entry->reserved;
    return --entry->users == 0 ? entry : NULL;
}

/* ---- without the lock ----------------------------------------------------------------------- */

static void entry_free(struct api_cache *cache, struct entry *entry)
{
    if (!entry)
        return;
    api_memory_release(cache->memory, entry->reserved);
    entry->release(entry->cached.value);
    free(entry);
}

bool api_cache_shed(struct api_cache *cache)
{
    struct entry *entry = NULL;
    bool any;

    pthread_mutex_lock(&cache->lock);
    any = cache->oldest != NULL;
    if (any)
        entry = oldest_remove(cache);
    pthread_mutex_unlock(&cache->lock);
    entry_free(cache, entry);
    return any;
}

void api_cache_free(struct api_cache *cache)
{
    if (!cache)
        return;
    while (api_cache_shed(cache))
        ;
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

struct api_cached *api_cache_find_hashed(struct api_cache *cache, struct api_cache_key key,
                                         uint64_t hash)
{
    struct entry *entry;

    pthread_mutex_lock(&cache->lock);
    entry = entry_find(cache, key, hash);
    if (entry) {
        entry->users++;
        order_remove(cache, entry);
        order_add(cache, entry);
        cache->state.hits++;
    } else {
        cache->state.misses++;
    }
    pthread_mutex_unlock(&cache->lock);
    return entry ? &entry->cached : NULL;
}

struct api_cached *api_cache_find(struct api_cache *cache, struct api_cache_key key)
{
    return api_cache_find_hashed(cache, key, api_cache_hash(cache, key));
}

/* Adds an entry whose bytes are reserved. */
static void entry_add(struct api_cache *cache, struct entry *entry)
{
    const struct api_cache_key key = {entry->key, entry->key_size};

    pthread_mutex_lock(&cache->lock);
    if (!entry_find(cache, key, entry->hash) &&
        cache->state.size + entry->reserved <= cache->size_max) {
        entry->chain = cache->buckets[entry->hash % BUCKETS];
        cache->buckets[entry->hash % BUCKETS] = entry;
        order_add(cache, entry);
        cache->state.count++;
        cache->state.size += entry->reserved;
        entry->users++;
    }
    pthread_mutex_unlock(&cache->lock);
}

static bool space_make(struct api_cache *cache, uint64_t size)
{
    if (size > cache->size_max)
        return false;
    while (api_cache_state(cache).size > cache->size_max - size)
        if (!api_cache_shed(cache))
            return false;
    return true;
}

struct api_cached *api_cache_put(struct api_cache *cache, struct api_cache_key key, void *value,
                                 uint64_t size, uint64_t reserved, void (*release)(void *value))
{
    const uint64_t own = sizeof(struct entry) + key.size;
    const uint64_t total = size < UINT64_MAX - own ? size + own : UINT64_MAX;
    struct entry *entry = malloc(own);

    if (!entry)
        return NULL;
    *entry = (struct entry){.cached = {value},
                            .release = release,
                            .reserved = reserved,
                            .users = 1,
                            .hash = api_cache_hash(cache, key),
                            .key_size = key.size};
    memcpy(entry->key, key.bytes, key.size);
    if (space_make(cache, total) && api_memory_reserve(cache->memory, total - reserved)) {
        entry->reserved = total;
        entry_add(cache, entry);
    }
    return &entry->cached;
}

void api_cache_drop(struct api_cache *cache, struct api_cached *cached)
{
    struct entry *entry = (struct entry *)cached;
    bool last;

    if (!entry)
        return;
    pthread_mutex_lock(&cache->lock);
    last = --entry->users == 0;
    pthread_mutex_unlock(&cache->lock);
    if (last)
        entry_free(cache, entry);
}

struct use {
    struct api_cache *cache;
    struct api_cached *cached;
};

static void use_end(void *context)
{
    const struct use *use = context;

    api_cache_drop(use->cache, use->cached);
}

bool api_cache_drop_with(struct api_cache *cache, struct api_cached *cached,
                         struct api_arena *arena)
{
    struct use *use = api_arena_take(arena, sizeof(*use));

    if (!use) {
        api_cache_drop(cache, cached);
        return false;
    }
    *use = (struct use){cache, cached};
    return api_arena_defer(arena, use_end, use);
}

struct api_cache_state api_cache_state(struct api_cache *cache)
{
    struct api_cache_state state;

    pthread_mutex_lock(&cache->lock);
    state = cache->state;
    pthread_mutex_unlock(&cache->lock);
    return state;
}

size_t api_cache_longest_chain(struct api_cache *cache)
{
    size_t longest = 0;

    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        size_t length = 0;
        for (const struct entry *at = cache->buckets[i]; at; at = at->chain)
            length++;
        if (length > longest)
            longest = length;
    }
    pthread_mutex_unlock(&cache->lock);
    return longest;
}

/* ---- keys ------------------------------------------------------------------------------------ */

void api_key_add(struct api_key *key, const void *bytes, size_t size)
{
    if (key->overflow || size > API_KEY_MAX - key->size) {
        key->overflow = true;
        return;
    }
    if (size > 0)
        memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

void api_key_number(struct api_key *key, double number)
{
    api_key_add(key, &number, sizeof(number));
}

void api_key_list(struct api_key *key, const double *list, size_t count)
{
    api_key_number(key, (double)count);
    api_key_add(key, list, count < API_KEY_MAX ? count * sizeof(*list) : SIZE_MAX);
}

bool api_key_copy(const struct api_key *key, struct api_arena *arena, struct api_cache_key *copy)
{
    void *bytes;

    *copy = (struct api_cache_key){0};
    if (key->overflow)
        return true;
    bytes = api_arena_take(arena, key->size);
    if (bytes)
        *copy = (struct api_cache_key){memcpy(bytes, key->bytes, key->size), key->size};
    return bytes;
}
