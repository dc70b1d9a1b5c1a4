/* SPDX-License-Identifier: MIT */
#include "core/exact/correct_rounding.h"
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"
#include "tests/core/table_fixture.h"

/* zeta^p by powers of the fraction as the paper has it, (i / (d/2) + gamma) / (1 + gamma) with
 * gamma = 2/5, i counting pairs; the library takes logarithms. */

enum { ROWS = 9 };

static struct {
    size_t dim;
    double base, scale_base, center, positions[ROWS];
    bool is_sin, is_key;
} p;

static void scale_set(mpfr_ptr out, double t, size_t pair)
{
    mpfr_t exponent;

    mpfr_init2(exponent, ORACLE_BITS);
    mpfr_set_ui(out, pair, MPFR_RNDN);
    mpfr_div_ui(out, out, p.dim / 2, MPFR_RNDN);
    mpfr_mul_ui(out, out, 5, MPFR_RNDN);
    mpfr_add_ui(out, out, 2, MPFR_RNDN);
    mpfr_div_ui(out, out, 7, MPFR_RNDN);
    mpfr_set_d(exponent, t, MPFR_RNDN);
    mpfr_sub_d(exponent, exponent, p.center, MPFR_RNDN);
    mpfr_div_d(exponent, exponent, p.is_key ? -p.scale_base : p.scale_base, MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_clear(exponent);
}

static void element(mpfr_ptr out, size_t row, size_t column)
{
    mpfr_t scale;

    mpfr_init2(scale, ORACLE_BITS);
    scale_set(scale, p.positions[row], column);
    oracle_power(out, p.base, (double)column, (double)p.dim / 2);
    oracle_wave(out, p.positions[row], p.is_sin);
    mpfr_mul(out, out, scale, MPFR_RNDN);
    mpfr_clear(scale);
}

static void case_print(char *text, size_t text_size, char *view, size_t view_size)
{
    size_t used;

    snprintf(text, text_size, "dim=%zu base=%.17g scale_base=%.17g t_center=%.17g", p.dim, p.base,
             p.scale_base, p.center);
    used = (size_t)snprintf(view, view_size, "side=%s positions=", p.is_key ? "key" : "query");
    for (size_t i = 0; i < ROWS; i++)
        used += (size_t)snprintf(view + used, view_size - used, "%s%.17g", i ? "," : "",
                                 p.positions[i]);
}

TEST(equals_mpfr)
{
    static const size_t dims[] = {2, 6, 64, 20, 38};
    static const double bases[] = {512, 1, 7.25, 1e6}, centers[] = {0, 5, 100.1, -3, 4096};
    size_t checked = 0;

    for (size_t i = 0; i < 20; i++) {
        char text[200], view[600];
        size_t used;
        p.dim = dims[i % 5], p.base = i % 3 ? 10000 : 50;
        p.scale_base = bases[i % 4], p.center = centers[i / 4 % 5];
        p.is_key = i % 2, p.is_sin = i / 2 % 2;
        for (size_t row = 0; row < ROWS; row++) /* up to e^100 and beyond */
            p.positions[row] = p.center + ((double)row - 4) * (row % 3 ? 1 : 0.37) * p.scale_base *
                                              (row == 8 && i % 4 > 1 ? 50 : 3);
        p.positions[2] = 0;
        if (fabs(p.center) * log(3.5) / p.scale_base > 600)
            p.positions[2] = p.center;
        case_print(text, sizeof(text), view, sizeof(view));
        used = strlen(view);
        snprintf(view + used, sizeof(view) - used, " part=%s", p.is_sin ? "sin" : "cos");
        checked += expect_rounded("xpos", text, view, element);
    }
    printf("xpos: %zu elements\n", checked);
}

TEST(scales_equal_mpfr)
{
    size_t checked = 0;
    mpfr_t value;

    mpfr_init2(value, ORACLE_BITS);
    for (size_t i = 0; i < 16; i++) {
        char text[200], view[600];
        p.dim = i % 2 ? 64 : 40, p.base = 10000, p.scale_base = 512, p.center = 100.5;
        p.is_key = i / 2 % 2;
        for (size_t row = 0; row < ROWS; row++)
            p.positions[row] = (double)(row * row * row) * 40.3 - 1e4;
        case_print(text, sizeof(text), view, sizeof(view));
        OWNED_VIEWED got = viewed_new("xpos", text, "scale", view, NULL, (enum pe_dtype)(i / 4));
        for (size_t at = 0; at < got.count; at++, checked++) {
            double number;
            pe_to_f64(&number, (char *)got.data + at * pe_dtype_info(got.output->dtype)->size,
                      got.output->dtype, 1);
            scale_set(value, p.positions[at / (p.dim / 2)], at % (p.dim / 2));
            ck_assert_msg(number == oracle_round(value, got.output->dtype),
                          "%s %s %s [%zu]: %a, %a", text, view,
                          pe_dtype_info(got.output->dtype)->name, at, number,
                          oracle_round(value, got.output->dtype));
        }
    }
    mpfr_clear(value);
    printf("scales: %zu elements\n", checked);
}

/* Rows of the kernels equal those in double-doubles, which compute all rows of a call that has one
 * this far from the center. */
TEST(rows_of_kernels)
{
    enum { COUNT = 70, WIDTH = 76, LISTS = 3 };
    static const double schemes[][4] = {/* scale_base, t_center, start, step */
                                        {512, 100.5, -3, 1},
                                        {3, 20, 0, 0.25},
                                        {40, 3, 60, -1},
                                        {1e5, 1e6, 990000, 128}};

    for (size_t i = 0; i < 24; i++) {
        const double *s = schemes[i % 4];
        const enum pe_dtype dtype = PE_F32 + i % 3;
        const char *end = i & 8 ? "side=key part=complex" : "part=complex";
        char text[120], views[LISTS][1600];
        size_t used[LISTS];
        snprintf(text, sizeof(text), "dim=%d scale_base=%.17g t_center=%.17g", WIDTH, s[0], s[1]);
        for (size_t k = 1; k < LISTS; k++)
            used[k] = (size_t)snprintf(views[k], sizeof(views[k]), "%s positions=", end);
        for (size_t row = 0; row < COUNT; row++)
            for (size_t k = 1; k < LISTS; k++)
                used[k] += (size_t)snprintf(views[k] + used[k], sizeof(views[k]) - used[k],
                                            "%s%.17g", row ? "," : "", s[2] + (double)row * s[3]);
        snprintf(views[0], sizeof(views[0]), "%s start=%.17g step=%.17g length=%d", end, s[2], s[3],
                 COUNT);
        snprintf(views[2] + used[2], sizeof(views[2]) - used[2], ",%.17g", s[1] + 90 * s[0]);
        OWNED_VIEWED even = viewed_new("xpos", text, "table", views[0], NULL, dtype);
        OWNED_VIEWED listed = viewed_new("xpos", text, "table", views[1], NULL, dtype);
        OWNED_VIEWED exact = viewed_new("xpos", text, "table", views[2], NULL, dtype);
        const size_t size = even.count * pe_dtype_info(dtype)->size;
        ck_assert_uint_eq(even.count, COUNT * WIDTH);
        ck_assert_mem_eq(even.data, exact.data, size);
        ck_assert_mem_eq(listed.data, exact.data, size);
    }
}

/* (3/4)^7 lies between two neighbours of f16, (4/3)^-7 likewise; 1 at the center. */
TEST(ties)
{
    const unsigned long before = pe_exact_undecided();
    struct filled query = filled_new("xpos", "dim=40 t_center=-3584", "positions=0", PE_F16, false);
    struct filled key =
        filled_new("xpos", "dim=40 t_center=3584", "positions=0 side=key", PE_F16, false);
    OWNED_VIEWED scale =
        viewed_new("xpos", "dim=40 t_center=5", "scale", "positions=3589,5", NULL, PE_F16);
    double tie;

    /* 2187 / 2^14: 12 bits that end in 011, rounded up to 2188 */
    ck_assert(filled_at(&query, 0, 13) == 2188 * 0x1p-14);
    ck_assert(filled_at(&key, 0, 13) == 2188 * 0x1p-14);
    pe_to_f64(&tie, (char *)scale.data + 13 * 2, PE_F16, 1);
    ck_assert(tie == 2188 * 0x1p-14);
    for (size_t pair = 0; pair < 20; pair++) {
        pe_to_f64(&tie, (char *)scale.data + (20 + pair) * 2, PE_F16, 1);
        ck_assert(tie == 1);
    }
    ck_assert_uint_eq(pe_exact_undecided(), before);
    free(query.data);
    free(key.data);
}

/* microsoft/torchscale 776b070d, torchscale/component/xpos_relative_position.py, XPOS.forward: of
 * `length` rows the exponents begin at -(length + offset) // 2, the angles at 0, and the last rows
 * are taken. */
TEST(torchscale)
{
    enum { LENGTH = 5, OFFSET = 4, DIM = 8, ALL = LENGTH + OFFSET, FIRST = -5 };
    double want[LENGTH * DIM / 2];

    for (size_t row = 0; row < LENGTH; row++)
        for (size_t pair = 0; pair < DIM / 2; pair++) {
            const double scale = (2.0 * (double)pair + 0.4 * DIM) / (1.4 * DIM);
            const double index = (double)(row + OFFSET);
            want[row * DIM / 2 + pair] = sin(index * pow(10000, -(double)pair / (DIM / 2))) /
                                         pow(scale, (FIRST + index) / 512);
        }
    expect_table("xpos", "dim=8 t_center=5", "start=4 length=5 part=sin side=key", want, LENGTH,
                 DIM / 2, 1e-15);
}

static void turn(const struct pe_scheme *scheme, double *x, double t, bool is_key, bool is_delta,
                 bool inverse)
{
    const struct pe_axes axes = {1, 1, 1, 1, 16};
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {.start = t, .count = 1},
              .is_key = is_key, .is_delta = is_delta, .inverse = inverse);
    struct pe_rotation *rotation = rotation_new(&spec, PE_F64, NULL);

    pe_rotate(rotation, x, &axes, 0, 1, NULL, &(struct pe_error){0});
    pe_rotation_free(rotation);
}

static void vectors_set(double *q, double *k)
{
    for (size_t i = 0; i < 16; i++) {
        q[i] = sin((double)i + 1);
        k[i] = cos((double)(i * i));
    }
}

static double score(const char *text, double m, double n)
{
    struct pe_scheme *scheme = scheme_new("xpos", text);
    double q[16], k[16], sum = 0;

    vectors_set(q, k);
    turn(scheme, q, m, false, false, false);
    turn(scheme, k, n, true, false, false);
    for (size_t i = 0; i < 16; i++)
        sum += q[i] * k[i];
    pe_scheme_free(scheme);
    return sum;
}

/* Scores depend on the distance alone, not on the center; rotations by a distance add up, and
 * inverses undo. */
TEST(relations)
{
    const double want = score("dim=16 t_center=0", 100, 40);
    double q[16], k[16], moved[16], original[16];
    OWNED_SCHEME scheme = scheme_new("xpos", "dim=16 t_center=3");

    ck_assert(fabs(score("dim=16 t_center=0", 1100, 1040) - want) < 1e-13);
    ck_assert(fabs(score("dim=16 t_center=777.25", 100, 40) - want) < 1e-13);
    ck_assert(fabs(score("dim=16 t_center=0 scale_base=300", 100, 40) - want) > 1e-3);
    for (int is_key = 0; is_key < 2; is_key++) {
        vectors_set(q, k);
        memcpy(moved, q, sizeof(q));
        memcpy(original, q, sizeof(q));
        turn(scheme, q, 500, is_key, false, false);
        turn(scheme, moved, 120, is_key, false, false);
        turn(scheme, moved, 380, is_key, true, false);
        for (size_t i = 0; i < 16; i++)
            ck_assert(fabs(moved[i] - q[i]) < 1e-14);
        turn(scheme, q, 500, is_key, false, true);
        for (size_t i = 0; i < 16; i++)
            ck_assert(fabs(q[i] - original[i]) < 1e-14);
    }
}

TEST(refusals)
{
    static const char positions[] = "parameter:positions";
    OWNED_SCHEME scheme = scheme_new("xpos", "dim=16 t_center=0");
    struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {.start = 40000, .count = 1});
    struct pe_rotation *rotation;
    struct pe_error err = {0};

    expect_refused("xpos", "dim=16", "length=1", PE_MISSING, "t_center");
    expect_refused("xpos", "dim=15 t_center=0", "length=1", PE_OUT_OF_RANGE, "dim");
    expect_refused("xpos", "dim=16 t_center=0 scale_base=0", "length=1", PE_OUT_OF_RANGE,
                   "scale_base");
    expect_refused("xpos", "dim=16 t_center=0", "length=1 side=value", PE_INVALID, "side");
    expect_refused("xpos", "dim=16 t_center=0", "positions=300000", PE_OUT_OF_RANGE, positions);
    expect_refused("xpos", "dim=16 t_center=300000", "length=2", PE_OUT_OF_RANGE, positions);
    expect_refused("xpos", "dim=16 t_center=0", "length=300000", PE_OUT_OF_RANGE, positions);
    ck_assert_int_eq(pe_rotation_new(&rotation, &spec, PE_F32, NULL, NULL, &err), PE_OUT_OF_RANGE);
    ck_assert_str_eq(err.where, positions);
    err = (struct pe_error){0};
    ck_assert(!pe_rotation_new(&rotation, &spec, PE_F64, NULL, NULL, &err));
    pe_rotation_free(rotation);
}
