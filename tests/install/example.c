/* SPDX-License-Identifier: MIT */

/* A program of somebody else's: one row of a rope table, and a rotation there and back. */

#include <math.h>
#include <posenc/posenc.h>
#include <stdio.h>

static struct pe_scheme *rope(struct pe_error *err)
{
    struct pe_params params;
    struct pe_scheme *scheme = NULL;

    if (!pe_params_parse(&params, "rope", "dim=4 base=10000", err))
        pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, err);
    pe_params_free(&params);
    return scheme;
}

static int rotate(const struct pe_scheme *scheme, float *q, bool inverse, struct pe_error *err)
{
    const struct pe_axes axes = {1, 1, 3, 1, 4};
    const struct pe_rotation_spec spec = {.size = sizeof(spec),
                                          .scheme = scheme,
                                          .layout = PE_LAYOUT_HALF,
                                          .output_layout = PE_LAYOUT_HALF,
                                          .positions = {0, 1, NULL, 3, 1},
                                          .inverse = inverse};
    struct pe_rotation *rotation;

    if (pe_rotation_new(&rotation, &spec, PE_F32, NULL, NULL, err))
        return 1;
    pe_rotate(rotation, q, &axes, 0, 3, NULL, &(struct pe_error){0});
    pe_rotation_free(rotation);
    return 0;
}

int main(void)
{
    float q[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct pe_error err = {0};
    struct pe_scheme *scheme = rope(&err);

    if (!scheme || rotate(scheme, q, false, &err)) {
        fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
        return 1;
    }
    printf("%s %.9g %.9g %.9g %.9g\n", pe_version(), q[4], q[5], q[6], q[7]);
    if (rotate(scheme, q, true, &err))
        return 1;
    for (int i = 0; i < 12; i++)
        if (fabsf(q[i] - (float)(i + 1)) > 4e-6f)
            return 1;
    pe_scheme_free(scheme);
    printf("there and back\n");
    return 0;
}
