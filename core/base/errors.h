/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_ERRORS_H
#define CORE_BASE_ERRORS_H

#include "posenc/dtype.h"
#include "posenc/status.h"

/* "no memory for ..." */
enum pe_status pe_no_memory(struct pe_error *err, const char *purpose);

/* "f32"; "no dtype" for an invalid number. */
const char *pe_dtype_name(enum pe_dtype dtype);

/* Copies a struct of the user that begins with its size into ours: members that the user's version
 * lacks are zero, and the size is ours. PE_INVALID where the size is not that of a struct, or a
 * member is set that this version lacks. */
enum pe_status pe_struct_read(void *ours, size_t our_size, const void *theirs,
                              struct pe_error *err);

#endif
