/* SPDX-License-Identifier: MIT */
#include "api/base/system.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>

void api_malloc_trim(void)
{
    malloc_trim(0);
}

const char *api_errno_text(int number, char *room, size_t size)
{
    return strerror_r(number, room, size);
}

#else

void api_malloc_trim(void) {}

/* POSIX's strerror_r always writes to the room; GNU's has another type. */
const char *api_errno_text(int number, char *room, size_t size)
{
    return strerror_r(number, room, size) == 0 ? room : "unknown error";
}

#endif

#if defined(__wasi__)
/* A module has one memory that only grows, and no pages to map. */

enum { ALIGNMENT = 64 };

unsigned char *api_pages_map(size_t size)
{
    return size < SIZE_MAX - ALIGNMENT ? aligned_alloc(ALIGNMENT, (size | (ALIGNMENT - 1)) + 1)
                                       : NULL;
}

void api_pages_unmap(unsigned char *pages, size_t size)
{
    (void)size;
    free(pages);
}

void api_pages_shorten(unsigned char *pages, size_t before, size_t size)
{
    (void)pages, (void)before, (void)size;
}

unsigned char *api_pages_lengthen(unsigned char *pages, size_t before, size_t size)
{
    unsigned char *to = api_pages_map(size);

    if (!to)
        return NULL;
    memcpy(to, pages, before);
    api_pages_unmap(pages, before);
    return to;
}

#else
#include <sys/mman.h>

unsigned char *api_pages_map(size_t size)
{
    const size_t slack = size >= API_HUGE_PAGE ? API_HUGE_PAGE : 0;
    unsigned char *pages =
        mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return NULL;
    if (slack > 0) {
        const size_t before =
            (API_HUGE_PAGE - ((uintptr_t)pages & (API_HUGE_PAGE - 1))) & (API_HUGE_PAGE - 1);
        if (before > 0)
            munmap(pages, before);
        if (slack > before)
            munmap(pages + before + size, slack - before);
        pages += before;
        madvise(pages, size, MADV_HUGEPAGE);
    }
    return pages;
}

void api_pages_unmap(unsigned char *pages, size_t size)
{
    munmap(pages, size);
}

void api_pages_shorten(unsigned char *pages, size_t before, size_t size)
{
    munmap(pages + size, before - size);
}

unsigned char *api_pages_lengthen(unsigned char *pages, size_t before, size_t size)
{
    unsigned char *to = api_pages_map(size);

    if (!to)
        return NULL;
    if (mremap(pages, before, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
        munmap(to, size);
        return NULL;
    }
    return to;
}
#endif
