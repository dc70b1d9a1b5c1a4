/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_PARAMS_H
#define CORE_BASE_PARAMS_H

/* Shared by params.c, which keeps values, and params_text.c, which reads and tells them as text. */

#include "posenc/parameters.h"

/* A failure at "parameter:NAME". The format takes the name and `text`. */
enum pe_status pe_param_fail(struct pe_error *err, enum pe_status status,
                             const struct pe_param *param, const char *format, const char *text);

/* PE_MISSING, "dim is required: width of a head", by the doc of the parameter. */
enum pe_status pe_param_missing(struct pe_error *err, const struct pe_param *param);

/* PE_UNKNOWN_PARAMETER where there is no such index. */
enum pe_status pe_param_index_check(const struct pe_params *params, size_t index,
                                    struct pe_error *err);

/* Which of its choices a parameter has, from 0. */
int pe_param_choice(const struct pe_params *params, const char *name);

/* The choices of a parameter; "" where it has none. */
const char *pe_param_choices(const struct pe_param *param);

/* pe_params_set_list of `count` whole numbers from `first` on, which are kept as a range where no
 * list is given yet. */
enum pe_status pe_params_set_range(struct pe_params *params, size_t index, double first,
                                   size_t count, struct pe_error *err);

/* Adds a list of `count` elements that is kept as ranges to one that is none yet, or is kept so.
 * rows: as in pe_params_list_extend. The numbers were checked, the segments are copied; their ends
 * count from the first of them. */
enum pe_status pe_params_add_segments(struct pe_params *params, size_t index, size_t rows,
                                      const struct pe_segment *segments, size_t segments_count,
                                      struct pe_error *err);

/* Is `number` one that the parameter may be, or a list of it may hold? */
enum pe_status pe_param_number_check(const struct pe_param *param, double number,
                                     struct pe_error *err);

/* Makes a list `count` elements longer, which the caller sets: where they are; NULL: they may not
 * join it, or memory is short. rows: of a list of lists, which is given once; 0: a flat one. */
double *pe_params_list_extend(struct pe_params *params, size_t index, size_t rows, size_t count,
                              struct pe_error *err);
/* Takes the last `count` elements off again. */
void pe_params_list_cut(struct pe_params *params, size_t index, size_t count);

/* Sets the number of a value; PE_CONFLICT where another one was given. */
enum pe_status pe_param_store(struct pe_params *params, size_t index, double number,
                              struct pe_error *err);

/* Where `err` is a PE_CONFLICT about a scalar that was given at its default, lets it count as left
 * out, for a default may be given everywhere. False: nothing was changed, and the failure stands.
 */
bool pe_params_forgive(struct pe_params *params, const struct pe_error *err);

#endif
