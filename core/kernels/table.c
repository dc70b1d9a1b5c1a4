/* SPDX-License-Identifier: MIT */
#include "core/kernels/kernel.h"

extern const struct pe_kernels PE_KERNEL(table);

const struct pe_kernels PE_KERNEL(table) = {
#define KERNEL(name, args) .name = PE_KERNEL(name),
#include "core/isa/kernels.def"
#undef KERNEL
};
