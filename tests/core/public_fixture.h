/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_PUBLIC_FIXTURE_H
#define TESTS_CORE_PUBLIC_FIXTURE_H

/* Calls of the public headers alone, with arguments that are wrong: each has a status and a
 * sentence, and none ends the process. */

#include <posenc/posenc.h>

#include "tests/check_main.h"

/* A call that ends with `&err` fails with this status and says why. */
#define REFUSED(expected, call)                                                                    \
    do {                                                                                           \
        struct pe_error err = {0};                                                                 \
        ck_assert_int_eq(call, expected);                                                          \
        ck_assert_int_eq(err.status, expected);                                                    \
        ck_assert_str_ne(err.detail, "");                                                          \
    } while (0)

#define ACCEPTED(call)                                                                             \
    do {                                                                                           \
        struct pe_error err = {0};                                                                 \
        ck_assert_msg((call) == PE_OK, "%s: %s", err.where, err.detail);                           \
    } while (0)

static inline struct pe_scheme *scheme_of(const char *encoding, const char *text, bool prepared)
{
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme;

    ck_assert_msg(!pe_params_parse(&params, encoding, text, &err), "%s", err.detail);
    ck_assert_msg(!pe_scheme_open(&scheme, pe_encoding_find(encoding), &params, NULL, &err), "%s",
                  err.detail);
    if (prepared)
        ck_assert_msg(!pe_scheme_prepare(scheme, NULL, &err), "%s", err.detail);
    pe_params_free(&params);
    return scheme;
}

/* A view with "name=value" pairs for its parameters. */
static inline enum pe_status view_make(struct pe_view **view, const struct pe_scheme *scheme,
                                       const struct pe_view_type *type, const char *text,
                                       struct pe_error *err)
{
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_params params;

    *view = NULL;
    pe_params_init(&params, info->params, info->params_count);
    if (!pe_params_set_pairs(&params, text, err) && !pe_params_finish(&params, err))
        pe_view_new(view, scheme, type, &params, PE_F32, NULL, err);
    pe_params_free(&params);
    return err->status;
}

#endif
