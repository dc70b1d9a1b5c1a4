/* SPDX-License-Identifier: MIT */
#ifndef CORE_ROTATION_SPEC_H
#define CORE_ROTATION_SPEC_H

#include "posenc/rotation.h"
#include "posenc/work.h"

/* Does a spec hold together, for tensors of a dtype? Errors are those of pe_rotation_new. */
enum pe_status pe_rotation_spec_check(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                      struct pe_error *err);

/* Rotates, as pe_rotate does, tokens [begin, begin + count) of one head and of a rotation whose
 * batch rows are all alike: `rows` has those alone. PE_CANCELLED. */
enum pe_status pe_rotate_rows(const struct pe_rotation *rotation, void *rows, size_t head_dim,
                              size_t begin, size_t count, struct pe_work *work,
                              struct pe_error *err);

#endif
