/* SPDX-License-Identifier: MIT */
#include "core/base/memory.h"

#include <stdlib.h>

#include "core/base/fail.h"

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
