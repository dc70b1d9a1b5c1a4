/* SPDX-License-Identifier: MIT */

/* Many rows at once are the same bytes as one element after another. */

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encoding.h"
#include "core/frequencies.h"
#include "core/rows.h"

static uint64_t state = 88172645463325252;

static uint64_t random_next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double random_unit(void)
{
    return (double)(random_next() >> 11) * 0x1p-53;
}

static struct pe_scheme *scheme_new(const char *encoding, const char *text)
{
    struct pe_params params;
    struct pe_scheme *scheme = NULL;
    struct pe_error err = {0};

    ck_assert_msg(pe_params_parse(&params, encoding, text, &err) == PE_OK, "%s", err.detail);
    ck_assert_msg(pe_scheme_new(&scheme, encoding, &params, &err) == PE_OK, "%s: %s", text,
                  err.detail);
    pe_params_free(&params);
    return scheme;
}

static size_t compared, misses;

/* Rows [begin, end) in one call against element by element. */
static void compare(const struct pe_scheme *scheme, const struct pe_positions *positions,
                    size_t begin, size_t end, enum pe_amplitude amplitude, enum pe_dtype dtype)
{
    const struct pe_frequencies *f = scheme->frequencies;
    const size_t pairs = pe_frequencies_count(f), size = pe_dtype_info(dtype)->size;
    const size_t stride = pairs + random_next() % 3, rows = end - begin;
    char *got[2], *want = malloc(2 * pairs * size);

    for (int i = 0; i < 2; i++)
        got[i] = malloc(rows * stride * size);
    if (!pe_rows_write(f, positions, begin, end, amplitude, dtype, stride, got[0], got[1]))
        misses++;
    else
        for (size_t row = 0; row < rows; row++) {
            pe_frequencies_pairs(f, positions, begin + row, 0, pairs, amplitude, dtype, want,
                                 want + pairs * size);
            for (int i = 0; i < 2; i++)
                ck_assert_msg(memcmp(want + (size_t)i * pairs * size, got[i] + row * stride * size,
                                     pairs * size) == 0,
                              "row %zu of %zu, %s, dtype %d, start %.17g, step %.17g", row, rows,
                              i ? "sin" : "cos", (int)dtype, positions->start, positions->step);
            compared += 2 * pairs;
        }
    free(got[0]);
    free(got[1]);
    free(want);
}

static const enum pe_dtype dtypes[] = {PE_F32, PE_F16, PE_BF16};

START_TEST(test_regular_tables)
{
    static const char *const bases[] = {"10000", "500000", "1000000", "1.0001", "1e30", "100"};

    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        char text[80];
        snprintf(text, sizeof(text), "dim=64 base=%s", bases[i]);
        struct pe_scheme *scheme = scheme_new("rope", text);
        const struct pe_positions positions = {0, 1, NULL, 1 << 20, 1};
        for (size_t d = 0; d < 3; d++) {
            compare(scheme, &positions, 0, 3000, PE_AMPLITUDE_FACTOR, dtypes[d]);
            compare(scheme, &positions, 1000000, 1001000, PE_AMPLITUDE_FACTOR, dtypes[d]);
        }
        pe_scheme_free(scheme);
    }
    printf("regular: %zu elements\n", compared);
    ck_assert_uint_eq(misses, 0);
}
END_TEST

/* Any start, step, width and cut; angles near 2^53 and next to nothing. */
START_TEST(test_random_tables)
{
    compared = misses = 0;
    for (int i = 0; i < 400; i++) {
        char text[120];
        snprintf(text, sizeof(text), "dim=%d base=%.17g", 2 + 2 * (int)(random_next() % 70),
                 1 + exp(random_unit() * 60 - 10));
        struct pe_scheme *scheme = scheme_new("rope", text);
        const double reach = exp2(random_unit() * 80 - 30);
        struct pe_positions positions = {reach * (random_unit() - 0.5),
                                         exp2(random_unit() * 40 - 30), NULL, 1000, 1};
        if (i % 3 == 0)
            positions.start = floor(positions.start), positions.step = 1;
        if (i % 5 == 0)
            positions.step = -positions.step;
        if (i % 7 == 0)
            positions.start = fabs(positions.start);
        if (fabs(positions.start) + 1000 * fabs(positions.step) < 0x1p53) {
            const size_t begin = random_next() % 500, rows = 16 + random_next() % 400;
            compare(scheme, &positions, begin, begin + rows, (enum pe_amplitude)(i % 3),
                    dtypes[i % 3]);
        }
        pe_scheme_free(scheme);
    }
    printf("random: %zu elements, %zu tables not made at once\n", compared, misses);
    ck_assert_uint_gt(compared, 1000000);
    ck_assert_uint_lt(misses, 40);
}
END_TEST

START_TEST(test_scaled_and_wide)
{
    static const char *const texts[] = {
        "dim=128 base=500000 rope_type=llama3 factor=8 low_freq_factor=1 high_freq_factor=4 "
        "original_max_position_embeddings=8192",
        "dim=64 rope_type=yarn factor=40 original_max_position_embeddings=4096",
        "dim=64 rope_type=yarn factor=4 original_max_position_embeddings=4096 "
        "attention_factor=0.3",
        "dim=2", "dim=16386"};

    compared = misses = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pe_scheme *scheme = scheme_new("rope", texts[i]);
        const struct pe_positions positions = {0, 1, NULL, 1 << 30, 1};
        for (int a = 0; a < 3; a++)
            for (size_t d = 0; d < 3; d++)
                compare(scheme, &positions, i * 777, i * 777 + (i == 4 ? 40 : 500),
                        (enum pe_amplitude)a, dtypes[d]);
        pe_scheme_free(scheme);
    }
    printf("scaled and wide: %zu elements\n", compared);
    ck_assert_uint_eq(misses, 0);
}
END_TEST

/* What is left to the other path says so. */
START_TEST(test_left_alone)
{
    struct pe_scheme *scheme = scheme_new("rope", "dim=8");
    const double values[20] = {0};
    const struct pe_positions regular = {0, 1, NULL, 100, 1}, listed = {0, 0, values, 20, 1},
                              tiny = {0, 1e-300, NULL, 100, 1};
    char out[20 * 4 * 8];

    ck_assert(!pe_rows_write(scheme->frequencies, &regular, 0, 20, PE_AMPLITUDE_ONE, PE_F64, 4, out,
                             NULL));
    ck_assert(!pe_rows_write(scheme->frequencies, &listed, 0, 20, PE_AMPLITUDE_ONE, PE_F32, 4, out,
                             NULL));
    ck_assert(
        !pe_rows_write(scheme->frequencies, &tiny, 0, 20, PE_AMPLITUDE_ONE, PE_F32, 4, out, NULL));
    ck_assert(!pe_rows_write(scheme->frequencies, &regular, 0, 3, PE_AMPLITUDE_ONE, PE_F32, 4, out,
                             NULL));
    ck_assert(pe_rows_write(scheme->frequencies, &regular, 0, 20, PE_AMPLITUDE_ONE, PE_F32, 4, out,
                            NULL));
    pe_scheme_free(scheme);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tests = tcase_create("rows");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, test_regular_tables);
    tcase_add_test(tests, test_random_tables);
    tcase_add_test(tests, test_scaled_and_wide);
    tcase_add_test(tests, test_left_alone);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
