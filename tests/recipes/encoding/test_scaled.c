/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

TEST(test_scaled)
{
    struct viewed viewed =
        viewed_new("scaled", "scale=2.5", "table", "length=3 start=-1", NULL, PE_F64);
    const double *table = viewed.data;

    ck_assert_uint_eq(viewed.count, 3);
    ck_assert(table[0] == -2.5 && table[1] == 0 && table[2] == 2.5);
    viewed_free(&viewed);
}
