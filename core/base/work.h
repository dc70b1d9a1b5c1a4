/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_WORK_H
#define CORE_BASE_WORK_H

/* Memory and operations that are charged to a work. */

#include <stddef.h>

#include "posenc/work.h"

/* ---- memory, charged before it is allocated -------------------------------------------------- */

/* count * size bytes of zeros, at least one, for free(). NULL where the limits of the work or the
 * system refuse them: PE_OUT_OF_MEMORY, "no memory for PURPOSE". The bytes stay charged until
 * pe_work_release, or until the work is freed. */
void *pe_memory_take(struct pe_work *work, size_t count, size_t size, const char *purpose,
                     struct pe_error *err);

/* Frees such memory and releases its bytes. NULL is fine. */
void pe_memory_give(struct pe_work *work, void *memory, size_t count, size_t size);

/* Allocations that are freed together. One thread at a time. Begins as zeros, but for `work` and
 * `purpose`. */
struct pe_allocations {
    struct pe_work *work;
    const char *purpose; /* of errors: "no memory for PURPOSE" */
    struct pe_allocation *last;
};

/* count * size bytes of zeros. NULL: PE_OUT_OF_MEMORY. */
void *pe_allocations_take(struct pe_allocations *allocations, size_t count, size_t size,
                          struct pe_error *err);
void pe_allocations_free(struct pe_allocations *allocations);

/* ---- operations ------------------------------------------------------------------------------ */

/* pe_work_spend of estimated nanoseconds, which may be too many for 64 bits. */
static inline enum pe_status pe_spend(struct pe_work *work, double nanoseconds,
                                      struct pe_error *err)
{
    return pe_work_spend(work, nanoseconds < 0x1p63 ? (uint64_t)nanoseconds : UINT64_MAX, err);
}

/* Is the failure one of the work or of the system, and not of the values that were tried? A search
 * that passes over invalid values ends with such a failure. */
bool pe_work_failed(const struct pe_work *work, const struct pe_error *err);

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
