/* SPDX-License-Identifier: MIT */
#ifndef PORTS_WASM_PTHREAD_H
#define PORTS_WASM_PTHREAD_H

/* Locks of a module with one thread, which takes each of them at once: wasi-libc has their types
 * and no functions. What starts threads and waits for them is core/base/threads.c. */

#define __NEED_pthread_t
#define __NEED_pthread_once_t
#define __NEED_pthread_attr_t
#define __NEED_pthread_mutex_t
#define __NEED_pthread_cond_t
#include <bits/alltypes.h>

#define PTHREAD_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        {                                                                                          \
            {                                                                                      \
                0                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define PTHREAD_ONCE_INIT 0

#define PORTS_NOTHING(name, type)                                                                  \
    static inline int name(type *thing)                                                            \
    {                                                                                              \
        (void)thing;                                                                               \
        return 0;                                                                                  \
    }

PORTS_NOTHING(pthread_mutex_lock, pthread_mutex_t)
PORTS_NOTHING(pthread_mutex_trylock, pthread_mutex_t)
PORTS_NOTHING(pthread_mutex_unlock, pthread_mutex_t)
PORTS_NOTHING(pthread_mutex_destroy, pthread_mutex_t)
PORTS_NOTHING(pthread_cond_signal, pthread_cond_t)
PORTS_NOTHING(pthread_cond_broadcast, pthread_cond_t)
PORTS_NOTHING(pthread_cond_destroy, pthread_cond_t)

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
{
    (void)mutex, (void)attributes;
    return 0;
}

static inline int pthread_cond_init(pthread_cond_t *condition, const void *attributes)
{
    (void)condition, (void)attributes;
    return 0;
}

/* Nobody would ever end the wait: the core waits with a bound alone where there are no threads. */
static inline int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    (void)condition, (void)mutex;
    __builtin_trap();
}

static inline int pthread_once(pthread_once_t *once, void (*run)(void))
{
    if (!*once) {
        *once = 1;
        run();
    }
    return 0;
}

#endif
