/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_HARD_FIXTURE_H
#define TESTS_CORE_HARD_FIXTURE_H

/* Every frequency set of the catalogue, and cos and sin of one of its pairs at one position by MPFR
 * alone. Frequencies of rope's types are their formulas at HARD_BITS, which test_rope.c
 * compares with others'; all else is a power taken here. */

#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/encodings/rope/rope.h"
#include "core/tables/table_fill.h"
#include "tests/core/table_fixture.h"

enum { HARD_BITS = 512 };

struct frequency_set {
    const char *encoding, *text;
    /* w = scale * base^(-pair * numerator / denominator); base 0: the rope type's own */
    double base, numerator, denominator, scale;
};

extern const struct frequency_set frequency_sets[];
extern const size_t frequency_sets_count;

void frequency_set_write(mpfr_ptr out, const struct frequency_set *set,
                         const struct pe_scheme *scheme, size_t pair);

/* cos and sin of t * w; both have HARD_BITS. */
void cos_sin_write(mpfr_ptr cos, mpfr_ptr sin, mpfr_srcptr w, double t);

#endif
