/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_ANALYSIS_FIXTURE_H
#define TESTS_CORE_ANALYSIS_FIXTURE_H

/* All outputs of an analysis as doubles, filled row by row in turns; and what one refuses. */

#include "tests/core/table_fixture.h"

struct analysed {
    struct pe_scheme *scheme;
    struct pe_view *view;
    double *outputs[PE_OUTPUTS_MAX];
    size_t counts[PE_OUTPUTS_MAX];
};

/* Both texts as "name=value name=value". */
static inline enum pe_status analysis_open(const char *encoding, const char *text, const char *name,
                                           const char *view_text, enum pe_dtype dtype,
                                           struct analysed *out, struct pe_error *err)
{
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find(encoding), name);
    struct pe_params params, view_params;
    char key[64], value[200];

    *out = (struct analysed){0};
    ck_assert_msg(type, "%s has no %s", encoding, name);
    if (pe_params_parse(&params, encoding, text, err))
        return err->status;
    pe_scheme_new(&out->scheme, pe_encoding_find(encoding), &params, NULL, err);
    pe_params_free(&params);
    pe_params_init(&view_params, type->info.params, type->info.params_count);
    for (int used; !err->status && sscanf(view_text, " %63[^=]=%199s%n", key, value, &used) == 2;
         view_text += used) {
        const int index = pe_params_find(&view_params, key);
        ck_assert_msg(index >= 0, "%s of %s has no %s", name, encoding, key);
        pe_params_set_text(&view_params, (size_t)index, value, err);
    }
    if (!err->status && !pe_params_finish(&view_params, err))
        pe_view_new(&out->view, out->scheme,
                    pe_encoding_view(pe_scheme_encoding(out->scheme), name), &view_params, dtype,
                    NULL, err);
    pe_params_free(&view_params);
    return err->status;
}

static inline void analysed_free(struct analysed *a)
{
    for (size_t i = 0; i < PE_OUTPUTS_MAX; i++)
        free(a->outputs[i]);
    pe_view_free(a->view);
    pe_scheme_free(a->scheme);
}

static inline struct analysed analysed_new(const char *encoding, const char *text, const char *name,
                                           const char *view_text, enum pe_dtype dtype)
{
    struct pe_error err = {0};
    struct analysed a;
    const struct pe_output *output;

    ck_assert_msg(!analysis_open(encoding, text, name, view_text, dtype, &a, &err),
                  "%s %s %s %s: %s", encoding, text, name, view_text, err.detail);
    for (size_t i = 0; (output = pe_view_output(a.view, i)); i++) {
        const size_t row_size = output->row_elements * pe_dtype_info(output->dtype)->size;
        char *bytes = malloc(output->rows * row_size + 1);
        for (size_t row = output->rows; row-- > 0;)
            pe_view_fill(a.view, i, row, row + 1, bytes + row * row_size, NULL,
                         &(struct pe_error){0});
        a.counts[i] = output->rows * output->row_elements;
        a.outputs[i] = malloc((a.counts[i] + 1) * sizeof(double));
        pe_to_f64(a.outputs[i], bytes, output->dtype, a.counts[i]);
        free(bytes);
    }
    return a;
}

static inline void expect_analysis_refused(const char *encoding, const char *text, const char *name,
                                           const char *view_text, enum pe_status status,
                                           const char *where)
{
    struct pe_error err = {0};
    struct analysed a;

    analysis_open(encoding, text, name, view_text, PE_F32, &a, &err);
    ck_assert_msg(err.status == status && strcmp(err.where, where) == 0,
                  "%s %s %s %s: %s at '%s': %s", encoding, text, name, view_text,
                  pe_status_code(err.status), err.where, err.detail);
    analysed_free(&a);
}

/* base^(-2 pair / dim) / factor, and its cosine or sine at t. */
struct oracle_scheme {
    double base, factor;
    size_t dim;
};

static inline void oracle_frequency(mpfr_ptr out, const struct oracle_scheme *s, size_t pair)
{
    oracle_power(out, s->base, 2 * (double)pair, (double)s->dim);
    mpfr_div_d(out, out, s->factor, MPFR_RNDN);
}

#endif
