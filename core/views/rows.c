/* SPDX-License-Identifier: MIT */
#include "core/views/rows.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/isa.h"
#include "core/base/least.h"
#include "core/base/once.h"
#include "core/base/spend.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"

enum { WIDEN_COST = 6 }; /* nanoseconds of an element that is made shorter first, about */

enum { LANES = 8, TILE_ELEMENTS = 1 << 14 };

struct pe_rows {
    const struct pe_scheme *scheme;
    const struct pe_positions *positions;
    enum pe_dtype dtype;
    size_t width, tile_rows, tiles_count;
    struct pe_once *tiles;
    struct pe_once room; /* for the values */
    double *values;
};

size_t pe_rows_width(const struct pe_scheme *scheme)
{
    return scheme->encoding->rotary ? 2 * pe_waves_of(scheme)->pairs
                                    : scheme->encoding->rows->width(scheme);
}

double pe_row_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const double one = scheme->encoding->rotary ? pe_rotary_cost(scheme, positions, dtype, true)
                                                : pe_rows_cost(scheme, positions, dtype);

    return (double)pe_rows_width(scheme) * (dtype == PE_F64 ? one : one + WIDEN_COST);
}

enum pe_status pe_rows_new(struct pe_rows **out, const struct pe_scheme *scheme,
                           const struct pe_positions *positions, enum pe_dtype dtype,
                           struct pe_error *err)
{
    const size_t width = pe_rows_width(scheme);
    const size_t tile_rows = width < TILE_ELEMENTS ? TILE_ELEMENTS / (width + 1) + 1 : 1;
    size_t size;

    *out = NULL;
    if (!pe_size_multiply(positions->count, width, &size) ||
        !pe_size_multiply(size, 2 * sizeof(double) + sizeof(struct pe_once), &size))
        return pe_fail(err, PE_TOO_LARGE, "parameter:length",
                       "an analysis keeps the rows that it compares: %zu rows of %zu columns are "
                       "more than can be addressed; ask for fewer positions",
                       positions->count, width);
    struct pe_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return pe_no_memory(err, "the rows of an analysis");
    *rows = (struct pe_rows){.scheme = scheme,
                             .positions = positions,
                             .dtype = dtype,
                             .width = width,
                             .tile_rows = tile_rows};
    if (!pe_once_init(&rows->room)) {
        free(rows);
        return pe_no_memory(err, "the rows of an analysis");
    }
    *out = rows;
    return PE_OK;
}

static size_t values_size(const struct pe_rows *rows)
{
    return rows->positions->count * rows->width * sizeof(double);
}

static size_t tiles_wanted(const struct pe_rows *rows)
{
    return rows->positions->count / rows->tile_rows + 1;
}

size_t pe_rows_size(const struct pe_rows *rows)
{
    return rows ? values_size(rows) + tiles_wanted(rows) * sizeof(*rows->tiles) : 0;
}

void pe_rows_free(struct pe_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; i < rows->tiles_count; i++)
        pe_once_destroy(&rows->tiles[i]);
    pe_once_destroy(&rows->room);
    free(rows->values);
    free(rows->tiles);
    free(rows);
}

/* ---- making them ---------------------------------------------------------------------------- */

static enum pe_status rows_write(const struct pe_rows *rows, size_t begin, size_t end, void *out,
                                 struct pe_work *work, struct pe_error *err)
{
    const struct pe_scheme *scheme = rows->scheme;
    const size_t size = pe_dtype_info(rows->dtype)->size, pairs = rows->width / 2;
    const struct pe_table table = {.cos = out,
                                   .sin = (char *)out + pairs * size,
                                   .cos_count = pairs,
                                   .sin_count = pairs,
                                   .pair_step = 1,
                                   .row_size = rows->width * size};
    const struct pe_rows_part part = {rows->positions, begin, end, rows->dtype};

    if (scheme->encoding->rotary)
        return pe_table_fill(&table, pe_waves_of(scheme)->frequencies, rows->positions, begin, end,
                             PE_AMPLITUDE_FACTOR, rows->dtype, work, err);
    return scheme->encoding->rows->fill(scheme, &part, out, work, err);
}

struct making {
    struct pe_rows *rows;
    size_t tile;
};

static enum pe_status tile_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    const struct pe_rows *rows = ((const struct making *)thing)->rows;
    const size_t begin = ((const struct making *)thing)->tile * rows->tile_rows;
    const size_t count = pe_least(rows->positions->count - begin, rows->tile_rows);
    double *out = rows->values + begin * rows->width;
    const double one = pe_row_cost(rows->scheme, rows->positions, rows->dtype);
    const size_t elements = count * rows->width, size = pe_dtype_info(rows->dtype)->size;

    if (pe_spend(work, (double)count * one, err))
        return err->status;
    if (rows->dtype == PE_F64)
        return rows_write(rows, begin, begin + count, out, work, err);
    /* Shorter numbers are made in the last part of the doubles' room, and widened from the first
     * one on: none is written over before it is read. */
    char *narrow = (char *)(out + elements) - elements * size;
    if (rows_write(rows, begin, begin + count, narrow, work, err))
        return err->status;
    for (size_t i = 0; i < elements; i++) {
        double value;
        pe_to_f64(&value, narrow + i * size, rows->dtype, 1);
        out[i] = value;
    }
    return PE_OK;
}

static enum pe_status room_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    struct pe_rows *rows = thing;

    (void)work;
    if (!rows->values)
        rows->values = calloc(1, values_size(rows) + 1); /* calloc(1, 0) may return NULL */
    if (!rows->tiles)
        rows->tiles = calloc(tiles_wanted(rows), sizeof(*rows->tiles));
    while (rows->values && rows->tiles && rows->tiles_count < tiles_wanted(rows) &&
           pe_once_init(&rows->tiles[rows->tiles_count]))
        rows->tiles_count++;
    return rows->tiles_count == tiles_wanted(rows) ? PE_OK
                                                   : pe_no_memory(err, "the rows of an analysis");
}

const double *pe_rows_get(struct pe_rows *rows, size_t index, struct pe_work *work,
                          struct pe_error *err)
{
    struct making making = {rows, index / rows->tile_rows};

    if (pe_once(&rows->room, room_make, rows, work, err) ||
        pe_once(&rows->tiles[making.tile], tile_make, &making, work, err))
        return NULL;
    return rows->values + index * rows->width;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static double lanes_sum(const double lanes[LANES])
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

double pe_row_product(const double *a, const double *b, size_t count)
{
    double product;

    pe_isa()->kernels->product_f64(&product, a, b, count);
    return product;
}

double pe_row_similarity(const double *a, const double *b, size_t count, bool normalize)
{
    const double product = pe_row_product(a, b, count);
    double norms;

    if (!normalize)
        return product;
    /* The root of a square is exact: a row is as like itself as 1. */
    norms = sqrt(pe_row_product(a, a, count) * pe_row_product(b, b, count));
    return norms > 0 ? product / norms : 0;
}

double pe_row_distance_squared(const double *a, const double *b, size_t count)
{
    double lanes[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            const double apart = a[i + lane] - b[i + lane];
            lanes[lane] += apart * apart;
        }
    for (; i < count; i++)
        lanes[i % LANES] += (a[i] - b[i]) * (a[i] - b[i]);
    return lanes_sum(lanes);
}
