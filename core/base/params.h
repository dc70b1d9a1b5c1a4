/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_PARAMS_H
#define CORE_BASE_PARAMS_H

/* Shared by params.c, which stores values, and params_text.c, which parses and prints them; and for
 * the folders above. */

#include "posenc/parameters.h"

/* Fails at "parameter:NAME". The format takes the name and `text`. */
enum pe_status pe_param_fail(struct pe_error *err, enum pe_status status,
                             const struct pe_param *param, const char *format, const char *text);

/* PE_MISSING, "dim is required: width of a head", from the doc of the parameter. */
enum pe_status pe_fail_missing(struct pe_error *err, const struct pe_param *param);

/* PE_UNKNOWN_PARAMETER for an invalid index. */
enum pe_status pe_param_index_check(const struct pe_params *params, size_t index,
                                    struct pe_error *err);

/* The index of the choice of a parameter, from 0. */
int pe_param_choice(const struct pe_params *params, const char *name);

/* The choices of a parameter, or "". */
const char *pe_param_choices(const struct pe_param *param);

/* pe_params_set_list of `count` integers from `first` on, stored as a range unless a list is given
 * already. */
enum pe_status pe_params_set_range(struct pe_params *params, size_t index, double first,
                                   size_t count, struct pe_error *err);

/* Adds a list stored as ranges; the parameter has none yet, or one stored so. rows: as in
 * pe_params_list_extend. The numbers are checked already; the segments are copied, and their ends
 * count from the first added element. */
enum pe_status pe_params_add_segments(struct pe_params *params, size_t index, size_t rows,
                                      const struct pe_segment *segments, size_t segments_count,
                                      struct pe_error *err);

/* Is `number` a valid value of the parameter, or element of its list? */
enum pe_status pe_param_number_check(const struct pe_param *param, double number,
                                     struct pe_error *err);

/* Appends `count` elements to a list, for the caller to set, and returns their address; NULL: they
 * are not allowed, or out of memory. rows: of a list of lists, which may be given once; 0: a flat
 * list. */
double *pe_params_list_extend(struct pe_params *params, size_t index, size_t rows, size_t count,
                              struct pe_error *err);
/* Removes the last `count` elements. */
void pe_params_list_cut(struct pe_params *params, size_t index, size_t count);

/* Sets the number of a value; PE_CONFLICT where a different one was given. */
enum pe_status pe_param_store(struct pe_params *params, size_t index, double number,
                              struct pe_error *err);

/* Resolves a PE_CONFLICT about a scalar that was first given at its default, which counts as left
 * out. False: nothing was changed, and the failure remains. */
bool pe_params_forgive(struct pe_params *params, const struct pe_error *err);

#endif
