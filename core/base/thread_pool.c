/* SPDX-License-Identifier: MIT */
#include "core/base/errors.h"
#include "core/base/threads.h"
#include "posenc/pool.h"
#include "posenc/work.h"

#include <stdlib.h>

/* Guards against typing errors: no machine has as many CPUs. */
enum { WORKERS_MAX = 4096 };

/* Bytes of a worker's stack, independent of `ulimit -s`. Recorded requests need at most 40 KiB;
 * sanitizers widen frames. */
enum { STACK_SIZE = 1 << 20 };

struct pe_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;    /* a job was queued, or the pool is stopping */
    pthread_cond_t brief;   /* a brief job waits and no worker is free, or the pool is stopping */
    pthread_cond_t ended;   /* an awaited job has ended */
    struct pe_job *current; /* the next job in the ring of jobs with blocks to hand out */
    size_t brief_count;     /* in the ring */
    size_t long_count;      /* workers at a block that is not brief */
    size_t depth;
    bool stopping;
    size_t workers, threads_count;
    pthread_t threads[]; /* the workers, and the one for brief jobs */
};

/* ---- the ring; all with the lock held ------------------------------------------------------- */

/* At the end of the ring: just before the current job. */
static void ring_insert(struct pe_pool *pool, struct pe_job *job)
{
    pool->brief_count += job->brief;
    if (!pool->current) {
        job->next = job->previous = job;
        pool->current = job;
        return;
    }
    job->next = pool->current;
    job->previous = pool->current->previous;
    job->previous->next = job;
    job->next->previous = job;
}

static void ring_remove(struct pe_pool *pool, struct pe_job *job)
{
    pool->brief_count -= job->brief;
    if (pool->current == job)
        pool->current = job->next != job ? job->next : NULL;
    job->previous->next = job->next;
    job->next->previous = job->previous;
    job->next = job->previous = NULL;
}

static size_t block_take(struct pe_pool *pool, struct pe_job *job)
{
    const size_t block = job->next_block++;

    if (job->next_block == job->blocks)
        ring_remove(pool, job);
    return block;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Called without the lock. `done` may free a job that is not awaited, so that it is not touched
 * afterwards. */
static void job_end(struct pe_pool *pool, struct pe_job *job)
{
    const bool awaited = job->awaited;

    pthread_mutex_lock(&pool->lock);
    pool->depth--;
    pthread_mutex_unlock(&pool->lock);
    if (job->done)
        job->done(job);
    if (!awaited)
        return;
    pthread_mutex_lock(&pool->lock);
    job->ended = true;
    pthread_cond_broadcast(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
}

/* Called with the lock held, and returns with it held. */
static void block_run(struct pe_pool *pool, struct pe_job *job)
{
    const size_t block = block_take(pool, job);
    bool ended;

    pthread_mutex_unlock(&pool->lock);
    ended = pe_work_ended(job->work);
    if (!ended)
        job->run(job, block);
    pthread_mutex_lock(&pool->lock);
    job->cancelled = job->cancelled || ended;
    if (--job->blocks_left > 0)
        return;
    pthread_mutex_unlock(&pool->lock);
    job_end(pool, job);
    pthread_mutex_lock(&pool->lock);
}

/* With the lock held: does a brief job wait while every worker runs a long block? */
static bool brief_is_stuck(const struct pe_pool *pool)
{
    return pool->brief_count > 0 && pool->long_count == pool->workers;
}

/* Called with the lock held, and returns with it held. */
static void current_run(struct pe_pool *pool)
{
    struct pe_job *job = pool->current;
    const bool is_long = !job->brief; /* the job may be freed meanwhile */

    pool->current = job->next;
    pool->long_count += is_long;
    if (brief_is_stuck(pool))
        pthread_cond_signal(&pool->brief);
    block_run(pool, job);
    pool->long_count -= is_long;
}

static void *worker_main(void *arg)
{
    struct pe_pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        if (pool->current) {
            current_run(pool);
        } else if (pool->stopping) {
            break;
        } else {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Ends when the pool stops; workers run the jobs that are queued then. */
static void *brief_main(void *arg)
{
    struct pe_pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        struct pe_job *job = pool->current;
        if (!brief_is_stuck(pool)) {
            pthread_cond_wait(&pool->brief, &pool->lock);
            continue;
        }
        while (!job->brief)
            job = job->next;
        block_run(pool, job);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void job_queue(struct pe_pool *pool, struct pe_job *job, bool awaited)
{
    job->next_block = 0;
    job->blocks_left = job->blocks;
    job->cancelled = job->ended = false;
    job->awaited = awaited;

    pthread_mutex_lock(&pool->lock);
    pool->depth++;
    if (job->blocks > 0)
        ring_insert(pool, job);
    if (job->blocks > 1)
        pthread_cond_broadcast(&pool->work);
    else if (job->blocks == 1 && !awaited)
        pthread_cond_signal(&pool->work);
    if (brief_is_stuck(pool))
        pthread_cond_signal(&pool->brief);
    pthread_mutex_unlock(&pool->lock);
}

void pe_pool_submit(struct pe_pool *pool, struct pe_job *job)
{
    const bool empty = job->blocks == 0;

    job_queue(pool, job, false);
    if (empty)
        job_end(pool, job);
}

void pe_pool_cancel(struct pe_pool *pool, struct pe_job *job)
{
    pthread_mutex_lock(&pool->lock);
    /* A job outside the ring has no neighbours: it was never submitted, or has no more blocks. */
    const size_t withheld = job->previous ? job->blocks - job->next_block : 0;
    if (withheld > 0) {
        ring_remove(pool, job);
        job->next_block = job->blocks;
        job->blocks_left -= withheld;
        job->cancelled = true;
    }
    const bool over = withheld > 0 && job->blocks_left == 0;
    pthread_mutex_unlock(&pool->lock);
    if (over)
        job_end(pool, job);
}

/* Nested calls cannot deadlock: the caller runs every block that is not taken yet, and the others
 * are run by threads that do not wait for this one. */
bool pe_pool_run(struct pe_pool *pool, struct pe_job *job)
{
    if (!pool) {
        job->cancelled = false;
        for (size_t block = 0; block < job->blocks && !job->cancelled; block++) {
            job->cancelled = pe_work_ended(job->work);
            if (!job->cancelled)
                job->run(job, block);
        }
        if (job->done)
            job->done(job);
        return !job->cancelled;
    }
    const bool empty = job->blocks == 0;
    job_queue(pool, job, true);
    if (empty)
        job_end(pool, job);

    pthread_mutex_lock(&pool->lock);
    while (job->next_block < job->blocks)
        block_run(pool, job);
    while (!job->ended)
        pthread_cond_wait(&pool->ended, &pool->lock);
    const bool complete = !job->cancelled;
    pthread_mutex_unlock(&pool->lock);
    return complete;
}

/* ---- life ----------------------------------------------------------------------------------- */

static bool threads_start(struct pe_pool *pool, size_t workers, bool pin)
{
    while (pool->threads_count <= workers) {
        const bool is_worker = pool->threads_count < workers;
        pthread_t *thread = &pool->threads[pool->threads_count];
        if (!pe_thread_start(thread, STACK_SIZE, is_worker ? worker_main : brief_main, pool))
            return false;
        if (pin && is_worker)
            pe_thread_pin(*thread, pool->threads_count);
        pool->threads_count++;
    }
    return true;
}

static bool locks_init(struct pe_pool *pool)
{
    if (pthread_mutex_init(&pool->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&pool->work, NULL) == 0) {
        if (pthread_cond_init(&pool->ended, NULL) == 0) {
            if (pthread_cond_init(&pool->brief, NULL) == 0)
                return true;
            pthread_cond_destroy(&pool->ended);
        }
        pthread_cond_destroy(&pool->work);
    }
    pthread_mutex_destroy(&pool->lock);
    return false;
}

enum pe_status pe_pool_new(struct pe_pool **out, size_t workers, bool pin, struct pe_error *err)
{
    *out = NULL;
    if (workers > WORKERS_MAX)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:threads",
                       "threads must be at most %d, got %zu", WORKERS_MAX, workers);
    if (workers == 0)
        workers = pe_cpus();

    struct pe_pool *pool = calloc(1, sizeof(*pool) + (workers + 1) * sizeof(pool->threads[0]));
    if (!pool)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a pool of %zu threads", workers);
    pool->workers = workers;
    if (!locks_init(pool)) {
        free(pool);
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no locks for a pool of %zu threads", workers);
    }
    if (!threads_start(pool, workers, pin)) {
        const size_t started = pool->threads_count;
        pe_pool_free(pool);
        return pe_fail(err, PE_OUT_OF_MEMORY, "parameter:threads",
                       "only %zu of %zu threads could be started; ask for fewer", started,
                       workers + 1);
    }
    *out = pool;
    return PE_OK;
}

void pe_pool_free(struct pe_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->brief);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->threads_count; i++)
        pe_thread_join(pool->threads[i]);
    pthread_cond_destroy(&pool->brief);
    pthread_cond_destroy(&pool->ended);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

size_t pe_pool_workers(const struct pe_pool *pool)
{
    return pool->workers;
}

size_t pe_pool_depth(struct pe_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const size_t depth = pool->depth;
    pthread_mutex_unlock(&pool->lock);
    return depth;
}
