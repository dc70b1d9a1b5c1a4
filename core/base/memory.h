/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_MEMORY_H
#define CORE_BASE_MEMORY_H

/* Memory that is charged to a piece of work before it is taken. */

#include "posenc/work.h"

/* count * size bytes of zeros, at least one, for free(). NULL where the work has no room for them
 * or the system has none: PE_OUT_OF_MEMORY, "no memory for PURPOSE". The bytes stay charged until
 * pe_work_release, or until the work is freed. */
void *pe_memory_take(struct pe_work *work, size_t count, size_t size, const char *purpose,
                     struct pe_error *err);

/* Frees memory that was taken and gives back its bytes; NULL: nothing. */
void pe_memory_give(struct pe_work *work, void *memory, size_t count, size_t size);

#endif
