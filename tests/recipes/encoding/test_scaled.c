/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/view_fixture.h"

START_TEST(multiples)
{
    struct viewed table =
        viewed_new("scaled", "scale=2.5", "table", "length=4 start=-1", NULL, PE_F32);

    for (size_t i = 0; i < 4; i++)
        ck_assert_float_eq(((float *)table.data)[i], 2.5f * ((float)i - 1));
    viewed_free(&table);
}
END_TEST

START_TEST(refused)
{
    static const struct refused cases[] = {{"scale=x", PE_INVALID, "parameter:scale"},
                                           {"sclae=2", PE_UNKNOWN_PARAMETER, ""}};

    refusals_check("scaled", cases, COUNT_OF(cases));
}
END_TEST

CHECK_PROGRAM("scaled", multiples, refused)
