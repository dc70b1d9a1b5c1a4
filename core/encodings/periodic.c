/* SPDX-License-Identifier: MIT */
#include "core/encodings/sinusoidal.h"

/* In further columns every position within 2^53 would have a sine below 2^-10. */
static const struct pe_param params[] = {PE_PARAM_DIM(1, 64)};

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    struct pe_waves *waves = scheme->state;

    (void)err;
    waves->pairs = pe_sinusoids_dim(scheme);
    waves->meets_axes = true;
    return PE_OK;
}

/* 2^-column of the power 1. */
static struct pe_wide halved(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t column)
{
    (void)shared, (void)context;
    return pe_wide_scale(*power, -(int64_t)column);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers powers = {.scaled = halved};

    return pe_waves_prepare(scheme, &powers, work, err);
}

/* Powers of 2 are cheaper than those of a base. */
static double cost(const struct pe_scheme *scheme)
{
    return (double)pe_waves_of(scheme)->pairs * 1000;
}

static const struct pe_sines sines = {.plain = true};
static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = pe_sinusoids_sine_rows, .sines = &sines};

extern const struct pe_encoding pe_encoding_periodic;
const struct pe_encoding pe_encoding_periodic = {
    .info.name = "periodic",
    .info.family = "absolute",
    .info.title =
        "Sines whose frequency halves from column to column: a smooth form of binary digits",
    .info.formula = "p(t, i) = sin(t 2^-i), i = 0 .. dim - 1",
    .info.source = "Textbook step from binary digits to sinusoidal encodings",
    PE_INFO_PARAMS(params),
    .info.example = "dim=4",
    .rows = &rows,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .cost = cost,
    .close = pe_waves_close,
};
