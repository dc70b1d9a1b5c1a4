/* SPDX-License-Identifier: MIT */
/* Loaded before the C library: the allocation of libposenc with the number FAIL_AT, counted from 1,
 * fails, and says so. Those of others succeed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static bool fails(const void *caller)
{
    static _Thread_local bool inside; /* dladdr and getenv may allocate */
    static long count;
    const char *number = NULL;
    Dl_info info;

    if (inside)
        return false;
    inside = true;
    if (dladdr(caller, &info) && strstr(info.dli_fname, "libposenc"))
        number = getenv("FAIL_AT");
    const bool now = number && __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) == atol(number);
    if (now)
        fprintf(stderr, "allocation %s fails\n", number);
    inside = false;
    return now;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
