/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/sinusoids.h"
#include "core/views/views.h"

static const struct pe_param params[] = {
    PE_PARAM_DIM(1, 1 << 20),
    PE_PARAM_BASE,
    PE_PARAM_SINES_LAYOUT,
    PE_PARAM_SPACING,
};

/* Odd widths: paper makes the table one wider and drops the last column, endpoint makes it one
 * narrower and pads with a zero. */
static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = pe_sinusoids_dim(scheme);

    (void)err;
    scheme->pairs = pe_sinusoids_endpoint(scheme) ? dim / 2 : (dim + 1) / 2;
    return PE_OK;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    return pe_sinusoids_frequencies(
        &scheme->frequencies, scheme,
        pe_sinusoids_endpoint(scheme) ? pe_sinusoids_endpoints : pe_sinusoids_paper, err);
}

/* The cosine of the last pair is missing where a column was dropped. */
static bool turns(const struct pe_scheme *scheme)
{
    return scheme->pairs > 0 && 2 * scheme->pairs <= pe_sinusoids_dim(scheme);
}

static const struct pe_view_type *const views[] = {
    &pe_view_absolute_table, &pe_view_frequencies, &pe_view_similarity,
    &pe_view_decay,          &pe_view_uniqueness,  &pe_view_wavelengths,
    &pe_view_error,          &pe_view_shift,       NULL};

extern const struct pe_encoding pe_encoding_sinusoidal;
const struct pe_encoding pe_encoding_sinusoidal = {
    .info.name = "sinusoidal",
    .info.family = "absolute",
    .info.title = "Sines and cosines of geometrically spaced frequencies",
    .info.formula = "PE(t, 2k) = sin(t w_k), PE(t, 2k+1) = cos(t w_k), w_k = base^(-2k/dim)",
    .info.source = "Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762, section 3.5",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .info.example = "dim=4",
    .check = check,
    .prepare = prepare,
    .row_width = pe_sinusoids_dim,
    .rows = pe_sinusoids_rows,
    .column_pair = pe_sinusoids_column_pair,
    .turns = turns,
};
