/* SPDX-License-Identifier: MIT */
#include "api/pictures/resample.h"

#include <string.h>

#include "posenc/work.h"

/* A length of `cells` is laid over one of `pixels`: both are cut into cells x pixels parts, of
 * which a cell has `pixels` and a pixel `cells`. */

enum {
    FINE = 256,     /* indices between the two passes are by this */
    CLEAR = 0xffff, /* among those */
    SHARP = 3,      /* pixels of a cell from which on there are no means */
};

/* The cells of a pixel, and the parts of it that they take. */
struct span {
    size_t first, last, begin, end;
};

static struct span span_of(size_t pixel, size_t cells, size_t pixels)
{
    const size_t begin = pixel * cells, end = begin + cells, middle = begin + cells / 2;

    if (pixels >= SHARP * cells)
        return (struct span){middle / pixels, middle / pixels, begin, end};
    return (struct span){begin / pixels, (end - 1) / pixels, begin, end};
}

static uint32_t span_weight(const struct span *span, size_t cell, size_t pixels)
{
    const size_t begin = cell * pixels, end = begin + pixels;

    if (span->first == span->last)
        return (uint32_t)(span->end - span->begin);
    return (uint32_t)((end < span->end ? end : span->end) -
                      (begin > span->begin ? begin : span->begin));
}

/* Values that make a mean, and what they weigh. */
struct sum {
    uint64_t value, weight;
};

/* ---- across --------------------------------------------------------------------------------- */

static uint16_t mean_across(const struct api_resample *image, const unsigned char *cells,
                            size_t pixel)
{
    const struct span span = span_of(pixel, image->wide, image->width);
    struct sum sum = {0, 0};

    if (span.first == span.last)
        return cells[span.first] == API_COLOUR_CLEAR ? CLEAR : cells[span.first] * FINE;
    for (size_t cell = span.first; cell <= span.last; cell++) {
        const uint32_t weight =
            cells[cell] == API_COLOUR_CLEAR ? 0 : span_weight(&span, cell, image->width);
        sum.value += weight * cells[cell];
        sum.weight += weight;
    }
    return 2 * sum.weight < image->wide ? CLEAR : (uint16_t)(sum.value * FINE / sum.weight);
}

/* Rows of the image that were made as wide as the sheet: the last two. */
struct rows {
    uint16_t *row[2];
    size_t at[2];
};

static const uint16_t *row_of(const struct api_resample *image, struct rows *rows, size_t row)
{
    const size_t slot = row & 1;

    if (rows->at[slot] != row)
        for (size_t i = 0; i < image->width; i++)
            rows->row[slot][i] = mean_across(image, image->pixels + row * image->wide, i);
    rows->at[slot] = row;
    return rows->row[slot];
}

/* ---- down ----------------------------------------------------------------------------------- */

static void row_add(struct sum *sums, const uint16_t *row, uint32_t weight, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t some = row[i] == CLEAR ? 0 : weight;
        sums[i].value += some * row[i];
        sums[i].weight += some;
    }
}

static void row_write(const struct api_resample *image, unsigned char *to, const struct sum *sums)
{
    for (size_t i = 0; i < image->width; i++, to += 3) {
        const struct sum sum = sums[i];
        const uint64_t index = 2 * sum.weight < image->high
                                   ? API_COLOUR_CLEAR
                                   : (sum.value / sum.weight + FINE / 2) / FINE;
        memcpy(to, image->colours.rgb[index], 3);
    }
}

static void rows_down(const struct api_resample *image, struct rows *rows, struct sum *sums,
                      const struct pe_work *work)
{
    size_t only = SIZE_MAX; /* the row that the last one is a copy of */

    for (size_t y = 0; y < image->height && !pe_work_ended(work); y++) {
        const struct span span = span_of(y, image->high, image->height);
        unsigned char *to = image->to + y * image->stride;
        if (span.first == span.last && only == span.first) {
            memcpy(to, to - image->stride, image->width * 3);
            continue;
        }
        memset(sums, 0, image->width * sizeof(*sums));
        for (size_t row = span.first; row <= span.last; row++)
            row_add(sums, row_of(image, rows, row), span_weight(&span, row, image->height),
                    image->width);
        row_write(image, to, sums);
        only = span.first == span.last ? span.first : SIZE_MAX;
    }
}

bool api_resample(struct api_arena *arena, const struct api_resample *image)
{
    unsigned char *room =
        api_arena_room(arena, image->width * (sizeof(struct sum) + 2 * sizeof(uint16_t)));
    struct sum *sums = (struct sum *)(void *)room;
    struct rows rows = {.at = {SIZE_MAX, SIZE_MAX}};

    if (!room)
        return false;
    rows.row[0] = (uint16_t *)(void *)(sums + image->width);
    rows.row[1] = rows.row[0] + image->width;
    rows_down(image, &rows, sums, api_arena_work(arena));
    api_arena_room_drop(arena, room);
    return !pe_work_ended(api_arena_work(arena));
}
