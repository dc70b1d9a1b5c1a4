/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

/* The weighted sum of the digits is the position; one order is the mirror image of the other. */
TEST(digits_make_the_position)
{
    for (size_t dim = 1; dim <= 60; dim++) {
        const double end = ldexp(1, dim < 53 ? (int)dim : 53), first = end > 40 ? end - 40 : 0;
        char text[60], view[80];
        snprintf(view, sizeof(view), "start=%.0f length=%.0f", first, end - first);
        snprintf(text, sizeof(text), "dim=%zu", dim);
        struct filled msb = filled_new("binary", text, view, PE_F32, false);
        snprintf(text, sizeof(text), "dim=%zu bit_order=lsb", dim);
        struct filled lsb = filled_new("binary", text, view, PE_F32, true);
        ck_assert_uint_eq(msb.columns, dim);
        for (size_t row = 0; row < msb.rows; row++) {
            double sum = 0;
            for (size_t bit = 0; bit < dim; bit++) {
                const double digit = filled_at(&lsb, row, bit);
                ck_assert(digit == 0 || digit == 1);
                ck_assert_double_eq(filled_at(&msb, row, dim - 1 - bit), digit);
                sum += ldexp(digit, (int)bit);
            }
            ck_assert_double_eq(sum, first + (double)row);
        }
        free(msb.data);
        free(lsb.data);
    }
}

TEST(textbook)
{
    static const double want[] = {0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1,
                                  1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1};
    static const double some[] = {0, 1, 1, 0, 0, 0};

    expect_table("binary", "dim=3", "length=8", want, 8, 3, 0);
    expect_table("binary", "dim=3", "start=7 step=-4 length=2", (const double[]){1, 1, 1, 0, 1, 1},
                 2, 3, 0);
    expect_table("binary", "dim=3 bit_order=lsb", "positions=6,0", some, 2, 3, 0);
}

TEST(refusals)
{
    expect_refused("binary", "", "length=1", PE_MISSING, "dim");
    expect_refused("binary", "dim=0", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("binary", "dim=1e7", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("binary", "dim=2 bit_order=up", "length=1", PE_INVALID, "bit_order");
    expect_refused("binary", "dim=3", "length=9", PE_OUT_OF_RANGE, "length");
    expect_refused("binary", "dim=3", "length=1 start=8", PE_OUT_OF_RANGE, "start");
    expect_refused("binary", "dim=3", "length=1 start=-1", PE_OUT_OF_RANGE, "start");
    expect_refused("binary", "dim=3", "length=1 start=0.5", PE_OUT_OF_RANGE, "start");
    expect_refused("binary", "dim=3", "length=2 step=0.5", PE_OUT_OF_RANGE, "step");
    expect_refused("binary", "dim=3", "length=2 step=-1", PE_OUT_OF_RANGE, "length");
    expect_refused("binary", "dim=3", "positions=1,8", PE_OUT_OF_RANGE, "positions");
    expect_refused("binary", "dim=3", "positions=1.5", PE_OUT_OF_RANGE, "positions");
    expect_refused("binary", "dim=3", "", PE_MISSING, "length");
    /* The start is not checked where there are no rows. */
    expect_table("binary", "dim=3", "length=0 start=100", NULL, 0, 3, 0);
    expect_table("binary", "dim=1", "length=1 step=0.5", (const double[]){0}, 1, 1, 0);
}
