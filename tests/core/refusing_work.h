/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_REFUSING_WORK_H
#define TESTS_CORE_REFUSING_WORK_H

/* A piece of work that refuses one reservation of memory, and counts what is held. */

#include "posenc/work.h"
#include "tests/core/owned.h"

struct refusing {
    long left;   /* reservations before the one that is refused; negative afterwards */
    size_t held; /* bytes */
};

static inline bool refusing_reserve(void *context, size_t bytes)
{
    struct refusing *refusing = context;

    if (refusing->left-- == 0)
        return false;
    refusing->held += bytes;
    return true;
}

static inline void refusing_release(void *context, size_t bytes)
{
    ((struct refusing *)context)->held -= bytes;
}

static inline struct pe_work *refusing_work(struct refusing *refusing, long left)
{
    const struct pe_work_limits limits = SIZED(pe_work_limits, .reserve = refusing_reserve,
                                               .release = refusing_release, .context = refusing);
    struct pe_work *work;

    *refusing = (struct refusing){.left = left};
    ck_assert(!pe_work_new(&work, &limits, &(struct pe_error){0}));
    return work;
}

#endif
