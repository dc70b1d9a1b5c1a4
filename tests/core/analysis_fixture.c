/* SPDX-License-Identifier: MIT */
#include "tests/core/analysis_fixture.h"

void analysed_free(struct analysed *a)
{
    for (size_t i = 0; i < PE_OUTPUTS_MAX; i++)
        free(a->outputs[i]);
    opened_free(&a->opened);
}

struct analysed analysed_new(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_dtype dtype)
{
    const struct request request = {
        .encoding = encoding, .text = text, .view = name, .view_text = view_text, .dtype = dtype};
    struct analysed a = {.opened = request_open(&request)};
    const struct pe_output *output;

    for (size_t i = 0; (output = pe_view_output(a.opened.view, i)); i++) {
        const size_t row_size = output->row_elements * pe_dtype_info(output->dtype)->size;
        OWNED_MEMORY char *bytes = malloc(output->rows * row_size + 1);
        for (size_t row = output->rows; row-- > 0;)
            rows_fill(a.opened.view, i, row, row + 1, bytes + row * row_size);
        a.counts[i] = output->rows * output->row_elements;
        a.outputs[i] = malloc((a.counts[i] + 1) * sizeof(double));
        pe_to_f64(a.outputs[i], bytes, output->dtype, a.counts[i]);
    }
    return a;
}

void expect_analysis_refused(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_status status, const char *where)
{
    request_refused(&(const struct request){.encoding = encoding,
                                            .text = text,
                                            .view = name,
                                            .view_text = view_text,
                                            .dtype = PE_F32},
                    status, where);
}

void oracle_frequency(mpfr_ptr out, const struct oracle_scheme *s, size_t pair)
{
    oracle_power(out, s->base, 2 * (double)pair, (double)s->dim);
    mpfr_div_d(out, out, s->factor, MPFR_RNDN);
}
