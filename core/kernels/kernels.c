/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

/* All kernels of one ISA, for core/base/isa.c. */
extern const struct pe_kernels PE_KERNEL(kernels);

const struct pe_kernels PE_KERNEL(kernels) = {
    .fused_extra = PE_FUSED_EXTRA,
    .slowness = PE_SLOWNESS,
    .has_halves = PE_LANES > 4,
#define KERNEL(name, args) .name = PE_KERNEL(name),
#include "core/kernels/kernels.def"
#undef KERNEL
};
