/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_ATTENTION_REFERENCE_H
#define TESTS_CORE_ATTENTION_REFERENCE_H

/* Attention as the formula has it, in double, element by element. */

#include "tests/core/attention_problem.h"
#include "tests/core/bias_reference.h"

/* The row of rel_k and rel_v that a query and a key have. */
size_t bucket_of(const struct problem *p, const struct inputs *in, size_t i, size_t j);

/* The whole answer, filled in pieces of `cut` rows, on the pool if not NULL. */
void *attention_run(const struct problem *p, const struct inputs *in, struct pe_pool *pool,
                    size_t cut, size_t *size);

/* Compares every element, returns how many. */
size_t attention_compare(const struct problem *p, struct pe_pool *pool);

#endif
