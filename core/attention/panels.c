/* SPDX-License-Identifier: MIT */
/* Matrices cut into panels, as products read them. */

#include <stdint.h>
#include <string.h>

#include "core/attention/attention.h"
#include "core/base/fail.h"
#include "core/base/least.h"
#include "core/base/spend.h"

enum { PIECE = 1 << 16 }; /* elements that are looked at in one go */

enum pe_status pe_attention_packed_new(struct pe_attention *attention, struct pe_packed *packed,
                                       size_t heads, size_t depth, size_t columns,
                                       const char *where, struct pe_error *err)
{
    size_t size = PE_PANEL_SIZE;

    packed->depth = depth;
    packed->columns = columns;
    packed->panels = columns / attention->width + (columns % attention->width != 0);
    if (!pe_size_multiply(size, packed->panels, &size) || !pe_size_multiply(size, depth, &size))
        return pe_fail(err, PE_TOO_LARGE, where, "%zu x %zu elements are too many", depth, columns);
    packed->head_size = size;
    if (!pe_size_multiply(size, heads, &size) || size > PTRDIFF_MAX)
        return pe_fail(err, PE_TOO_LARGE, where, "%zu heads of %zu x %zu elements are too many",
                       heads, depth, columns);
    packed->row_stride = attention->width;
    packed->panel_size = depth * PE_PANEL_SIZE;
    packed->first = packed->data = pe_attention_take(attention, size, where, err);
    return err->status;
}

enum pe_status pe_attention_odd_find(const struct pe_attention *attention, struct pe_packed *packed,
                                     const char *rows, struct pe_error *err)
{
    const size_t count = packed->depth * packed->columns;
    struct pe_pace pace = {attention->work, 0};
    bool odd = false;

    for (size_t at = 0; at < count && !odd && !pe_pace(&pace, PIECE, err); at += PIECE)
        attention->kernels.odd(&odd, rows + at * attention->size, pe_least(count - at, PIECE));
    if (odd)
        atomic_store_explicit(&packed->odd, true, memory_order_relaxed);
    return err->status;
}

enum pe_status pe_attention_panels_write(const struct pe_attention *attention,
                                         struct pe_packed *packed, size_t head, const char *rows,
                                         struct pe_error *err)
{
    const size_t size = attention->size, width = attention->width;
    struct pe_pace pace = {attention->work, 0};
    char *to = (char *)packed->data + head * packed->head_size;

    for (size_t column = 0; column < packed->columns; column += width) {
        const size_t used = pe_least(packed->columns - column, width);
        for (size_t k = 0; k < packed->depth; k++, to += PE_PANEL_SIZE) {
            memcpy(to, rows + (k * packed->columns + column) * size, used * size);
            memset(to + used * size, 0, (width - used) * size);
            if (pe_pace(&pace, width, err))
                return err->status;
        }
    }
    return pe_attention_odd_find(attention, packed, rows, err);
}

/* The last panel, which has fewer columns than there is room for. */
#define COLUMNS_TRANSPOSE(REAL)                                                                    \
    for (size_t k = 0; k < depth; k++)                                                             \
        for (size_t i = 0; i < columns; i++)                                                       \
    ((REAL *)to)[k * attention->width + i] = ((const REAL *)from)[i * depth + k]

static void columns_transpose(const struct pe_attention *attention, char *to, const char *from,
                              size_t columns, size_t depth)
{
    memset(to, 0, depth * PE_PANEL_SIZE);
    if (attention->type == PE_F64)
        COLUMNS_TRANSPOSE(double);
    else
        COLUMNS_TRANSPOSE(float);
}

/* rows[columns][depth] */
enum pe_status pe_attention_panels_transpose(const struct pe_attention *attention,
                                             struct pe_packed *packed, size_t head,
                                             const char *rows, struct pe_error *err)
{
    const size_t width = attention->width, depth = packed->depth;
    struct pe_pace pace = {attention->work, 0};
    char *to = (char *)packed->data + head * packed->head_size;

    for (size_t column = 0; column < packed->columns; column += width) {
        const size_t used = pe_least(packed->columns - column, width);
        const char *from = rows + column * depth * attention->size;
        if (pe_pace(&pace, width * depth, err))
            return err->status;
        if (used == width)
            attention->kernels.transpose(to, from, depth, depth);
        else
            columns_transpose(attention, to, from, used, depth);
        to += depth * PE_PANEL_SIZE;
    }
    return PE_OK;
}
