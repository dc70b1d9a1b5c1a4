/* SPDX-License-Identifier: MIT */
#include "core/base/threads.h"

#include <time.h>

enum { SECOND = 1000000000 };

uint64_t pe_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

#if defined(__wasi__)
/* One thread: waiting would never end. */

size_t pe_cpus(void)
{
    return 1;
}

bool pe_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *), void *argument)
{
    (void)thread, (void)stack, (void)run, (void)argument;
    return false;
}

void pe_thread_pin(pthread_t thread, size_t cpu)
{
    (void)thread, (void)cpu;
}

void pe_thread_join(pthread_t thread)
{
    (void)thread;
}

bool pe_condition_init(pthread_cond_t *condition)
{
    (void)condition;
    return true;
}

void pe_condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t nanoseconds)
{
    (void)condition, (void)mutex, (void)nanoseconds;
}

#else
#include <sched.h>
#include <signal.h>
#include <unistd.h>

/* False where the kernel supports more CPUs than fit in a cpu_set_t. */
static bool cpus_read(cpu_set_t *cpus)
{
    return sched_getaffinity(0, sizeof(*cpus), cpus) == 0;
}

size_t pe_cpus(void)
{
    cpu_set_t cpus;

    if (cpus_read(&cpus))
        return (size_t)CPU_COUNT(&cpus);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

bool pe_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, stack); /* fails only for invalid sizes */
    /* Signals are for the threads of the program, not of the library. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* A CPU taken away since the set was read leaves the thread unpinned: slower, not wrong. */
void pe_thread_pin(pthread_t thread, size_t cpu)
{
    cpu_set_t cpus, one;
    size_t at = 0;

    if (!cpus_read(&cpus))
        return;
    cpu %= (size_t)CPU_COUNT(&cpus);
    for (size_t seen = 0; !CPU_ISSET(at, &cpus) || seen++ < cpu;)
        at++;
    CPU_ZERO(&one);
    CPU_SET(at, &one);
    pthread_setaffinity_np(thread, sizeof(one), &one);
}

void pe_thread_join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

bool pe_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    bool fine;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    fine = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return fine;
}

void pe_condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t nanoseconds)
{
    const uint64_t until = pe_clock() + nanoseconds;
    const struct timespec time = {.tv_sec = (time_t)(until / SECOND),
                                  .tv_nsec = (long)(until % SECOND)};

    pthread_cond_timedwait(condition, mutex, &time);
}
#endif
