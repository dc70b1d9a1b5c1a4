/* SPDX-License-Identifier: MIT */
#include "api/pictures/mask.h"

#include <stdlib.h>
#include <string.h>

#include "api/pictures/font.h"

/* The coverage of a pixel by a line depends on the distance of the pixel's centre from the border.
 * Where shapes overlap, the greater coverage counts, so that lines meet without a seam. */

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

/* ---- changed pixels ------------------------------------------------------------------------- */

/* Pixels [begin, end). */
struct run {
    int begin, end;
};

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

/* The pixels from `low` to `high` that are in the picture. */
static struct run run_of(int64_t low, int64_t high, int length)
{
    return (struct run){most(pixel_of(low), 0), least(pixel_of(high) + 1, length)};
}

static void run_note(struct api_mask *mask, struct run across, struct run down)
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

/* within: the distance of the pixel's centre inside of the border. */
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

/* The distance of a centre inside of the line, from its sides and ends. */
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

static void line_row(struct api_mask *mask, const struct line *line, int row, struct run across)
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

/* x of the line's middle at a row, clamped to its ends. */
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
    const int64_t length = distance(dx, dy), reach = stroke->wide / 2 + HALF;
    const struct run down =
        run_of(least(from.y, to.y) - reach, most(from.y, to.y) + reach, mask->height);
    const int64_t slope = dy != 0 ? dx * 65536 / dy : 0;
    struct line line = {.stroke = *stroke, .length = (int32_t)length};

    line.along_x = length > 0 ? dx * UNIT / length : UNIT;
    line.along_y = length > 0 ? dy * UNIT / length : 0;
    for (int row = down.begin; row < down.end; row++) {
        const int64_t top = (int64_t)row * API_PIXEL - reach, bottom = top + API_PIXEL + 2 * reach;
        const int64_t a = dy != 0 ? line_x(&line, slope, top) : from.x;
        const int64_t b = dy != 0 ? line_x(&line, slope, bottom) : to.x;
        const struct run across =
            run_of((a < b ? a : b) - reach, (a < b ? b : a) + reach, mask->width);
        line_row(mask, &line, row, across);
        run_note(mask, across, (struct run){row, row + 1});
    }
}

/* ---- circles -------------------------------------------------------------------------------- */

/* Coverage of a pixel at squared distance `square` from the centre; the root is needed only near
 * the edge. wide 0: a disc, else a ring of that width. */
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
    const int64_t reach = radius + wide / 2 + HALF;
    const struct run across = run_of(centre.x - reach, centre.x + reach, mask->width);
    const struct run down = run_of(centre.y - reach, centre.y + reach, mask->height);

    for (int row = down.begin; row < down.end; row++) {
        unsigned char *cover = mask->cover + (int64_t)row * mask->width;
        const int64_t y = (int64_t)row * API_PIXEL + HALF - centre.y;
        for (int i = across.begin; i < across.end; i++) {
            const int64_t x = (int64_t)i * API_PIXEL + HALF - centre.x;
            const unsigned char covered = circle_cover(x * x + y * y, radius, wide);
            cover[i] = covered > cover[i] ? covered : cover[i];
        }
    }
    run_note(mask, across, down);
}

/* ---- letters -------------------------------------------------------------------------------- */

/* Each row of pixels is divided into LINES lines. Where an outline crosses the middle of a line,
 * the winding number of all points to its right changes by one; the changes are stored in `deltas`.
 * Their running sums along a row are the coverage of its pixels, with a precision of LINES
 * vertically and API_PIXEL horizontally. */

enum {
    LINES = 16,
    LINE = API_PIXEL / LINES,
    SIDE = API_LETTER_SIDE,
    FINE_EM = API_EM * API_FINE,
    BROAD = 3,     /* how often a letter without bold glyph is drawn */
    BROAD_EM = 60, /* the font size divided by the step between these */
};

struct letter {
    struct api_spot at; /* of the base line, in a box of SIDE pixels */
    int32_t size;
    bool upwards;
    int rows; /* that changed */
    int32_t (*deltas)[SIDE + 1];
};

static struct api_spot place_of(const struct letter *letter, int x, int y)
{
    const int32_t across = (int32_t)((int64_t)x * letter->size / FINE_EM);
    const int32_t up = (int32_t)((int64_t)y * letter->size / FINE_EM);

    return letter->upwards ? (struct api_spot){letter->at.x - up, letter->at.y - across}
                           : (struct api_spot){letter->at.x + across, letter->at.y - up};
}

static void crossing_add(struct letter *letter, int line, int32_t x, int way)
{
    int32_t *deltas = letter->deltas[line / LINES];
    const int pixel = x >> 8, fraction = x & 255;

    if (pixel < 0 || pixel >= SIDE || line < 0 || line >= SIDE * LINES)
        return;
    deltas[pixel] += way * (API_PIXEL - fraction);
    deltas[pixel + 1] += way * fraction;
    letter->rows = line / LINES >= letter->rows ? line / LINES + 1 : letter->rows;
}

static void edge_add(void *to, int x0, int y0, int x1, int y1)
{
    struct letter *letter = to;
    const struct api_spot from = place_of(letter, x0, y0), end = place_of(letter, x1, y1);
    const bool down = from.y < end.y;
    const struct api_spot high = down ? from : end, low = down ? end : from;
    const int64_t slope = low.y > high.y ? ((int64_t)low.x - high.x) * 65536 / (low.y - high.y) : 0;

    /* Middles of lines from high.y on, and before low.y. */
    for (int line = (high.y + LINE / 2 - 1) / LINE; line * LINE + LINE / 2 < low.y; line++)
        crossing_add(letter, line,
                     high.x + (int32_t)((line * LINE + LINE / 2 - high.y) * slope >> 16),
                     down ? 1 : -1);
}

static void row_put(unsigned char *cover, int32_t *deltas, struct run across)
{
    int32_t sum = 0;

    for (int i = 0; i < across.end; i++) {
        const int32_t covered = abs(sum += deltas[i]) / LINES;
        if (i >= across.begin && covered > cover[i])
            cover[i] = (unsigned char)(covered > 255 ? 255 : covered);
    }
    memset(deltas, 0, (SIDE + 1) * sizeof(*deltas));
}

static struct run within(int begin, int count, int length)
{
    return (struct run){begin < 0 ? -begin : 0, begin + count > length ? length - begin : count};
}

/* Pixels outside of the picture are dropped. */
static void rows_put(struct api_mask *mask, const struct letter *letter, int left, int top)
{
    const struct run across = within(left, SIDE, mask->width);
    const struct run down = within(top, letter->rows, mask->height);

    for (int row = 0; row < letter->rows; row++) {
        const bool seen = row >= down.begin && row < down.end;
        row_put(seen ? mask->cover + (int64_t)(top + row) * mask->width + left : NULL,
                letter->deltas[row], seen ? across : (struct run){0});
    }
    run_note(mask, (struct run){left + across.begin, left + across.end},
             (struct run){top + down.begin, top + down.end});
}

static int letter_put(struct api_mask *mask, struct api_spot at, uint32_t character, bool bold,
                      int32_t size, bool upwards)
{
    const int left = (at.x >> 8) - SIDE / 2, top = (at.y >> 8) - SIDE / 2;
    struct letter letter = {
        .at = {at.x - left * API_PIXEL, at.y - top * API_PIXEL},
        .size = size,
        .upwards = upwards,
        .deltas = mask->deltas,
    };
    const struct api_outline outline = {edge_add, &letter};
    const int units = api_glyph_draw(character, bold, &outline);

    rows_put(mask, &letter, left, top);
    return units;
}

/* Without a bold glyph, the regular one is drawn several times with small offsets. */
int32_t api_mask_letter(struct api_mask *mask, struct api_spot at, uint32_t character, bool bold,
                        int32_t size, bool upwards)
{
    const int times = bold && !api_glyph_is_bold(character) ? BROAD : 1;
    int units = 0;

    for (int i = 0; i < times; i++) {
        units = letter_put(mask, at, character, bold, size, upwards);
        at.x += (upwards ? -1 : 2) * size / BROAD_EM / 2;
        at.y -= (upwards ? 2 : 1) * size / BROAD_EM / 2;
    }
    return (int32_t)((int64_t)units * size / API_EM);
}
