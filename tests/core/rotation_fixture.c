/* SPDX-License-Identifier: MIT */
#include "tests/core/rotation_fixture.h"

struct pe_rotation *rotation_new(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                 struct pe_pool *pool)
{
    struct pe_rotation *rotation;
    struct pe_error err = {0};

    ck_assert_msg(!pe_rotation_new(&rotation, spec, dtype, pool, NULL, &err), "%s", err.detail);
    return rotation;
}
