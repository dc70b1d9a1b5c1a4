/* SPDX-License-Identifier: MIT */
#include "core/base/params.h"
#include "core/encodings/parts/sinusoids.h"

static const struct pe_param params[] = {
    PE_PARAM_DIM(1, 1 << 20),
    PE_PARAM_BASE,
    PE_PARAM_SINES_LAYOUT,
    {.name = "spacing",
     .type = PE_CHOICE,
     .choices = "paper,endpoint,next-even",
     .fallback = "paper",
     .doc = "paper: exponents 2k/dim; endpoint: k/(dim/2 - 1), so that the last is 1 "
            "(tensor2tensor, fairseq); " PE_SPACING_NEXT_EVEN_DOC "."},
};

/* Odd widths: of the last pair there is the sine alone; endpoint makes the table one narrower and
 * pads with a zero. */
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

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers *const powers[] = {
        [PE_SPACING_PAPER] = &pe_sinusoids_of_dim,
        [PE_SPACING_ENDPOINT] = &pe_sinusoids_endpoints,
        [PE_SPACING_NEXT_EVEN] = &pe_sinusoids_paper,
    };

    return pe_waves_prepare(scheme, powers[pe_param_choice(&scheme->params, "spacing")], work, err);
}

static const struct pe_sines sines = {.column_pair = pe_sinusoids_column_pair, .turns = turns};
static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = pe_sinusoids_rows, .sines = &sines};

extern const struct pe_encoding pe_encoding_sinusoidal;
const struct pe_encoding pe_encoding_sinusoidal = {
    .info.name = "sinusoidal",
    .info.family = "absolute",
    .info.title = "Sines and cosines of geometrically spaced frequencies",
    .info.formula = "PE(t, 2k) = sin(t w_k), PE(t, 2k+1) = cos(t w_k), w_k = base^(-2k/dim); "
                    "endpoint: base^(-k/(dim/2 - 1)), the last column of an odd dim 0; next-even: "
                    "base^(-k/ceil(dim/2))",
    .info.source = "Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762, section 3.5",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .info.example = "dim=4",
    .rows = &rows,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_waves_close,
};
