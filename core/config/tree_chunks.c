/* SPDX-License-Identifier: MIT */
#include "core/config/tree_chunks.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Pieces are pointers, whole numbers, doubles and text. */
enum { ALIGNMENT = 8, CHUNK_MIN = 1 << 10, CHUNK_MAX = 1 << 16 };

struct pe_config_chunk {
    struct pe_config_chunk *older;
    size_t size;
    alignas(ALIGNMENT) char bytes[];
};

bool pe_config_charge(struct pe_config_memory *memory, size_t bytes)
{
    if (!pe_work_reserve(memory->work, bytes))
        return false;
    memory->charged += bytes;
    return true;
}

/* Each chunk is as large as all before it, within limits, so that a small config takes little. */
static bool chunk_add(struct pe_config_memory *memory, size_t least)
{
    const size_t usual = memory->charged < CHUNK_MIN   ? CHUNK_MIN
                         : memory->charged > CHUNK_MAX ? CHUNK_MAX
                                                       : memory->charged;
    const size_t size = least > usual ? least : usual;
    struct pe_config_chunk *chunk;

    if (size > SIZE_MAX - sizeof(*chunk) || !pe_config_charge(memory, size + sizeof(*chunk)))
        return false;
    chunk = malloc(sizeof(*chunk) + size);
    if (!chunk)
        return false;
    chunk->older = memory->chunks;
    chunk->size = size;
    memory->chunks = chunk;
    memory->room = size;
    return true;
}

void *pe_config_take(struct pe_config_memory *memory, size_t size)
{
    const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *end;

    if (rounded < size || (memory->room < rounded && !chunk_add(memory, rounded)))
        return NULL;
    end = memory->chunks->bytes + memory->chunks->size;
    memory->room -= rounded;
    return end - memory->room - rounded;
}

char *pe_config_copy(struct pe_config_memory *memory, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = pe_config_take(memory, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

void pe_config_memory_free(struct pe_config_memory *memory)
{
    for (struct pe_config_chunk *chunk = memory->chunks, *older; chunk; chunk = older) {
        older = chunk->older;
        free(chunk);
    }
    pe_work_release(memory->work, memory->charged);
    *memory = (struct pe_config_memory){.work = memory->work};
}
