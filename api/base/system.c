/* SPDX-License-Identifier: MIT */
#include "api/base/system.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C locale is a constant of the C library: newlocale allocates nothing. */
int api_vprint(char *out, size_t size, const char *format, va_list args)
{
    const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    const int length = vsnprintf(out, size, format, args);

    uselocale(before);
    return length;
}

int api_print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = api_vprint(out, size, format, args);
    va_end(args);
    return length;
}

#ifdef __GLIBC__
#include <malloc.h>

void api_malloc_trim(void)
{
    malloc_trim(0);
}

const char *api_errno_text(int number, char *buffer, size_t size)
{
    return strerror_r(number, buffer, size);
}

#else

void api_malloc_trim(void) {}

/* POSIX's strerror_r always writes to the buffer; GNU's has another type. */
const char *api_errno_text(int number, char *buffer, size_t size)
{
    return strerror_r(number, buffer, size) == 0 ? buffer : "unknown error";
}

#endif

#if defined(__wasi__)
/* A WebAssembly module has one memory that only grows, and no pages to map. */

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

void api_pages_populate(unsigned char *pages, size_t size)
{
    (void)pages, (void)size;
}

bool api_pages_are_there(unsigned char *pages)
{
    (void)pages;
    return true;
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

/* A module has no longjmp, so its host unwinds: host_attempt calls posenc_run, and host_leave
 * throws an exception that host_attempt catches. The stack pointer is restored by the next function
 * that returns, from a local of its own. */
#define HOST(name) __attribute__((import_module("posenc"), import_name(name)))

HOST("attempt") bool host_attempt(void (*run)(void *context), void *context);
HOST("leave") _Noreturn void host_leave(void);

static bool is_inside;

__attribute__((export_name("posenc_run"))) bool posenc_run(void (*run)(void *context),
                                                           void *context);
bool posenc_run(void (*run)(void *context), void *context)
{
    run(context);
    return true;
}

bool api_attempt(void (*run)(void *context), void *context)
{
    bool is_whole;

    is_inside = true;
    is_whole = host_attempt(run, context);
    is_inside = false;
    return is_whole;
}

void api_attempt_leave(void)
{
    if (is_inside)
        host_leave();
}

#else
#include <setjmp.h>
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

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

void api_pages_populate(unsigned char *pages, size_t size)
{
    madvise(pages, size, MADV_POPULATE_WRITE);
}

bool api_pages_are_there(unsigned char *pages)
{
    unsigned char is_there = 0;

    return mincore(pages, 1, &is_there) == 0 && (is_there & 1);
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

static _Thread_local jmp_buf *way_out; /* NULL: this thread has no attempt */

bool api_attempt(void (*run)(void *context), void *context)
{
    jmp_buf here;
    const bool is_whole = setjmp(here) == 0;

    if (is_whole) {
        way_out = &here;
        run(context);
    }
    way_out = NULL;
    return is_whole;
}

void api_attempt_leave(void)
{
    if (way_out)
        longjmp(*way_out, 1);
}
#endif
