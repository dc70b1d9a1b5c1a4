/* SPDX-License-Identifier: MIT */
#include "tests/failing.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define REAL(name) __interceptor_##name
size_t __sanitizer_get_current_allocated_bytes(void);
#else
#define REAL(name) __libc_##name
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *old, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);
void REAL(free)(void *memory);

static _Thread_local bool counting;
static bool fails_ever;
static unsigned long asked, failing;
static atomic_long pieces, mapped;

/* ---- what fails ------------------------------------------------------------------------------ */

void failing_begin(unsigned long k, bool ever)
{
    asked = 0;
    failing = k;
    fails_ever = ever;
    counting = true;
}

unsigned long failing_end(void)
{
    counting = false;
    return asked;
}

long failing_live(void)
{
#ifdef __SANITIZE_ADDRESS__
    return (long)__sanitizer_get_current_allocated_bytes();
#else
    return pieces;
#endif
}

long failing_mapped(void)
{
    return mapped;
}

static bool fails(void)
{
    if (!counting)
        return false;
    asked++;
    if (failing == 0 || (fails_ever ? asked < failing : asked != failing))
        return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    pieces += memory != NULL;
    return memory;
}

/* Seen by libraries too. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
    return fails() ? NULL : counted(REAL(malloc)(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(REAL(calloc)(count, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(REAL(memalign)(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = fails() ? NULL : counted(REAL(memalign)(alignment, size));

    if (memory)
        *out = memory;
    return memory ? 0 : ENOMEM;
}

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    return old ? REAL(realloc)(old, size) : counted(REAL(realloc)(old, size));
}

void free(void *memory)
{
    pieces -= memory != NULL;
    REAL(free)(memory);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    void *memory = MAP_FAILED;

    if (!fails())
        memory = (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
    if (memory != MAP_FAILED)
        mapped += (long)((size + 4095) & ~4095ul);
    return memory;
}

int munmap(void *memory, size_t size)
{
    mapped -= (long)((size + 4095) & ~4095ul);
    return (int)syscall(SYS_munmap, memory, size);
}

#pragma GCC visibility pop
