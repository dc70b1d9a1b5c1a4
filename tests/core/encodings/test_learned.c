/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/learned_fixture.h"
#include "tests/core/table_fixture.h"

static const enum pe_dtype floats[] = {PE_F64, PE_F32, PE_F16, PE_BF16};

TEST(rows_are_the_table)
{
    float data[] = {1, -0.0f, 3e-45f, 0.1f, 65520, -7};
    const struct pe_tensor table = matrix(PE_F32, 3, 2, data);
    size_t rows;
    OWNED_MEMORY float *all = learned_rows("learned", "table=x", &table, "length=3", PE_F32, &rows);
    OWNED_MEMORY float *some =
        learned_rows("learned", "table=x", &table, "positions=2,0,2", PE_F32, &rows);
    OWNED_MEMORY uint16_t *half =
        learned_rows("learned", "table=x", &table, "length=3", PE_F16, &rows);
    OWNED_MEMORY double *wide =
        learned_rows("learned", "table=x", &table, "start=2 step=-1 length=3", PE_F64, &rows);
    const uint16_t expected[] = {0x3c00, 0x8000, 0, 0x2e66, 0x7c00, 0xc700};

    ck_assert_int_eq(memcmp(all, data, sizeof(data)), 0);
    ck_assert_int_eq(
        memcmp(some, data + 4, 8) | memcmp(some + 2, data, 8) | memcmp(some + 4, data + 4, 8), 0);
    ck_assert_int_eq(memcmp(half, expected, sizeof(expected)), 0);
    for (size_t i = 0; i < 6; i++)
        ck_assert_double_eq(wide[i], (double)data[(2 - i / 2) * 2 + i % 2]);
}

/* RN(scale e / |E|) by exact squares of thousands of bits; norm NULL: 1. */
static void by_mpfr(double value, double scale, const double *row, size_t width,
                    enum pe_dtype dtype, void *out)
{
    mpfr_t sum, square, product;

    mpfr_inits2(EXACT_BITS, sum, square, product, (mpfr_ptr)NULL);
    mpfr_set_d(product, value, MPFR_RNDN);
    mpfr_mul_d(product, product, scale, MPFR_RNDN);
    mpfr_set_zero(sum, 1);
    for (size_t i = 0; i < width; i++) {
        mpfr_set_d(square, row[i], MPFR_RNDN);
        mpfr_sqr(square, square, MPFR_RNDN);
        mpfr_add(sum, sum, square, MPFR_RNDN);
    }
    if (width > 0 && !mpfr_zero_p(sum)) {
        mpfr_sqrt(sum, sum, MPFR_RNDN);
        mpfr_div(product, product, sum, MPFR_RNDN);
    }
    oracle_write(product, dtype, out);
    mpfr_clears(sum, square, product, (mpfr_ptr)NULL);
}

/* A row for each range of exponents: all within double-doubles, none, and some. */
TEST(scaled_and_normed_against_mpfr)
{
    static const int ranges[] = {0, 20, 300, 900, 2000};
    enum { WIDTH = 24, ROWS = COUNT_OF(ranges) };
    static const char *const texts[] = {
        "table=x scale=0.3", "table=x scale=-1e30", "table=x scale=5e-324",
        "table=x scale=0",   "table=x l2norm=true", "table=x l2norm=true scale=27.712812921102035"};
    static const double scales[] = {0.3, -1e30, 5e-324, 0, 1, 27.712812921102035};
    double data[ROWS * WIDTH];
    uint64_t seed = 7;
    size_t rows, checked = 0;

    for (size_t i = 0; i < ROWS * WIDTH; i++)
        data[i] = any_double(&seed, ranges[i / WIDTH]);
    data[3] = 0;
    data[4] = -0.0;
    const struct pe_tensor table = matrix(PE_F64, ROWS, WIDTH, data);
    for (size_t text = 0; text < COUNT_OF(texts); text++)
        for (size_t f = 0; f < 4; f++) {
            const size_t size = pe_dtype_info(floats[f])->size;
            OWNED_MEMORY char *got =
                learned_rows("learned", texts[text], &table, "length=5", floats[f], &rows);
            for (size_t i = 0; i < ROWS * WIDTH; i++) {
                char expected[8];
                by_mpfr(data[i], scales[text], data + i / WIDTH * WIDTH,
                        strstr(texts[text], "l2norm") ? WIDTH : 0, floats[f], expected);
                ck_assert_msg(memcmp(got + i * size, expected, size) == 0, "%s %s element %zu %a",
                              texts[text], pe_dtype_info(floats[f])->name, i, data[i]);
                checked++;
            }
        }
    printf("%zu elements\n", checked);
}

/* 3, 4, 0 has norm 5, and 3 scaled by 5/3 of a tie is a tie, which no approximation decides. */
TEST(ties_of_norms_go_to_even)
{
    double data[] = {3, 4, 0, 0, 0, 0};
    const struct pe_tensor table = matrix(PE_F64, 2, 3, data);
    size_t rows;
    /* 4 / 5 * 5 * 1025.5 / 2^2 = 1025.5 is halfway between two f16. */
    OWNED_MEMORY uint16_t *got = learned_rows("learned", "table=x l2norm=1 scale=1281.875", &table,
                                              "length=2", PE_F16, &rows);

    ck_assert_uint_eq(got[1], 0x6402); /* 1026, the even one */
    ck_assert_uint_eq(got[3] | got[4] | got[5], 0);
}

TEST(refusals)
{
    float data[6] = {0};
    struct pe_tensor table = matrix(PE_F32, 3, 2, data);
    struct pe_error err = {0};
    static const struct learned_refusal cases[] = {
        {"", "length=1", PE_MISSING, "table"},
        {"table=x dim=3", "length=1", PE_SHAPE_MISMATCH, "dim"},
        {"table=x dim=0", "length=1", PE_OUT_OF_RANGE, "dim"},
        {"table=x table=y", "length=1", PE_CONFLICT, "table"},
        {"table=x version=0", "length=1", PE_OUT_OF_RANGE, "version"},
        {"table=x scale=1e31", "length=1", PE_OUT_OF_RANGE, "scale"},
        {"table=x l2norm=2", "length=1", PE_INVALID, "l2norm"},
        {"table=x", "", PE_MISSING, "length"},
        {"table=x", "length=4", PE_OUT_OF_RANGE, "length"},
        {"table=x", "length=1 start=3", PE_OUT_OF_RANGE, "start"},
        {"table=x", "length=1 start=-1", PE_OUT_OF_RANGE, "start"},
        {"table=x", "length=2 step=0.5", PE_OUT_OF_RANGE, "step"},
        {"table=x", "positions=0,3", PE_OUT_OF_RANGE, "positions"},
        {"table=x", "positions=0.5", PE_OUT_OF_RANGE, "positions"},
        {"table=x", "positions=-1", PE_OUT_OF_RANGE, "positions"},
    };

    learned_refused("learned", &table, cases, COUNT_OF(cases));
    ck_assert_int_eq(pe_table_check(&table, "tensor:x", NULL, &err), PE_OK);
    data[3] = NAN;
    ck_assert_int_eq(pe_table_check(&table, "tensor:x", NULL, &err), PE_OUT_OF_RANGE);
    ck_assert_str_eq(err.where, "tensor:x");
    ck_assert_ptr_nonnull(strstr(err.detail, "row 1 has nan in column 1"));
    err = (struct pe_error){0};
    table.shape[0] = 0;
    ck_assert_int_eq(pe_table_check(&table, "tensor:x", NULL, &err), PE_SHAPE_MISMATCH);
    err = (struct pe_error){0};
    table = matrix(PE_I64, 1, 1, data);
    ck_assert_int_eq(pe_table_check(&table, "tensor:x", NULL, &err), PE_UNSUPPORTED);
    err = (struct pe_error){0};
    table.rank = 1;
    ck_assert_int_eq(pe_table_check(&table, "tensor:x", NULL, &err), PE_SHAPE_MISMATCH);
}

TEST(others_have_no_table)
{
    float data[2] = {0};
    const struct pe_tensor table = matrix(PE_F32, 1, 2, data);
    struct pe_params params;
    struct pe_scheme *scheme;
    struct pe_error err = {0};

    ck_assert_int_eq(pe_params_parse(&params, "index", "", &err), PE_OK);
    ck_assert_int_eq(pe_scheme_open(&scheme, pe_encoding_find("index"), &params, NULL, &err),
                     PE_OK);
    ck_assert_int_eq(pe_scheme_give(scheme, "table", &table, NULL, &err), PE_CONFLICT);
    ck_assert_str_eq(err.where, "parameter:table");
    pe_params_free(&params);
    pe_scheme_free(scheme);
}
