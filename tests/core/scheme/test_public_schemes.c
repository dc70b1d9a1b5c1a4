/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/public_fixture.h"

static const struct pe_param own_list[] = {
    {.name = "number", .type = PE_NUMBER, .min = -1, .max = 1},
    {.name = "whole", .aliases = "int", .type = PE_INTEGER, .min = 0, .max = 9, .required = true},
    {.name = "choice", .type = PE_CHOICE, .choices = "half=neox,full", .fallback = "full"},
    {.name = "list", .type = PE_RANGES, .nested = true, .max = 100},
    {.name = "text", .type = PE_TEXT},
    {.name = "flag", .type = PE_BOOLEAN},
    {.name = "nothing", .type = PE_CHOICE},
};

enum { NUMBER, WHOLE, CHOICE, LIST, TEXT, FLAG, NOTHING, COUNT };

/* ---- constants ------------------------------------------------------------------------------ */

TEST(numbers_that_name_nothing)
{
    const enum pe_dtype none = (enum pe_dtype)77;
    enum pe_dtype found;
    double number = 1;
    float single = 1;
    size_t count;

    ck_assert_str_eq(pe_status_code((enum pe_status)1000), "");
    ck_assert_str_eq(pe_status_title((enum pe_status) - 1), "");
    ck_assert_str_ne(pe_status_code(PE_INTERNAL), "");
    ck_assert_ptr_null(pe_dtype_info(none));
    ck_assert_ptr_null(pe_dtype_info(PE_DTYPES));
    ck_assert(!pe_dtype_find("", &found) && !pe_dtype_find("f33", &found));
    pe_from_f64(&number, none, &number, 1);
    ck_assert(number == 1);
    ck_assert(pe_from_text(&number, none, "2", 1) == 0 && number == 1);
    ck_assert(pe_from_text(&number, PE_F64, NULL, 0) == 0 && number == 1);
    pe_from_f32(&single, none, &single, 1);
    ck_assert(single == 1);
    pe_to_f64(&number, &single, none, 1);
    pe_to_f32(&single, &number, none, 1);
    ck_assert(isnan(number) && isnan(single));
    pe_to_f64(NULL, NULL, PE_F16, 0);
    ck_assert(!pe_shape_elements((size_t[]){SIZE_MAX, SIZE_MAX}, 2, &count));
    ck_assert(!pe_shape_elements((size_t[]){0, SIZE_MAX}, 2, &count));
    ck_assert(pe_shape_elements(NULL, 0, &count) && count == 1);
    ck_assert_ptr_null(pe_bug_at(SIZE_MAX));
    ck_assert_str_ne(pe_version(), "");
    ck_assert_str_ne(pe_isa_name(), "");
    ck_assert(pe_isa_at(0) && !pe_isa_at(SIZE_MAX));
    ck_assert_uint_eq(pe_exact_undecided(), 0);
}

TEST(the_catalogue_ends)
{
    const struct pe_encoding *rope = pe_encoding_find("rope");

    ck_assert_ptr_null(pe_encoding_at(SIZE_MAX));
    ck_assert_ptr_null(pe_encoding_find(""));
    ck_assert_ptr_null(pe_encoding_view_at(rope, SIZE_MAX));
    ck_assert_ptr_null(pe_encoding_view(rope, "bias"));
    ck_assert_ptr_null(pe_encoding_view(rope, "tables"));
    ck_assert(!pe_encoding_has(rope, (enum pe_kind)99));
    ck_assert(pe_attention_takes(rope) && !pe_attention_takes(pe_encoding_find("index")));
    ck_assert_str_eq(pe_encoding_info(rope)->name, "rope");
    ck_assert_str_eq(pe_view_info(pe_encoding_view_at(rope, 0))->name, "table");
}

/* ---- parameters ----------------------------------------------------------------------------- */

TEST(parameters_refuse)
{
    const struct pe_value odd = {.present = true, .number = NAN};
    struct pe_params params;

    pe_params_init(&params, own_list, COUNT);
    REFUSED(PE_UNKNOWN_PARAMETER, pe_params_set_text(&params, COUNT, "1", &err));
    REFUSED(PE_UNKNOWN_PARAMETER, pe_params_set_number(&params, SIZE_MAX, 1, &err));
    REFUSED(PE_UNKNOWN_PARAMETER, pe_params_set_list(&params, COUNT, NULL, 0, &err));
    REFUSED(PE_UNKNOWN_PARAMETER, pe_params_set_rows(&params, COUNT, NULL, 0, 0, &err));
    REFUSED(PE_UNKNOWN_PARAMETER, pe_params_set_value(&params, COUNT, own_list, &odd, &err));
    REFUSED(PE_UNKNOWN_PARAMETER, pe_params_set_pairs(&params, "number=1 rest=2", &err));
    REFUSED(PE_MALFORMED, pe_params_set_pairs(&params, "whole", &err));
    REFUSED(PE_OUT_OF_RANGE, pe_params_set_number(&params, NUMBER, NAN, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_params_set_number(&params, NUMBER, 2, &err));
    REFUSED(PE_CONFLICT, pe_params_set_number(&params, NUMBER, -1, &err));
    REFUSED(PE_INVALID, pe_params_set_number(&params, WHOLE, 0.5, &err));
    REFUSED(PE_INVALID, pe_params_set_number(&params, CHOICE, 0, &err));
    REFUSED(PE_INVALID, pe_params_set_number(&params, NOTHING, 0, &err));
    REFUSED(PE_INVALID, pe_params_set_text(&params, NOTHING, "a", &err));
    REFUSED(PE_INVALID, pe_params_set_text(&params, WHOLE, "0x10", &err));
    REFUSED(PE_OUT_OF_RANGE, pe_params_set_text(&params, WHOLE, "1e999", &err));
    REFUSED(PE_INVALID, pe_params_set_value(&params, CHOICE, &own_list[CHOICE], &odd, &err));
    REFUSED(PE_INVALID, pe_params_set_list(&params, TEXT, NULL, 0, &err));
    REFUSED(PE_TOO_LARGE, pe_params_set_list(&params, LIST, NULL, SIZE_MAX, &err));
    REFUSED(PE_TOO_LARGE, pe_params_set_rows(&params, LIST, NULL, SIZE_MAX, 2, &err));
    REFUSED(PE_INVALID, pe_params_set_rows(&params, FLAG, NULL, 0, 0, &err));
    REFUSED(PE_UNKNOWN_PARAMETER, pe_params_lend_list(&params, COUNT, NULL, 0, 0, &err));
    REFUSED(PE_INVALID, pe_params_lend_list(&params, FLAG, NULL, 0, 0, &err));
    REFUSED(PE_TOO_LARGE, pe_params_lend_list(&params, LIST, NULL, SIZE_MAX, 2, &err));
    REFUSED(PE_SHAPE_MISMATCH, pe_params_set_text(&params, LIST, "1,2;3", &err));
    REFUSED(PE_TOO_LARGE, pe_params_set_text(&params, LIST, "0..1e300", &err));
    REFUSED(PE_TOO_LARGE, pe_params_set_text(&params, LIST, "-1e999..1e999", &err));
    REFUSED(PE_INVALID, pe_params_set_text(&params, LIST, "1,,2", &err));
    REFUSED(PE_INVALID, pe_params_infer(&params, "choice", 0, &err));
    ACCEPTED(pe_params_infer(&params, "no such name", 0, &err));
    REFUSED(PE_MISSING, pe_params_finish(&params, &err));
    pe_params_free(&params);
    pe_params_free(&params);
}

TEST(parameters_that_are_not_there)
{
    char name[8] = "x";
    struct pe_params params;

    pe_params_init(&params, NULL, 5);
    ck_assert_uint_eq(params.count, 0);
    pe_params_init(&params, own_list, COUNT);
    ck_assert_int_eq(pe_params_find(&params, ""), -1);
    ck_assert_ptr_null(pe_param_value(&params, "rest"));
    ck_assert(isnan(pe_param_number(&params, "rest")) && isnan(pe_param_number(&params, "whole")));
    ck_assert_ptr_null(pe_param_text(&params, "rest"));
    ck_assert(!pe_param_given(&params, "rest"));
    ck_assert_uint_eq(pe_choice_name(&own_list[CHOICE], 2, name, sizeof(name)), 0);
    ck_assert_uint_eq(pe_choice_name(&own_list[CHOICE], SIZE_MAX, name, sizeof(name)), 0);
    ck_assert_str_eq(name, "");
    ck_assert_uint_eq(pe_choice_name(&own_list[NOTHING], 0, name, sizeof(name)), 0);
    ck_assert_uint_eq(pe_choice_name(&own_list[CHOICE], 0, NULL, 0), 4);
    pe_params_free(&params);
    REFUSED(PE_NOT_FOUND, pe_params_parse(&params, "rops", "dim=4", &err));
    pe_params_free(&params);
    REFUSED(PE_MISSING, pe_params_parse(&params, "rope", "", &err));
    ck_assert_uint_eq(params.count, 0);
    pe_params_free(&params);
}

/* ---- schemes -------------------------------------------------------------------------------- */

TEST(schemes_refuse)
{
    const struct pe_encoding *alibi = pe_encoding_find("alibi");
    struct pe_error made = {0};
    struct pe_params params;
    struct pe_scheme *scheme;

    ck_assert(!pe_params_parse(&params, "rope", "dim=8", &made));
    REFUSED(PE_NOT_FOUND, pe_scheme_new(&scheme, NULL, &params, NULL, &err));
    REFUSED(PE_INVALID, pe_scheme_new(&scheme, alibi, &params, NULL, &err));
    ck_assert_ptr_null(scheme);
    pe_params_free(&params);
    REFUSED(PE_INVALID, pe_scheme_open(&scheme, alibi, &params, NULL, &err));
    ck_assert_ptr_null(scheme);
    pe_scheme_free(NULL);
    ck_assert_ptr_null(pe_scheme_share(NULL));
}

/* A scheme lives until its last reference is freed. */
TEST(schemes_are_shared)
{
    struct pe_scheme *scheme = public_scheme("rope", "dim=8", true);

    ck_assert_ptr_eq(pe_scheme_share(scheme), scheme);
    pe_scheme_free(scheme);
    ck_assert_uint_eq(pe_scheme_pairs(scheme), 4);
    ck_assert_uint_eq(pe_params_find(pe_scheme_params(scheme), "dim"), 0);
    pe_scheme_free(scheme);
}

/* Every property can be read before a scheme is prepared. */
TEST(questions_to_an_opened_scheme)
{
    const double far[] = {NAN, INFINITY};
    const struct pe_positions positions = {.values = far, .count = 2};

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding_info *info = pe_encoding_info(pe_encoding_at(i));
        OWNED_SCHEME scheme = public_scheme(info->name, info->example ? info->example : "", false);
        double farthest;
        ck_assert_ptr_eq(pe_scheme_encoding(scheme), pe_encoding_at(i));
        ck_assert_ptr_eq(pe_scheme_params(scheme)->list, info->params);
        ck_assert_ptr_null(pe_scheme_warning(scheme, SIZE_MAX));
        ck_assert_uint_le(pe_scheme_rotary_dim(scheme), pe_scheme_head_dim(scheme));
        ck_assert_uint_le(pe_scheme_axes(scheme), 4);
        pe_scheme_row_width(scheme);
        pe_scheme_heads(scheme);
        pe_scheme_pairs(scheme);
        pe_scheme_scales(scheme);
        pe_scheme_column_pair(scheme, SIZE_MAX);
        pe_scheme_beyond(scheme, &positions, &farthest);
        ck_assert(pe_scheme_length(scheme) > 0);
        ck_assert(!pe_diagnosis_takes(scheme));
        ck_assert_ptr_null(pe_diagnosis_columns(scheme, NULL));
        REFUSED(PE_UNKNOWN_PARAMETER, pe_scheme_resolve(scheme, "", 1, &err));
    }
}

/* With a partial rotary_dim, columns of cos and sin repeat its pairs. */
TEST(sizes_of_a_part)
{
    OWNED_SCHEME rope = public_scheme("rope", "dim=8 rotary_dim=4", false);
    OWNED_SCHEME index = public_scheme("index", "", false);

    ck_assert_uint_eq(pe_scheme_head_dim(rope), 8);
    ck_assert_uint_eq(pe_scheme_rotary_dim(rope), 4);
    ck_assert_uint_eq(pe_scheme_pairs(rope), 2);
    ck_assert_uint_eq(pe_scheme_column_pair(rope, 1), 1);
    ck_assert_uint_eq(pe_scheme_column_pair(rope, 3), 1);
    ck_assert_uint_eq(pe_scheme_column_pair(index, 0), SIZE_MAX);
    ck_assert_uint_eq(pe_scheme_head_dim(index) + pe_scheme_rotary_dim(index), 0);
    ck_assert(!pe_scheme_scales(rope) && isinf(pe_scheme_length(index)));
}

/* The farthest position counts, with either sign of the step, and in any batch row. */
TEST(positions_beyond_a_length)
{
    static const double last_row[] = {0, 1, 2, 100};
    static const struct {
        struct pe_positions positions;
        double farthest;
        bool is_beyond;
    } cases[] = {
        {{.start = 0, .step = 1, .count = 100}, 99, false},
        {{.start = 0, .step = 1, .count = 101}, 100, true},
        {{.start = 100, .step = -1, .count = 101}, 100, true},
        {{.values = last_row, .count = 2, .batch = 2}, 100, true},
        {{.values = last_row, .count = 2, .batch = 1}, 1, false},
        {{.values = last_row, .count = 2, .axes = 2}, 100, true},
        {{.start = 500, .step = 1, .count = 0}, -INFINITY, false},
    };
    OWNED_SCHEME scheme = public_scheme(
        "rope", "dim=4 rope_type=dynamic factor=2 max_position_embeddings=100", false);

    ck_assert_double_eq(pe_scheme_length(scheme), 100);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double farthest;
        ck_assert_msg(pe_scheme_beyond(scheme, &cases[i].positions, &farthest) ==
                          cases[i].is_beyond,
                      "case %zu", i);
        ck_assert_double_eq(farthest, cases[i].farthest);
    }
}

TEST(tensors_are_given_once_and_in_time)
{
    float elements[8] = {0};
    struct pe_tensor table = {PE_F32, 2, {4, 2}, elements};
    OWNED_SCHEME learned = public_scheme("learned", "table=x dim=2", false);
    OWNED_SCHEME t5 = public_scheme("t5", "num_buckets=4 max_distance=8", false);
    OWNED_SCHEME rope = public_scheme("rope", "dim=4", false);

    REFUSED(PE_MISSING, pe_scheme_prepare(learned, NULL, &err));
    REFUSED(PE_CONFLICT, pe_scheme_give(rope, "table", &table, NULL, &err));
    REFUSED(PE_CONFLICT, pe_scheme_give(learned, "weights", &table, NULL, &err));
    REFUSED(PE_UNKNOWN_PARAMETER, pe_scheme_give(rope, "rows", &table, NULL, &err));
    REFUSED(PE_CONFLICT, pe_scheme_resolve(rope, "dim", 8, &err));
    REFUSED(PE_INVALID, pe_scheme_resolve(learned, "version", 0.5, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_scheme_resolve(learned, "version", NAN, &err));
    const struct pe_tensor wrong[] = {
        {PE_F32, 1, {8}, elements},           {PE_F32, 2, {0, 2}, elements},
        {PE_I32, 2, {4, 2}, elements},        {(enum pe_dtype)50, 2, {4, 2}, elements},
        {PE_F32, 2, {SIZE_MAX, 2}, elements}, {PE_F32, 2, {4, 2}, NULL}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pe_error checked = {0}, given = {0}, weighed = {0};
        ck_assert(pe_table_check(&wrong[i], "tensor:x", NULL, &checked));
        ck_assert_int_eq(pe_scheme_give(learned, "table", &wrong[i], NULL, &given), checked.status);
        ck_assert(pe_scheme_give(t5, "weights", &wrong[i], NULL, &weighed));
    }
    ACCEPTED(pe_scheme_give(learned, "table", &table, NULL, &err));
    REFUSED(PE_CONFLICT, pe_scheme_give(learned, "table", &table, NULL, &err));
    ACCEPTED(pe_scheme_give(t5, "weights", &table, NULL, &err));
    REFUSED(PE_CONFLICT, pe_scheme_give(t5, "weights", &table, NULL, &err));
    ACCEPTED(pe_scheme_resolve(learned, "version", 3, &err));
    ck_assert(!pe_param_given(pe_scheme_params(learned), "version"));
    ACCEPTED(pe_scheme_prepare(learned, NULL, &err));
    ACCEPTED(pe_scheme_prepare(learned, NULL, &err));
    REFUSED(PE_INVALID, pe_scheme_give(learned, "table", &table, NULL, &err));
    REFUSED(PE_CONFLICT, pe_scheme_resolve(learned, "version", 4, &err));
}

/* ---- views ---------------------------------------------------------------------------------- */

TEST(views_refuse)
{
    OWNED_SCHEME rope = public_scheme("rope", "dim=4", false);
    const struct pe_encoding *encoding = pe_scheme_encoding(rope);
    const struct pe_view_type *table = pe_encoding_view(encoding, "table");
    const struct pe_view_type *bias = pe_encoding_view(pe_encoding_find("alibi"), "bias");
    const struct pe_view_info *info = pe_view_info(table);
    struct pe_params params;
    struct pe_scalar scalar;
    struct pe_view *view;
    float out[64];

    pe_params_init(&params, info->params, info->params_count);
    REFUSED(PE_INVALID, pe_view_new(&view, rope, table, &params, PE_F32, NULL, &err));
    ACCEPTED(pe_params_set_pairs(&params, "length=3", &err));
    ACCEPTED(pe_params_finish(&params, &err));
    REFUSED(PE_UNSUPPORTED, pe_view_new(&view, rope, NULL, &params, PE_F32, NULL, &err));
    REFUSED(PE_UNSUPPORTED, pe_view_new(&view, rope, bias, &params, PE_F32, NULL, &err));
    REFUSED(PE_INVALID, pe_view_new(&view, rope, table, &params, PE_I64, NULL, &err));
    REFUSED(PE_INVALID, pe_view_new(&view, rope, table, &params, (enum pe_dtype)99, NULL, &err));
    REFUSED(PE_INVALID,
            pe_view_new(&view, rope, table, pe_scheme_params(rope), PE_F32, NULL, &err));
    ck_assert_ptr_null(view);
    ACCEPTED(pe_view_new(&view, rope, table, &params, PE_F32, NULL, &err));
    pe_params_free(&params);
    REFUSED(PE_INVALID, pe_view_fill(view, 0, 0, 3, out, NULL, &err));
    ck_assert(!pe_view_scalar(view, 0, &scalar));
    ACCEPTED(pe_scheme_prepare(rope, NULL, &err));
    ck_assert(pe_view_scalar(view, 0, &scalar) && !pe_view_scalar(view, SIZE_MAX, &scalar));
    REFUSED(PE_OUT_OF_RANGE, pe_view_fill(view, 2, 0, 1, out, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_view_fill(view, SIZE_MAX, 0, 1, out, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_view_fill(view, 0, 0, 4, out, NULL, &err));
    REFUSED(PE_OUT_OF_RANGE, pe_view_fill(view, 0, 2, 1, out, NULL, &err));
    ACCEPTED(pe_view_fill(view, 0, 3, 3, NULL, NULL, &err));
    ACCEPTED(pe_view_fill(view, 0, 0, 3, out, NULL, &err));
    ck_assert_ptr_null(pe_view_output(view, 2));
    ck_assert(pe_view_position(view, 2) == 2 && isnan(pe_view_position(view, 3)));
    ck_assert_uint_eq(pe_view_positions(view)->count, 3);
    ck_assert_uint_eq(pe_view_queries(view) + pe_view_keys(view) + pe_view_memory(view), 0);
    pe_view_free(view);
    pe_view_free(NULL);
}
