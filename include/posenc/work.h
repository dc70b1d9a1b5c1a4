/* SPDX-License-Identifier: MIT */
#ifndef POSENC_WORK_H
#define POSENC_WORK_H

#include "posenc/status.h"

/* The account of one request: its limits, its cost so far, and whether it is cancelled. It is
 * passed to every call that allocates, loops or submits jobs for the request; with NULL nothing is
 * limited, counted or cancelled.
 *
 * Any number of threads may use one at the same time. It must outlive the calls that it is passed
 * to, and every view, attention and diagnosis that was made with it. A scheme or a rotation may
 * outlive its work: its bytes stay charged, and are released when the work is freed. */
struct pe_work;

/* Limits of a piece of work. Zeroes: none. */
struct pe_work_limits {
    size_t size; /* sizeof(struct pe_work_limits), for later versions */

    /* Called before memory is allocated, and after it is freed. reserve returns false: it is
     * refused, and the call ends with PE_OUT_OF_MEMORY. Both or neither; any thread. */
    bool (*reserve)(void *context, size_t bytes);
    void (*release)(void *context, size_t bytes);
    void *context;

    uint64_t memory_max;     /* bytes; 0: no limit. PE_OUT_OF_MEMORY */
    uint64_t operations_max; /* in nanoseconds of one core; 0: no limit. PE_TOO_LARGE */
    uint64_t deadline;       /* of CLOCK_MONOTONIC, in ns; 0: none. PE_CANCELLED */
};

PE_DECLARATIONS_BEGIN

/* limits NULL: none. PE_INVALID where `size` is not set, this version lacks a limit that is set, or
 * only one of reserve and release is set. */
PE_API enum pe_status pe_work_new(struct pe_work **work, const struct pe_work_limits *limits,
                                  struct pe_error *err);
/* Releases all that is still reserved. NULL is fine. */
PE_API void pe_work_free(struct pe_work *work);

/* Every call with this work ends soon, with PE_CANCELLED. NULL is fine, here and below. */
PE_API void pe_work_cancel(struct pe_work *work);
/* Changes the deadline; 0: none. */
PE_API void pe_work_deadline(struct pe_work *work, uint64_t deadline);

/* Was it cancelled, or has its deadline passed? false for NULL. */
PE_API bool pe_work_ended(const struct pe_work *work);
/* PE_OK; PE_CANCELLED if it has ended. */
PE_API enum pe_status pe_work_check(const struct pe_work *work, struct pe_error *err);

/* Counts bytes as reserved; false: a limit refuses them. work NULL: true. */
PE_API bool pe_work_reserve(struct pe_work *work, size_t bytes);
PE_API void pe_work_release(struct pe_work *work, size_t bytes);

/* Counts operations, in nanoseconds of one core, before they are done. PE_TOO_LARGE: they exceed
 * the limit, and are not counted; PE_CANCELLED: the work has ended. The library calls it before it
 * prepares a scheme, fills rows, computes attention, rotates and so on. */
PE_API enum pe_status pe_work_spend(struct pe_work *work, uint64_t operations,
                                    struct pe_error *err);

/* Bytes reserved now, and operations counted so far. */
PE_API uint64_t pe_work_memory(const struct pe_work *work);
PE_API uint64_t pe_work_operations(const struct pe_work *work);

PE_DECLARATIONS_END

#endif
