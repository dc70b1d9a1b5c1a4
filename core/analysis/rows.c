/* SPDX-License-Identifier: MIT */
#include "core/analysis/rows.h"
#include "core/base/fail.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/tables/bulk.h"

enum { LANES = 8, TILE_ELEMENTS = 1 << 14 };

struct tile {
    pthread_mutex_t mutex;
    atomic_bool made;
};

struct pe_rows {
    const struct pe_scheme *scheme;
    const struct pe_positions *positions;
    enum pe_dtype dtype;
    size_t width, tile_rows, tiles_count;
    struct tile *tiles;
    double *values;
};

size_t pe_rows_width(const struct pe_scheme *scheme)
{
    if (scheme->encoding->rotates)
        return 2 * scheme->pairs;
    return scheme->encoding->row_width ? scheme->encoding->row_width(scheme) : 0;
}

enum pe_status pe_rows_new(struct pe_rows **out, const struct pe_scheme *scheme,
                           const struct pe_positions *positions, enum pe_dtype dtype,
                           struct pe_error *err)
{
    struct pe_rows *rows = *out = calloc(1, sizeof(*rows));
    size_t elements, size;

    if (!rows)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the rows of an analysis");
    rows->scheme = scheme;
    rows->positions = positions;
    rows->dtype = dtype;
    rows->width = pe_rows_width(scheme);
    rows->tile_rows = rows->width < TILE_ELEMENTS ? TILE_ELEMENTS / (rows->width + 1) + 1 : 1;
    if (!pe_size_multiply(positions->count, rows->width, &elements) ||
        !pe_size_multiply(elements, sizeof(double), &size) || size > PE_ROWS_SIZE_MAX)
        return pe_fail(err, PE_TOO_LARGE, "parameter:length",
                       "an analysis keeps the rows that it compares, at most 32 MiB: %zu rows of "
                       "%zu columns are more; ask for fewer positions",
                       positions->count, rows->width);
    rows->tiles_count = positions->count / rows->tile_rows + 1;
    rows->values = malloc(size + 1);
    rows->tiles = calloc(rows->tiles_count, sizeof(*rows->tiles));
    if (!rows->values || !rows->tiles)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the rows of an analysis");
    for (size_t i = 0; i < rows->tiles_count; i++)
        pthread_mutex_init(&rows->tiles[i].mutex, NULL);
    return PE_OK;
}

void pe_rows_free(struct pe_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; rows->tiles && i < rows->tiles_count; i++)
        pthread_mutex_destroy(&rows->tiles[i].mutex);
    free(rows->tiles);
    free(rows->values);
    free(rows);
}

size_t pe_rows_size(const struct pe_rows *rows)
{
    return rows ? rows->positions->count * rows->width * sizeof(double) : 0;
}

/* ---- making them ---------------------------------------------------------------------------- */

static void rows_write(const struct pe_rows *rows, size_t begin, size_t end, void *out)
{
    const struct pe_scheme *scheme = rows->scheme;
    const size_t size = pe_dtype_info(rows->dtype)->size;
    const struct pe_table table = {.cos = out,
                                   .sin = (char *)out + scheme->pairs * size,
                                   .cos_count = scheme->pairs,
                                   .sin_count = scheme->pairs,
                                   .pair_step = 1,
                                   .row_size = rows->width * size};

    if (scheme->encoding->rotates)
        pe_table_fill(&table, scheme->frequencies, rows->positions, begin, end, PE_AMPLITUDE_FACTOR,
                      rows->dtype);
    else if (scheme->encoding->rows)
        scheme->encoding->rows(scheme, rows->positions, begin, end, rows->dtype, out);
    else
        for (size_t row = begin; row < end; row++)
            scheme->encoding->row(scheme, rows->positions, row, rows->dtype,
                                  (char *)out + (row - begin) * rows->width * size);
}

static void tile_make(struct pe_rows *rows, size_t tile)
{
    const size_t begin = tile * rows->tile_rows;
    const size_t left = rows->positions->count - begin;
    const size_t count = left < rows->tile_rows ? left : rows->tile_rows;
    double *out = rows->values + begin * rows->width;
    const size_t elements = count * rows->width, size = pe_dtype_info(rows->dtype)->size;

    if (rows->dtype == PE_F64) {
        rows_write(rows, begin, begin + count, out);
        return;
    }
    /* Shorter numbers are made in the last part of the doubles' room, and widened from the first
     * one on: none is written over before it is read. */
    char *narrow = (char *)(out + elements) - elements * size;
    rows_write(rows, begin, begin + count, narrow);
    for (size_t i = 0; i < elements; i++) {
        double value;
        pe_to_f64(&value, narrow + i * size, rows->dtype, 1);
        out[i] = value;
    }
}

const double *pe_rows_get(struct pe_rows *rows, size_t index)
{
    struct tile *tile = &rows->tiles[index / rows->tile_rows];

    if (!atomic_load_explicit(&tile->made, memory_order_acquire)) {
        pthread_mutex_lock(&tile->mutex);
        if (!atomic_load_explicit(&tile->made, memory_order_relaxed))
            tile_make(rows, index / rows->tile_rows);
        atomic_store_explicit(&tile->made, true, memory_order_release);
        pthread_mutex_unlock(&tile->mutex);
    }
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
    double lanes[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += a[i + lane] * b[i + lane];
    for (; i < count; i++)
        lanes[i % LANES] += a[i] * b[i];
    return lanes_sum(lanes);
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
