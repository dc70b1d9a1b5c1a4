/* SPDX-License-Identifier: MIT */

/* -p ln(1 + a |i - j|), rounded once, against MPFR at 600 bits. */

#include "tests/check_main.h"
#include "tests/core/attention_reference.h"
#include "tests/core/bias_fixture.h"
#include "tests/core/table_fixture.h"

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

enum { KERNELS = COUNT_OF(kernels) };

static void want_write(const void *kernel, double distance, enum pe_dtype dtype, void *out)
{
    const struct kernel *k = kernel;
    mpfr_t value;

    mpfr_init2(value, 600);
    mpfr_set_d(value, fabs(distance), MPFR_RNDN);
    mpfr_mul_d(value, value, k->a, MPFR_RNDN);
    mpfr_log1p(value, value, MPFR_RNDN);
    mpfr_mul_d(value, value, -k->p, MPFR_RNDN);
    if (distance == 0)
        mpfr_set_zero(value, 1);
    oracle_write(value, dtype, out);
    mpfr_clear(value);
}

TEST(equals_the_rounded_formula)
{
    size_t compared = 0;

    for (size_t i = 0; i < KERNELS; i++)
        compared += bias_compare("kerple-log", kernels[i].text, 3000, want_write, &kernels[i]);
    ck_assert_uint_gt(compared, 80000);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
}

TEST(refused)
{
    static const struct refused cases[] = {
        {"p=1 a=1", PE_MISSING, "heads"},
        {"heads=2 a=1", PE_MISSING, "p"},
        {"heads=2 p=1", PE_MISSING, "a"},
        {"heads=0 p=1 a=1", PE_OUT_OF_RANGE, "heads"},
        {"heads=65537 p=1 a=1", PE_OUT_OF_RANGE, "heads"},
        {"heads=2 p=0 a=1", PE_OUT_OF_RANGE, "p"},
        {"heads=2 p=-1 a=1", PE_OUT_OF_RANGE, "p"},
        {"heads=2 p=1e31 a=1", PE_OUT_OF_RANGE, "p"},
        {"heads=2 p=1 a=0", PE_OUT_OF_RANGE, "a"},
        {"heads=3 p=1,2 a=1", PE_SHAPE_MISMATCH, "p"},
        {"heads=2 p=1 a=1,2,3", PE_SHAPE_MISMATCH, "a"},
        {"heads=2 bias_p=1 bias_a=1,2", PE_OK, ""},
    };

    refusals_check("kerple-log", cases, COUNT_OF(cases));
}
