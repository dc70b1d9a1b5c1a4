/* SPDX-License-Identifier: MIT */
#include "tests/core/kinds_fixture.h"

/* The contract of kind learned, for every encoding that implements it. */

static struct pe_scheme *opened(const struct pe_encoding *encoding)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_params params;
    const char *example = encoding->info.example ? encoding->info.example : "";

    ck_assert(!pe_params_parse(&params, encoding->info.name, example, &err));
    ck_assert_msg(!pe_scheme_open(&scheme, encoding, &params, NULL, &err), "%s", err.detail);
    pe_params_free(&params);
    return scheme;
}

TEST(needs_one_table)
{
    size_t learning = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        OWNED_SCHEME scheme = opened(pe_encoding_at(i));
        struct pe_error err = {0};
        if (pe_encoding_has(pe_encoding_at(i), PE_KIND_LEARNED)) {
            ck_assert_int_eq(pe_scheme_prepare(scheme, NULL, &err), PE_MISSING);
            ck_assert_str_eq(err.where, "tensor:table");
            err = (struct pe_error){0};
            ck_assert(!pe_scheme_give(scheme, "table", sample_table(), NULL, &err));
            learning++;
        }
        /* A second table, and one for an encoding without tables. */
        ck_assert_int_eq(pe_scheme_give(scheme, "table", sample_table(), NULL, &err), PE_CONFLICT);
    }
    ck_assert_uint_ge(learning, 2);
}

/* Tables of other shapes and dtypes are refused with the reason, and the tensor is named. */
TEST(tables_that_are_none)
{
    static float values[6];
    static const struct {
        struct pe_tensor table;
        enum pe_status status;
        const char *detail;
    } cases[] = {
        {{PE_F32, 1, {6}, values}, PE_SHAPE_MISMATCH, "1 dimensions"},
        {{PE_F32, 3, {1, 2, 3}, values}, PE_SHAPE_MISMATCH, "3 dimensions"},
        {{PE_F32, 2, {0, 3}, values}, PE_SHAPE_MISMATCH, "no elements"},
        {{PE_F32, 2, {3, 0}, values}, PE_SHAPE_MISMATCH, "no elements"},
        {{PE_I32, 2, {2, 3}, values}, PE_UNSUPPORTED, "i32"},
        {{PE_F32, 2, {(size_t)1 << 40, (size_t)1 << 40}, values}, PE_TOO_LARGE, "63 bits"},
        {{PE_F32, 2, {2, 3}, NULL}, PE_INVALID, "no data"},
    };

    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!pe_encoding_at(i)->learned)
            continue;
        OWNED_SCHEME scheme = opened(pe_encoding_at(i));
        for (size_t c = 0; c < COUNT_OF(cases); c++) {
            struct pe_error err = {0};
            ck_assert_int_eq(pe_scheme_give(scheme, "table", &cases[c].table, NULL, &err),
                             cases[c].status);
            ck_assert_msg(strstr(err.detail, cases[c].detail) != NULL, "%s", err.detail);
            ck_assert_str_eq(err.where, "tensor:table");
        }
    }
}

/* The first rows are those of the table, bit for bit in its dtype and rounded once in others. */
TEST(rows_of_the_table)
{
    const struct pe_tensor *table = sample_table();

    for (size_t i = 0; pe_encoding_at(i); i++) {
        if (!pe_encoding_at(i)->learned)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(pe_encoding_at(i));
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            struct pe_view *view = catalogue_view(scheme, "table", "length=17", dtype);
            const size_t elements = SAMPLE_ROWS * SAMPLE_COLUMNS;
            char *got = catalogue_fill(view, 0), want[SAMPLE_ROWS * SAMPLE_COLUMNS * 8];
            pe_from_f32(want, dtype, table->data, elements);
            ck_assert_mem_eq(got, want, elements * pe_dtype_info(dtype)->size);
            free(got);
            pe_view_free(view);
        }
    }
}

/* Positions without a row are refused. */
TEST(no_other_rows)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!encoding->learned)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(encoding);
        const double rows = encoding->learned->rows(scheme);
        const double values[] = {0, rows - 1, -1, rows, 0.5};
        ck_assert_double_ge(rows, SAMPLE_ROWS);
        for (size_t v = 0; v < COUNT_OF(values); v++) {
            const struct pe_positions listed = {.values = &values[v], .count = 1};
            const struct pe_positions stepped = {.start = values[v], .step = 1, .count = 1};
            struct pe_error err = {0}, other = {0};
            const enum pe_status status = v < 2 ? PE_OK : PE_OUT_OF_RANGE;
            ck_assert_int_eq(encoding->rows->positions_check(scheme, &listed, &err), status);
            ck_assert_int_eq(encoding->rows->positions_check(scheme, &stepped, &other), status);
        }
    }
}
