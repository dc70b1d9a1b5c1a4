/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_KERNEL_H
#define CORE_KERNELS_KERNEL_H

/* An inner loop over primitive arguments: no allocation, failure, libc call or global. Each file in
 * core/kernels/ is compiled once for every ISA with PE_ISA (the suffix) and PE_LANES (floats in a
 * vector; 1 is the scalar build, the oracle of all others). */

#include <stddef.h>
#include <stdint.h>

#include "core/kernels/table.h"

struct pe_kernels {
#define KERNEL(name, args) void(*name) args;
#include "core/isa/kernels.def"
#undef KERNEL
};

#ifdef PE_ISA
#define PE_JOIN_(name, isa) pe_##name##_##isa
#define PE_JOIN(name, isa)  PE_JOIN_(name, isa)
#define PE_KERNEL(name)     PE_JOIN(name, PE_ISA)

#define KERNEL(name, args) void PE_KERNEL(name) args;
#include "core/isa/kernels.def"
#undef KERNEL
#endif

#endif
