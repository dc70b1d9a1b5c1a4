/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_ROTATION_FIXTURE_H
#define TESTS_CORE_ROTATION_FIXTURE_H

/* Rotations that must come to be. */

#include "posenc/posenc.h"
#include "tests/core/scheme_fixture.h"

struct pe_rotation *rotation_new(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                 struct pe_pool *pool);

#endif
