/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Records the calls between the beginning and the end of a request, on all threads, and writes them
 * to a file: the value of RECORD_CALLS, a dot and the number of the request. For a server that is
 * built with -finstrument-functions and has one request at a time (test_way.py). A file is words:
 * number of the thread << 56 | whether the function is left << 55 | address of the function. */

enum { CALLS_MAX = 1 << 22 };

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);
extern void *srv_request_begin(void), *srv_request_complete(void); /* for their addresses */

static uint64_t calls[CALLS_MAX];
static atomic_size_t calls_count;
static atomic_int threads_count, requests_count;
static _Thread_local uint64_t thread;

static void add(void *function, uint64_t leaves)
{
    size_t index;

    if (!thread)
        thread = (uint64_t)atomic_fetch_add(&threads_count, 1) + 1;
    index = atomic_fetch_add(&calls_count, 1);
    if (index < CALLS_MAX)
        calls[index] = thread << 56 | leaves << 55 | (uint64_t)(uintptr_t)function;
}

static void write_out(void)
{
    const size_t count = atomic_load(&calls_count);
    char name[4096];
    int file;

    snprintf(name, sizeof(name), "%s.%d", getenv("RECORD_CALLS"),
             atomic_fetch_add(&requests_count, 1));
    file = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (count > CALLS_MAX ||
        write(file, calls, count * sizeof(*calls)) != (ssize_t)(count * sizeof(*calls)))
        abort();
    close(file);
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (function == (void *)srv_request_begin)
        atomic_store(&calls_count, 0);
    add(function, 0);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    add(function, 1);
    if (function == (void *)srv_request_complete)
        write_out();
}
