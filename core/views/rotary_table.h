/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_ROTARY_TABLE_H
#define CORE_VIEWS_ROTARY_TABLE_H

#include "core/views/view.h"

/* Pieces of the view `table` of kind rotary: cos and sin. */

/* Positions that may have several coordinates. */
#define PE_PARAM_COORDINATES(example)                                                              \
    {                                                                                              \
        .name = "positions", .type = PE_RANGES, .nested = true, .min = -0x1p53 + 1,                \
        .max = 0x1p53 - 1, .unit = "positions",                                                    \
        .doc = "The positions themselves: 0,5,7..9,-3..-1; of several coordinates a row "          \
               "each: " example "."                                                                \
    }

/* Which of cos and sin, and how. */
#define PE_PARAMS_PART                                                                             \
    {.name = "part",                                                                               \
     .type = PE_CHOICE,                                                                            \
     .choices = "both,cos,sin,complex",                                                            \
     .fallback = "both",                                                                           \
     .doc = "Which of cos and sin; complex: cos + i sin in one tensor."},                          \
    {                                                                                              \
        .name = "duplicate", .type = PE_BOOLEAN, .fallback = "false",                              \
        .doc = "Each row twice side by side, rotary_dim wide, as Hugging Face keeps it."           \
    }

/* The state of such a view begins with it. */
struct pe_rotary_view {
    enum pe_rotary_part { PE_PART_BOTH, PE_PART_COS, PE_PART_SIN, PE_PART_COMPLEX } part;
    bool duplicate;
    bool of_keys; /* where queries and keys differ */
};

/* `of` */
const struct pe_view_type *pe_view_rotary_table_of(const struct pe_encoding *encoding);

/* Reads PE_PARAMS_PART and adds the outputs, of view->positions.count rows. */
enum pe_status pe_view_rotary_add(struct pe_view *view, const struct pe_params *params,
                                  struct pe_error *err);

/* Writes rows of an output at the positions [begin, end). */
enum pe_status pe_view_rotary_rows(const struct pe_view *view, const struct pe_positions *positions,
                                   size_t output, size_t begin, size_t end, void *out,
                                   struct pe_work *work, struct pe_error *err);

/* `fill`, at view->positions */
enum pe_status pe_view_rotary_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                   size_t row_end, void *out, struct pe_work *work,
                                   struct pe_error *err);

/* `scalar`: the attention factor, and the factor of the scale of the logits. */
bool pe_view_rotary_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

#endif
