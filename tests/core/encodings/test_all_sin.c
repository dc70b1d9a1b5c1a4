/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

static double base, dim, first;

static void element(mpfr_ptr out, size_t row, size_t column)
{
    oracle_power(out, base, (double)column, dim - 1);
    oracle_wave(out, first + (double)row, true);
}

TEST(equals_mpfr)
{
    static const double bases[] = {10000, 1.0001, 1e30, 2}, dims[] = {2, 3, 33};
    static const double starts[] = {0, -20, 0x1p53 - 100};
    size_t checked = 0;

    for (size_t i = 0; i < 4 * 3 * 3; i++) {
        char text[80], view[80];
        base = bases[i % 4];
        dim = dims[i / 4 % 3];
        first = starts[i / 12];
        snprintf(text, sizeof(text), "dim=%.0f base=%.17g", dim, base);
        snprintf(view, sizeof(view), "length=40 start=%.17g", first);
        checked += expect_rounded("all-sin", text, view, element);
    }
    printf("all-sin: %zu elements\n", checked);
}

/* The first column has frequency 1 and the last 1 / base, whatever the width. */
TEST(ends)
{
    struct filled table = filled_new("all-sin", "dim=7 base=64", "length=129", PE_F64, false);

    for (size_t row = 0; row < 2; row++)
        ck_assert_double_eq(filled_at(&table, 64 * row, 6), filled_at(&table, row, 0));
    free(table.data);
}

TEST(refusals)
{
    expect_refused("all-sin", "", "length=1", PE_MISSING, "dim");
    expect_refused("all-sin", "dim=1", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("all-sin", "dim=1e7", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("all-sin", "dim=4 base=1", "length=1", PE_OUT_OF_RANGE, "base");
    expect_refused("all-sin", "dim=4 base=1e31", "length=1", PE_OUT_OF_RANGE, "base");
    expect_refused("all-sin", "dim=4 base=2 theta=3", "length=1", PE_CONFLICT, "base");
}
