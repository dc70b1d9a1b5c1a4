/* SPDX-License-Identifier: MIT */

/* core/base/once.c: one thread makes a thing that many wait for. */

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "core/base/fail.h"
#include "core/base/once.h"
#include "tests/check_main.h"

struct thing {
    int calls, failures; /* failures: how many of the first calls fail */
    sem_t *begun, *end;  /* where they are: the making waits for the end, though not for ever */
};

static enum pe_status thing_make(void *what, struct pe_work *work, struct pe_error *err)
{
    struct thing *thing = what;
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

/* A making that failed is tried again, one that did not is the last. */
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

static void *maker_main(void *what)
{
    struct maker *maker = what;
    struct pe_error err = {0};

    maker->status = pe_once(&maker->once, thing_make, &maker->thing, NULL, &err);
    return NULL;
}

/* A thread that waits for another's making stops when its own work has ended; the making goes on.
 */
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
