/* SPDX-License-Identifier: MIT */
#ifndef CORE_ISA_ISA_H
#define CORE_ISA_ISA_H

#include <stdbool.h>

#include "core/kernels/kernel.h"

struct pe_isa {
    const char *name;
    bool (*usable)(void);
    const struct pe_kernels *kernels;
};

/* Best first; the last row is "scalar"; ends with a NULL name. */
extern const struct pe_isa pe_isas[];

/* The best usable ISA not above the one that the environment's POSENC_ISA names, chosen at the
 * first call. A name that this build does not know limits nothing. */
const struct pe_isa *pe_isa(void);

#endif
