/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FAILING_H
#define TESTS_FAILING_H

#include <stdbool.h>
#include <stddef.h>

/* Allocations that fail by their number, for programs that are linked with failing.c: malloc,
 * calloc, realloc, posix_memalign, aligned_alloc and mmap of this program and of its libraries,
 * with AddressSanitizer too. Other threads than the one that begins are left out. */

/* Allocation k from now on fails, counted from 1, and with `ever` all behind it; 0: none does. */
void failing_begin(unsigned long k, bool ever);
/* Nothing fails any more. How many allocations there were, the failed ones among them. */
unsigned long failing_end(void);

/* What is allocated now: pieces (bytes with AddressSanitizer), and bytes that are mapped. Two
 * moments between which nothing leaked have the same. */
long failing_live(void);
long failing_mapped(void);

#endif
