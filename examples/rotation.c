/* SPDX-License-Identifier: MIT */
/* Queries of 16 tokens rotated by their positions, as RoPE does it, and back again. Writes the
 * rotated tensor to rotated.f32: 16 tokens, 2 heads, 8 numbers each, little-endian. */
#include <math.h>
#include <posenc/posenc.h>
#include <stdio.h>

enum { TOKENS = 16, HEADS = 2, HEAD_DIM = 8, ELEMENTS = TOKENS * HEADS * HEAD_DIM };

static enum pe_status rotate(const struct pe_scheme *scheme, float *q, bool back,
                             struct pe_error *err)
{
    /* Members that are not named are zero: nothing special. The first position is 1000. */
    const struct pe_rotation_spec spec = {
        .size = sizeof(spec),
        .scheme = scheme,
        .layout = PE_LAYOUT_HALF, /* pairs are (i, i + 4), as in Hugging Face's Llama */
        .output_layout = PE_LAYOUT_HALF,
        .positions = {.start = 1000, .step = 1, .count = TOKENS},
        .inverse = back,
    };
    const struct pe_tensor tensor = {PE_F32, 3, {TOKENS, HEADS, HEAD_DIM}, q};
    struct pe_rotation *rotation = NULL;
    struct pe_axes axes;

    /* cos and sin of all positions are computed once, here; then any number of tensors turn. */
    if (!pe_axes_parse(&axes, "shd", &tensor, 0, err) &&
        !pe_rotation_new(&rotation, &spec, PE_F32, NULL, NULL, err) &&
        !pe_rotation_check(rotation, &axes, tensor.dtype, "q", err))
        pe_rotate(rotation, q, &axes, 0, TOKENS, NULL, err);
    pe_rotation_free(rotation);
    return err->status;
}

static enum pe_status there_and_back(const struct pe_scheme *scheme, struct pe_error *err)
{
    float q[ELEMENTS], largest = 0;
    FILE *file;

    for (int i = 0; i < ELEMENTS; i++)
        q[i] = (float)i / 64;
    if (rotate(scheme, q, false, err))
        return err->status;
    printf("token 1, head 0: %.9g %.9g %.9g ...\n", q[16], q[17], q[18]);
    file = fopen("rotated.f32", "wb");
    if (!file || fwrite(q, sizeof(q), 1, file) != 1 || fclose(file))
        perror("rotated.f32");
    if (rotate(scheme, q, true, err))
        return err->status;
    for (int i = 0; i < ELEMENTS; i++)
        largest = fmaxf(largest, fabsf(q[i] - (float)i / 64));
    printf("back again, but for at most %g\n", largest);
    return PE_OK;
}

int main(void)
{
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme = NULL;

    if (!pe_params_parse(&params, "rope", "dim=8 base=500000", &err) &&
        !pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, &err))
        there_and_back(scheme, &err);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    if (err.status)
        fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
    return err.status != PE_OK;
}
