/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_RELATIONS_FIXTURE_H
#define TESTS_CORE_RELATIONS_FIXTURE_H

/* Random parameters of schemes, random tokens and their rotations. The seed is printed, and is the
 * same in every run: a failure can be had again. */

#include <float.h>

#include "tests/core/rotation_fixture.h"
#include "tests/core/table_fixture.h"

enum { RELATIONS_SEED = 20261, RELATION_CASES = 200, RELATION_DIM_MAX = 64 };

double random_between(double least, double most);
size_t random_whole(size_t least, size_t most);

/* A whole position, small or large, of either sign. */
double random_position(void);
void relations_begin(const char *relation);

struct text {
    char at[400];
};

/* dim and base alone, the width an even number. */
struct text random_dim(size_t *dim);

/* rope of any type. `*dim` is at least 4. */
struct text random_rope(size_t *dim);

/* `count` elements between -1 and 1, rounded to the dtype. */
void random_token(double *out, size_t count, enum pe_dtype dtype);
double product_of(const double *a, const double *b, size_t count);

enum way { FORWARDS, BACKWARDS, BY_DELTA };

/* One token at a position, in place. */
void token_rotate(const struct pe_scheme *scheme, double *token, size_t dim, enum pe_dtype dtype,
                  enum pe_layout layout, double position, enum way way);

/* How far two tokens are apart, in ulps of the norm of each pair: the worst. */
double pairs_apart(const double *a, const double *b, size_t dim, enum pe_dtype dtype,
                   enum pe_layout layout);

#endif
