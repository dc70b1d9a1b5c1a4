/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_TABLE_FIXTURE_H
#define TESTS_CORE_TABLE_FIXTURE_H

/* Tables of absolute encodings from the texts of their parameters, their elements against MPFR, and
 * what is refused. */

#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/views/view.h"

enum { ORACLE_BITS = 640 };

struct filled {
    size_t rows, columns;
    enum pe_dtype dtype;
    char *data;
};

/* Both texts as "name=value name=value"; the first failure of either, the scheme or the view. */
static inline enum pe_status table_open(const char *encoding, const char *text,
                                        const char *view_text, enum pe_dtype dtype,
                                        struct pe_scheme **scheme, struct pe_view **view,
                                        struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find(encoding), "table");
    struct pe_params params, view_params;
    char name[64], value[1000];

    *scheme = NULL;
    *view = NULL;
    if (pe_params_parse(&params, encoding, text, err))
        return err->status;
    pe_scheme_new(scheme, pe_encoding_find(encoding), &params, NULL, err);
    pe_params_free(&params);
    pe_params_init(&view_params, type->info.params, type->info.params_count);
    for (int used; !err->status && sscanf(view_text, " %63[^=]=%999s%n", name, value, &used) == 2;
         view_text += used) {
        const int index = pe_params_find(&view_params, name);
        ck_assert_msg(index >= 0, "the table of %s has no %s", encoding, name);
        pe_params_set_text(&view_params, (size_t)index, value, err);
    }
    if (!err->status && !pe_params_finish(&view_params, err))
        pe_view_new(view, *scheme, pe_encoding_view(pe_scheme_encoding(*scheme), "table"),
                    &view_params, dtype, NULL, err);
    pe_params_free(&view_params);
    return err->status;
}

/* Filled by pieces of 1, 2, 3 ... rows where `cut`. */
static inline struct filled filled_new(const char *encoding, const char *text,
                                       const char *view_text, enum pe_dtype dtype, bool cut)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_view *view;
    struct filled table = {.dtype = dtype};

    ck_assert_msg(!table_open(encoding, text, view_text, dtype, &scheme, &view, &err), "%s",
                  err.detail);
    const struct pe_output *output = pe_view_output(view, 0);
    const size_t row_size = output->row_elements * pe_dtype_info(dtype)->size;
    table.rows = output->rows;
    table.columns = output->row_elements;
    table.data = malloc(table.rows * row_size + 1);
    memset(table.data, 0xa5, table.rows * row_size + 1);
    for (size_t row = 0, piece = cut ? 1 : table.rows; row < table.rows; row += piece, piece += cut)
        pe_view_fill(view, 0, row, row + piece < table.rows ? row + piece : table.rows,
                     table.data + row * row_size, NULL, &(struct pe_error){0});
    ck_assert_int_eq((unsigned char)table.data[table.rows * row_size], 0xa5);
    pe_view_free(view);
    pe_scheme_free(scheme);
    return table;
}

static inline double filled_at(const struct filled *table, size_t row, size_t column)
{
    double value;

    pe_to_f64(&value,
              table->data + (row * table->columns + column) * pe_dtype_info(table->dtype)->size,
              table->dtype, 1);
    return value;
}

static inline void expect_table(const char *encoding, const char *text, const char *view_text,
                                const double *want, size_t rows, size_t columns, double tolerance)
{
    struct filled table = filled_new(encoding, text, view_text, PE_F64, false);

    ck_assert_uint_eq(table.rows, rows);
    ck_assert_uint_eq(table.columns, columns);
    for (size_t i = 0; i < rows * columns; i++) {
        const double got = filled_at(&table, i / columns, i % columns);
        ck_assert_msg(fabs(got - want[i]) <= tolerance, "%s [%zu] got %.10g, want %.10g", encoding,
                      i, got, want[i]);
    }
    free(table.data);
}

/* Whole or in pieces, a table has the same bytes. */
static inline void expect_cuts_alike(const char *encoding, const char *text, const char *view_text)
{
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        struct filled whole = filled_new(encoding, text, view_text, dtype, false);
        struct filled cut = filled_new(encoding, text, view_text, dtype, true);
        ck_assert_mem_eq(whole.data, cut.data,
                         whole.rows * whole.columns * pe_dtype_info(dtype)->size);
        free(whole.data);
        free(cut.data);
    }
}

static inline void expect_refused(const char *encoding, const char *text, const char *view_text,
                                  enum pe_status status, const char *where)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_view *view;

    table_open(encoding, text, view_text, PE_F32, &scheme, &view, &err);
    ck_assert_msg(err.status == status && strcmp(err.where, where) == 0, "%s %s %s: %s at '%s': %s",
                  encoding, text, view_text, pe_status_code(err.status), err.where, err.detail);
    pe_view_free(view);
    pe_scheme_free(scheme);
}

/* ---- MPFR ----------------------------------------------------------------------------------- */

/* RN of a number to a dtype, by MPFR alone. */
static inline double oracle_round(mpfr_srcptr value, enum pe_dtype dtype)
{
    static const struct {
        int bits, least; /* of the significand; exponent of the smallest subnormal */
    } formats[] = {
        [PE_F64] = {53, -1074}, [PE_F32] = {24, -149}, [PE_F16] = {11, -24}, [PE_BF16] = {8, -133}};
    const int least = formats[dtype].least;
    double rounded;
    mpfr_t copy;

    if (mpfr_zero_p(value))
        return mpfr_get_d(value, MPFR_RNDN);
    const long keep = mpfr_get_exp(value) - least;
    mpfr_init2(copy, mpfr_get_prec(value));
    mpfr_set(copy, value, MPFR_RNDN);
    if (keep < 1) {
        mpfr_set_ui_2exp(copy, 1, least - 1, MPFR_RNDN);
        rounded = copysign(mpfr_cmpabs(value, copy) > 0 ? ldexp(1, least) : 0, mpfr_sgn(value));
    } else {
        mpfr_prec_round(copy, keep < formats[dtype].bits ? keep : formats[dtype].bits, MPFR_RNDN);
        rounded = mpfr_get_d(copy, MPFR_RNDN);
    }
    mpfr_clear(copy);
    if (fabs(rounded) > (dtype == PE_F16 ? 65504 : dtype == PE_F64 ? INFINITY : 0x1.fffffep127))
        return copysign(INFINITY, rounded);
    return rounded;
}

/* The element that a table should have, to ORACLE_BITS. */
typedef void oracle(mpfr_ptr out, size_t row, size_t column);

/* Every element of a table in every dtype; returns how many. */
static inline size_t expect_rounded(const char *encoding, const char *text, const char *view_text,
                                    oracle *real)
{
    size_t checked = 0;
    mpfr_t value;

    mpfr_init2(value, ORACLE_BITS);
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        struct filled table = filled_new(encoding, text, view_text, dtype, false);
        for (size_t row = 0; row < table.rows; row++)
            for (size_t column = 0; column < table.columns; column++, checked++) {
                const double got = filled_at(&table, row, column);
                real(value, row, column);
                const double want = oracle_round(value, dtype);
                ck_assert_msg(got == want && signbit(got) == signbit(want),
                              "%s %s %s %s [%zu, %zu]: got %a, want %a", encoding, text, view_text,
                              pe_dtype_info(dtype)->name, row, column, got, want);
            }
        free(table.data);
    }
    mpfr_clear(value);
    return checked;
}

/* base^(-numerator / denominator) by a power, not by logarithms. */
static inline void oracle_power(mpfr_ptr out, double base, double numerator, double denominator)
{
    mpfr_t exponent;

    mpfr_init2(exponent, ORACLE_BITS);
    mpfr_set_d(exponent, -numerator, MPFR_RNDN);
    mpfr_div_d(exponent, exponent, denominator, MPFR_RNDN);
    mpfr_set_d(out, base, MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_clear(exponent);
}

/* sin or cos of t * w, w in out. */
static inline void oracle_wave(mpfr_ptr out, double t, bool is_sin)
{
    mpfr_mul_d(out, out, t, MPFR_RNDN);
    (is_sin ? mpfr_sin : mpfr_cos)(out, out, MPFR_RNDN);
}

/* One test case with all tests of a program. */
static inline int tests_run(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 60); /* a loaded machine is slow at MPFR */
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#endif
