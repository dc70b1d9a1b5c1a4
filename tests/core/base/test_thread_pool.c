/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/errors.h"
#include "core/base/once.h"
#include "posenc/posenc.h"
#include "tests/check_main.h"

static struct pe_pool *pool_new(size_t workers)
{
    struct pe_error err = {0};
    struct pe_pool *pool;

    ck_assert_msg(pe_pool_new(&pool, workers, true, &err) == PE_OK, "%s", err.detail);
    return pool;
}

/* A job that counts how often each of its blocks ran, and when it was done. */
enum { BLOCKS_MAX = 200 };

struct counted {
    struct pe_job job;
    atomic_uint runs[BLOCKS_MAX];
    atomic_uint total, done, after_done;
    unsigned pause_us;
    struct pe_pool *pool;
    atomic_uint *clock; /* ticks with every block of several jobs */
    unsigned done_at;
};

static void counted_run(struct pe_job *job, size_t block)
{
    struct counted *counted = (struct counted *)job;

    if (counted->pause_us)
        usleep(counted->pause_us);
    atomic_fetch_add(&counted->runs[block], 1);
    atomic_fetch_add(&counted->total, 1);
    atomic_fetch_add(&counted->after_done, atomic_load(&counted->done));
    if (counted->clock)
        atomic_fetch_add(counted->clock, 1);
}

static void counted_done(struct pe_job *job)
{
    struct counted *counted = (struct counted *)job;

    if (counted->clock)
        counted->done_at = atomic_load(counted->clock);
    atomic_fetch_add(&counted->done, 1);
}

static struct counted *counted_new(size_t blocks)
{
    struct counted *counted = calloc(1, sizeof(*counted));

    ck_assert(counted && blocks <= BLOCKS_MAX);
    counted->job = (struct pe_job){.run = counted_run, .done = counted_done, .blocks = blocks};
    return counted;
}

static void wait_done(struct counted *counted)
{
    for (int i = 0; i < 10000 && !atomic_load(&counted->done); i++)
        usleep(1000);
    ck_assert_uint_eq(counted->done, 1);
}

static void expect_complete(struct counted *counted)
{
    ck_assert_uint_eq(counted->done, 1);
    ck_assert_uint_eq(counted->after_done, 0);
    ck_assert_uint_eq(counted->total, counted->job.blocks);
    for (size_t block = 0; block < counted->job.blocks; block++)
        ck_assert_uint_eq(counted->runs[block], 1);
}

/* A job whose blocks wait until all of them run, or time out. */
struct met {
    struct pe_job job;
    atomic_uint here, alone;
    unsigned expected;
};

static void met_run(struct pe_job *job, size_t block)
{
    struct met *met = (struct met *)job;

    (void)block;
    atomic_fetch_add(&met->here, 1);
    for (int i = 0; i < 3000 && atomic_load(&met->here) < met->expected; i++)
        usleep(1000);
    if (atomic_load(&met->here) < met->expected)
        atomic_fetch_add(&met->alone, 1);
}

TEST(every_block_once)
{
    static const size_t workers[] = {1, 2, 3, 8};

    for (size_t w = 0; w < 4; w++)
        for (size_t blocks = 0; blocks <= BLOCKS_MAX; blocks = blocks * 2 + 1) {
            struct pe_pool *pool = pool_new(workers[w]);
            struct counted *submitted = counted_new(blocks), *run = counted_new(blocks);
            ck_assert_uint_eq(pe_pool_workers(pool), workers[w]);
            pe_pool_submit(pool, &submitted->job);
            pe_pool_run(pool, &run->job);
            expect_complete(run);
            pe_pool_free(pool); /* runs what is queued */
            expect_complete(submitted);
            free(submitted);
            free(run);
        }
}

TEST(caller_alone)
{
    struct counted *counted = counted_new(7);

    pe_pool_run(NULL, &counted->job);
    expect_complete(counted);
    free(counted);
}

TEST(empty_job)
{
    struct pe_pool *pool = pool_new(1);
    struct counted *counted = counted_new(0);

    pe_pool_submit(pool, &counted->job);
    ck_assert_uint_eq(counted->done, 1); /* by the submitter, before it returns */
    ck_assert_uint_eq(pe_pool_depth(pool), 0);
    pe_pool_cancel(pool, &counted->job);
    ck_assert_uint_eq(counted->done, 1);
    pe_pool_free(pool);
    free(counted);
}

/* One worker and a large job first: the small job behind it is done after a few blocks of both. */
TEST(small_does_not_wait_for_large)
{
    struct pe_pool *pool = pool_new(1);
    struct counted *large = counted_new(100), *small = counted_new(3);
    atomic_uint clock = 0;

    large->clock = small->clock = &clock;
    large->pause_us = 2000;
    pe_pool_submit(pool, &large->job);
    pe_pool_submit(pool, &small->job);
    ck_assert_uint_ge(pe_pool_depth(pool), 1);
    wait_done(small);
    wait_done(large);
    /* 3 of its own, 3 or 4 of the large one between, and what ran before it was queued */
    ck_assert_msg(small->done_at <= 30, "done after %u blocks of 103", small->done_at);
    ck_assert_uint_eq(large->done_at, 103);
    pe_pool_free(pool);
    free(large);
    free(small);
}

TEST(cancel)
{
    struct pe_pool *pool = pool_new(2);
    struct counted *slow = counted_new(BLOCKS_MAX), *behind = counted_new(BLOCKS_MAX);

    slow->pause_us = behind->pause_us = 2000;
    pe_pool_submit(pool, &slow->job);
    pe_pool_submit(pool, &behind->job);
    pe_pool_cancel(pool, &behind->job);
    pe_pool_cancel(pool, &behind->job); /* twice does nothing */
    wait_done(behind);
    pe_pool_cancel(pool, &slow->job);
    wait_done(slow);
    ck_assert_uint_lt(behind->total, BLOCKS_MAX);
    ck_assert_uint_lt(slow->total, BLOCKS_MAX);
    ck_assert_uint_eq(slow->after_done + behind->after_done, 0);
    pe_pool_cancel(pool, &slow->job); /* after its end neither */
    ck_assert_uint_eq(slow->done, 1);
    ck_assert_uint_eq(pe_pool_depth(pool), 0);
    pe_pool_free(pool);
    free(slow);
    free(behind);
}

/* Every block of every level runs a job of its own, with all workers inside one. */
static void nested_run(struct pe_job *job, size_t block)
{
    struct counted *counted = (struct counted *)job;

    if (counted->job.blocks > 2) {
        struct counted *inner = counted_new(counted->job.blocks - 1);
        inner->pool = counted->pool;
        inner->job.run = nested_run;
        pe_pool_run(counted->pool, &inner->job);
        expect_complete(inner);
        free(inner);
    }
    counted_run(job, block);
}

TEST(nested)
{
    for (size_t workers = 1; workers <= 4; workers++) {
        struct pe_pool *pool = pool_new(workers);
        struct counted *outer = counted_new(5), *queued = counted_new(5);
        outer->pool = queued->pool = pool;
        outer->job.run = queued->job.run = nested_run;
        pe_pool_submit(pool, &queued->job);
        pe_pool_run(pool, &outer->job);
        expect_complete(outer);
        pe_pool_free(pool);
        expect_complete(queued);
        free(outer);
        free(queued);
    }
}

static void free_when_done(struct pe_job *job)
{
    OWNED_MEMORY struct counted *counted = (struct counted *)job;

    atomic_fetch_add(counted->clock, 1000);
}

struct submitter {
    pthread_t thread;
    struct pe_pool *pool;
    atomic_uint *clock;
};

static void *submitter_main(void *arg)
{
    const struct submitter *submitter = arg;

    for (size_t i = 0; i < 100; i++) {
        struct counted *freed = counted_new(1 + i % 4), *run = counted_new(i % 5);
        freed->clock = submitter->clock;
        freed->job.done = free_when_done;
        pe_pool_submit(submitter->pool, &freed->job);
        pe_pool_run(submitter->pool, &run->job);
        expect_complete(run);
        free(run);
    }
    return NULL;
}

TEST(many_submitters_and_jobs_freed_in_done)
{
    struct pe_pool *pool = pool_new(3);
    struct submitter submitters[4];
    atomic_uint clock = 0;

    for (int i = 0; i < 4; i++) {
        submitters[i] = (struct submitter){.pool = pool, .clock = &clock};
        ck_assert(!pthread_create(&submitters[i].thread, NULL, submitter_main, &submitters[i]));
    }
    for (int i = 0; i < 4; i++)
        pthread_join(submitters[i].thread, NULL);
    pe_pool_free(pool);
    ck_assert_uint_eq(clock, 400 * 1000 + 4 * 25 * (1 + 2 + 3 + 4));
}

/* ---- placement ------------------------------------------------------------------------------- */

struct placed {
    struct pe_job job;
    pthread_barrier_t barrier; /* holds every worker in a block until each has one */
    cpu_set_t sets[64];
};

static void placed_run(struct pe_job *job, size_t block)
{
    struct placed *placed = (struct placed *)job;

    sched_getaffinity(0, sizeof(cpu_set_t), &placed->sets[block]);
    pthread_barrier_wait(&placed->barrier);
}

TEST(one_worker_a_cpu)
{
    struct pe_pool *pool = pool_new(0);
    struct placed placed = {.job.run = placed_run};
    cpu_set_t mine, seen;
    const size_t workers = pe_pool_workers(pool);

    sched_getaffinity(0, sizeof(mine), &mine);
    ck_assert_uint_eq(workers, (size_t)CPU_COUNT(&mine));
    if (workers <= 64) {
        CPU_ZERO(&seen);
        pthread_barrier_init(&placed.barrier, NULL, (unsigned)workers);
        placed.job.blocks = workers;
        pe_pool_submit(pool, &placed.job);
        while (pe_pool_depth(pool) > 0)
            usleep(1000);
        for (size_t i = 0; i < workers; i++) {
            ck_assert_int_eq(CPU_COUNT(&placed.sets[i]), 1);
            CPU_OR(&seen, &seen, &placed.sets[i]);
        }
        ck_assert(CPU_EQUAL(&seen, &mine));
        printf("%zu workers, each on a CPU of its own\n", workers);
    }
    pe_pool_free(pool);
    pthread_barrier_destroy(&placed.barrier);
}

/* Blocks that wait for each other, on sleeping workers: a job of several blocks wakes all of them,
 * and a block more than workers runs when one is free. */
TEST(wakes_as_many_as_it_needs)
{
    enum { WORKERS = 4, ROUNDS = 20 };
    struct pe_pool *pool = pool_new(WORKERS);

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct met met = {.job.run = met_run, .job.blocks = 2 + round % (WORKERS - 1)};
        met.expected = (unsigned)met.job.blocks;
        usleep(2000);
        pe_pool_submit(pool, &met.job);
        for (int i = 0; i < 10000 && pe_pool_depth(pool) > 0; i++)
            usleep(1000);
        ck_assert_uint_eq(pe_pool_depth(pool), 0);
        ck_assert_msg(atomic_load(&met.alone) == 0, "round %u: %u of %u blocks ran", round,
                      atomic_load(&met.here), met.expected);
    }
    pe_pool_free(pool);
}

struct waiting {
    struct pe_job job;
    atomic_uint *until;
};

static void waiting_run(struct pe_job *job, size_t block)
{
    const struct waiting *waiting = (struct waiting *)job;

    (void)block;
    for (int i = 0; i < 10000 && !atomic_load(waiting->until); i++)
        usleep(1000);
}

/* The blocks of all workers last until the brief job is done, and as many more such jobs are queued
 * before it. */
TEST(brief_jobs_do_not_wait_for_long_blocks)
{
    enum { WORKERS = 2, JOBS = 2 * WORKERS };
    struct pe_pool *pool = pool_new(WORKERS);
    struct counted *brief = counted_new(3);
    struct waiting waiting[JOBS];

    brief->job.brief = true;
    for (size_t i = 0; i < JOBS; i++) {
        waiting[i] = (struct waiting){{.run = waiting_run, .blocks = 1}, &brief->done};
        pe_pool_submit(pool, &waiting[i].job);
    }
    pe_pool_submit(pool, &brief->job);
    wait_done(brief);
    ck_assert_uint_eq(brief->total, 3);
    pe_pool_free(pool);
    free(brief);
}

/* The same where a long block begins while the brief job waits already: a first brief job holds the
 * only worker until both are queued. */
TEST(long_blocks_begin_while_a_brief_job_waits)
{
    struct pe_pool *pool = pool_new(1);
    struct counted *brief = counted_new(1);
    atomic_uint queued = 0;
    struct waiting gate = {{.run = waiting_run, .blocks = 1, .brief = true}, &queued};
    struct waiting waiting = {{.run = waiting_run, .blocks = 1}, &brief->done};

    brief->job.brief = true;
    pe_pool_submit(pool, &gate.job);
    usleep(1000);
    pe_pool_submit(pool, &waiting.job);
    pe_pool_submit(pool, &brief->job);
    atomic_store(&queued, 1);
    for (int i = 0; i < 2000 && !atomic_load(&brief->done); i++)
        usleep(1000);
    ck_assert_uint_eq(brief->total, 1);
    pe_pool_free(pool);
    free(brief);
}

/* One worker runs jobs of one block in the order in which they were submitted. */
TEST(jobs_run_in_their_order)
{
    enum { JOBS = 6 };
    struct pe_pool *pool = pool_new(1);
    struct counted *jobs[JOBS];
    atomic_uint queued = 0, clock = 0;
    struct waiting gate = {{.run = waiting_run, .blocks = 1}, &queued};

    pe_pool_submit(pool, &gate.job);
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = counted_new(1);
        jobs[i]->clock = &clock;
        pe_pool_submit(pool, &jobs[i]->job);
    }
    atomic_store(&queued, 1);
    pe_pool_free(pool); /* runs what is queued */
    for (unsigned i = 0; i < JOBS; i++) {
        ck_assert_uint_eq(jobs[i]->done, 1);
        ck_assert_msg(jobs[i]->done_at == i + 1, "job %u was run as number %u", i,
                      jobs[i]->done_at);
        free(jobs[i]);
    }
}

TEST(too_many)
{
    struct pe_error err = {0};
    struct pe_pool *pool;

    ck_assert_int_eq(pe_pool_new(&pool, 100000, false, &err), PE_OUT_OF_RANGE);
    ck_assert_ptr_null(pool);
    ck_assert_str_eq(err.where, "parameter:threads");
    ck_assert_ptr_nonnull(strstr(err.detail, "100000"));
    pe_pool_free(NULL);
}

/* ---- once: an object that one thread makes and others wait for ------------------------------ */

struct thing {
    int calls, failures; /* failures: how many of the first calls fail */
    sem_t *begun, *end;  /* if set, thing_make waits for the end, with a timeout */
};

static enum pe_status thing_make(void *object, struct pe_work *work, struct pe_error *err)
{
    struct thing *thing = object;
    struct timespec until;

    (void)work;
    if (thing->begun) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 5;
        sem_post(thing->begun);
        sem_timedwait(thing->end, &until);
    }
    return ++thing->calls > thing->failures ? PE_OK : pe_no_memory(err, "a thing");
}

/* Failed attempts are repeated; the first success is the last call. */
TEST(failures_are_tried_again)
{
    struct thing thing = {.failures = 2};
    struct pe_once once;

    pe_once_init(&once);
    for (int i = 0; i < 6; i++) {
        struct pe_error err = {0};
        ck_assert_int_eq(pe_once(&once, thing_make, &thing, NULL, &err),
                         i < 2 ? PE_OUT_OF_MEMORY : PE_OK);
    }
    ck_assert_int_eq(thing.calls, 3);
    pe_once_destroy(&once);
}

struct maker {
    struct pe_once once;
    struct thing thing;
    enum pe_status status;
};

static void *maker_main(void *argument)
{
    struct maker *maker = argument;
    struct pe_error err = {0};

    maker->status = pe_once(&maker->once, thing_make, &maker->thing, NULL, &err);
    return NULL;
}

/* A waiting thread stops when its own work has ended; the other thread goes on. */
TEST(a_wait_ends_with_its_work)
{
    sem_t begun, end;
    struct maker maker = {.thing = {.begun = &begun, .end = &end}};
    struct pe_error err = {0};
    struct pe_work *work;
    pthread_t thread;

    sem_init(&begun, 0, 0);
    sem_init(&end, 0, 0);
    pe_once_init(&maker.once);
    ck_assert_int_eq(pe_work_new(&work, NULL, &err), PE_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, maker_main, &maker), 0);
    sem_wait(&begun);
    pe_work_cancel(work);
    ck_assert_int_eq(pe_once(&maker.once, thing_make, &maker.thing, work, &err), PE_CANCELLED);
    sem_post(&end);
    pthread_join(thread, NULL);
    ck_assert_int_eq(maker.status, PE_OK);
    ck_assert_int_eq(maker.thing.calls, 1);
    pe_work_free(work);
    pe_once_destroy(&maker.once);
    sem_destroy(&begun);
    sem_destroy(&end);
}
