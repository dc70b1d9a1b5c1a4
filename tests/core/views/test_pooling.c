/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

/* Pooled views and bytes, compared with the original view element by element. */

static const struct {
    const char *encoding, *text, *view, *view_text;
    size_t matrices, rows, columns, depth; /* of the first output */
} cases[] = {
    {"sinusoidal", "dim=10", "table", "length=23", 1, 23, 10, 1},
    {"rope", "dim=12", "table", "length=400 start=-7", 1, 400, 6, 1},
    {"rope", "dim=12", "table", "length=31 part=complex", 1, 31, 6, 2},
    {"xpos", "dim=8 t_center=2", "table", "length=9", 1, 9, 4, 1},
    {"rope-2d", "dim=8", "table", "width=5 height=3", 1, 15, 4, 1},
    {"sinusoidal-2d", "dim=8 width=5 height=3", "table", "", 1, 15, 8, 1},
    {"sinusoidal-nd", "dim=12 ndim=3", "table", "shape=2,3,4", 1, 24, 12, 1},
    {"normalized", "length=9", "table", "", 1, 9, 1, 1},
    {"shaw", "max_relative_position=4 vectors=sinusoidal dim=6", "table", "", 1, 9, 6, 1},
    {"alibi", "heads=3", "bias", "query_length=17 key_length=29 causal=1", 3, 17, 29, 1},
    {"kerple-log", "heads=2 p=1 a=.5", "bias", "query_length=8", 2, 8, 8, 1},
    {"t5", "", "bias", "query_length=40", 1, 40, 40, 1},
    {"sinusoidal", "dim=6", "similarity", "length=20", 1, 20, 20, 1},
};

static double reference(const double *values, size_t index, size_t matrix, size_t row,
                        size_t column, size_t part, size_t rows, size_t columns, char pooling)
{
    const size_t n = cases[index].rows, m = cases[index].columns, depth = cases[index].depth;
    double sum = 0, least = INFINITY, most = -INFINITY, odd = 0;
    size_t count = 0;

    for (size_t j = column * m / columns; j < (column + 1) * m / columns; j++)
        for (size_t i = row * n / rows; i < (row + 1) * n / rows; i++) {
            const double value = values[((matrix * n + i) * m + j) * depth + part];
            least = fmin(least, value);
            most = fmax(most, value);
            if (isfinite(value))
                sum += value, count++;
            else
                odd = value;
        }
    return pooling == '<' ? least : pooling == '>' ? most : count ? sum / (double)count : odd;
}

static size_t expect_pooled(size_t index, const double *pooled, const double *values, size_t rows,
                            size_t columns, char pooling, double tolerance)
{
    size_t at = 0;

    for (size_t matrix = 0; matrix < cases[index].matrices; matrix++)
        for (size_t row = 0; row < rows; row++)
            for (size_t column = 0; column < columns; column++)
                for (size_t part = 0; part < cases[index].depth; part++, at++) {
                    const double want =
                        reference(values, index, matrix, row, column, part, rows, columns, pooling);
                    ck_assert_msg(pooled[at] == want ||
                                      fabs(pooled[at] - want) <= tolerance * fmax(1, fabs(want)),
                                  "%s %s: %g, want %g", cases[index].encoding, cases[index].view,
                                  pooled[at], want);
                }
    return at;
}

/* Every sort of view with matrices, in every floating dtype. The reference sums by columns. */
TEST(a_pooled_value_is_made_of_its_neighbours)
{
    static const size_t sizes[][2] = {{1, 1}, {2, 3}, {7, 2}};
    static const double ulp[] = {0x1p-44, 0x1p-23, 0x1p-10, 0x1p-7};
    size_t checked = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++)
            for (size_t s = 0; s < 3; s++) {
                char text[160];
                const size_t rows = sizes[s][0] < cases[i].rows ? sizes[s][0] : cases[i].rows;
                const size_t columns =
                    sizes[s][1] < cases[i].columns ? sizes[s][1] : cases[i].columns;
                struct analysed original = analysed_new(cases[i].encoding, cases[i].text,
                                                        cases[i].view, cases[i].view_text, dtype);
                snprintf(text, sizeof(text), "%s pool=mean rows=%zu columns=%zu",
                         cases[i].view_text, sizes[s][0], sizes[s][1]);
                struct analysed mean =
                    analysed_new(cases[i].encoding, cases[i].text, cases[i].view, text, dtype);
                snprintf(text, sizeof(text), "%s pool=minmax rows=%zu columns=%zu",
                         cases[i].view_text, sizes[s][0], sizes[s][1]);
                struct analysed both =
                    analysed_new(cases[i].encoding, cases[i].text, cases[i].view, text, dtype);
                checked += expect_pooled(i, mean.outputs[0], original.outputs[0], rows, columns,
                                         '=', ulp[pe_view_output(mean.opened.view, 0)->dtype]);
                checked +=
                    expect_pooled(i, both.outputs[0], original.outputs[0], rows, columns, '<', 0);
                checked +=
                    expect_pooled(i, both.outputs[1], original.outputs[0], rows, columns, '>', 0);
                analysed_free(&original);
                analysed_free(&mean);
                analysed_free(&both);
            }
    ck_assert_uint_eq(checked, 4152);
}

/* A byte is within half a step of its value; -Infinity becomes 0. */
TEST(bytes_are_scaled_values)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pe_scalar scale, offset;
        size_t first = 0;
        struct analysed original = analysed_new(cases[i].encoding, cases[i].text, cases[i].view,
                                                cases[i].view_text, PE_F32);
        struct analysed bytes = analysed_new(cases[i].encoding, cases[i].text, cases[i].view,
                                             cases[i].view_text, PE_U8);
        while (pe_view_scalar(bytes.opened.view, first, &scale) && *scale.name != 's')
            first++;
        if (pe_dtype_is_float(pe_view_output(original.opened.view, 0)->dtype)) {
            ck_assert_str_eq(scale.name, "scale");
            ck_assert(pe_view_scalar(bytes.opened.view, first + 1, &offset));
            ck_assert_str_eq(offset.name, "offset");
        }
        ck_assert_uint_eq(original.counts[0], bytes.counts[0]);
        for (size_t at = 0; at < original.counts[0]; at++)
            if (pe_view_output(bytes.opened.view, 0)->dtype != PE_U8)
                ck_assert_double_eq(bytes.outputs[0][at], original.outputs[0][at]);
            else if (isinf(original.outputs[0][at]))
                ck_assert_double_eq(bytes.outputs[0][at], 0);
            else
                ck_assert_double_eq_tol(offset.value + scale.value * bytes.outputs[0][at],
                                        original.outputs[0][at], scale.value * (.5 + 1e-9));
        analysed_free(&original);
        analysed_free(&bytes);
    }
}

TEST(refused)
{
    expect_analysis_refused("sinusoidal", "dim=8", "table", "length=8 rows=2", PE_CONFLICT,
                            "parameter:rows");
    expect_analysis_refused("sinusoidal", "dim=8", "table", "length=8 columns=2", PE_CONFLICT,
                            "parameter:columns");
    expect_analysis_refused("sinusoidal", "dim=8", "similarity", "length=8 anchor=1 pool=mean",
                            PE_UNSUPPORTED, "parameter:pool");
    expect_analysis_refused("rope", "dim=8", "decay", "max_offset=8 sample_spacing=log",
                            PE_CONFLICT, "parameter:sample_spacing");
    request_refused(&(const struct request){.encoding = "rope",
                                            .text = "dim=128",
                                            .view = "table",
                                            .view_text = "length=1000000",
                                            .dtype = PE_U8},
                    PE_TOO_LARGE, "parameter:dtype");
    request_refused(&(const struct request){.encoding = "rope",
                                            .text = "dim=128",
                                            .view = "frequencies",
                                            .view_text = "",
                                            .dtype = PE_U8},
                    PE_INVALID, "parameter:dtype");
}
