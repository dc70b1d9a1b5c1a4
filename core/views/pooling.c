/* SPDX-License-Identifier: MIT */
#include "core/views/pooling.h"

#include <float.h>
#include <math.h>

#include "core/base/isa.h"
#include "core/base/least.h"
#include "core/base/memory.h"
#include "core/views/view.h"

/* A column of the view has its own sums while rows go by; columns come together when a row of the
 * result is written. So the order of additions is that of the rows, then that of the columns,
 * however the work is cut. */

/* Rows of the view that are filled at once take so many bytes, about: they stay in the cache. */
enum { CHUNK_SIZE = 128 << 10 };

/* Nanoseconds of a number that is read and counted, about. */
#define COUNT_COST 1.5

/* One number a column each. */
struct columns {
    double *sum, *count, *odd; /* of a mean: of the finite ones; one that is not, or 0 */
    double *least, *most;      /* else; least > most: there was none but NaN */
};

struct scratch {
    size_t rows, row_size, numbers; /* of the view: of a chunk, bytes and numbers of a row */
    char *chunk;
    double *row;
    struct columns columns;
    double *all; /* the doubles, and the chunk behind them */
    size_t size; /* bytes of all of it */
};

/* A row, and the largest of the sets of columns. */
enum { DOUBLES = 1 + 3 };

static size_t numbers_of(const struct pe_pool_plan *plan)
{
    return plan->from_columns * plan->depth;
}

size_t pe_pool_width(const struct pe_pool_plan *plan)
{
    return plan->columns * plan->depth;
}

double pe_pool_cost(const struct pe_pool_plan *plan, double element_work)
{
    const double width = (double)pe_pool_width(plan) * (double)plan->rows;

    return ((element_work > 0 ? element_work : 1) + COUNT_COST) * (double)plan->from_rows *
           (double)numbers_of(plan) / (width > 0 ? width : 1);
}

static struct scratch scratch_plan(const struct pe_pool_plan *plan)
{
    struct scratch scratch = {.numbers = numbers_of(plan)};

    scratch.row_size = scratch.numbers * pe_dtype_info(plan->from_dtype)->size;
    scratch.rows = scratch.row_size < CHUNK_SIZE ? CHUNK_SIZE / (scratch.row_size + 1) : 1;
    scratch.rows = pe_least(scratch.rows, plan->from_rows);
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
    scratch->columns.odd = at + 3 * numbers;
    scratch->chunk = (char *)(at + DOUBLES * numbers);
    return true;
}

/* The first row, or column, of the view that belongs to the one with this index. */
static size_t begin_of(size_t index, size_t from, size_t to)
{
    return (size_t)((unsigned __int128)index * from / to);
}

/* ---- one row of the result ------------------------------------------------------------------ */

static void columns_clear(const struct pe_pool_plan *plan, const struct columns *columns)
{
    for (size_t i = 0; i < numbers_of(plan); i++) {
        if (plan->pooling == PE_POOL_MEAN) {
            columns->sum[i] = columns->count[i] = columns->odd[i] = 0;
        } else {
            columns->least[i] = INFINITY;
            columns->most[i] = -INFINITY;
        }
    }
}

/* Numbers of f64, and whole ones, in the way of the kernels. */
static void mean_count(const struct columns *columns, const double *row, size_t numbers)
{
    for (size_t i = 0; i < numbers; i++) {
        const bool finite = fabs(row[i]) <= DBL_MAX;
        columns->sum[i] += finite ? row[i] : 0;
        columns->count[i] += finite;
        columns->odd[i] = finite ? columns->odd[i] : row[i];
    }
}

static void extremes_count(const struct columns *columns, const double *row, size_t numbers)
{
    for (size_t i = 0; i < numbers; i++) {
        columns->least[i] = row[i] < columns->least[i] ? row[i] : columns->least[i];
        columns->most[i] = row[i] > columns->most[i] ? row[i] : columns->most[i];
    }
}

/* The mean of every depth-th column of [begin, end). */
static double mean_of(const struct columns *columns, size_t begin, size_t end, size_t depth)
{
    double sum = 0, count = 0, odd = 0;

    for (size_t i = begin; i < end; i += depth) {
        sum += columns->sum[i];
        count += columns->count[i];
        odd = columns->odd[i] != 0 ? columns->odd[i] : odd;
    }
    return count > 0 ? sum / count : odd;
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

static void row_write(const struct pe_pool_plan *plan, const struct columns *columns, char *out)
{
    const size_t size = pe_dtype_info(plan->dtype)->size, depth = plan->depth;

    for (size_t c = 0; c < plan->columns; c++) {
        const size_t begin = depth * begin_of(c, plan->from_columns, plan->columns);
        const size_t end = depth * begin_of(c + 1, plan->from_columns, plan->columns);
        for (size_t part = 0; part < depth; part++, out += size) {
            const double value =
                plan->pooling == PE_POOL_MEAN
                    ? mean_of(columns, begin + part, end, depth)
                    : extreme_of(columns, begin + part, end, depth, plan->pooling == PE_POOL_MAX);
            pe_from_f64(out, plan->dtype, &value, 1);
        }
    }
}

static void row_count(const struct pe_pool_plan *plan, const struct columns *columns, double *room,
                      const void *row)
{
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const size_t numbers = numbers_of(plan);
    const bool mean = plan->pooling == PE_POOL_MEAN;
    const float *narrow = plan->from_dtype == PE_F32 ? row : (float *)room;

    if (plan->from_dtype == PE_F16 || plan->from_dtype == PE_BF16)
        pe_to_f32((float *)room, row, plan->from_dtype, numbers);
    else if (plan->from_dtype != PE_F32) {
        pe_to_f64(room, row, plan->from_dtype, numbers);
        (mean ? mean_count : extremes_count)(columns, room, numbers);
        return;
    }
    if (mean)
        kernels->pool_mean_f32(columns->sum, columns->count, columns->odd, narrow, numbers);
    else
        kernels->pool_extremes_f32(columns->least, columns->most, narrow, numbers);
}

/* ---- all rows ------------------------------------------------------------------------------- */

/* Rows of the result that lie in one matrix, whose first row in the view is `base`. */
struct span {
    size_t base, row_begin, row_end;
};

static enum pe_status span_fill(const struct pe_pool_plan *plan, const struct pe_view *view,
                                size_t output, const struct span *span, struct scratch *scratch,
                                char *out, struct pe_work *work, struct pe_error *err)
{
    const size_t last = begin_of(span->row_end, plan->from_rows, plan->rows);
    size_t at = begin_of(span->row_begin, plan->from_rows, plan->rows), row = span->row_begin;
    size_t end = begin_of(row + 1, plan->from_rows, plan->rows), count;

    columns_clear(plan, &scratch->columns);
    for (; at < last; at += count) {
        count = pe_least(scratch->rows, last - at);
        if (view->type->fill(view, output, span->base + at, span->base + at + count, scratch->chunk,
                             work, err))
            return err->status;
        for (size_t i = 0; i < count; i++) {
            row_count(plan, &scratch->columns, scratch->row,
                      scratch->chunk + i * scratch->row_size);
            if (at + i + 1 < end)
                continue;
            row_write(plan, &scratch->columns, out);
            out += pe_pool_width(plan) * pe_dtype_info(plan->dtype)->size;
            end = begin_of(++row + 1, plan->from_rows, plan->rows);
            columns_clear(plan, &scratch->columns);
        }
    }
    return PE_OK;
}

enum pe_status pe_pool_fill(const struct pe_pool_plan *plan, const struct pe_view *view,
                            size_t output, size_t row_begin, size_t row_end, char *out,
                            struct pe_work *work, struct pe_error *err)
{
    const size_t row_size = pe_pool_width(plan) * pe_dtype_info(plan->dtype)->size;
    struct scratch scratch = scratch_plan(plan);
    struct span span;

    if (!scratch_take(&scratch, work, err))
        return err->status;
    for (size_t row = row_begin; row < row_end; row += span.row_end - span.row_begin) {
        const size_t matrix = row / plan->rows;
        span.base = matrix * plan->from_rows;
        span.row_begin = row % plan->rows;
        span.row_end = pe_least(plan->rows, span.row_begin + (row_end - row));
        if (span_fill(plan, view, output, &span, &scratch, out + (row - row_begin) * row_size, work,
                      err))
            break;
    }
    pe_memory_give(work, scratch.all, 1, scratch.size);
    return err->status;
}
