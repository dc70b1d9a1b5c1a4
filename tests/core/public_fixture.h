/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_PUBLIC_FIXTURE_H
#define TESTS_CORE_PUBLIC_FIXTURE_H

/* Calls of the public headers alone, with arguments that are wrong: each has a status and a
 * sentence, and none ends the process. */

#include <posenc/posenc.h>

#include "tests/core/owned.h"

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

/* A scheme with "name=value" pairs for its parameters, only opened unless `prepared`. */
struct pe_scheme *public_scheme(const char *encoding, const char *text, bool prepared);

/* A view with such pairs for its parameters. */
enum pe_status public_view(struct pe_view **view, const struct pe_scheme *scheme,
                           const struct pe_view_type *type, const char *text, struct pe_error *err);

#endif
