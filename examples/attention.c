/* SPDX-License-Identifier: MIT */
/* Attention with positions, softmax(q k / sqrt(d) + position) v, once with ALiBi and once with
 * RoPE. Writes alibi.f32 and rope.f32: 1 batch, 4 heads, 32 queries, 16 numbers each. */
#include <math.h>
#include <posenc/posenc.h>
#include <stdio.h>

enum { HEADS = 4, TOKENS = 32, DIM = 16, ELEMENTS = HEADS * TOKENS * DIM };

static float q[ELEMENTS], k[ELEMENTS], v[ELEMENTS], output[ELEMENTS];

static enum pe_status attend(const struct pe_attention_spec *spec, struct pe_pool *pool,
                             struct pe_error *err)
{
    struct pe_attention *attention = NULL;

    /* Keys and values are packed here, on the pool; rows can then be filled in any order. */
    if (!pe_attention_new(&attention, spec, pool, NULL, err))
        pe_attention_fill(attention, 0, pe_attention_output(attention)->rows, output, NULL, err);
    pe_attention_free(attention);
    return err->status;
}

static enum pe_status attend_with(const char *name, const char *path, struct pe_pool *pool,
                                  struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);
    const struct pe_encoding_info *info = pe_encoding_info(encoding);
    struct pe_attention_spec spec = {
        .size = sizeof(spec),
        .layout = PE_LAYOUT_HALF, /* of the pairs that RoPE turns */
        .q = {PE_F32, 4, {1, HEADS, TOKENS, DIM}, q},
        .k = {PE_F32, 4, {1, HEADS, TOKENS, DIM}, k},
        .v = {PE_F32, 4, {1, HEADS, TOKENS, DIM}, v},
        .causal = true,
        .scale = NAN,       /* 1 / sqrt(16) */
        .query_start = NAN, /* the queries are the last tokens */
        .output = PE_ATTENTION_OUTPUT,
    };
    struct pe_params params;
    struct pe_scheme *scheme = NULL;
    FILE *file = fopen(path, "wb");

    /* heads of ALiBi and dim of RoPE are told by the shapes. */
    pe_params_init(&params, info->params, info->params_count);
    if (!pe_attention_infer(encoding, &params, &spec, err) && !pe_params_finish(&params, err) &&
        !pe_scheme_new(&scheme, encoding, &params, NULL, err)) {
        spec.scheme = scheme;
        attend(&spec, pool, err);
    }
    if (!file || fwrite(output, sizeof(output), 1, file) != 1 || fclose(file))
        perror(path);
    printf("%s: the last query's output begins with %.9g\n", name, output[ELEMENTS - DIM]);
    pe_scheme_free(scheme);
    pe_params_free(&params);
    return err->status;
}

int main(void)
{
    struct pe_error err = {0};
    struct pe_pool *pool = NULL;

    for (int i = 0; i < ELEMENTS; i++) {
        q[i] = (float)(i * 37 % 101) / 64;
        k[i] = (float)(i * 53 % 103) / 64 - 1;
        v[i] = (float)(i * 71 % 107) / 64;
    }
    if (!pe_pool_new(&pool, 0, false, &err) && /* a thread for every CPU */
        !attend_with("alibi", "alibi.f32", pool, &err))
        attend_with("rope", "rope.f32", pool, &err);
    pe_pool_free(pool);
    if (err.status)
        fprintf(stderr, "%s: %s\n", pe_status_title(err.status), err.detail);
    return err.status != PE_OK;
}
