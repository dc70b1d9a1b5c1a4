/* SPDX-License-Identifier: MIT */
#include "core/analysis/analysis.h"
#include "core/base/fail.h"

#include <stdlib.h>

enum pe_status pe_analysis_new(struct pe_view *view, struct pe_error *err)
{
    view->analysis = calloc(1, sizeof(*view->analysis));
    if (!view->analysis)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for an analysis");
    pthread_mutex_init(&view->analysis->mutex, NULL);
    return PE_OK;
}

void pe_analysis_free(struct pe_analysis *analysis)
{
    if (!analysis)
        return;
    pe_rows_free(analysis->rows);
    pe_rows_free(analysis->only);
    pe_frequencies_free(analysis->one);
    pthread_mutex_destroy(&analysis->mutex);
    free(analysis);
}

enum pe_status pe_analysis_positions(struct pe_view *view, const struct pe_params *params,
                                     struct pe_error *err)
{
    const struct pe_scheme *scheme = view->scheme;

    if (pe_view_positions_read(view, params, err))
        return err->status;
    return scheme->encoding->positions_check
               ? scheme->encoding->positions_check(scheme, &view->positions, err)
               : PE_OK;
}

enum pe_status pe_analysis_stand(const struct pe_scheme *scheme,
                                 const struct pe_positions *positions, const char *where,
                                 struct pe_error *err)
{
    struct pe_error why = {0};

    if (!scheme->encoding->positions_check ||
        !scheme->encoding->positions_check(scheme, positions, &why))
        return PE_OK;
    return pe_fail(err, why.status, where, "%s", why.detail);
}

enum pe_status pe_analysis_offsets(struct pe_view *view, const struct pe_params *params,
                                   size_t *count, struct pe_error *err)
{
    const double first = pe_param_number(params, "min_offset");
    const double last = pe_param_number(params, "max_offset");

    if (last < first)
        return pe_fail(err, PE_CONFLICT, "parameter:max_offset",
                       "max_offset must not be below min_offset, got %.0f and %.0f", last, first);
    view->analysis->first = (int64_t)first;
    *count = (size_t)((int64_t)last - (int64_t)first) + 1;
    return PE_OK;
}

void pe_analysis_offsets_write(const struct pe_view *view, size_t count, int64_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = view->analysis->first + (int64_t)i;
}

size_t pe_work_multiply(size_t a, size_t b)
{
    size_t product;

    return pe_size_multiply(a, b, &product) ? product : SIZE_MAX;
}

/* A cosine takes about a quarter of a microsecond, a number of a row in doubles one and more. */
enum { WAVE_WORK = 512, NUMBER_WORK = 2048, SUM_WORK = 16 };

size_t pe_work_pairs(const struct pe_scheme *scheme)
{
    return pe_work_multiply(scheme->pairs, WAVE_WORK);
}

size_t pe_work_row(const struct pe_scheme *scheme)
{
    return pe_work_multiply(pe_rows_width(scheme), NUMBER_WORK);
}

size_t pe_work_product(const struct pe_scheme *scheme)
{
    return pe_rows_width(scheme) + SUM_WORK;
}
