/* SPDX-License-Identifier: MIT */
#include "core/base/params.h"
#include "core/encodings/sinusoidal.h"
#include "core/scheme/relative.h"
#include "core/views/table.h"

enum { DIRECTION_BOTH, DIRECTION_PAST };

static const struct pe_param params[] = {
    PE_PARAM_DIM(1, 1 << 20),
    PE_PARAM_BASE,
    PE_PARAM_SINES_LAYOUT,
    {.name = "spacing",
     .type = PE_CHOICE,
     .choices = "paper,next-even",
     .fallback = "paper",
     .doc = "The exponents e of the frequencies base^-e. paper: e = 2k / "
            "dim. " PE_SPACING_NEXT_EVEN_DOC "."},
    {.name = "direction",
     .type = PE_CHOICE,
     .choices = "both,past",
     .fallback = "both",
     .doc = "The distances in the table. both: from length - 1 down to -(length - 1), as in "
            "Conformer and ESPnet. past: from length - 1 down to 0, as in Transformer-XL."},
};

/* With an odd width the last pair has only a sine. */
static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    (void)err;
    ((struct pe_waves *)scheme->state)->pairs = (pe_sinusoids_dim(scheme) + 1) / 2;
    return PE_OK;
}

static bool past_only(const struct pe_scheme *scheme)
{
    return pe_param_choice(&scheme->params, "direction") == DIRECTION_PAST;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    const bool next_even = pe_param_choice(&scheme->params, "spacing") != 0;

    return pe_waves_prepare(scheme, next_even ? &pe_sinusoids_paper : &pe_sinusoids_of_dim, work,
                            err);
}

/* ---- the table: distances, the farthest first ------------------------------------------------ */

static const struct pe_param view_params[] = {
    {.name = "length",
     .type = PE_INTEGER,
     .min = 1,
     .max = 0x1p52,
     .required = true,
     .unit = "positions",
     .doc =
         "The number of positions that attend to each other; the longest distance is length - 1."},
    PE_PARAMS_POOL,
};

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const double length = pe_param_number(values, "length");
    const bool past = past_only(view->scheme);
    const size_t rows = (size_t)(past ? length : 2 * length - 1);

    view->positions = (struct pe_positions){.start = length - 1, .step = -1, .count = rows};
    return pe_view_table_add(view, rows, pe_sinusoids_dim(view->scheme), err);
}

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "Table of the vectors of distances",
    .info.doc = "`table` [distances, dim]: one row for each distance, from length - 1 down.",
    .info.example = "length=3",
    PE_INFO_PARAMS(view_params),
    .of = pe_view_table_of,
    .open = open,
    .fill = pe_view_table_fill,
};

/* ---- the encoding ---------------------------------------------------------------------------- */

static const struct pe_sines sines = {.column_pair = pe_sinusoids_column_pair};
static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = pe_sinusoids_rows, .sines = &sines, .table = &table};

static const struct pe_distances distances = {.past_only = past_only};
static const struct pe_relative_kind relative = {.distances = &distances,
                                                 .infer = pe_relative_infer_distances};

extern const struct pe_encoding pe_encoding_transformer_xl;
const struct pe_encoding pe_encoding_transformer_xl = {
    .info.name = "transformer-xl",
    .info.family = "absolute",
    .info.title = "Sines and cosines of the distances between positions, the longest first",
    .info.formula = "R(s, 2k) = sin(s w_k), R(s, 2k+1) = cos(s w_k), w_k = base^(-2k/dim) "
                    "(next-even: base^(-k/ceil(dim/2))), s = length - 1 .. 0 or .. -(length - 1); "
                    "in attention logits ((q_i + u) k_j + "
                    "(q_i + v) W_r R(i - j)) * scale",
    .info.source =
        "Dai et al. 2019, Transformer-XL, arXiv:1901.02860, section 3.3; Gulati et al. 2020, "
        "Conformer, arXiv:2005.08100",
    PE_INFO_PARAMS(params),
    .info.example = "dim=4",
    .rows = &rows,
    .relative = &relative,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_waves_close,
};
