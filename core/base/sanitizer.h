/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_SANITIZER_H
#define CORE_BASE_SANITIZER_H

/* Marks a function in which unsigned arithmetic wraps on purpose, with the reason. `tests/run
 * undefined` reports all other wrapping. */
#ifdef __clang__
#define PE_WRAPS(why) __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define PE_WRAPS(why)
#endif

#endif
