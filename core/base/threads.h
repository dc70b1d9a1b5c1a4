/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_THREADS_H
#define CORE_BASE_THREADS_H

/* Threads, CPUs and the clock, in which systems differ: a port of the core changes
 * threads.c alone. Locks are POSIX's everywhere; where there are no threads, ports/ brings a
 * <pthread.h> in which they do nothing. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many CPUs this process may run on; at least one. */
size_t pe_cpus(void);

/* Starts a thread with a stack of `stack` bytes, which no signal of the program is delivered to.
 * False: the system gives no more threads, or has none. */
bool pe_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *), void *argument);

/* Keeps a thread on one of the CPUs that this process may run on, counted from zero and around.
 * A hint: a system that cannot leaves the thread where it is. */
void pe_thread_pin(pthread_t thread, size_t cpu);
void pe_thread_join(pthread_t thread);

/* Nanoseconds of a clock that never steps back: CLOCK_MONOTONIC. */
uint64_t pe_clock(void);

/* Makes a condition whose waits pe_condition_wait_for bounds by that clock. False: no room. */
bool pe_condition_init(pthread_cond_t *condition);
void pe_condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t nanoseconds);

#endif
