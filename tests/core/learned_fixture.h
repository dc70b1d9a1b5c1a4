/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_LEARNED_FIXTURE_H
#define TESTS_CORE_LEARNED_FIXTURE_H

/* Views of encodings over a table that is given, and what they refuse. */

#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/views/view.h"

/* More than exact sums, products and squares of doubles take. */
enum { ORACLE_BITS = 9000 };

static inline struct pe_tensor matrix(enum pe_dtype dtype, size_t rows, size_t width, void *data)
{
    return (struct pe_tensor){.dtype = dtype, .rank = 2, .shape = {rows, width}, .data = data};
}

/* Both texts as "name=value name=value"; the first failure. */
static inline enum pe_status learned_open(const char *encoding, const char *text,
                                          const struct pe_tensor *table, const char *view_text,
                                          enum pe_dtype dtype, struct pe_scheme **scheme,
                                          struct pe_view **view, struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find(encoding), "table");
    struct pe_params params, view_params;
    char name[64], value[200];

    *scheme = NULL;
    *view = NULL;
    if (pe_params_parse(&params, encoding, text, err))
        return err->status;
    if (!pe_scheme_open(scheme, pe_encoding_find(encoding), &params, NULL, err) &&
        !pe_scheme_give(*scheme, "table", table, NULL, err))
        pe_scheme_prepare(*scheme, NULL, err);
    pe_params_free(&params);
    pe_params_init(&view_params, type->info.params, type->info.params_count);
    for (int used; !err->status && sscanf(view_text, " %63[^=]=%199s%n", name, value, &used) == 2;
         view_text += used)
        pe_params_set_text(&view_params, (size_t)pe_params_find(&view_params, name), value, err);
    if (!err->status && !pe_params_finish(&view_params, err))
        pe_view_new(view, *scheme, pe_encoding_view(pe_scheme_encoding(*scheme), "table"),
                    &view_params, dtype, NULL, err);
    pe_params_free(&view_params);
    return err->status;
}

/* The rows of a view, to be freed; made in two cuts. */
static inline void *learned_rows(const char *encoding, const char *text,
                                 const struct pe_tensor *table, const char *view_text,
                                 enum pe_dtype dtype, size_t *rows)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_view *view;
    char *data;

    ck_assert_msg(!learned_open(encoding, text, table, view_text, dtype, &scheme, &view, &err),
                  "%s", err.detail);
    const struct pe_output *output = pe_view_output(view, 0);
    const size_t size = output->row_elements * pe_dtype_info(dtype)->size;
    ck_assert_str_eq(output->name, "table");
    ck_assert_uint_eq(output->row_elements, table->shape[1]);
    *rows = output->rows;
    data = malloc(*rows * size + 1);
    pe_view_fill(view, 0, *rows / 2, *rows, data + *rows / 2 * size, NULL, &(struct pe_error){0});
    pe_view_fill(view, 0, 0, *rows / 2, data, NULL, &(struct pe_error){0});
    pe_view_free(view);
    pe_scheme_free(scheme);
    return data;
}

static inline void learned_refused(const char *encoding, const char *text,
                                   const struct pe_tensor *table, const char *view_text,
                                   enum pe_status status, const char *where)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_view *view;

    learned_open(encoding, text, table, view_text, PE_F32, &scheme, &view, &err);
    ck_assert_msg(err.status == status && strcmp(err.where, where) == 0, "%s %s: %s at '%s': %s",
                  text, view_text, pe_status_code(err.status), err.where, err.detail);
    pe_view_free(view);
    pe_scheme_free(scheme);
}

/* Doubles of every size, of few bits now and then, so that ties and cancellations come up. */
static inline double any_double(uint64_t *seed, int exponents)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t high = *seed >> 32;
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t low = *seed >> 32;
    const double digits = high % 3 == 0 ? (double)(low % 15) - 7
                                        : ((double)(int64_t)(low << 21 ^ high) - 0x1p52) * 0x1p-52;

    return ldexp(digits, exponents ? (int)(high >> 4) % exponents - exponents / 2 : 0);
}

static inline int learned_tests_run(const char *name, const TTest *const *list, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 120);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tests, list[i]);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}

#endif
