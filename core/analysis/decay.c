/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/analysis/analysis.h"
#include "core/base/fail.h"
#include "core/tables/cosines.h"

/* What is left of likeness so many positions apart. Where rows are pairs that turn it is a sum of
 * cosines, the same for every anchor, and correctly rounded; else the product of two rows, with the
 * bound of views_similarity.c. */

enum { DECAY, ENVELOPE, OFFSETS };

static const struct pe_param params[] = {
    PE_PARAMS_OFFSETS,
    {.name = "anchor",
     .type = PE_INTEGER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .fallback = "0",
     .unit = "positions",
     .doc = "The position that offsets count from; sums of cosines are the same for all."},
    {.name = "normalize",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Divide by both norms: the cosine of the angle between the rows, 0 where one is 0."},
};

/* ---- rows ----------------------------------------------------------------------------------- */

static bool turns(const struct pe_scheme *scheme)
{
    return scheme->encoding->turns && scheme->encoding->turns(scheme);
}

/* The rows of an encoding whose products depend on the anchor. */
static enum pe_status rows_open(struct pe_view *view, double anchor, size_t count,
                                struct pe_error *err)
{
    struct pe_analysis *analysis = view->analysis;
    const struct pe_scheme *scheme = view->scheme;
    const double first = anchor + (double)analysis->first;
    const double last = first + (double)(count - 1);

    if (fabs(first) > 0x1p53 - 1 || fabs(last) > 0x1p53 - 1)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:anchor",
                       "anchor and offset make a position outside +-(2^53 - 1)");
    view->positions = (struct pe_positions){.start = first, .step = 1, .count = count};
    analysis->alone = (struct pe_positions){.start = anchor, .count = 1};
    if (pe_analysis_stand(scheme, &analysis->alone, "parameter:anchor", err) ||
        pe_analysis_stand(scheme, &view->positions, "parameter:anchor", err))
        return err->status;
    return pe_rows_new(&analysis->only, scheme, &analysis->alone, PE_F64, err) ||
                   pe_rows_new(&analysis->rows, scheme, &view->positions, PE_F64, err)
               ? err->status
               : PE_OK;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const double anchor = pe_param_number(values, "anchor");
    const bool sums = turns(view->scheme);
    size_t count;

    if (pe_analysis_new(view, err) || pe_analysis_offsets(view, values, &count, err) ||
        (!sums && rows_open(view, anchor, count, err)))
        return err->status;
    view->analysis->normalize = pe_param_number(values, "normalize") != 0;
    if (pe_view_add(view, "decay", view->dtype, 1, &count, err) ||
        pe_view_add(view, "envelope", view->dtype, 1, &count, err) ||
        pe_view_add(view, "offsets", PE_I64, 1, &count, err))
        return err->status;
    for (size_t i = DECAY; i <= ENVELOPE; i++)
        view->outputs[i].element_work =
            sums ? pe_work_pairs(view->scheme) : pe_work_row(view->scheme);
    return PE_OK;
}

static void sums_write(const struct pe_view *view, size_t count, char *out)
{
    const struct pe_analysis *analysis = view->analysis;
    const struct pe_cosines cosines = pe_cosines_of(view->scheme->frequencies, analysis->normalize);
    const size_t size = pe_dtype_info(view->dtype)->size;

    for (size_t i = 0; i < count; i++) {
        const int64_t offset = analysis->first + (int64_t)i;
        const struct pe_position position = {{(double)offset, 0, 0}};
        pe_cosines_write(&cosines, &position, view->dtype, out + i * size);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

static void products_write(const struct pe_view *view, size_t count, char *out)
{
    const struct pe_analysis *analysis = view->analysis;
    const size_t width = pe_rows_width(view->scheme), size = pe_dtype_info(view->dtype)->size;
    const double *anchor = pe_rows_get(analysis->only, 0);

    for (size_t i = 0; i < count; i++) {
        const double value =
            pe_row_similarity(anchor, pe_rows_get(analysis->rows, i), width, analysis->normalize);
        pe_from_f64(out + i * size, view->dtype, &value, 1);
    }
}

/* Raises the absolute value at `index` to `most`, and `most` to it. */
static void envelope_step(const struct pe_view *view, char *out, size_t index, double *most)
{
    const size_t size = pe_dtype_info(view->dtype)->size;
    double value;

    pe_to_f64(&value, out + index * size, view->dtype, 1);
    *most = fmax(*most, fabs(value));
    pe_from_f64(out + index * size, view->dtype, most, 1);
}

/* From what decayed to the most that there is there or farther from the anchor on the same side,
 * among the offsets asked for. Rounding keeps order: it is as well rounded as they are. */
static void envelope_make(const struct pe_view *view, size_t count, char *out)
{
    const int64_t first = view->analysis->first;
    const size_t zero = first >= 0 ? 0 : (uint64_t)-first < count ? (size_t)-first : count;
    double before = 0, behind = 0;

    for (size_t i = 0; i < zero; i++)
        envelope_step(view, out, i, &before);
    for (size_t i = count; i > zero; i--)
        envelope_step(view, out, i - 1, &behind);
    if (first <= 0 && zero < count)
        envelope_step(view, out, zero, &before);
}

static void fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                 void *out)
{
    const size_t count = view->outputs[output].row_elements;

    if (row_begin == row_end)
        return;
    if (output == OFFSETS) {
        pe_analysis_offsets_write(view, count, out);
        return;
    }
    (turns(view->scheme) ? sums_write : products_write)(view, count, out);
    if (output == ENVELOPE)
        envelope_make(view, count, out);
}

const struct pe_view_type pe_view_decay = {
    .info.name = "decay",
    .info.group = "analysis",
    .info.title = "How likeness falls with distance",
    .info.doc = "`decay` [offsets], the product of the row at `anchor` with the row so far from"
                " it; `envelope` [offsets], the most that there is so far or farther on the "
                "same side, of those asked for; `offsets` [offsets]. Where all columns are "
                "pairs that turn, `decay` is a sum of cosines, correctly rounded; else as good "
                "as `similarity`.",
    .info.example = "max_offset=3",
    .info.note =
        "products of rows need not fall steadily with the offset: sums of cosines oscillate, and "
        "fall on average only; envelope is what no farther offset exceeds",
    .info.params = params,
    .info.params_count = sizeof(params) / sizeof(params[0]),
    .open = open,
    .fill = fill,
};
