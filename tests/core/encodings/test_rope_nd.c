/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"
#include "tests/core/table_fixture.h"

/* Written down again from diffusers 0.42.1, models/embeddings.py, get_1d_rotary_pos_embed: 1 /
 * theta^(arange(0, dim, 2) / dim) for each axis, concatenated; and transformer_cosmos.py: theta
 * scale^(dim / (dim - 2)). Series, units and coordinates from transformers 5.23.0,
 * modeling_dinov3_vit.py; diffusers, transformer_ltx.py; timm 1.0.31, layers/pos_embed_sincos.py.
 */

enum { AXES = 4 };
enum { FALLING, RISING, LINEAR };
enum { INDEX, CENTRES, ENDS, FRACTIONS, RATIO };

static struct {
    const char *text, *view;
    size_t axes, width[AXES], size[AXES];
    double base[AXES], factor[AXES], origin[AXES], spacing[AXES];
    bool is_sin;
    int series, coordinates;
    double turns; /* the unit of frequencies, in half turns; 0: radians */
    double of[AXES], reference[AXES];
    size_t still; /* pairs; axes alternate after them */
    double periods[2];
} p, cases[] = {
         {"axes_dim=16,56,56", "shape=1,3,2", 3, {16, 56, 56}, {1, 3, 2}, {1e4, 1e4, 1e4}},
         {"axes_dim=32,32,32,32 base=2000",
          "shape=2,1,2,3",
          4,
          {32, 32, 32, 32},
          {2, 1, 2, 3},
          {2000, 2000, 2000, 2000}},
         {"axes_dim=44,42,42 base=256 dim=130",
          "shape=2,3,5 origin=0,-1.5,-2 steps=1,1,.75",
          3,
          {44, 42, 42},
          {2, 3, 5},
          {256, 256, 256},
          {0},
          {0, -1.5, -2},
          {1, 1, .75}},
         {"axes_dim=0,4,10 axes_base=7,1e30,1.5 axes_factor=1,1,3",
          "shape=2,2,9 origin=1e15,-3,1 steps=-1,1e9,.1",
          3,
          {0, 4, 10},
          {2, 2, 9},
          {7, 1e30, 1.5},
          {1, 1, 3},
          {1e15, -3, 1},
          {-1, 1e9, .1}},
         {"axes_dim=44,42 axes_factor=.8333333333333334,2.5",
          "shape=3,3",
          2,
          {44, 42},
          {3, 3},
          {1e4, 1e4},
          {.8333333333333334, 2.5}},
         {"axes_dim=6 axes_factor=.00219",
          "shape=7 steps=3",
          1,
          {6},
          {7},
          {1e4},
          {.00219},
          {0},
          {3}},
         {"axes_dim=16,16 base=100 unit=turn axes_coordinates=centres axes_size=6,7",
          "shape=6,7",
          2,
          {16, 16},
          {6, 7},
          {100, 100},
          .coordinates = CENTRES,
          .turns = 2,
          .of = {6, 7}},
         {"axes_dim=10,6 base=112 series=linear unit=half-turn axes_coordinates=linspace "
          "axes_size=5,2",
          "shape=5,3 origin=0,-.5",
          2,
          {10, 6},
          {5, 3},
          {112, 112},
          .origin = {0, -.5},
          .series = LINEAR,
          .coordinates = ENDS,
          .turns = 1,
          .of = {5, 2}},
         {"axes_dim=10,2 axes_base=16,7 series=rising unit=half-turn axes_coordinates=ends "
          "axes_size=9,4",
          "shape=9,4",
          2,
          {10, 2},
          {9, 4},
          {16, 7},
          .series = RISING,
          .coordinates = ENDS,
          .turns = 1,
          .of = {9, 4}},
         {"axes_dim=8,12 axes_coordinates=ratio axes_size=7,23.976 axes_reference=16,24",
          "shape=4,5 origin=0,-.1 steps=1,3",
          2,
          {8, 12},
          {4, 5},
          {1e4, 1e4},
          .origin = {0, -.1},
          .spacing = {1, 3},
          .coordinates = RATIO,
          .of = {7, 23.976},
          .reference = {16, 24}},
         {"axes_dim=10,10,10 dim=36 series=rising unit=quarter-turn order=alternating "
          "axes_coordinates=fractions axes_size=20,2048,2048",
          "shape=3,2,3 steps=.32,32,32",
          3,
          {10, 10, 10},
          {3, 2, 3},
          {1e4, 1e4, 1e4},
          .spacing = {.32, 32, 32},
          .series = RISING,
          .coordinates = FRACTIONS,
          .turns = .5,
          .of = {20, 2048, 2048},
          .still = 3},
         {"axes_dim=8 base=8 series=rising unit=turn",
          "shape=40 origin=1e15 steps=.25",
          1,
          {8},
          {40},
          {8},
          .origin = {1e15},
          .spacing = {.25},
          .series = RISING,
          .turns = 2},
         {"axes_dim=8,6 base=16 unit=quarter-turn axes_coordinates=ratio axes_size=3,8 "
          "axes_reference=6,.75",
          "shape=9,6 origin=-4.5,-64 steps=.5,64",
          2,
          {8, 6},
          {9, 6},
          {16, 16},
          .origin = {-4.5, -64},
          .spacing = {.5, 64},
          .coordinates = RATIO,
          .turns = .5,
          .of = {3, 8},
          .reference = {6, .75}},
         {"axes_dim=4,4 axes_base=9,6.25 unit=turn",
          "shape=7,6 origin=-9,-7.5 steps=2.25,1.875",
          2,
          {4, 4},
          {7, 6},
          {9, 6.25},
          .origin = {-9, -7.5},
          .spacing = {2.25, 1.875},
          .turns = 2},
         {"axes_dim=10,2 min_period=.5 max_period=8 unit=turn axes_coordinates=centres "
          "axes_size=4,6",
          "shape=4,6",
          2,
          {10, 2},
          {4, 6},
          .coordinates = CENTRES,
          .turns = 2,
          .of = {4, 6},
          .periods = {.5, 8}},
         {"axes_dim=6,8 min_period=.1 max_period=90.7",
          "shape=3,2 origin=1e6,-.5 steps=.3,1",
          2,
          {6, 8},
          {3, 2},
          .origin = {1e6, -.5},
          .spacing = {.3, 1},
          .periods = {.1, 90.7}},
         {"axes_dim=8 min_period=3 max_period=3.0000000000000004 unit=turn",
          "shape=9 steps=.75",
          1,
          {8},
          {9},
          .spacing = {.75},
          .turns = 2,
          .periods = {3, 3.0000000000000004}},
         {"axes_dim=6 min_period=3 max_period=12 unit=half-turn",
          "shape=40 origin=-12 steps=1.5",
          1,
          {6},
          {40},
          .origin = {-12},
          .spacing = {1.5},
          .turns = 1,
          .periods = {3, 12}},
};

/* 1 / (first (last / first)^(k / (pairs - 1))) */
static void period_frequency(mpfr_ptr out, size_t axis, size_t k)
{
    const size_t pairs = p.width[axis] / 2;
    mpfr_t exponent;

    mpfr_init2(exponent, ORACLE_BITS);
    mpfr_set_d(exponent, (double)k, MPFR_RNDN);
    mpfr_div_ui(exponent, exponent, pairs > 1 ? pairs - 1 : 1, MPFR_RNDN);
    mpfr_set_d(out, p.periods[1], MPFR_RNDN);
    mpfr_div_d(out, out, p.periods[0], MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_mul_d(out, out, p.periods[0], MPFR_RNDN);
    mpfr_ui_div(out, 1, out, MPFR_RNDN);
    mpfr_clear(exponent);
}

/* base^(-2k/width) and so on, without the unit. */
static void frequency(mpfr_ptr out, size_t axis, size_t k)
{
    const double width = (double)p.width[axis], last = width / 2 > 1 ? width / 2 - 1 : 1;
    const double numerator = p.series == FALLING ? -2 * (double)k : (double)k;
    mpfr_t factor, exponent;

    mpfr_inits2(ORACLE_BITS, factor, exponent, (mpfr_ptr)NULL);
    mpfr_set_d(factor, p.factor[axis] != 0 ? p.factor[axis] : 1, MPFR_RNDN);
    if (width > 2) {
        mpfr_set_d(exponent, width, MPFR_RNDN);
        mpfr_div_d(exponent, exponent, width - 2, MPFR_RNDN);
        mpfr_pow(factor, factor, exponent, MPFR_RNDN);
    }
    mpfr_mul_d(factor, factor, p.base[axis], MPFR_RNDN);
    mpfr_set_d(exponent, numerator, MPFR_RNDN);
    mpfr_div_d(exponent, exponent, p.series == FALLING ? width : last, MPFR_RNDN);
    if (p.series == LINEAR) {
        mpfr_sub_d(factor, factor, 1, MPFR_RNDN);
        mpfr_mul(out, factor, exponent, MPFR_RNDN);
        mpfr_add_d(out, out, 1, MPFR_RNDN);
    } else {
        mpfr_pow(out, factor, exponent, MPFR_RNDN);
    }
    mpfr_clears(factor, exponent, (mpfr_ptr)NULL);
}

/* The coordinate for a position u on an axis, in place. */
static void coordinate(mpfr_ptr u, size_t axis)
{
    const double n = p.of[axis];

    if (p.coordinates == RATIO)
        mpfr_mul_d(u, u, p.reference[axis], MPFR_RNDN);
    if (p.coordinates == CENTRES || p.coordinates == ENDS || p.coordinates == FRACTIONS) {
        mpfr_mul_d(u, u, 2, MPFR_RNDN);
        mpfr_add_d(u, u, p.coordinates == FRACTIONS ? -n : 1 - n, MPFR_RNDN);
    }
    if (p.coordinates != INDEX)
        mpfr_div_d(u, u, p.coordinates == ENDS ? n - 1 : n, MPFR_RNDN);
}

/* cos or sin of an angle in radians or half turns; the zeros of whole quarters are positive. */
static void wave(mpfr_ptr angle)
{
    const bool is_zero = mpfr_zero_p(angle);

    if (p.turns == 0) {
        (p.is_sin ? mpfr_sin : mpfr_cos)(angle, angle, MPFR_RNDN);
        return;
    }
    mpfr_mul_d(angle, angle, p.turns, MPFR_RNDN);
    (p.is_sin ? mpfr_sinpi : mpfr_cospi)(angle, angle, MPFR_RNDN);
    if (mpfr_zero_p(angle) && !is_zero)
        mpfr_set_zero(angle, 1);
}

static void element(mpfr_ptr out, size_t row, size_t column)
{
    size_t axis = 0, inner = 1, k = column;
    mpfr_t t;

    const bool is_still = column < p.still;
    if (p.still > 0 && !is_still) {
        axis = (column - p.still) % p.axes;
        k = (column - p.still) / p.axes;
    }
    for (; k >= p.width[axis] / 2; axis++)
        k -= p.width[axis] / 2;
    for (size_t i = axis + 1; i < p.axes; i++)
        inner *= p.size[i];
    mpfr_init2(t, ORACLE_BITS);
    mpfr_set_d(t, p.spacing[axis] != 0 ? p.spacing[axis] : 1, MPFR_RNDN);
    mpfr_mul_ui(t, t, row / inner % p.size[axis], MPFR_RNDN);
    mpfr_add_d(t, t, p.origin[axis], MPFR_RNDN);
    coordinate(t, axis);
    p.periods[0] != 0 ? period_frequency(out, axis, k) : frequency(out, axis, k);
    if (is_still)
        mpfr_set_zero(out, 1);
    mpfr_mul(out, out, t, MPFR_RNDN);
    wave(out);
    mpfr_clear(t);
}

TEST(equals_mpfr)
{
    size_t checked = 0;

    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        char view[200];
        p = cases[i / 2];
        p.is_sin = i % 2;
        snprintf(view, sizeof(view), "%s part=%s", p.view, p.is_sin ? "sin" : "cos");
        checked += expect_rounded("rope-nd", p.text, view, element);
    }
    printf("rope-nd: %zu elements\n", checked);
}

static void expect_same(const char *a, const char *text_a, const char *view_a, const char *b,
                        const char *text_b, const char *view_b)
{
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        OWNED_FILLED one = filled_new(a, text_a, view_a, dtype, false);
        OWNED_FILLED other = filled_new(b, text_b, view_b, dtype, true);
        ck_assert_uint_eq(one.rows, other.rows);
        ck_assert_uint_eq(one.columns, other.columns);
        ck_assert_mem_eq(one.data, other.data, one.rows * one.columns * pe_dtype_info(dtype)->size);
    }
}

/* A grid equals the list of its points, in every form of the table. */
TEST(grid_is_points)
{
    static const char *const parts[] = {"part=sin", "part=complex", "duplicate=true part=cos",
                                        "cache=vllm", "cache=hf"};

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char grid[200], points[200];
        snprintf(grid, sizeof(grid), "shape=2,2,3 origin=5,-1,0 steps=1,2,.5 %s", parts[i]);
        snprintf(points, sizeof(points),
                 "positions=5,5,5,5,5,5,6,6,6,6,6,6;-1,-1,-1,1,1,1,-1,-1,-1,1,1,1;"
                 "0,.5,1,0,.5,1,0,.5,1,0,.5,1 %s",
                 parts[i]);
        expect_same("rope-nd", "axes_dim=4,6,8 base=50", grid, "rope-nd", "axes_dim=4,6,8 base=50",
                    points);
    }
}

/* Coordinates of listed positions are not rounded either, where their sum with the offset is no
 * double: those of a grid are the same numbers. */
TEST(listed_coordinates)
{
#define ALTERNATING "axes_dim=6,6 dim=14 series=rising unit=quarter-turn order=alternating "
    expect_same("rope-nd", ALTERNATING "axes_coordinates=fractions axes_size=20,5",
                "positions=0,0,.1,.1;0,.1,0,.1", "rope-nd",
                ALTERNATING "axes_coordinates=ratio axes_size=20,5 axes_reference=2,2",
                "shape=2,2 origin=-10,-2.5 steps=.1,.1");
    expect_same("rope-nd", "axes_dim=12 axes_coordinates=centres axes_size=7", "shape=7", "rope-nd",
                "axes_dim=12 axes_coordinates=centres axes_size=7", "positions=0..6");
    expect_same("rope-nd", "axes_dim=12 axes_coordinates=centres axes_size=2", "positions=.5,1.5",
                "rope-nd", "axes_dim=12", "positions=0,1");
    expect_same("rope-nd", "axes_dim=12 axes_coordinates=ratio axes_size=3 axes_reference=6",
                "positions=.5,1e15", "rope-nd", "axes_dim=12", "positions=1,2e15");
}

/* 514 / 2 positions are a wavelength of a turn over 514 patches: a tie in bf16, and to the even
 * number it goes, though 2 / 514 has no end. */
TEST(ties_of_rational_wavelengths)
{
    static const double want[] = {257, 257, 257, 256};

    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        struct opened opened = request_open(
            &(const struct request){.encoding = "rope-nd",
                                    .text = "axes_dim=2 unit=turn axes_coordinates=centres "
                                            "axes_size=514",
                                    .view = "wavelengths",
                                    .view_text = "context=66049",
                                    .dtype = dtype});
        for (size_t output = 0; output < 2; output++) {
            char element[sizeof(double)];
            double got;
            rows_fill(opened.view, output, 0, 1, element);
            pe_to_f64(&got, element, dtype, 1);
            ck_assert_msg(got == want[dtype], "%s, output %zu: %a", pe_dtype_info(dtype)->name,
                          output, got);
        }
        opened_free(&opened);
    }
}

/* One axis is rope; two equal ones are rope-2d's; three equal ones are mrope's axial. */
TEST(relations)
{
    expect_same("rope-nd", "axes_dim=64", "shape=9 origin=-4", "rope", "dim=64",
                "length=9 start=-4");
    expect_same("rope-nd", "axes_dim=12,12 base=77", "positions=5,-2.5,1e9;7,3e5,0", "rope-2d",
                "dim=24 base=77", "positions=5,-2.5,1e9;7,3e5,0");
    expect_same("rope-nd", "axes_dim=8,8,8 base=77", "positions=5,-2.5,1e9;7,3e5,0;1,2,3", "mrope",
                "dim=24 base=77 mrope_section=4,4,4 mrope_type=axial",
                "positions=5,-2.5,1e9;7,3e5,0;1,2,3");
    expect_same("rope-nd", "axes_dim=8,6 axes_base=300,300", "shape=3,4", "rope-nd",
                "axes_dim=8,6 base=300", "shape=3,4");
    expect_table("rope-nd", "axes_dim=4,4", "shape=0,5", NULL, 0, 4, 0);
}

/* Elements after the sum of axes_dim are left as they are, and axes of their own do not mix. */
TEST(rotation)
{
    enum { DIM = 8, ROWS = 2 };
    static const double at[] = {0, 3, 2, 0};
    double x[ROWS * DIM], was[ROWS * DIM];
    const struct pe_axes axes = {1, 1, ROWS, 1, DIM};
    OWNED_SCHEME scheme = scheme_new("rope-nd", "axes_dim=2,4 dim=8 base=100");
    struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .layout = PE_LAYOUT_INTERLEAVED,
              .output_layout = PE_LAYOUT_INTERLEAVED,
              .positions = {.values = at, .count = ROWS, .axes = 2});
    struct pe_rotation *rotation;

    for (size_t i = 0; i < ROWS * DIM; i++)
        x[i] = was[i] = cos((double)(3 * i));
    rotation = rotation_new(&spec, PE_F64, NULL);
    pe_rotate(rotation, x, &axes, 0, ROWS, NULL, &(struct pe_error){0});
    pe_rotation_free(rotation);
    for (size_t i = 0; i < DIM; i++)
        ck_assert((x[i] == was[i]) == (i < 2 || i >= 6));
    for (size_t i = DIM; i < 2 * DIM; i++)
        ck_assert((x[i] == was[i]) == (i >= DIM + 2));
    ck_assert(fabs(x[4] - (was[4] * cos(.2) - was[5] * sin(.2))) < 1e-15);
    ck_assert(fabs(x[DIM + 1] - (was[DIM] * sin(3) + was[DIM + 1] * cos(3))) < 1e-15);
}

/* The first pair of an axis rotates by one unit for each position, in every series and for an axis
 * of a single pair too. */
TEST(first_pairs)
{
    static const char *const all[] = {"falling", "rising", "linear"};
    static const size_t widths[] = {2, 4, 10};

    for (size_t i = 0; i < 3 * 3 * 3; i++) {
        const size_t first = widths[i / 3 % 3], second = widths[i % 3];
        char text[80];
        snprintf(text, sizeof(text), "axes_dim=%zu,%zu base=7 series=%s", first, second,
                 all[i / 9]);
        OWNED_VIEWED frequencies = viewed_new("rope-nd", text, "frequencies", "", NULL, PE_F64);
        const double *w = frequencies.data;
        ck_assert_msg(w[0] == 1 && w[first / 2] == 1, "%s: %g and %g", text, w[0], w[first / 2]);
    }
}

TEST(refusals)
{
    static const char shape[] = "parameter:shape";

    expect_refused("rope-nd", "", "shape=2", PE_MISSING, "axes_dim");
    expect_refused("rope-nd", "axes_dim=3,4", "shape=2,2", PE_INVALID, "axes_dim");
    expect_refused("rope-nd", "axes_dim=2.5", "shape=2", PE_INVALID, "axes_dim");
    expect_refused("rope-nd", "axes_dim=0,0", "shape=2,2", PE_OUT_OF_RANGE, "axes_dim");
    expect_refused("rope-nd", "axes_dim=2,2,2,2,2,2,2,2,2", "shape=1", PE_SHAPE_MISMATCH,
                   "axes_dim");
    expect_refused("rope-nd", "axes_dim=1048576,2", "shape=1,1", PE_OUT_OF_RANGE, "axes_dim");
    expect_refused("rope-nd", "axes_dim=4,4 dim=6", "shape=2,2", PE_SHAPE_MISMATCH, "axes_dim");
    expect_refused("rope-nd", "axes_dim=4,4 base=1", "shape=2,2", PE_OUT_OF_RANGE, "base");
    expect_refused("rope-nd", "axes_dim=4,4 axes_base=10", "shape=2,2", PE_SHAPE_MISMATCH,
                   "axes_base");
    expect_refused("rope-nd", "axes_dim=4,4 axes_base=10,20 base=10", "shape=2,2", PE_CONFLICT,
                   "base");
    expect_refused("rope-nd", "axes_dim=2,4 axes_factor=2,1", "shape=2,2", PE_INVALID,
                   "axes_factor");
    expect_refused("rope-nd", "axes_dim=4,4 base=4 axes_factor=.5,1", "shape=2,2", PE_OUT_OF_RANGE,
                   "axes_factor");
    expect_refused("rope-nd", "axes_dim=4,4 base=1e29 axes_factor=1,10", "shape=2,2",
                   PE_OUT_OF_RANGE, "axes_factor");
    expect_refused("rope-nd", "axes_dim=4,4", "", PE_MISSING, "shape");
    expect_refused("rope-nd", "axes_dim=4,4", "shape=2", PE_SHAPE_MISMATCH, shape);
    expect_refused("rope-nd", "axes_dim=4,4", "shape=2,1.5", PE_INVALID, shape);
    expect_refused("rope-nd", "axes_dim=4,4", "shape=9e15,9e15", PE_TOO_LARGE, shape);
    expect_refused("rope-nd", "axes_dim=4,4", "shape=2,2 steps=1,9007199254740991 origin=0,1",
                   PE_OUT_OF_RANGE, shape);
    expect_refused("rope-nd", "axes_dim=4,4", "shape=2,2 origin=1", PE_SHAPE_MISMATCH, "origin");
    expect_refused("rope-nd", "axes_dim=4,4", "shape=2,2 positions=1;1", PE_CONFLICT,
                   "parameter:positions");
    expect_refused("rope-nd", "axes_dim=4,4", "origin=2,2 positions=1;1", PE_CONFLICT,
                   "parameter:positions");
    expect_refused("rope-nd", "axes_dim=4,4", "positions=1,2", PE_SHAPE_MISMATCH,
                   "parameter:positions");
}

TEST(unequal_alternating_axes_are_named)
{
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme;

    ck_assert(!pe_params_parse(&params, "rope-nd", "axes_dim=4,4,6,4 order=alternating", &err));
    ck_assert_int_eq(pe_scheme_open(&scheme, pe_encoding_find("rope-nd"), &params, NULL, &err),
                     PE_SHAPE_MISMATCH);
    ck_assert_msg(strstr(err.detail, "one width, got 4 and 6") != NULL, "%s", err.detail);
    pe_params_free(&params);
}

TEST(refusals_of_periods)
{
    static const char view[] = "shape=2", both[] = "axes_dim=4 min_period=1 max_period=2 ";
    static const char *const others[][2] = {{"base", "base=100"},
                                            {"axes_base", "axes_base=100"},
                                            {"axes_factor", "axes_factor=2"},
                                            {"series", "series=rising"}};

    expect_refused("rope-nd", "axes_dim=4 min_period=1", view, PE_MISSING, "max_period");
    expect_refused("rope-nd", "axes_dim=4 max_period=1", view, PE_MISSING, "min_period");
    expect_refused("rope-nd", "axes_dim=4 min_period=2 max_period=2", view, PE_OUT_OF_RANGE,
                   "max_period");
    expect_refused("rope-nd", "axes_dim=4 min_period=0 max_period=2", view, PE_OUT_OF_RANGE,
                   "min_period");
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char text[100];
        snprintf(text, sizeof(text), "%s%s", both, others[i][1]);
        expect_refused("rope-nd", text, view, PE_CONFLICT, others[i][0]);
    }
}

TEST(refusals_of_coordinates)
{
    static const char view[] = "shape=2,2";

    expect_refused("rope-nd", "axes_dim=4,4 axes_size=2,2", view, PE_CONFLICT, "axes_size");
    expect_refused("rope-nd", "axes_dim=4,4 axes_coordinates=centres", view, PE_MISSING,
                   "axes_size");
    expect_refused("rope-nd", "axes_dim=4,4 axes_coordinates=centres axes_size=2", view,
                   PE_SHAPE_MISMATCH, "axes_size");
    expect_refused("rope-nd", "axes_dim=4,4 axes_coordinates=centres axes_size=2,2.5", view,
                   PE_INVALID, "axes_size");
    expect_refused("rope-nd", "axes_dim=4,4 axes_coordinates=ends axes_size=2,1", view, PE_INVALID,
                   "axes_size");
    expect_refused("rope-nd", "axes_dim=4,4 axes_coordinates=fractions axes_size=2,0", view,
                   PE_OUT_OF_RANGE, "axes_size");
    expect_refused("rope-nd", "axes_dim=4,4 axes_coordinates=ratio axes_size=2,2", view, PE_MISSING,
                   "axes_reference");
    expect_refused("rope-nd", "axes_dim=4,4 axes_reference=2,2", view, PE_CONFLICT,
                   "axes_reference");
    expect_refused("rope-nd", "axes_dim=4,4 series=rising axes_factor=2,2", view, PE_CONFLICT,
                   "axes_factor");
    expect_refused("rope-nd", "axes_dim=4,6 order=alternating", view, PE_SHAPE_MISMATCH,
                   "axes_dim");
    expect_refused("rope-nd", "axes_dim=4,4 order=alternating axes_base=2,2", view, PE_CONFLICT,
                   "order");
    expect_refused("rope-nd", "axes_dim=4,4 order=alternating dim=9", view, PE_INVALID, "dim");
    expect_refused("rope-nd", "axes_dim=4,4 series=linear base=1e30", view, PE_OUT_OF_RANGE,
                   "base");
    expect_refused("rope-nd", "axes_dim=4,4 axes_coordinates=fractions axes_size=20,20",
                   "shape=2,2 origin=0,1e-30", PE_INVALID, "origin");
    expect_refused("rope-nd", "axes_dim=4 axes_coordinates=centres axes_size=1000000",
                   "positions=0,-9007199254740991", PE_OUT_OF_RANGE, "parameter:positions");
}
