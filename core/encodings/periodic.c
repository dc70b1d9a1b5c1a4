/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/sinusoids.h"
#include "core/views/views.h"

/* Further columns would turn so slowly that every position within 2^53 has a sine below 2^-10. */
static const struct pe_param params[] = {PE_PARAM_DIM(1, 64)};

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    (void)err;
    scheme->pairs = pe_sinusoids_dim(scheme);
    return PE_OK;
}

static void frequency(mpfr_ptr out, const void *context, size_t column)
{
    (void)context;
    mpfr_set_ui_2exp(out, 1, -(mpfr_exp_t)column, MPFR_RNDN);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_error *err)
{
    return pe_sinusoids_frequencies(&scheme->frequencies, scheme, frequency, err);
}

static const struct pe_view_type *const views[] = {&pe_view_absolute_table,
                                                   &pe_view_similarity,
                                                   &pe_view_decay,
                                                   &pe_view_uniqueness,
                                                   &pe_view_wavelengths,
                                                   &pe_view_error,
                                                   NULL};

extern const struct pe_encoding pe_encoding_periodic;
const struct pe_encoding pe_encoding_periodic = {
    .info.name = "periodic",
    .info.family = "absolute",
    .info.title = "Sines whose frequency halves from column to column: binary digits made smooth",
    .info.formula = "p(t, i) = sin(t 2^-i), i = 0 .. dim - 1",
    .info.source = "Textbook step from binary digits to sinusoidal encodings",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .views = views,
    .info.example = "dim=4",
    .check = check,
    .prepare = prepare,
    .row_width = pe_sinusoids_dim,
    .rows = pe_sinusoids_sine_rows,
};
