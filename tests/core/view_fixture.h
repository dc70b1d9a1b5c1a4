/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_VIEW_FIXTURE_H
#define TESTS_CORE_VIEW_FIXTURE_H

/* One output of a view from the texts of its parameters; and what its encoding refuses. */

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/views/view.h"

struct viewed {
    struct pe_scheme *scheme;
    struct pe_view *view;
    const struct pe_output *output;
    void *data;
    size_t count;
};

/* weights NULL: none. */
static inline struct viewed viewed_new(const char *encoding, const char *text, const char *name,
                                       const char *view_text, const struct pe_tensor *weights,
                                       enum pe_dtype dtype)
{
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find(encoding), name);
    struct pe_params params, view_params;
    struct pe_error err = {0};
    struct viewed viewed;
    char key[64], value[400];

    ck_assert_msg(!pe_params_parse(&params, encoding, text, &err), "%s", err.detail);
    ck_assert_msg(!pe_scheme_open(&viewed.scheme, pe_encoding_find(encoding), &params, NULL, &err),
                  "%s", err.detail);
    pe_params_free(&params);
    if (weights)
        ck_assert_msg(!pe_scheme_give(viewed.scheme, "weights", weights, NULL, &err), "%s",
                      err.detail);
    ck_assert_msg(!pe_scheme_prepare(viewed.scheme, NULL, &err), "%s", err.detail);
    pe_params_init(&view_params, type->info.params, type->info.params_count);
    for (int used; sscanf(view_text, " %63[^=]=%399s%n", key, value, &used) == 2; view_text += used)
        ck_assert_msg(!pe_params_set_text(&view_params, (size_t)pe_params_find(&view_params, key),
                                          value, &err),
                      "%s", err.detail);
    ck_assert_msg(!pe_params_finish(&view_params, &err), "%s", err.detail);
    ck_assert_msg(!pe_view_new(&viewed.view, viewed.scheme,
                               pe_encoding_view(pe_scheme_encoding(viewed.scheme), name),
                               &view_params, dtype, NULL, &err),
                  "%s", err.detail);
    pe_params_free(&view_params);
    viewed.output = pe_view_output(viewed.view, 0);
    viewed.count = viewed.output->rows * viewed.output->row_elements;
    viewed.data = malloc(viewed.count * 8 + 1);
    pe_view_fill(viewed.view, 0, 0, viewed.output->rows, viewed.data, NULL, &(struct pe_error){0});
    return viewed;
}

static inline void viewed_free(struct viewed *viewed)
{
    free(viewed->data);
    pe_view_free(viewed->view);
    pe_scheme_free(viewed->scheme);
}

struct refused {
    const char *text;
    enum pe_status status;
    const char *where;
};

static inline void refusals_check(const char *encoding, const struct refused *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pe_params params;
        struct pe_scheme *scheme = NULL;
        struct pe_error err = {0};
        if (!pe_params_parse(&params, encoding, cases[i].text, &err)) {
            pe_scheme_new(&scheme, pe_encoding_find(encoding), &params, NULL, &err);
            pe_params_free(&params);
        }
        ck_assert_msg(err.status == cases[i].status && strcmp(err.where, cases[i].where) == 0,
                      "%s: %s at '%s': %s", cases[i].text, pe_status_code(err.status), err.where,
                      err.detail);
        pe_scheme_free(scheme);
    }
}

#endif
