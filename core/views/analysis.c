/* SPDX-License-Identifier: MIT */
#include "core/views/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/isa.h"
#include "core/base/once.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"

bool pe_analysis_has_rows(const struct pe_encoding *encoding)
{
    return (pe_rows_are_free(encoding) && !encoding->learned) || pe_rotary_is_plain(encoding);
}

bool pe_analysis_has_sines(const struct pe_encoding *encoding)
{
    return (encoding->rows && encoding->rows->sines) || pe_rotary_is_plain(encoding);
}

bool pe_analysis_has_pairs(const struct pe_encoding *encoding)
{
    return encoding->rotary || encoding->rows->sines->column_pair;
}

bool pe_analysis_complete_pairs(const struct pe_scheme *scheme)
{
    const struct pe_rows_kind *rows = scheme->encoding->rows;

    if (scheme->encoding->rotary)
        return pe_rotary_is_plain(scheme->encoding);
    return rows->sines && rows->sines->complete_pairs && rows->sines->complete_pairs(scheme);
}

enum pe_status pe_analysis_positions(struct pe_view *view, const struct pe_params *params,
                                     struct pe_error *err)
{
    const struct pe_rows_kind *rows = view->scheme->encoding->rows;

    if (pe_view_positions_read(view, params, err))
        return err->status;
    return rows && rows->positions_check
               ? rows->positions_check(view->scheme, &view->positions, err)
               : PE_OK;
}

enum pe_status pe_analysis_positions_check(const struct pe_scheme *scheme,
                                           const struct pe_positions *positions, const char *where,
                                           struct pe_error *err)
{
    const struct pe_rows_kind *rows = scheme->encoding->rows;
    struct pe_error cause = {0};

    if (!rows || !rows->positions_check || !rows->positions_check(scheme, positions, &cause))
        return PE_OK;
    return pe_fail(err, cause.status, where, "%s", cause.detail);
}

/* ---- rows in doubles ------------------------------------------------------------------------- */

enum {
    WIDEN_COST =
        6, /* estimated nanoseconds of an element that is rounded to a shorter type first */
    LANES = 8,
    TILE_ELEMENTS = 1 << 14,
};

struct pe_row_cache {
    const struct pe_scheme *scheme;
    const struct pe_positions *positions;
    enum pe_dtype dtype;
    size_t width, tile_rows, tiles_count;
    struct pe_once *tiles;
    struct pe_once allocation; /* of the values and the tiles */
    double *values;
};

size_t pe_row_width(const struct pe_scheme *scheme)
{
    return scheme->encoding->rotary ? 2 * pe_waves_of(scheme)->pairs
                                    : scheme->encoding->rows->width(scheme);
}

enum pe_status pe_row_cache_new(struct pe_row_cache **out, const struct pe_scheme *scheme,
                                const struct pe_positions *positions, enum pe_dtype dtype,
                                struct pe_error *err)
{
    const size_t width = pe_row_width(scheme);
    const size_t tile_rows = width < TILE_ELEMENTS ? TILE_ELEMENTS / (width + 1) + 1 : 1;
    size_t size;

    *out = NULL;
    if (!pe_size_multiply(positions->count, width, &size) ||
        !pe_size_multiply(size, 2 * sizeof(double) + sizeof(struct pe_once), &size))
        return pe_fail(err, PE_TOO_LARGE, "parameter:length",
                       "an analysis keeps the rows that it compares: %zu rows of %zu columns are "
                       "more than can be addressed; ask for fewer positions",
                       positions->count, width);
    struct pe_row_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return pe_no_memory(err, "the rows of an analysis");
    *cache = (struct pe_row_cache){.scheme = scheme,
                                   .positions = positions,
                                   .dtype = dtype,
                                   .width = width,
                                   .tile_rows = tile_rows};
    if (!pe_once_init(&cache->allocation)) {
        free(cache);
        return pe_no_memory(err, "the rows of an analysis");
    }
    *out = cache;
    return PE_OK;
}

static size_t values_size(const struct pe_row_cache *cache)
{
    return cache->positions->count * cache->width * sizeof(double);
}

static size_t tiles_needed(const struct pe_row_cache *cache)
{
    return cache->positions->count / cache->tile_rows + 1;
}

size_t pe_row_cache_size(const struct pe_row_cache *cache)
{
    return cache ? values_size(cache) + tiles_needed(cache) * sizeof(*cache->tiles) : 0;
}

void pe_row_cache_free(struct pe_row_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->tiles_count; i++)
        pe_once_destroy(&cache->tiles[i]);
    pe_once_destroy(&cache->allocation);
    free(cache->values);
    free(cache->tiles);
    free(cache);
}

static enum pe_status range_write(const struct pe_row_cache *cache, size_t begin, size_t end,
                                  void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_scheme *scheme = cache->scheme;
    const size_t size = pe_dtype_info(cache->dtype)->size, pairs = cache->width / 2;
    const struct pe_table table = {.cos = out,
                                   .sin = (char *)out + pairs * size,
                                   .cos_count = pairs,
                                   .sin_count = pairs,
                                   .pair_step = 1,
                                   .row_size = cache->width * size};
    const struct pe_rows_part part = {cache->positions, begin, end, cache->dtype};

    if (scheme->encoding->rotary)
        return pe_table_fill(&table, pe_waves_of(scheme)->frequencies, cache->positions, begin, end,
                             PE_AMPLITUDE_FACTOR, cache->dtype, work, err);
    return scheme->encoding->rows->fill(scheme, &part, out, work, err);
}

struct tile {
    struct pe_row_cache *cache;
    size_t index;
};

static enum pe_status tile_make(void *thing, struct pe_work *work, struct pe_error *err)
{
    const struct pe_row_cache *cache = ((const struct tile *)thing)->cache;
    const size_t begin = ((const struct tile *)thing)->index * cache->tile_rows;
    const size_t count = pe_min(cache->positions->count - begin, cache->tile_rows);
    double *out = cache->values + begin * cache->width;
    const double one = pe_row_cost(cache->scheme, cache->positions, cache->dtype);
    const size_t elements = count * cache->width, size = pe_dtype_info(cache->dtype)->size;

    if (pe_spend(work, (double)count * one, err))
        return err->status;
    if (cache->dtype == PE_F64)
        return range_write(cache, begin, begin + count, out, work, err);
    /* Shorter numbers are written to the end of the doubles' buffer and widened from the first on,
     * so that none is overwritten before it is read. */
    char *narrow = (char *)(out + elements) - elements * size;
    if (range_write(cache, begin, begin + count, narrow, work, err))
        return err->status;
    for (size_t i = 0; i < elements; i++) {
        double value;
        pe_to_f64(&value, narrow + i * size, cache->dtype, 1);
        out[i] = value;
    }
    return PE_OK;
}

static enum pe_status allocate(void *thing, struct pe_work *work, struct pe_error *err)
{
    struct pe_row_cache *cache = thing;

    (void)work;
    if (!cache->values)
        cache->values = calloc(1, values_size(cache) + 1); /* calloc(1, 0) may return NULL */
    if (!cache->tiles)
        cache->tiles = calloc(tiles_needed(cache), sizeof(*cache->tiles));
    while (cache->values && cache->tiles && cache->tiles_count < tiles_needed(cache) &&
           pe_once_init(&cache->tiles[cache->tiles_count]))
        cache->tiles_count++;
    return cache->tiles_count == tiles_needed(cache) ? PE_OK
                                                     : pe_no_memory(err, "the rows of an analysis");
}

const double *pe_row_cache_get(struct pe_row_cache *cache, size_t index, struct pe_work *work,
                               struct pe_error *err)
{
    struct tile tile = {cache, index / cache->tile_rows};

    if (pe_once(&cache->allocation, allocate, cache, work, err) ||
        pe_once(&cache->tiles[tile.index], tile_make, &tile, work, err))
        return NULL;
    return cache->values + index * cache->width;
}

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
    /* The root of a square is exact, so that a row's cosine with itself is 1. */
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

/* ---- estimated nanoseconds ------------------------------------------------------------------- */

double pe_row_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const double one = scheme->encoding->rotary ? pe_rotary_cost(scheme, positions, dtype, true)
                                                : pe_rows_cost(scheme, positions, dtype);

    return (double)pe_row_width(scheme) * (dtype == PE_F64 ? one : one + WIDEN_COST);
}

double pe_cosines_cost(const struct pe_scheme *scheme, enum pe_dtype dtype)
{
    return (double)pe_waves_of(scheme)->pairs * (dtype == PE_F64 ? 6.5 : 0.25) *
               pe_isa()->kernels->slowness +
           60;
}

double pe_product_cost(const struct pe_scheme *scheme)
{
    return 0.5 * (double)pe_row_width(scheme) + 12;
}
