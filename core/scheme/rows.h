/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_ROWS_H
#define CORE_SCHEME_ROWS_H

#include "core/scheme/encoding.h"

/* Kind rows: a table with a row for each position, most of them to be added to embeddings. */

/* Columns that are sines and cosines of one coordinate, at the frequencies of struct pe_waves. */
struct pe_sines {
    /* The pair that a column turns with, its sine or cosine. NULL: all columns are sines, each of
     * a frequency of its own. */
    size_t (*column_pair)(const struct pe_scheme *scheme, size_t column);

    /* Does every column belong to a whole pair of sine and cosine? Products and distances of rows
     * then depend on how far their positions are apart alone. NULL: they never do. */
    bool (*turns)(const struct pe_scheme *scheme);

    /* Frequencies that its formula tells at a glance have no view of their own. */
    bool plain;
};

/* Rows asked for: [begin, end) of those at the positions. */
struct pe_rows_part {
    const struct pe_positions *positions;
    size_t begin, end;
    enum pe_dtype dtype; /* a floating one */
};

struct pe_rows_kind {
    /* Elements of a row. Required. */
    size_t (*width)(const struct pe_scheme *scheme);

    /* Writes rows one behind the other into `out`, each element rounded once, to the nearest even
     * of the dtype. The bytes of a row depend on its position alone, not on the cut. PE_CANCELLED
     * within some milliseconds, PE_OUT_OF_MEMORY. Any thread. Required. */
    enum pe_status (*fill)(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err);

    /* Nanoseconds that an element takes, about. NULL: those of sines and cosines. */
    double (*work)(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype);

    /* Can rows stand at these positions? Errors name "parameter:positions", "parameter:start",
     * "parameter:step" or "parameter:length". NULL: at any. */
    enum pe_status (*positions_check)(const struct pe_scheme *scheme,
                                      const struct pe_positions *positions, struct pe_error *err);

    /* NULL: columns are no sines and cosines of one coordinate. */
    const struct pe_sines *sines;

    /* The view `table` of rows that stand at places of their own: the points of a grid, distances.
     * Its `of` is pe_view_table_of, and it makes sure that `fill` is asked for rows that are there.
     * NULL: rows stand at positions that are chosen freely. */
    const struct pe_view_type *table;
};

/* Do rows stand at positions that are chosen freely? */
bool pe_rows_are_free(const struct pe_encoding *encoding);

/* `work` of the kind, or those of sines and cosines. */
double pe_rows_work(const struct pe_scheme *scheme, const struct pe_positions *positions,
                    enum pe_dtype dtype);

/* Writes one row. */
typedef void pe_row_write(const struct pe_scheme *scheme, const struct pe_positions *positions,
                          size_t index, enum pe_dtype dtype, void *out);

/* The `fill` of an encoding that makes its rows one by one, an element in about a microsecond at
 * most. */
enum pe_status pe_rows_each(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                            pe_row_write *write, void *out, struct pe_work *work,
                            struct pe_error *err);

#endif
