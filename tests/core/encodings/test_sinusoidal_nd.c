/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

static struct {
    size_t dim, ndim, shape[3];
    double base;
    bool concatenated, endpoint;
} p;

static void element(mpfr_ptr out, size_t row, size_t column)
{
    const size_t pairs = (p.dim + 2 * p.ndim - 1) / (2 * p.ndim);
    const size_t axis = column / (2 * pairs), inside = column % (2 * pairs);
    const size_t pair = p.concatenated ? inside % pairs : inside / 2;
    const size_t last = pairs > 1 ? pairs - 1 : 1;
    size_t coordinate = row;

    for (size_t i = p.ndim - 1; i > axis; i--)
        coordinate /= p.shape[i];
    coordinate %= p.shape[axis];
    oracle_power(out, p.base, (double)pair, (double)(p.endpoint ? last : pairs));
    oracle_wave(out, (double)coordinate, p.concatenated ? inside < pairs : inside % 2 == 0);
}

TEST(equals_mpfr)
{
    static const size_t cases[][5] = {
        /* ndim, dim, shape */
        {1, 10, 70},  {1, 7, 3},        {2, 8, 5, 6},      {2, 10, 1, 33},   {2, 9, 40, 2},
        {2, 3, 4, 4}, {3, 12, 3, 4, 5}, {3, 125, 2, 2, 3}, {3, 11, 1, 1, 2}, {3, 4, 2, 2, 2},
    };
    size_t checked = 0;

    for (size_t i = 0; i < 4 * COUNT_OF(cases); i++) {
        const size_t *c = cases[i / 4];
        char text[200], view[80];
        p.ndim = c[0], p.dim = c[1];
        memcpy(p.shape, c + 2, sizeof(p.shape));
        p.base = i % 3 ? 10000 : 30;
        p.concatenated = i % 4 / 2;
        p.endpoint = i % 2;
        snprintf(text, sizeof(text), "dim=%zu ndim=%zu base=%.17g layout=%s spacing=%s", p.dim,
                 p.ndim, p.base, p.concatenated ? "concatenated" : "interleaved",
                 p.endpoint ? "endpoint" : "paper");
        snprintf(view, sizeof(view),
                 p.ndim == 1   ? "shape=%zu"
                 : p.ndim == 2 ? "shape=%zu,%zu"
                               : "shape=%zu,%zu,%zu",
                 c[2], c[3], c[4]);
        checked += expect_rounded("sinusoidal-nd", text, view, element);
    }
    printf("sinusoidal-nd: %zu elements\n", checked);
}

/* A scheme warns where its last axis has no column, and only there. */
TEST(axes_without_columns_are_warned_of)
{
    size_t warned = 0;

    for (size_t ndim = 1; ndim <= 3; ndim++)
        for (size_t dim = 1; dim <= 26; dim++) {
            char text[80];
            bool same = true;
            snprintf(text, sizeof(text), "dim=%zu ndim=%zu", dim, ndim);
            OWNED_VIEWED two = viewed_new("sinusoidal-nd", text, "table",
                                          ndim == 1   ? "shape=2"
                                          : ndim == 2 ? "shape=1,2"
                                                      : "shape=1,1,2",
                                          NULL, PE_F64);
            const double *first = two.data;
            ck_assert_uint_eq(two.count, 2 * dim);
            for (size_t i = 0; i < dim; i++)
                same = same && first[i] == first[dim + i];
            ck_assert_msg(two.opened.scheme->warnings_count == same, "%s: %zu warnings", text,
                          two.opened.scheme->warnings_count);
            warned += same;
        }
    ck_assert_uint_gt(warned, 5);
}

/* A width that leaves out columns beyond the pairs that are computed at once. */
TEST(wide_rows_cut_short)
{
    static const size_t dims[] = {127, 129, 255, 257, 383, 385, 769};

    p.ndim = 3;
    p.base = 10000;
    p.shape[0] = 2, p.shape[1] = 1, p.shape[2] = 3;
    p.endpoint = false;
    for (size_t i = 0; i < 2 * COUNT_OF(dims); i++) {
        char text[100];
        p.dim = dims[i / 2];
        p.concatenated = i % 2;
        snprintf(text, sizeof(text), "dim=%zu ndim=3 layout=%s", p.dim,
                 p.concatenated ? "concatenated" : "interleaved");
        expect_rounded("sinusoidal-nd", text, "shape=2,1,3", element);
    }
}

/* One axis equals sinusoidal; a grid equals the list of its points. */
TEST(relations)
{
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        OWNED_FILLED one = filled_new("sinusoidal-nd", "dim=9 ndim=1", "shape=50", dtype, false);
        OWNED_FILLED plain =
            filled_new("sinusoidal", "dim=9 spacing=next-even", "length=50", dtype, false);
        OWNED_FILLED grid = filled_new("sinusoidal-nd", "dim=9", "shape=2,3", dtype, false);
        OWNED_FILLED list = filled_new("sinusoidal-nd", "dim=9",
                                       "coordinates=0,0,0,1,0,2,1,0,1,1,1,2", dtype, true);
        const size_t size = pe_dtype_info(dtype)->size;
        if (dtype == PE_F64)
            ck_assert_uint_eq(plain.rows, one.rows);
        ck_assert_mem_eq(one.data, plain.data, 50 * 9 * size);
        ck_assert_mem_eq(grid.data, list.data, 6 * 9 * size);
    }
    expect_table("sinusoidal-nd", "dim=4", "shape=0,5", NULL, 0, 4, 0);
    expect_table("sinusoidal-nd", "dim=4", "shape=5,0", NULL, 0, 4, 0);
}

/* tensor2tensor, common_attention_test.py testAddTimingSignalsGivenPositions: axes of four
 * channels, sin 1, sin 1e-4, cos 1, cos 1e-4. */
TEST(tensor2tensor)
{
    double want[4][8];

    for (size_t row = 0; row < 4; row++)
        for (size_t column = 0; column < 8; column++) {
            const double t = (double)row + (column < 4 ? 0 : 4);
            const double angle = column % 2 ? 1e-4 * t : t;
            want[row][column] = column % 4 < 2 ? sin(angle) : cos(angle);
        }
    expect_table("sinusoidal-nd", "dim=8 layout=concatenated spacing=endpoint",
                 "coordinates=0,4,1,5,2,6,3,7", want[0], 4, 8, 1e-15);
}

TEST(refusals)
{
    static const char shape[] = "shape", points[] = "coordinates";

    expect_refused("sinusoidal-nd", "", "shape=2,2", PE_MISSING, "dim");
    expect_refused("sinusoidal-nd", "dim=0", "shape=2,2", PE_OUT_OF_RANGE, "dim");
    expect_refused("sinusoidal-nd", "dim=4 ndim=0", "shape=2,2", PE_OUT_OF_RANGE, "ndim");
    expect_refused("sinusoidal-nd", "dim=4 ndim=4", "shape=2,2,2,2", PE_OUT_OF_RANGE, "ndim");
    expect_refused("sinusoidal-nd", "dim=4 base=1", "shape=2,2", PE_OUT_OF_RANGE, "base");
    expect_refused("sinusoidal-nd", "dim=4 layout=half", "shape=2,2", PE_INVALID, "layout");
    expect_refused("sinusoidal-nd", "dim=4 spacing=even", "shape=2,2", PE_INVALID, "spacing");
    expect_refused("sinusoidal-nd", "dim=4", "", PE_MISSING, shape);
    expect_refused("sinusoidal-nd", "dim=4", "shape=2", PE_SHAPE_MISMATCH, shape);
    expect_refused("sinusoidal-nd", "dim=4", "shape=2,2,2", PE_SHAPE_MISMATCH, shape);
    expect_refused("sinusoidal-nd", "dim=4", "shape=2,-1", PE_OUT_OF_RANGE, shape);
    expect_refused("sinusoidal-nd", "dim=4", "shape=2,1.5", PE_INVALID, shape);
    expect_refused("sinusoidal-nd", "dim=4", "shape=2,1e400", PE_OUT_OF_RANGE, shape);
    expect_refused("sinusoidal-nd", "dim=4", "shape=9e15,9e15", PE_TOO_LARGE, shape);
    expect_refused("sinusoidal-nd", "dim=4", "shape=9e15,1000", PE_TOO_LARGE, "");
    expect_refused("sinusoidal-nd", "dim=4", "coordinates=1,2,3", PE_SHAPE_MISMATCH, points);
    expect_refused("sinusoidal-nd", "dim=4", "coordinates=1,1e17", PE_OUT_OF_RANGE, points);
    expect_refused("sinusoidal-nd", "dim=4", "coordinates=1,2 shape=1,1", PE_CONFLICT, points);
}
