/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

static struct {
    size_t dim, height, width;
    double base, scale;
    bool mae, normalize, class_token;
    size_t base_size, max_size; /* 0: none */
    double interpolation_scale; /* 0: none */
} p;

/* The formula point by point. */
static void element(mpfr_ptr out, size_t row, size_t column)
{
    const size_t half = p.dim / 2, inside = column % half;
    const bool first = column < half, across = first == p.mae;
    mpfr_t last;

    if (p.class_token && row-- == 0) {
        mpfr_set_zero(out, 1);
        return;
    }
    const size_t size = across ? p.width : p.height;
    const size_t coordinate =
        (across ? row % p.width : row / p.width) + (p.max_size ? (p.max_size - size) / 2 : 0);
    const size_t pair = p.mae ? inside % (half / 2) : inside / 2;
    oracle_power(out, p.base, 2 * (double)pair, (double)half);
    if (p.normalize) {
        mpfr_init2(last, ORACLE_BITS);
        mpfr_set_str(last, "1e-6", 10, MPFR_RNDN);
        mpfr_add_ui(last, last, across ? p.width : p.height, MPFR_RNDN);
        mpfr_mul_d(out, out, p.scale, MPFR_RNDN);
        mpfr_div(out, out, last, MPFR_RNDN);
        mpfr_clear(last);
    }
    if (p.base_size) {
        mpfr_mul_ui(out, out, p.base_size, MPFR_RNDN);
        mpfr_div_ui(out, out, p.max_size ? p.max_size : size, MPFR_RNDN);
    }
    if (p.interpolation_scale != 0)
        mpfr_div_d(out, out, p.interpolation_scale, MPFR_RNDN);
    oracle_wave(out, (double)coordinate + (p.mae ? 0 : 1),
                p.mae ? inside < half / 2 : inside % 2 == 0);
}

static size_t check(const char *more)
{
    char text[200];

    snprintf(text, sizeof(text), "dim=%zu height=%zu width=%zu base=%.17g %s", p.dim, p.height,
             p.width, p.base, more);
    return expect_rounded("sinusoidal-2d", text, "", element);
}

TEST(equals_mpfr)
{
    static const size_t sizes[][3] = {{4, 1, 1},   {8, 5, 7},  {16, 7, 5}, {12, 1, 40},
                                      {20, 40, 1}, {64, 3, 3}, {4, 30, 2}};
    size_t checked = 0;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        p.dim = sizes[i][0], p.height = sizes[i][1], p.width = sizes[i][2];
        p.base = i % 2 ? 100 : 10000;
        p.mae = p.normalize = p.class_token = false;
        checked += check("");
        p.normalize = true;
        p.scale = 2 * M_PI;
        checked += check("normalize=true");
        p.scale = 1e-3;
        checked += check("normalize=true scale=0.001");
        p.normalize = false;
        p.mae = true;
        checked += check("variant=mae");
        p.class_token = true;
        checked += check("variant=mae class_token=true");
    }
    /* detr with halves of odd width, which end with a sine */
    p.mae = p.class_token = false;
    for (p.dim = 2; p.dim < 12; p.dim += 4)
        checked += check("");
    printf("sinusoidal-2d: %zu elements\n", checked);
}

/* The grids of DiT, PixArt and Stable Diffusion 3, and others. */
TEST(scaled_grids_equal_mpfr)
{
    static const struct {
        size_t height, width, base_size, max_size;
        double interpolation_scale;
    } grids[] = {{16, 16, 16, 0, 0},    {5, 7, 16, 0, 0},     {9, 4, 64, 0, 2},
                 {6, 6, 0, 0, 1.875},   {4, 5, 64, 192, 0},   {3, 8, 64, 384, 0.7},
                 {8, 3, 0, 96, 0},      {5, 5, 3, 5, 1e9},    {1, 1, 1, 1, 0.001},
                 {2, 3, 1 << 20, 7, 3}, {3, 2, 7, 1 << 20, 3}};
    size_t checked = 0;

    p.mae = true, p.normalize = false, p.dim = 20, p.base = 10000;
    for (size_t i = 0; i < 2 * COUNT_OF(grids); i++) {
        char text[160];
        int end = snprintf(text, sizeof(text), "variant=mae");
        p.height = grids[i / 2].height, p.width = grids[i / 2].width;
        p.base_size = grids[i / 2].base_size, p.max_size = grids[i / 2].max_size;
        p.interpolation_scale = grids[i / 2].interpolation_scale;
        p.class_token = i % 2;
        if (p.class_token)
            end += snprintf(text + end, sizeof(text) - (size_t)end, " class_token=true");
        if (p.base_size)
            end += snprintf(text + end, sizeof(text) - (size_t)end, " base_size=%zu", p.base_size);
        if (p.max_size)
            end += snprintf(text + end, sizeof(text) - (size_t)end, " max_size=%zu", p.max_size);
        if (p.interpolation_scale != 0)
            snprintf(text + end, sizeof(text) - (size_t)end, " interpolation_scale=%.17g",
                     p.interpolation_scale);
        checked += check(text);
    }
    p.base_size = p.max_size = 0;
    p.interpolation_scale = 0;
    p.class_token = false;
    printf("sinusoidal-2d, scaled: %zu elements\n", checked);
}

/* The halves of mae are those of sinusoidal-nd exchanged; coordinates of detr start at 1. */
TEST(equals_sinusoidal_nd)
{
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        OWNED_FILLED mae =
            filled_new("sinusoidal-2d", "dim=24 height=9 width=4 variant=mae", "", dtype, false);
        OWNED_FILLED detr =
            filled_new("sinusoidal-2d", "dim=24 height=2 width=2", "", dtype, false);
        OWNED_FILLED nd =
            filled_new("sinusoidal-nd", "dim=24 layout=concatenated", "shape=9,4", dtype, false);
        OWNED_FILLED from_one =
            filled_new("sinusoidal-nd", "dim=24", "coordinates=1,1,1,2,2,1,2,2", dtype, false);
        const size_t half = 12 * pe_dtype_info(dtype)->size;
        for (size_t row = 0; row < 36; row++) {
            ck_assert_mem_eq(mae.data + 2 * row * half, nd.data + (2 * row + 1) * half, half);
            ck_assert_mem_eq(mae.data + (2 * row + 1) * half, nd.data + 2 * row * half, half);
        }
        ck_assert_mem_eq(detr.data, from_one.data, 8 * half);
    }
}

TEST(refusals)
{
    static const struct refused cases[] = {
        {"height=2 width=2", PE_MISSING, "dim"},
        {"dim=4 width=2", PE_MISSING, "height"},
        {"dim=4 height=2", PE_MISSING, "width"},
        {"dim=4 height=0 width=2", PE_OUT_OF_RANGE, "height"},
        {"dim=4 height=2 width=-1", PE_OUT_OF_RANGE, "width"},
        {"dim=4 height=1048577 width=1", PE_OUT_OF_RANGE, "height"},
        {"dim=1 height=2 width=2", PE_OUT_OF_RANGE, "dim"},
        {"dim=5 height=2 width=2", PE_INVALID, "dim"},
        {"dim=6 height=2 width=2 variant=mae", PE_INVALID, "dim"},
        {"dim=4 height=2 width=2 variant=vit", PE_INVALID, "variant"},
        {"dim=4 height=2 width=2 base=1", PE_OUT_OF_RANGE, "base"},
        {"dim=4 height=2 width=2 temperature=nan", PE_INVALID, "base"},
        {"dim=4 height=2 width=2 scale=1", PE_CONFLICT, "scale"},
        {"dim=4 height=2 width=2 normalize=1 scale=0", PE_OUT_OF_RANGE, "scale"},
        {"dim=4 height=2 width=2 normalize=2", PE_INVALID, "normalize"},
        {"dim=4 height=2 width=2 normalize=1 variant=mae", PE_CONFLICT, "normalize"},
        {"dim=4 height=2 width=2 class_token=1", PE_CONFLICT, "class_token"},
        {"dim=4 height=2 width=2 variant=mae class_token=x", PE_INVALID, "class_token"},
        {"dim=4 height=2 width=2 base_size=2", PE_CONFLICT, "base_size"},
        {"dim=4 height=2 width=2 interpolation_scale=2", PE_CONFLICT, "interpolation_scale"},
        {"dim=4 height=2 width=2 max_size=2", PE_CONFLICT, "max_size"},
        {"dim=4 height=2 width=2 variant=mae base_size=0", PE_OUT_OF_RANGE, "base_size"},
        {"dim=4 height=2 width=2 variant=mae base_size=1.5", PE_INVALID, "base_size"},
        {"dim=4 height=2 width=2 variant=mae interpolation_scale=0", PE_OUT_OF_RANGE,
         "interpolation_scale"},
        {"dim=4 height=3 width=2 variant=mae max_size=2", PE_OUT_OF_RANGE, "max_size"},
        {"dim=4 height=2 width=3 variant=mae pos_embed_max_size=2", PE_OUT_OF_RANGE, "max_size"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_refused("sinusoidal-2d", cases[i].text, "", cases[i].status, cases[i].where);
}
