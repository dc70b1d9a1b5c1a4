/* SPDX-License-Identifier: MIT */
#include "posenc/attention.h"
#include "tests/core/kinds_fixture.h"

/* The contract of kind relative, for every encoding that implements it. */

TEST(one_sort_each)
{
    size_t encodings = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_relative_kind *kind = pe_encoding_at(i)->relative;
        if (!kind)
            continue;
        ck_assert_int_ne(kind->clipped != NULL, kind->distances != NULL);
        ck_assert_ptr_nonnull(kind->infer);
        ck_assert(pe_attention_takes(pe_encoding_at(i)));
        ck_assert_ptr_nonnull(pe_encoding_at(i)->rows);
        encodings++;
    }
    ck_assert_uint_ge(encodings, 2);
}

/* The row changes by one a key within the clip, and is constant outside. */
TEST(clipped)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        const struct pe_clipped *kind = pe_clipped_of(encoding);
        if (!kind)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(encoding);
        const int64_t clip = (int64_t)kind->clip(scheme);
        const int sign = kind->sign(scheme);
        ck_assert(sign == 1 || sign == -1);
        ck_assert_int_eq(pe_clipped_row(scheme, 0), clip);
        for (int64_t distance = -3 * clip; distance <= 3 * clip; distance++) {
            const int64_t row = pe_clipped_row(scheme, distance);
            const int64_t next = pe_clipped_row(scheme, distance + 1);
            const bool inside = distance >= -clip && distance < clip;
            ck_assert_int_ge(row, 0);
            ck_assert_int_le(row, 2 * clip);
            ck_assert_int_eq(next - row, inside ? sign : 0);
        }
    }
}

/* Vectors that the scheme computes are the rows of its table. */
TEST(made)
{
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        const struct pe_clipped *kind = pe_clipped_of(encoding);
        if (!kind)
            continue;
        OWNED_SCHEME scheme = catalogue_scheme(encoding);
        ck_assert(kind->makes_vectors(scheme));
        const struct pe_positions all = {.step = 1, .count = 2 * kind->clip(scheme) + 1};
        const struct pe_rows_part part = {&all, 0, all.count, PE_F64};
        const size_t size = all.count * encoding->rows->width(scheme) * sizeof(double);
        struct pe_view *view = catalogue_view(scheme, "table", "", PE_F64);
        void *want = catalogue_fill(view, 0), *got = malloc(size);
        ck_assert_uint_eq(pe_view_output(view, 0)->rows, all.count);
        ck_assert(!encoding->rows->fill(scheme, &part, got, NULL, &(struct pe_error){0}));
        ck_assert_mem_eq(got, want, size);
        free(got);
        free(want);
        pe_view_free(view);
    }
}

struct tensors {
    float data[2 * 3 * 4];
    struct pe_attention_spec spec;
};

/* Two heads, three tokens, vectors of four. */
static void tensors_make(struct tensors *t)
{
    const struct pe_tensor tensor = {
        .dtype = PE_F32, .rank = 4, .shape = {1, 2, 3, 4}, .data = t->data};

    for (size_t i = 0; i < COUNT_OF(t->data); i++)
        t->data[i] = (float)i / 8;
    t->spec = (struct pe_attention_spec){.size = sizeof(t->spec),
                                         .q = tensor,
                                         .k = tensor,
                                         .v = tensor,
                                         .scale = NAN,
                                         .query_start = NAN};
}

/* A scheme without negative distances refuses attention to later keys. */
TEST(the_past_alone)
{
    size_t encodings = 0;

    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        if (!pe_distances_of(encoding))
            continue;
        for (int past = 0; past < 2; past++) {
            OWNED_SCHEME scheme =
                scheme_new(encoding->info.name, past ? "dim=4 direction=past" : "dim=4");
            ck_assert_int_eq(pe_distances_of(encoding)->past_only(scheme), past);
            for (int is_causal = 0; is_causal < 2; is_causal++) {
                struct pe_attention *attention;
                struct pe_error err = {0};
                struct tensors t;
                tensors_make(&t);
                t.spec.scheme = scheme;
                t.spec.causal = is_causal;
                ck_assert_int_eq(pe_attention_new(&attention, &t.spec, NULL, NULL, &err),
                                 past && !is_causal ? PE_CONFLICT : PE_OK);
                pe_attention_free(attention);
            }
        }
        encodings++;
    }
    ck_assert_uint_ge(encodings, 1);
}

/* The width and the number of vectors follow from the shapes. */
TEST(inferred)
{
    struct tensors t;

    tensors_make(&t);
    for (size_t i = 0; pe_encoding_at(i); i++) {
        const struct pe_encoding *encoding = pe_encoding_at(i);
        const struct pe_relative_kind *kind = encoding->relative;
        struct pe_error err = {0};
        struct pe_params params;
        if (!kind)
            continue;
        pe_params_init(&params, encoding->info.params, encoding->info.params_count);
        ck_assert(!pe_attention_infer(encoding, &params, &t.spec, &err));
        ck_assert_double_eq(pe_param_number(&params, "dim"), 4);
        pe_params_free(&params);

        struct pe_attention_spec spec = t.spec;
        if (kind->clipped)
            spec.rel_k = (struct pe_tensor){.dtype = PE_F32, .rank = 2, .shape = {9, 4}};
        else
            spec.w_r = (struct pe_tensor){.dtype = PE_F32, .rank = 2, .shape = {8, 10}};
        pe_params_init(&params, encoding->info.params, encoding->info.params_count);
        ck_assert(!pe_attention_infer(encoding, &params, &spec, &err));
        ck_assert_double_eq(
            pe_param_number(&params, kind->clipped ? "max_relative_position" : "dim"),
            kind->clipped ? 4 : 10);
        pe_params_free(&params);
    }
}
