/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_ROTATION_FIXTURE_H
#define TESTS_CORE_ROTATION_FIXTURE_H

/* Schemes and rotations that must come to be. */

#include <check.h>

#include "posenc/posenc.h"

static inline struct pe_scheme *scheme_new(const char *encoding, const char *text)
{
    struct pe_params params;
    struct pe_scheme *scheme;
    struct pe_error err = {0};

    ck_assert_msg(!pe_params_parse(&params, encoding, text, &err), "%s", err.detail);
    ck_assert_msg(!pe_scheme_new(&scheme, pe_encoding_find(encoding), &params, NULL, &err), "%s",
                  err.detail);
    pe_params_free(&params);
    return scheme;
}

static inline struct pe_rotation *rotation_new(const struct pe_rotation_spec *spec,
                                               enum pe_dtype dtype, struct pe_pool *pool)
{
    struct pe_rotation *rotation;
    struct pe_error err = {0};

    ck_assert_msg(!pe_rotation_new(&rotation, spec, dtype, pool, NULL, &err), "%s", err.detail);
    return rotation;
}

#endif
