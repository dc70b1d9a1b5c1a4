/* SPDX-License-Identifier: MIT */
#include "core/encodings/sinusoidal.h"

static const struct pe_param params[] = {PE_PARAM_DIM(2, 1 << 20), PE_PARAM_BASE};

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    (void)err;
    ((struct pe_waves *)scheme->state)->pairs = pe_sinusoids_dim(scheme);
    return PE_OK;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    return pe_waves_prepare(scheme, &pe_sinusoids_endpoints, work, err);
}

static const struct pe_sines sines = {.plain = false};
static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = pe_sinusoids_sine_rows, .sines = &sines};

extern const struct pe_encoding pe_encoding_all_sin;
const struct pe_encoding pe_encoding_all_sin = {
    .info.name = "all-sin",
    .info.family = "absolute",
    .info.title = "A sine in every column, each with its own frequency",
    .info.formula = "p(t, i) = sin(t base^(-i/(dim-1))), i = 0 .. dim - 1",
    .info.source =
        "Textbook step towards sinusoidal encodings, before sines are paired with cosines",
    PE_INFO_PARAMS(params),
    .info.example = "dim=4",
    .rows = &rows,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_waves_close,
};
