/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_MEMORY_H
#define CORE_BASE_MEMORY_H

/* Memory that is charged to a work before it is allocated. */

#include "posenc/work.h"

/* count * size bytes of zeros, at least one, for free(). NULL where the limits of the work or the
 * system refuse them: PE_OUT_OF_MEMORY, "no memory for PURPOSE". The bytes stay charged until
 * pe_work_release, or until the work is freed. */
void *pe_memory_take(struct pe_work *work, size_t count, size_t size, const char *purpose,
                     struct pe_error *err);

/* Frees such memory and releases its bytes. NULL is fine. */
void pe_memory_give(struct pe_work *work, void *memory, size_t count, size_t size);

#endif
