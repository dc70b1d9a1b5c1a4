/* SPDX-License-Identifier: MIT */
#include "tests/core/view_fixture.h"

struct viewed viewed_new(const char *encoding, const char *text, const char *name,
                         const char *view_text, const struct pe_tensor *weights,
                         enum pe_dtype dtype)
{
    const struct request request = {encoding, text, name, view_text, dtype, weights};
    struct viewed viewed = {.opened = request_open(&request)};

    viewed.output = pe_view_output(viewed.opened.view, 0);
    viewed.count = viewed.output->rows * viewed.output->row_elements;
    viewed.data = malloc(viewed.count * 8 + 1);
    rows_fill(viewed.opened.view, 0, 0, viewed.output->rows, viewed.data);
    return viewed;
}

void viewed_free(struct viewed *viewed)
{
    free(viewed->data);
    opened_free(&viewed->opened);
}
