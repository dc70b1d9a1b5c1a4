/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_ATTENTION_H
#define CORE_KERNELS_ATTENTION_H

#include <stddef.h>

/* Sizes that the attention kernels and their callers share. A matrix is cut into panels of
 * PE_PANEL_SIZE bytes of columns. A packed one has panel[depth][columns], zeros where columns are
 * missing; rows of another lie as far apart as the matrix is wide. Rows of logits and of softmax
 * are a whole number of panels wide. */
enum {
    PE_PANEL_SIZE = 128,        /* bytes: 32 f32 or 16 f64 columns; two vectors of the widest ISA */
    PE_ATTENTION_PARTIALS = 16, /* partial sums of a row, whatever the width of a vector */
    PE_SUM_RUN = 32, /* terms of a product of f32 that are summed apart, from the first one on */
    PE_PANELS_AT_ONCE = 2, /* panels that a product takes side by side, where there are more */
    PE_LARGE_EXPONENT = 62 /* a number is large from so many twos on */
};

/* Panels that lie at even distances. */
struct pe_panels {
    const void *first;
    size_t row_stride; /* elements from a row of a panel to the next */
    size_t step;       /* elements from panel to panel */
    size_t count;
    size_t next; /* elements from `first` to what is fetched ahead; 0: nothing is */
};

#endif
