/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_PARTS_HEADS_H
#define CORE_ENCODINGS_PARTS_HEADS_H

#include "core/scheme/bias.h"

/* Biases whose numbers differ from head to head. */

#define PE_PARAM_HEADS                                                                             \
    {                                                                                              \
        .name = "heads", .aliases = "num_heads,n_heads,num_attention_heads,n_head",                \
        .type = PE_INTEGER, .min = 1, .max = 1 << 16, .required = true, .doc = "How many heads.",  \
    }

/* `heads` of an encoding with that parameter. */
size_t pe_heads_count(const struct pe_scheme *scheme);

/* Each of the lists, which end with NULL, must have one number for all heads or one for each, where
 * it is given. */
enum pe_status pe_heads_check(const struct pe_scheme *scheme, const char *const *lists,
                              struct pe_error *err);

/* The number of a head; NAN where the list is absent. */
double pe_head_number(const struct pe_scheme *scheme, const char *list, size_t head);

#endif
