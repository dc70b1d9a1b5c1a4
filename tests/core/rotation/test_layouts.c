/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "posenc/posenc.h"
#include "tests/check_main.h"

/* ---- layouts --------------------------------------------------------------------------------- */

TEST(small_rows)
{
    float data[] = {0, 1, 2, 3, 4, 5, 90, 91, 10, 11, 12, 13, 14, 15, 92, 93};
    const float want[] = {0, 3, 1, 4, 2, 5, 90, 91, 10, 13, 11, 14, 12, 15, 92, 93};
    float original[16];

    memcpy(original, data, sizeof(data));
    pe_layout_convert(data, PE_F32, 2, 8, 6, PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED,
                      &(struct pe_error){0});
    ck_assert_mem_eq(data, want, sizeof(want));
    pe_layout_convert(data, PE_F32, 2, 8, 6, PE_LAYOUT_INTERLEAVED, PE_LAYOUT_HALF,
                      &(struct pe_error){0});
    ck_assert_mem_eq(data, original, sizeof(original));
    pe_layout_convert(data, PE_F32, 2, 8, 6, PE_LAYOUT_HALF, PE_LAYOUT_HALF, &(struct pe_error){0});
    ck_assert_mem_eq(data, original, sizeof(original));
    pe_layout_convert(data, PE_F32, 2, 8, 0, PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED,
                      &(struct pe_error){0});
    ck_assert_mem_eq(data, original, sizeof(original));
    pe_layout_convert(data, PE_F32, 0, 8, 6, PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED,
                      &(struct pe_error){0});
    ck_assert_mem_eq(data, original, sizeof(original));
}

/* Rows that are cut, of every size of element, against the definition. */
TEST(long_rows)
{
    static const size_t pairs[] = {1, 2, 7, 64, 255, 256, 257, 1025, 10007};
    static const enum pe_dtype dtypes[] = {PE_BOOL, PE_F16, PE_F32, PE_F64};

    for (size_t p = 0; p < COUNT_OF(pairs); p++)
        for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
            const size_t size = pe_dtype_info(dtypes[d])->size, n = pairs[p], row = 2 * n + 1;
            char *data = malloc(2 * row * size), *original = malloc(2 * row * size);

            for (size_t i = 0; i < 2 * row * size; i++)
                original[i] = data[i] = (char)(rand() >> 7);
            pe_layout_convert(data, dtypes[d], 2, row, 2 * n, PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED,
                              &(struct pe_error){0});
            for (size_t i = 0; i < 2 * row; i++) {
                const size_t r = i / row * row, column = i % row;
                const size_t from = column == 2 * n ? column : column / 2 + column % 2 * n;
                ck_assert_mem_eq(data + i * size, original + (r + from) * size, size);
            }
            pe_layout_convert(data, dtypes[d], 2, row, 2 * n, PE_LAYOUT_INTERLEAVED, PE_LAYOUT_HALF,
                              &(struct pe_error){0});
            ck_assert_mem_eq(data, original, 2 * row * size);
            free(data);
            free(original);
        }
}

/* The permutation of a head, and heads along the last axis and along the first. */
TEST_LOOP(2, layouts_of_tensors)
{
    const struct pe_layout_change change =
        SIZED(pe_layout_change, .from = PE_LAYOUT_HALF, .to = PE_LAYOUT_INTERLEAVED, .head_dim = 5,
              .width = 4, .first_axis = _i);
    const int64_t permutation[] = {0, 2, 1, 3, 4, 5, 7, 6, 8, 9};
    float data[30], out[30], parts[30];
    const struct pe_tensor tensor = {PE_F32, 3, {_i ? 10 : 1, 3, _i ? 1 : 10}, data};
    const size_t rows = _i ? 30 : 3;
    int64_t indices[10];

    for (size_t i = 0; i < 30; i++)
        data[i] = (float)i;
    ck_assert(!pe_layout_permutation(&change, 2, indices, &(struct pe_error){0}));
    ck_assert_mem_eq(indices, permutation, sizeof(permutation));
    ck_assert(!pe_layout_fill(&change, &tensor, 0, rows, out, &(struct pe_error){0}));
    for (size_t i = 0; i < 30; i++)
        ck_assert_double_eq(out[i], _i ? (double)(permutation[i / 3] * 3) + (double)(i % 3)
                                       : (double)permutation[i % 10] + (double)(i / 10 * 10));
    for (size_t row = 0; row < rows; row++)
        ck_assert(!pe_layout_fill(&change, &tensor, row, row + 1, parts + row * 30 / rows,
                                  &(struct pe_error){0}));
    ck_assert_mem_eq(parts, out, sizeof(out));
    ck_assert_double_gt(pe_layout_work(&change, &tensor), 0);
}

/* ---- axes ------------------------------------------------------------------------------------ */

static const struct {
    const char *axes;
    unsigned rank;
    size_t shape[4], dim;
    struct pe_axes want;
} good[] = {
    {"bhsd", 4, {2, 3, 5, 8}, 0, {2, 3, 5, 1, 8}}, {"bshd", 4, {2, 5, 3, 8}, 0, {2, 1, 5, 3, 8}},
    {"bshd", 4, {2, 5, 3, 8}, 8, {2, 1, 5, 3, 8}}, {"thd", 3, {5, 3, 8}, 0, {1, 1, 5, 3, 8}},
    {"shd", 3, {5, 3, 8}, 0, {1, 1, 5, 3, 8}},     {"hsd", 3, {3, 5, 8}, 0, {1, 3, 5, 1, 8}},
    {"bsd", 3, {2, 5, 24}, 8, {2, 1, 5, 3, 8}},    {"sd", 2, {5, 24}, 8, {1, 1, 5, 3, 8}},
    {NULL, 2, {5, 24}, 8, {1, 1, 5, 3, 8}},        {"bhsd", 4, {2, 3, 0, 8}, 0, {2, 3, 0, 1, 8}},
    {"sd", 2, {5, 0}, 8, {1, 1, 5, 0, 8}},
};

static const struct {
    const char *axes;
    unsigned rank;
    size_t shape[4], dim;
    enum pe_status status;
    const char *where, *says;
} bad[] = {
    {NULL,
     4,
     {2, 3, 5, 8},
     0,
     PE_MISSING,
     "parameter:axes",
     "axes is required for rank 4; one of "},
    {NULL, 3, {3, 5, 8}, 0, PE_MISSING, "parameter:axes", "axes is required for rank 3"},
    {NULL, 1, {8}, 8, PE_SHAPE_MISMATCH, "parameter:axes", "got rank 1"},
    {"bhds", 4, {2, 3, 5, 8}, 0, PE_INVALID, "parameter:axes", "got \"bhds\""},
    {"", 2, {3, 5}, 0, PE_INVALID, "parameter:axes", "one of bhsd, bshd"},
    {"bhsd",
     3,
     {3, 5, 8},
     0,
     PE_SHAPE_MISMATCH,
     "parameter:axes",
     "names 4 axes, the tensor has 3"},
    {"sd", 2, {5, 24}, 0, PE_MISSING, "parameter:dim", "d is heads * dim = 24"},
    {"sd", 2, {5, 24}, 7, PE_SHAPE_MISMATCH, "parameter:dim", "24, which is no multiple of dim=7"},
    {"shd",
     3,
     {5, 3, 8},
     16,
     PE_CONFLICT,
     "parameter:dim",
     "dim=16, but axis d of the tensor is 8"},
    {"sd", 2, {SIZE_MAX, 16}, 8, PE_TOO_LARGE, "", "does not fit"},
};

TEST_LOOP(COUNT_OF(good), axes_parse)
{
    struct pe_tensor tensor = {.dtype = PE_F32, .rank = good[_i].rank};
    struct pe_error err = {0};
    struct pe_axes axes;

    memcpy(tensor.shape, good[_i].shape, sizeof(good[_i].shape));
    ck_assert_msg(!pe_axes_parse(&axes, good[_i].axes, &tensor, good[_i].dim, &err), "%s",
                  err.detail);
    ck_assert_mem_eq(&axes, &good[_i].want, sizeof(axes));
}

TEST_LOOP(COUNT_OF(bad), axes_refuse)
{
    struct pe_tensor tensor = {.dtype = PE_F32, .rank = bad[_i].rank};
    struct pe_error err = {0};
    struct pe_axes axes;

    memcpy(tensor.shape, bad[_i].shape, sizeof(bad[_i].shape));
    ck_assert_int_eq(pe_axes_parse(&axes, bad[_i].axes, &tensor, bad[_i].dim, &err),
                     bad[_i].status);
    ck_assert_str_eq(err.where, bad[_i].where);
    ck_assert_msg(strstr(err.detail, bad[_i].says) != NULL, "\"%s\" lacks \"%s\"", err.detail,
                  bad[_i].says);
}

/* ---- merged rows ----------------------------------------------------------------------------- */

/* Each operation is rounded once. */
TEST(merged_rows)
{
    const float x[] = {0.1f, 3, -0.7f, 1e30f}, p[] = {0.3f, -1, 0x1p-30f, 1};
    const double wide_x[] = {0.1, 3}, wide_p[] = {0.3, -1};
    double wide[4];
    float out[8];

    pe_merge_rows(PE_MERGE_ADD, 1.1, PE_F32, 2, x, 2, p, 2, out, &(struct pe_error){0});
    for (size_t i = 0; i < 4; i++) {
        volatile float product = x[i] * 1.1f;
        ck_assert(out[i] == product + p[i]);
    }
    pe_merge_rows(PE_MERGE_MUL, 1, PE_F32, 2, x, 2, p, 2, out, &(struct pe_error){0});
    for (size_t i = 0; i < 4; i++) {
        volatile float sum = p[i] + 1;
        ck_assert(out[i] == x[i] * sum);
    }
    pe_merge_rows(PE_MERGE_CONCAT, 1, PE_F32, 2, x, 2, p, 2, out, &(struct pe_error){0});
    const float joined[] = {x[0], x[1], p[0], p[1], x[2], x[3], p[2], p[3]};
    ck_assert_mem_eq(out, joined, sizeof(joined));
    pe_merge_rows(PE_MERGE_CONCAT, 1, PE_F32, 4, x, 1, NULL, 0, out, &(struct pe_error){0});
    ck_assert_mem_eq(out, x, sizeof(x));
    pe_merge_rows(PE_MERGE_ADD, 1, PE_F64, 1, wide_x, 2, wide_p, 2, wide, &(struct pe_error){0});
    ck_assert(wide[0] == 0.1 + 0.3 && wide[1] == 2);
    pe_merge_rows(PE_MERGE_MUL, 1, PE_F64, 1, wide_x, 2, wide_p, 2, wide, &(struct pe_error){0});
    ck_assert(wide[0] == 0.1 * (0.3 + 1) && wide[1] == 0);
}
