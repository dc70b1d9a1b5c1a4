/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_TREE_CHUNKS_H
#define CORE_CONFIG_TREE_CHUNKS_H

#include "posenc/work.h"

/* Memory of a config or of a reading: many small pieces that are freed together, cut out of chunks
 * that are charged to a piece of work. One thread at a time. */
struct pe_config_memory {
    struct pe_work *work;
    struct pe_config_chunk *chunks; /* the newest first */
    size_t room;                    /* left in the newest */
    size_t charged;
};

/* `size` bytes at a multiple of 8, not cleared; NULL: no memory. */
void *pe_config_take(struct pe_config_memory *memory, size_t size);
/* A copy of a text; NULL: no memory. */
char *pe_config_copy(struct pe_config_memory *memory, const char *text);
/* Charges bytes that come from elsewhere and are held as long. false: no room. */
bool pe_config_charge(struct pe_config_memory *memory, size_t bytes);
/* Frees every piece, and gives back what was charged. */
void pe_config_memory_free(struct pe_config_memory *memory);

#endif
