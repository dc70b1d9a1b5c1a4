/* SPDX-License-Identifier: MIT */
#include "core/views/pooling.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/isa.h"
#include "core/base/once.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/views/view.h"

/* ---- pooling --------------------------------------------------------------------------------- */

/* Rows of the view are filled a chunk at a time and reduced at once, so that a table of any size
 * takes the memory of a few rows. Each column of the view accumulates over the rows of one result
 * row; then columns are combined. The order of additions is therefore the same for every range. */

enum pooling { POOL_NONE, POOL_MEAN, POOL_MIN, POOL_MAX, POOL_MINMAX };

/* How one output of a view is pooled. */
struct plan {
    enum pooling pooling;            /* not MINMAX, which is a MIN and a MAX */
    size_t depth;                    /* numbers of an element: 2 where it is complex */
    size_t from_rows, from_columns;  /* of a matrix of the view */
    size_t rows, columns;            /* of the result */
    enum pe_dtype from_dtype, dtype; /* of the view, of the result */
};

enum { CHUNK_SIZE = 128 << 10 }; /* bytes of the rows filled at once, which stay in the cache */

#define COUNT_COST 1.5 /* estimated nanoseconds of accumulating a number */

/* Accumulators, one number a column each. */
struct columns {
    double *sum, *count, *nonfinite; /* mean: of finite values; a value that is not finite, or 0 */
    double *least, *most;            /* min and max; least > most: only NaN so far */
};

struct scratch {
    size_t rows, row_size, numbers; /* rows of a chunk; bytes and numbers of a row of the view */
    char *chunk;
    double *row;
    struct columns columns;
    double *all; /* the one allocation: doubles, then the chunk */
    size_t size; /* of it, in bytes */
};

enum { DOUBLES = 1 + 3 }; /* rows of doubles: one of the view, three accumulators at most */

static size_t numbers_of(const struct plan *plan)
{
    return plan->from_columns * plan->depth;
}

static size_t width_of(const struct plan *plan)
{
    return plan->columns * plan->depth;
}

static double cost_of(const struct plan *plan, double element_work)
{
    const double width = (double)width_of(plan) * (double)plan->rows;

    return ((element_work > 0 ? element_work : 1) + COUNT_COST) * (double)plan->from_rows *
           (double)numbers_of(plan) / (width > 0 ? width : 1);
}

static struct scratch scratch_plan(const struct plan *plan)
{
    struct scratch scratch = {.numbers = numbers_of(plan)};

    scratch.row_size = scratch.numbers * pe_dtype_info(plan->from_dtype)->size;
    scratch.rows = scratch.row_size < CHUNK_SIZE ? CHUNK_SIZE / (scratch.row_size + 1) : 1;
    scratch.rows = pe_min(scratch.rows, plan->from_rows);
    scratch.size = scratch.numbers * DOUBLES * sizeof(double) + scratch.rows * scratch.row_size;
    return scratch;
}

static bool scratch_take(struct scratch *scratch, struct pe_work *work, struct pe_error *err)
{
    double *at = pe_memory_take(work, 1, scratch->size, "rows that are pooled", err);
    const size_t numbers = scratch->numbers;

    if (!at)
        return false;
    scratch->all = scratch->row = at;
    scratch->columns.sum = scratch->columns.least = at + numbers;
    scratch->columns.count = scratch->columns.most = at + 2 * numbers;
    scratch->columns.nonfinite = at + 3 * numbers;
    scratch->chunk = (char *)(at + DOUBLES * numbers);
    return true;
}

/* The first row (or column) of the view that belongs to row (or column) `index` of the result. */
static size_t begin_of(size_t index, size_t from, size_t to)
{
    return (size_t)((unsigned __int128)index * from / to);
}

/* ---- one row of the result ------------------------------------------------------------------ */

static void columns_clear(const struct plan *plan, const struct columns *columns)
{
    for (size_t i = 0; i < numbers_of(plan); i++) {
        if (plan->pooling == POOL_MEAN) {
            columns->sum[i] = columns->count[i] = columns->nonfinite[i] = 0;
        } else {
            columns->least[i] = INFINITY;
            columns->most[i] = -INFINITY;
        }
    }
}

/* For f64 and integers, as the kernels do it for f32. */
static void mean_count(const struct columns *columns, const double *row, size_t numbers)
{
    for (size_t i = 0; i < numbers; i++) {
        const bool finite = fabs(row[i]) <= DBL_MAX;
        columns->sum[i] += finite ? row[i] : 0;
        columns->count[i] += finite;
        columns->nonfinite[i] = finite ? columns->nonfinite[i] : row[i];
    }
}

static void extremes_count(const struct columns *columns, const double *row, size_t numbers)
{
    for (size_t i = 0; i < numbers; i++) {
        columns->least[i] = row[i] < columns->least[i] ? row[i] : columns->least[i];
        columns->most[i] = row[i] > columns->most[i] ? row[i] : columns->most[i];
    }
}

/* The mean of every depth-th column in [begin, end). */
static double mean_of(const struct columns *columns, size_t begin, size_t end, size_t depth)
{
    double sum = 0, count = 0, nonfinite = 0;

    for (size_t i = begin; i < end; i += depth) {
        sum += columns->sum[i];
        count += columns->count[i];
        nonfinite = columns->nonfinite[i] != 0 ? columns->nonfinite[i] : nonfinite;
    }
    return count > 0 ? sum / count : nonfinite;
}

static double extreme_of(const struct columns *columns, size_t begin, size_t end, size_t depth,
                         bool greatest)
{
    double least = INFINITY, most = -INFINITY;

    for (size_t i = begin; i < end; i += depth) {
        least = fmin(least, columns->least[i]);
        most = fmax(most, columns->most[i]);
    }
    return least > most ? NAN : greatest ? most : least;
}

static void row_write(const struct plan *plan, const struct columns *columns, char *out)
{
    const size_t size = pe_dtype_info(plan->dtype)->size, depth = plan->depth;

    for (size_t c = 0; c < plan->columns; c++) {
        const size_t begin = depth * begin_of(c, plan->from_columns, plan->columns);
        const size_t end = depth * begin_of(c + 1, plan->from_columns, plan->columns);
        for (size_t part = 0; part < depth; part++, out += size) {
            const double value =
                plan->pooling == POOL_MEAN
                    ? mean_of(columns, begin + part, end, depth)
                    : extreme_of(columns, begin + part, end, depth, plan->pooling == POOL_MAX);
            pe_from_f64(out, plan->dtype, &value, 1);
        }
    }
}

static void row_count(const struct plan *plan, const struct columns *columns, double *buffer,
                      const void *row)
{
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const size_t numbers = numbers_of(plan);
    const bool mean = plan->pooling == POOL_MEAN;
    const float *narrow = plan->from_dtype == PE_F32 ? row : (float *)buffer;

    if (plan->from_dtype == PE_F16 || plan->from_dtype == PE_BF16)
        pe_to_f32((float *)buffer, row, plan->from_dtype, numbers);
    else if (plan->from_dtype != PE_F32) {
        pe_to_f64(buffer, row, plan->from_dtype, numbers);
        (mean ? mean_count : extremes_count)(columns, buffer, numbers);
        return;
    }
    if (mean)
        kernels->pool_mean_f32(columns->sum, columns->count, columns->nonfinite, narrow, numbers);
    else
        kernels->pool_extremes_f32(columns->least, columns->most, narrow, numbers);
}

/* ---- all rows ------------------------------------------------------------------------------- */

/* Rows of the result within one matrix, whose first row in the view is `base`. */
struct span {
    size_t base, row_begin, row_end;
};

static enum pe_status span_fill(const struct plan *plan, const struct pe_view *view, size_t output,
                                const struct span *span, struct scratch *scratch, char *out,
                                struct pe_work *work, struct pe_error *err)
{
    const size_t last = begin_of(span->row_end, plan->from_rows, plan->rows);
    size_t at = begin_of(span->row_begin, plan->from_rows, plan->rows), row = span->row_begin;
    size_t end = begin_of(row + 1, plan->from_rows, plan->rows), count;

    columns_clear(plan, &scratch->columns);
    for (; at < last; at += count) {
        count = pe_min(scratch->rows, last - at);
        if (view->type->fill(view, output, span->base + at, span->base + at + count, scratch->chunk,
                             work, err))
            return err->status;
        for (size_t i = 0; i < count; i++) {
            row_count(plan, &scratch->columns, scratch->row,
                      scratch->chunk + i * scratch->row_size);
            if (at + i + 1 < end)
                continue;
            row_write(plan, &scratch->columns, out);
            out += width_of(plan) * pe_dtype_info(plan->dtype)->size;
            end = begin_of(++row + 1, plan->from_rows, plan->rows);
            columns_clear(plan, &scratch->columns);
        }
    }
    return PE_OK;
}

static enum pe_status plan_fill(const struct plan *plan, const struct pe_view *view, size_t output,
                                size_t row_begin, size_t row_end, char *out, struct pe_work *work,
                                struct pe_error *err)
{
    const size_t row_size = width_of(plan) * pe_dtype_info(plan->dtype)->size;
    struct scratch scratch = scratch_plan(plan);
    struct span span;

    if (!scratch_take(&scratch, work, err))
        return err->status;
    for (size_t row = row_begin; row < row_end; row += span.row_end - span.row_begin) {
        const size_t matrix = row / plan->rows;
        span.base = matrix * plan->from_rows;
        span.row_begin = row % plan->rows;
        span.row_end = pe_min(plan->rows, span.row_begin + (row_end - row));
        if (span_fill(plan, view, output, &span, &scratch, out + (row - row_begin) * row_size, work,
                      err))
            break;
    }
    pe_memory_give(work, scratch.all, 1, scratch.size);
    return err->status;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Values that become bytes are computed once, all of them, because the scale is that from the least
 * to the greatest. */
struct part {
    char name[24];       /* of the output, if it differs from the view's */
    size_t from;         /* the output of the view that it is made of */
    struct plan plan;    /* pooling POOL_NONE: not pooled */
    enum pe_dtype dtype; /* before values become bytes */
    char *values;        /* of that dtype; NULL: not computed */
    size_t size;         /* of the values that become bytes, in bytes; else 0 */
};

struct pe_pooled {
    size_t parts_count;
    struct part parts[PE_OUTPUTS_MAX];
    struct pe_output outputs[PE_OUTPUTS_MAX]; /* of the parts, contiguous for callers */
    bool bytes;
    struct pe_once once; /* with bytes: of the values and their scale */
    double scale, offset;
};

bool pe_pooled_is_requested(const struct pe_params *params, enum pe_dtype dtype)
{
    static const char *const names[] = {"pool", "rows", "columns"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (pe_params_find(params, names[i]) >= 0 && pe_param_given(params, names[i]))
            return true;
    return dtype == PE_U8;
}

static size_t at_most(const struct pe_params *params, const char *name, size_t count)
{
    const double limit = pe_param_number(params, name);

    return isnan(limit) ? count : pe_min(pe_count(limit), count);
}

/* The last two dimensions are the matrix that is pooled. */
static void output_pool(struct part *part, struct pe_output *output, const struct pe_params *params,
                        enum pooling pooling)
{
    size_t *shape = &output->shape[output->rank - 2];
    struct plan *plan = &part->plan;

    *plan = (struct plan){.pooling = pooling,
                          .depth = output->is_complex ? 2 : 1,
                          .from_rows = shape[0],
                          .from_columns = shape[1],
                          .rows = at_most(params, "rows", shape[0]),
                          .columns = at_most(params, "columns", shape[1]),
                          .from_dtype = output->dtype,
                          .dtype = output->dtype};
    if (pooling == POOL_MEAN && !pe_dtype_is_float(plan->dtype))
        plan->dtype = PE_F32;
    output->dtype = plan->dtype;
    output->element_work = cost_of(plan, output->element_work);
    output->rows = shape[0] > 0 ? output->rows / shape[0] * plan->rows : output->rows;
    output->row_elements = width_of(plan);
    shape[0] = plan->rows;
    shape[1] = plan->columns;
}

static enum pooling pooling_of(const struct pe_params *params)
{
    return pe_params_find(params, "pool") >= 0 && pe_param_given(params, "pool")
               ? POOL_MEAN + (enum pooling)pe_param_number(params, "pool")
               : POOL_NONE;
}

/* One output of the view becomes one pooled output, or two. */
static enum pe_status parts_add(struct pe_pooled *pooled, const struct pe_view *view, size_t from,
                                const struct pe_params *params, struct pe_error *err)
{
    const struct pe_output *original = &view->outputs[from];
    const enum pooling pooling = original->rank > 1 ? pooling_of(params) : POOL_NONE;
    const bool both = pooling == POOL_MINMAX;

    for (int i = 0; i < (both ? 2 : 1); i++) {
        if (pooled->parts_count == PE_OUTPUTS_MAX)
            return pe_fail(err, PE_UNSUPPORTED, "parameter:pool",
                           "the view has too many outputs for minmax; ask for min, then for max");
        struct part *part = &pooled->parts[pooled->parts_count];
        struct pe_output *output = &pooled->outputs[pooled->parts_count++];
        part->from = from;
        *output = *original;
        if (both) {
            snprintf(part->name, sizeof(part->name), "%s_%s", original->name, i ? "max" : "min");
            output->name = part->name;
        }
        if (pooling != POOL_NONE)
            output_pool(part, output, params, !both ? pooling : i ? POOL_MAX : POOL_MIN);
        part->dtype = output->dtype;
    }
    return PE_OK;
}

static enum pe_status bytes_open(struct pe_pooled *pooled, struct pe_error *err)
{
    size_t left = PE_PICTURE_BYTES_MAX;

    for (size_t i = 0; i < pooled->parts_count; i++) {
        struct pe_output *output = &pooled->outputs[i];
        if (!pe_dtype_is_float(output->dtype))
            continue;
        if (output->row_elements > 0 && output->rows > left / output->row_elements)
            return pe_fail(err, PE_TOO_LARGE, "parameter:dtype",
                           "at most %zu values become u8; pool them into fewer rows and columns",
                           PE_PICTURE_BYTES_MAX);
        left -= output->rows * output->row_elements;
        pooled->parts[i].size =
            output->rows * output->row_elements * pe_dtype_info(output->dtype)->size;
        output->dtype = PE_U8;
    }
    if (!pe_once_init(&pooled->once))
        return pe_no_memory(err, "a picture");
    pooled->bytes = true;
    return PE_OK;
}

static enum pe_status params_check(const struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err)
{
    const bool pools = pooling_of(params) != POOL_NONE;

    if (!pools && pe_pooled_is_requested(params, PE_F32))
        return pe_fail(err, PE_CONFLICT,
                       pe_param_given(params, "rows") ? "parameter:rows" : "parameter:columns",
                       "rows and columns go with pool, which says what they are made of: mean, "
                       "min, max or minmax");
    if (pools && view->outputs[0].rank < 2)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:pool",
                       "%s is a list here and no matrix, and is not pooled", view->outputs[0].name);
    return PE_OK;
}

enum pe_status pe_pooled_new(struct pe_pooled **out, const struct pe_view *view,
                             const struct pe_params *params, bool bytes, struct pe_error *err)
{
    struct pe_pooled *pooled;

    *out = NULL;
    if (params_check(view, params, err))
        return err->status;
    pooled = calloc(1, sizeof(*pooled));
    if (!pooled)
        return pe_no_memory(err, "a picture");
    for (size_t i = 0; i < view->outputs_count; i++)
        if (parts_add(pooled, view, i, params, err))
            break;
    if (err->status || (bytes && bytes_open(pooled, err))) {
        pe_pooled_free(pooled);
        return err->status;
    }
    *out = pooled;
    return PE_OK;
}

void pe_pooled_free(struct pe_pooled *pooled)
{
    if (!pooled)
        return;
    for (size_t i = 0; i < pooled->parts_count; i++)
        free(pooled->parts[i].values);
    if (pooled->bytes)
        pe_once_destroy(&pooled->once);
    free(pooled);
}

/* ---- values as bytes ------------------------------------------------------------------------- */

/* Rows of an output in its own dtype, before they become bytes. */
static enum pe_status part_fill(const struct pe_view *view, const struct part *part,
                                size_t row_begin, size_t row_end, char *out, struct pe_work *work,
                                struct pe_error *err)
{
    return part->plan.pooling == POOL_NONE
               ? view->type->fill(view, part->from, row_begin, row_end, out, work, err)
               : plan_fill(&part->plan, view, part->from, row_begin, row_end, out, work, err);
}

enum { CONVERTED = 512 }; /* numbers that are converted at once */

/* Widens [least, most] by the finite values. */
static void values_bound(const struct part *part, size_t count, double *least, double *most)
{
    const size_t size = pe_dtype_info(part->dtype)->size;
    double numbers[CONVERTED];

    for (size_t i = 0; i < count; i += CONVERTED) {
        const size_t some = pe_min(CONVERTED, count - i);
        pe_to_f64(numbers, part->values + i * size, part->dtype, some);
        for (size_t j = 0; j < some; j++) {
            const bool finite = isfinite(numbers[j]);
            *least = finite && numbers[j] < *least ? numbers[j] : *least;
            *most = finite && numbers[j] > *most ? numbers[j] : *most;
        }
    }
}

static enum pe_status values_make(const struct pe_view *view, struct part *part, size_t rows,
                                  struct pe_work *work, struct pe_error *err)
{
    if (!part->values)
        part->values = malloc(part->size + 1);
    if (!part->values)
        return pe_no_memory(err, "the values of a picture");
    return rows > 0 ? part_fill(view, part, 0, rows, part->values, work, err) : PE_OK;
}

struct making {
    const struct pe_view *view;
};

static enum pe_status scale_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    const struct pe_view *view = ((const struct making *)thing)->view;
    struct pe_pooled *pooled = view->pooled;
    double least = INFINITY, most = -INFINITY;

    for (size_t i = 0; i < pooled->parts_count; i++) {
        const struct pe_output *output = &pooled->outputs[i];
        if (output->dtype != PE_U8)
            continue;
        if (values_make(view, &pooled->parts[i], output->rows, work, err))
            return err->status;
        values_bound(&pooled->parts[i], output->rows * output->row_elements, &least, &most);
    }
    pooled->offset = least <= most ? least : 0;
    pooled->scale = least < most ? most / 255 - least / 255 : 0;
    return PE_OK;
}

/* pe_from_f64 maps what is out of range to 0 or 255, and NaN to 0. */
static void bytes_write(const struct pe_pooled *pooled, size_t index, size_t row_begin,
                        size_t row_end, unsigned char *out)
{
    const struct part *part = &pooled->parts[index];
    const size_t size = pe_dtype_info(part->dtype)->size;
    const size_t width = pooled->outputs[index].row_elements;
    const size_t count = (row_end - row_begin) * width;
    const char *from = part->values + row_begin * width * size;
    const double scale = pooled->scale > 0 ? pooled->scale : 1;
    double numbers[CONVERTED];

    for (size_t i = 0; i < count; i += CONVERTED) {
        const size_t some = pe_min(CONVERTED, count - i);
        pe_to_f64(numbers, from + i * size, part->dtype, some);
        for (size_t j = 0; j < some; j++)
            numbers[j] = (numbers[j] - pooled->offset) / scale;
        pe_from_f64(out + i, PE_U8, numbers, some);
    }
}

enum pe_status pe_pooled_fill(const struct pe_view *view, size_t output, size_t row_begin,
                              size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    struct pe_pooled *pooled = view->pooled;

    if (pooled->outputs[output].dtype != PE_U8)
        return part_fill(view, &pooled->parts[output], row_begin, row_end, out, work, err);
    if (pe_once(&pooled->once, scale_make, &(struct making){view}, work, err))
        return err->status;
    bytes_write(pooled, output, row_begin, row_end, out);
    return PE_OK;
}

bool pe_pooled_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar)
{
    struct pe_pooled *pooled = view->pooled;

    if (!pooled || !pooled->bytes || index > 1 ||
        pe_once(&pooled->once, scale_make, &(struct making){view}, view->work,
                &(struct pe_error){0}))
        return false;
    *scalar = index == 0 ? (struct pe_scalar){"scale", pooled->scale}
                         : (struct pe_scalar){"offset", pooled->offset};
    return true;
}

const struct pe_output *pe_pooled_output(const struct pe_pooled *pooled, size_t index)
{
    return index < pooled->parts_count ? &pooled->outputs[index] : NULL;
}

size_t pe_pooled_memory(const struct pe_pooled *pooled)
{
    size_t sum = 0;

    for (size_t i = 0; pooled && i < pooled->parts_count; i++)
        sum += pooled->parts[i].size;
    return sum;
}
