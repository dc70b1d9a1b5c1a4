/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check_main.h"
#include "tests/core/public_fixture.h"

static const enum pe_layout no_layout = (enum pe_layout)7;
static const enum pe_dtype no_dtype = (enum pe_dtype)99;

/* ---- layouts and rows ----------------------------------------------------------------------- */

TEST(layouts_refuse)
{
    const struct pe_tensor tensor = {PE_F32, 3, {2, 3, 4}, NULL};
    const struct pe_tensor flat = {PE_F32, 1, {4}, NULL}, wide = {PE_F32, 9, {4}, NULL};
    const struct pe_tensor vast = {PE_F32, 2, {SIZE_MAX, SIZE_MAX}, NULL};
    double x[4] = {0};
    struct pe_axes axes;

    REFUSED(PE_SHAPE_MISMATCH, pe_axes_parse(&axes, "shd", &flat, 0, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_axes_parse(&axes, "shd", &wide, 0, &err));
    REFUSED(PE_MISSING, pe_axes_parse(&axes, NULL, &tensor, 0, &err));
    REFUSED(PE_INVALID, pe_axes_parse(&axes, "dhs", &tensor, 0, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_axes_parse(&axes, "bshd", &tensor, 0, &err));
    REFUSED(PE_CONFLICT, pe_axes_parse(&axes, "shd", &tensor, 8, &err));
    REFUSED(PE_MISSING, pe_axes_parse(&axes, "bsd", &tensor, 0, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_axes_parse(&axes, "bsd", &tensor, 3, &err));
    REFUSED(PE_TOO_LARGE, pe_axes_parse(&axes, "sd", &vast, 8, &err));
    REFUSED(PE_INVALID, pe_layout_convert(x, no_dtype, 1, 4, 4, PE_LAYOUT_HALF, 1, &err));
    REFUSED(PE_INVALID, pe_layout_convert(x, PE_F64, 1, 4, 4, no_layout, 1, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_convert(x, PE_F64, 1, 4, 3, 0, 1, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_convert(x, PE_F64, 1, 4, 6, 0, 1, &err));
    ACCEPTED(pe_layout_convert(NULL, PE_F64, 0, 4, 4, PE_LAYOUT_HALF, 1, &err));
    ck_assert_uint_eq(pe_layout_source(SIZE_MAX, 4, PE_LAYOUT_HALF, no_layout), SIZE_MAX);
    REFUSED(PE_INVALID, pe_merge_rows(PE_MERGE_ADD, 1, PE_F16, 1, x, 1, x, 1, x, &err));
    REFUSED(PE_INVALID, pe_merge_rows(PE_MERGE_ADD, 1, no_dtype, 1, x, 1, x, 1, x, &err));
    REFUSED(PE_INVALID, pe_merge_rows((enum pe_merge)9, 1, PE_F64, 1, x, 1, x, 1, x, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_merge_rows(PE_MERGE_MUL, 1, PE_F64, 1, x, 1, x, 2, x, &err));
}

TEST(conversions_without_dtype)
{
    float number = 1, out = 2;
    double wide;

    pe_convert(&out, no_dtype, &number, PE_F32, 1);
    pe_convert(&out, no_dtype, &number, PE_U8, 1);
    pe_convert(&out, PE_U8, &number, no_dtype, 1);
    pe_convert(NULL, PE_F32, NULL, PE_F32, 0);
    ck_assert_double_eq(out, 2);
    pe_convert(&wide, PE_F64, &number, no_dtype, 1);
    ck_assert(isnan(wide));
}

TEST(traits_refuse)
{
    const struct pe_attention_traits traits = SIZED(pe_attention_traits, .scale = 1), unset = {0};
    struct pe_attention_spec spec = SIZED(pe_attention_spec, .scale = 2), none = {0};
    unsigned skipped;

    REFUSED(PE_INVALID, pe_attention_traits_apply(&unset, &spec, &skipped, &err));
    REFUSED(PE_INVALID, pe_attention_traits_apply(&traits, &none, &skipped, &err));
    ck_assert(spec.scale == 2 && none.scale == 0);
}

TEST(layout_changes_refuse)
{
    const struct pe_layout_change good = SIZED(pe_layout_change, .head_dim = 4, .width = 4);
    const struct pe_layout_change odd = SIZED(pe_layout_change, .head_dim = 4, .width = 3);
    const struct pe_layout_change wide = SIZED(pe_layout_change, .head_dim = 2, .width = 4);
    const struct pe_layout_change none =
        SIZED(pe_layout_change, .to = no_layout, .head_dim = 4, .width = 4);
    const struct pe_layout_change unset = {.head_dim = 4, .width = 4};
    float rows[8] = {0}, out[8];
    const struct pe_tensor tensor = {PE_F32, 2, {2, 4}, rows}, other = {PE_F32, 2, {2, 6}, rows};
    const struct pe_tensor empty = {PE_F32, 2, {2, 4}, NULL}, flat = {.dtype = PE_F32};
    const struct pe_tensor unknown = {no_dtype, 2, {2, 4}, rows};
    int64_t indices[4];

    REFUSED(PE_INVALID, pe_layout_fill(&unset, &tensor, 0, 2, out, &err));
    REFUSED(PE_INVALID, pe_layout_fill(&none, &tensor, 0, 2, out, &err));
    REFUSED(PE_INVALID, pe_layout_fill(&good, &empty, 0, 2, out, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_fill(&odd, &tensor, 0, 2, out, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_fill(&wide, &tensor, 0, 2, out, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_fill(&good, &other, 0, 2, out, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_fill(&good, &flat, 0, 2, out, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_fill(&good, &unknown, 0, 2, out, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_layout_fill(&good, &tensor, 1, 3, out, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_layout_fill(&good, &tensor, 2, 1, out, &err));
    ACCEPTED(pe_layout_fill(&good, &empty, 2, 2, out, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_layout_permutation(&odd, 1, indices, &err));
    ACCEPTED(pe_layout_permutation(&good, 0, NULL, &err));
    ck_assert(pe_layout_work(&good, &flat) == 0 && pe_layout_work(&good, &unknown) == 0);
}

static enum pe_status parts_of(enum pe_rotary_cache cache, const struct pe_tensor *first,
                               const struct pe_tensor *second, struct pe_error *err)
{
    const struct pe_tensor *const tensors[2] = {first, second};
    struct pe_tensor parts[2];

    return pe_rotary_cache_parts(cache, tensors, parts, err);
}

TEST(caches_refuse)
{
    float rows[8] = {1, 2, 1, 2, 3, 4, 3, 4}, other[8] = {1, 2, 5, 6, 3, 4, 7, 8};
    const struct pe_tensor good = {PE_F32, 2, {2, 4}, rows}, odd = {PE_F32, 2, {2, 3}, rows};
    const struct pe_tensor halves = {PE_F32, 2, {2, 4}, other}, none = {PE_F32, 2, {2, 0}, rows};
    const struct pe_tensor whole = {PE_I32, 2, {2, 4}, rows}, flat = {PE_F32, 1, {8}, rows};
    const struct pe_tensor triples = {PE_F32, 3, {2, 1, 3}, rows};

    REFUSED(PE_INVALID, parts_of(PE_ROTARY_CACHES, &good, &good, &err));
    REFUSED(PE_MISSING, parts_of(PE_CACHE_VLLM, NULL, NULL, &err));
    REFUSED(PE_MISSING, parts_of(PE_CACHE_ONNX, &good, NULL, &err));
    REFUSED(PE_UNSUPPORTED, parts_of(PE_CACHE_VLLM, &whole, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, parts_of(PE_CACHE_VLLM, &flat, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, parts_of(PE_CACHE_VLLM, &odd, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, parts_of(PE_CACHE_VLLM, &none, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, parts_of(PE_CACHE_META, &triples, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, parts_of(PE_CACHE_HF, &odd, &good, &err));
    REFUSED(PE_SHAPE_MISMATCH, parts_of(PE_CACHE_HF, &good, &halves, &err));
    ck_assert_ptr_null(pe_rotary_cache_info(PE_ROTARY_CACHES));
    pe_rotary_cache_split(PE_CACHE_GGML, NULL, NULL);
}

TEST(factors_refuse)
{
    double values[] = {2, 4}, inv_freq[2];
    struct pe_tensor factors = {PE_F64, 1, {2}, values};

    REFUSED(PE_OUT_OF_RANGE, pe_rotary_factors_apply(&factors, NAN, inv_freq, NULL, &err));
    values[1] = 0;
    REFUSED(PE_OUT_OF_RANGE, pe_rotary_factors_apply(&factors, 100, inv_freq, NULL, &err));
    factors.rank = 2;
    REFUSED(PE_SHAPE_MISMATCH, pe_rotary_factors_apply(&factors, 100, inv_freq, NULL, &err));
    REFUSED(PE_MISSING, pe_rotary_factors_apply(NULL, 100, inv_freq, NULL, &err));
}

TEST(kv_axes_refuse)
{
    const struct pe_tensor four = {PE_F32, 4, {1, 2, 3, 4}, NULL};
    const struct pe_tensor three = {PE_F32, 3, {1, 2, 3}, NULL};
    const struct pe_tensor seven = {PE_F32, 7, {1, 1, 1, 1, 1, 1, 1}, NULL};
    struct pe_kv_axes axes;

    ACCEPTED(pe_kv_axes_parse(&axes, NULL, &four, &err));
    ck_assert_str_eq(axes.letters, "bhsd");
    REFUSED(PE_MISSING, pe_kv_axes_parse(&axes, NULL, &three, &err));
    REFUSED(PE_INVALID, pe_kv_axes_parse(&axes, NULL, &seven, &err));
    REFUSED(PE_INVALID, pe_kv_axes_parse(&axes, "bhsd", &three, &err));
    REFUSED(PE_INVALID, pe_kv_axes_parse(&axes, "xhsd", &four, &err));
    REFUSED(PE_INVALID, pe_kv_axes_parse(&axes, "hhsd", &four, &err));
    REFUSED(PE_INVALID, pe_kv_axes_parse(&axes, "bhds", &four, &err));
    REFUSED(PE_INVALID, pe_kv_axes_parse(&axes, "bhsl", &four, &err));
    axes = (struct pe_kv_axes){0};
    ck_assert_uint_eq(pe_kv_axes_length(&axes, 'l'), 1);
    ck_assert_uint_eq(pe_kv_axes_stride(&axes, 'l'), 0);
    ck_assert_uint_eq(pe_kv_axes_places(&axes, PE_KV_ROWS), 1);
    ck_assert_uint_eq(pe_kv_axes_coordinate(&axes, PE_KV_ROWS, 7, 'l'), 0);
    ck_assert_uint_eq(pe_kv_axes_project(&axes, PE_KV_ROWS, 7, PE_KV_HEADS), 0);
}

TEST(comparisons_refuse)
{
    struct pe_comparison sum = {.size = sizeof(sum)}, unset = {0}, old = {.size = 16};
    const double a[2] = {1, NAN}, b[2] = {1, INFINITY};

    REFUSED(PE_INVALID, pe_compare(&unset, PE_F64, a, b, 0, 1, 2, NULL, NULL, NULL, &err));
    REFUSED(PE_INVALID, pe_compare(&old, PE_F64, a, b, 0, 1, 2, NULL, NULL, NULL, &err));
    REFUSED(PE_INVALID, pe_compare(&sum, PE_I64, a, b, 0, 1, 2, NULL, NULL, NULL, &err));
    REFUSED(PE_INVALID, pe_compare(&sum, no_dtype, a, b, 0, 1, 2, NULL, NULL, NULL, &err));
    ck_assert(pe_comparison_rms(&sum) == 0 && pe_comparison_work(0) == 0);
    ACCEPTED(pe_compare(&sum, PE_F64, NULL, NULL, 0, 0, 2, NULL, NULL, NULL, &err));
    ACCEPTED(pe_compare(&sum, PE_F64, NULL, NULL, 0, 2, 0, NULL, NULL, NULL, &err));
    ACCEPTED(
        pe_compare(&sum, PE_F64, a, b, SIZE_MAX, 1, 2, NULL, &(struct pe_maxima){0}, NULL, &err));
    ck_assert(sum.diverges && sum.column == 1 && isinf(sum.max_abs));
    pe_comparison_join(&sum, &sum);
    ck_assert_uint_eq(sum.elements, 4);
    ck_assert(isnan(pe_ulps_apart(no_dtype, a, b)) && isnan(pe_round_to(1, no_dtype)));
    ck_assert(isnan(pe_round_to(NAN, PE_BF16)) && isinf(pe_round_to(1e300, PE_F16)));
}

/* ---- rotation ------------------------------------------------------------------------------- */

TEST(rotations_refuse)
{
    OWNED_SCHEME rope = public_scheme("rope", "dim=4", true);
    OWNED_SCHEME early = public_scheme("rope", "dim=4", false);
    float elements[8] = {0};
    const struct pe_tensor cos = {PE_F32, 2, {4, 2}, elements};
    const struct pe_tensor empty = {PE_F32, 2, {4, 2}, NULL};
    const struct pe_tensor vast = {PE_F32, 2, {2, SIZE_MAX / 2 + 2}, elements};
    const struct pe_rotation_spec good =
        SIZED(pe_rotation_spec, .scheme = rope, .positions = {.step = 1, .count = 4});
    struct pe_rotation_spec wrong[] = {good, good, good, good, good, good, good, good, good, good};
    struct pe_rotation *rotation;

    wrong[0].size = 0;
    wrong[1].scheme = NULL;
    wrong[2].scheme = early;
    wrong[3].layout = no_layout;
    wrong[4].output_layout = no_layout;
    wrong[5].cos = &cos;
    wrong[6].cos = &cos, wrong[6].sin = &empty;
    wrong[7].cos = wrong[7].sin = &vast;
    wrong[8].positions.step = NAN;
    wrong[9].positions.reserved[1] = 1;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pe_error err = {0};
        ck_assert_msg(pe_rotation_new(&rotation, &wrong[i], PE_F32, NULL, NULL, &err), "%zu", i);
        ck_assert_ptr_null(rotation);
    }
    REFUSED(PE_UNSUPPORTED, pe_rotation_new(&rotation, &good, no_dtype, NULL, NULL, &err));
    pe_rotation_free(NULL);
}

/* A spec that says no layout has that of Hugging Face: pairs are (i, i + 2) here. */
TEST(zero_is_half)
{
    OWNED_SCHEME rope = public_scheme("rope", "dim=4", true);
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = rope, .positions = {.start = 1, .count = 1});
    const struct pe_axes axes = {1, 1, 1, 1, 4};
    double x[4] = {1, 0, 0, 0};
    struct pe_rotation *rotation;

    ACCEPTED(pe_rotation_new(&rotation, &spec, PE_F64, NULL, NULL, &err));
    ACCEPTED(pe_rotate(rotation, x, &axes, 0, 1, NULL, &err));
    ck_assert_double_eq_tol(x[0], 0.5403023058681398, 1e-15);
    ck_assert_double_eq_tol(x[2], 0.8414709848078965, 1e-15);
    ck_assert(x[1] == 0 && x[3] == 0);
    pe_rotation_free(rotation);
}

/* A table of cos and sin needs no scheme. */
TEST(tokens_are_in_range)
{
    float table[8] = {0, 0, 1, 1}, x[16] = {1};
    const struct pe_tensor cos = {PE_F32, 2, {2, 2}, table};
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .cos = &cos, .sin = &cos, .positions = {.step = 1, .count = 2});
    const struct pe_axes axes = {1, 1, 2, 2, 4}, longer = {1, 1, 3, 2, 4}, thin = {1, 1, 2, 2, 2};
    const struct pe_axes vast = {SIZE_MAX, 2, 2, 1, 4}, none = {0, 0, 2, 0, 4};
    struct pe_rotation *rotation;

    ck_assert(pe_rotation_work(&(struct pe_rotation_spec){0}, PE_F32) == 0);
    ck_assert(pe_rotation_work(&spec, no_dtype) > 0);
    ACCEPTED(pe_rotation_new(&rotation, &spec, PE_F32, NULL, NULL, &err));
    REFUSED(PE_CONFLICT, pe_rotation_check(rotation, &axes, no_dtype, "q", &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_rotation_check(rotation, &thin, PE_F32, "q", &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_rotate(rotation, x, &longer, 0, 1, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_rotate(rotation, x, &thin, 0, 1, NULL, &err));
    REFUSED(PE_TOO_LARGE, pe_rotate(rotation, x, &vast, 0, 1, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_rotate(rotation, x, &axes, 0, 3, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_rotate(rotation, x, &axes, 2, 1, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_rotate(rotation, x, &axes, SIZE_MAX, SIZE_MAX, NULL, &err));
    ACCEPTED(pe_rotate(rotation, NULL, &none, 0, 0, NULL, &err));
    ACCEPTED(pe_rotate(rotation, x, &axes, 0, 2, NULL, &err));
    ck_assert(x[0] == 0);
    pe_rotation_free(rotation);
}

/* ---- attention ------------------------------------------------------------------------------ */

TEST(attention_refuses)
{
    OWNED_SCHEME early = public_scheme("alibi", "heads=1", false);
    OWNED_SCHEME index = public_scheme("index", "", true);
    float x[8] = {0};
    const struct pe_tensor matrix = {PE_F32, 4, {1, 1, 2, 4}, x};
    const struct pe_attention_spec good =
        SIZED(pe_attention_spec, .q = matrix, .k = matrix, .v = matrix, .scale = NAN,
              .query_start = NAN, .output = PE_ATTENTION_OUTPUT);
    struct pe_attention_spec wrong[14];
    struct pe_output shape;
    struct pe_attention *attention;

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        wrong[i] = good;
    wrong[0].size = SIZE_MAX;
    wrong[1].output = (enum pe_attention_output)5;
    wrong[2].layout = no_layout;
    wrong[3].scheme = early;
    wrong[4].scheme = index;
    wrong[5].q.dtype = no_dtype;
    wrong[6].k.dtype = no_dtype;
    wrong[7].v.data = NULL;
    wrong[8].v.rank = 0;
    wrong[9].rel_k = matrix;
    wrong[10].scale = INFINITY;
    wrong[11].query_start = -INFINITY;
    wrong[12].k.shape[2] = SIZE_MAX / 4;
    wrong[13].q.shape[1] = 0, wrong[13].k.shape[1] = 2;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pe_error err = {0};
        const enum pe_status status = pe_attention_new(&attention, &wrong[i], NULL, NULL, &err);
        ck_assert_msg(i == 13 || status, "%zu", i);
        ck_assert(!attention == !!status);
        pe_attention_free(attention);
    }
    for (size_t i = 0; i < 3; i++)
        REFUSED(PE_INVALID, pe_attention_shape(&wrong[i], &shape, sizeof(shape), &err));
    REFUSED(PE_UNSUPPORTED, pe_attention_shape(&wrong[5], &shape, sizeof(shape), &err));
    ACCEPTED(pe_attention_shape(&good, &shape, sizeof(shape), &err));
    struct pe_output older = {.row_elements = 77}; /* as of a program whose struct ends before it */
    ACCEPTED(pe_attention_shape(&good, &older, offsetof(struct pe_output, row_elements), &err));
    ck_assert(older.rank == shape.rank && older.row_elements == 77);
    ACCEPTED(pe_attention_new(&attention, &good, NULL, NULL, &err));
    ck_assert_uint_eq(pe_attention_output(attention)->rows, 2);
    ck_assert_uint_eq(shape.rows, 2);
    REFUSED(PE_OUT_OF_RANGE, pe_attention_fill(attention, 0, 3, x, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_attention_fill(attention, 2, 1, x, NULL, &err));
    ACCEPTED(pe_attention_fill(attention, 2, 2, NULL, NULL, &err));
    ACCEPTED(pe_attention_fill(attention, 0, 2, x, NULL, &err));
    pe_attention_free(attention);
    pe_attention_free(NULL);
}

/* Tensors that belong to one relative encoding, without data or of no dtype. */
TEST(relative_tensors_refuse)
{
    OWNED_SCHEME shaw = public_scheme("shaw", "max_relative_position=1", true);
    float x[12] = {0};
    const struct pe_tensor matrix = {PE_F32, 4, {1, 1, 2, 4}, x};
    struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .scheme = shaw, .q = matrix, .k = matrix,
              .rel_k = {PE_F32, 2, {3, 4}, NULL}, .scale = NAN, .query_start = NAN);
    struct pe_attention_spec flat = spec, other = spec;
    struct pe_attention *attention;
    struct pe_params params;

    REFUSED(PE_INVALID, pe_attention_new(&attention, &spec, NULL, NULL, &err));
    flat.rel_k.rank = 1;
    REFUSED(PE_SHAPE_MISMATCH, pe_attention_new(&attention, &flat, NULL, NULL, &err));
    other.rel_k.dtype = no_dtype;
    REFUSED(PE_INVALID, pe_attention_new(&attention, &other, NULL, NULL, &err));
    pe_params_init(&params, pe_encoding_info(pe_scheme_encoding(shaw))->params, 5);
    other.q.rank = 2;
    REFUSED(PE_SHAPE_MISMATCH, pe_attention_infer(pe_scheme_encoding(shaw), &params, &other, &err));
    spec.size = 0;
    REFUSED(PE_INVALID, pe_attention_infer(pe_scheme_encoding(shaw), &params, &spec, &err));
    pe_params_free(&params);
}

TEST(projections_refuse)
{
    float x[16] = {0}, made[16];
    const struct pe_tensor rows = {PE_F32, 3, {1, 2, 4}, x}, weight = {PE_F32, 2, {4, 4}, x};
    const struct pe_tensor good = {PE_F32, 4, {1, 2, 2, 2}, made};
    const struct pe_tensor none = {PE_F32, 0, {0}, NULL}, wide = {PE_F32, 4, {1, 2, 2, 3}, made};
    const struct pe_tensor empty = {PE_F32, 4, {1, 2, 2, 2}, NULL};
    const struct pe_tensor odd = {no_dtype, 4, {1, 2, 2, 2}, made};
    const struct pe_tensor vast = {PE_F32, 4, {1, SIZE_MAX / 2 + 3, 2, 2}, made};

    REFUSED(PE_SHAPE_MISMATCH, pe_project(&none, &weight, NULL, &good, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_project(&rows, &none, NULL, &good, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_project(&rows, &weight, NULL, &none, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_project(&rows, &weight, NULL, &wide, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_project(&rows, &weight, NULL, &vast, NULL, &err));
    REFUSED(PE_UNSUPPORTED, pe_project(&rows, &weight, NULL, &odd, NULL, &err));
    REFUSED(PE_INVALID, pe_project(&rows, &weight, NULL, &empty, NULL, &err));
    ACCEPTED(pe_project(&rows, &weight, NULL, &good, NULL, &err));
    ck_assert(pe_project_work(&rows, &weight) > 0);
    ck_assert(pe_project_work(&rows, &none) == 0 && pe_project_work(&none, &weight) == 0);
    ck_assert(made[7] == 0);
}

/* ---- diagnosis ------------------------------------------------------------------------------ */

TEST(values_refuse)
{
    const struct pe_value none = {.list_count = 0}, one = {.list_count = 1, .range = true};
    struct pe_error err = {0};

    ck_assert(pe_value_at(NULL, 0) == 0 && pe_value_at(&none, 0) == 0 && pe_value_at(&one, 1) == 0);
    ck_assert_int_eq(pe_value_expand(&none, NULL, NULL, &err), PE_OK);
    ck_assert_int_eq(pe_value_expand(NULL, NULL, NULL, &err), PE_INVALID);
    ck_assert_int_eq(pe_value_expand(&one, NULL, NULL, &err), PE_INVALID);
    ck_assert_uint_eq(pe_ranges_count(NULL), 0);
    ck_assert(!pe_verdict_is_good((enum pe_verdict)1000));
    ck_assert(!pe_diagnosis_is_usual(NULL, 0));
}

TEST(diagnoses_refuse)
{
    const double odd[4] = {NAN, INFINITY, -1, 0}, at[2] = {NAN, 0x1p60};
    const struct pe_sample good = {
        .size = sizeof(good), .rows = 2, .pairs = 2, .positions = at, .cos = odd, .sin = odd};
    struct pe_sample wrong[] = {good, good, good, good, good, good, good};
    OWNED_SCHEME early = public_scheme("rope", "dim=4", false);
    struct pe_diagnosis *diagnosis;

    wrong[0].size = 0;
    wrong[1].pairs = 0;
    wrong[2].pairs = PE_SAMPLE_PAIRS_MAX + 1;
    wrong[3].dtype = no_dtype;
    wrong[4].precision = PE_I32;
    wrong[5].positions = NULL;
    wrong[6].cos = wrong[6].sin = NULL;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pe_error err = {0};
        ck_assert_msg(pe_diagnose(&diagnosis, NULL, &wrong[i], 1, NULL, NULL, &err), "%zu", i);
        ck_assert_ptr_null(diagnosis);
    }
    ck_assert(pe_diagnosis_work(SIZE_MAX, 0) == 0 &&
              isfinite(pe_diagnosis_work(SIZE_MAX, SIZE_MAX)) &&
              isfinite(pe_diagnosis_rows_work(SIZE_MAX, SIZE_MAX, PE_BF16)));
    REFUSED(PE_INVALID, pe_diagnose(&diagnosis, NULL, &good, 0, NULL, NULL, &err));
    REFUSED(PE_UNSUPPORTED, pe_diagnose(&diagnosis, early, &good, 1, NULL, NULL, &err));
    struct pe_sample two[] = {good, good};
    two[1].rows = 9;
    REFUSED(PE_SHAPE_MISMATCH, pe_diagnose(&diagnosis, NULL, two, 2, NULL, NULL, &err));
    pe_diagnosis_free(NULL);
}

TEST(holds_refuse)
{
    const double values[4] = {1, 1, 1, 1}, at[2] = {0, 0};
    const struct pe_sample good = {
        .size = sizeof(good), .rows = 2, .pairs = 2, .positions = at, .cos = values};
    struct pe_sample wrong[] = {good, good, good, good};
    struct pe_held held = {.size = sizeof(held)}, unsized = {0};
    struct pe_diagnosis *diagnosis;

    ck_assert(!pe_diagnose(&diagnosis, NULL, &good, 1, NULL, NULL, &(struct pe_error){0}));
    wrong[0].pairs = 1;
    wrong[1].rows = 0;
    wrong[2].precision = PE_I32;
    wrong[3].cos = NULL;
    REFUSED(PE_SHAPE_MISMATCH, pe_diagnosis_hold(diagnosis, &wrong[0], NULL, NULL, &held, &err));
    REFUSED(PE_MISSING, pe_diagnosis_hold(diagnosis, &wrong[1], NULL, NULL, &held, &err));
    REFUSED(PE_UNSUPPORTED, pe_diagnosis_hold(diagnosis, &wrong[2], NULL, NULL, &held, &err));
    REFUSED(PE_MISSING, pe_diagnosis_hold(diagnosis, &wrong[3], NULL, NULL, &held, &err));
    REFUSED(PE_INVALID, pe_diagnosis_hold(diagnosis, &good, NULL, NULL, &unsized, &err));
    pe_diagnosis_free(diagnosis);
}

/* Values that no scheme could have made are diagnosed as unknown, and frequencies that are none as
 * memory that was never written. */
TEST(nonsense_is_diagnosed)
{
    const double odd[4] = {NAN, INFINITY, -1, 0}, at[2] = {NAN, 0x1p60};
    const struct pe_sample rows = SIZED(pe_sample, .rows = 2, .pairs = 2, .positions = at,
                                        .cos = odd, .sin = odd, .weight = odd);
    const struct pe_sample list = {.size = sizeof(list), .pairs = 4, .frequencies = odd};
    const struct pe_sample nothing = {.size = sizeof(nothing), .pairs = 1};
    const struct pe_sample *const samples[] = {&rows, &list, &nothing};
    struct pe_diagnosis *diagnosis;

    for (size_t i = 0; i < 3; i++) {
        ACCEPTED(pe_diagnose(&diagnosis, NULL, samples[i], 1, NULL, NULL, &err));
        const struct pe_finding *first = pe_diagnosis_finding(diagnosis, 0);
        if (samples[i] != &list) {
            ck_assert_int_eq(pe_diagnosis_verdict(diagnosis), PE_VERDICT_UNKNOWN);
        } else {
            ck_assert_int_eq(pe_diagnosis_verdict(diagnosis), PE_VERDICT_KNOWN_BUG);
            ck_assert_ptr_nonnull(first->bug);
            ck_assert_str_eq(first->bug->code, "uninitialized");
        }
        ck_assert(!pe_diagnosis_is_ambiguous(diagnosis) && !pe_diagnosis_is_noisy(diagnosis));
        ck_assert_ptr_null(pe_diagnosis_finding(diagnosis, PE_FINDINGS_MAX));
        ck_assert_ptr_null(pe_diagnosis_bad_rows(diagnosis));
        ck_assert_ptr_null(pe_diagnosis_identical(diagnosis, SIZE_MAX));
        pe_diagnosis_free(diagnosis);
    }
}

TEST(failures_keep_the_first)
{
    struct pe_error err = {0};

    ck_assert_int_eq(pe_fail(&err, PE_INVALID, "parameter:x", "x is %d", 3), PE_INVALID);
    ck_assert_int_eq(pe_fail(&err, PE_MISSING, "parameter:y", "y is missing"), PE_INVALID);
    ck_assert_str_eq(err.where, "parameter:x");
    ck_assert_str_eq(err.detail, "x is 3");
}

TEST(observations_refuse)
{
    double values[16] = {1, 0.5, 0.25, 0.125};
    const struct pe_tensor rows = {PE_F64, 2, {4, 2}, values}, list = {PE_F64, 1, {4}, values};
    const struct pe_tensor wide = {PE_F64, 2, {4, 4}, values}, none = {PE_F64, 2, {4, 2}, NULL};
    const struct pe_tensor whole = {PE_I32, 2, {4, 2}, values}, empty = {PE_F64, 2, {0, 2}, values};
    const struct pe_tensor long_list = {PE_F64, 1, {PE_SAMPLE_PAIRS_MAX + 1}, values};
    const struct pe_tensor vast = {PE_F64, 2, {SIZE_MAX, SIZE_MAX}, values};
    const struct pe_positions four = {.step = 1, .count = 4};
    const struct {
        enum pe_status status;
        struct pe_observed observed;
    } wrong[] = {
        {PE_MISSING, {.size = sizeof(struct pe_observed)}},
        {PE_INVALID, {.cos = &rows}},
        {PE_CONFLICT, SIZED(pe_observed, .cos = &rows, .inv_freq = &list)},
        {PE_MISSING, SIZED(pe_observed, .q = &rows)},
        {PE_SHAPE_MISMATCH, SIZED(pe_observed, .q = &rows, .q_rotated = &wide)},
        {PE_MISSING, SIZED(pe_observed, .q = &rows, .q_rotated = &rows, .axes = "sd")},
        {PE_SHAPE_MISMATCH, SIZED(pe_observed, .cos = &rows, .sin = &wide)},
        {PE_SHAPE_MISMATCH, SIZED(pe_observed, .cos = &list)},
        {PE_SHAPE_MISMATCH, SIZED(pe_observed, .cos = &empty)},
        {PE_SHAPE_MISMATCH, SIZED(pe_observed, .freqs_cis = &list)},
        {PE_SHAPE_MISMATCH, SIZED(pe_observed, .table = &list)},
        {PE_SHAPE_MISMATCH, SIZED(pe_observed, .inv_freq = &rows)},
        {PE_TOO_LARGE, SIZED(pe_observed, .inv_freq = &long_list)},
        {PE_TOO_LARGE, SIZED(pe_observed, .cos = &vast)},
        {PE_UNSUPPORTED, SIZED(pe_observed, .cos = &whole)},
        {PE_INVALID, SIZED(pe_observed, .cos = &none)},
    };
    const struct pe_observed good = SIZED(pe_observed, .cos = &rows, .positions = four);
    struct pe_observed elsewhere = good, too_far = good;
    struct pe_observations *observations;
    struct pe_axes axes;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        REFUSED(wrong[i].status, pe_observed_axes(&wrong[i].observed, &axes, &err));
        REFUSED(wrong[i].status,
                pe_observations_new(&observations, &wrong[i].observed, NULL, &err));
        ck_assert_ptr_null(observations);
        ck_assert(isfinite(pe_observed_work(&wrong[i].observed)));
    }
    ck_assert(pe_observed_dim(&wrong[0].observed) == 0 && pe_observed_dim(&wrong[1].observed) == 0);
    ck_assert(pe_observed_work(&wrong[0].observed) == 0);
    elsewhere.positions.count = 3;
    too_far.positions.start = 0x1p60;
    REFUSED(PE_SHAPE_MISMATCH, pe_observations_new(&observations, &elsewhere, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_observations_new(&observations, &too_far, NULL, &err));
    ACCEPTED(pe_observations_new(&observations, &good, NULL, &err));
    ck_assert(pe_observations_samples(observations)->rows == 4 &&
              pe_observations_count(observations) == 1);
    pe_observations_free(observations);
    pe_observations_free(NULL);
    values[7] = NAN;
    REFUSED(PE_INVALID, pe_observations_new(&observations, &good, NULL, &err));
}

TEST(kv_diagnoses_refuse)
{
    float values[48] = {0};
    const struct pe_tensor q = {PE_F32, 4, {1, 2, 3, 4}, values};
    const struct pe_tensor other = {PE_F32, 4, {1, 2, 4, 3}, values};
    const struct pe_tensor three = {PE_F32, 4, {3, 1, 2, 4}, values};
    const struct pe_tensor thin = {PE_F32, 4, {1, 2, 3, 1}, values};
    struct pe_kv_spec good = SIZED(pe_kv_spec, .q = &q, .q_rotated = &q,
                                   .positions = {.step = 1, .count = 3}),
                      unset = {0}, kinds, narrow, elsewhere, flat;
    struct pe_kv_diagnosis *diagnosis;
    struct pe_kv_axes axes = {0};
    struct pe_axes slab;
    double cost;
    size_t slabs;

    REFUSED(PE_INVALID, pe_kv_axes_slabs(&axes, &slab, &slabs, &err));
    ACCEPTED(pe_kv_axes_parse(&good.axes, NULL, &q, &err));
    kinds = narrow = elsewhere = flat = good;
    kinds.q = kinds.q_rotated = &three;
    ACCEPTED(pe_kv_axes_parse(&kinds.axes, "khsd", &three, &err));
    narrow.q = narrow.q_rotated = &thin;
    ACCEPTED(pe_kv_axes_parse(&narrow.axes, NULL, &thin, &err));
    elsewhere.positions.count = 4;
    flat.axes.rank = 0;
    REFUSED(PE_INVALID, pe_kv_diagnosis_check(&unset, &cost, &err));
    REFUSED(PE_INVALID, pe_diagnose_kv(&diagnosis, &unset, NULL, NULL, &err));
    REFUSED(PE_INVALID, pe_diagnose_kv(&diagnosis, &flat, NULL, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_diagnose_kv(&diagnosis, &kinds, NULL, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_diagnose_kv(&diagnosis, &narrow, NULL, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_diagnose_kv(&diagnosis, &elsewhere, NULL, NULL, &err));
    ACCEPTED(pe_diagnose_kv(&diagnosis, &good, NULL, NULL, &err)); /* zeros */
    ck_assert(pe_kv_diagnosis_cell(diagnosis, 1)->explanation == -1);
    ck_assert_ptr_null(pe_kv_diagnosis_cell(diagnosis, 2));
    ck_assert_ptr_null(pe_kv_diagnosis_head(diagnosis, SIZE_MAX));
    ck_assert_ptr_null(pe_kv_diagnosis_explanation(diagnosis, 0));
    ck_assert_uint_eq(pe_kv_diagnosis_first_bad(diagnosis), 0);
    pe_kv_diagnosis_free(diagnosis);
    pe_kv_diagnosis_free(NULL);
    good.q_rotated = &other;
    REFUSED(PE_SHAPE_MISMATCH, pe_kv_diagnosis_check(&good, &cost, &err));
    good.q_rotated = NULL;
    REFUSED(PE_MISSING, pe_kv_diagnosis_check(&good, &cost, &err));
}

TEST(differences_refuse)
{
    OWNED_SCHEME scheme = public_scheme("rope", "dim=4", true);
    OWNED_SCHEME early = public_scheme("rope", "dim=4", false);
    double values[8] = {1};
    const struct pe_tensor rows = {PE_F64, 2, {2, 4}, values}, wide = {PE_F64, 2, {1, 8}, values};
    const struct pe_tensor whole = {PE_I64, 2, {2, 4}, values}, none = {PE_F64, 2, {2, 4}, NULL};
    const struct pe_operand good = SIZED(pe_operand, .tensors = &rows, .tensors_count = 1);
    const struct pe_operand wrong[] = {{.tensors = &rows, .tensors_count = 1},
                                       SIZED(pe_operand, .tensors = &rows),
                                       SIZED(pe_operand, .tensors = &none, .tensors_count = 1),
                                       SIZED(pe_operand, .tensors = &wide, .tensors_count = 1),
                                       SIZED(pe_operand, .tensors = &whole, .tensors_count = 1)};
    const enum pe_status statuses[] = {PE_INVALID, PE_INVALID, PE_INVALID, PE_SHAPE_MISMATCH,
                                       PE_UNSUPPORTED};
    struct pe_rotation_spec rotation =
        SIZED(pe_rotation_spec, .scheme = early, .positions = {.step = 1, .count = 2});
    struct pe_operand rotated = SIZED(pe_operand, .tensors = &rows, .tensors_count = 1,
                                      .rotation = &rotation, .axes = {1, 1, 2, 1, 4}, .slabs = 1);
    struct pe_differences_spec spec =
        SIZED(pe_differences_spec, .a = &good, .b = &good, .dtype = PE_F64);
    struct pe_differences *differences;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        spec.b = &wrong[i];
        REFUSED(statuses[i], pe_differences_new(&differences, &spec, NULL, &err));
        ck_assert_ptr_null(differences);
    }
    spec.b = NULL;
    REFUSED(PE_INVALID, pe_differences_new(&differences, &spec, NULL, &err));
    spec.b = &good;
    spec.dtype = no_dtype;
    REFUSED(PE_UNSUPPORTED, pe_differences_new(&differences, &spec, NULL, &err));
    spec.dtype = PE_F64;
    spec.has_path = true;
    REFUSED(PE_CONFLICT, pe_differences_new(&differences, &spec, NULL, &err));
    spec.b = &rotated;
    ACCEPTED(pe_differences_new(&differences, &spec, NULL, &err));
    ck_assert(pe_differences_work(differences) > 0);
    REFUSED(PE_INVALID, pe_differences_find(differences, NULL, &err)); /* not prepared */
    pe_differences_free(differences);
    rotated.slabs = 2;
    REFUSED(PE_SHAPE_MISMATCH, pe_differences_new(&differences, &spec, NULL, &err));
    rotated.slabs = 1;
    rotation.output_layout = PE_LAYOUT_INTERLEAVED;
    REFUSED(PE_UNSUPPORTED, pe_differences_new(&differences, &spec, NULL, &err));
    rotation.output_layout = PE_LAYOUT_HALF;
    rotation.scheme = scheme;
    ACCEPTED(pe_differences_new(&differences, &spec, NULL, &err));
    ACCEPTED(pe_differences_find(differences, NULL, &err));
    REFUSED(PE_INVALID, pe_differences_find(differences, NULL, &err)); /* again */
    ck_assert_uint_eq(pe_differences_found(differences)->sum->elements, 8);
    ck_assert(isnan(pe_differences_position(differences, SIZE_MAX)));
    ck_assert_uint_eq(pe_differences_pair(differences, 3), 1);
    pe_differences_free(differences);
    pe_differences_free(NULL);
    ck_assert_int_eq(pe_path_dtype((enum pe_path)9), PE_F32);
}

/* ---- position ids ---------------------------------------------------------------------------- */

TEST(position_ids_refuse)
{
    const int64_t grids[] = {1, 4, 6, 0, 4, 6}, bounds[] = {0, 2, 1, 3};
    const unsigned char kinds[] = {0, 1, 7};
    const double seconds[] = {INFINITY};
    const struct pe_ids_model *model = pe_ids_model_find("qwen2_vl");
    const struct pe_ids_spec text = {
        .size = sizeof(text), .model = *pe_ids_model_at(0), .rows = 1, .tokens = 3, .count = 3};
    struct pe_ids_spec wrong[10];
    struct pe_ids_finding finding;
    unsigned char mask[3];
    int64_t ids[9] = {0};

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        wrong[i] = text;
    for (size_t i = 3; i < COUNT_OF(wrong); i++)
        wrong[i].model = *model;
    wrong[0].size = 0;
    wrong[1].images = grids;
    wrong[1].images_count = 1; /* of text */
    wrong[2].count = SIZE_MAX;
    wrong[3].model.spatial_merge = 0;
    wrong[4].model.axes = 2; /* of a vision tower alone */
    wrong[5].images = grids;
    wrong[5].images_count = 2;
    wrong[6].bounds = bounds;
    wrong[6].bounds_count = 4;
    wrong[7].kinds = kinds; /* and no grids */
    wrong[8].videos = grids;
    wrong[8].videos_count = 1; /* and no tokens of it */
    wrong[9] = wrong[8];
    wrong[9].seconds = seconds;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pe_error err = {0}, again = {0};
        ck_assert_msg(pe_ids_fill(&wrong[i], ids, NULL, NULL, &err), "%zu", i);
        ck_assert_int_eq(pe_ids_diagnose(&finding, &wrong[i], ids, 1, NULL, &again), err.status);
    }
    REFUSED(PE_SHAPE_MISMATCH, pe_ids_diagnose(&finding, &text, ids, 3, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_ids_mask_fill((int64_t[]){-1}, 1, 3, true, mask, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_ids_mask_fill((int64_t[]){4}, 1, 3, true, mask, &err));
    ACCEPTED(pe_ids_mask_fill(NULL, 0, 3, true, mask, &err));
    pe_ids_kinds_fill(NULL, 0, -1, -1, NULL);
    ck_assert_ptr_null(pe_ids_model_find("") ?: pe_ids_model_at(SIZE_MAX));
    ck_assert_ptr_null(pe_ids_slip_at(SIZE_MAX));
    ck_assert_ptr_null(pe_ids_model_refused("qwen2_vl"));
    ck_assert(pe_ids_diagnosis_work(&text) > pe_ids_work(&text) && pe_ids_work(&text) > 0);
}

/* Ids of images by their pipelines: flux2 has a fourth one, and no other model may have it. */
TEST(position_ids_of_generators)
{
    const unsigned char kinds[] = {0, 0, 1, 1}, wrong_kinds[] = {0, 0, 1, 2};
    const int64_t grid[] = {1, 1, 2}, bounds[] = {0, 4};
    const int64_t expected[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0};
    const struct pe_ids_spec spec = {.size = sizeof(spec),
                                     .model = *pe_ids_model_find("flux2"),
                                     .rows = 1,
                                     .tokens = 4,
                                     .kinds = kinds,
                                     .images = grid,
                                     .images_count = 1,
                                     .count = 4};
    struct pe_ids_spec wrong[7];
    struct pe_ids_finding finding;
    int64_t ids[16], delta[1] = {7};

    ACCEPTED(pe_ids_fill(&spec, ids, delta, NULL, &err));
    ck_assert_mem_eq(ids, expected, sizeof(expected));
    ck_assert_int_eq(delta[0], 0);
    ACCEPTED(pe_ids_diagnose(&finding, &spec, ids, 4, NULL, &err));
    ck_assert(finding.unequal == 0 && finding.compared == 16);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        wrong[i] = spec;
    wrong[0].model.axes = 3;
    wrong[1].model.generator = PE_IDS_GENERATORS;
    wrong[2].kinds = wrong_kinds;
    wrong[3].images_count = 0;
    wrong[4].kinds = NULL; /* and a grid */
    wrong[5].bounds = bounds;
    wrong[5].bounds_count = 2;
    wrong[6].count = 5; /* behind the prompt */
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pe_error err = {0};
        ck_assert_msg(pe_ids_fill(&wrong[i], ids, NULL, NULL, &err), "%zu", i);
    }
}

/* Ids that may be fractions are doubles, and those of other models too. */
TEST(position_ids_of_grids)
{
    const int64_t grid[] = {2, 1, 2};
    const double expected[] = {0, 0, 0.8, 0.8, 0, 0, 0, 0, 0, 1, 0, 1};
    struct pe_ids_spec spec = {.size = sizeof(spec),
                               .model = *pe_ids_model_find("cosmos"),
                               .rows = 1,
                               .images = grid,
                               .images_count = 1};
    struct pe_ids_spec wrong[7];
    struct pe_ids_finding finding;
    double ids[12];
    int64_t whole[12];

    ACCEPTED(pe_ids_grid_tokens(&spec, &spec.tokens, &err));
    ck_assert_uint_eq(spec.tokens, 4);
    spec.count = 4;
    spec.model.frame_rate = 30;
    ACCEPTED(pe_ids_fill_f64(&spec, ids, NULL, NULL, &err));
    ck_assert_mem_eq(ids, expected, sizeof(expected));
    ids[3] = 1;
    ACCEPTED(pe_ids_diagnose_f64(&finding, &spec, ids, 3, NULL, &err));
    ck_assert(finding.unequal == 1 && finding.compared == 12 && !finding.slip);
    ck_assert(finding.expected_coordinate == 0.8 && finding.given_coordinate == 1);
    REFUSED(PE_UNSUPPORTED, pe_ids_fill(&spec, whole, NULL, NULL, &err));
    REFUSED(PE_UNSUPPORTED, pe_ids_diagnose(&finding, &spec, whole, 3, NULL, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_ids_diagnose_f64(&finding, &spec, ids, 2, NULL, &err));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        wrong[i] = spec;
    wrong[0].model.coordinates = (enum pe_ids_coordinates)9;
    wrong[1].model.frame_rate = -1;
    wrong[2].model.base[1] = 0;
    wrong[3].model.base[1] = INFINITY;
    wrong[4].model.step[2] = 0;
    wrong[5].model.spatial_merge = 2;
    wrong[6].model = *pe_ids_model_find("ltx_video"); /* without a frame rate */
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pe_error err = {0};
        ck_assert_msg(pe_ids_fill_f64(&wrong[i], ids, NULL, NULL, &err), "%zu", i);
    }
    spec.images = (const int64_t[]){0, 1, 1};
    REFUSED(PE_OUT_OF_RANGE, pe_ids_grid_tokens(&spec, &spec.tokens, &err));
    spec.images = (const int64_t[]){1 << 20, 1 << 20, 1 << 20};
    REFUSED(PE_TOO_LARGE, pe_ids_grid_tokens(&spec, &spec.tokens, &err));
    spec.model = *pe_ids_model_at(0);
    spec.images_count = 0;
    spec.tokens = 4;
    ACCEPTED(pe_ids_fill_f64(&spec, ids, NULL, NULL, &err));
    ck_assert(ids[0] == 0 && ids[3] == 3);
    ACCEPTED(pe_ids_diagnose_f64(&finding, &spec, ids, 1, NULL, &err));
    ck_assert(finding.unequal == 0);
}

TEST(position_ids)
{
    const struct pe_ids_spec spec = {.size = sizeof(spec),
                                     .model = *pe_ids_model_find("qwen2_vl"),
                                     .rows = 1,
                                     .tokens = 2,
                                     .start = 1,
                                     .count = 3};
    struct pe_ids_finding finding;
    int64_t ids[9], delta[1];

    ACCEPTED(pe_ids_fill(&spec, ids, delta, NULL, &err));
    for (size_t i = 0; i < 9; i++)
        ck_assert_int_eq(ids[i], 1 + i % 3);
    ck_assert_int_eq(delta[0], 0);
    ACCEPTED(pe_ids_diagnose(&finding, &spec, ids, 3, NULL, &err));
    ck_assert(finding.unequal == 0 && finding.compared == 9 && !finding.slip);
    for (size_t i = 0; i < 9; i++)
        ids[i]--;
    ACCEPTED(pe_ids_diagnose(&finding, &spec, ids, 1, NULL, &err));
    ck_assert_str_eq(finding.slip->code, "chunk-from-zero");
    ck_assert(finding.unequal == 9 && finding.expected == 1 && finding.given == 0);
}
