/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

#include "posenc/comparison.h"

/* The analyses wavelengths, error and shift. */

TEST(wavelengths_and_rotations)
{
    static const struct oracle_scheme scheme = {10000, 4, 16};
    size_t checked = 0;
    mpfr_t w, pi;

    mpfr_inits2(ORACLE_BITS, w, pi, (mpfr_ptr)NULL);
    mpfr_const_pi(pi, MPFR_RNDN);
    mpfr_mul_2ui(pi, pi, 1, MPFR_RNDN);
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        struct analysed a = analysed_new("rope", "dim=16 rope_type=linear factor=4", "wavelengths",
                                         "context=4096.5", dtype);
        for (size_t pair = 0; pair < 8; pair++, checked++) {
            oracle_frequency(w, &scheme, pair);
            mpfr_div(w, pi, w, MPFR_RNDN);
            ck_assert_double_eq(a.outputs[0][pair], oracle_round(w, dtype));
            mpfr_d_div(w, 4096.5, w, MPFR_RNDN);
            ck_assert_double_eq(a.outputs[1][pair], oracle_round(w, dtype));
        }
        analysed_free(&a);
    }
    mpfr_clears(w, pi, (mpfr_ptr)NULL);
    ck_assert_uint_eq(checked, 32);
}

/* Wavelengths of dim 8 are 6.28, 62.8, 628 and 6283. */
TEST(pairs_that_never_rotate)
{
    static const struct {
        const char *text, *view;
        double scalars[4];
    } cases[] = {
        {"dim=8", "context=62", {62, 0x1.921fb54442d18p+2, 0x1.88b2f704a940ap+12, 3}},
        {"dim=8", "context=63", {63, 0x1.921fb54442d18p+2, 0x1.88b2f704a940ap+12, 2}},
        {"dim=8", "context=0.001", {0.001, 0x1.921fb54442d18p+2, 0x1.88b2f704a940ap+12, 4}},
        {"dim=2 max_position_embeddings=7", "", {7, 0x1.921fb54442d18p+2, 0x1.921fb54442d18p+2, 0}},
        {"dim=4 rope_type=proportional partial_rotary_factor=0.5",
         "context=7",
         {7, 0x1.921fb54442d18p+2, INFINITY, 1}},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct analysed a =
            analysed_new("rope", cases[i].text, "wavelengths", cases[i].view, PE_F64);
        struct pe_scalar scalar;
        for (size_t k = 0; k < 4; k++) {
            ck_assert(pe_view_scalar(a.opened.view, k, &scalar));
            ck_assert_msg(scalar.value == cases[i].scalars[k], "%s %s: %s is %a", cases[i].text,
                          cases[i].view, scalar.name, scalar.value);
        }
        ck_assert(!pe_view_scalar(a.opened.view, 4, &scalar));
        analysed_free(&a);
    }
}

/* |value - factor cos(t w)| in f32, the worse one of cosine and sine. */
static float error_of(const struct oracle_scheme *s, size_t pair, double t, const double values[2])
{
    float worst = 0;
    mpfr_t real;

    mpfr_init2(real, ORACLE_BITS);
    for (int is_sin = 0; is_sin < 2; is_sin++) {
        oracle_frequency(real, s, pair);
        oracle_wave(real, t, is_sin);
        mpfr_sub_d(real, real, values[is_sin], MPFR_RNDN);
        mpfr_abs(real, real, MPFR_RNDN);
        worst = fmaxf(worst, (float)oracle_round(real, PE_F32));
    }
    mpfr_clear(real);
    return worst;
}

static double round_to(double value, enum pe_dtype dtype)
{
    unsigned char bytes[8];

    pe_from_f64(bytes, dtype, &value, 1);
    pe_to_f64(&value, bytes, dtype, 1);
    return value;
}

/* The table through a rounded angle; through false: the exact one. */
static void table_of(const struct oracle_scheme *s, size_t pair, double t, bool through,
                     enum pe_dtype angle, enum pe_dtype dtype, double values[2])
{
    mpfr_t real;

    mpfr_init2(real, ORACLE_BITS);
    for (int is_sin = 0; is_sin < 2; is_sin++) {
        oracle_frequency(real, s, pair);
        if (through) {
            const double w = oracle_round(real, angle);
            mpfr_set_d(real, round_to(round_to(t, angle) * w, angle), MPFR_RNDN);
            (is_sin ? mpfr_sin : mpfr_cos)(real, real, MPFR_RNDN);
            values[is_sin] = round_to(oracle_round(real, angle), dtype);
        } else {
            oracle_wave(real, t, is_sin);
            values[is_sin] = oracle_round(real, dtype);
        }
    }
    mpfr_clear(real);
}

TEST(errors_of_rounded_angles)
{
    static const char *const names[] = {"exact", "f64", "f32", "f16", "bf16"};
    static const double positions[] = {0, 1, 1000, 131071, 16777217, 9007199254740991, -77};
    static const struct oracle_scheme scheme = {10000, 1, 8};
    size_t checked = 0;

    for (size_t angle = 0; angle < 5; angle++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            char view[160];
            snprintf(view, sizeof(view),
                     "angle=%s positions=0,1,1000,131071,16777217,9007199254740991,-77",
                     names[angle]);
            struct analysed a =
                analysed_new(dtype % 2 ? "rope" : "sinusoidal", "dim=8", "error", view, dtype);
            for (size_t i = 0; i < 7 * 4; i++, checked++) {
                const double t = positions[i / 4];
                const enum pe_dtype type = angle > 0 ? (enum pe_dtype)(PE_F64 + angle - 1) : PE_F64;
                double values[2], exact[2], ulps = 0;
                if (angle == 3 && fabs(t) > 65504) { /* beyond f16 */
                    ck_assert(isinf(a.outputs[0][i]) && isinf(a.outputs[1][i]));
                    continue;
                }
                table_of(&scheme, i % 4, t, angle > 0, type, dtype, values);
                table_of(&scheme, i % 4, t, false, type, dtype, exact);
                ck_assert_msg(a.outputs[0][i] == (double)error_of(&scheme, i % 4, t, values),
                              "%s %s [%zu]: got %a", view, pe_dtype_info(dtype)->name, i,
                              a.outputs[0][i]);
                for (size_t k = 0; k < 2; k++) {
                    unsigned char x[8], y[8];
                    pe_from_f64(x, dtype, &values[k], 1);
                    pe_from_f64(y, dtype, &exact[k], 1);
                    ulps = fmax(ulps, (float)pe_ulps_apart(dtype, x, y));
                }
                ck_assert_double_eq(a.outputs[1][i], ulps);
            }
            analysed_free(&a);
        }
    printf("error: %zu pairs\n", checked);
    ck_assert_uint_eq(checked, 5 * 4 * 7 * 4);
}

/* The known errors of float32 angles: 3e-3 at 131 071, 5e-2 at 10^6, 0.64 at 10^7. */
TEST(errors_of_float32_are_as_large_as_known)
{
    struct analysed a = analysed_new("rope", "dim=128", "error",
                                     "angle=f32 positions=131071,1000000,10000000", PE_F32);
    static const double least[] = {2e-3, 2e-2, 0.2}, most[] = {8e-3, 8e-2, 1};

    for (size_t row = 0; row < 3; row++) {
        double worst = 0;
        for (size_t pair = 0; pair < 64; pair++)
            worst = fmax(worst, a.outputs[0][row * 64 + pair]);
        ck_assert_msg(worst > least[row] && worst < most[row], "row %zu: %g", row, worst);
    }
    analysed_free(&a);
}

/* Blocks and left are rounded real numbers; right and residual are computed from the rounded
 * ones. */
TEST(shift_has_both_sides)
{
    static const double starts[] = {0, 3, -100.5, 0x1p40}, deltas[] = {5, -3, 0.25, 1e6};
    static const struct oracle_scheme scheme = {10000, 1, 6};
    size_t checked = 0;
    mpfr_t real, sum, term;

    mpfr_inits2(4400, sum, term, (mpfr_ptr)NULL);
    mpfr_init2(real, ORACLE_BITS);
    for (size_t i = 0; i < 4 * 4 * 2; i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            const bool rotary = i % 2;
            const double t = starts[i / 2 % 4], delta = deltas[i / 8];
            char view[120];
            snprintf(view, sizeof(view), "position=%.17g delta=%.17g", t, delta);
            struct analysed a =
                analysed_new(rotary ? "rope" : "sinusoidal", "dim=6", "shift", view, dtype);
            for (size_t pair = 0; pair < 3; pair++) {
                double turn[2], before[2], behind[2]; /* cos, sin */
                table_of(&scheme, pair, delta, false, dtype, dtype, turn);
                table_of(&scheme, pair, t, false, dtype, dtype, before);
                table_of(&scheme, pair, t + delta, false, dtype, dtype, behind);
                const double *block = a.outputs[0] + 4 * pair;
                const double sign = rotary ? -1 : 1;
                ck_assert(block[0] == turn[0] && block[3] == turn[0]);
                ck_assert(block[1] == sign * turn[1] && block[2] == -sign * turn[1]);
                for (size_t k = 0; k < 2; k++, checked++) {
                    const size_t at = 2 * pair + k;
                    ck_assert_double_eq(a.outputs[1][at], behind[rotary ? k : 1 - k]);
                    mpfr_set_d(sum, block[2 * k], MPFR_RNDN);
                    mpfr_mul_d(sum, sum, before[rotary ? 0 : 1], MPFR_RNDN);
                    mpfr_set_d(term, block[2 * k + 1], MPFR_RNDN);
                    mpfr_mul_d(term, term, before[rotary ? 1 : 0], MPFR_RNDN);
                    mpfr_add(sum, sum, term, MPFR_RNDN);
                    ck_assert_double_eq(a.outputs[2][at], oracle_round(sum, dtype));
                    mpfr_d_sub(sum, a.outputs[1][at], sum, MPFR_RNDN);
                    ck_assert_double_eq(a.outputs[3][at], oracle_round(sum, dtype));
                }
            }
            analysed_free(&a);
        }
    mpfr_clears(real, sum, term, (mpfr_ptr)NULL);
    ck_assert_uint_eq(checked, 32 * 4 * 6);
}

TEST(refusals)
{
    expect_analysis_refused("sinusoidal", "dim=8", "wavelengths", "", PE_MISSING,
                            "parameter:context");
    expect_analysis_refused("rope", "dim=8", "wavelengths", "context=0", PE_OUT_OF_RANGE,
                            "parameter:context");
    expect_analysis_refused("rope", "dim=8", "error", "length=4 angle=f8", PE_INVALID,
                            "parameter:angle");
    expect_analysis_refused("rope", "dim=8", "error", "", PE_MISSING, "parameter:length");
    expect_analysis_refused("rope", "dim=8", "shift", "delta=1", PE_MISSING, "parameter:position");
    expect_analysis_refused("rope", "dim=8", "shift", "position=1", PE_MISSING, "parameter:delta");
    expect_analysis_refused("rope", "dim=8", "shift", "position=9007199254740991 delta=1",
                            PE_OUT_OF_RANGE, "parameter:delta");
}
