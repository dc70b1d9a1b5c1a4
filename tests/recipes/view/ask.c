/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "posenc/posenc.h"

/* Sums of the rows of an encoding at 0, 1 and 2; nothing where it has no such view. */
static void sums_print(const char *name, const char *text)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);
    const struct pe_view_type *type = pe_encoding_view(encoding, "sums");
    struct pe_params params, view_params;
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_view *view;
    double sums[3] = {0};

    printf("%s", name);
    if (type && !pe_params_parse(&params, name, text, &err) &&
        !pe_scheme_new(&scheme, encoding, &params, NULL, &err)) {
        pe_params_init(&view_params, pe_view_info(type)->params, pe_view_info(type)->params_count);
        if (!pe_params_set_pairs(&view_params, "length=3", &err) &&
            !pe_params_finish(&view_params, &err) &&
            !pe_view_new(&view, scheme, type, &view_params, PE_F64, NULL, &err)) {
            pe_view_fill(view, 0, 0, 1, sums, NULL, &err);
            printf(" %.3f %.3f %.3f", sums[0], sums[1], sums[2]);
            pe_view_free(view);
        }
        pe_params_free(&view_params);
        pe_scheme_free(scheme);
        pe_params_free(&params);
    }
    printf("%s\n", err.detail);
}

int main(void)
{
    sums_print("index", "");
    sums_print("rope", "dim=2");
    sums_print("alibi", "heads=2");
    return 0;
}
