/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

static double first;

static void element(mpfr_ptr out, size_t row, size_t column)
{
    mpfr_set_ui_2exp(out, 1, -(long)column, MPFR_RNDN);
    oracle_wave(out, first + (double)row, true);
}

TEST(equals_mpfr)
{
    static const double starts[] = {0, -40, 1e6, 0x1p53 - 200, 355 * 0x1p30};
    size_t checked = 0;

    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        char view[80];
        first = starts[i];
        snprintf(view, sizeof(view), "length=100 start=%.17g", first);
        checked += expect_rounded("periodic", "dim=40", view, element);
    }
    printf("periodic: %zu elements\n", checked);
}

/* Angles that are ties of bf16, f16 or f32, whose sines are slightly less. */
TEST(angles_that_are_ties)
{
    static const double starts[] = {257, 2049, 0x1p24 + 1, 0x1p53 - 3};

    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        char view[80];
        first = starts[i];
        snprintf(view, sizeof(view), "length=2 start=%.17g", first);
        expect_rounded("periodic", "dim=64", view, element);
    }
}

/* Column i at position 2t is column i - 1 at position t, bit for bit. */
TEST(columns_halve)
{
    struct filled table = filled_new("periodic", "dim=20", "length=200", PE_F64, false);

    for (size_t row = 0; row < 100; row++)
        for (size_t column = 1; column < 20; column++)
            ck_assert_double_eq(filled_at(&table, 2 * row, column),
                                filled_at(&table, row, column - 1));
    free(table.data);
}

TEST(refusals)
{
    expect_refused("periodic", "", "length=1", PE_MISSING, "dim");
    expect_refused("periodic", "dim=0", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("periodic", "dim=65", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("periodic", "dim=4", "positions=1e17", PE_OUT_OF_RANGE, "positions");
}
