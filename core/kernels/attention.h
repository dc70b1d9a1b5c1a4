/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_ATTENTION_H
#define CORE_KERNELS_ATTENTION_H

#include <stddef.h>

/* Sizes shared by the attention kernels and their callers. A matrix is divided into panels of
 * PE_PANEL_SIZE bytes of columns. A packed panel is panel[depth][columns], with zeros for missing
 * columns; other panels have the row stride of their matrix. Rows of logits and of softmax are
 * full panels wide. */
enum {
    PE_PANEL_SIZE = 128,        /* bytes: 32 f32 or 16 f64 columns; two vectors of the widest ISA */
    PE_ATTENTION_PARTIALS = 16, /* partial sums of a row, whatever the width of a vector */
    PE_SUM_RUN = 32,            /* terms of a product of f32 that are summed from zero */
    PE_PANELS_AT_ONCE = 2,      /* panels that a product takes side by side */
    PE_LARGE_EXPONENT = 62      /* numbers of at least 2^62 are large */
};

/* Panels at even distances. */
struct pe_panels {
    const void *first;
    size_t row_stride; /* elements from a row of a panel to the next */
    size_t step;       /* elements from panel to panel */
    size_t count;
    size_t next; /* elements from `first` to the panels to prefetch; 0: none */
};

#endif
