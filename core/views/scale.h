/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_SCALE_H
#define CORE_VIEWS_SCALE_H

#include "core/views/view.h"

/* The view `table` of a rotary encoding whose cos and sin have a scale that depends on the
 * position; its `of` is pe_view_rotary_table_of. */
extern const struct pe_view_type pe_view_scaled_table;

#endif
