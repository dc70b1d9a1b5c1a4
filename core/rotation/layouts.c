/* SPDX-License-Identifier: MIT */
#include "posenc/layouts.h"

#include <math.h>
#include <string.h>

#include "core/base/errors.h"

/* ---- axes of a tensor of tokens -------------------------------------------------------------- */

#define AXES_NAMES "bhsd, bshd, thd, shd, hsd, bsd, sd"

/* Heads within the last axis, of which head_dim elements are one. */
static enum pe_status split_heads(struct pe_axes *out, const char *axes, size_t width,
                                  size_t head_dim, struct pe_error *err)
{
    if (head_dim == 0)
        return pe_fail(err, PE_MISSING, "parameter:dim",
                       "dim (the width of one head) is required with axes=%s, whose d is "
                       "heads * dim = %zu",
                       axes, width);
    if (width % head_dim != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:dim",
                       "axis d is %zu, which is no multiple of dim=%zu (the width of one head)",
                       width, head_dim);
    out->head_dim = head_dim;
    out->heads_inner = width / head_dim;
    return PE_OK;
}

static bool is_known(const char *axes)
{
    static const char *const known[] = {"bhsd", "bshd", "thd", "shd", "hsd", "bsd", "sd"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i], axes) == 0)
            return true;
    return false;
}

enum pe_status pe_axes_parse(struct pe_axes *out, const char *axes, const struct pe_tensor *tensor,
                             size_t head_dim, struct pe_error *err)
{
    size_t elements;

    *out = (struct pe_axes){1, 1, 1, 1, 0};
    if (tensor->rank < 2 || tensor->rank > 4)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:axes",
                       "a tensor of tokens has rank 2, 3 or 4, one of " AXES_NAMES "; got rank %u",
                       tensor->rank);
    if (!axes && tensor->rank == 2)
        axes = "sd";
    if (!axes)
        return pe_fail(err, PE_MISSING, "parameter:axes",
                       "axes is required for rank %u; one of " AXES_NAMES, tensor->rank);
    if (!is_known(axes))
        return pe_fail(err, PE_INVALID, "parameter:axes",
                       "axes must be one of " AXES_NAMES ", got \"%.32s\"", axes);
    if (strlen(axes) != tensor->rank)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:axes",
                       "axes=%s names %zu axes, the tensor has %u", axes, strlen(axes),
                       tensor->rank);
    if (!pe_shape_elements(tensor->shape, tensor->rank, &elements))
        return pe_fail(err, PE_TOO_LARGE, "", "the tensor's size does not fit in 63 bits");

    const size_t width = tensor->shape[tensor->rank - 1];
    for (unsigned i = 0; i + 1 < tensor->rank; i++) {
        const size_t count = tensor->shape[i];
        if (axes[i] == 'b')
            out->batch = count;
        else if (axes[i] != 'h')
            out->sequence = count; /* s or t */
        else if (axes[i + 1] == 's')
            out->heads_outer = count;
        else
            out->heads_inner = count;
    }
    if (!strchr(axes, 'h'))
        return split_heads(out, axes, width, head_dim, err);
    if (head_dim != 0 && head_dim != width)
        return pe_fail(err, PE_CONFLICT, "parameter:dim",
                       "dim=%zu, but axis d of the tensor is %zu; leave dim out or correct it",
                       head_dim, width);
    out->head_dim = width;
    return PE_OK;
}

/* ---- pairs of rows --------------------------------------------------------------------------- */

enum { SCRATCH_SIZE = 4096 };

static void copy_strided(char *out, size_t out_step, const char *in, size_t in_step, size_t count,
                         size_t size)
{
    /* Copies of constant size become single moves. */
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
    char a_copy[sizeof(double)];

    memcpy(a_copy, a, size);
    memcpy(a, b, size);
    memcpy(b, a_copy, size);
}

static void reverse(char *data, size_t count, size_t size)
{
    for (size_t i = 0; i < count / 2; i++)
        swap_elements(data + i * size, data + (count - 1 - i) * size, size);
}

/* Exchanges two neighbouring runs of `left` and `right` elements. */
static void exchange(char *data, size_t left, size_t right, size_t size)
{
    reverse(data, left, size);
    reverse(data + left * size, right, size);
    reverse(data, left + right, size);
}

/* Permutes 2 * pairs elements. A row longer than the scratch is two rows, whose middle parts are
 * exchanged before or after. */
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

/* ---- heads along an axis of a tensor --------------------------------------------------------- */

static bool is_by_rows(const struct pe_layout_change *change, const struct pe_tensor *tensor)
{
    return change->first_axis && tensor->rank > 1;
}

static enum pe_status change_read(struct pe_layout_change *ours,
                                  const struct pe_layout_change *theirs, struct pe_error *err)
{
    if (pe_struct_read(ours, sizeof(*ours), theirs, err))
        return err->status;
    if ((unsigned)ours->from > PE_LAYOUT_INTERLEAVED || (unsigned)ours->to > PE_LAYOUT_INTERLEAVED)
        return pe_fail(err, PE_INVALID, "parameter:layout", "a layout is half or interleaved");
    if (ours->head_dim == 0 || ours->width % 2 != 0 || ours->width > ours->head_dim)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:width",
                       "the width must be even and at most %zu, got %zu", ours->head_dim,
                       ours->width);
    return PE_OK;
}

/* Row `row` of the first axis and of those between it and the last: the heads' rows move, those
 * between stay in order. */
static size_t source_row(const struct pe_layout_change *change, size_t row, size_t between)
{
    const size_t outer = row / between, head = outer / change->head_dim;
    const size_t source =
        pe_layout_source(outer % change->head_dim, change->width, change->from, change->to);

    return (head * change->head_dim + source) * between + row % between;
}

enum pe_status pe_layout_fill(const struct pe_layout_change *given, const struct pe_tensor *tensor,
                              size_t row_begin, size_t row_end, void *out, struct pe_error *err)
{
    struct pe_layout_change change;
    size_t elements;

    if (change_read(&change, given, err))
        return err->status;
    const bool by_rows = is_by_rows(&change, tensor);
    if (tensor->rank == 0 || !pe_shape_elements(tensor->shape, tensor->rank, &elements) ||
        !pe_dtype_info(tensor->dtype) ||
        tensor->shape[by_rows ? 0 : tensor->rank - 1] % change.head_dim != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "",
                       "the axis of heads must be a multiple of head_dim %zu", change.head_dim);
    const size_t columns = tensor->shape[tensor->rank - 1];
    const size_t rows = columns > 0 ? elements / columns : 0;
    const size_t row_size = columns * pe_dtype_info(tensor->dtype)->size;
    const char *data = tensor->data;
    if (columns == 0)
        return PE_OK;
    if (row_begin > row_end || row_end > rows)
        return pe_fail(err, PE_OUT_OF_RANGE, "", "the tensor has no rows %zu to %zu", row_begin,
                       row_end);
    if (row_begin == row_end)
        return PE_OK;
    if (!data)
        return pe_fail(err, PE_INVALID, "", "the tensor has no data");
    if (!by_rows) {
        memcpy(out, data + row_begin * row_size, (row_end - row_begin) * row_size);
        return pe_layout_convert(out, tensor->dtype,
                                 (row_end - row_begin) * (columns / change.head_dim),
                                 change.head_dim, change.width, change.from, change.to, err);
    }
    for (size_t row = row_begin; row < row_end; row++)
        memcpy((char *)out + (row - row_begin) * row_size,
               data + source_row(&change, row, rows / tensor->shape[0]) * row_size, row_size);
    return PE_OK;
}

double pe_layout_work(const struct pe_layout_change *change, const struct pe_tensor *tensor)
{
    const struct pe_dtype_info *info = pe_dtype_info(tensor->dtype);

    if (!info || tensor->rank == 0 || change->head_dim == 0)
        return 0;
    const double size = (double)info->size, columns = (double)tensor->shape[tensor->rank - 1];
    if (is_by_rows(change, tensor)) /* the second term is of a row */
        return 0.1 * size + 10 / fmax(columns, 1);
    /* Elements of one byte are moved one by one; the second term is of a head. */
    return (size > 1 ? 0.1 + 0.12 * size : 1.6) + 8 / (double)change->head_dim;
}

enum pe_status pe_layout_permutation(const struct pe_layout_change *given, size_t heads,
                                     int64_t *out, struct pe_error *err)
{
    struct pe_layout_change change;

    if (change_read(&change, given, err))
        return err->status;
    for (size_t head = 0; head < heads; head++)
        for (size_t i = 0; i < change.head_dim; i++)
            *out++ = (int64_t)(head * change.head_dim +
                               pe_layout_source(i, change.width, change.from, change.to));
    return PE_OK;
}
