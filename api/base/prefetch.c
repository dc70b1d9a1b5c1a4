/* SPDX-License-Identifier: MIT */
#include "api/base/prefetch.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/base/system.h"

enum { PIECE = API_HUGE_PAGE, WINDOW = 4 * PIECE };

/* Freed by api_prefetch_end or at the end of the job, whichever comes later. */
struct api_prefetch {
    struct pe_job job; /* first: the job's address is that of this struct */
    struct pe_pool *pool;
    unsigned char *buffer;
    size_t size;
    size_t known; /* the last value of `ready`, read without the lock */
    pthread_mutex_t lock;
    size_t ready, requested; /* bytes from the start: in memory, and when the job is done */
    bool working, ended;
    void (*wake)(void *context); /* NULL: no caller waits */
    void *context;
};

static void prefetch_free(struct api_prefetch *prefetch)
{
    pthread_mutex_destroy(&prefetch->lock);
    free(prefetch);
}

void api_prefetch_end(void *handle)
{
    struct api_prefetch *prefetch = handle;
    bool working;

    pthread_mutex_lock(&prefetch->lock);
    prefetch->ended = true;
    working = prefetch->working;
    pthread_mutex_unlock(&prefetch->lock);
    if (!working)
        prefetch_free(prefetch);
}

struct api_prefetch *api_prefetch_new(struct pe_pool *pool, unsigned char *buffer, size_t size)
{
    struct api_prefetch *prefetch = calloc(1, sizeof(*prefetch));

    if (!prefetch)
        return NULL;
    prefetch->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    prefetch->pool = pool;
    prefetch->buffer = buffer;
    prefetch->size = size;
    return prefetch;
}

/* The buffer may be freed and reused at any moment, so its bytes must not change. */
static void piece_run(struct pe_job *job, size_t block)
{
    struct api_prefetch *prefetch = (struct api_prefetch *)job;
    const size_t begin = prefetch->ready + block * PIECE;
    bool ended;

    pthread_mutex_lock(&prefetch->lock);
    ended = prefetch->ended;
    pthread_mutex_unlock(&prefetch->lock);
    if (!ended)
        api_pages_populate(prefetch->buffer + begin,
                           prefetch->size - begin < PIECE ? prefetch->size - begin : PIECE);
}

static void pieces_done(struct pe_job *job)
{
    struct api_prefetch *prefetch = (struct api_prefetch *)job;
    void (*wake)(void *context);
    void *context;
    bool ended;

    pthread_mutex_lock(&prefetch->lock);
    prefetch->working = false;
    prefetch->ready = prefetch->requested;
    wake = prefetch->wake;
    context = prefetch->context;
    prefetch->wake = NULL;
    ended = prefetch->ended;
    pthread_mutex_unlock(&prefetch->lock);
    if (ended)
        prefetch_free(prefetch);
    else if (wake)
        wake(context);
}

/* Prepares the next job if one is due. Called with the lock held; true: submit the job. */
static bool more_begin(struct api_prefetch *prefetch, size_t end)
{
    if (prefetch->working)
        return false;
    while (prefetch->ready < prefetch->size && prefetch->ready < end + WINDOW &&
           api_pages_are_there(prefetch->buffer + prefetch->ready))
        prefetch->ready += PIECE;
    if (prefetch->ready >= prefetch->size || prefetch->ready >= end + WINDOW)
        return false;
    prefetch->requested = prefetch->ready + WINDOW;
    if (prefetch->requested > prefetch->size)
        prefetch->requested = prefetch->size;
    prefetch->job =
        (struct pe_job){.run = piece_run,
                        .done = pieces_done,
                        .blocks = (prefetch->requested - prefetch->ready + PIECE - 1) / PIECE,
                        .brief = true};
    return prefetch->working = true;
}

bool api_prefetch_waits(struct api_prefetch *prefetch, size_t end, void (*wake)(void *context),
                        void *context)
{
    bool waits, begins;

    if (end > prefetch->size)
        end = prefetch->size;
    if (prefetch->known >= prefetch->size || end + WINDOW / 2 <= prefetch->known)
        return false;
    pthread_mutex_lock(&prefetch->lock);
    begins = more_begin(prefetch, end);
    prefetch->known = prefetch->ready;
    waits = end > prefetch->ready;
    if (waits) {
        prefetch->wake = wake;
        prefetch->context = context;
    }
    pthread_mutex_unlock(&prefetch->lock);
    if (begins)
        pe_pool_submit(prefetch->pool, &prefetch->job);
    return waits;
}
