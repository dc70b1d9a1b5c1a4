/* SPDX-License-Identifier: MIT */
#include "core/scheme/rows.h"

#include <math.h>

#include "core/exact/angle.h"
#include "core/tables/table_fill.h"

enum { CHECK_ELEMENTS = 2048 }; /* between two checks of the work */

bool pe_rows_are_free(const struct pe_encoding *encoding)
{
    return encoding->rows && !encoding->rows->table;
}

double pe_rows_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                    enum pe_dtype dtype)
{
    const struct pe_rows_kind *kind = scheme->encoding->rows;
    const struct pe_table_use use = {.positions = positions,
                                     .dtype = dtype,
                                     .width = kind->width(scheme),
                                     .both = !kind->sines || kind->sines->column_pair,
                                     .bound = pe_waves_bound(scheme)};

    return kind->cost ? kind->cost(scheme, positions, dtype) : pe_table_cost(&use);
}

enum pe_status pe_rows_whole_positions_check(const struct pe_scheme *scheme,
                                             const struct pe_positions *positions,
                                             pe_position_check *check, const char *says,
                                             struct pe_error *err)
{
    const size_t count = positions->count;

    for (size_t i = 0; positions->values && i < count; i++)
        if (check(scheme, positions->values[i], "parameter:positions", err))
            return err->status;
    if (positions->values || count == 0 ||
        check(scheme, positions->start, "parameter:start", err) || count == 1)
        return err->status;
    if (positions->step != floor(positions->step))
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:step", "%s %s, got step %.17g",
                       scheme->encoding->info.name, says, positions->step);
    return check(scheme,
                 pe_position_at(positions->start, positions->step, (double)(count - 1)).part[0],
                 "parameter:length", err);
}

enum pe_status pe_rows_each(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                            pe_row_write *write, void *out, struct pe_work *work,
                            struct pe_error *err)
{
    const size_t width = scheme->encoding->rows->width(scheme);
    const size_t row_size = width * pe_dtype_info(part->dtype)->size;
    size_t unchecked = 0;

    for (size_t row = part->begin; row < part->end; row++) {
        unchecked += width;
        if (unchecked >= CHECK_ELEMENTS) {
            unchecked = 0;
            if (pe_work_check(work, err))
                return err->status;
        }
        write(scheme, part->positions, row, part->dtype,
              (char *)out + (row - part->begin) * row_size);
    }
    return PE_OK;
}
