/* SPDX-License-Identifier: MIT */
#include "core/base/params.h"
#include "core/encodings/sinusoidal.h"
#include "core/scheme/bias.h"
#include "core/scheme/relative.h"
#include "core/views/table.h"

enum { VECTORS_LEARNED, VECTORS_SINUSOIDAL };

static const struct pe_param params[] = {
    {.name = "max_relative_position",
     .aliases = "max_relative_positions,clipping_distance",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 16,
     .required = true,
     .unit = "positions",
     .doc = "The distance beyond which all distances share one vector; each table has 2 * "
            "max_relative_position + 1 rows."},
    {.name = "direction",
     .type = PE_CHOICE,
     .fallback = "j-i",
     .choices = "j-i,i-j",
     .doc = "The sign of a distance. j-i: position of the key minus that of the query. i-j: "
            "position of the query minus that of the key. The default is that of the paper."},
    {.name = "vectors",
     .type = PE_CHOICE,
     .fallback = "learned",
     .choices = "learned,sinusoidal",
     .doc = "The source of the vectors. learned: tables that are given. sinusoidal, as in NEZHA: "
            "row c of the sinusoidal table is the vector of clipped distance c = 0 .. 2 * "
            "max_relative_position, for keys and for values."},
    {.name = "dim",
     .aliases = "head_dim",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 20,
     .unit = "elements",
     .doc = "The number of elements of a sinusoidal vector, which is that of a head."},
    {.name = "base",
     .type = PE_NUMBER,
     .min = 1,
     .above_min = true,
     .max = 1e30,
     .doc = "The base of the frequencies of sinusoidal vectors; 10000 if absent."},
};

static size_t clip(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "max_relative_position");
}

static int sign(const struct pe_scheme *scheme)
{
    return pe_param_number(&scheme->params, "direction") == 0 ? 1 : -1;
}

/* ---- sinusoidal vectors ---------------------------------------------------------------------- */

static bool makes_vectors(const struct pe_scheme *scheme)
{
    return pe_param_choice(&scheme->params, "vectors") == VECTORS_SINUSOIDAL;
}

/* With an odd width the last pair has only a sine. */
static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    struct pe_value *base = &scheme->params.values[pe_params_find(&scheme->params, "base")];

    if (!makes_vectors(scheme))
        return base->present
                   ? pe_fail(err, PE_CONFLICT, "parameter:base",
                             "base is that of sinusoidal vectors; ask for vectors=sinusoidal")
                   : PE_OK;
    if (!pe_param_value(&scheme->params, "dim")->present)
        return pe_fail(err, PE_MISSING, "parameter:dim", "dim is required, the width of a vector");
    if (!base->present) {
        base->present = true;
        base->number = 10000;
    }
    ((struct pe_waves *)scheme->state)->pairs = (pe_sinusoids_dim(scheme) + 1) / 2;
    return PE_OK;
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    return makes_vectors(scheme) ? pe_waves_prepare(scheme, &pe_sinusoids_of_dim, work, err)
                                 : PE_OK;
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_waves *waves = pe_waves_of(scheme);
    const size_t dim = pe_sinusoids_dim(scheme);
    const struct pe_table table = pe_sinusoids_columns(out, PE_SINES_INTERLEAVED, waves->pairs, dim,
                                                       dim, pe_dtype_info(part->dtype)->size);

    return pe_table_fill(&table, waves->frequencies, part->positions, part->begin, part->end,
                         PE_AMPLITUDE_ONE, part->dtype, work, err);
}

static enum pe_status table_open(struct pe_view *view, const struct pe_params *values,
                                 struct pe_error *err)
{
    (void)values;
    if (!makes_vectors(view->scheme))
        return pe_fail(err, PE_INVALID, "parameter:vectors",
                       "learned vectors are not known here; a table is made with "
                       "vectors=sinusoidal");
    view->positions = (struct pe_positions){.step = 1, .count = 2 * clip(view->scheme) + 1};
    return pe_view_table_add(view, view->positions.count, pe_sinusoids_dim(view->scheme), err);
}

static const struct pe_param view_params[] = {PE_PARAMS_POOL};

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "Table of the sinusoidal vectors",
    .info.doc = "`table` [2 * max_relative_position + 1, dim]: one row for each clipped distance.",
    .info.example = "vectors=sinusoidal&dim=4",
    PE_INFO_PARAMS(view_params),
    .of = pe_view_table_of,
    .open = table_open,
    .fill = pe_view_table_fill,
};

/* ---- the encoding ---------------------------------------------------------------------------- */

static const struct pe_rows_kind rows = {.width = pe_sinusoids_dim, .fill = fill, .table = &table};

static const struct pe_clipped clipped = {
    .clip = clip, .sign = sign, .makes_vectors = makes_vectors};
static const struct pe_relative_kind relative = {.clipped = &clipped,
                                                 .infer = pe_relative_infer_clipped};

static const struct pe_bias_kind bias = {.bucket = pe_clipped_row};

extern const struct pe_encoding pe_encoding_shaw;
const struct pe_encoding pe_encoding_shaw = {
    .info.name = "shaw",
    .info.family = "relative",
    .info.title =
        "Relative position vectors: one for keys and one for values at every clipped distance",
    .info.formula = "c = clip(j - i, -max, max) + max; logits q_i (k_j + aK[c]) * scale, "
                    "output sum_j a_ij (v_j + aV[c])",
    .info.source =
        "Shaw et al. 2018, Self-Attention with Relative Position Representations, "
        "arXiv:1803.02155; sinusoidal vectors: Wei et al. 2019, NEZHA, arXiv:1909.00204, "
        "section 2.1",
    PE_INFO_PARAMS(params),
    .info.example = "max_relative_position=2",
    .rows = &rows,
    .bias = &bias,
    .relative = &relative,
    .state_size = sizeof(struct pe_waves),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .close = pe_waves_close,
};
