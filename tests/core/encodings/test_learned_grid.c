/* SPDX-License-Identifier: MIT */
#include <gmp.h>

#include "tests/check_main.h"
#include "tests/core/learned_fixture.h"
#include "tests/core/table_fixture.h"

/* Learned tables resampled from one grid to another, against the steps of
 * torch.nn.functional.interpolate in rational numbers. */

enum { WIDTH = 5, SIDE_MAX = 24, ROWS_MAX = SIDE_MAX * SIDE_MAX + 3 };

struct grids {
    size_t prefix, from[2], to[2];
    bool cubic, aligned, antialias;
    double offset;
};

/* The weight of each cell of an axis for one cell of the new axis. */
struct weights {
    mpq_t of[SIDE_MAX];
};

static void ratio_set(mpq_t out, long numerator, unsigned long denominator)
{
    mpq_set_si(out, numerator, denominator);
    mpq_canonicalize(out);
}

/* ((a x + b) x + c) x + d */
static void polynomial(mpq_t out, const mpq_t x, const mpq_t coefficients[4])
{
    mpq_set(out, coefficients[0]);
    for (size_t i = 1; i < 4; i++) {
        mpq_mul(out, out, x);
        mpq_add(out, out, coefficients[i]);
    }
}

/* Keys' convolution at a distance, with `a` in quarters. */
static void convolution(mpq_t out, const mpq_t x, long a)
{
    const long near[] = {a + 8, -(a + 12), 0, 4}, far[] = {a, -5 * a, 8 * a, -4 * a};
    mpq_t coefficients[4];

    if (mpq_cmp_si(x, 2, 1) >= 0) {
        mpq_set_si(out, 0, 1);
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        mpq_init(coefficients[i]);
        ratio_set(coefficients[i], mpq_cmp_si(x, 1, 1) <= 0 ? near[i] : far[i], 4);
    }
    polynomial(out, x, (const mpq_t *)coefficients);
    for (size_t i = 0; i < 4; i++)
        mpq_clear(coefficients[i]);
}

static void triangle(mpq_t out, const mpq_t x)
{
    mpq_set_si(out, 1, 1);
    mpq_sub(out, out, x);
    if (mpq_sgn(out) < 0)
        mpq_set_si(out, 0, 1);
}

/* An axis whose size stays is copied but by bicubic weights without antialias. */
static void scale_set(mpq_t out, const struct grids *g, int side)
{
    mpq_t size;

    mpq_init(size);
    if (g->aligned) {
        mpq_set_si(out, 0, 1);
        if (g->to[side] > 1)
            ratio_set(out, (long)g->from[side] - 1, g->to[side] - 1);
    } else {
        const bool copied = g->from[side] == g->to[side] && (!g->cubic || g->antialias);
        mpq_set_d(size, copied ? 0 : g->offset);
        mpq_set_ui(out, g->to[side], 1);
        mpq_add(size, size, out);
        mpq_set_ui(out, g->from[side], 1);
        mpq_div(out, out, size);
    }
    mpq_clear(size);
}

/* Cells around a point of the table, those beyond the edges being the cells at the edges. */
static void weights_plain(struct weights *w, const struct grids *g, int side, const mpq_t scale,
                          size_t i)
{
    const long last = (long)g->from[side] - 1, taps = g->cubic ? 2 : 1;
    mpq_t point, x, weight;
    mpz_t floored;

    mpq_inits(point, x, weight, NULL);
    mpz_init(floored);
    ratio_set(x, g->aligned ? (long)i : 2 * (long)i + 1, g->aligned ? 1 : 2);
    mpq_mul(point, scale, x);
    if (!g->aligned) {
        ratio_set(x, 1, 2);
        mpq_sub(point, point, x);
        if (!g->cubic && mpq_sgn(point) < 0)
            mpq_set_si(point, 0, 1);
    }
    mpz_fdiv_q(floored, mpq_numref(point), mpq_denref(point));
    const long base = mpz_get_si(floored);
    for (long j = base - taps + 1; j <= base + taps; j++) {
        ratio_set(x, j, 1);
        mpq_sub(x, x, point);
        mpq_abs(x, x);
        if (g->cubic)
            convolution(weight, x, -3);
        else
            triangle(weight, x);
        const long at = j < 0 ? 0 : j > last ? last : j;
        mpq_add(w->of[at], w->of[at], weight);
    }
    mpq_clears(point, x, weight, NULL);
    mpz_clear(floored);
}

/* Cells around the centre, within the table, and their sum made 1. */
static void weights_antialias(struct weights *w, const struct grids *g, int side, const mpq_t scale,
                              size_t i)
{
    mpq_t centre, x, total;

    mpq_inits(centre, x, total, NULL);
    ratio_set(x, 2 * (long)i + 1, 2);
    mpq_mul(centre, scale, x);
    for (size_t j = 0; j < g->from[side]; j++) {
        ratio_set(x, 2 * (long)j + 1, 2);
        mpq_sub(x, x, centre);
        mpq_abs(x, x);
        if (mpq_cmp_si(scale, 1, 1) >= 0)
            mpq_div(x, x, scale);
        if (g->cubic)
            convolution(w->of[j], x, -2);
        else
            triangle(w->of[j], x);
        mpq_add(total, total, w->of[j]);
    }
    ck_assert_int_gt(mpq_sgn(total), 0);
    for (size_t j = 0; j < g->from[side]; j++)
        mpq_div(w->of[j], w->of[j], total);
    mpq_clears(centre, x, total, NULL);
}

static void weights_set(struct weights *w, const struct grids *g, int side, size_t i)
{
    mpq_t scale;

    mpq_init(scale);
    for (size_t j = 0; j < SIDE_MAX; j++)
        mpq_set_si(w->of[j], 0, 1);
    scale_set(scale, g, side);
    if (g->antialias)
        weights_antialias(w, g, side, scale, i);
    else
        weights_plain(w, g, side, scale, i);
    mpq_clear(scale);
}

static void weights_init(struct weights *w)
{
    for (size_t j = 0; j < SIDE_MAX; j++)
        mpq_init(w->of[j]);
}

static void weights_clear(struct weights *w)
{
    for (size_t j = 0; j < SIDE_MAX; j++)
        mpq_clear(w->of[j]);
}

static void element(mpq_t out, const struct grids *g, const double *data, const struct weights *y,
                    const struct weights *x, size_t column)
{
    mpq_t product;

    mpq_init(product);
    mpq_set_si(out, 0, 1);
    for (size_t i = 0; i < g->from[0]; i++)
        for (size_t j = 0; j < g->from[1]; j++) {
            if (mpq_sgn(y->of[i]) == 0 || mpq_sgn(x->of[j]) == 0)
                continue;
            mpq_set_d(product, data[(g->prefix + i * g->from[1] + j) * WIDTH + column]);
            mpq_mul(product, product, y->of[i]);
            mpq_mul(product, product, x->of[j]);
            mpq_add(out, out, product);
        }
    mpq_clear(product);
}

static void text_of(const struct grids *g, char *text, size_t size)
{
    const int length =
        snprintf(text, size,
                 "table=x grid=%zu,%zu to=%zu,%zu mode=%s align_corners=%d antialias=%d prefix=%zu",
                 g->from[0], g->from[1], g->to[0], g->to[1], g->cubic ? "bicubic" : "bilinear",
                 g->aligned, g->antialias, g->prefix);

    if (g->offset > 0)
        snprintf(text + length, size - (size_t)length, " interpolate_offset=%.17g", g->offset);
}

static bool is_identity(const struct grids *g)
{
    return g->from[0] == g->to[0] && g->from[1] == g->to[1];
}

/* Every element in every dtype. */
static size_t compare(const struct grids *g, const double *data)
{
    const size_t rows = g->prefix + g->to[0] * g->to[1];
    const struct pe_tensor table =
        matrix(PE_F64, g->prefix + g->from[0] * g->from[1], WIDTH, (void *)data);
    char text[200], view[40], *got[4];
    struct weights y, x;
    size_t count;
    mpfr_t real;
    mpq_t value;

    mpq_init(value);
    mpfr_init2(real, EXACT_BITS);
    weights_init(&y);
    weights_init(&x);
    text_of(g, text, sizeof(text));
    snprintf(view, sizeof(view), "length=%zu", rows);
    for (enum pe_dtype f = PE_F64; f <= PE_BF16; f++)
        got[f] = learned_rows("learned", text, &table, view, f, &count);
    for (size_t row = 0; row < rows; row++) {
        const size_t cell = row - g->prefix;
        if (row >= g->prefix && !is_identity(g)) {
            weights_set(&y, g, 0, cell / g->to[1]);
            weights_set(&x, g, 1, cell % g->to[1]);
        }
        for (size_t column = 0; column < WIDTH; column++) {
            if (row < g->prefix || is_identity(g))
                mpq_set_d(value, data[row * WIDTH + column]);
            else
                element(value, g, data, &y, &x, column);
            mpfr_set_q(real, value, MPFR_RNDN);
            for (enum pe_dtype f = PE_F64; f <= PE_BF16; f++) {
                const size_t size = pe_dtype_info(f)->size;
                char want[8];
                oracle_write(real, f, want);
                ck_assert_msg(memcmp(got[f] + (row * WIDTH + column) * size, want, size) == 0,
                              "%s %s row %zu column %zu: %.17g", text, pe_dtype_name(f), row,
                              column, mpfr_get_d(real, MPFR_RNDN));
            }
        }
    }
    for (enum pe_dtype f = PE_F64; f <= PE_BF16; f++)
        free(got[f]);
    weights_clear(&y);
    weights_clear(&x);
    mpq_clear(value);
    mpfr_clear(real);
    return rows * WIDTH * 4;
}

static const size_t shapes[][4] = {
    {1, 1, 3, 2},  {3, 1, 1, 2}, {2, 3, 5, 4}, {4, 4, 8, 8}, {7, 5, 3, 2},
    {4, 6, 4, 9},  {3, 3, 9, 3}, {6, 2, 2, 6}, {5, 5, 4, 7}, {9, 9, 2, 1},
    {24, 1, 2, 1}, {2, 2, 1, 1}, {3, 4, 3, 4},
};

static void data_draw(double *data, int exponents, uint64_t seed)
{
    for (size_t i = 0; i < ROWS_MAX * WIDTH; i++)
        data[i] =
            exponents == 0 ? (double)(float)any_double(&seed, 12) : any_double(&seed, exponents);
}

static void all_compared(int exponents, double offset)
{
    static double data[ROWS_MAX * WIDTH];
    size_t checked = 0;

    data_draw(data, exponents, (uint64_t)exponents + 17);
    for (size_t s = 0; s < COUNT_OF(shapes); s++)
        for (int bits = 0; bits < 8; bits++) {
            const struct grids g = {.prefix = s % 3,
                                    .from = {shapes[s][0], shapes[s][1]},
                                    .to = {shapes[s][2], shapes[s][3]},
                                    .cubic = bits & 1,
                                    .antialias = bits & 2,
                                    .aligned = bits & 4,
                                    .offset = offset};
            if (!g.aligned || offset == 0)
                checked += compare(&g, data);
        }
    printf("%zu elements\n", checked);
}

/* Of f32 numbers, among whose sums are ties. */
TEST(of_floats)
{
    all_compared(0, 0);
}

/* Doubles of every size, which double-doubles do not hold. */
TEST(of_any_doubles)
{
    all_compared(30, 0);
    all_compared(2000, 0);
}

TEST(with_an_offset)
{
    all_compared(30, 0.1);
    all_compared(0, 0.5);
    all_compared(2000, 0.999);
}

/* What a prepared grid is charged for: nothing but weights, in proportion to its cells. */
TEST(memory_of_weights)
{
    static float elements[4 * 4 * WIDTH];
    const struct pe_tensor table = {PE_F32, 2, {4 * 4, WIDTH}, elements};

    for (unsigned i = 0; i < 4; i++) {
        uint64_t held[2];
        for (unsigned twice = 0; twice < 2; twice++) {
            char text[120];
            struct pe_error err = {0};
            struct pe_params params;
            struct pe_scheme *scheme;
            struct pe_work *work;
            snprintf(text, sizeof(text),
                     "table=x grid=4,4 to=%d,%d mode=%s align_corners=%s antialias=false",
                     twice ? 16 : 8, twice ? 24 : 12, i % 2 ? "bicubic" : "bilinear",
                     i / 2 ? "true" : "false");
            ck_assert(!pe_work_new(&work, NULL, &err));
            ck_assert(!pe_params_parse(&params, "learned", text, &err));
            ck_assert(!pe_scheme_open(&scheme, pe_encoding_find("learned"), &params, NULL, &err));
            pe_params_free(&params);
            ck_assert(!pe_scheme_give(scheme, "table", &table, NULL, &err));
            ck_assert(!pe_scheme_prepare(scheme, work, &err));
            held[twice] = pe_work_memory(work);
            pe_scheme_free(scheme);
            pe_work_free(work);
        }
        ck_assert_msg(held[0] > 0 && held[1] == 2 * held[0], "%u: %llu and %llu bytes", i,
                      (unsigned long long)held[0], (unsigned long long)held[1]);
    }
}

/* Twice as many cells by bilinear weights of 1/4 and 3/4: 1 and 3, 4 apart, give 1.5 and 2.5. */
TEST(a_known_row)
{
    double data[] = {1, 3};
    const struct pe_tensor table = matrix(PE_F64, 2, 1, data);
    static const char *const texts[] = {
        "table=x grid=1,2 to=1,4 mode=bilinear align_corners=false antialias=false",
        "table=x grid=1,2 to=1,4 mode=bilinear align_corners=true antialias=false",
    };
    static const double wants[][4] = {{1, 1.5, 2.5, 3},
                                      {1, 0x1.aaaaaaaaaaaabp+0, 0x1.2aaaaaaaaaaabp+1, 3}};
    size_t rows;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        OWNED_MEMORY double *got =
            learned_rows("learned", texts[i], &table, "length=4", PE_F64, &rows);
        ck_assert_mem_eq(got, wants[i], sizeof(wants[i]));
    }
}

/* Rows at any positions are those of the complete table. */
TEST(some_rows)
{
    static double data[ROWS_MAX * WIDTH];
    const char *text = "table=x grid=3,4 to=5,6 mode=bicubic align_corners=false antialias=true "
                       "prefix=1";
    const struct pe_tensor table = matrix(PE_F64, 13, WIDTH, data);
    const size_t row_size = WIDTH * sizeof(float), chosen[] = {30, 0, 7, 1};
    size_t rows;

    data_draw(data, 20, 5);
    OWNED_MEMORY char *all = learned_rows("learned", text, &table, "length=31", PE_F32, &rows);
    OWNED_MEMORY char *some =
        learned_rows("learned", text, &table, "positions=30,0,7,1", PE_F32, &rows);
    for (size_t i = 0; i < 4; i++)
        ck_assert_mem_eq(some + i * row_size, all + chosen[i] * row_size, row_size);
}

#define GRID "table=x grid=2,3 to=4,6 "
#define WAY  "mode=bilinear align_corners=false antialias=true"

TEST(refusals)
{
    float data[14] = {0};
    const struct pe_tensor table = matrix(PE_F32, 7, 2, data);
    static const struct learned_refusal cases[] = {
        {GRID WAY, "length=1", PE_SHAPE_MISMATCH, "grid"},
        {GRID WAY " prefix=2", "length=1", PE_SHAPE_MISMATCH, "grid"},
        {GRID WAY " prefix=1", "length=26", PE_OUT_OF_RANGE, "length"},
        {GRID WAY " prefix=1", "positions=25", PE_OUT_OF_RANGE, "positions"},
        {"table=x grid=2,3 " WAY, "length=1", PE_MISSING, "to"},
        {GRID "align_corners=false antialias=true", "length=1", PE_MISSING, "mode"},
        {GRID "mode=bicubic antialias=true", "length=1", PE_MISSING, "align_corners"},
        {GRID "mode=bicubic align_corners=true", "length=1", PE_MISSING, "antialias"},
        {GRID WAY " prefix=1 mode=nearest", "length=1", PE_INVALID, "mode"},
        {"table=x to=4,6", "length=1", PE_CONFLICT, "to"},
        {"table=x mode=bicubic", "length=1", PE_CONFLICT, "mode"},
        {"table=x align_corners=false", "length=1", PE_CONFLICT, "align_corners"},
        {"table=x antialias=false", "length=1", PE_CONFLICT, "antialias"},
        {"table=x prefix=0", "length=1", PE_CONFLICT, "prefix"},
        {"table=x interpolate_offset=0.1", "length=1", PE_CONFLICT, "interpolate_offset"},
        {GRID WAY " prefix=1 interpolate_offset=1", "length=1", PE_OUT_OF_RANGE,
         "interpolate_offset"},
        {GRID "mode=bicubic align_corners=true antialias=false prefix=1 interpolate_offset=0.1",
         "length=1", PE_CONFLICT, "interpolate_offset"},
        {GRID WAY " prefix=1 l2norm=true", "length=1", PE_CONFLICT, "l2norm"},
        {GRID WAY " prefix=1 scale=2", "length=1", PE_CONFLICT, "scale"},
        {"table=x grid=6 to=4,6 " WAY, "length=1", PE_SHAPE_MISMATCH, "grid"},
        {"table=x grid=2,3 to=4,6,1 " WAY, "length=1", PE_SHAPE_MISMATCH, "to"},
        {"table=x grid=2.5,3 to=4,6 " WAY, "length=1", PE_INVALID, "grid"},
        {"table=x grid=2,3 to=0,6 " WAY, "length=1", PE_OUT_OF_RANGE, "to"},
        {"table=x grid=2,3 to=4097,6 " WAY, "length=1", PE_OUT_OF_RANGE, "to"},
    };

    learned_refused("learned", &table, cases, COUNT_OF(cases));
}
