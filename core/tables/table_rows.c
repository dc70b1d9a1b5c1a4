/* SPDX-License-Identifier: MIT */
#include "core/tables/table_rows.h"

#include <string.h>

#include "core/base/sizes.h"

char *pe_table_place(const struct pe_table_call *call, void *out, size_t pair)
{
    const struct pe_table *table = call->table;

    return (char *)out +
           (table->columns ? table->columns[pair] : pair) * table->pair_step * call->size;
}

size_t pe_table_runs(const struct pe_table_call *call, size_t pair, size_t end,
                     struct pe_run runs[2])
{
    const struct pe_table *table = call->table;
    const size_t offset = table->columns ? 0 : pair * table->pair_step * call->size;
    const size_t cos_end = pe_min(end, table->cos ? table->cos_count : 0);
    const size_t sin_end = pe_min(end, table->sin ? table->sin_count : 0);
    char *cos = table->cos ? (char *)table->cos + offset : NULL;
    char *sin = table->sin ? (char *)table->sin + offset : NULL;
    size_t count = 0;

    if (call->interleaved) {
        runs[0] = (struct pe_run){cos < sin ? cos : sin, pair, cos_end + sin_end - 2 * pair,
                                  cos < sin ? PE_RUN_COS_SIN : PE_RUN_SIN_COS};
        return 1;
    }
    if (cos_end > pair)
        runs[count++] = (struct pe_run){cos, pair, cos_end - pair, PE_RUN_COS};
    if (sin_end > pair)
        runs[count++] = (struct pe_run){sin, pair, sin_end - pair, PE_RUN_SIN};
    return count;
}

size_t pe_table_rows_from(const struct pe_table_call *call, size_t row)
{
    const size_t count = call->positions->count;
    const size_t most = pe_min(pe_min(call->rows_most, call->end - row), count - row % count);
    const double *t = call->positions->values ? call->positions->values + row : NULL;
    size_t rows = 1;

    if (!t)
        return most;
    while (rows < most && pe_is_step(t[rows - 1], call->step, t[rows]))
        rows++;
    return rows;
}

static void element_resolve(const struct pe_table_call *call, const struct pe_run *run, size_t row,
                            size_t column, char *out)
{
    const bool both = run->kind >= PE_RUN_COS_SIN;
    const bool is_sin =
        run->kind == PE_RUN_SIN || (both && (column & 1) == (run->kind == PE_RUN_COS_SIN));
    const struct pe_position position = pe_position_of(call->positions, row);

    const size_t pair = run->pair + (both ? column / 2 : column);
    void *const cos = is_sin ? NULL : out, *const sin = is_sin ? out : NULL;

    if (call->scales)
        call->scales->write(call->scales->context, pair, &position, cos, sin);
    else
        pe_frequencies_pair(call->frequencies, pair, &position, call->amplitude, call->dtype, cos,
                            sin);
}

void pe_run_resolve(const struct pe_table_call *call, const struct pe_run *run, size_t row,
                    size_t count, const struct pe_table_undecided *undecided, char *out)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t left = undecided->rows[i]; left != 0; left &= left - 1) {
            const size_t column = (size_t)__builtin_ctzll(left);
            element_resolve(call, run, row + i, column,
                            out + i * call->table->row_size + column * call->size);
        }
}

/* A copy of constant size is one instruction. */
static inline void places_copy(const char *from, char *to, const size_t *columns, size_t pair,
                               size_t count, size_t step, const size_t size)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + (columns ? columns[pair + i] : pair + i) * step * size, from + i * size, size);
}

void pe_table_scatter(const struct pe_table_call *call, const void *elements, size_t pair,
                      size_t count, void *out)
{
    const size_t *columns = call->table->columns, step = call->table->pair_step;

    if (call->size == sizeof(float))
        places_copy(elements, out, columns, pair, count, step, sizeof(float));
    else if (call->size == sizeof(double))
        places_copy(elements, out, columns, pair, count, step, sizeof(double));
    else
        places_copy(elements, out, columns, pair, count, step, sizeof(uint16_t));
}
