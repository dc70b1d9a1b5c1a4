/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_TABLE_H
#define CORE_VIEWS_TABLE_H

#include "core/views/view.h"

/* Pieces of the view `table` of kind rows, for encodings whose rows stand at places of their own.
 */

/* `of` */
const struct pe_view_type *pe_view_table_of(const struct pe_encoding *encoding);

/* The one output. */
enum pe_status pe_view_table_add(struct pe_view *view, size_t rows, size_t width,
                                 struct pe_error *err);

/* `fill`: rows of the kind at view->positions. */
enum pe_status pe_view_table_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                  size_t row_end, void *out, struct pe_work *work,
                                  struct pe_error *err);

#endif
