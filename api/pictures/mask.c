/* SPDX-License-Identifier: MIT */
#include "api/pictures/mask.h"

#include <string.h>

/* A line covers a pixel as far as the pixel's centre lies within it, so lines that meet are drawn
 * over one another without a seam: the greater cover stays. */

enum { HALF = API_PIXEL / 2, UNIT_BITS = 24, UNIT = 1 << UNIT_BITS };

uint32_t api_root(uint64_t square)
{
    uint64_t root = 0;

    for (uint64_t bit = (uint64_t)1 << 62; bit > 0; bit >>= 2) {
        const bool fits = square >= root + bit;
        square -= fits ? root + bit : 0;
        root = (root >> 1) + (fits ? bit : 0);
    }
    return (uint32_t)root;
}

/* ---- what is touched ------------------------------------------------------------------------ */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

static int pixel_of(int64_t place)
{
    return (int)(place >> 8);
}

/* Pixels from the one of `low` to the one of `high`, within the picture. */
static struct api_run run_of(int64_t low, int64_t high, int length)
{
    return (struct api_run){most(pixel_of(low), 0), least(pixel_of(high) + 1, length)};
}

void api_mask_touch(struct api_mask *mask, struct api_run across, struct api_run down)
{
    if (across.begin >= across.end || down.begin >= down.end)
        return;
    mask->left = least(mask->left, across.begin);
    mask->right = most(mask->right, across.end);
    mask->top = least(mask->top, down.begin);
    mask->bottom = most(mask->bottom, down.end);
}

void api_mask_clear(struct api_mask *mask)
{
    for (int y = mask->top; y < mask->bottom; y++)
        memset(mask->cover + (int64_t)y * mask->width + mask->left, 0,
               (size_t)(mask->right - mask->left));
    mask->left = mask->width;
    mask->top = mask->height;
    mask->right = mask->bottom = 0;
}

/* `within`: how far the centre of a pixel lies within a border. */
static unsigned char cover_of(int64_t within)
{
    const int64_t cover = within + HALF;

    return (unsigned char)(cover <= 0 ? 0 : cover > 255 ? 255 : cover);
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct line {
    struct api_stroke stroke;
    int64_t along_x, along_y; /* the direction, of length UNIT */
    int32_t length;
};

static int64_t distance(int64_t x, int64_t y)
{
    return api_root((uint64_t)(x * x + y * y));
}

/* How far a centre lies within the line: across it, and at its ends. */
static int64_t line_within(const struct line *line, int64_t along, int64_t aside, int64_t x,
                           int64_t y)
{
    const struct api_stroke *stroke = &line->stroke;
    const int64_t half = stroke->wide / 2, within = half - (aside < 0 ? -aside : aside);
    const int64_t before = along, behind = line->length - along;

    if (before < 0 && stroke->round_from)
        return half - distance(x - stroke->from.x, y - stroke->from.y);
    if (behind < 0 && stroke->round_to)
        return half - distance(x - stroke->to.x, y - stroke->to.y);
    if (before < HALF && !stroke->round_from && before < within)
        return before;
    return behind < HALF && !stroke->round_to && behind < within ? behind : within;
}

static void line_row(struct api_mask *mask, const struct line *line, int row, struct api_run across)
{
    const struct api_spot from = line->stroke.from;
    const int64_t y = (int64_t)row * API_PIXEL + HALF, dy = y - from.y;
    int64_t x = (int64_t)across.begin * API_PIXEL + HALF;
    int64_t along = (x - from.x) * line->along_x + dy * line->along_y;
    int64_t aside = (x - from.x) * line->along_y - dy * line->along_x;
    unsigned char *cover = mask->cover + (int64_t)row * mask->width;

    for (int i = across.begin; i < across.end; i++, x += API_PIXEL) {
        const int64_t within = line_within(line, along >> UNIT_BITS, aside >> UNIT_BITS, x, y);
        const unsigned char covered = cover_of(within);
        cover[i] = covered > cover[i] ? covered : cover[i];
        along += line->along_x * API_PIXEL;
        aside += line->along_y * API_PIXEL;
    }
}

/* Where the middle of the line is on a row, as far as it is there. */
static int64_t line_x(const struct line *line, int64_t slope, int64_t y)
{
    const struct api_spot from = line->stroke.from, to = line->stroke.to;
    const int64_t low = from.y < to.y ? from.y : to.y, high = from.y < to.y ? to.y : from.y;
    const int64_t on = y < low ? low : y > high ? high : y;

    return from.x + ((on - from.y) * slope >> 16);
}

void api_mask_stroke(struct api_mask *mask, const struct api_stroke *stroke)
{
    const struct api_spot from = stroke->from, to = stroke->to;
    const int64_t dx = (int64_t)to.x - from.x, dy = (int64_t)to.y - from.y;
    const int64_t length = distance(dx, dy), room = stroke->wide / 2 + HALF;
    const struct api_run down =
        run_of(least(from.y, to.y) - room, most(from.y, to.y) + room, mask->height);
    const int64_t slope = dy != 0 ? dx * 65536 / dy : 0;
    struct line line = {.stroke = *stroke, .length = (int32_t)length};

    line.along_x = length > 0 ? dx * UNIT / length : UNIT;
    line.along_y = length > 0 ? dy * UNIT / length : 0;
    for (int row = down.begin; row < down.end; row++) {
        const int64_t top = (int64_t)row * API_PIXEL - room, bottom = top + API_PIXEL + 2 * room;
        const int64_t a = dy != 0 ? line_x(&line, slope, top) : from.x;
        const int64_t b = dy != 0 ? line_x(&line, slope, bottom) : to.x;
        const struct api_run across =
            run_of((a < b ? a : b) - room, (a < b ? b : a) + room, mask->width);
        line_row(mask, &line, row, across);
        api_mask_touch(mask, across, (struct api_run){row, row + 1});
    }
}

/* ---- circles -------------------------------------------------------------------------------- */

/* Roots are taken at the border alone. */
static unsigned char circle_cover(int64_t square, int32_t radius, int32_t wide)
{
    const int64_t inner = radius - wide / 2 - API_PIXEL, outer = radius + wide / 2 + API_PIXEL;
    int64_t from;

    if (square >= outer * outer || (wide > 0 && inner > 0 && square <= inner * inner))
        return 0;
    if (wide == 0 && inner > 0 && square <= inner * inner)
        return 255;
    from = api_root((uint64_t)square);
    if (wide == 0)
        return cover_of(radius - from);
    return cover_of(wide / 2 - (from < radius ? radius - from : from - radius));
}

void api_mask_circle(struct api_mask *mask, struct api_spot centre, int32_t radius, int32_t wide)
{
    const int64_t room = radius + wide / 2 + HALF;
    const struct api_run across = run_of(centre.x - room, centre.x + room, mask->width);
    const struct api_run down = run_of(centre.y - room, centre.y + room, mask->height);

    for (int row = down.begin; row < down.end; row++) {
        unsigned char *cover = mask->cover + (int64_t)row * mask->width;
        const int64_t y = (int64_t)row * API_PIXEL + HALF - centre.y;
        for (int i = across.begin; i < across.end; i++) {
            const int64_t x = (int64_t)i * API_PIXEL + HALF - centre.x;
            const unsigned char covered = circle_cover(x * x + y * y, radius, wide);
            cover[i] = covered > cover[i] ? covered : cover[i];
        }
    }
    api_mask_touch(mask, across, down);
}
