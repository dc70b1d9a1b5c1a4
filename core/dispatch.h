/* SPDX-License-Identifier: MIT */
#ifndef CORE_DISPATCH_H
#define CORE_DISPATCH_H

#include <stdbool.h>

#include "core/kernels/kernel.h"

struct pe_isa {
    const char *name;
    bool (*usable)(void);
    const struct pe_kernels *kernels;
};

/* Best first; the last row is "scalar"; ends with a NULL name. */
extern const struct pe_isa pe_isas[];

/* The best usable ISA not above the one POSENC_ISA names, chosen once. */
const struct pe_isa *pe_isa(void);

#endif
