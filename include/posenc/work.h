/* SPDX-License-Identifier: MIT */
#ifndef POSENC_WORK_H
#define POSENC_WORK_H

#include "posenc/status.h"

/* A piece of work: its limits, its cost so far, and whether it should go on. One goes with a
 * request through every call that allocates, loops or submits jobs for it; NULL in its place means
 * that nothing is limited, counted or cancelled.
 *
 * Any thread may use one at the same time as others. It must outlive the calls that were given it,
 * and every view, attention and diagnosis that was made with it. A scheme or a rotation may
 * outlive its work: its bytes stay charged, and are given back when the work is freed. */
struct pe_work;

/* Limits of a piece of work. Zeroes: none. */
struct pe_work_limits {
    size_t size; /* sizeof(struct pe_work_limits), for later versions to tell what is there */

    /* Asks the owner for memory before it is taken, and gives it back. false: there is no room, and
     * the call ends with PE_OUT_OF_MEMORY. Both or neither; any thread. */
    bool (*reserve)(void *context, size_t bytes);
    void (*release)(void *context, size_t bytes);
    void *context;

    uint64_t memory_max;     /* bytes; 0: no limit. PE_OUT_OF_MEMORY */
    uint64_t operations_max; /* a nanosecond of one core each; 0: no limit. PE_TOO_LARGE */
    uint64_t deadline;       /* of CLOCK_MONOTONIC, in ns; 0: none. PE_CANCELLED */
};

PE_DECLARATIONS_BEGIN

/* limits NULL: none. PE_INVALID where `size` is not set, a limit is unknown to this version, or
 * only one of reserve and release is there. */
PE_API enum pe_status pe_work_new(struct pe_work **work, const struct pe_work_limits *limits,
                                  struct pe_error *err);
/* Gives back whatever is still reserved. NULL is fine. */
PE_API void pe_work_free(struct pe_work *work);

/* Every call that was given the work ends soon, with PE_CANCELLED. NULL is fine, here and below. */
PE_API void pe_work_cancel(struct pe_work *work);
/* Sets the deadline anew; 0: none. */
PE_API void pe_work_deadline(struct pe_work *work, uint64_t deadline);

/* Was it cancelled, or is its deadline over? false for NULL. */
PE_API bool pe_work_ended(const struct pe_work *work);
/* PE_OK, or why it ended, recorded in err. */
PE_API enum pe_status pe_work_check(const struct pe_work *work, struct pe_error *err);

/* Counts bytes as taken; false: there is no room for them. work NULL: true. */
PE_API bool pe_work_reserve(struct pe_work *work, size_t bytes);
PE_API void pe_work_release(struct pe_work *work, size_t bytes);

/* Counts operations before they are done, a nanosecond of one core each; PE_TOO_LARGE beyond the
 * limit, uncounted then; PE_CANCELLED where the work has ended. The library does so itself: before
 * it prepares a scheme, fills rows, attends, rotates and so on. */
PE_API enum pe_status pe_work_spend(struct pe_work *work, uint64_t operations,
                                    struct pe_error *err);

/* Bytes reserved now, and operations counted so far. */
PE_API uint64_t pe_work_memory(const struct pe_work *work);
PE_API uint64_t pe_work_operations(const struct pe_work *work);

PE_DECLARATIONS_END

#endif
