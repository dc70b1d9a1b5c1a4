/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_ISA_H
#define CORE_BASE_ISA_H

#include <stdbool.h>

#include "core/kernels/kernel.h"

/* An instruction set (a row of isas.def) and the kernels that were compiled for it. */
struct pe_isa {
    const char *name;
    bool (*usable)(void); /* on this processor? */
    const struct pe_kernels *kernels;
};

/* Best first; the last row is "scalar" and always usable; ends with a NULL name. */
extern const struct pe_isa pe_isas[];

/* The best usable ISA, at most the one that the environment variable POSENC_ISA names; an unknown
 * name is ignored. Chosen at the first call. Any thread. */
const struct pe_isa *pe_isa(void);

#endif
