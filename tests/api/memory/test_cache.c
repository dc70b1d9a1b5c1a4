/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/memory/arena.h"
#include "api/memory/budget.h"
#include "api/memory/cache.h"
#include "api/numbers/text.h"
#include "tests/check_main.h"

/* ---- memory --------------------------------------------------------------------------------- */

/* Text of a request is charged while it grows, up to the budget. */
TEST(test_text_that_grows)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_arena *arena = api_arena_new(memory);
    struct api_text text = {.arena = arena}, other = {.arena = arena};
    static const char bytes[100 << 10];

    api_arena_settle(arena);
    for (int i = 0; i < 4; i++)
        api_text_add(&text, bytes, sizeof(bytes));
    ck_assert_uint_eq(api_memory_state(memory).held, 512 << 10);
    for (int i = 0; i < 9; i++)
        api_text_add(&other, bytes, sizeof(bytes));
    ck_assert(other.failed && api_arena_refused(arena));
    api_text_free(&other);
    ck_assert_uint_eq(api_memory_state(memory).held, 512 << 10);
    ck_assert_ptr_nonnull(api_text_take(&text, arena));
    ck_assert_uint_eq(api_memory_state(memory).held, 512 << 10);
    api_arena_free(arena);
    ck_assert_uint_eq(api_memory_state(memory).held, 0);
    api_memory_free(memory);
}

TEST(test_budget_is_never_exceeded)
{
    struct api_memory *memory = api_memory_new(10 << 20);

    ck_assert(api_memory_reserve(memory, 6 << 20));
    ck_assert(!api_memory_reserve(memory, (4 << 20) + 1));
    ck_assert(api_memory_reserve(memory, 4 << 20));
    ck_assert(!api_memory_reserve(memory, 1));
    ck_assert(!api_memory_reserve(memory, UINT64_MAX));
    api_memory_release(memory, 10 << 20);
    ck_assert_uint_eq(api_memory_state(memory).held, 0);
    ck_assert(api_memory_reserve(memory, 10 << 20));
    api_memory_release(memory, 10 << 20);
    api_memory_free(memory);
}

/* Random calls against a model of their counts: held and idle bytes stay within the budget of
 * requests, and a reservation that fits is granted. */
struct counted {
    uint64_t budget, held, claimed, pinned;
};

static uint64_t left_of(const struct counted *counted)
{
    const uint64_t budget = counted->budget - counted->pinned, granted = budget / 16;
    const uint64_t beyond = counted->claimed > granted ? counted->claimed - granted : 0;

    return budget > beyond ? budget - beyond : 0;
}

static void counted_check(struct api_memory *memory, const struct counted *counted)
{
    const struct api_memory_state state = api_memory_state(memory);

    ck_assert_uint_eq(state.held, counted->held);
    ck_assert_uint_eq(state.claimed, counted->claimed);
    ck_assert_uint_eq(state.budget, counted->budget - counted->pinned);
    ck_assert_uint_eq(state.left, left_of(counted));
    ck_assert_uint_ge(state.held_max, state.held);
    ck_assert_msg(state.idle == 0 || state.held + state.idle <= state.left,
                  "%llu held, %llu idle, %llu left", (unsigned long long)state.held,
                  (unsigned long long)state.idle, (unsigned long long)state.left);
}

/* Adds to one count, or takes from it. */
static void count_change(struct api_memory *memory, struct counted *counted, int what,
                         uint64_t size)
{
    const bool fits = counted->held + size <= left_of(counted);
    bool granted;
    uint64_t least;

    switch (what) {
    case 0:
        ck_assert_int_eq(api_memory_reserve(memory, size), fits);
        counted->held += fits ? size : 0;
        break;
    case 1:
        least = size < counted->held ? size : counted->held;
        api_memory_release(memory, least);
        counted->held -= least;
        break;
    case 2:
        granted = counted->claimed + size <= API_MEMORY_SLACK + counted->budget - counted->pinned;
        ck_assert_int_eq(api_memory_claim(memory, size), granted);
        counted->claimed += granted ? size : 0;
        break;
    case 3:
        least = size < counted->claimed ? size : counted->claimed;
        api_memory_unclaim(memory, least);
        counted->claimed -= least;
        break;
    case 4:
        ck_assert_int_eq(api_memory_pin(memory, size), fits);
        counted->pinned += fits ? size : 0;
        break;
    default:
        least = size < counted->pinned ? size : counted->pinned;
        api_memory_unpin(memory, least);
        counted->pinned -= least;
    }
}

TEST(test_counts_of_memory)
{
    struct counted counted = {.budget = 20 << 20};
    struct api_memory *memory = api_memory_new(counted.budget);
    uint64_t state = 5, idle = 0;

    for (int i = 0; i < 20000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t size = (state >> 33) % (3 << 20) >> (state >> 20) % 8;
        const int what = (int)((state >> 60) % 8);
        if (what < 6) {
            count_change(memory, &counted, what, size);
        } else {
            size_t room;
            unsigned char *bytes = api_memory_take(memory, size, &room);
            ck_assert(bytes && room >= size);
            api_memory_give(memory, bytes, room);
        }
        counted_check(memory, &counted);
        idle += api_memory_state(memory).idle > 0;
    }
#ifndef __SANITIZE_ADDRESS__ /* with which no buffer is cached */
    ck_assert_uint_gt(idle, 1000);
#endif
    api_memory_release(memory, counted.held);
    api_memory_free(memory);
}

TEST(test_memory_is_found_again)
{
    struct api_memory *memory = api_memory_new(64 << 20);
    size_t sizes[] = {1, 1000, 300 << 10, 1 << 20, (3 << 20) + 5, 16 << 20}, room, again;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        unsigned char *first = api_memory_take(memory, sizes[i], &room), *second;
        ck_assert_ptr_nonnull(first);
        ck_assert_uint_eq((uintptr_t)first % 64, 0);
        ck_assert_uint_ge(room, sizes[i]);
        memset(first, 0x5a, sizes[i]);
        api_memory_give(memory, first, room);
        const bool idle = api_memory_state(memory).idle > 0; /* not small ones */
        second = api_memory_take(memory, sizes[i], &again);
        if (idle)
            ck_assert_ptr_eq(first, second);
        ck_assert_uint_eq(room, again);
        api_memory_give(memory, second, again);
    }
    ck_assert_uint_le(api_memory_state(memory).idle, 64 << 20);
    api_memory_trim(memory, 1e300, 0);
    ck_assert_uint_eq(api_memory_state(memory).idle, 0);
    api_memory_free(memory);
}

TEST(test_what_is_kept_makes_way)
{
    struct api_memory *memory = api_memory_new(8 << 20);
    size_t room;
    unsigned char *bytes = api_memory_take(memory, 6 << 20, &room);

    api_memory_give(memory, bytes, room);
    ck_assert(api_memory_reserve(memory, 4 << 20));
    ck_assert_uint_le(api_memory_state(memory).idle, 4 << 20);
    api_memory_release(memory, 4 << 20);
    api_memory_free(memory);
}

TEST(test_an_arena_counts_what_it_takes)
{
    struct api_memory *memory = api_memory_new(4 << 20);
    struct api_arena *arena = api_arena_new(memory);
    unsigned char *a, *b;

    ck_assert(api_arena_reserve(arena, 3 << 20));
    a = api_arena_buffer(arena, 1 << 20);
    b = api_arena_buffer(arena, 2 << 20);
    ck_assert(a && b);
    ck_assert_uint_eq(api_memory_state(memory).held, 3 << 20);
    ck_assert_ptr_null(api_arena_buffer(arena, (1 << 20) + 1));
    ck_assert(api_arena_over_budget(arena));
    ck_assert_ptr_null(api_arena_take(arena, 2 << 20));
    api_arena_buffer_drop(arena, b);
    ck_assert_uint_eq(api_memory_state(memory).held, 3 << 20);
    api_arena_settle(arena);
    ck_assert_uint_eq(api_memory_state(memory).held, 1 << 20);
    ck_assert_ptr_nonnull(api_arena_take(arena, 2 << 20));
    ck_assert(!api_arena_count(arena, UINT64_MAX));
    uint64_t reserved;
    const size_t room = api_arena_buffer_leave(arena, a, &reserved);
    ck_assert_uint_eq(reserved, 1 << 20);
    ck_assert_uint_ge(api_memory_state(memory).held, 3 << 20);
    ck_assert_uint_lt(api_memory_state(memory).held, (3 << 20) + 256);
    api_arena_free(arena);
    ck_assert_uint_eq(api_memory_state(memory).held, reserved);
    api_memory_release(memory, reserved);
    memset(a, 1, 1 << 20);
    api_memory_give(memory, a, room);
    api_memory_free(memory);
}

/* Small pieces are counted, and granted while requests hold all of the budget. */
TEST(test_small_pieces)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_arena *arenas[400];
    size_t count = 0;

    ck_assert(api_memory_reserve(memory, 1 << 20));
    for (; count < COUNT_OF(arenas) && (arenas[count] = api_arena_new(memory)); count++) {
        uint64_t before = api_memory_state(memory).small, taken = 0;
        for (int i = 0; i < 100; i++, taken += 200)
            ck_assert(api_arena_take(arenas[count], 40) && api_arena_copy(arenas[count], "text") &&
                      api_arena_text(arenas[count], 155));
        ck_assert_uint_ge(api_memory_state(memory).small - before, taken);
        ck_assert_uint_lt(api_memory_state(memory).small - before, 2 * taken + 8192);
        ck_assert_uint_le(api_memory_state(memory).small, API_ARENA_SMALL * (count + 1));
    }
    ck_assert_uint_eq(count, COUNT_OF(arenas));
    ck_assert_uint_eq(api_memory_state(memory).held, 1 << 20);
    ck_assert_uint_eq(api_memory_state(memory).held_max,
                      (1 << 20) + api_memory_state(memory).small);
    /* Only the first ones of an arena. */
    for (int i = 0; api_arena_take(arenas[0], 1000); i++)
        ck_assert_int_lt(i, API_ARENA_SMALL / 1000);
    ck_assert(api_arena_failed(arenas[0]) && api_arena_refused(arenas[0]));
    while (count > 0)
        api_arena_free(arenas[--count]);
    ck_assert_uint_eq(api_memory_state(memory).small, 0);
    api_memory_release(memory, 1 << 20);
    api_memory_free(memory);
}

/* Connections and small pieces together are limited by the slack. */
TEST(test_the_slack)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    const uint64_t most = API_MEMORY_SLACK + (1 << 20);

    ck_assert(api_memory_claim(memory, most - 100));
    ck_assert(api_memory_claim_small(memory, 100));
    ck_assert(!api_memory_claim(memory, 1) && !api_memory_claim_small(memory, 1));
    ck_assert(!api_arena_new(memory));
    ck_assert(!api_memory_reserve(memory, 1));
    ck_assert_uint_eq(api_memory_state(memory).left, 0);
    api_memory_unclaim_small(memory, 100);
    ck_assert(api_memory_claim(memory, 100));
    api_memory_unclaim(memory, most);
    ck_assert(api_memory_reserve(memory, 1 << 20));
    api_memory_release(memory, 1 << 20);
    api_memory_free(memory);
}

/* ---- the cache ------------------------------------------------------------------------------ */

/* Far more than an entry's overhead. */
enum { UNIT = 1000 };

static const unsigned char secret[API_CACHE_SECRET_SIZE] = "no secret at all";

static int living;

static void *value_new(int number)
{
    int *value = malloc(sizeof(*value));

    *value = number;
    __atomic_add_fetch(&living, 1, __ATOMIC_RELAXED);
    return value;
}

static void value_release(void *value)
{
    __atomic_sub_fetch(&living, 1, __ATOMIC_RELAXED);
    free(value);
}

static struct api_cache_key key_of(const int *number)
{
    return (struct api_cache_key){number, sizeof(*number)};
}

static bool has(struct api_cache *cache, int number)
{
    struct api_cached *cached = api_cache_find(cache, key_of(&number));
    const bool right = cached && *(int *)cached->value == number;

    api_cache_drop(cache, cached);
    return right;
}

static void put(struct api_cache *cache, int number, uint64_t size)
{
    api_cache_drop(
        cache, api_cache_put(cache, key_of(&number), value_new(number), size, 0, value_release));
}

TEST(test_the_least_recently_used_goes_first)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_cache *cache = api_cache_new(memory, 105 * UNIT, secret);

    for (int i = 0; i < 10; i++)
        put(cache, i, 10 * UNIT);
    ck_assert(has(cache, 0));
    put(cache, 10, 10 * UNIT);
    ck_assert(has(cache, 0) && !has(cache, 1) && has(cache, 2) && has(cache, 10));
    put(cache, 11, 100 * UNIT);
    ck_assert(has(cache, 11) && !has(cache, 0) && !has(cache, 10));
    put(cache, 12, 105 * UNIT); /* too large to be cached */
    ck_assert(has(cache, 11) && !has(cache, 12));
    put(cache, 11, 100 * UNIT); /* there already: the first one stays */
    ck_assert_uint_eq(api_cache_state(cache).count, 1);
    ck_assert_uint_eq(api_memory_state(memory).held, api_cache_state(cache).size);
    ck_assert_uint_ge(api_cache_state(cache).size, 100 * UNIT + sizeof(int)); /* and the key */
    ck_assert_int_eq(living, 1);
    api_cache_free(cache);
    ck_assert_int_eq(living, 0);
    ck_assert_uint_eq(api_memory_state(memory).held, 0);
    api_memory_free(memory);
}

TEST(test_whoever_has_one_keeps_it)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_cache *cache = api_cache_new(memory, 20 * UNIT, secret);
    int number = 7;
    struct api_cached *mine =
        api_cache_put(cache, key_of(&number), value_new(number), 10 * UNIT, 0, value_release);
    const uint64_t held = api_memory_state(memory).held;

    ck_assert(api_cache_shed(cache));
    ck_assert(!api_cache_shed(cache));
    ck_assert_ptr_null(api_cache_find(cache, key_of(&number)));
    ck_assert_int_eq(*(int *)mine->value, 7);
    ck_assert_int_eq(living, 1);
    ck_assert_uint_ge(held, 10 * UNIT);
    ck_assert_uint_eq(api_memory_state(memory).held, held);
    api_cache_drop(cache, mine);
    ck_assert_int_eq(living, 0);
    ck_assert_uint_eq(api_memory_state(memory).held, 0);
    api_cache_free(cache);
    api_memory_free(memory);
}

static bool shed(void *cache)
{
    return api_cache_shed(cache);
}

/* Too large for the cache: only the caller's reservation stays. */
TEST(test_what_is_reserved_goes_with_the_value)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_cache *cache = api_cache_new(memory, 20 * UNIT, secret);
    int number = 7;

    for (int fits = 0; fits < 2; fits++) {
        const uint64_t size = fits ? 10 * UNIT : 30 * UNIT;
        ck_assert(api_memory_reserve(memory, size));
        struct api_cached *mine =
            api_cache_put(cache, key_of(&number), value_new(number), size, size, value_release);
        ck_assert_uint_eq(api_cache_state(cache).count, fits);
        ck_assert_uint_eq(api_memory_state(memory).held, fits ? api_cache_state(cache).size : size);
        api_cache_drop(cache, mine);
        ck_assert_uint_eq(api_memory_state(memory).held, api_cache_state(cache).size);
    }
    api_cache_free(cache);
    ck_assert_uint_eq(api_memory_state(memory).held, 0);
    api_memory_free(memory);
}

TEST(test_requests_come_before_what_is_kept)
{
    struct api_memory *memory = api_memory_new(1000 * UNIT);
    struct api_cache *cache = api_cache_new(memory, 520 * UNIT, secret);

    api_memory_on_shortage(memory, shed, cache);
    for (int i = 0; i < 5; i++)
        put(cache, i, 100 * UNIT);
    ck_assert(api_memory_reserve(memory, 790 * UNIT));
    ck_assert(has(cache, 4) && has(cache, 3) && !has(cache, 2));
    ck_assert(!api_memory_reserve(memory, 1001 * UNIT));
    ck_assert(has(cache, 4));
    api_memory_release(memory, 790 * UNIT);
    api_cache_free(cache);
    api_memory_free(memory);
}

static void *many(void *cache)
{
    unsigned state = 1;

    for (int i = 0; i < 20000; i++) {
        state = state * 1664525 + 1013904223;
        const int number = (int)(state >> 16) % 50;
        if (!has(cache, number))
            put(cache, number, 10 * UNIT);
        if (i % 100 == 0)
            api_cache_shed(cache);
    }
    return NULL;
}

TEST(test_threads)
{
    struct api_memory *memory = api_memory_new(1 << 20);
    struct api_cache *cache = api_cache_new(memory, 300 * UNIT, secret);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, many, cache);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("cache: %llu found, %llu made, by 4 threads\n",
           (unsigned long long)api_cache_state(cache).hits,
           (unsigned long long)api_cache_state(cache).misses);
    ck_assert_int_eq(living, (int)api_cache_state(cache).count);
    ck_assert_uint_eq(api_memory_state(memory).held, api_cache_state(cache).size);
    api_cache_free(cache);
    ck_assert_int_eq(living, 0);
    api_memory_free(memory);
}

/* ---- colliding keys -------------------------------------------------------------------------- */

/* 20 000 entries in 2^14 buckets are 1.2 each. With an unpredictable hash, a bucket with more than
 * 16 has a probability of 10^-9. */
enum { HOSTILE_KEYS = 20000, HOSTILE_SIZE = 15 * 9, CHAIN_MAX = 16, BUCKETS = 1 << 14 };

static struct api_cache *large_cache(struct api_memory **memory, const unsigned char *from)
{
    *memory = api_memory_new(UINT64_MAX);
    return api_cache_new(*memory, 1 << 30, from);
}

static void put_key(struct api_cache *cache, const void *bytes, size_t size)
{
    const struct api_cache_key key = {bytes, size};

    api_cache_drop(cache, api_cache_put(cache, key, value_new(0), 1, 0, value_release));
}

/* An earlier hash of the cache: a multiplication does not carry from high bits to low ones, so that
 * the two words below lead from a seed whose low byte is 0 to numbers with equal low 46 bits. The
 * ninth byte makes the low byte 0 again: all sequences of the two words collide. */
static uint32_t former_hash(const unsigned char *key, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(seed >> 32);
}

static void hostile_key(unsigned char *key, unsigned number)
{
    for (size_t i = 0; i < 15; i++)
        memcpy(key + 9 * i, number >> i & 1 ? "1UrFdXFf\xd8" : "SpJVoibc\xd8", 9);
}

TEST(test_keys_that_met_once_are_spread)
{
    struct api_memory *memory;
    struct api_cache *cache = large_cache(&memory, secret);
    unsigned char key[HOSTILE_SIZE];
    uint32_t met = 0;

    for (unsigned i = 0; i < HOSTILE_KEYS; i++) {
        hostile_key(key, i);
        for (uint64_t seed = 0; seed < 3; seed++) { /* seeds of one low byte */
            const uint32_t bucket =
                former_hash(key, sizeof(key), seed * 0x9e3779b97f4a7c00) % BUCKETS;
            ck_assert(i == 0 || seed != 0 || bucket == met);
            met = seed == 0 ? bucket : met;
        }
        put_key(cache, key, sizeof(key));
    }
    ck_assert_uint_eq(api_cache_state(cache).count, HOSTILE_KEYS);
    printf("cache: %d hostile keys, %zu in the fullest bucket\n", HOSTILE_KEYS,
           api_cache_longest_chain(cache));
    ck_assert_uint_ge(api_cache_longest_chain(cache), 2);
    ck_assert_uint_le(api_cache_longest_chain(cache), CHAIN_MAX);
    api_cache_free(cache);
    api_memory_free(memory);
}

/* Keys with one hash: each is found only by all of its bytes and its length. */
TEST(test_keys_of_one_hash)
{
    static const struct api_cache_key keys[] = {{"key", 3}, {"kex", 3},   {"xey", 3},
                                                {"ke", 2},  {"key\0", 4}, {"key!", 4}};
    struct api_memory *memory;
    struct api_cache *cache = large_cache(&memory, secret);
    const uint64_t hash = api_cache_hash(cache, keys[0]);

    put_key(cache, keys[0].bytes, keys[0].size);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct api_cached *cached = api_cache_find_hashed(cache, keys[i], hash);
        ck_assert_msg((cached != NULL) == (i == 0), "key %zu", i);
        api_cache_drop(cache, cached);
    }
    ck_assert_ptr_null(api_cache_find_hashed(cache, keys[0], hash ^ UINT64_C(1) << 63));
    api_cache_free(cache);
    api_memory_free(memory);
}

TEST(test_every_byte_of_the_secret_counts)
{
    enum { MET = 32 };
    uint64_t keys[MET], hash;
    size_t count = 0;

    for (uint64_t key = 0; count < MET; key++) {
        crypto_shorthash((unsigned char *)&hash, (unsigned char *)&key, sizeof(key), secret);
        if (hash % BUCKETS == 0)
            keys[count++] = key;
    }
    for (size_t changed = 0; changed <= API_CACHE_SECRET_SIZE; changed++) {
        unsigned char other[API_CACHE_SECRET_SIZE];
        struct api_memory *memory;
        memcpy(other, secret, sizeof(other));
        if (changed < API_CACHE_SECRET_SIZE)
            other[changed] ^= 1;
        struct api_cache *cache = large_cache(&memory, other);
        for (size_t i = 0; i < MET; i++)
            put_key(cache, &keys[i], sizeof(keys[i]));
        if (changed < API_CACHE_SECRET_SIZE)
            ck_assert_uint_le(api_cache_longest_chain(cache), 3);
        else
            ck_assert_uint_eq(api_cache_longest_chain(cache), MET);
        api_cache_free(cache);
        api_memory_free(memory);
    }
}

static char deferred[8];

static void note(void *letter)
{
    strcat(deferred, letter);
}

/* Pieces are aligned and zeroed, and deferred calls are made in reverse order. */
TEST(test_pieces_and_deferred_calls)
{
    struct api_arena *arena = api_arena_new(NULL);
    size_t taken = 0;

    for (size_t size = 0; size < 100000; size = size * 2 + 1, taken++) {
        unsigned char *memory = api_arena_take(arena, size);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % (size < 64 ? 16 : 64), 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_int_eq(memory[i], 0);
        memset(memory, 0xff, size);
    }
    ck_assert_ptr_null(api_arena_take(arena, SIZE_MAX));
    ck_assert_ptr_null(api_arena_take(arena, SIZE_MAX / 2 + 1));
    ck_assert_str_eq(api_arena_print(arena, "%d %s", 12, "x"), "12 x");
    api_arena_defer(arena, note, "a");
    api_arena_defer(arena, note, "b");
    api_arena_free(arena);
    ck_assert_str_eq(deferred, "ba");
    ck_assert_uint_gt(taken, 10);
}
