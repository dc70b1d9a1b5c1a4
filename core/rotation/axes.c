/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/fail.h"
#include "posenc/layouts.h"

#define AXES_NAMES "bhsd, bshd, thd, shd, hsd, bsd, sd"

/* Counts heads that are part of the last axis, once head_dim is known. */
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
            out->sequence = count; /* s, or t: all tokens of several sequences in a row */
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
