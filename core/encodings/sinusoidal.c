/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/sinusoids.h"

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
    ((struct pe_waves *)scheme->state)->pairs =
        pe_sinusoids_endpoint(scheme) ? dim / 2 : (dim + 1) / 2;
    return PE_OK;
}

/* The cosine of the last pair is missing where a column was dropped. */
static bool turns(const struct pe_scheme *scheme)
{
    const size_t pairs = pe_waves_of(scheme)->pairs;

    return pairs > 0 && 2 * pairs <= pe_sinusoids_dim(scheme);
}

static const struct pe_sines sines = {.column_pair = pe_sinusoids_column_pair, .turns = turns};
static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = pe_sinusoids_rows, .sines = &sines};

extern const struct pe_encoding pe_encoding_sinusoidal;
const struct pe_encoding pe_encoding_sinusoidal = {
    .info.name = "sinusoidal",
    .info.family = "absolute",
    .info.title = "Sines and cosines of geometrically spaced frequencies",
    .info.formula = "PE(t, 2k) = sin(t w_k), PE(t, 2k+1) = cos(t w_k), w_k = base^(-2k/dim)",
    .info.source = "Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762, section 3.5",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .info.example = "dim=4",
    .rows = &rows,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = pe_sinusoids_prepare,
    .close = pe_waves_close,
};
