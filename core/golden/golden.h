/* SPDX-License-Identifier: MIT */
#ifndef CORE_GOLDEN_GOLDEN_H
#define CORE_GOLDEN_GOLDEN_H

#include "core/base/work.h"
#include "posenc/golden.h"

struct pe_golden {
    struct pe_allocations memory;
    struct pe_golden_spec spec; /* positions point to ours */
    double positions[PE_GOLDEN_POSITIONS_MAX];
    struct pe_output outputs[PE_GOLDEN_ROLES]; /* without a name: there is none */
    unsigned char *data[PE_GOLDEN_ROLES];
};

/* The input that a rotated output is of. */
static inline enum pe_golden_role pe_golden_source(enum pe_golden_role rotated)
{
    return rotated == PE_GOLDEN_Q_ROTATED ? PE_GOLDEN_Q : PE_GOLDEN_K;
}

#endif
