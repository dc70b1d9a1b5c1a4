/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/sinusoids.h"
#include "core/views/views.h"

static const struct pe_param params[] = {PE_PARAM_DIM(2, 1 << 20), PE_PARAM_BASE};

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    (void)err;
    scheme->pairs = pe_sinusoids_dim(scheme);
    return PE_OK;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    return pe_sinusoids_frequencies(&scheme->frequencies, scheme, pe_sinusoids_endpoints, err);
}

static const struct pe_view_type *const views[] = {
    &pe_view_absolute_table, &pe_view_frequencies, &pe_view_similarity, &pe_view_decay,
    &pe_view_uniqueness,     &pe_view_wavelengths, &pe_view_error,      NULL};

extern const struct pe_encoding pe_encoding_all_sin;
const struct pe_encoding pe_encoding_all_sin = {
    .info.name = "all-sin",
    .info.family = "absolute",
    .info.title = "A sine in every column, each of a frequency of its own",
    .info.formula = "p(t, i) = sin(t base^(-i/(dim-1))), i = 0 .. dim - 1",
    .info.source =
        "Textbook step towards sinusoidal encodings, before sines are paired with cosines",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .info.example = "dim=4",
    .check = check,
    .prepare = prepare,
    .row_width = pe_sinusoids_dim,
    .rows = pe_sinusoids_sine_rows,
};
