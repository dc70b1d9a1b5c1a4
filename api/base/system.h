/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_SYSTEM_H
#define API_BASE_SYSTEM_H

/* Pages of memory, errors, printing, the clock and leaving nested calls: a port of api/ changes
 * system.c alone. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define API_HUGE_PAGE ((size_t)2 << 20)

/* Pages of memory; from API_HUGE_PAGE bytes on huge ones, if the system has them. NULL: out of
 * memory. */
unsigned char *api_pages_map(size_t size);
void api_pages_unmap(unsigned char *pages, size_t size);

/* Populates pages without changing their bytes, where the system can. */
void api_pages_populate(unsigned char *pages, size_t size);
/* Is the first of these pages in memory? */
bool api_pages_are_there(unsigned char *pages);

/* Unmaps the pages after the first `size` of `before` bytes. */
void api_pages_shorten(unsigned char *pages, size_t before, size_t size);

/* Moves pages into a larger mapping, aligned as by api_pages_map, so that huge pages are not split.
 * NULL: out of memory, and the pages are unchanged. */
unsigned char *api_pages_lengthen(unsigned char *pages, size_t before, size_t size);

/* Returns freed memory from malloc to the system, where that is possible. */
void api_malloc_trim(void);

/* The English text of an errno: a constant, or written to `buffer`. Thread-safe. */
const char *api_errno_text(int number, char *buffer, size_t size);

/* snprintf and vsnprintf in the C locale, for text with fractions: a program that links the service
 * may have set a locale with a decimal comma. */
int api_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int api_vprint(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Milliseconds of a monotonic clock. */
static inline double api_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Calls run(context). False: api_attempt_leave() ended the call, and its resources are lost. At
 * most one attempt a thread. */
bool api_attempt(void (*run)(void *context), void *context);

/* Ends the attempt of this thread; returns if there is none. */
void api_attempt_leave(void);

#endif
