/* SPDX-License-Identifier: MIT */
#ifndef CORE_ROTATION_SPEC_H
#define CORE_ROTATION_SPEC_H

#include "posenc/rotation.h"

/* Does a spec hold together, for tensors of a dtype? Errors are those of pe_rotation_new. */
enum pe_status pe_rotation_spec_check(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                      struct pe_error *err);

#endif
