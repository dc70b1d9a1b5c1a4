/* SPDX-License-Identifier: MIT */
#include "posenc/pool.h"
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

/* The analyses similarity and uniqueness. */

/* Products compared with MPFR, within the bound that core/views/similarity.c states. */
TEST(similarity_is_within_its_bound)
{
    static const struct oracle_scheme scheme = {10000, 1, 40};
    static const double starts[] = {0, -7, 131000, 0x1p52};
    size_t checked = 0;
    mpfr_t real, w;

    mpfr_inits2(ORACLE_BITS, real, w, (mpfr_ptr)NULL);
    for (size_t i = 0; i < 4; i++) {
        char view[80];
        snprintf(view, sizeof(view), "length=9 start=%.0f", starts[i]);
        struct analysed a = analysed_new("sinusoidal", "dim=40", "similarity", view, PE_F64);
        struct analysed b = analysed_new("rope", "dim=40", "similarity", view, PE_F64);
        for (size_t steps = 0; steps < 9; steps++) {
            mpfr_set_zero(real, 1);
            for (size_t pair = 0; pair < 20; pair++) {
                oracle_frequency(w, &scheme, pair);
                oracle_wave(w, (double)steps, false);
                mpfr_add(real, real, w, MPFR_RNDN);
            }
            const double want = mpfr_get_d(real, MPFR_RNDN), bound = (40 / 8 + 8) * 0x1p-53 * 20;
            for (size_t row = 0; row + steps < 9; row++, checked++) {
                ck_assert_double_eq_tol(a.outputs[0][row * 9 + row + steps], want, bound);
                ck_assert_double_eq_tol(b.outputs[0][row * 9 + row + steps], want, bound);
                ck_assert_double_eq(a.outputs[0][row * 9 + row + steps],
                                    a.outputs[0][(row + steps) * 9 + row]);
            }
        }
        analysed_free(&a);
        analysed_free(&b);
    }
    mpfr_clears(real, w, (mpfr_ptr)NULL);
    ck_assert_uint_eq(checked, 4 * 45);
}

/* A row's cosine with itself is exactly 1; the anchor's row of the matrix equals the view with an
 * anchor. The rows take several tiles. */
TEST(similarity_of_an_anchor)
{
    static const char *const encodings[][2] = {{"sinusoidal", "dim=33"}, {"rope", "dim=12"},
                                               {"all-sin", "dim=9"},     {"index", ""},
                                               {"binary", "dim=10"},     {"timestep", "dim=8"}};

    for (size_t i = 0; i < 6; i++)
        for (int normalize = 0; normalize < 2; normalize++) {
            const char *name = encodings[i][0], *text = encodings[i][1];
            char view[80], anchored[80];
            snprintf(view, sizeof(view), "length=700 normalize=%d", normalize);
            snprintf(anchored, sizeof(anchored), "length=700 anchor=611 normalize=%d", normalize);
            struct analysed matrix = analysed_new(name, text, "similarity", view, PE_F32);
            struct analysed row = analysed_new(name, text, "similarity", anchored, PE_F32);
            ck_assert_uint_eq(row.counts[0], 700);
            ck_assert_mem_eq(row.outputs[0], matrix.outputs[0] + (size_t)611 * 700,
                             700 * sizeof(double));
            for (size_t at = 1; normalize && at < 700; at++)
                ck_assert_double_eq(matrix.outputs[0][at * 700 + at], 1);
            analysed_free(&matrix);
            analysed_free(&row);
        }
}

struct blocks {
    struct pe_job job; /* first, so that a pointer to it points to the struct */
    const struct pe_view *view;
    size_t rows; /* of a block */
    float *out;
};

static void block_fill(struct pe_job *job, size_t block)
{
    const struct blocks *blocks = (const struct blocks *)job;
    const struct pe_output *output = pe_view_output(blocks->view, 0);
    const size_t begin = block * blocks->rows, end = begin + blocks->rows;

    pe_view_fill(blocks->view, 0, begin, end < output->rows ? end : output->rows,
                 blocks->out + begin * output->row_elements, NULL, &(struct pe_error){0});
}

/* Threads share the cached rows: results do not depend on their number or on the ranges. */
TEST(threads_make_the_same)
{
    enum { ROWS = 600 };
    struct analysed alone = analysed_new("rope", "dim=64", "similarity", "length=600", PE_F32);
    struct pe_error err = {0};
    struct pe_pool *pool;
    size_t different = 0;

    ck_assert(!pe_pool_new(&pool, 4, false, &err));
    for (size_t rows = 1; rows < 200; rows *= 7) {
        OWNED_OPENED opened = request_open(&(const struct request){.encoding = "rope",
                                                                   .text = "dim=64",
                                                                   .view = "similarity",
                                                                   .view_text = "length=600",
                                                                   .dtype = PE_F32});
        struct blocks blocks = {.job = {.run = block_fill, .blocks = (ROWS + rows - 1) / rows},
                                .view = opened.view,
                                .rows = rows,
                                .out = malloc(ROWS * ROWS * sizeof(float))};
        pe_pool_run(pool, &blocks.job);
        for (size_t i = 0; i < ROWS * ROWS; i++)
            different += (double)blocks.out[i] != alone.outputs[0][i];
        free(blocks.out);
    }
    ck_assert_uint_eq(different, 0);
    pe_pool_free(pool);
    analysed_free(&alone);
}

/* The cosine with a row of zeros is 0. */
TEST(similarity_of_nothing)
{
    struct analysed a =
        analysed_new("binary", "dim=4", "similarity", "length=3 normalize=true", PE_F64);

    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq(a.outputs[0][i], 0);
    analysed_free(&a);
}

/* 2 sqrt(sum sin^2(steps w / 2)) */
static double distance_of(const struct oracle_scheme *s, double steps, enum pe_dtype dtype)
{
    double distance;
    mpfr_t sum, w;

    mpfr_inits2(ORACLE_BITS, sum, w, (mpfr_ptr)NULL);
    mpfr_set_zero(sum, 1);
    for (size_t pair = 0; pair < s->dim / 2; pair++) {
        oracle_frequency(w, s, pair);
        oracle_wave(w, steps / 2, true);
        mpfr_sqr(w, w, MPFR_RNDN);
        mpfr_add(sum, sum, w, MPFR_RNDN);
    }
    mpfr_sqrt(sum, sum, MPFR_RNDN);
    mpfr_mul_2ui(sum, sum, 1, MPFR_RNDN);
    distance = oracle_round(sum, dtype);
    mpfr_clears(sum, w, (mpfr_ptr)NULL);
    return distance;
}

/* One pair returns nearest after 6, 25, 44, 333, 710 steps: the convergents of 2 pi. */
TEST(one_pair_meets_itself)
{
    static const struct {
        const char *view;
        double steps;
    } cases[] = {{"length=7", 6},     {"length=40", 25},
                 {"length=45", 44},   {"length=333", 44},
                 {"length=334", 333}, {"length=710", 333},
                 {"length=711", 710}, {"length=2000 start=-5", 710}};
    const struct oracle_scheme scheme = {10000, 1, 2};

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            struct analysed a = analysed_new("rope", "dim=2", "uniqueness", cases[i].view, dtype);
            ck_assert_double_eq(a.outputs[1][1] - a.outputs[1][0], cases[i].steps);
            ck_assert_double_eq(a.outputs[0][0], distance_of(&scheme, cases[i].steps, dtype));
            analysed_free(&a);
        }
}

/* The search by steps and the comparison of all rows find the same two. */
TEST(both_ways_find_the_same)
{
    static const char *const texts[] = {"dim=2", "dim=4 base=30", "dim=6 base=7", "dim=16 base=2"};
    char list[200] = "positions=0..180";

    for (size_t i = 0; i < 4; i++) {
        struct analysed even =
            analysed_new("sinusoidal", texts[i], "uniqueness", "length=181", PE_F64);
        struct analysed all = analysed_new("sinusoidal", texts[i], "uniqueness", list, PE_F64);
        ck_assert_double_eq(even.outputs[1][0], all.outputs[1][0]);
        ck_assert_double_eq(even.outputs[1][1], all.outputs[1][1]);
        ck_assert_double_eq_tol(even.outputs[0][0], all.outputs[0][0], 0x1p-48);
        analysed_free(&even);
        analysed_free(&all);
    }
}

/* 256 and 257 are one number in bf16, 2048 and 2049 in f16. */
TEST(rounded_rows_collide)
{
    static const struct {
        enum pe_dtype dtype;
        const char *view;
        double first, distance;
    } cases[] = {{PE_BF16, "length=300 rounded=true", 256, 0},
                 {PE_BF16, "length=300", 0, 1},
                 {PE_F16, "length=2100 rounded=true", 2048, 0},
                 {PE_F32, "start=16777200 length=30 rounded=true", 16777216, 0},
                 {PE_F32, "start=16777200 length=30", 16777200, 1}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct analysed a = analysed_new("index", "", "uniqueness", cases[i].view, cases[i].dtype);
        ck_assert_double_eq(a.outputs[0][0], cases[i].distance);
        ck_assert_double_eq(a.outputs[1][0], cases[i].first);
        ck_assert_double_eq(a.outputs[1][1], cases[i].first + 1);
        analysed_free(&a);
    }
}

TEST(refusals)
{
    static const char length[] = "parameter:length";

    expect_analysis_refused("rope", "dim=8", "similarity", "", PE_MISSING, length);
    expect_analysis_refused("rope", "dim=8", "similarity", "length=2 positions=1", PE_CONFLICT,
                            "parameter:positions");
    expect_analysis_refused("rope", "dim=1024", "similarity", "length=1000000000000000",
                            PE_TOO_LARGE, length);
    expect_analysis_refused("binary", "dim=2", "similarity", "length=4 anchor=4", PE_OUT_OF_RANGE,
                            "parameter:anchor");
    expect_analysis_refused("binary", "dim=2", "similarity", "length=4 anchor=0.5", PE_OUT_OF_RANGE,
                            "parameter:anchor");
    expect_analysis_refused("rope", "dim=8", "uniqueness", "length=1", PE_OUT_OF_RANGE, length);
    expect_analysis_refused("rope", "dim=8", "uniqueness", "positions=4", PE_OUT_OF_RANGE,
                            "parameter:positions");
    expect_analysis_refused("rope", "dim=8", "uniqueness", "length=4 rounded=maybe", PE_INVALID,
                            "parameter:rounded");
}
