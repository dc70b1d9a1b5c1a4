/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_WRAPS_H
#define CORE_BASE_WRAPS_H

/* Before a function in which unsigned numbers pass their end on purpose, and why they do:
 * `tests/run undefined` reports every other place where one does. */
#ifdef __clang__
#define PE_WRAPS(why) __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define PE_WRAPS(why)
#endif

#endif
