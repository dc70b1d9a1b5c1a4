/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include "core/base/fail.h"
#include "posenc/layouts.h"

enum { SCRATCH_SIZE = 4096 };

static void copy_strided(char *out, size_t out_step, const char *in, size_t in_step, size_t count,
                         size_t size)
{
    /* The copies are of a constant size where it matters, so that they are single moves. */
    if (size == 2)
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * out_step * 2, in + i * in_step * 2, 2);
    else if (size == 4)
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * out_step * 4, in + i * in_step * 4, 4);
    else
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * out_step * size, in + i * in_step * size, size);
}

static void swap_elements(char *a, char *b, size_t size)
{
    char kept[sizeof(double)];

    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

static void reverse(char *data, size_t count, size_t size)
{
    for (size_t i = 0; i < count / 2; i++)
        swap_elements(data + i * size, data + (count - 1 - i) * size, size);
}

/* Swaps the neighbours of `left` and `right` elements. */
static void exchange(char *data, size_t left, size_t right, size_t size)
{
    reverse(data, left, size);
    reverse(data + left * size, right, size);
    reverse(data, left + right, size);
}

/* Permutes 2 * pairs elements. A long row is cut in two, whose middle parts change places before or
 * after, so that no row needs more than the scratch. */
static void permute(char *row, size_t pairs, size_t size, enum pe_layout to)
{
    if (2 * pairs * size > SCRATCH_SIZE) {
        const size_t first = pairs / 2;
        char *const middle = row + first * size, *const second = row + 2 * first * size;

        if (to == PE_LAYOUT_INTERLEAVED)
            exchange(middle, pairs - first, first, size);
        permute(row, first, size, to);
        permute(second, pairs - first, size, to);
        if (to == PE_LAYOUT_HALF)
            exchange(middle, first, pairs - first, size);
        return;
    }

    char scratch[SCRATCH_SIZE];
    memcpy(scratch, row, 2 * pairs * size);
    if (to == PE_LAYOUT_INTERLEAVED) {
        copy_strided(row, 2, scratch, 1, pairs, size);
        copy_strided(row + size, 2, scratch + pairs * size, 1, pairs, size);
    } else {
        copy_strided(row, 1, scratch, 2, pairs, size);
        copy_strided(row + pairs * size, 1, scratch + size, 2, pairs, size);
    }
}

enum pe_status pe_layout_convert(void *data, enum pe_dtype dtype, size_t rows, size_t row_elements,
                                 size_t width, enum pe_layout from, enum pe_layout to,
                                 struct pe_error *err)
{
    const struct pe_dtype_info *info = pe_dtype_info(dtype);

    if (!info || (unsigned)from > PE_LAYOUT_INTERLEAVED || (unsigned)to > PE_LAYOUT_INTERLEAVED)
        return pe_fail(err, PE_INVALID, info ? "parameter:layout" : "parameter:dtype",
                       info ? "a layout is half or interleaved" : "there is no such dtype");
    if (width % 2 != 0 || width > row_elements)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:width",
                       "the width must be even and at most %zu, got %zu", row_elements, width);
    if (from == to || width == 0)
        return PE_OK;
    for (size_t row = 0; row < rows; row++)
        permute((char *)data + row * row_elements * info->size, width / 2, info->size, to);
    return PE_OK;
}

size_t pe_layout_source(size_t index, size_t width, enum pe_layout from, enum pe_layout to)
{
    const size_t pairs = width / 2;

    if (from == to || index >= width)
        return index;
    if (to == PE_LAYOUT_HALF)
        return index < pairs ? 2 * index : 2 * (index - pairs) + 1;
    return index / 2 + index % 2 * pairs;
}
