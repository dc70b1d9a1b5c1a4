/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/relations_fixture.h"

#include "core/scheme/scheme.h"
#include "core/tables/frequencies.h"

/* Relations that hold of rotations, over random parameters. The comments are the relations. */

static double factor_of(const struct pe_scheme *scheme)
{
    return pe_frequencies_amplitude(pe_waves_of(scheme)->frequencies, PE_AMPLITUDE_FACTOR);
}

/* position 0 rotates by nothing */
TEST(position_0)
{
    size_t dim, checked = 0;

    relations_begin("position 0 rotates by nothing");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const enum pe_dtype dtype = (enum pe_dtype)random_whole(PE_F64, PE_BF16);
        double before[RELATION_DIM_MAX], token[RELATION_DIM_MAX];
        if (factor_of(scheme) == 1) {
            random_token(before, dim, dtype);
            memcpy(token, before, sizeof(token));
            token_rotate(scheme, token, dim, dtype, i % 2, 0, FORWARDS);
            for (size_t k = 0; k < dim; k++)
                ck_assert_double_eq(token[k], before[k]);
            checked++;
        }
    }
    printf("%zu schemes with A = 1\n", checked);
    ck_assert_uint_gt(checked, RELATION_CASES / 2);
}

/* Every element of two tables in a dtype, bit for bit. */
static void expect_same_tables(const char *a, const char *a_text, const char *b, const char *b_text,
                               const char *view_text, enum pe_dtype dtype)
{
    OWNED_FILLED one = filled_new(a, a_text, view_text, dtype, false);
    OWNED_FILLED other = filled_new(b, b_text, view_text, dtype, false);

    ck_assert_uint_eq(one.columns, other.columns);
    ck_assert_msg(
        memcmp(one.data, other.data, one.rows * one.columns * pe_dtype_info(dtype)->size) == 0,
        "%s %s is not %s %s (%s)", a, a_text, b, b_text, view_text);
}

static struct text random_rows(void)
{
    struct text text;

    snprintf(text.at, sizeof(text.at), "length=%zu start=%.0f part=%s", random_whole(1, 40),
             random_position(), random_whole(0, 1) ? "cos" : "sin");
    return text;
}

/* text-only mrope = rope, bit for bit */
TEST(mrope_of_text)
{
    static const char *const types[] = {"mrope_type=chunked", "mrope_type=interleaved",
                                        "mrope_type=imrope"};
    size_t dim;

    relations_begin("text-only mrope = rope, bit for bit");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        struct text rope, mrope, rows = random_rows();
        size_t t, h;
        do
            rope = random_rope(&dim);
        while (dim < 12);
        /* Sections that interleave: h and w are the same, and no longer than a third of the pairs.
         */
        h = random_whole(1, dim / 6);
        t = dim / 2 - 2 * h;
        snprintf(mrope.at, sizeof(mrope.at), "%.300s mrope_section=%zu,%zu,%zu %s", rope.at, t, h,
                 h, types[i % 3]);
        expect_same_tables("rope", rope.at, "mrope", mrope.at, rows.at, (enum pe_dtype)(i % 4));
    }
}

/* factor 1 of every scaling = default; dynamic within its context, beyond which it scales by the
 * length however small the factor is */
TEST(factor_1)
{
    static const char *const types[] = {
        "linear factor=1",
        "dynamic factor=1 max_position_embeddings=64",
        "ntk factor=1",
        "ntk alpha=1",
        "yarn factor=1 max_position_embeddings=64",
        "llama3 factor=1 low_freq_factor=1 high_freq_factor=4 original_max_position_embeddings=64",
        "proportional factor=1",
        "longrope factor=1 max_position_embeddings=64 seq_len=99"};
    size_t dim, checked = 0;

    relations_begin("factor 1 of every scaling = default");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        struct text text, scaled, rows = random_rows();
        size_t used;
        do
            text = random_dim(&dim);
        while (dim < 4);
        used = (size_t)snprintf(scaled.at, sizeof(scaled.at), "%s rope_type=%s", text.at,
                                types[i % 8]);
        if (i % 8 == 7) /* lists of ones, for any length */
            for (size_t list = 0; list < 2; list++)
                for (size_t k = 0; k < dim / 2; k++)
                    used += (size_t)snprintf(scaled.at + used, sizeof(scaled.at) - used, "%s1",
                                             k > 0      ? ","
                                             : list > 0 ? " long_factor="
                                                        : " short_factor=");
        expect_same_tables("rope", text.at, "rope", scaled.at, rows.at, (enum pe_dtype)(i / 8 % 4));
        checked++;
    }
    ck_assert_uint_eq(checked, RELATION_CASES);
}

/* rope(q,m).rope(k,n) = rope(q,m-n).k: both have A once more than the other side has */
TEST(only_the_difference_counts)
{
    size_t dim;
    double worst = 0;

    relations_begin("rope(q,m).rope(k,n) = rope(q,m-n).k");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const double m = random_position(), n = random_position(), a = factor_of(scheme);
        double q[RELATION_DIM_MAX], k[RELATION_DIM_MAX], turned[RELATION_DIM_MAX], size;
        random_token(q, dim, PE_F64);
        random_token(k, dim, PE_F64);
        memcpy(turned, q, sizeof(turned));
        token_rotate(scheme, turned, dim, PE_F64, i % 2, m - n, FORWARDS);
        const double right = a * product_of(turned, k, dim);
        size = a * a * sqrt(product_of(q, q, dim) * product_of(k, k, dim));
        token_rotate(scheme, q, dim, PE_F64, i % 2, m, FORWARDS);
        token_rotate(scheme, k, dim, PE_F64, i % 2, n, FORWARDS);
        worst = fmax(worst, fabs(product_of(q, k, dim) - right) / size);
    }
    printf("%d cases, worst %.3g of the norms\n", RELATION_CASES, worst);
    ck_assert_double_lt(worst, 0x1p-49);
}

/* norms kept (A = 1) */
TEST(norms_are_kept)
{
    size_t dim;
    double worst = 0;

    relations_begin("norms kept (A = 1)");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        double token[RELATION_DIM_MAX], norm;
        random_token(token, dim, PE_F64);
        norm = sqrt(product_of(token, token, dim));
        /* By a distance A is left out, whatever the scheme. */
        token_rotate(scheme, token, dim, PE_F64, i % 2, random_position(), BY_DELTA);
        worst = fmax(worst, fabs(sqrt(product_of(token, token, dim)) / norm - 1));
    }
    printf("%d cases, worst %.3g\n", RELATION_CASES, worst);
    ck_assert_double_lt(worst, 0x1p-50);
}

/* inverse after rotate, within 2 ulp of the pair's norm */
TEST(inverse_undoes)
{
    double worst[PE_BF16 + 1] = {0};
    size_t dim;

    relations_begin("inverse after rotate within 2 ulp of the pair's norm");
    for (size_t i = 0; i < 4 * RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const enum pe_dtype dtype = (enum pe_dtype)(i % 4);
        const enum pe_layout layout = i / 4 % 2;
        const double t = random_position();
        double before[RELATION_DIM_MAX], token[RELATION_DIM_MAX];
        random_token(before, dim, dtype);
        memcpy(token, before, sizeof(token));
        token_rotate(scheme, token, dim, dtype, layout, t, FORWARDS);
        token_rotate(scheme, token, dim, dtype, layout, t, BACKWARDS);
        worst[dtype] = fmax(worst[dtype], pairs_apart(before, token, dim, dtype, layout));
    }
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        printf("%s: %d cases, worst %.3g ulp\n", pe_dtype_info(dtype)->name, RELATION_CASES,
               worst[dtype]);
        ck_assert_double_le(worst[dtype], 2);
    }
}

/* rotate by a then b = rotate by a + b, likewise: here both sides are rounded, and each may be off
 * the other way, so that an ulp more is between them */
TEST(rotations_add)
{
    double worst[PE_BF16 + 1] = {0};
    size_t dim;

    relations_begin("rotate by a then b = rotate by a + b");
    for (size_t i = 0; i < 4 * RELATION_CASES; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const enum pe_dtype dtype = (enum pe_dtype)(i % 4);
        const enum pe_layout layout = i / 4 % 2;
        const double a = random_position(), b = random_position();
        double once[RELATION_DIM_MAX], twice[RELATION_DIM_MAX];
        random_token(once, dim, dtype);
        memcpy(twice, once, sizeof(once));
        token_rotate(scheme, twice, dim, dtype, layout, a, BY_DELTA);
        token_rotate(scheme, twice, dim, dtype, layout, b, BY_DELTA);
        token_rotate(scheme, once, dim, dtype, layout, a + b, BY_DELTA);
        worst[dtype] = fmax(worst[dtype], pairs_apart(once, twice, dim, dtype, layout));
    }
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        printf("%s: %d cases, worst %.3g ulp\n", pe_dtype_info(dtype)->name, RELATION_CASES,
               worst[dtype]);
        ck_assert_double_le(worst[dtype], 3);
    }
}

/* layout there-and-back = identity; and a rotation in one is that in the other, bit for bit */
TEST(layouts_there_and_back)
{
    size_t dim, checked = 0;

    relations_begin("layout there-and-back = identity");
    for (size_t i = 0; i < RELATION_CASES; i++, checked++) {
        OWNED_SCHEME scheme = scheme_new("rope", random_rope(&dim).at);
        const double t = random_position();
        double before[RELATION_DIM_MAX], half[RELATION_DIM_MAX], token[RELATION_DIM_MAX];
        random_token(before, dim, PE_F64);
        memcpy(half, before, sizeof(before));
        memcpy(token, before, sizeof(before));
        pe_layout_convert(token, PE_F64, 1, dim, dim, PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED,
                          &(struct pe_error){0});
        ck_assert(dim == 2 || memcmp(token, before, dim * sizeof(double)) != 0);
        token_rotate(scheme, token, dim, PE_F64, PE_LAYOUT_INTERLEAVED, t, FORWARDS);
        pe_layout_convert(token, PE_F64, 1, dim, dim, PE_LAYOUT_INTERLEAVED, PE_LAYOUT_HALF,
                          &(struct pe_error){0});
        token_rotate(scheme, half, dim, PE_F64, PE_LAYOUT_HALF, t, FORWARDS);
        ck_assert_mem_eq(token, half, dim * sizeof(double));
        pe_layout_convert(half, PE_F64, 1, dim, dim, i % 2, 1 - i % 2, &(struct pe_error){0});
        pe_layout_convert(half, PE_F64, 1, dim, dim, 1 - i % 2, i % 2, &(struct pe_error){0});
        ck_assert_mem_eq(token, half, dim * sizeof(double));
    }
    ck_assert_uint_eq(checked, RELATION_CASES);
}
