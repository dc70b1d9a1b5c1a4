/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_SPEND_H
#define CORE_BASE_SPEND_H

#include <stddef.h>

#include "posenc/work.h"

/* pe_work_spend of estimated nanoseconds, which may be too many for 64 bits. */
static inline enum pe_status pe_spend(struct pe_work *work, double nanoseconds,
                                      struct pe_error *err)
{
    return pe_work_spend(work, nanoseconds < 0x1p63 ? (uint64_t)nanoseconds : UINT64_MAX, err);
}

/* Checks the work once a millisecond in a loop over elements of about a nanosecond each. */
struct pe_pace {
    struct pe_work *work;
    size_t elements; /* since the last check */
};

static inline enum pe_status pe_pace(struct pe_pace *pace, size_t elements, struct pe_error *err)
{
    enum { ELEMENTS = 1 << 20 };

    pace->elements += elements;
    if (pace->elements < ELEMENTS)
        return PE_OK;
    pace->elements = 0;
    return pe_work_check(pace->work, err);
}

#endif
