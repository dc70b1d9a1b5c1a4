/* SPDX-License-Identifier: MIT */
#ifndef BENCH_NORMAL_H
#define BENCH_NORMAL_H

#include <stddef.h>
#include <stdint.h>

/* Independent N(0,1) values, the same for the same seed. */
void normal_fill(float *values, size_t count, uint64_t seed);

#endif
