/* SPDX-License-Identifier: MIT */
#include "tests/core/public_fixture.h"

struct pe_scheme *public_scheme(const char *encoding, const char *text, bool prepared)
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

enum pe_status public_view(struct pe_view **view, const struct pe_scheme *scheme,
                           const struct pe_view_type *type, const char *text, struct pe_error *err)
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
