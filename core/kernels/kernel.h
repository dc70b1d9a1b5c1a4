/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_KERNEL_H
#define CORE_KERNELS_KERNEL_H

/* A kernel is an inner loop over primitive arguments: no allocation, failure, libc call or global.
 * Each file in core/kernels/ is compiled once for every row of core/base/isas.def, with PE_ISA (the
 * name of the row, a suffix of its kernels) and PE_LANES (floats in a vector; 1 is the scalar
 * build, the oracle of all others). Includes no other folder of core/. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernels/attention.h"
#include "core/kernels/table.h"

/* Kernels find a bf16 in the upper half of a 32-bit lane, and tensors are little-endian. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "posenc is for little-endian machines");

struct pe_kernels {
    double fused_extra; /* nanoseconds of a fused multiply-add of floats beyond a multiplication and
                           an addition: 0 with an instruction for it */
    double slowness;    /* time relative to vectors of 16 floats */
    bool has_halves;    /* are f16 and bf16 converted by vectors, as fast as floats? */
#define KERNEL(name, args) void(*name) args;
#include "core/kernels/kernels.def"
#undef KERNEL
};

#ifdef PE_ISA
#define PE_JOIN_(name, isa) pe_##name##_##isa
#define PE_JOIN(name, isa)  PE_JOIN_(name, isa)
#define PE_KERNEL(name)     PE_JOIN(name, PE_ISA)

#define KERNEL(name, args) void PE_KERNEL(name) args;
#include "core/kernels/kernels.def"
#undef KERNEL
#endif

#endif
