/* SPDX-License-Identifier: MIT */
#ifndef CORE_ROTATION_ROTATION_H
#define CORE_ROTATION_ROTATION_H

#include "posenc/rotation.h"
#include "posenc/work.h"

/* Rotates tokens [begin, begin + count) of one head, as pe_rotate does; `rows` points to the first
 * of them, and all batch rows have the same positions. PE_CANCELLED. */
enum pe_status pe_rotate_rows(const struct pe_rotation *rotation, void *rows, size_t head_dim,
                              size_t begin, size_t count, struct pe_work *work,
                              struct pe_error *err);

#endif
