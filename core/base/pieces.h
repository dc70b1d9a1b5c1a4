/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_PIECES_H
#define CORE_BASE_PIECES_H

#include "posenc/work.h"

/* Memory of several pieces that are freed together, charged to a piece of work. One thread at a
 * time. Begins as zeros, but for `work` and `purpose`. */
struct pe_pieces {
    struct pe_work *work;
    const char *purpose; /* of errors: "no memory for PURPOSE" */
    struct pe_piece *last;
};

/* count * size bytes of zeros. NULL: PE_OUT_OF_MEMORY. */
void *pe_pieces_take(struct pe_pieces *pieces, size_t count, size_t size, struct pe_error *err);
void pe_pieces_free(struct pe_pieces *pieces);

#endif
