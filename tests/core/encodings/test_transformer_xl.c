/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

/* fairseq, tests/test_positional_encoding.py: distances 3 .. -3. */
TEST(fairseq)
{
    static const double want[] = {0.1411, -0.99,   0.9093, -0.4161, 0.8415,  0.5403,  0,
                                  1,      -0.8415, 0.5403, -0.9093, -0.4161, -0.1411, -0.99};

    expect_table("transformer-xl", "dim=2", "length=4", want, 7, 2, 1e-4);
    expect_table("transformer-xl", "dim=2", "length=3", want + 2, 5, 2, 1e-4);
    expect_table("transformer-xl", "dim=2 direction=past", "length=4", want, 4, 2, 1e-4);
}

/* Each row is the row of sinusoidal at its distance, bit for bit; a cosine is even and a sine odd.
 */
TEST(equals_sinusoidal)
{
    static const char *const texts[] = {"dim=6", "dim=7", "dim=6 layout=concatenated",
                                        "dim=7 layout=concatenated base=100"};
    char text[100];

    for (size_t i = 0; i < 4; i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            OWNED_FILLED plain =
                filled_new("sinusoidal", texts[i], "start=-49 length=99", dtype, false);
            OWNED_FILLED both = filled_new("transformer-xl", texts[i], "length=50", dtype, false);
            snprintf(text, sizeof(text), "%s direction=past", texts[i]);
            OWNED_FILLED past = filled_new("transformer-xl", text, "length=50", dtype, false);
            const size_t size = plain.columns * pe_dtype_info(dtype)->size;
            ck_assert_uint_eq(both.rows, 99);
            ck_assert_uint_eq(past.rows, 50);
            for (size_t row = 0; row < 99; row++)
                ck_assert_mem_eq(both.data + row * size, plain.data + (98 - row) * size, size);
            ck_assert_mem_eq(past.data, both.data, 50 * size);
        }
}

static void element(mpfr_ptr out, size_t row, size_t column)
{
    oracle_power(out, 10000, 2 * (double)(column / 2), 16);
    oracle_wave(out, 1e9 - 1 - (double)row, column % 2 == 0);
}

TEST(equals_mpfr)
{
    mpfr_t value;
    float rows[64][16];

    /* The first rows of a long table. */
    OWNED_OPENED opened = request_open(&(const struct request){.encoding = "transformer-xl",
                                                               .text = "dim=16",
                                                               .view = "table",
                                                               .view_text = "length=1000000000",
                                                               .dtype = PE_F32});
    ck_assert_uint_eq(pe_view_output(opened.view, 0)->rows, 1999999999);
    rows_fill(opened.view, 0, 0, 64, rows);
    mpfr_init2(value, ORACLE_BITS);
    for (size_t row = 0; row < 64; row++)
        for (size_t column = 0; column < 16; column++) {
            element(value, row, column);
            ck_assert_double_eq(rows[row][column], oracle_round(value, PE_F32));
        }
    mpfr_clear(value);
}

TEST(refusals)
{
    expect_refused("transformer-xl", "", "length=1", PE_MISSING, "dim");
    expect_refused("transformer-xl", "dim=0", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("transformer-xl", "dim=4", "", PE_MISSING, "length");
    expect_refused("transformer-xl", "dim=4", "length=0", PE_OUT_OF_RANGE, "length");
    expect_refused("transformer-xl", "dim=4", "length=1e300", PE_OUT_OF_RANGE, "length");
    expect_refused("transformer-xl", "dim=4 direction=future", "length=1", PE_INVALID, "direction");
    expect_refused("transformer-xl", "dim=4 layout=half", "length=1", PE_INVALID, "layout");
    expect_refused("transformer-xl", "dim=4 base=0", "length=1", PE_OUT_OF_RANGE, "base");
    expect_refused("transformer-xl", "dim=128", "length=4503599627370496", PE_TOO_LARGE, "");
}
