/* SPDX-License-Identifier: MIT */
/* Bytes that memory lets through, by the widest vectors that this machine is compiled for. */
#include <stdlib.h>

#include "bench/workers/library.h"

enum { LANES = 16, BLOCKS = 64 };

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));

struct memory {
    struct pe_job job;
    struct pe_pool *pool;
    vector *vectors;
    size_t count;
    float value;
};

/* Another value at each turn, so that no store can be left out. */
static void store_run(void *state)
{
    struct memory *memory = state;
    const float value = memory->value += 1;

    for (size_t i = 0; i < memory->count; i++)
        memory->vectors[i] = (vector){0} + value;
    __asm__ volatile("" ::"r"(memory->vectors) : "memory");
}

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static void past(vector *to, float value)
{
#if defined(__AVX512F__)
    _mm512_stream_ps((float *)to, _mm512_set1_ps(value));
#elif defined(__x86_64__)
    for (size_t i = 0; i < LANES; i += 4)
        _mm_stream_ps((float *)to + i, _mm_set1_ps(value));
#else
    *to = (vector){0} + value;
#endif
}

static void past_run(void *state)
{
    struct memory *memory = state;
    const float value = memory->value += 1;

    for (size_t i = 0; i < memory->count; i++)
        past(memory->vectors + i, value);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __asm__ volatile("" ::"r"(memory->vectors) : "memory");
}

static void stream_block(struct pe_job *job, size_t block)
{
    struct memory *memory = (struct memory *)job;
    const float minus = memory->value; /* -1: values stay as large as they were */
    const size_t last = memory->count * (block + 1) / job->blocks;

    for (size_t i = memory->count * block / job->blocks; i < last; i++)
        memory->vectors[i] *= minus;
    __asm__ volatile("" ::"r"(memory->vectors) : "memory");
}

static void stream_run(void *state)
{
    struct memory *memory = state;

    memory->job = (struct pe_job){.run = stream_block, .blocks = memory->pool ? BLOCKS : 1};
    pe_pool_run(memory->pool, &memory->job);
}

static void end(void *state)
{
    struct memory *memory = state;

    pe_pool_free(memory->pool);
    free(memory->vectors);
    free(memory);
}

static bool memory_open(struct subject *subject, char *const words[WORDS_MAX],
                        void (*run)(void *state))
{
    const size_t size = strtoul(words[1], NULL, 10), threads = strtoul(words[2], NULL, 10);
    struct memory *memory = calloc(1, sizeof(*memory));

    if (!memory || size < sizeof(vector))
        return false;
    memory->vectors = worker_memory(size);
    memory->count = size / sizeof(vector);
    memory->pool = library_pool(threads);
    memory->value = -1;
    *subject = (struct subject){memory, run, end, threads > 1};
    return true;
}

bool store_open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    return count == 2 && memory_open(subject, words, store_run);
}

bool past_open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    return count == 2 && memory_open(subject, words, past_run);
}

bool stream_open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    return count == 3 && memory_open(subject, words, stream_run);
}
