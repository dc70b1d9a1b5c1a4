/* SPDX-License-Identifier: MIT */

/* The two kernels of KERPLE, correctly rounded, compared with MPFR. */

#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

struct kernel {
    const char *text;
    double p, a;
};

static size_t kernels_compare(const char *encoding, const struct kernel *kernels, size_t count,
                              void (*write)(const void *kernel, double distance,
                                            enum pe_dtype dtype, void *out))
{
    size_t compared = 0;

    for (size_t i = 0; i < count; i++)
        compared += bias_compare(encoding, kernels[i].text, 3000, write, &kernels[i]);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
    return compared;
}

/* -p ln(1 + a |i - j|) */
static void log_write(const void *kernel, double distance, enum pe_dtype dtype, void *out)
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

TEST(logarithmic_kernel)
{
    static const struct kernel kernels[] = {
        {"p=1 a=1", 1, 1},
        {"p=0.37 a=1.9", 0.37, 1.9},
        {"p=1e-30 a=1e-12", 1e-30, 1e-12},
        {"p=1e30 a=1e30", 1e30, 1e30},
        {"p=3 a=1e-300", 3, 1e-300},
        {"p=1e-300 a=5e-324", 1e-300, 5e-324},
        {"p=0.001 a=1e-6", 0.001, 1e-6},
    };

    ck_assert_uint_gt(kernels_compare("kerple-log", kernels, COUNT_OF(kernels), log_write), 80000);
}

/* -a |i - j|^p */
static void power_write(const void *kernel, double distance, enum pe_dtype dtype, void *out)
{
    const struct kernel *k = kernel;
    mpfr_t value, exponent;

    mpfr_init2(value, 1200);
    mpfr_init2(exponent, 53);
    mpfr_set_d(exponent, k->p, MPFR_RNDN);
    mpfr_set_d(value, fabs(distance), MPFR_RNDN);
    mpfr_pow(value, value, exponent, MPFR_RNDN);
    mpfr_mul_d(value, value, -k->a, MPFR_RNDN);
    mpfr_clear(exponent);
    if (distance == 0)
        mpfr_set_zero(value, 1);
    oracle_write(value, dtype, out);
    mpfr_clear(value);
}

TEST(power_kernel)
{
    static const struct kernel kernels[] = {
        {"p=1 a=0.7", 1, 0.7},
        {"p=2 a=0.3", 2, 0.3},
        {"p=0.5 a=1", 0.5, 1},
        {"p=0.5 a=1.0009765625", 0.5, 1.0009765625}, /* ties in f16 at squares */
        {"p=0.25 a=0.75390625", 0.25, 0.75390625},   /* and in bf16 at fourth powers */
        {"p=1.5 a=1e30", 1.5, 1e30},
        {"p=1.37 a=1e-30", 1.37, 1e-30},
        {"p=1e-12 a=3", 1e-12, 3},
        {"p=1.9 a=1e-300", 1.9, 1e-300},
        {"p=5e-324 a=0.1", 5e-324, 0.1},
    };

    ck_assert_uint_gt(kernels_compare("kerple-power", kernels, COUNT_OF(kernels), power_write),
                      80000);
}

/* With p = 1 it is alibi with a for slopes, bit for bit. */
TEST(power_one_is_alibi)
{
    const char *view = "query_length=50 key_length=70";

    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        OWNED_VIEWED alibi =
            viewed_new("alibi", "heads=2 slopes=0.37,3.1", "bias", view, NULL, dtype);
        OWNED_VIEWED power =
            viewed_new("kerple-power", "heads=2 a=0.37,3.1 p=1", "bias", view, NULL, dtype);
        ck_assert(alibi.count == power.count);
        ck_assert(memcmp(alibi.data, power.data, alibi.count * pe_dtype_info(dtype)->size) == 0);
    }
}

TEST(refused)
{
    static const struct refused both[] = {
        {"p=1 a=1", PE_MISSING, "heads"},
        {"heads=2 a=1", PE_MISSING, "p"},
        {"heads=2 p=1", PE_MISSING, "a"},
        {"heads=0 p=1 a=1", PE_OUT_OF_RANGE, "heads"},
        {"heads=65537 p=1 a=1", PE_OUT_OF_RANGE, "heads"},
        {"heads=2 p=0 a=1", PE_OUT_OF_RANGE, "p"},
        {"heads=2 p=-1 a=1", PE_OUT_OF_RANGE, "p"},
        {"heads=2 p=1 a=0", PE_OUT_OF_RANGE, "a"},
        {"heads=3 p=1,2 a=1", PE_SHAPE_MISMATCH, "p"},
        {"heads=2 p=1 a=1,2,3", PE_SHAPE_MISMATCH, "a"},
        {"heads=2 bias_p=1 bias_a=1,2", PE_OK, ""},
    };
    static const struct refused of_log[] = {{"heads=2 p=1e31 a=1", PE_OUT_OF_RANGE, "p"}};
    static const struct refused of_power[] = {{"heads=2 p=2.5 a=1", PE_OUT_OF_RANGE, "p"},
                                              {"heads=2 p=1 a=1e31", PE_OUT_OF_RANGE, "a"}};

    refusals_check("kerple-log", both, COUNT_OF(both));
    refusals_check("kerple-log", of_log, COUNT_OF(of_log));
    refusals_check("kerple-power", both, COUNT_OF(both));
    refusals_check("kerple-power", of_power, COUNT_OF(of_power));
}
