/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_ISA_H
#define CORE_BASE_ISA_H

#include <stdbool.h>

#include "core/kernels/kernel.h"

/* An instruction set (a row of isas.def) and the kernels that were compiled for it. */
struct pe_isa {
    const char *name;
    bool (*usable)(void); /* may they run here? */
    const struct pe_kernels *kernels;
};

/* Best first; the last row is "scalar" and always usable; ends with a NULL name. */
extern const struct pe_isa pe_isas[];

/* The best usable ISA not above the one that the environment's POSENC_ISA names, chosen at the
 * first call. A name that this build does not know limits nothing. Any thread. */
const struct pe_isa *pe_isa(void);

#endif
