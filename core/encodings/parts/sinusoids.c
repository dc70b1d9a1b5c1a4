/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/sinusoids.h"
#include "core/base/fail.h"

#include <string.h>

size_t pe_sinusoids_dim(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "dim");
}

bool pe_sinusoids_endpoint(const struct pe_scheme *scheme)
{
    return pe_param_number(&scheme->params, "spacing") == PE_SPACING_ENDPOINT;
}

/* ---- frequencies ---------------------------------------------------------------------------- */

void pe_sinusoids_power(mpfr_ptr out, double base, size_t numerator, size_t denominator)
{
    mpfr_set_d(out, base, MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, numerator, MPFR_RNDN);
    mpfr_div_ui(out, out, denominator, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
}

void pe_sinusoids_paper(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_scheme *scheme = context;

    pe_sinusoids_power(out, pe_param_number(&scheme->params, "base"), pair, scheme->pairs);
}

void pe_sinusoids_endpoints(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_scheme *scheme = context;
    const size_t last = scheme->pairs > 1 ? scheme->pairs - 1 : 1;

    pe_sinusoids_power(out, pe_param_number(&scheme->params, "base"), pair, last);
}

enum pe_status pe_sinusoids_frequencies(struct pe_frequencies **out, const struct pe_scheme *scheme,
                                        pe_real *frequency, struct pe_error *err)
{
    *out = pe_frequencies_new(scheme, scheme->pairs, frequency, NULL, 1);
    return *out
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for %zu frequencies", scheme->pairs);
}

/* ---- columns -------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What does not fit into the columns is left out, from the last pair on. */
struct pe_table pe_sinusoids_columns(void *out, double layout, size_t pairs, size_t columns,
                                     size_t dim, size_t size)
{
    const bool concatenated = layout == PE_SINES_CONCATENATED;
    const size_t behind = columns - least(columns, pairs);

    return (struct pe_table){
        .cos = (char *)out + (concatenated ? pairs : 1) * size,
        .sin = out,
        .cos_count = least(pairs, concatenated ? behind : columns / 2),
        .sin_count = least(pairs, concatenated ? columns : (columns + 1) / 2),
        .pair_step = concatenated ? 1 : 2,
        .row_size = dim * size,
    };
}

void pe_sinusoids_column_clear(size_t column, size_t dim, size_t rows, size_t size, void *out)
{
    for (size_t row = 0; row < rows; row++)
        memset((char *)out + (row * dim + column) * size, 0, size);
}

void pe_sinusoids_rows(const struct pe_scheme *scheme, const struct pe_positions *positions,
                       size_t begin, size_t end, enum pe_dtype dtype, void *out)
{
    const size_t dim = pe_sinusoids_dim(scheme), size = pe_dtype_info(dtype)->size;
    const double layout = pe_param_number(&scheme->params, "layout");
    const struct pe_table table = pe_sinusoids_columns(out, layout, scheme->pairs, dim, dim, size);

    pe_table_fill(&table, scheme->frequencies, positions, begin, end, PE_AMPLITUDE_ONE, dtype);
    if (2 * scheme->pairs < dim)
        pe_sinusoids_column_clear(dim - 1, dim, end - begin, size, out);
}

void pe_sinusoids_sine_rows(const struct pe_scheme *scheme, const struct pe_positions *positions,
                            size_t begin, size_t end, enum pe_dtype dtype, void *out)
{
    const struct pe_table table = {.sin = out,
                                   .sin_count = scheme->pairs,
                                   .pair_step = 1,
                                   .row_size = scheme->pairs * pe_dtype_info(dtype)->size};

    pe_table_fill(&table, scheme->frequencies, positions, begin, end, PE_AMPLITUDE_ONE, dtype);
}

size_t pe_sinusoids_column_pair(const struct pe_scheme *scheme, size_t column)
{
    const bool concatenated = pe_param_number(&scheme->params, "layout") == PE_SINES_CONCATENATED;
    const size_t pairs = scheme->pairs > 0 ? scheme->pairs : 1; /* dim 1 by endpoint: a zero */
    const size_t pair = concatenated ? column % pairs : column / 2;

    return pair < pairs ? pair : pairs - 1;
}
