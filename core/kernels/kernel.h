/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_KERNEL_H
#define CORE_KERNELS_KERNEL_H

/* A kernel is an inner loop over primitive arguments: no allocation, failure, libc call or global.
 * Each file in core/kernels/ is compiled once for every row of core/base/isas.def, with PE_ISA (the
 * row's name, which ends the names of its kernels) and PE_LANES (floats in a vector; 1 is the
 * scalar build, the oracle of all others). Nothing here includes any other folder of core/. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernels/attention.h"
#include "core/kernels/table.h"

/* A bf16 is found in the upper half of a 32-bit lane; tensors are little-endian wherever they come
 * from and go to. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "posenc is for little-endian machines");

struct pe_kernels {
    double fused_extra; /* nanoseconds that a * b + c of floats takes beyond a multiplication and an
                           addition: 0 where one instruction does it */
    double slowness; /* how many times as long as in vectors of 16 floats work in vectors takes */
    bool has_halves; /* are f16 and bf16 converted by vectors, as long as floats are? */
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
