/* SPDX-License-Identifier: MIT */
#include "core/base/once.h"

#include <time.h>

#include "core/base/fail.h"

/* How long a waiting thread sleeps before it asks whether its own work has ended. */
enum { PATIENCE = 5 * 1000 * 1000 };

bool pe_once_init(struct pe_once *once)
{
    pthread_condattr_t attributes;
    bool fine;

    atomic_init(&once->made, false);
    once->making = false;
    once->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    fine = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&once->ended, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return fine;
}

void pe_once_destroy(struct pe_once *once)
{
    pthread_cond_destroy(&once->ended);
    pthread_mutex_destroy(&once->mutex);
}

static void wait_a_little(struct pe_once *once)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&once->ended, &once->mutex, &until);
}

enum pe_status pe_once(struct pe_once *once, pe_once_make *make, void *thing, struct pe_work *work,
                       struct pe_error *err)
{
    enum pe_status status = PE_OK;

    if (atomic_load_explicit(&once->made, memory_order_acquire))
        return PE_OK;
    pthread_mutex_lock(&once->mutex);
    while (once->making && !(status = pe_work_check(work, err)))
        wait_a_little(once);
    if (status || atomic_load_explicit(&once->made, memory_order_relaxed)) {
        pthread_mutex_unlock(&once->mutex);
        return status;
    }
    once->making = true;
    pthread_mutex_unlock(&once->mutex);

    status = make(thing, work, err);

    pthread_mutex_lock(&once->mutex);
    once->making = false;
    atomic_store_explicit(&once->made, status == PE_OK, memory_order_release);
    pthread_cond_broadcast(&once->ended);
    pthread_mutex_unlock(&once->mutex);
    return status;
}
