/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_SYSTEM_H
#define API_BASE_SYSTEM_H

/* Memory, the names of errors and the way out of calls, in which systems differ: a port of api/
 * changes system.c alone. */

#include <stdbool.h>
#include <stddef.h>

#define API_HUGE_PAGE ((size_t)2 << 20)

/* Pages of memory. From API_HUGE_PAGE on they are aligned to huge pages, which the system is asked
 * for. NULL: there are none. */
unsigned char *api_pages_map(size_t size);
void api_pages_unmap(unsigned char *pages, size_t size);

/* Has pages in memory, those that are there already too, and changes none of their bytes. Does
 * nothing where the system cannot. */
void api_pages_populate(unsigned char *pages, size_t size);
/* Is the first of these pages in memory? */
bool api_pages_are_there(unsigned char *pages);

/* Gives back what is behind the first `size` of `before` bytes; the rest stays where it is. */
void api_pages_shorten(unsigned char *pages, size_t before, size_t size);

/* Moves pages into more of them, which are aligned like any other, so that huge pages stay whole.
 * NULL: there are none, and the pages are as they were. */
unsigned char *api_pages_lengthen(unsigned char *pages, size_t before, size_t size);

/* Asks the allocator of malloc for what it keeps of freed memory, where it can be asked. */
void api_malloc_trim(void);

/* Says in English what an errno means: a constant, or a text written to `room`. Any thread. */
const char *api_errno_text(int number, char *room, size_t size);

/* Calls run(context). false: api_attempt_leave() ended the call, and what it held is lost. One at a
 * time on each thread. */
bool api_attempt(void (*run)(void *context), void *context);

/* Ends the attempt that this thread is inside of; returns where there is none. */
void api_attempt_leave(void);

#endif
