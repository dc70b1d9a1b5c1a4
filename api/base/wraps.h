/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_WRAPS_H
#define API_BASE_WRAPS_H

/* Before a function in which unsigned numbers pass their end on purpose, and why they do:
 * `tests/run undefined` reports every other place where one does. */
#ifdef __clang__
#define API_WRAPS(why) __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define API_WRAPS(why)
#endif

#endif
