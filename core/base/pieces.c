/* SPDX-License-Identifier: MIT */
#include "core/base/pieces.h"

#include <stdalign.h>

#include "core/base/fail.h"
#include "core/base/memory.h"

struct pe_piece {
    struct pe_piece *before;
    size_t bytes; /* of all of it */
    alignas(max_align_t) unsigned char data[];
};

void *pe_pieces_take(struct pe_pieces *pieces, size_t count, size_t size, struct pe_error *err)
{
    struct pe_piece *piece;
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(*piece), &bytes)) {
        pe_no_memory(err, pieces->purpose);
        return NULL;
    }
    piece = pe_memory_take(pieces->work, bytes, 1, pieces->purpose, err);
    if (!piece)
        return NULL;
    piece->before = pieces->last;
    piece->bytes = bytes;
    pieces->last = piece;
    return piece->data;
}

void pe_pieces_free(struct pe_pieces *pieces)
{
    while (pieces->last) {
        struct pe_piece *piece = pieces->last;
        pieces->last = piece->before;
        pe_memory_give(pieces->work, piece, piece->bytes, 1);
    }
}
