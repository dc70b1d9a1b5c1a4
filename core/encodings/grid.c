/* SPDX-License-Identifier: MIT */
#include "core/encodings/grid.h"

#include <math.h>
#include <string.h>

#include "core/base/sanitizer.h"
#include "core/base/sizes.h"
#include "core/encodings/sinusoidal.h"

enum { CHECK_ROWS = 16 }; /* copied rows between two checks of the work */

/* One axis and the rows to write. `inner` consecutive rows have the same coordinate, and the axis
 * repeats after a period of `inner * size` rows. */
struct sweep {
    const struct pe_grid *grid;
    const struct pe_grid_axis *axis;
    enum pe_dtype dtype;
    size_t inner, begin, end;
    char *out;       /* the axis's first column in row `begin` */
    size_t row_size; /* bytes */
};

/* Writes positions [first, first + count) to every `rows_apart`-th row. */
static enum pe_status axis_write(const struct pe_grid *grid, const struct pe_grid_axis *axis,
                                 const struct pe_positions *positions, size_t first, size_t count,
                                 size_t rows_apart, enum pe_dtype dtype, char *out,
                                 struct pe_work *work, struct pe_error *err)
{
    const struct pe_table table =
        pe_sinusoids_columns(out, grid->layout, pe_frequencies_count(axis->frequencies),
                             axis->columns, rows_apart * grid->dim, pe_dtype_info(dtype)->size);

    return pe_table_fill(&table, axis->frequencies, positions, first, first + count,
                         PE_AMPLITUDE_ONE, dtype, work, err);
}

static void row_copy(const struct sweep *s, size_t to, size_t from)
{
    memcpy(s->out + (to - s->begin) * s->row_size, s->out + (from - s->begin) * s->row_size,
           s->axis->columns * pe_dtype_info(s->dtype)->size);
}

/* Writes the rows up to `end`, at most one period: the first row of each coordinate is computed,
 * many coordinates at once, the others are copied. */
static enum pe_status period_write(const struct sweep *s, size_t end, struct pe_work *work,
                                   struct pe_error *err)
{
    const struct pe_positions positions = {
        .start = s->axis->start, .step = 1, .count = s->axis->size};
    size_t count;

    for (size_t row = s->begin; row < end; row += count * s->inner - row % s->inner) {
        const size_t coordinate = row / s->inner % s->axis->size;
        const size_t runs = (end - row + s->inner - 1) / s->inner;
        count = row % s->inner ? 1 : pe_min(s->axis->size - coordinate, runs);
        if (axis_write(s->grid, s->axis, &positions, coordinate, count, s->inner, s->dtype,
                       s->out + (row - s->begin) * s->row_size, work, err))
            return err->status;
    }
    for (size_t row = s->begin + 1; row < end; row++) {
        if (row % CHECK_ROWS == 0 && pe_work_check(work, err))
            return err->status;
        if (row % s->inner)
            row_copy(s, row, row - 1);
    }
    return PE_OK;
}

PE_WRAPS("counts down past 0")
enum pe_status pe_grid_fill(const struct pe_grid *grid, size_t begin, size_t end,
                            enum pe_dtype dtype, void *out, struct pe_work *work,
                            struct pe_error *err)
{
    const size_t size = pe_dtype_info(dtype)->size;
    size_t inner = 1;

    for (unsigned i = grid->axes_count; begin < end && i-- > 0; inner *= grid->axes[i].size) {
        const struct pe_grid_axis *axis = &grid->axes[i];
        const struct sweep s = {grid,
                                axis,
                                dtype,
                                inner,
                                begin,
                                end,
                                (char *)out + axis->column * size,
                                grid->dim * size};
        const size_t period = pe_min(end - begin, inner * axis->size);
        if (axis->columns == 0)
            continue;
        if (period_write(&s, begin + period, work, err))
            return err->status;
        for (size_t row = begin + period; row < end; row++) {
            if (row % CHECK_ROWS == 0 && pe_work_check(work, err))
                return err->status;
            row_copy(&s, row, row - period);
        }
    }
    return PE_OK;
}

PE_WRAPS("counts down past 0")
double pe_grid_cost(const struct pe_grid *grid, enum pe_dtype dtype)
{
    enum { GROUP_ELEMENTS = 1 << 15 };
    const double rows = fmax(GROUP_ELEMENTS / (double)grid->dim, 1);
    double inner = 1, elements = 0, start = 0;

    for (unsigned i = grid->axes_count; i-- > 0; inner *= (double)grid->axes[i].size) {
        start = fmax(start, grid->axes[i].start);
        elements += (double)grid->axes[i].columns *
                    fmin(fmin((double)grid->axes[i].size, rows / inner + 1), rows);
    }
    const struct pe_positions line = {.start = start, .step = 1, .count = 64};
    const struct pe_table_use use = {
        .positions = &line, .dtype = dtype, .width = grid->dim, .both = true};
    return 0.3 + elements / (rows * (double)grid->dim) * pe_table_cost(&use);
}

enum pe_status pe_grid_axis_fill(const struct pe_grid *grid, unsigned axis,
                                 const struct pe_positions *positions, size_t begin, size_t end,
                                 enum pe_dtype dtype, void *out, struct pe_work *work,
                                 struct pe_error *err)
{
    const size_t offset = grid->axes[axis].column * pe_dtype_info(dtype)->size;

    return axis_write(grid, &grid->axes[axis], positions, begin, end - begin, 1, dtype,
                      (char *)out + offset, work, err);
}
