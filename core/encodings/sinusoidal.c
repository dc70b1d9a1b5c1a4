/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/table.h"
#include "core/views.h"

enum { LAYOUT_INTERLEAVED, LAYOUT_CONCATENATED };
enum { SPACING_PAPER, SPACING_ENDPOINT };

static const struct pe_param params[] = {
    {.name = "dim",
     .aliases = "d_model,hidden_size,d",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 20,
     .required = true,
     .unit = "elements",
     .doc = "Width of a row."},
    {.name = "base",
     .aliases = "max_wavelength,temperature,theta",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = 1e30,
     .fallback = "10000",
     .doc = "Frequencies are powers of it."},
    {.name = "layout",
     .type = PE_CHOICE,
     .choices = "interleaved,concatenated",
     .fallback = "interleaved",
     .doc = "interleaved: sin, cos, sin, cos (Attention Is All You Need); concatenated: all sines, "
            "then all cosines."},
    {.name = "spacing",
     .type = PE_CHOICE,
     .choices = "paper,endpoint",
     .fallback = "paper",
     .doc = "paper: exponents 2k/dim; endpoint: k/(dim/2 - 1), so that the last is 1 "
            "(tensor2tensor, fairseq)."},
};

static size_t dim_of(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "dim");
}

static bool is_endpoint(const struct pe_scheme *scheme)
{
    return pe_param_number(&scheme->params, "spacing") == SPACING_ENDPOINT;
}

/* Odd widths: paper makes the table one wider and drops the last column, endpoint makes it one
 * narrower and pads with a zero. */
static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = dim_of(scheme);

    (void)err;
    scheme->pairs = is_endpoint(scheme) ? dim / 2 : (dim + 1) / 2;
    return PE_OK;
}

/* base^(-k / divisor) */
static void frequency(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_scheme *scheme = context;
    const size_t last = scheme->pairs > 1 ? scheme->pairs - 1 : 1;
    const size_t divisor = is_endpoint(scheme) ? last : scheme->pairs;

    mpfr_set_d(out, pe_param_number(&scheme->params, "base"), MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, pair, MPFR_RNDN);
    mpfr_div_ui(out, out, divisor, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    scheme->frequencies = pe_frequencies_new(scheme, scheme->pairs, frequency, NULL, 1);
    return scheme->frequencies
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu frequencies", scheme->pairs);
}

static size_t row_width(const struct pe_scheme *scheme)
{
    return dim_of(scheme);
}

static void rows(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t begin,
                 size_t end, enum pe_dtype dtype, void *out)
{
    const bool concatenated = pe_param_number(&scheme->params, "layout") == LAYOUT_CONCATENATED;
    const size_t size = pe_dtype_info(dtype)->size, dim = dim_of(scheme), pairs = scheme->pairs;
    const struct pe_table table = {.cos = (char *)out + (concatenated ? pairs : 1) * size,
                                   .sin = out,
                                   .cos_count = dim / 2,
                                   .sin_count = pairs,
                                   .pair_step = concatenated ? 1 : 2,
                                   .row_size = dim * size};

    pe_table_fill(&table, scheme->frequencies, positions, begin, end, PE_AMPLITUDE_ONE, dtype);
    for (size_t row = begin; pairs + dim / 2 < dim && row < end; row++)
        memset((char *)out + (row - begin + 1) * dim * size - size, 0, size);
}

static size_t column_pair(const struct pe_scheme *scheme, size_t column)
{
    const bool concatenated = pe_param_number(&scheme->params, "layout") == LAYOUT_CONCATENATED;
    const size_t pairs = scheme->pairs > 0 ? scheme->pairs : 1; /* dim 1 by endpoint: a zero */
    const size_t pair = concatenated ? column % pairs : column / 2;

    return pair < pairs ? pair : pairs - 1;
}

static const struct pe_view_type *const views[] = {&pe_view_absolute_table, &pe_view_frequencies,
                                                   NULL};

extern const struct pe_encoding pe_encoding_sinusoidal;
const struct pe_encoding pe_encoding_sinusoidal = {
    .name = "sinusoidal",
    .family = "absolute",
    .title = "Sines and cosines of geometrically spaced frequencies",
    .formula = "PE(t, 2k) = sin(t w_k), PE(t, 2k+1) = cos(t w_k), w_k = base^(-2k/dim)",
    .source = "Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762, section 3.5",
    .params = params,
    .params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .example = "dim=128&length=16",
    .check = check,
    .prepare = prepare,
    .row_width = row_width,
    .rows = rows,
    .column_pair = column_pair,
};
