/* SPDX-License-Identifier: MIT */
#include "core/scheme/rows.h"
#include "core/views/view.h"

static const struct pe_param params[] = {
    {.name = "scale",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .fallback = "1",
     .doc = "Positions are multiplied by it."},
};

static size_t width(const struct pe_scheme *scheme)
{
    (void)scheme;
    return 1;
}

static void row(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t index,
                enum pe_dtype dtype, void *out)
{
    const double t = positions->values ? positions->values[index]
                                       : positions->start + positions->step * (double)index;
    const double value = t * pe_param_number(&scheme->params, "scale");

    pe_from_f64(out, dtype, &value, 1);
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    return pe_rows_each(scheme, part, row, out, work, err);
}

static const struct pe_rows_kind rows = {.width = width, .fill = fill};

extern const struct pe_encoding pe_encoding_scaled;
const struct pe_encoding pe_encoding_scaled = {
    .info.name = "scaled",
    .info.family = "absolute",
    .info.title = "The position times a number",
    .info.formula = "p(t) = scale t",
    .info.example = "scale=2",
    .info.source = "folklore",
    PE_INFO_PARAMS(params),
    .rows = &rows,
};
