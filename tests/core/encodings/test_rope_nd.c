/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"
#include "tests/core/table_fixture.h"

/* Written down again from diffusers 0.42.1, models/embeddings.py, get_1d_rotary_pos_embed: 1 /
 * theta^(arange(0, dim, 2) / dim) for each axis, concatenated; and transformer_cosmos.py: theta
 * scale^(dim / (dim - 2)). */

enum { AXES = 4 };

static struct {
    const char *text, *view;
    size_t axes, width[AXES], size[AXES];
    double base[AXES], factor[AXES], origin[AXES], spacing[AXES];
    bool is_sin;
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
};

static void element(mpfr_ptr out, size_t row, size_t column)
{
    size_t axis = 0, inner = 1;
    mpfr_t factor, t;

    for (; column >= p.width[axis] / 2; axis++)
        column -= p.width[axis] / 2;
    for (size_t i = axis + 1; i < p.axes; i++)
        inner *= p.size[i];
    const double width = (double)p.width[axis];
    mpfr_inits2(ORACLE_BITS, factor, t, (mpfr_ptr)NULL);
    mpfr_set_d(factor, p.factor[axis] != 0 ? p.factor[axis] : 1, MPFR_RNDN);
    if (width > 2) {
        mpfr_set_d(t, width, MPFR_RNDN);
        mpfr_div_d(t, t, width - 2, MPFR_RNDN);
        mpfr_pow(factor, factor, t, MPFR_RNDN);
    }
    mpfr_mul_d(factor, factor, p.base[axis], MPFR_RNDN);
    mpfr_set_d(t, -2 * (double)column, MPFR_RNDN);
    mpfr_div_d(t, t, width, MPFR_RNDN);
    mpfr_pow(out, factor, t, MPFR_RNDN);
    mpfr_set_d(t, p.spacing[axis] != 0 ? p.spacing[axis] : 1, MPFR_RNDN);
    mpfr_mul_ui(t, t, row / inner % p.size[axis], MPFR_RNDN);
    mpfr_add_d(t, t, p.origin[axis], MPFR_RNDN);
    mpfr_mul(out, out, t, MPFR_RNDN);
    (p.is_sin ? mpfr_sin : mpfr_cos)(out, out, MPFR_RNDN);
    mpfr_clears(factor, t, (mpfr_ptr)NULL);
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
