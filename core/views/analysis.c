/* SPDX-License-Identifier: MIT */
#include "core/views/analysis.h"

#include "core/base/isa.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"

bool pe_analysis_has_rows(const struct pe_encoding *encoding)
{
    return (pe_rows_are_free(encoding) && !encoding->learned) || pe_rotary_is_plain(encoding);
}

bool pe_analysis_has_sines(const struct pe_encoding *encoding)
{
    return (encoding->rows && encoding->rows->sines) || pe_rotary_is_plain(encoding);
}

bool pe_analysis_has_pairs(const struct pe_encoding *encoding)
{
    return encoding->rotary || encoding->rows->sines->column_pair;
}

bool pe_analysis_turns(const struct pe_scheme *scheme)
{
    const struct pe_rows_kind *rows = scheme->encoding->rows;

    if (scheme->encoding->rotary)
        return pe_rotary_is_plain(scheme->encoding);
    return rows->sines && rows->sines->turns && rows->sines->turns(scheme);
}

enum pe_status pe_analysis_positions(struct pe_view *view, const struct pe_params *params,
                                     struct pe_error *err)
{
    const struct pe_rows_kind *rows = view->scheme->encoding->rows;

    if (pe_view_positions_read(view, params, err))
        return err->status;
    return rows && rows->positions_check
               ? rows->positions_check(view->scheme, &view->positions, err)
               : PE_OK;
}

enum pe_status pe_analysis_stand(const struct pe_scheme *scheme,
                                 const struct pe_positions *positions, const char *where,
                                 struct pe_error *err)
{
    const struct pe_rows_kind *rows = scheme->encoding->rows;
    struct pe_error why = {0};

    if (!rows || !rows->positions_check || !rows->positions_check(scheme, positions, &why))
        return PE_OK;
    return pe_fail(err, why.status, where, "%s", why.detail);
}

double pe_cosines_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    return (double)pe_waves_of(scheme)->pairs * (dtype == PE_F64 ? 6.5 : 0.25) *
               pe_isa()->kernels->slowness +
           60;
}

double pe_product_cost(const struct pe_scheme *scheme)
{
    return 0.5 * (double)pe_rows_width(scheme) + 12;
}
