/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

static double start, step;

/* start + row * step, without rounding. */
static void position(mpfr_ptr out, size_t row, size_t column)
{
    mpfr_t product;

    (void)column;
    mpfr_init2(product, 4096);
    mpfr_set_prec(out, 4096);
    mpfr_set_d(product, step, MPFR_RNDN);
    mpfr_mul_ui(product, product, row, MPFR_RNDN);
    mpfr_add_d(out, product, start, MPFR_RNDN);
    mpfr_clear(product);
}

TEST(positions_are_rounded_once)
{
    static const double starts[] = {0,    -7.5,        0.1,    1e15 + 0.25, 0x1p53 - 5000,
                                    1e-9, 0x1p24 - 10, 2048.5, 0x1p-1074,   -0x1p53 + 1};
    static const double steps[] = {1, -1, 0.1, 1.0 / 3, 0x1p-60, 0x1p-1074, 1e-300, 0.5, 3};
    size_t checked = 0;
    char view[128];

    for (size_t i = 0; i < COUNT_OF(starts); i++)
        for (size_t j = 0; j < COUNT_OF(steps); j++) {
            start = starts[i];
            step = start < 0 && steps[j] < 0 ? 1 : steps[j];
            snprintf(view, sizeof(view), "length=200 start=%.17g step=%.17g", start, step);
            checked += expect_rounded("index", "", view, position);
        }
    printf("index: %zu elements\n", checked);
}

/* Sums whose nearest double is decided by a third double. */
TEST(ties_are_broken_by_what_is_left)
{
    static const double eps[] = {0x1p-300, -0x1p-300, 0x1p-1074, -0x1p-1074, 0};

    for (size_t i = 0; i < COUNT_OF(eps); i++) {
        char view[128];
        /* Row 1 is 1 + 2^-53, a tie, plus the start. */
        start = eps[i];
        step = 1 + 0x1p-52;
        snprintf(view, sizeof(view), "length=40 start=%.17g step=%.17g", start, step);
        expect_rounded("index", "", view, position);
        start = 0x1p52 + 1;
        step = 0.5 + eps[i];
        snprintf(view, sizeof(view), "length=3 start=%.17g step=%.17g", start, step);
        expect_rounded("index", "", view, position);
    }
}

TEST(posted_positions)
{
    static const double want[] = {0, 5, -3, -2.5, 1e-300, 9007199254740991};

    expect_table("index", "", "positions=0,5,-3,-2.5,1e-300,9007199254740991", want, 6, 1, 0);
    expect_table("index", "", "length=0", NULL, 0, 1, 0);
}

TEST(refusals)
{
    expect_refused("index", "", "", PE_MISSING, "length");
    expect_refused("index", "", "length=-1", PE_OUT_OF_RANGE, "length");
    expect_refused("index", "", "length=2 start=9007199254740991", PE_OUT_OF_RANGE, "length");
    expect_refused("index", "", "length=2 positions=1", PE_CONFLICT, "positions");
}
