/* SPDX-License-Identifier: MIT */
#include "core/scheme/scheme.h"
#include "core/tables/cosine_sums.h"
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

/* factor^2 * sum of cos(offset * w), or the mean of the cosines. */
static void sum_of(mpfr_ptr out, const struct oracle_scheme *s, double attention, double offset,
                   bool mean)
{
    mpfr_t w;

    mpfr_init2(w, ORACLE_BITS);
    mpfr_set_zero(out, 1);
    for (size_t pair = 0; pair < s->dim / 2; pair++) {
        oracle_frequency(w, s, pair);
        oracle_wave(w, offset, false);
        mpfr_add(out, out, w, MPFR_RNDN);
    }
    if (mean) {
        mpfr_div_ui(out, out, s->dim / 2, MPFR_RNDN);
    } else {
        mpfr_mul_d(out, out, attention, MPFR_RNDN);
        mpfr_mul_d(out, out, attention, MPFR_RNDN);
    }
    mpfr_clear(w);
}

static const struct {
    const char *encoding, *text;
    struct oracle_scheme scheme;
    double attention;
} cases[] = {
    {"sinusoidal", "dim=16", {10000, 1, 16}, 1},
    {"sinusoidal", "dim=2 layout=concatenated base=1.5", {1.5, 1, 2}, 1},
    {"rope", "dim=64 base=500000", {500000, 1, 64}, 1},
    {"rope", "dim=128 rope_type=linear factor=8", {10000, 8, 128}, 1},
    {"rope",
     "dim=6 rope_type=yarn factor=1 max_position_embeddings=64 attention_factor=1.25",
     {10000, 1, 6},
     1.25},
};

enum { RANGES = 4, SUMS = 12 };

/* Every sum is computed once in MPFR, and compared in four dtypes. */
static size_t range_check(size_t index, double first, bool mean)
{
    struct analysed a[PE_BF16 + 1];
    char view[120];
    size_t checked = 0;
    mpfr_t real;

    mpfr_init2(real, ORACLE_BITS);
    snprintf(view, sizeof(view), "min_offset=%.0f max_offset=%.0f normalize=%d", first,
             first + SUMS - 1, mean);
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++)
        a[dtype] = analysed_new(cases[index].encoding, cases[index].text, "decay", view, dtype);
    for (size_t k = 0; k < SUMS; k++) {
        sum_of(real, &cases[index].scheme, cases[index].attention, first + (double)k, mean);
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++, checked++) {
            const double got = a[dtype].outputs[0][k], want = oracle_round(real, dtype);
            ck_assert_msg(got == want, "%s %s %s %s [%zu]: got %a, want %a", cases[index].encoding,
                          cases[index].text, view, pe_dtype_info(dtype)->name, k, got, want);
            ck_assert_double_eq(a[dtype].outputs[2][k], first + (double)k);
        }
    }
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++)
        analysed_free(&a[dtype]);
    mpfr_clear(real);
    return checked;
}

TEST(sums_are_rounded_correctly)
{
    static const double firsts[RANGES] = {-12, 131048, 0x1p53 - SUMS, -0x1p53 + 1};
    size_t checked = 0;

    for (size_t index = 0; index < COUNT_OF(cases); index++)
        for (size_t i = 0; i < RANGES; i++)
            checked += range_check(index, firsts[i], (index + i) % 2);
    printf("decay: %zu sums\n", checked);
    ck_assert_uint_eq(checked, 5 * RANGES * SUMS * 4);
}

/* yarn's factor, 0.1 ln f + 1, is not a double. */
TEST(attention_factor_is_real)
{
    struct analysed a = analysed_new(
        "rope",
        "dim=2 rope_type=yarn factor=4 max_position_embeddings=64 beta_fast=64 beta_slow=32",
        "decay", "max_offset=0", PE_F64);
    mpfr_t factor;

    mpfr_init2(factor, ORACLE_BITS);
    mpfr_set_ui(factor, 4, MPFR_RNDN);
    mpfr_log(factor, factor, MPFR_RNDN);
    mpfr_div_ui(factor, factor, 10, MPFR_RNDN);
    mpfr_add_ui(factor, factor, 1, MPFR_RNDN);
    mpfr_sqr(factor, factor, MPFR_RNDN);
    ck_assert_double_eq(a.outputs[0][0], mpfr_get_d(factor, MPFR_RNDN));
    mpfr_clear(factor);
    analysed_free(&a);
}

/* 257 cosines of 1 are a tie in bf16. */
TEST(ties_go_to_even)
{
    struct analysed a = analysed_new("sinusoidal", "dim=514", "decay", "max_offset=0", PE_BF16);

    ck_assert_double_eq(a.outputs[0][0], 256);
    analysed_free(&a);
    a = analysed_new("sinusoidal", "dim=514", "decay", "max_offset=0 normalize=true", PE_BF16);
    ck_assert_double_eq(a.outputs[0][0], 1);
    analysed_free(&a);
}

TEST(envelope_bounds_farther_offsets)
{
    static const int firsts[] = {-200, 0, 37, -300};
    static const int lasts[] = {200, 200, 90, -20};
    size_t rises = 0;

    for (size_t i = 0; i < 4; i++) {
        char view[80];
        snprintf(view, sizeof(view), "min_offset=%d max_offset=%d", firsts[i], lasts[i]);
        struct analysed a = analysed_new("rope", "dim=16 base=100", "decay", view, PE_F32);
        for (int at = firsts[i]; at <= lasts[i]; at++) {
            double most = 0;
            for (int other = firsts[i]; other <= lasts[i]; other++)
                if ((at >= 0 && other >= at) || (at <= 0 && other <= at))
                    most = fmax(most, fabs(a.outputs[0][other - firsts[i]]));
            ck_assert_double_eq(a.outputs[1][at - firsts[i]], most);
            rises +=
                at < lasts[i] && a.outputs[0][at + 1 - firsts[i]] > a.outputs[0][at - firsts[i]];
        }
        analysed_free(&a);
    }
    ck_assert_uint_gt(rises, 50); /* it oscillates */
}

/* Without complete pairs the anchor matters: decay is the product of two rows of the table. */
TEST(products_of_rows)
{
    static const char *const rows[][2] = {{"all-sin", "dim=9"},
                                          {"periodic", "dim=5"},
                                          {"sinusoidal", "dim=7"},
                                          {"index", ""},
                                          {"binary", "dim=9"}};
    size_t checked = 0;

    for (size_t i = 0; i < 5; i++) {
        struct filled table = filled_new(rows[i][0], rows[i][1], "length=60", PE_F64, false);
        struct analysed a = analysed_new(rows[i][0], rows[i][1], "decay",
                                         "anchor=20 min_offset=-20 max_offset=39", PE_F64);
        for (size_t row = 0; row < 60; row++, checked++) {
            long double sum = 0, size = 0;
            for (size_t column = 0; column < table.columns; column++) {
                const long double product =
                    (long double)filled_at(&table, 20, column) * filled_at(&table, row, column);
                sum += product;
                size += fabsl(product);
            }
            ck_assert_msg(fabsl(a.outputs[0][row] - sum) <= size * 0x1p-49, "%s [%zu]: got %a",
                          rows[i][0], row, a.outputs[0][row]);
        }
        analysed_free(&a);
        free(table.data);
    }
    ck_assert_uint_eq(checked, 300);
}

TEST(biases)
{
    struct analysed a =
        analysed_new("alibi", "heads=2", "decay", "min_offset=-3 max_offset=2", PE_F64);

    for (int head = 0; head < 2; head++)
        for (int at = -3; at <= 2; at++)
            ck_assert_double_eq(a.outputs[0][head * 6 + at + 3],
                                -abs(at) * (head ? 0x1p-8 : 0x1p-4));
    analysed_free(&a);
    a = analysed_new("alibi", "heads=1", "decay", "min_offset=7 max_offset=8", PE_F64);
    ck_assert_double_eq(a.outputs[0][0], -7 * 0x1p-8);
    analysed_free(&a);
    /* Raffel et al.: keys after the query have the second half of the buckets. */
    a = analysed_new("t5", "", "decay", "min_offset=-9 max_offset=1", PE_F32);
    ck_assert_double_eq(a.outputs[0][0], 8);
    ck_assert_double_eq(a.outputs[0][9], 0);
    ck_assert_double_eq(a.outputs[0][10], 17);
    ck_assert_double_eq(a.outputs[1][10], 1);
    analysed_free(&a);
}

/* A sample equals the element of the same offset. Both ends are among them, and 0 if they are dense
 * around it. */
TEST(samples_are_some_of_the_elements)
{
    static const char *const encodings[][3] = {{"rope", "dim=16", ""},
                                               {"timestep", "dim=8", ""},
                                               {"index", "", ""},
                                               {"index", "", "anchor=50"},
                                               {"all-sin", "dim=9", "anchor=77"},
                                               {"sinusoidal", "dim=7", "anchor=41"},
                                               {"alibi", "heads=2", ""},
                                               {"t5", "", ""},
                                               {"sandwich", "heads=2 dim=8", ""}};

    for (size_t i = 0; i < COUNT_OF(encodings); i++)
        for (int dense = 0; dense < 2; dense++) {
            const char *name = encodings[i][0], *text = encodings[i][1];
            char view[120], full[80];
            snprintf(view, sizeof(view), "min_offset=-40 max_offset=300 samples=12 %s %s",
                     encodings[i][2], dense ? "sample_spacing=log" : "");
            snprintf(full, sizeof(full), "min_offset=-40 max_offset=300 %s", encodings[i][2]);
            struct analysed all = analysed_new(name, text, "decay", full, PE_F32);
            struct analysed some = analysed_new(name, text, "decay", view, PE_F32);
            const size_t last = pe_view_output(some.opened.view, 2) ? 2 : 1,
                         count = some.counts[last];
            size_t zeros = 0;
            ck_assert_uint_le(count, 12);
            ck_assert_double_eq(some.outputs[last][0], -40);
            ck_assert_double_eq(some.outputs[last][count - 1], 300);
            for (size_t at = 0; at < some.counts[0]; at++) {
                const size_t offset = (size_t)(some.outputs[last][at % count] + 40);
                zeros += offset == 40;
                ck_assert_double_eq(some.outputs[0][at], all.outputs[0][at / count * 341 + offset]);
            }
            ck_assert(!dense || zeros == some.counts[0] / count);
            analysed_free(&all);
            analysed_free(&some);
        }
}

TEST(refusals)
{
    static const char most[] = "max_offset", anchor[] = "anchor";

    expect_analysis_refused("rope", "dim=8", "decay", "", PE_MISSING, most);
    expect_analysis_refused("rope", "dim=8", "decay", "min_offset=3 max_offset=2", PE_CONFLICT,
                            most);
    expect_analysis_refused("rope", "dim=8", "decay", "max_offset=1.5", PE_INVALID, most);
    expect_analysis_refused("rope", "dim=8", "decay", "max_offset=1e300", PE_OUT_OF_RANGE, most);
    expect_analysis_refused("all-sin", "dim=8", "decay", "anchor=9007199254740991 max_offset=1",
                            PE_OUT_OF_RANGE, anchor);
    expect_analysis_refused("binary", "dim=3", "decay", "anchor=7 max_offset=1", PE_OUT_OF_RANGE,
                            anchor);
    expect_analysis_refused("binary", "dim=3", "decay", "min_offset=-1 max_offset=1",
                            PE_OUT_OF_RANGE, anchor);
}

/* Sums computed together equal those computed one by one. */
TEST(sums_of_many_offsets)
{
    enum { COUNT = 150 };
    static const char *const texts[] = {"dim=26", "dim=200 base=1e6"};
    const double listed[] = {5, -3, 0, 1e15, 7, 8, 9, 0x1p52};
    const struct pe_positions all[] = {{.start = -40, .step = 1, .count = COUNT},
                                       {.start = 0.25, .step = 1e5, .count = COUNT},
                                       {.start = 1e11, .step = -1, .count = 20},
                                       {.values = listed, .count = 8}};

    for (size_t which = 0; which < 4 * COUNT_OF(all); which++) {
        const struct pe_positions *offsets = &all[which / 4];
        const enum pe_dtype dtype = which % 4;
        const size_t size = pe_dtype_info(dtype)->size;
        OWNED_SCHEME scheme = scheme_new("rope", texts[which & 1]);
        const struct pe_cosines cosines =
            pe_cosines_of(pe_waves_of(scheme)->frequencies, which % 3 == 0);
        unsigned char want[COUNT * sizeof(double)], got[COUNT * sizeof(double)];
        struct pe_error err = {0};
        for (size_t i = 0; i < offsets->count; i++) {
            const struct pe_position at = pe_position_of(offsets, i);
            ck_assert(!pe_cosines_write(&cosines, &at, dtype, want + i * size, NULL, &err));
        }
        ck_assert(!pe_cosines_fill(&cosines, offsets, 0, offsets->count, dtype, got, NULL, &err));
        ck_assert_mem_eq(want, got, offsets->count * size);
    }
}
