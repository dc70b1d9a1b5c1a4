/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

static double last, positions[64];

static void quotient(mpfr_ptr out, size_t row, size_t column)
{
    (void)column;
    mpfr_set_d(out, positions[row], MPFR_RNDN);
    mpfr_div_d(out, out, last, MPFR_RNDN);
}

/* Every row of short tables, in every dtype. */
TEST(short_tables)
{
    size_t checked = 0;

    for (size_t length = 2; length <= 64; length++) {
        char text[40];
        snprintf(text, sizeof(text), "length=%zu", length);
        last = (double)length - 1;
        for (size_t row = 0; row < length; row++)
            positions[row] = (double)row;
        checked += expect_rounded("normalized", text, "", quotient);
    }
    printf("normalized: %zu elements\n", checked);
}

/* Quotients on or next to a tie of f32, f16 or bf16: t = (2 m + 1) / 2^k of the length, and t +-
 * 1. */
TEST(near_ties)
{
    size_t checked = 0;

    for (int bits = 8; bits <= 24; bits += bits == 8 ? 3 : 13)
        for (int k = 0; k < 20; k++)
            for (int off = -1; off <= 1; off++) {
                const double unit = ldexp(1, 51 - bits - 1), half = ldexp(1, bits) + 2 * k + 1;
                char text[80], view[80];
                last = 0x1p51 + off;
                positions[0] = half * unit;
                positions[1] = half * unit + 1;
                positions[2] = half * unit - 1;
                snprintf(text, sizeof(text), "length=%.0f", last + 1);
                snprintf(view, sizeof(view), "positions=%.0f,%.0f,%.0f", positions[0], positions[1],
                         positions[2]);
                checked += expect_rounded("normalized", text, view, quotient);
            }
    printf("normalized, near ties: %zu elements\n", checked);
}

TEST(ends)
{
    static const double want[] = {0, 1.0 / 3, 2.0 / 3, 1}, some[] = {1, 0, 0.5, 0.5}, zero = 0;

    expect_table("normalized", "length=4", "", want, 4, 1, 0);
    expect_table("normalized", "length=1", "", &zero, 1, 1, 0);
    expect_table("normalized", "length=9", "positions=8,0,4..4,4", some, 4, 1, 0);
    expect_table("normalized", "length=9007199254740991", "positions=9007199254740990", want + 3, 1,
                 1, 0);
}

/* A range alone, ranges among numbers, and several ranges, in every order. */
TEST(ranges_of_positions)
{
    static const double want[] = {0.375, 0.5, 0.625, 0.75, 0.875, 1};
    static const double among[] = {0.125, 0.75, 0.875, 1, 0}, two[] = {0.75, 0.875, 0.125, 0.25};

    expect_table("normalized", "length=9", "positions=3..8", want, 6, 1, 0);
    expect_table("normalized", "length=9", "positions=1,6..8,0", among, 5, 1, 0);
    expect_table("normalized", "length=9", "positions=6..7,1..2", two, 4, 1, 0);
}

/* The refusal names the first position past the end. */
TEST(ranges_past_the_end)
{
    static const struct {
        const char *positions;
        double first;
    } past[] = {{"3..9", 9},       {"8..9", 9},        {"9..9", 9},      {"12..14", 12},
                {"1,6..9", 9},     {"6..9,1", 9},      {"1..2,7..9", 9}, {"7..12,1..2", 9},
                {"1..2,9", 9},     {"9,1..2", 9},      {"3..12", 9},     {"1,2..3,9..12", 9},
                {"1..3,2.5", 2.5}, {"1..2,11..12", 11}};

    for (size_t i = 0; i < COUNT_OF(past); i++) {
        const char *at = past[i].positions;
        struct request request = {"normalized", "length=9", "table", NULL, PE_F32, NULL};
        struct pe_error err = {0};
        struct opened opened;
        char view[40], got[40];
        snprintf(view, sizeof(view), "positions=%s", at);
        snprintf(got, sizeof(got), "got %.17g", past[i].first);
        request.view_text = view;
        request_refused(&request, PE_OUT_OF_RANGE, "positions");
        ck_assert_int_eq(request_try(&request, &opened, &err), PE_OUT_OF_RANGE);
        opened_free(&opened);
        ck_assert_msg(strstr(err.detail, got) != NULL, "%s: %s", at, err.detail);
    }
}

TEST(refusals)
{
    expect_refused("normalized", "", "", PE_MISSING, "length");
    expect_refused("normalized", "length=0", "", PE_OUT_OF_RANGE, "length");
    expect_refused("normalized", "length=4 n=5", "", PE_CONFLICT, "length");
    expect_refused("normalized", "length=4", "positions=4", PE_OUT_OF_RANGE, "positions");
    expect_refused("normalized", "length=4", "positions=-1", PE_OUT_OF_RANGE, "positions");
    expect_refused("normalized", "length=4", "positions=0.5", PE_OUT_OF_RANGE, "positions");
}
