/* SPDX-License-Identifier: MIT */
#ifndef CORE_COMPARISON_MERGE_H
#define CORE_COMPARISON_MERGE_H

#include "posenc/dtype.h"

/* How the rows p of a table join embeddings x. */
enum pe_merge {
    PE_MERGE_ADD,    /* RN(RN(x scale) + p) */
    PE_MERGE_MUL,    /* RN(x RN(p + 1)) */
    PE_MERGE_CONCAT, /* p behind x, both as they are */
};

/* Rows of x_width elements and rows of p_width (which are equal but for PE_MERGE_CONCAT), in f64 or
 * f32; out has the rows of both. Each operation is rounded once, to the dtype. */
void pe_merge_rows(enum pe_merge merge, double scale, enum pe_dtype dtype, size_t rows,
                   const void *x, size_t x_width, const void *p, size_t p_width, void *out);

#endif
