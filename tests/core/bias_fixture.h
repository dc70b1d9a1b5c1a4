/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_BIAS_FIXTURE_H
#define TESTS_CORE_BIAS_FIXTURE_H

#include "tests/core/view_fixture.h"

/* A bias of distances beside its formula: near, far, and at both ends of what a query can be, in
 * every floating dtype. `text` is its parameters but for heads=1; `want` writes the rounded element
 * of `kernel` at a distance. Returns how many elements were compared. */
size_t bias_compare(const char *encoding, const char *text, size_t near_keys,
                    void (*want_write)(const void *kernel, double distance, enum pe_dtype dtype,
                                       void *out),
                    const void *kernel);

#endif
