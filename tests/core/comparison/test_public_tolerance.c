/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tests/core/public_fixture.h"

/* Tolerances by their public header alone. */

TEST(tolerances)
{
    struct pe_scheme *rope = public_scheme("rope", "dim=4", true);
    struct pe_scheme *unprepared = public_scheme("rope", "dim=4", false);
    struct pe_scheme *alibi = public_scheme("alibi", "heads=2", true);
    struct pe_tolerance *tolerance;
    struct pe_tolerance_pair pair = {.x = {1, 0}};
    struct pe_interval one, both[2];

    ck_assert_str_eq(pe_path_name(PE_PATH_F32_ANGLE), "f32-angle");
    ck_assert_ptr_null(pe_path_name((enum pe_path)99));
    REFUSED(PE_UNSUPPORTED, pe_tolerance_new(&tolerance, alibi, PE_PATH_F32_ANGLE, NULL, &err));
    REFUSED(PE_UNSUPPORTED, pe_tolerance_new(&tolerance, rope, (enum pe_path)99, NULL, &err));
    REFUSED(PE_UNSUPPORTED,
            pe_tolerance_new(&tolerance, unprepared, PE_PATH_F32_ANGLE, NULL, &err));
    ck_assert_ptr_null(tolerance);
    ACCEPTED(pe_tolerance_new(&tolerance, rope, PE_PATH_F32_ANGLE, NULL, &err));
    ck_assert_int_eq(pe_tolerance_interval(tolerance, 2, 0, false, PE_F32, &one), PE_OUT_OF_RANGE);
    ck_assert_int_eq(pe_tolerance_interval(tolerance, 0, NAN, false, PE_F32, &one),
                     PE_OUT_OF_RANGE);
    ck_assert_int_eq(pe_tolerance_element(tolerance, 1, 0, 1, PE_F32, &pair.sin), PE_OK);
    ck_assert_int_eq(pe_tolerance_interval(tolerance, 0, 1, false, PE_F32, &pair.cos), PE_OK);
    ck_assert(pair.cos.low <= cos(1) && cos(1) <= pair.cos.high);
    ck_assert(pair.sin.low <= sin(1) && sin(1) <= pair.sin.high);
    pe_tolerance_rotated(tolerance, &pair, both);
    ck_assert(both[0].low <= cos(1) && cos(1) <= both[0].high);
    pe_tolerance_free(tolerance);
    pe_tolerance_free(NULL);
    pe_scheme_free(rope);
    pe_scheme_free(unprepared);
    pe_scheme_free(alibi);
}
