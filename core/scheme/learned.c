/* SPDX-License-Identifier: MIT */
#include "core/scheme/learned.h"

#include <math.h>
#include <string.h>

#include "core/exact/angle.h"

/* ---- the table ------------------------------------------------------------------------------ */

enum { CHUNK = 256 };

static enum pe_status table_shape_check(const struct pe_tensor *table, const char *where,
                                        size_t *elements, struct pe_error *err)
{
    if (table->rank != 2 || table->shape[0] == 0 || table->shape[1] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "a table is [rows, width] with one row and one column at least; this one "
                       "has %u dimensions%s",
                       table->rank, table->rank == 2 ? " and no elements" : "");
    if (!pe_dtype_is_float(table->dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "the table is %s; f64, f32, f16 or bf16 can be",
                       pe_dtype_name(table->dtype));
    if (!pe_shape_elements(table->shape, 2, elements))
        return pe_fail(err, PE_TOO_LARGE, where, "the size of the table does not fit in 63 bits");
    if (!table->data)
        return pe_fail(err, PE_INVALID, where, "the table has no data");
    return PE_OK;
}

enum pe_status pe_table_check(const struct pe_tensor *table, const char *where,
                              struct pe_work *work, struct pe_error *err)
{
    double values[CHUNK];
    size_t elements;

    if (table_shape_check(table, where, &elements, err))
        return err->status;
    const size_t size = pe_dtype_info(table->dtype)->size;
    for (size_t at = 0; at < elements; at += CHUNK) {
        const size_t count = elements - at < CHUNK ? elements - at : CHUNK;
        if (pe_work_check(work, err))
            return err->status;
        pe_to_f64(values, (const char *)table->data + at * size, table->dtype, count);
        for (size_t i = 0; i < count; i++)
            if (!isfinite(values[i]))
                return pe_fail(err, PE_OUT_OF_RANGE, where,
                               "a table must be finite; row %zu has %g in column %zu",
                               (at + i) / table->shape[1], values[i], (at + i) % table->shape[1]);
    }
    return PE_OK;
}

enum pe_status pe_learned_give(struct pe_scheme *scheme, const struct pe_tensor *table,
                               struct pe_error *err)
{
    const struct pe_value *dim;
    size_t elements;

    if (!scheme->encoding->learned)
        return pe_fail(err, PE_CONFLICT, "parameter:table",
                       "a table belongs to an encoding such as learned, not to %s",
                       scheme->encoding->info.name);
    if (pe_learned_table(scheme)->rank > 0)
        return pe_fail(err, PE_CONFLICT, "tensor:table", "the scheme has a table already");
    if (table_shape_check(table, "tensor:table", &elements, err))
        return err->status;
    dim = pe_param_value(&scheme->params, "dim");
    if (dim->present && dim->number != (double)table->shape[1])
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:dim",
                       "dim is %.0f, and the rows of the table are %zu wide", dim->number,
                       table->shape[1]);
    if (scheme->encoding->learned->table_check &&
        scheme->encoding->learned->table_check(scheme, table, err))
        return err->status;
    *(struct pe_tensor *)scheme->state = *table;
    return PE_OK;
}

enum pe_status pe_learned_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                  struct pe_error *err)
{
    (void)work;
    return pe_learned_table(scheme)->rank > 0
               ? PE_OK
               : pe_fail(err, PE_MISSING, "tensor:table",
                         "%s has the rows of a table; give the scheme one before it is prepared",
                         scheme->encoding->info.name);
}

size_t pe_learned_width(const struct pe_scheme *scheme)
{
    return pe_learned_table(scheme)->shape[1];
}

static const char *row_of(const struct pe_scheme *scheme, size_t row, size_t column)
{
    const struct pe_tensor *table = pe_learned_table(scheme);

    return (const char *)table->data +
           (row * table->shape[1] + column) * pe_dtype_info(table->dtype)->size;
}

void pe_learned_read(const struct pe_scheme *scheme, size_t row, size_t column, size_t count,
                     double *out)
{
    pe_to_f64(out, row_of(scheme, row, column), pe_learned_table(scheme)->dtype, count);
}

void pe_learned_copy(const struct pe_scheme *scheme, size_t row, enum pe_dtype dtype, void *out)
{
    const size_t width = pe_learned_table(scheme)->shape[1], size = pe_dtype_info(dtype)->size;
    double values[CHUNK];

    if (dtype == pe_learned_table(scheme)->dtype) {
        memcpy(out, row_of(scheme, row, 0), width * size);
        return;
    }
    for (size_t at = 0; at < width; at += CHUNK) {
        const size_t count = width - at < CHUNK ? width - at : CHUNK;
        pe_learned_read(scheme, row, at, count, values);
        pe_from_f64((char *)out + at * size, dtype, values, count);
    }
}

/* ---- positions ------------------------------------------------------------------------------ */

static double position_of(const struct pe_positions *positions, size_t index)
{
    if (positions->values)
        return positions->values[index];
    return pe_position_at(positions->start, positions->step, (double)index).part[0];
}

size_t pe_learned_position(const struct pe_positions *positions, size_t index)
{
    return (size_t)position_of(positions, index);
}

static enum pe_status position_check(const struct pe_scheme *scheme, double position,
                                     const char *where, struct pe_error *err)
{
    const double rows = scheme->encoding->learned->rows(scheme);

    if (position >= 0 && position < rows && position == floor(position))
        return PE_OK;
    return pe_fail(err, PE_OUT_OF_RANGE, where,
                   "%s has rows for the whole positions from 0 to %.0f, the table having %zu; got "
                   "position %.17g",
                   scheme->encoding->info.name, rows - 1, pe_learned_table(scheme)->shape[0],
                   position);
}

enum pe_status pe_learned_positions(const struct pe_scheme *scheme,
                                    const struct pe_positions *positions, struct pe_error *err)
{
    return pe_rows_whole_positions_check(scheme, positions, position_check,
                                         "has rows for whole positions only", err);
}

double pe_learned_copy_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    return pe_learned_table(scheme)->dtype == dtype ? 0.3 : 5;
}
