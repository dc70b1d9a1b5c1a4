/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

/* ---- the formula ----------------------------------------------------------------------------- */

enum { AXES = 2, PAIRS = 4, COLUMNS = 2 * AXES * PAIRS + AXES };

/* Numerators of coordinates and frequencies, and their denominators: whole numbers, so that the
 * reference is exact before its sine. */
static struct {
    size_t axes, pairs; /* pairs of an axis, or of all axes together */
    bool together;
    double x[8][AXES], x_over, f[AXES][PAIRS], f_over, turns;
} p;

static void element(mpfr_ptr out, size_t row, size_t column)
{
    const size_t pairs = p.together ? p.pairs : p.axes * p.pairs, pair = column % pairs;

    mpfr_set_ui(out, 0, MPFR_RNDN);
    for (size_t axis = 0; axis < p.axes; axis++) {
        mpfr_t product;
        if (!p.together && axis != pair / p.pairs)
            continue;
        mpfr_init2(product, ORACLE_BITS);
        mpfr_set_d(product, p.x[row][axis], MPFR_RNDN);
        mpfr_mul_d(product, product, p.f[axis][p.together ? pair : pair % p.pairs], MPFR_RNDN);
        mpfr_add(out, out, product, MPFR_RNDN);
        mpfr_clear(product);
    }
    mpfr_mul_d(out, out, 2 * p.turns, MPFR_RNDN);
    mpfr_div_d(out, out, p.x_over * p.f_over, MPFR_RNDN);
    (column < pairs ? mpfr_sinpi : mpfr_cospi)(out, out, MPFR_RNDN);
    if (mpfr_zero_p(out))
        mpfr_set_zero(out, 1);
}

/* NeRF: octaves, of points that are no fractions of a turn and of those that are. */
TEST(octaves_equal_mpfr)
{
    static const double points[] = {0, 1, 0.5, -0.25, 0.1, 1e-30, 12345.6789, 9007199254740991};

    p.axes = 1, p.pairs = 4, p.together = false, p.turns = 0.5, p.x_over = p.f_over = 1;
    for (size_t i = 0; i < 8; i++)
        p.x[i][0] = points[i];
    for (size_t k = 0; k < 4; k++)
        p.f[0][k] = ldexp(1, (int)k);
    ck_assert_uint_gt(expect_rounded("fourier", "bands=4",
                                     "coordinates=0,1,0.5,-0.25,0.1,1e-30,12345.6789,"
                                     "9007199254740991",
                                     element),
                      0);
}

/* Perceiver: frequencies 1 + k (r/2 - 1) / 3 at n points from -1 to 1. */
TEST(linear_bands_equal_mpfr)
{
    const double last[] = {224, 50};

    p.axes = 2, p.pairs = 4, p.together = false, p.turns = 0.5, p.x_over = 3, p.f_over = 3;
    for (size_t axis = 0; axis < 2; axis++)
        for (size_t k = 0; k < 4; k++)
            p.f[axis][k] = 3 + (double)k * (last[axis] / 2 - 1);
    for (size_t i = 0; i < 8; i++) {
        p.x[i][0] = i / 4 ? 3 : -3;
        p.x[i][1] = 2 * (double)(i % 4) - 3;
    }
    ck_assert_uint_gt(expect_rounded("fourier",
                                     "bands=4 max_resolution=224,50 axes_coordinates=ends "
                                     "axes_size=2,4",
                                     "shape=2,4", element),
                      0);
}

/* SAM: a matrix, at the centres of 2 x 4 pixels. */
TEST(matrix_equals_mpfr)
{
    static const double matrix[2][4] = {{1.5, -0.3, 1e-20, 0}, {0.25, 2.7, 123456.789, 0}};

    p.axes = 2, p.pairs = 4, p.together = true, p.turns = 1, p.x_over = 4, p.f_over = 1;
    memcpy(p.f, matrix, sizeof(matrix));
    for (size_t i = 0; i < 8; i++) {
        p.x[i][0] = 2 * (2 * (double)(i / 4) + 1 - 2);
        p.x[i][1] = 2 * (double)(i % 4) + 1 - 4;
    }
    ck_assert_uint_gt(expect_rounded("fourier",
                                     "matrix=1.5,-0.3,1e-20,0;0.25,2.7,123456.789,0 "
                                     "axes_coordinates=centres axes_size=2,4",
                                     "shape=2,4", element),
                      0);
}

/* Radians: the product of a coordinate and a listed frequency or the factor of bands, near 0 and so
 * far that doubles do not reduce it. */
static double radians[2];

static void radian(mpfr_ptr out, size_t row, size_t column)
{
    mpfr_set_d(out, p.x[row][0], MPFR_RNDN);
    mpfr_mul_d(out, out, radians[column % 2], MPFR_RNDN);
    (column < 2 ? mpfr_sin : mpfr_cos)(out, out, MPFR_RNDN);
    if (mpfr_zero_p(out))
        mpfr_set_zero(out, 1);
}

TEST(radians_equal_mpfr)
{
    static const double points[] = {0, 1, -0.5, 0.785398163397448, 3.3e-9, 12345.6789, 1e12, 7e15};
    static const struct {
        const char *text;
        double frequencies[2];
    } cases[] = {{"frequencies=0.7,3.3 unit=radian", {0.7, 3.3}},
                 {"frequencies=1e-20,1e9 unit=radian", {1e-20, 1e9}},
                 {"frequencies=1.5707963267948966,4e18 unit=radian", {1.5707963267948966, 4e18}},
                 {"bands=2 scale=1.7 unit=radian", {1.7, 3.4}}};

    for (size_t i = 0; i < COUNT_OF(points); i++)
        p.x[i][0] = points[i];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        memcpy(radians, cases[i].frequencies, sizeof(radians));
        ck_assert_uint_gt(expect_rounded("fourier", cases[i].text,
                                         "coordinates=0,1,-0.5,0.785398163397448,3.3e-9,12345.6789,"
                                         "1e12,7e15",
                                         radian),
                          0);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The columns of two coordinates and two bands: s0x is the sine of band 0 of x. */
static void expect_order(const char *text, const char *order)
{
    const double x = 0.1, y = 0.23;
    const size_t columns = strlen(order) / 3;
    double want[COLUMNS];

    for (size_t i = 0; i < columns; i++) {
        const char *name = order + 3 * i;
        const double at = name[2] == 'x' ? x : y, angle = M_PI * (name[1] - '0' + 1) * at;
        want[i] = name[0] == 's' ? sin(angle) : name[0] == 'c' ? cos(angle) : at;
    }
    char all[200];
    snprintf(all, sizeof(all), "bands=2 ndim=2 %s", text);
    expect_table("fourier", all, "coordinates=0.1,0.23", want, 1, columns, 1e-15);
}

TEST(orders)
{
    expect_order("", "s0xs1xs0ys1yc0xc1xc0yc1y");
    expect_order("layout=interleaved", "s0xc0xs1xc1xs0yc0ys1yc1y");
    expect_order("layout=grouped", "s0xs1xc0xc1xs0ys1yc0yc1y");
    expect_order("order=alternating", "s0xs0ys1xs1yc0xc0yc1xc1y");
    expect_order("order=alternating layout=interleaved", "s0xc0xs0yc0ys1xc1xs1yc1y");
    expect_order("order=alternating layout=grouped", "s0xs0yc0xc0ys1xs1yc1xc1y");
    expect_order("flip_sin_to_cos=true", "c0xc1xc0yc1ys0xs1xs0ys1y");
    expect_order("include_input=first", "i0xi0ys0xs1xs0ys1yc0xc1xc0yc1y");
    expect_order("include_input=last", "s0xs1xs0ys1yc0xc1xc0yc1yi0xi0y");
}

/* ---- relations ------------------------------------------------------------------------------- */

static void expect_same(const char *a, const char *a_view, const char *b, const char *b_view)
{
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        OWNED_FILLED one = filled_new("fourier", a, a_view, dtype, false);
        OWNED_FILLED two = filled_new("fourier", b, b_view, dtype, true);
        ck_assert_uint_eq(one.rows, two.rows);
        ck_assert_uint_eq(one.columns, two.columns);
        ck_assert_mem_eq(one.data, two.data, one.rows * one.columns * pe_dtype_info(dtype)->size);
    }
}

TEST(relations)
{
    expect_same("bands=3 ndim=2", "shape=2,3", "bands=3 ndim=2",
                "coordinates=0,0,0,1,0,2,1,0,1,1,1,2");
    expect_same("bands=3", "coordinates=0.1,0.7,-3", "frequencies=1,2,4", "coordinates=0.1,0.7,-3");
    expect_same("bands=2 ndim=2", "coordinates=0.1,0.7,-3,5",
                "matrix=1,2,0,0;0,0,1,2 unit=half-turn", "coordinates=0.1,0.7,-3,5");
    expect_same("matrix=0.75,2.5 scale=0.5", "coordinates=0.1,0.7,-3",
                "matrix=0.75,2.5 unit=half-turn", "coordinates=0.1,0.7,-3");
    expect_same("bands=2 axes_coordinates=ends axes_size=5", "shape=5", "bands=2",
                "coordinates=-1,-0.5,0,0.5,1");
    expect_same("bands=2 axes_coordinates=centres axes_size=4", "shape=4", "bands=2",
                "coordinates=-0.75,-0.25,0.25,0.75");
    expect_table("fourier", "bands=2 ndim=2", "shape=0,5", NULL, 0, 8, 0);
}

/* Sines of -0 are -0, those of other whole turns 0. */
TEST(zeros)
{
    const double want[] = {-0.0, 1, 0, 1, 0, -1};
    OWNED_FILLED got = filled_new("fourier", "bands=1", "coordinates=-0,4,-1", PE_F64, false);

    ck_assert_mem_eq(got.data, want, sizeof(want));
}

/* Sums below every double-double, and coordinates next to the ends of doubles. */
TEST(extremes)
{
    const double tiny[] = {1e-310, 1, 5e-324, 1};
    OWNED_FILLED got =
        filled_new("fourier", "bands=1 unit=radian", "coordinates=1e-310,5e-324", PE_F64, false);

    ck_assert_mem_eq(got.data, tiny, sizeof(tiny));
    expect_table("fourier", "matrix=1 axes_coordinates=log include_input=first", "coordinates=1",
                 (const double[]){0, 0, 1}, 1, 3, 0);
    expect_table("fourier", "matrix=2 axes_coordinates=log", "coordinates=5e-324",
                 (const double[]){0.683887991347053, 0.729587016942662}, 1, 2, 1e-10);
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(refusals)
{
    static const char points[] = "coordinates=1,2";

    expect_refused("fourier", "", points, PE_MISSING, "bands");
    expect_refused("fourier", "bands=2 frequencies=1,2", points, PE_CONFLICT, "frequencies");
    expect_refused("fourier", "bands=2 matrix=1,2", points, PE_CONFLICT, "matrix");
    expect_refused("fourier", "frequencies=1 matrix=1,2", points, PE_CONFLICT, "matrix");
    expect_refused("fourier", "bands=63", points, PE_OUT_OF_RANGE, "bands");
    expect_refused("fourier", "bands=300000 ndim=2 max_resolution=9,9", points, PE_TOO_LARGE,
                   "bands");
    expect_refused("fourier", "bands=2 scale=1e-31", points, PE_OUT_OF_RANGE, "scale");
    expect_refused("fourier", "bands=60 scale=1000", points, PE_OUT_OF_RANGE, "scale");
    expect_refused("fourier", "frequencies=1e-31", points, PE_OUT_OF_RANGE, "frequencies");
    expect_refused("fourier", "matrix=1e19", points, PE_OUT_OF_RANGE, "matrix");
    expect_refused("fourier", "frequencies=1 max_resolution=8", points, PE_CONFLICT,
                   "max_resolution");
    expect_refused("fourier", "bands=2 max_resolution=8.5", points, PE_INVALID, "max_resolution");
    expect_refused("fourier", "bands=2 ndim=2 max_resolution=8", points, PE_SHAPE_MISMATCH,
                   "max_resolution");
    expect_refused("fourier", "bands=2 ndim=9", points, PE_OUT_OF_RANGE, "ndim");
    expect_refused("fourier", "ndim=2 matrix=1,2", points, PE_SHAPE_MISMATCH, "matrix");
    expect_refused("fourier", "ndim=2 matrix=1,2;3,4;5,6", points, PE_SHAPE_MISMATCH, "matrix");
    expect_refused("fourier", "matrix=1;2;3;4;5;6;7;8;9", points, PE_SHAPE_MISMATCH, "matrix");
    expect_refused("fourier", "bands=2 max_resolution=2,2,2,2,2,2,2,2,2", points, PE_SHAPE_MISMATCH,
                   "max_resolution");
    expect_refused("fourier", "bands=2 axes_coordinates=ends axes_size=2,2,2,2,2,2,2,2,2", points,
                   PE_SHAPE_MISMATCH, "axes_size");
    expect_refused("fourier", "matrix=1,2 order=alternating", points, PE_CONFLICT, "order");
    expect_refused("fourier", "matrix=1,2 layout=grouped", points, PE_CONFLICT, "layout");
    expect_refused("fourier", "bands=2 axes_size=4", points, PE_CONFLICT, "axes_size");
    expect_refused("fourier", "bands=2 axes_coordinates=ends", points, PE_MISSING, "axes_size");
    expect_refused("fourier", "bands=2 axes_coordinates=ends axes_size=1", points, PE_OUT_OF_RANGE,
                   "axes_size");
    expect_refused("fourier", "bands=2 axes_coordinates=ends axes_size=4.5", points, PE_INVALID,
                   "axes_size");
    expect_refused("fourier",
                   "bands=2 axes_coordinates=centres axes_size=1073741823,1073741822,1073741821",
                   "coordinates=1,2,3", PE_OUT_OF_RANGE, "axes_size");
    expect_refused("fourier", "bands=2", "", PE_MISSING, "shape");
    expect_refused("fourier", "bands=2 ndim=2", "shape=3", PE_SHAPE_MISMATCH, "shape");
    expect_refused("fourier", "bands=2 ndim=2", "coordinates=1,2,3", PE_SHAPE_MISMATCH,
                   "coordinates");
    expect_refused("fourier", "bands=2 axes_coordinates=log", "shape=3", PE_OUT_OF_RANGE, "shape");
    expect_refused("fourier", "bands=2 axes_coordinates=log", "coordinates=1,0", PE_OUT_OF_RANGE,
                   "coordinates");
}
