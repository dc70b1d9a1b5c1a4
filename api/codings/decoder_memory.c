/* SPDX-License-Identifier: MIT */
#include "api/codings/decoder_memory.h"

#include <stdalign.h>
#include <stdlib.h>

struct piece {
    size_t size; /* this included */
    alignas(max_align_t) unsigned char bytes[];
};

void *api_decoder_take(struct pe_work *work, size_t count, size_t size)
{
    struct piece *piece;
    size_t whole;

    if (__builtin_mul_overflow(count, size, &whole) ||
        __builtin_add_overflow(whole, sizeof(*piece), &whole) || !pe_work_reserve(work, whole))
        return NULL;
    piece = malloc(whole);
    if (!piece) {
        pe_work_release(work, whole);
        return NULL;
    }
    piece->size = whole;
    return piece->bytes;
}

void api_decoder_give(struct pe_work *work, void *bytes)
{
    struct piece *piece;

    if (!bytes)
        return;
    piece = (struct piece *)((unsigned char *)bytes - offsetof(struct piece, bytes));
    pe_work_release(work, piece->size);
    free(piece);
}
