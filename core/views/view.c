/* SPDX-License-Identifier: MIT */
#include "core/views/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sanitizer.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/views/pooling.h"

/* ---- the list of views ----------------------------------------------------------------------- */

#define VIEW(name) extern const struct pe_view_type pe_view_##name;
#include "core/views/views.def"
#undef VIEW

static const struct pe_view_type *const views[] = {
#define VIEW(name) &pe_view_##name,
#include "core/views/views.def"
#undef VIEW
};

PE_WRAPS("counts down past 0")
const struct pe_view_type *pe_encoding_view_at(const struct pe_encoding *encoding, size_t index)
{
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        const struct pe_view_type *type = views[i]->of(encoding);
        if (type && index-- == 0)
            return type;
    }
    return NULL;
}

const struct pe_view_type *pe_encoding_view(const struct pe_encoding *encoding, const char *name)
{
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        const bool is_named = strcmp(views[i]->info.name, name) == 0;
        const struct pe_view_type *type = is_named ? views[i]->of(encoding) : NULL;
        if (type)
            return type;
    }
    return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_finished(const struct pe_params *params)
{
    for (size_t i = 0; i < params->count; i++)
        if (!params->values[i].present && (params->list[i].required || params->list[i].fallback))
            return false;
    return true;
}

static enum pe_status view_check(const struct pe_scheme *scheme, const struct pe_view_type *type,
                                 const struct pe_params *params, enum pe_dtype dtype,
                                 struct pe_error *err)
{
    if (!type || type->of(scheme->encoding) != type)
        return pe_fail(err, PE_UNSUPPORTED, "", "%s has no such view", scheme->encoding->info.name);
    if (params->list != type->info.params)
        return pe_fail(err, PE_INVALID, "", "the parameters are those of another view than %s",
                       type->info.name);
    if (!pe_dtype_is_float(dtype) && !(dtype == PE_U8 && pe_params_find(params, "pool") >= 0))
        return pe_fail(err, PE_INVALID, "parameter:dtype",
                       "dtype must be f64, f32, f16 or bf16; tables, biases and similarity can be "
                       "u8 too");
    if (!is_finished(params))
        return pe_fail(err, PE_INVALID, "",
                       "the parameters of a view are finished, with defaults filled in, before it "
                       "is made of them");
    return PE_OK;
}

/* Ranges up to this length are expanded to a list, so that an error names the first wrong position.
 * Longer ones become a start and a step. */
enum { RANGE_LISTED = 4096 };

static bool is_long_range(const struct pe_value *list)
{
    return list && list->range && !list->segments && list->list_count > RANGE_LISTED;
}

/* Makes an error about the start or length of a long range name the parameter that has the range.
 */
static void range_error_rename(const struct pe_params *params, struct pe_error *err)
{
    if (is_long_range(pe_param_value(params, "positions")) &&
        (strcmp(err->where, "parameter:start") == 0 || strcmp(err->where, "parameter:length") == 0))
        snprintf(err->where, sizeof(err->where), "parameter:positions");
}

enum pe_status pe_view_new(struct pe_view **out, const struct pe_scheme *scheme,
                           const struct pe_view_type *type, const struct pe_params *params,
                           enum pe_dtype dtype, struct pe_work *work, struct pe_error *err)
{
    struct pe_view *view;

    *out = NULL;
    if (view_check(scheme, type, params, dtype, err) || pe_work_check(work, err))
        return err->status;
    view = calloc(1, sizeof(*view));
    if (!view)
        return pe_no_memory(err, "a view");
    *view = (struct pe_view){.scheme = scheme, .type = type, .work = work};
    view->dtype = dtype == PE_U8 ? PE_F32 : dtype;
    view->state = calloc(1, type->state_size + 1); /* calloc(1, 0) may return NULL */
    if (!view->state)
        pe_no_memory(err, "a view");
    if (!view->state || type->open(view, params, err) ||
        (pe_pooled_is_requested(params, dtype) &&
         pe_pooled_new(&view->pooled, view, params, dtype == PE_U8, err))) {
        pe_view_free(view);
        range_error_rename(params, err);
        return err->status;
    }
    *out = view;
    return PE_OK;
}

void pe_view_free(struct pe_view *view)
{
    const struct pe_positions *p;

    if (!view)
        return;
    if (view->type->close && view->state)
        view->type->close(view);
    pe_pooled_free(view->pooled);
    p = &view->positions;
    pe_memory_give(view->work, view->values, p->count * (p->axes > 1 ? p->axes : 1),
                   sizeof(*p->values));
    free(view->state);
    free(view);
}

size_t pe_view_memory(const struct pe_view *view)
{
    return (view->type->memory ? view->type->memory(view) : 0) + pe_pooled_memory(view->pooled);
}

/* ---- properties ------------------------------------------------------------------------------ */

const struct pe_view_info *pe_view_info(const struct pe_view_type *type)
{
    return &type->info;
}

const struct pe_output *pe_view_output(const struct pe_view *view, size_t index)
{
    if (view->pooled)
        return pe_pooled_output(view->pooled, index);
    return index < view->outputs_count ? &view->outputs[index] : NULL;
}

bool pe_view_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar)
{
    size_t own = 0;

    if (!view->scheme->prepared)
        return false;
    if (view->type->scalar && view->type->scalar(view, index, scalar))
        return true;
    while (own < index && view->type->scalar && view->type->scalar(view, own, scalar))
        own++;
    return pe_pooled_scalar(view, index - own, scalar);
}

double pe_view_work(const struct pe_view *view)
{
    const struct pe_output *output;
    double sum = 0;

    for (size_t i = 0; (output = pe_view_output(view, i)); i++)
        sum += pe_output_work(output, output->rows) + output->once_work;
    return sum;
}

/* ---- filling --------------------------------------------------------------------------------- */

enum pe_status pe_view_fill(const struct pe_view *view, size_t index, size_t row_begin,
                            size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_output *output = pe_view_output(view, index);

    if (!output || row_begin > row_end || row_end > output->rows)
        return pe_fail(err, PE_OUT_OF_RANGE, "", "the view has no output %zu with rows %zu to %zu",
                       index, row_begin, row_end);
    if (!view->scheme->prepared)
        return pe_fail(err, PE_INVALID, "", "the scheme must be prepared before a view is filled");
    if (row_begin == row_end)
        return pe_work_check(work, err);
    if (pe_spend(work, pe_output_work(output, row_end - row_begin), err))
        return err->status;
    return (view->pooled ? pe_pooled_fill : view->type->fill)(view, index, row_begin, row_end, out,
                                                              work, err);
}

/* ---- positions ------------------------------------------------------------------------------- */

const struct pe_positions *pe_view_positions(const struct pe_view *view)
{
    return &view->positions;
}

double pe_view_position(const struct pe_view *view, size_t row)
{
    const struct pe_positions *p = &view->positions;

    if (row >= p->count)
        return NAN;
    return p->values ? p->values[row] : pe_position_of(p, row).part[0];
}

size_t pe_view_queries(const struct pe_view *view)
{
    return view->type->queries ? view->type->queries(view)->queries : 0;
}

size_t pe_view_keys(const struct pe_view *view)
{
    return view->type->queries ? view->type->queries(view)->keys : 0;
}

/* ---- pieces of views ------------------------------------------------------------------------- */

enum pe_status pe_view_add(struct pe_view *view, const char *name, enum pe_dtype dtype,
                           unsigned rank, const size_t *shape, struct pe_error *err)
{
    struct pe_output *output = &view->outputs[view->outputs_count];
    size_t elements;

    if (view->outputs_count == PE_OUTPUTS_MAX)
        return pe_fail(err, PE_INTERNAL, "", "%s is one output too many", name);
    /* An element has at most 8 bytes, a complex one 16. */
    if (!pe_shape_elements(shape, rank, &elements) || elements > SIZE_MAX / 32)
        return pe_fail(err, PE_TOO_LARGE, "", "the size of %s does not fit in 63 bits", name);
    *output = (struct pe_output){.name = name, .dtype = dtype, .rank = rank, .rows = 1};
    memcpy(output->shape, shape, rank * sizeof(*shape));
    for (unsigned axis = 0; axis + 1 < rank; axis++)
        output->rows *= shape[axis];
    output->row_elements = shape[rank - 1];
    view->outputs_count++;
    return PE_OK;
}

static enum pe_status position_check(double position, const char *parameter, struct pe_error *err)
{
    if (fabs(position) <= 0x1p53 - 1)
        return PE_OK;
    return pe_fail(err, PE_OUT_OF_RANGE, parameter,
                   "positions must lie within +-(2^53 - 1), got %.4g", position);
}

enum pe_status pe_view_positions_list(struct pe_view *view, const struct pe_value *list,
                                      struct pe_error *err)
{
    const size_t count = list->list_count;
    double *values = pe_memory_take(view->work, count, sizeof(*values), "the positions", err);

    if (!values)
        return err->status;
    view->values = values;
    view->positions = (struct pe_positions){.values = values, .count = count};
    return pe_value_expand(list, values, view->work, err);
}

enum pe_status pe_view_positions_rows(struct pe_view *view, const struct pe_value *list,
                                      struct pe_error *err)
{
    if (list->lent && !list->range)
        view->positions = (struct pe_positions){.values = list->list, .count = list->list_count};
    else if (pe_view_positions_list(view, list, err))
        return err->status;
    if (list->rows > 0) {
        view->positions.axes = list->rows;
        view->positions.count /= list->rows;
    }
    return PE_OK;
}

enum pe_status pe_view_positions_read(struct pe_view *view, const struct pe_params *params,
                                      struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(params, "positions");
    const double start = pe_param_number(params, "start"), step = pe_param_number(params, "step");
    const double length = pe_param_number(params, "length");

    if (!list->present) {
        if (isnan(length))
            return pe_fail(err, PE_MISSING, "parameter:length",
                           "length is required (or positions)");
        view->positions =
            (struct pe_positions){.start = start, .step = step, .count = pe_count(length)};
        return length < 1 ? PE_OK
                          : position_check(start + (length - 1) * step, "parameter:length", err);
    }
    if (pe_param_given(params, "length") || start != 0 || step != 1)
        return pe_fail(err, PE_CONFLICT, "parameter:positions",
                       "positions cannot be given together with length, start or step");
    if (!is_long_range(list))
        return pe_view_positions_rows(view, list, err);
    view->positions =
        (struct pe_positions){.start = list->number, .step = 1, .count = list->list_count};
    return PE_OK;
}

enum pe_status pe_queries_read(struct pe_queries *out, const struct pe_params *params,
                               struct pe_error *err)
{
    const double queries = pe_param_number(params, "query_length");
    const double keys = pe_param_number(params, "key_length");
    const double start = pe_param_number(params, "query_start");

    out->queries = pe_count(queries);
    out->keys = isnan(keys) ? out->queries : pe_count(keys);
    out->start = isnan(start) ? (double)out->keys - queries : start;
    if (queries < 1)
        return PE_OK;
    return position_check(out->start + queries - 1, "parameter:query_start", err);
}
