/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/sinusoidal.h"
#include "core/exact/elementary.h"

/* Frequencies lie within 2^LEAST and 2^MOST, the range of pe_frequencies_new. */
enum { LEAST = -800, MOST = 62 };

static const struct pe_param params[] = {
    PE_PARAM_DIM(2, 1 << 20),
    {.name = "max_period",
     .aliases = "base,max_wavelength",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = 1e30,
     .fallback = "10000",
     .doc = "The base of the frequencies, which are scale * max_period^(-k / (dim/2 - "
            "downscale_freq_shift)) for k = 0 .. dim/2 - 1."},
    {.name = "downscale_freq_shift",
     .type = PE_NUMBER,
     .min = -1e6,
     .max = 1e6,
     .fallback = "1",
     .doc = "The number subtracted from dim/2 in the exponents of the frequencies; it must differ "
            "from dim/2."},
    {.name = "scale",
     .type = PE_NUMBER,
     .min = 1e-30,
     .max = 1e9,
     .fallback = "1",
     .doc = "The factor of all angles."},
    {.name = "flip_sin_to_cos",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether all cosines come before all sines; otherwise all sines come first."},
};

static double param(const struct pe_scheme *scheme, const char *name)
{
    return pe_param_number(&scheme->params, name);
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const double shift = param(scheme, "downscale_freq_shift"), scale = param(scheme, "scale");
    struct pe_waves *waves = scheme->state;
    double last;

    waves->pairs = pe_sinusoids_dim(scheme) / 2;
    const double half = (double)waves->pairs;
    if (half == shift)
        return pe_fail(err, PE_CONFLICT, "parameter:downscale_freq_shift",
                       "downscale_freq_shift must not equal dim/2 = %.0f, by whose distance from "
                       "it exponents are divided",
                       half);
    last = pe_log2(scale) - pe_log2(param(scheme, "max_period")) * ((half - 1) / (half - shift));
    if (last >= (double)LEAST && last <= (double)MOST) {
        waves->bound = fmax(scale, pe_power(2, last));
        return PE_OK;
    }
    return pe_fail(err, PE_OUT_OF_RANGE, "parameter:downscale_freq_shift",
                   "downscale_freq_shift=%.17g with dim/2 = %.0f makes a frequency of 2^%.0f; they "
                   "must lie within 2^%d and 2^%d",
                   shift, half, last, LEAST, MOST);
}

/* scale * exp(-ln(max_period) * k / (half - shift)) */
static void compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    const struct pe_wide period = pe_wide_of(bits, param(context, "max_period"));
    const struct pe_wide half = pe_wide_of_uint(bits, pe_waves_of(context)->pairs);

    out->number[0] = pe_wide_div(pe_wide_log(period),
                                 pe_wide_sub_double(half, param(context, "downscale_freq_shift")));
}

static struct pe_wide scaled(const struct pe_wide *power, const struct pe_shared *shared,
                             const void *context, size_t pair)
{
    (void)shared, (void)pair;
    return pe_wide_mul_double(*power, param(context, "scale"));
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers powers = {.compute_shared = compute_shared, .scaled = scaled};

    return pe_waves_prepare(scheme, &powers, work, err);
}

/* With an odd width the last column is 0. */
static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_waves *waves = pe_waves_of(scheme);
    const size_t dim = pe_sinusoids_dim(scheme), half = waves->pairs;
    const size_t size = pe_dtype_info(part->dtype)->size;
    char *first = out, *second = first + half * size;
    const bool flip = param(scheme, "flip_sin_to_cos") != 0;
    const struct pe_table table = {.cos = flip ? first : second,
                                   .sin = flip ? second : first,
                                   .cos_count = half,
                                   .sin_count = half,
                                   .pair_step = 1,
                                   .row_size = dim * size};

    if (2 * half < dim)
        pe_sinusoids_column_clear(dim - 1, dim, part->end - part->begin, size, out);
    return pe_table_fill(&table, waves->frequencies, part->positions, part->begin, part->end,
                         PE_AMPLITUDE_ONE, part->dtype, work, err);
}

static size_t column_pair(const struct pe_scheme *scheme, size_t column)
{
    const size_t pairs = pe_waves_of(scheme)->pairs;

    return column < 2 * pairs ? column % pairs : pairs - 1;
}

static bool complete_pairs(const struct pe_scheme *scheme)
{
    return pe_waves_of(scheme)->pairs > 0;
}

static const struct pe_sines sines = {.column_pair = column_pair, .complete_pairs = complete_pairs};
static const struct pe_rows_kind rows = {.width = pe_sinusoids_dim, .fill = fill, .sines = &sines};

extern const struct pe_encoding pe_encoding_timestep;
const struct pe_encoding pe_encoding_timestep = {
    .info.name = "timestep",
    .info.family = "absolute",
    .info.title = "Time step embedding of diffusion models: all sines, then all cosines",
    .info.formula =
        "[sin(a_k), cos(a_k)], a_k = scale t max_period^(-k/(dim/2 - downscale_freq_shift))",
    .info.source = "Ho et al. 2020, Denoising Diffusion Probabilistic Models, arXiv:2006.11239; "
                   "parameters as in diffusers' get_timestep_embedding",
    PE_INFO_PARAMS(params),
    .info.example = "dim=4",
    .rows = &rows,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_waves_close,
};
