/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_BIAS_REFERENCE_H
#define TESTS_CORE_BIAS_REFERENCE_H

/* Pieces of the formulas of biases, in double. */

#include <math.h>
#include <stddef.h>

/* heads a power of two */
double slope_of(size_t heads, size_t head);

/* As published; no distance of these tests is a boundary that rounding could move. */
size_t t5_bucket_of(double distance);

/* Of the frequencies base^(-2k/dim), k from 1. */
double sandwich_sum(size_t dim, double base, double distance);

#endif
