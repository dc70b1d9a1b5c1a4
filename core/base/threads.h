/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_THREADS_H
#define CORE_BASE_THREADS_H

/* Threads, CPUs and the clock, which differ between systems: a port of the core changes only
 * threads.c. Locks are POSIX locks; for systems without threads ports/ has a <pthread.h> whose
 * locks do nothing. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many CPUs this process may run on; at least one. */
size_t pe_cpus(void);

/* Starts a thread with a stack of `stack` bytes and all signals blocked. False: the system has no
 * more threads, or none. */
bool pe_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *), void *argument);

/* Pins a thread to one of the CPUs of this process, by its index modulo their number. A hint:
 * ignored where the system cannot. */
void pe_thread_pin(pthread_t thread, size_t cpu);
void pe_thread_join(pthread_t thread);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t pe_clock(void);

/* Initializes a condition for pe_condition_wait_for, by that clock. False: no resources. */
bool pe_condition_init(pthread_cond_t *condition);
void pe_condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t nanoseconds);

#endif
