/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"
#include "tests/core/table_fixture.h"

/* Written down again as each source has it:
 *
 * axial: naver-ai/rope-vit 2e801b6a, models/vit_rope.py, compute_axial_cis: x by 1 /
 * theta^(arange(0, dim, 4) / dim), then y by the same. llama4: huggingface/transformers 63210d0e,
 * models/llama4/modeling_llama4.py, Llama4VisionRotaryEmbedding: freq_dim = head_dim / 2, (x + 1)
 * and (y + 1) by 1 / theta^(arange(0, freq_dim, 2) / freq_dim). pixtral: the same at 4a1e279e,
 * models/pixtral/modeling_pixtral.py, PixtralRotaryEmbedding: freqs = 1 / base^(arange(0, dim, 2) /
 * dim), h by freqs[::2], then w by freqs[1::2]. At v5.23.0, models/MODEL/modeling_MODEL.py:
 * qwen2-vl: freqs as axial's, h before w. kimi-k25: freq.transpose(1, 2).flip(-1).flatten(1), w and
 * h in turns. efficientloftr: compute_embeddings, rows from 1 and columns from 1 in turns, of the
 * whole vector. */

static struct {
    char variant; /* its first letter */
    size_t dim, width;
    double base;
    bool is_sin;
} p;

/* The steps of Pixtral's second half lie between those of the first. */
static void element(mpfr_ptr out, size_t row, size_t column)
{
    const bool in_turns = p.variant == 'k' || p.variant == 'e';
    const size_t quarter = p.dim / 4, k = in_turns ? column / 2 : column % quarter;
    const bool is_first = in_turns ? column % 2 == 0 : column < quarter;
    const bool is_y = is_first == (strchr("pqe", p.variant) != NULL);
    const size_t index = is_y ? row / p.width : row % p.width;
    const double between = p.variant == 'p' && !is_first ? 2 : 0;
    const double t = (double)index + (p.variant == 'l' || p.variant == 'e');

    oracle_power(out, p.base, (double)(4 * k) + between, (double)p.dim);
    oracle_wave(out, t, p.is_sin);
}

TEST(equals_mpfr)
{
    static const char *const variants[] = {"axial",    "llama4",   "pixtral",
                                           "qwen2-vl", "kimi-k25", "efficientloftr"};
    static const size_t sizes[][3] = {{4, 5, 3}, {16, 1, 40}, {64, 9, 2}, {88, 7, 3}, {72, 35, 1}};
    size_t checked = 0;

    for (size_t i = 0; i < 6 * 5 * 2; i += NUMBERS_STEP_OF(7)) {
        const size_t *size = sizes[i % 5];
        char text[100], view[100];
        p.variant = variants[i % 6][0];
        p.dim = size[0], p.width = size[1];
        p.is_sin = i >= 30;
        p.base = p.variant == 'a' ? 100 : 10000;
        snprintf(text, sizeof(text), "dim=%zu variant=%s", p.dim, variants[i % 6]);
        snprintf(view, sizeof(view), "width=%zu height=%zu part=%s", p.width, size[2],
                 p.is_sin ? "sin" : "cos");
        checked += expect_rounded("rope-2d", text, view, element);
    }
    printf("rope-2d: %zu elements\n", checked);
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

/* A grid equals the list of its points; llama4 is axial with coordinates + 1; axial is mrope's
 * vision of x and y; the points of the first axis are rope of half the width. */
TEST(relations)
{
    static const char points[] = "positions=0,1,2,0,1,2;0,0,0,1,1,1";

    expect_same("rope-2d", "dim=24", "width=3 height=2", "rope-2d", "dim=24", points);
    expect_same("rope-2d", "dim=24 variant=pixtral", "width=3 height=2 part=complex", "rope-2d",
                "dim=24 variant=pixtral", "positions=0,1,2,0,1,2;0,0,0,1,1,1 part=complex");
    expect_same("rope-2d", "dim=24 variant=llama4", points, "rope-2d", "dim=24 base=10000",
                "positions=1,2,3,1,2,3;1,1,1,2,2,2");
    expect_same("rope-2d", "dim=24 variant=llama4", "positions=-1;-1", "rope-2d",
                "dim=24 base=10000", "positions=0;0");
    expect_same("rope-2d", "dim=24 base=77", "positions=5,-2.5,1e9;7,3e5,0", "mrope",
                "dim=24 base=77 mrope_section=6,6 mrope_type=vision",
                "positions=5,-2.5,1e9;7,3e5,0");
    struct filled grid = filled_new("rope-2d", "dim=24", "width=9 height=1", PE_F32, false);
    struct filled line = filled_new("rope", "dim=12 base=100", "length=9", PE_F32, false);
    for (size_t x = 0; x < 9; x++)
        for (size_t pair = 0; pair < 6; pair++) {
            ck_assert(filled_at(&grid, x, pair) == filled_at(&line, x, pair));
            ck_assert(filled_at(&grid, x, pair + 6) == 1);
        }
    free(grid.data);
    free(line.data);
    expect_table("rope-2d", "dim=4", "width=0 height=5", NULL, 0, 2, 0);
}

/* Lines of a grid, partly copied from the line above, equal the same points one by one, in any
 * arrangement and from any row on. */
TEST(lines_are_points)
{
    static const char *const variants[] = {"axial", "pixtral", "efficientloftr"};
    static const char *const parts[] = {"part=sin", "part=complex", "duplicate=true part=cos",
                                        "cache=vllm"};
    enum { WIDTH = 5, ROWS = 7 * WIDTH };

    for (size_t i = 0; i < COUNT_OF(variants) * COUNT_OF(parts); i++) {
        const char *const part = parts[i % COUNT_OF(parts)];
        char text[100], grid[100], points[4 * ROWS + 100] = "positions=";
        snprintf(text, sizeof(text), "dim=24 variant=%s", variants[i / COUNT_OF(parts)]);
        snprintf(grid, sizeof(grid), "width=%d height=7 %s", WIDTH, part);
        for (size_t row = 0; row < 2 * ROWS; row++)
            snprintf(points + strlen(points), 4, "%zu%s",
                     row < ROWS ? row % WIDTH : row % ROWS / WIDTH,
                     row + 1 == ROWS       ? ";"
                     : row + 1 == 2 * ROWS ? " "
                                           : ",");
        strcat(points, part);
        expect_same("rope-2d", text, grid, "rope-2d", text, points);
        expect_same("rope-2d", text, points, "rope-2d", text, grid);
    }
}

/* A rotation moved by a distance equals one at the sum: llama4's offset 1 is added once. */
TEST(moved_is_placed)
{
    enum { DIM = 8, ROWS = 3 };
    static const double from[] = {0, 3, 5, 2, 2, 9}, by[] = {4, -3, 7, 1, 0, -5};
    double to[2 * ROWS], x[ROWS * DIM], direct[ROWS * DIM];
    const struct pe_axes axes = {1, 1, ROWS, 1, DIM};
    OWNED_SCHEME scheme = scheme_new("rope-2d", "dim=8 variant=llama4");
    struct pe_rotation_spec spec = SIZED(pe_rotation_spec, .scheme = scheme,
                                         .positions = {.values = from, .count = ROWS, .axes = 2});
    struct pe_rotation *rotation;

    for (size_t i = 0; i < ROWS * DIM; i++)
        x[i] = direct[i] = cos((double)(3 * i));
    for (size_t i = 0; i < 2 * ROWS; i++)
        to[i] = from[i] + by[i];
    rotation = rotation_new(&spec, PE_F64, NULL);
    pe_rotate(rotation, x, &axes, 0, ROWS, NULL, &(struct pe_error){0});
    pe_rotation_free(rotation);
    /* By hand: token 1 at (4, 3), pair 1 of x and of y, base 10000, a fourth of the width. */
    ck_assert(fabs(x[DIM + 1] - (cos(27) * cos(4 * 0.01) - cos(39) * sin(4 * 0.01))) < 1e-15);
    ck_assert(fabs(x[DIM + 2] - (cos(30) * cos(3) - cos(42) * sin(3))) < 1e-15);
    spec.positions.values = by;
    spec.is_delta = true;
    rotation = rotation_new(&spec, PE_F64, NULL);
    pe_rotate(rotation, x, &axes, 0, ROWS, NULL, &(struct pe_error){0});
    pe_rotation_free(rotation);
    spec.positions.values = to;
    spec.is_delta = false;
    rotation = rotation_new(&spec, PE_F64, NULL);
    pe_rotate(rotation, direct, &axes, 0, ROWS, NULL, &(struct pe_error){0});
    pe_rotation_free(rotation);
    for (size_t i = 0; i < ROWS * DIM; i++)
        ck_assert(fabs(x[i] - direct[i]) < 1e-15);
}

/* The offset is added to fractions without rounding, too. */
TEST(fractions_with_an_offset)
{
    expect_same("rope-2d", "dim=8 variant=llama4", "positions=1;2.5", "rope-2d", "dim=8 base=10000",
                "positions=2;3.5");
    expect_same("rope-2d", "dim=8 variant=llama4", "positions=0,0,.1,.1;0,.1,0,.1", "rope-nd",
                "axes_dim=4,4", "shape=2,2 origin=1,1 steps=.1,.1");
}

TEST(refusals)
{
    static const char positions[] = "parameter:positions";

    expect_refused("rope-2d", "", "width=2 height=2", PE_MISSING, "dim");
    expect_refused("rope-2d", "dim=6", "width=2 height=2", PE_INVALID, "dim");
    expect_refused("rope-2d", "dim=2", "width=2 height=2", PE_OUT_OF_RANGE, "dim");
    expect_refused("rope-2d", "dim=8 base=1", "width=2 height=2", PE_OUT_OF_RANGE, "base");
    expect_refused("rope-2d", "dim=8 variant=half", "width=2 height=2", PE_INVALID, "variant");
    expect_refused("rope-2d", "dim=8", "", PE_MISSING, "width");
    expect_refused("rope-2d", "dim=8", "width=2", PE_MISSING, "height");
    expect_refused("rope-2d", "dim=8", "width=-1 height=1", PE_OUT_OF_RANGE, "width");
    expect_refused("rope-2d", "dim=8", "width=9e15 height=9e15", PE_TOO_LARGE, "height");
    expect_refused("rope-2d", "dim=8", "width=2 height=2 positions=1;1", PE_CONFLICT, positions);
    expect_refused("rope-2d", "dim=8", "positions=1,2", PE_SHAPE_MISMATCH, positions);
    expect_refused("rope-2d", "dim=8", "positions=1;2;3", PE_SHAPE_MISMATCH, positions);
    expect_refused("rope-2d", "dim=8", "width=2 height=2 part=complex duplicate=true", PE_CONFLICT,
                   "duplicate");
}
