/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/public_fixture.h"

/* Every parameter of every encoding and every view takes the ends of its range and nonsense: each
 * call has a status, and whatever is made can be filled, its first row and its last. */

/* Under AddressSanitizer too, memory that cannot be had is NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Larger schemes and rows are made elsewhere: here they would take minutes. */
enum { PAIRS_MAX = 2048, ROW_MAX = 1 << 16, WORK_MAX = 2000000, VALUES = 14 };

static size_t schemes_made, views_made, refused;

static size_t values_of(const struct pe_param *param, double values[VALUES])
{
    const double list[VALUES] = {param->min, param->max, 0,           1,    2,
                                 3,          -1,         0.5,         NAN,  INFINITY,
                                 -INFINITY,  0x1p53 - 1, -0x1p53 + 1, 1e300};

    memcpy(values, list, sizeof(list));
    return VALUES;
}

static void row_fill(const struct pe_view *view, size_t output, size_t row)
{
    const struct pe_output *info = pe_view_output(view, output);
    static const char after[16] = "after the row .";
    const size_t size = info->row_elements * pe_dtype_info(info->dtype)->size;
    OWNED_MEMORY char *out = malloc(size + sizeof(after));

    ck_assert_ptr_nonnull(out);
    memcpy(out + size, after, sizeof(after));
    if (row < info->rows)
        ACCEPTED(pe_view_fill(view, output, row, row + 1, out, NULL, &err));
    ck_assert_msg(memcmp(out + size, after, sizeof(after)) == 0, "%s is written past its row",
                  info->name);
}

/* An output may do the work of the others too. */
static bool is_small(const struct pe_view *view)
{
    const struct pe_output *info;

    for (size_t i = 0; (info = pe_view_output(view, i)); i++)
        if (info->row_elements > ROW_MAX ||
            info->element_work * (double)info->row_elements + info->once_work > WORK_MAX)
            return false;
    return true;
}

static void view_sweep(const struct pe_view *view)
{
    const struct pe_output *info;
    struct pe_scalar scalar;

    for (size_t i = 0; is_small(view) && (info = pe_view_output(view, i)); i++) {
        row_fill(view, i, 0);
        if (info->rows > 1)
            row_fill(view, i, info->rows - 1);
    }
    for (size_t i = 0; pe_view_scalar(view, i, &scalar); i++)
        ck_assert_str_ne(scalar.name, "");
    pe_view_position(view, 0);
    pe_view_position(view, pe_view_positions(view)->count - 1);
    views_made++;
}

/* One view with one parameter of a value, the others as in its example. */
static void view_try(const struct pe_scheme *scheme, const struct pe_view_type *type,
                     size_t changed, double number)
{
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_view *view = NULL;

    pe_params_init(&params, info->params, info->params_count);
    if (changed < info->params_count)
        pe_params_set_number(&params, changed, number, &err);
    for (size_t i = 0; i < info->params_count && !err.status; i++)
        if (info->params[i].required)
            pe_params_infer(&params, info->params[i].name, 3, &err);
    if (!err.status && pe_params_find(&params, "length") >= 0 &&
        !pe_param_given(&params, "positions"))
        pe_params_infer(&params, "length", 3, &err);
    if (!err.status && !pe_params_finish(&params, &err) &&
        !pe_view_new(&view, scheme, type, &params, PE_BF16, NULL, &err))
        view_sweep(view);
    refused += err.status != PE_OK;
    ck_assert(!err.status == (view != NULL));
    pe_view_free(view);
    pe_params_free(&params);
}

static void views_sweep(const struct pe_scheme *scheme, bool thoroughly)
{
    const struct pe_encoding *encoding = pe_scheme_encoding(scheme);
    const struct pe_view_type *type;
    double values[VALUES];

    for (size_t v = 0; (type = pe_encoding_view_at(encoding, v)); v++) {
        const struct pe_view_info *info = pe_view_info(type);
        view_try(scheme, type, SIZE_MAX, 0);
        for (size_t p = 0; thoroughly && p < info->params_count; p++)
            for (size_t i = 0; i < values_of(&info->params[p], values); i++)
                view_try(scheme, type, p, values[i]);
    }
}

static void table_give(struct pe_scheme *scheme)
{
    /* Some elements of two rows are equal. */
    static float elements[12] = {1, 2, 3, 4, 5, 6, 7, 4, 9, 10, 11, 12};
    const struct pe_tensor table = {PE_F32, 2, {3, 4}, elements};
    struct pe_error err = {0};

    if (pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_LEARNED))
        pe_scheme_give(scheme, "table", &table, NULL, &err);
}

/* The encoding's example with one parameter of another value. */
static void scheme_try(const struct pe_encoding *encoding, size_t changed, double number)
{
    const struct pe_encoding_info *info = pe_encoding_info(encoding);
    struct pe_error err = {0}, example = {0};
    struct pe_params params, defaults;
    OWNED_SCHEME scheme = NULL;

    pe_params_init(&params, info->params, info->params_count);
    ck_assert(
        !pe_params_parse(&defaults, info->name, info->example ? info->example : "", &example));
    if (changed < info->params_count)
        pe_params_set_number(&params, changed, number, &err);
    for (size_t i = 0; i < info->params_count && !err.status; i++)
        if (i != changed && defaults.values[i].given)
            pe_params_set_value(&params, i, &info->params[i], &defaults.values[i], &err);
    if (!err.status && !pe_scheme_open(&scheme, encoding, &params, NULL, &err)) {
        table_give(scheme);
        if (pe_scheme_pairs(scheme) <= PAIRS_MAX && pe_scheme_heads(scheme) <= PAIRS_MAX &&
            !pe_scheme_prepare(scheme, NULL, &err)) {
            views_sweep(scheme, changed == SIZE_MAX);
            schemes_made++;
        }
    }
    refused += err.status != PE_OK;
    pe_params_free(&params);
    pe_params_free(&defaults);
}

TEST(sweep)
{
    double values[VALUES];

    for (size_t e = 0; pe_encoding_at(e); e++) {
        const struct pe_encoding_info *info = pe_encoding_info(pe_encoding_at(e));
        scheme_try(pe_encoding_at(e), SIZE_MAX, 0);
        for (size_t p = 0; p < info->params_count; p++)
            for (size_t i = 0; i < values_of(&info->params[p], values); i++)
                scheme_try(pe_encoding_at(e), p, values[i]);
    }
    printf("%zu schemes and %zu views made, %zu calls refused\n", schemes_made, views_made,
           refused);
    ck_assert(schemes_made > 200 && views_made > 1500 && refused > 2000);
}
