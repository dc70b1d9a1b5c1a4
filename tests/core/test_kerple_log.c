/* SPDX-License-Identifier: MIT */

/* -p ln(1 + a |i - j|), rounded once, against MPFR at 600 bits. */

#include "tests/core/attention_reference.h"
#include "tests/core/view_fixture.h"

static const struct kernel {
    const char *text;
    double p, a;
} kernels[] = {
    {"p=1 a=1", 1, 1},
    {"p=0.37 a=1.9", 0.37, 1.9},
    {"p=1e-30 a=1e-12", 1e-30, 1e-12},
    {"p=1e30 a=1e30", 1e30, 1e30},
    {"p=3 a=1e-300", 3, 1e-300},
    {"p=1e-300 a=5e-324", 1e-300, 5e-324},
    {"p=0.001 a=1e-6", 0.001, 1e-6},
};

enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};

static void want_write(const struct kernel *k, double distance, enum pe_dtype dtype, void *out)
{
    mpfr_t value;

    mpfr_init2(value, 600);
    mpfr_set_d(value, fabs(distance), MPFR_RNDN);
    mpfr_mul_d(value, value, k->a, MPFR_RNDN);
    mpfr_log1p(value, value, MPFR_RNDN);
    mpfr_mul_d(value, value, -k->p, MPFR_RNDN);
    if (distance == 0)
        mpfr_set_zero(value, 1);
    pe_mpfr_write(value, dtype, out);
    mpfr_clear(value);
}

START_TEST(equals_the_rounded_formula)
{
    static const char *const places[] = {
        "query_length=1 key_length=3000 query_start=20",
        "query_length=3 key_length=40 query_start=123456789012",
        "query_length=2 key_length=40 query_start=-9007199254740991",
        "query_length=2 key_length=9 query_start=9007199254740990",
    };
    static const double starts[] = {20, 123456789012, -9007199254740991, 9007199254740990};
    unsigned char want[8];
    size_t compared = 0;
    char text[120];

    for (size_t i = 0; i < KERNELS * 16; i++) {
        const struct kernel *k = &kernels[i / 16];
        const enum pe_dtype dtype = dtypes[i / 4 % 4];
        const size_t size = pe_dtype_info(dtype)->size;
        snprintf(text, sizeof(text), "heads=1 %s", k->text);
        struct viewed got = viewed_new("kerple-log", text, "bias", places[i % 4], NULL, dtype);
        for (size_t e = 0; e < got.count; e++) {
            /* The distance has 54 bits where the query is at the end: two doubles hold it. */
            const double key = (double)(e % got.output->shape[2]);
            const double query = starts[i % 4] + (double)(e / got.output->shape[2]);
            if (key - query != floor(key - query) || (key - query) + query != key)
                continue;
            want_write(k, key - query, dtype, want);
            ck_assert_msg(memcmp(want, (char *)got.data + e * size, size) == 0, "%s %zu", text, e);
            compared++;
        }
        viewed_free(&got);
    }
    printf("kerple-log: %zu elements rounded as by MPFR\n", compared);
    ck_assert_uint_gt(compared, 80000);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
}
END_TEST

/* One number for all heads or one for each; the later a key, the more is masked. */
START_TEST(heads_and_mask)
{
    const char *view = "query_length=7 key_length=9 causal=true";
    struct viewed all =
        viewed_new("kerple-log", "heads=3 p=1,2,3 a=0.5", "bias", view, NULL, PE_F32);

    ck_assert(all.output->shape[0] == 3 && all.count == 3 * 7 * 9);
    for (size_t head = 0; head < 3; head++) {
        char text[60];
        snprintf(text, sizeof(text), "heads=1 p=%zu a=0.5", head + 1);
        struct viewed one = viewed_new("kerple-log", text, "bias", view, NULL, PE_F32);
        ck_assert(memcmp(one.data, (float *)all.data + head * 63, 63 * sizeof(float)) == 0);
        for (size_t i = 0; i < 63; i++) {
            const float value = ((float *)one.data)[i];
            ck_assert_int_eq(isinf(value) != 0, i % 9 > i / 9 + 2);
            ck_assert(i % 9 != i / 9 + 2 || (value == 0 && !signbit(value)));
        }
        viewed_free(&one);
    }
    viewed_free(&all);
}
END_TEST

START_TEST(refused)
{
    static const struct refused cases[] = {
        {"p=1 a=1", PE_MISSING, "parameter:heads"},
        {"heads=2 a=1", PE_MISSING, "parameter:p"},
        {"heads=2 p=1", PE_MISSING, "parameter:a"},
        {"heads=0 p=1 a=1", PE_OUT_OF_RANGE, "parameter:heads"},
        {"heads=65537 p=1 a=1", PE_OUT_OF_RANGE, "parameter:heads"},
        {"heads=2 p=0 a=1", PE_OUT_OF_RANGE, "parameter:p"},
        {"heads=2 p=-1 a=1", PE_OUT_OF_RANGE, "parameter:p"},
        {"heads=2 p=1e31 a=1", PE_OUT_OF_RANGE, "parameter:p"},
        {"heads=2 p=nan a=1", PE_INVALID, "parameter:p"},
        {"heads=2 p=1 a=inf", PE_INVALID, "parameter:a"},
        {"heads=2 p=1 a=0", PE_OUT_OF_RANGE, "parameter:a"},
        {"heads=2 p=one a=1", PE_INVALID, "parameter:p"},
        {"heads=3 p=1,2 a=1", PE_SHAPE_MISMATCH, "parameter:p"},
        {"heads=2 p=1 a=1,2,3", PE_SHAPE_MISMATCH, "parameter:a"},
        {"heads=2 heads=3 p=1 a=1", PE_CONFLICT, "parameter:heads"},
        {"heads=2 p=1 a=1 slopes=1", PE_UNKNOWN_PARAMETER, ""},
        {"heads=2 bias_p=1 bias_a=1,2", PE_OK, ""},
    };

    refusals_check("kerple-log", cases, sizeof(cases) / sizeof(cases[0]));
}
END_TEST

START_TEST(attention_adds_the_bias)
{
    size_t compared = 0;

    for (unsigned i = 0; i < 60; i++) {
        struct problem p = problem_of(i);
        p.position = KERPLE_LOG;
        compared += attention_compare(&p, NULL);
    }
    printf("kerple-log: %zu elements of attention equal to the naive formula\n", compared);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kerple-log");
    TCase *tests = tcase_create("kerple-log");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, equals_the_rounded_formula);
    tcase_add_test(tests, heads_and_mask);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, attention_adds_the_bias);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
