/* SPDX-License-Identifier: MIT */
#include "core/base/once.h"

#include "core/base/errors.h"
#include "core/base/threads.h"

/* Nanoseconds between checks of the work of a waiting thread. */
enum { CHECK_INTERVAL = 5 * 1000 * 1000 };

bool pe_once_init(struct pe_once *once)
{
    atomic_init(&once->made, false);
    once->making = false;
    once->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    return pe_condition_init(&once->ended);
}

void pe_once_destroy(struct pe_once *once)
{
    pthread_cond_destroy(&once->ended);
    pthread_mutex_destroy(&once->mutex);
}

enum pe_status pe_once(struct pe_once *once, pe_once_make *make, void *object, struct pe_work *work,
                       struct pe_error *err)
{
    enum pe_status status = PE_OK;

    if (atomic_load_explicit(&once->made, memory_order_acquire))
        return PE_OK;
    pthread_mutex_lock(&once->mutex);
    while (once->making && !(status = pe_work_check(work, err)))
        pe_condition_wait_for(&once->ended, &once->mutex, CHECK_INTERVAL);
    if (status || atomic_load_explicit(&once->made, memory_order_relaxed)) {
        pthread_mutex_unlock(&once->mutex);
        return status;
    }
    once->making = true;
    pthread_mutex_unlock(&once->mutex);

    status = make(object, work, err);

    pthread_mutex_lock(&once->mutex);
    once->making = false;
    atomic_store_explicit(&once->made, status == PE_OK, memory_order_release);
    pthread_cond_broadcast(&once->ended);
    pthread_mutex_unlock(&once->mutex);
    return status;
}
