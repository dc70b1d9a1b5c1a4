/* SPDX-License-Identifier: MIT */
#include "core/encodings/sinusoidal.h"

#include <string.h>

#include "core/base/params.h"
#include "core/base/sizes.h"

size_t pe_sinusoids_dim(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "dim");
}

bool pe_sinusoids_endpoint(const struct pe_scheme *scheme)
{
    return pe_param_choice(&scheme->params, "spacing") == PE_SPACING_ENDPOINT;
}

/* ---- frequencies ---------------------------------------------------------------------------- */

void pe_sinusoids_rate(struct pe_shared *out, unsigned bits, const struct pe_scheme *scheme,
                       size_t parts)
{
    const double base = pe_param_number(&scheme->params, "base");

    out->number[0] = pe_wide_div_uint(pe_wide_log(pe_wide_of(bits, base)), parts);
}

static void paper_compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_sinusoids_rate(out, bits, context, pe_waves_of(context)->pairs);
}

static void endpoints_compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    const size_t pairs = pe_waves_of(context)->pairs;

    pe_sinusoids_rate(out, bits, context, pairs > 1 ? pairs - 1 : 1);
}

static void dim_compute_shared(struct pe_shared *out, unsigned bits, const void *context)
{
    pe_sinusoids_rate(out, bits, context, pe_sinusoids_dim(context));
    out->number[0] = pe_wide_scale(out->number[0], 1);
}

const struct pe_powers pe_sinusoids_of_dim = {.compute_shared = dim_compute_shared};
const struct pe_powers pe_sinusoids_paper = {.compute_shared = paper_compute_shared};
const struct pe_powers pe_sinusoids_endpoints = {.compute_shared = endpoints_compute_shared};

enum pe_status pe_sinusoids_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                    struct pe_error *err)
{
    const bool endpoint = pe_sinusoids_endpoint(scheme);

    return pe_waves_prepare(scheme, endpoint ? &pe_sinusoids_endpoints : &pe_sinusoids_paper, work,
                            err);
}

/* ---- columns -------------------------------------------------------------------------------- */

struct pe_table pe_sinusoids_columns(void *out, int layout, size_t pairs, size_t columns,
                                     size_t dim, size_t size)
{
    const bool concatenated = layout == PE_SINES_CONCATENATED;
    const size_t cosines = columns - pe_min(columns, pairs);

    return (struct pe_table){
        .cos = (char *)out + (concatenated ? pairs : 1) * size,
        .sin = out,
        .cos_count = pe_min(pairs, concatenated ? cosines : columns / 2),
        .sin_count = pe_min(pairs, concatenated ? columns : (columns + 1) / 2),
        .pair_step = concatenated ? 1 : 2,
        .row_size = dim * size,
    };
}

void pe_sinusoids_column_clear(size_t column, size_t dim, size_t rows, size_t size, void *out)
{
    for (size_t row = 0; row < rows; row++)
        memset((char *)out + (row * dim + column) * size, 0, size);
}

enum pe_status pe_sinusoids_rows(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                                 void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t dim = pe_sinusoids_dim(scheme), size = pe_dtype_info(part->dtype)->size;
    const int layout = pe_param_choice(&scheme->params, "layout");
    const struct pe_waves *waves = pe_waves_of(scheme);
    const struct pe_table table = pe_sinusoids_columns(out, layout, waves->pairs, dim, dim, size);

    if (2 * waves->pairs < dim)
        pe_sinusoids_column_clear(dim - 1, dim, part->end - part->begin, size, out);
    return pe_table_fill(&table, waves->frequencies, part->positions, part->begin, part->end,
                         PE_AMPLITUDE_ONE, part->dtype, work, err);
}

enum pe_status pe_sinusoids_sine_rows(const struct pe_scheme *scheme,
                                      const struct pe_rows_part *part, void *out,
                                      struct pe_work *work, struct pe_error *err)
{
    const struct pe_waves *waves = pe_waves_of(scheme);
    const struct pe_table table = {.sin = out,
                                   .sin_count = waves->pairs,
                                   .pair_step = 1,
                                   .row_size = waves->pairs * pe_dtype_info(part->dtype)->size};

    return pe_table_fill(&table, waves->frequencies, part->positions, part->begin, part->end,
                         PE_AMPLITUDE_ONE, part->dtype, work, err);
}

size_t pe_sinusoids_column_pair(const struct pe_scheme *scheme, size_t column)
{
    const bool concatenated = pe_param_choice(&scheme->params, "layout") == PE_SINES_CONCATENATED;
    const size_t count = pe_waves_of(scheme)->pairs;
    const size_t pairs = count > 0 ? count : 1; /* dim 1 with spacing endpoint has none */
    const size_t pair = concatenated ? column % pairs : column / 2;

    return pair < pairs ? pair : pairs - 1;
}

/* ---- the encoding ---------------------------------------------------------------------------- */

static const struct pe_param params[] = {
    PE_PARAM_DIM(1, 1 << 20),
    PE_PARAM_BASE,
    PE_PARAM_SINES_LAYOUT,
    {.name = "spacing",
     .type = PE_CHOICE,
     .choices = "paper,endpoint,next-even",
     .fallback = "paper",
     .doc = "The exponents e of the frequencies base^-e. paper: e = 2k / dim. endpoint: e = k / "
            "(dim/2 - 1), so that the last exponent is 1 (tensor2tensor, "
            "fairseq). " PE_SPACING_NEXT_EVEN_DOC "."},
};

/* With an odd width the last pair has only a sine; with spacing endpoint the last column is 0. */
static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    const size_t dim = pe_sinusoids_dim(scheme);

    (void)err;
    ((struct pe_waves *)scheme->state)->pairs =
        pe_sinusoids_endpoint(scheme) ? dim / 2 : (dim + 1) / 2;
    return PE_OK;
}

/* False where the last pair has only a sine. */
static bool complete_pairs(const struct pe_scheme *scheme)
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

static const struct pe_sines sines = {.column_pair = pe_sinusoids_column_pair,
                                      .complete_pairs = complete_pairs};
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
    PE_INFO_PARAMS(params),
    .info.example = "dim=4",
    .rows = &rows,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_waves_close,
};
