/* SPDX-License-Identifier: MIT */
#include "core/base/work.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/errors.h"
#include "core/base/threads.h"

struct pe_work {
    struct pe_work_limits limits;
    _Atomic uint64_t memory, operations, deadline;
    atomic_bool cancelled, exceeded; /* operations beyond the limit were refused */
};

enum pe_status pe_work_new(struct pe_work **out, const struct pe_work_limits *limits,
                           struct pe_error *err)
{
    /* One a request: unlike calloc, malloc reuses memory that this thread has just freed. */
    struct pe_work *work = malloc(sizeof(*work));

    *out = NULL;
    if (!work)
        return pe_no_memory(err, "a piece of work");
    *work = (struct pe_work){0};
    if (limits && (pe_struct_read(&work->limits, sizeof(work->limits), limits, err) ||
                   (!work->limits.reserve != !work->limits.release &&
                    pe_fail(err, PE_INVALID, "", "reserve and release belong together")))) {
        free(work);
        return err->status;
    }
    atomic_store(&work->deadline, work->limits.deadline);
    *out = work;
    return PE_OK;
}

void pe_work_free(struct pe_work *work)
{
    if (!work)
        return;
    pe_work_release(work, (size_t)pe_work_memory(work));
    free(work);
}

/* ---- ending --------------------------------------------------------------------------------- */

void pe_work_cancel(struct pe_work *work)
{
    if (work)
        atomic_store_explicit(&work->cancelled, true, memory_order_relaxed);
}

void pe_work_deadline(struct pe_work *work, uint64_t deadline)
{
    if (work)
        atomic_store_explicit(&work->deadline, deadline, memory_order_relaxed);
}

static bool is_late(const struct pe_work *work)
{
    const uint64_t deadline = atomic_load_explicit(&work->deadline, memory_order_relaxed);

    return deadline > 0 && pe_clock() >= deadline;
}

bool pe_work_ended(const struct pe_work *work)
{
    return work && (atomic_load_explicit(&work->cancelled, memory_order_relaxed) || is_late(work));
}

enum pe_status pe_work_check(const struct pe_work *work, struct pe_error *err)
{
    return pe_work_ended(work)
               ? pe_fail(err, PE_CANCELLED, "", "the work was cancelled or its time is up")
               : PE_OK;
}

/* ---- memory --------------------------------------------------------------------------------- */

bool pe_work_reserve(struct pe_work *work, size_t bytes)
{
    if (!work)
        return true;
    const uint64_t before = atomic_fetch_add_explicit(&work->memory, bytes, memory_order_relaxed);
    const uint64_t most = work->limits.memory_max > 0 ? work->limits.memory_max : UINT64_MAX;
    const bool is_over = before > most || bytes > most - before;
    if (!is_over && (!work->limits.reserve || work->limits.reserve(work->limits.context, bytes)))
        return true;
    atomic_fetch_sub_explicit(&work->memory, bytes, memory_order_relaxed);
    return false;
}

void pe_work_release(struct pe_work *work, size_t bytes)
{
    if (!work || bytes == 0)
        return;
    atomic_fetch_sub_explicit(&work->memory, bytes, memory_order_relaxed);
    if (work->limits.release)
        work->limits.release(work->limits.context, bytes);
}

uint64_t pe_work_memory(const struct pe_work *work)
{
    return work ? atomic_load_explicit(&work->memory, memory_order_relaxed) : 0;
}

void *pe_memory_take(struct pe_work *work, size_t count, size_t size, const char *purpose,
                     struct pe_error *err)
{
    void *memory = NULL;
    size_t bytes;

    if (!__builtin_mul_overflow(count, size, &bytes) && pe_work_reserve(work, bytes)) {
        memory = calloc(1, bytes > 0 ? bytes : 1);
        if (!memory)
            pe_work_release(work, bytes);
    }
    if (!memory)
        pe_no_memory(err, purpose);
    return memory;
}

void pe_memory_give(struct pe_work *work, void *memory, size_t count, size_t size)
{
    if (!memory)
        return;
    free(memory);
    pe_work_release(work, count * size);
}

struct pe_allocation {
    struct pe_allocation *before;
    size_t bytes; /* with this header */
    alignas(max_align_t) unsigned char data[];
};

void *pe_allocations_take(struct pe_allocations *allocations, size_t count, size_t size,
                          struct pe_error *err)
{
    struct pe_allocation *allocation;
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(*allocation), &bytes)) {
        pe_no_memory(err, allocations->purpose);
        return NULL;
    }
    allocation = pe_memory_take(allocations->work, bytes, 1, allocations->purpose, err);
    if (!allocation)
        return NULL;
    allocation->before = allocations->last;
    allocation->bytes = bytes;
    allocations->last = allocation;
    return allocation->data;
}

void pe_allocations_free(struct pe_allocations *allocations)
{
    while (allocations->last) {
        struct pe_allocation *allocation = allocations->last;
        allocations->last = allocation->before;
        pe_memory_give(allocations->work, allocation, allocation->bytes, 1);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

enum pe_status pe_work_spend(struct pe_work *work, uint64_t operations, struct pe_error *err)
{
    if (!work)
        return PE_OK;
    const uint64_t before =
        atomic_fetch_add_explicit(&work->operations, operations, memory_order_relaxed);
    const uint64_t most =
        work->limits.operations_max > 0 ? work->limits.operations_max : UINT64_MAX;
    if (before > most || operations > most - before) {
        atomic_fetch_sub_explicit(&work->operations, operations, memory_order_relaxed);
        atomic_store_explicit(&work->exceeded, true, memory_order_relaxed);
        return pe_fail(err, PE_TOO_LARGE, "",
                       "the work takes more operations than the %llu it may take",
                       (unsigned long long)most);
    }
    return pe_work_check(work, err);
}

bool pe_work_failed(const struct pe_work *work, const struct pe_error *err)
{
    return err->status == PE_OUT_OF_MEMORY || err->status == PE_CANCELLED ||
           err->status == PE_INTERNAL ||
           (err->status == PE_TOO_LARGE && work &&
            atomic_load_explicit(&work->exceeded, memory_order_relaxed));
}

uint64_t pe_work_operations(const struct pe_work *work)
{
    return work ? atomic_load_explicit(&work->operations, memory_order_relaxed) : 0;
}
