/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/learned_fixture.h"
#include "tests/core/table_fixture.h"

static const enum pe_dtype floats[] = {PE_F64, PE_F32, PE_F16, PE_BF16};

enum { ROWS = 5, WIDTH = 7 };

/* The definition with one division at its end: a (p_i - a p_0) + (1 - a) (p_j - a p_0), computed
 * exactly, over 1 - a. */
static void by_mpfr(const double *p, size_t i, size_t j, size_t column, double alpha,
                    enum pe_dtype dtype, void *out)
{
    mpfr_t rest, zero, block, own;

    mpfr_inits2(EXACT_BITS, rest, zero, block, own, (mpfr_ptr)NULL);
    mpfr_set_d(zero, p[column], MPFR_RNDN);
    mpfr_mul_d(zero, zero, alpha, MPFR_RNDN);
    mpfr_set_d(rest, 1, MPFR_RNDN);
    mpfr_sub_d(rest, rest, alpha, MPFR_RNDN);
    mpfr_set_d(block, p[i * WIDTH + column], MPFR_RNDN);
    mpfr_sub(block, block, zero, MPFR_RNDN);
    mpfr_mul_d(block, block, alpha, MPFR_RNDN);
    mpfr_set_d(own, p[j * WIDTH + column], MPFR_RNDN);
    mpfr_sub(own, own, zero, MPFR_RNDN);
    mpfr_mul(own, own, rest, MPFR_RNDN);
    mpfr_add(own, own, block, MPFR_RNDN);
    mpfr_div(own, own, rest, MPFR_RNDN);
    oracle_write(own, dtype, out);
    mpfr_clears(rest, zero, block, own, (mpfr_ptr)NULL);
}

TEST(against_the_definition)
{
    static const double alphas[] = {
        0.4, 0.4999999999999999, 0x1p-30, 0.75, 0.9999999999999999, 5e-324, 1e-300};
    static const int ranges[] = {0, 30, 500, 2000};
    double data[ROWS * WIDTH];
    uint64_t seed = 11;
    size_t rows, checked = 0;

    for (size_t r = 0; r < 4; r++)
        for (size_t a = 0; a < COUNT_OF(alphas); a++) {
            char text[64];
            snprintf(text, sizeof(text), "table=x alpha=%.17g", alphas[a]);
            for (size_t i = 0; i < ROWS * WIDTH; i++)
                data[i] = any_double(&seed, ranges[r]);
            const struct pe_tensor table = matrix(PE_F64, ROWS, WIDTH, data);
            for (size_t f = 0; f < 4; f++) {
                const size_t size = pe_dtype_info(floats[f])->size;
                OWNED_MEMORY char *got =
                    learned_rows("hierarchical", text, &table, "length=25", floats[f], &rows);
                for (size_t at = ROWS * WIDTH; at < ROWS * ROWS * WIDTH; at++, checked++) {
                    const size_t t = at / WIDTH;
                    char expected[8];
                    by_mpfr(data, t / ROWS, t % ROWS, at % WIDTH, alphas[a], floats[f], expected);
                    ck_assert_msg(memcmp(got + at * size, expected, size) == 0,
                                  "%s %s row %zu column %zu", text, pe_dtype_info(floats[f])->name,
                                  t, at % WIDTH);
                }
            }
        }
    printf("%zu elements\n", checked);
}

TEST(the_first_rows_are_the_table)
{
    float data[ROWS * WIDTH];
    uint64_t seed = 3;
    size_t rows;

    for (size_t i = 0; i < ROWS * WIDTH; i++)
        data[i] = (float)any_double(&seed, 60);
    data[1] = -0.0f;
    const struct pe_tensor table = matrix(PE_F32, ROWS, WIDTH, data);
    OWNED_MEMORY float *got =
        learned_rows("hierarchical", "table=x", &table, "length=5", PE_F32, &rows);
    ck_assert_int_eq(memcmp(got, data, sizeof(data)), 0);
}

/* p_1 - p_0 = 1 with a = 0.75 adds 3: 2046.5 + 3 lies halfway between two f16. */
TEST(ties_go_to_even)
{
    double data[] = {0, 1, 2046};
    const struct pe_tensor table = matrix(PE_F64, 3, 1, data);
    size_t rows;
    OWNED_MEMORY uint16_t *got =
        learned_rows("hierarchical", "table=x alpha=0.75", &table, "positions=5,8", PE_F16, &rows);

    ck_assert_uint_eq(got[0], 0x6800); /* 2046 + 3 = 2049 is a tie: 2048, the even one */
    ck_assert_uint_eq(got[1], 0x6ffe); /* 2046 + 3 * 2046 = 8184 */
}

TEST(refusals)
{
    float data[6] = {0};
    const struct pe_tensor table = matrix(PE_F32, 3, 2, data);
    static const struct learned_refusal cases[] = {
        {"", "length=1", PE_MISSING, "table"},
        {"table=x alpha=0.5", "length=1", PE_OUT_OF_RANGE, "alpha"},
        {"table=x alpha=0", "length=1", PE_OUT_OF_RANGE, "alpha"},
        {"table=x alpha=1", "length=1", PE_OUT_OF_RANGE, "alpha"},
        {"table=x dim=3", "length=1", PE_SHAPE_MISMATCH, "dim"},
        {"table=x", "length=10", PE_OUT_OF_RANGE, "length"},
        {"table=x", "positions=9", PE_OUT_OF_RANGE, "positions"},
        {"table=x", "length=1 start=-1", PE_OUT_OF_RANGE, "start"},
    };

    learned_refused("hierarchical", &table, cases, COUNT_OF(cases));
}
