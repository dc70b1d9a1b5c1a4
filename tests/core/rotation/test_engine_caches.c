/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tests/check_main.h"
#include "tests/core/public_fixture.h"

/* ---- cosines and sines ----------------------------------------------------------------------- */

/* Two positions of two pairs: cos is 1, 2 | 3, 4 and sin 5, 6 | 7, 8. */
static float hf_cos[] = {1, 2, 1, 2, 3, 4, 3, 4}, hf_sin[] = {5, 6, 5, 6, 7, 8, 7, 8};
static float vllm[] = {1, 2, 5, 6, 3, 4, 7, 8}, meta[] = {1, 5, 2, 6, 3, 7, 4, 8};
static float cos_rows[] = {1, 2, 3, 4}, sin_rows[] = {5, 6, 7, 8};

static const struct {
    enum pe_rotary_cache cache;
    struct pe_tensor tensors[2];
} caches[] = {
    {PE_CACHE_HF, {{PE_F32, 2, {2, 4}, hf_cos}, {PE_F32, 2, {2, 4}, hf_sin}}},
    {PE_CACHE_VLLM, {{PE_F32, 2, {2, 4}, vllm}}},
    {PE_CACHE_META, {{PE_F32, 3, {2, 2, 2}, meta}}},
    {PE_CACHE_ONNX, {{PE_F32, 2, {2, 2}, cos_rows}, {PE_F32, 2, {2, 2}, sin_rows}}},
};

TEST_LOOP(COUNT_OF(caches), parts_of_caches)
{
    const enum pe_rotary_cache cache = caches[_i].cache;
    const struct pe_tensor *const tensors[2] = {
        &caches[_i].tensors[0], caches[_i].tensors[1].rank > 0 ? &caches[_i].tensors[1] : NULL};
    float cos[4], sin[4];
    struct pe_tensor parts[2];
    struct pe_error err = {0};

    ck_assert_int_eq(pe_rotary_cache_info(cache)->rank, tensors[0]->rank);
    ck_assert(!tensors[1] == !pe_rotary_cache_info(cache)->tensors[1]);
    ck_assert_msg(!pe_rotary_cache_parts(cache, tensors, parts, &err), "%s", err.detail);
    ck_assert(!parts[0].data == (cache != PE_CACHE_ONNX));
    parts[0].data = parts[0].data ? parts[0].data : cos;
    parts[1].data = parts[1].data ? parts[1].data : sin;
    pe_rotary_cache_split(cache, tensors, parts);
    for (size_t i = 0; i < 2; i++) {
        ck_assert(parts[i].dtype == PE_F32 && parts[i].rank == 2);
        ck_assert(parts[i].shape[0] == 2 && parts[i].shape[1] == 2);
    }
    ck_assert_mem_eq(parts[0].data, cos_rows, sizeof(cos_rows));
    ck_assert_mem_eq(parts[1].data, sin_rows, sizeof(sin_rows));
}

/* Frequencies of base 100 in 4 dimensions are 1 and 1 / 10. */
TEST(factors_divide_frequencies)
{
    double values[] = {2, 4}, inv_freq[2];
    struct pe_tensor factors = {PE_F64, 1, {2}, values};

    ACCEPTED(pe_rotary_factors_apply(&factors, 100, inv_freq, NULL, &err));
    ck_assert_double_eq(inv_freq[0], 0.5);
    ck_assert_double_eq(inv_freq[1], 0.025);
}

/* ---- keys and values ------------------------------------------------------------------------- */

/* Places of every set of axes, against loops over all coordinates. */
TEST(kv_places)
{
    const struct pe_tensor tensor = {PE_F32, 6, {2, 2, 3, 4, 5, 8}, NULL};
    struct pe_kv_axes axes;
    size_t c[5], rows = 0;

    ACCEPTED(pe_kv_axes_parse(&axes, NULL, &tensor, &err));
    ck_assert_str_eq(axes.letters, "lkbhsd");
    ck_assert_uint_eq(pe_kv_axes_places(&axes, PE_KV_ROWS), 2 * 2 * 3 * 4 * 5);
    ck_assert_uint_eq(pe_kv_axes_places(&axes, PE_KV_HEADS), 2 * 2 * 4);
    ck_assert_uint_eq(pe_kv_axes_stride(&axes, 'd'), 1);
    ck_assert_uint_eq(pe_kv_axes_stride(&axes, 'b'), 4 * 5 * 8);
    for (c[0] = 0; c[0] < 2; c[0]++)
        for (c[1] = 0; c[1] < 2; c[1]++)
            for (c[2] = 0; c[2] < 3; c[2]++)
                for (c[3] = 0; c[3] < 4; c[3]++)
                    for (c[4] = 0; c[4] < 5; c[4]++, rows++) {
                        for (size_t i = 0; i < 5; i++)
                            ck_assert_uint_eq(
                                pe_kv_axes_coordinate(&axes, PE_KV_ROWS, rows, PE_KV_ROWS[i]),
                                c[i]);
                        ck_assert_uint_eq(pe_kv_axes_project(&axes, PE_KV_ROWS, rows, PE_KV_HEADS),
                                          (c[0] * 2 + c[1]) * 4 + c[3]);
                    }
}

/* Axes in another order, and axes that are absent. */
TEST(kv_axes_without)
{
    const struct pe_tensor tensor = {PE_F32, 3, {7, 2, 8}, NULL};
    struct pe_kv_axes axes;

    ACCEPTED(pe_kv_axes_parse(&axes, "shd", &tensor, &err));
    ck_assert_uint_eq(pe_kv_axes_length(&axes, 's'), 7);
    ck_assert_uint_eq(pe_kv_axes_stride(&axes, 's'), 16);
    ck_assert_uint_eq(pe_kv_axes_length(&axes, 'l'), 1);
    ck_assert_uint_eq(pe_kv_axes_stride(&axes, 'l'), 0);
    ck_assert_uint_eq(pe_kv_axes_coordinate(&axes, PE_KV_ROWS, 9, 'h'), 1);
    ck_assert_uint_eq(pe_kv_axes_coordinate(&axes, PE_KV_ROWS, 9, 'l'), 0);
    ck_assert_uint_eq(pe_kv_axes_project(&axes, PE_KV_ROWS, 9, PE_KV_HEADS), 1);
}
