/* SPDX-License-Identifier: MIT */
#ifndef POSENC_LAYOUTS_H
#define POSENC_LAYOUTS_H

#include "posenc/dtype.h"
#include "posenc/status.h"

/* Pairs within a head, axes of a tensor of tokens, and merging a table with embeddings. */

/* The elements of pair i: i and i + width / 2 (NeoX, Hugging Face), or 2 i and 2 i + 1 (GPT-J,
 * Meta). HALF is zero: a struct of zeros has the layout of Hugging Face. */
enum pe_layout { PE_LAYOUT_HALF, PE_LAYOUT_INTERLEAVED };

/* A tensor seen as [batch][outer heads][sequence][inner heads][head_dim]: bhsd has its heads
 * outside, bshd inside. This struct is final. */
struct pe_axes {
    size_t batch, heads_outer, sequence, heads_inner, head_dim;
};

/* A change of the pair layout of heads that are consecutive along the last axis of a tensor, or
 * along the first one, as in the weight or bias of a projection. */
struct pe_layout_change {
    size_t size; /* sizeof(struct pe_layout_change), for later versions */
    enum pe_layout from, to;
    size_t head_dim; /* elements of a head */
    size_t width;    /* the first elements of a head, which are pairs */
    bool first_axis;
};

/* How the rows p of a table are merged with embeddings x. RN: rounded to the nearest number of the
 * dtype, ties to even. */
enum pe_merge {
    PE_MERGE_ADD,    /* RN(RN(x scale) + p) */
    PE_MERGE_MUL,    /* RN(x RN(p + 1)) */
    PE_MERGE_CONCAT, /* x, then p, unchanged */
};

PE_DECLARATIONS_BEGIN

/* Describes a tensor by pe_axes. `axes` has a letter for each dimension: b batch, h heads, s
 * sequence, t tokens of consecutive sequences, d the width of a head. bhsd, bshd, thd, shd and hsd;
 * or bsd and sd, whose d is heads * head_dim. NULL: sd, for a tensor of rank 2 only. head_dim 0:
 * unknown, which only axes with h allow.
 *
 * PE_SHAPE_MISMATCH: a rank outside of 2 .. 4, another number of letters, or a d that is no
 * multiple of head_dim. PE_MISSING: no axes, or no head_dim. PE_INVALID: no such axes. PE_CONFLICT:
 * head_dim is not the tensor's d. PE_TOO_LARGE: the tensor's size does not fit in 63 bits. Any
 * thread. */
PE_API enum pe_status pe_axes_parse(struct pe_axes *out, const char *axes,
                                    const struct pe_tensor *tensor, size_t head_dim,
                                    struct pe_error *err);

/* Permutes the first `width` elements of each of `rows` rows of row_elements in place, between pair
 * layouts, bit for bit. width is even and at most row_elements: else PE_SHAPE_MISMATCH. PE_INVALID
 * for a layout or dtype that is none. Any thread for rows of its own. */
PE_API enum pe_status pe_layout_convert(void *data, enum pe_dtype dtype, size_t rows,
                                        size_t row_elements, size_t width, enum pe_layout from,
                                        enum pe_layout to, struct pe_error *err);

/* The element of `from` at `index` of `to`; elements from `width` on stay. */
PE_API size_t pe_layout_source(size_t index, size_t width, enum pe_layout from, enum pe_layout to);

/* Writes rows [row_begin, row_end) of the last axis of a tensor, in the new layout, to `out`, bit
 * for bit. PE_SHAPE_MISMATCH: the width is odd or above head_dim, or the axis is no multiple of
 * head_dim. PE_OUT_OF_RANGE for rows, PE_INVALID for layouts or `size`. Any thread. */
PE_API enum pe_status pe_layout_fill(const struct pe_layout_change *change,
                                     const struct pe_tensor *tensor, size_t row_begin,
                                     size_t row_end, void *out, struct pe_error *err);
/* Estimated nanoseconds of one core for an element of it. */
PE_API double pe_layout_work(const struct pe_layout_change *change, const struct pe_tensor *tensor);

/* Writes the permutation of `heads` heads side by side, heads * head_dim indices: element i of `to`
 * is element out[i] of `from`. Errors as pe_layout_fill. Any thread. */
PE_API enum pe_status pe_layout_permutation(const struct pe_layout_change *change, size_t heads,
                                            int64_t *out, struct pe_error *err);

/* Merges rows of x_width elements with rows of p_width into `out`, in f64 or f32. The widths are
 * equal, and `out` may be x or p, except for PE_MERGE_CONCAT. Each operation is rounded once, to
 * the dtype. PE_INVALID for another dtype or merge, PE_SHAPE_MISMATCH for widths. Any thread. */
PE_API enum pe_status pe_merge_rows(enum pe_merge merge, double scale, enum pe_dtype dtype,
                                    size_t rows, const void *x, size_t x_width, const void *p,
                                    size_t p_width, void *out, struct pe_error *err);

PE_DECLARATIONS_END

#endif
