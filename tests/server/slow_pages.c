/* SPDX-License-Identifier: MIT */
/* Loaded before the C library: to have pages made takes as long as on a machine that is short of
 * memory. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { POPULATE_WRITE = 23, MICROSECONDS = 500000 };

int madvise(void *pages, size_t size, int advice)
{
    if (advice == POPULATE_WRITE)
        usleep(MICROSECONDS);
    return (int)syscall(SYS_madvise, pages, size, advice);
}
