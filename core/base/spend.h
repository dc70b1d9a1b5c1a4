/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_SPEND_H
#define CORE_BASE_SPEND_H

#include "posenc/work.h"

/* pe_work_spend of nanoseconds that were estimated, any number of them. */
static inline enum pe_status pe_spend(struct pe_work *work, double nanoseconds,
                                      struct pe_error *err)
{
    return pe_work_spend(work, nanoseconds < 0x1p63 ? (uint64_t)nanoseconds : UINT64_MAX, err);
}

#endif
