/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_FAIL_H
#define CORE_BASE_FAIL_H

#include "posenc/dtype.h"
#include "posenc/status.h"

/* "no memory for ..." */
enum pe_status pe_no_memory(struct pe_error *err, const char *purpose);

/* "f32"; "no dtype" for a number that is none. */
const char *pe_dtype_name(enum pe_dtype dtype);

/* Copies a struct that a user filled and that begins with its size into ours: members that the
 * user's version did not have are zero, and its size is ours. PE_INVALID where the size is 0 or no
 * size of a struct, or where a member that this version does not have is set. */
enum pe_status pe_struct_read(void *ours, size_t our_size, const void *theirs,
                              struct pe_error *err);

#endif
