/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/base/sizes.h"
#include "core/exact/double_double.h"
#include "core/scheme/rows.h"
#include "core/views/table.h"

static const struct pe_param params[] = {
    {.name = "length",
     .aliases = "n",
     .type = PE_INTEGER,
     .min = 1,
     .max = 0x1p53 - 1,
     .required = true,
     .unit = "positions",
     .doc = "The number of positions; the value of the last one is 1."},
};

static double last_of(const struct pe_scheme *scheme)
{
    return pe_param_number(&scheme->params, "length") - 1;
}

/* RN(t / last) of integers below 2^53. The quotient as a double and the sign of the remainder
 * decide on which side of any shorter number the real quotient lies. */
static void quotient_write(double t, double last, enum pe_dtype dtype, void *out)
{
    const double near = last == 0 ? 0 : t / last;

    if (dtype == PE_F64 || last == 0) {
        pe_from_f64(out, dtype, &near, 1);
        return;
    }
    const struct pe_exact product = pe_two_product(near, last);
    const double remainder = (t - product.hi) - product.lo;

    pe_exact_round((struct pe_exact){near, remainder / last}, 0, dtype, out);
}

static void row(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t index,
                enum pe_dtype dtype, void *out)
{
    quotient_write(positions->values ? positions->values[index] : positions->start + (double)index,
                   last_of(scheme), dtype, out);
}

static size_t width(const struct pe_scheme *scheme)
{
    (void)scheme;
    return 1;
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    return pe_rows_each(scheme, part, row, out, work, err);
}

/* ---- the table: positions 0 .. length - 1, or some of them ----------------------------------- */

static const struct pe_param view_params[] = {
    {.name = "positions",
     .type = PE_RANGES,
     .min = 0,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "Some of the positions 0 .. length - 1, as numbers and ranges: 0,5,7..9. All of them "
            "if absent."},
    PE_PARAMS_POOL,
};

static enum pe_status position_check(double position, double last, struct pe_error *err)
{
    if (position <= last && position == floor(position))
        return PE_OK;
    return pe_fail(err, PE_OUT_OF_RANGE, "parameter:positions",
                   "positions must be whole numbers from 0 to length - 1 = %.0f, got %.17g", last,
                   position);
}

/* If the end of a range is too large, the error names the first position that is. */
static enum pe_status range_check(double first, size_t count, double last, struct pe_error *err)
{
    const double end = first + (double)count - 1;

    return position_check(end > last ? fmax(first, last + 1) : end, last, err);
}

static enum pe_status list_check(const struct pe_value *list, double last, struct pe_error *err)
{
    size_t begin = 0;

    if (list->range && !list->segments)
        return range_check(list->number, list->list_count, last, err);
    for (size_t i = 0; i < list->segments_count; begin = list->segments[i++].end)
        if (range_check(list->segments[i].first, list->segments[i].end - begin, last, err))
            return err->status;
    for (size_t i = 0; !list->range && i < list->list_count; i++)
        if (position_check(list->list[i], last, err))
            return err->status;
    return PE_OK;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(values, "positions");
    const double last = last_of(view->scheme);

    if (list->present) {
        if (list_check(list, last, err))
            return err->status;
        if (list->range && !list->segments)
            view->positions =
                (struct pe_positions){.start = list->number, .step = 1, .count = list->list_count};
        else if (pe_view_positions_list(view, list, err))
            return err->status;
    } else {
        view->positions = (struct pe_positions){.step = 1, .count = pe_count(last + 1)};
    }
    return pe_view_table_add(view, view->positions.count, 1, err);
}

static const struct pe_view_type table = {
    .info.name = "table",
    .info.title = "Table of position vectors",
    .info.doc = "`table` [positions, 1]: one row for each position.",
    PE_INFO_PARAMS(view_params),
    .of = pe_view_table_of,
    .open = open,
    .fill = pe_view_table_fill,
};

static double cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    (void)scheme, (void)positions, (void)dtype;
    return 25;
}

static const struct pe_rows_kind rows = {
    .width = width, .fill = fill, .cost = cost, .table = &table};

extern const struct pe_encoding pe_encoding_normalized;
const struct pe_encoding pe_encoding_normalized = {
    .info.name = "normalized",
    .info.family = "absolute",
    .info.title = "Positions scaled to the range from 0 to 1, in one column",
    .info.formula = "p(t) = t / (length - 1); 0 where length is 1",
    .info.example = "length=5",
    .info.source = "Textbook step: bounded, but the distance of neighbours depends on the length",
    PE_INFO_PARAMS(params),
    .rows = &rows,
};
