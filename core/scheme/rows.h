/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_ROWS_H
#define CORE_SCHEME_ROWS_H

#include "core/scheme/scheme.h"

/* Kind rows: a table with a row for each position, in most encodings to be added to embeddings. */

/* Columns that are sines and cosines of one coordinate, at the frequencies of struct pe_waves. */
struct pe_sines {
    /* The pair whose sine or cosine a column is. NULL: every column is a sine, each with a
     * frequency of its own. */
    size_t (*column_pair)(const struct pe_scheme *scheme, size_t column);

    /* True where every column belongs to a complete pair of sine and cosine: products and distances
     * of rows then depend only on the distance of their positions. NULL: false. */
    bool (*complete_pairs)(const struct pe_scheme *scheme);

    /* The frequencies are evident from the formula: the encoding has no view `frequencies`. */
    bool plain;
};

/* Rows [begin, end) of those at the positions. */
struct pe_rows_part {
    const struct pe_positions *positions;
    size_t begin, end;
    enum pe_dtype dtype; /* a floating one */
};

enum { PE_GRID_ROWS_AXES_MAX = 8 };

/* Rows at points of several coordinates: `fill` of the kind writes those of listed points, whose
 * positions are stored axis by axis, and this those of a grid. `sizes` are the numbers of
 * coordinates of its axes: 0, 1, 2, ..., the last axis running fastest. */
struct pe_grid_rows {
    /* The number of axes, which the encoding has as a parameter ndim. Required. */
    size_t (*axes)(const struct pe_scheme *scheme);

    /* Refuses a grid with a point that has no row. NULL: every point has one. */
    enum pe_status (*check)(const struct pe_scheme *scheme, const size_t *sizes,
                            struct pe_error *err);

    /* Estimated nanoseconds of an element. Required. */
    double (*cost)(const struct pe_scheme *scheme, const size_t *sizes, enum pe_dtype dtype);

    /* Writes rows [begin, end) as `fill` of the kind does. Required. */
    enum pe_status (*fill)(const struct pe_scheme *scheme, const size_t *sizes, size_t begin,
                           size_t end, enum pe_dtype dtype, void *out, struct pe_work *work,
                           struct pe_error *err);
};

struct pe_rows_kind {
    /* Elements of a row. Required. */
    size_t (*width)(const struct pe_scheme *scheme);

    /* Writes rows contiguously into `out`, each element rounded once, to the nearest even of the
     * dtype. The bytes of a row depend on its position alone, not on the range. Returns
     * PE_CANCELLED within some milliseconds, or PE_OUT_OF_MEMORY. Any thread. Required. */
    enum pe_status (*fill)(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err);

    /* Estimated nanoseconds of an element. NULL: those of sines and cosines. */
    double (*cost)(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype);

    /* Refuses positions without a row. Errors name "parameter:positions", "parameter:start",
     * "parameter:step" or "parameter:length", those of points "parameter:coordinates". NULL: every
     * position has a row. */
    enum pe_status (*positions_check)(const struct pe_scheme *scheme,
                                      const struct pe_positions *positions, struct pe_error *err);

    /* NULL: columns are not sines and cosines of one coordinate. */
    const struct pe_sines *sines;

    /* NULL: a position is one number. Otherwise `table` is a PE_VIEW_POINTS_TABLE. */
    const struct pe_grid_rows *grid;

    /* The view `table` of rows with positions of their own: points of a grid, distances. Its `of`
     * is pe_view_table_of, and it calls `fill` only for rows that exist. NULL: the caller chooses
     * the positions. */
    const struct pe_view_type *table;
};

/* True where the caller chooses the positions of rows. */
bool pe_rows_are_free(const struct pe_encoding *encoding);

/* `cost` of the kind, or that of sines and cosines. */
double pe_rows_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                    enum pe_dtype dtype);

/* Checks positions of rows that exist only at integer positions: each one that is listed; of evenly
 * spaced ones the first, the step and the last. `check` refuses one position, and `says` continues
 * the sentence about a fractional step: "has integer positions only". */
typedef enum pe_status pe_position_check(const struct pe_scheme *scheme, double position,
                                         const char *where, struct pe_error *err);
enum pe_status pe_rows_whole_positions_check(const struct pe_scheme *scheme,
                                             const struct pe_positions *positions,
                                             pe_position_check *check, const char *says,
                                             struct pe_error *err);

/* Writes one row. */
typedef void pe_row_write(const struct pe_scheme *scheme, const struct pe_positions *positions,
                          size_t index, enum pe_dtype dtype, void *out);

/* The `fill` of an encoding that computes its rows one by one, an element in about a microsecond at
 * most. */
enum pe_status pe_rows_each(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                            pe_row_write *write, void *out, struct pe_work *work,
                            struct pe_error *err);

#endif
