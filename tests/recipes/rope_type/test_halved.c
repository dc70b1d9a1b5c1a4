/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/view_fixture.h"

START_TEST(half_as_fast)
{
    struct viewed slow =
        viewed_new("rope", "dim=8 rope_type=halved", "frequencies", "", NULL, PE_F64);
    struct viewed plain = viewed_new("rope", "dim=8", "frequencies", "", NULL, PE_F64);

    ck_assert_uint_eq(slow.count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq(2 * ((double *)slow.data)[i], ((double *)plain.data)[i]);
    viewed_free(&slow);
    viewed_free(&plain);
}
END_TEST

/* Members that a type lacks are not asked for. */
START_TEST(refused)
{
    static const struct refused cases[] = {
        {"dim=8 rope_type=halved factor=2", PE_CONFLICT, "parameter:factor"},
        {"dim=8 rope_type=halved arithmetic=hf", PE_UNSUPPORTED, "parameter:arithmetic"}};

    refusals_check("rope", cases, COUNT_OF(cases));
}
END_TEST

CHECK_PROGRAM("halved", half_as_fast, refused)
