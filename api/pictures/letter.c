/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/pictures/font.h"
#include "api/pictures/mask.h"

/* Letters: each row of pixels is cut into LINES lines, and where an outline crosses the middle of
 * one, all to the right of it is turned from outside to inside, or back. Sums of a row are the
 * cover of its pixels, to LINES parts down and API_PIXEL across. */

enum {
    LINES = 16,
    LINE = API_PIXEL / LINES,
    SIDE = API_LETTER_SIDE,
    FINE_EM = API_EM * API_FINE,
    BROAD = 3,     /* times that a letter is drawn instead of in bold */
    BROAD_EM = 60, /* of the size of the font: a step between those */
};

struct letter {
    struct api_spot at; /* of the base line, in a box of SIDE pixels */
    int32_t size;
    bool turned;
    int rows; /* that were touched */
    int32_t (*turns)[SIDE + 1];
};

static struct api_spot place_of(const struct letter *letter, int x, int y)
{
    const int32_t across = (int32_t)((int64_t)x * letter->size / FINE_EM);
    const int32_t up = (int32_t)((int64_t)y * letter->size / FINE_EM);

    return letter->turned ? (struct api_spot){letter->at.x - up, letter->at.y - across}
                          : (struct api_spot){letter->at.x + across, letter->at.y - up};
}

static void turn_add(struct letter *letter, int line, int32_t x, int way)
{
    int32_t *turns = letter->turns[line / LINES];
    const int pixel = x >> 8, share = x & 255;

    if (pixel < 0 || pixel >= SIDE || line < 0 || line >= SIDE * LINES)
        return;
    turns[pixel] += way * (API_PIXEL - share);
    turns[pixel + 1] += way * share;
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
        turn_add(letter, line, high.x + (int32_t)((line * LINE + LINE / 2 - high.y) * slope >> 16),
                 down ? 1 : -1);
}

static void row_put(unsigned char *cover, int32_t *turns, struct api_run across)
{
    int32_t sum = 0;

    for (int i = 0; i < across.end; i++) {
        const int32_t covered = abs(sum += turns[i]) / LINES;
        if (i >= across.begin && covered > cover[i])
            cover[i] = (unsigned char)(covered > 255 ? 255 : covered);
    }
    memset(turns, 0, (SIDE + 1) * sizeof(*turns));
}

static struct api_run within(int begin, int count, int length)
{
    return (struct api_run){begin < 0 ? -begin : 0,
                            begin + count > length ? length - begin : count};
}

/* What lies beside the picture is left out. */
static void rows_put(struct api_mask *mask, const struct letter *letter, int left, int top)
{
    const struct api_run across = within(left, SIDE, mask->width);
    const struct api_run down = within(top, letter->rows, mask->height);

    for (int row = 0; row < letter->rows; row++) {
        const bool seen = row >= down.begin && row < down.end;
        row_put(seen ? mask->cover + (int64_t)(top + row) * mask->width + left : NULL,
                letter->turns[row], seen ? across : (struct api_run){0});
    }
    api_mask_touch(mask, (struct api_run){left + across.begin, left + across.end},
                   (struct api_run){top + down.begin, top + down.end});
}

static int letter_put(struct api_mask *mask, struct api_spot at, uint32_t character, bool bold,
                      int32_t size, bool turned)
{
    const int left = (at.x >> 8) - SIDE / 2, top = (at.y >> 8) - SIDE / 2;
    struct letter letter = {
        .at = {at.x - left * API_PIXEL, at.y - top * API_PIXEL},
        .size = size,
        .turned = turned,
        .turns = mask->turns,
    };
    const struct api_outline outline = {edge_add, &letter};
    const int units = api_glyph_draw(character, bold, &outline);

    rows_put(mask, &letter, left, top);
    return units;
}

/* Where there is no bold glyph, the usual one is drawn again a little aside and above. */
int32_t api_mask_letter(struct api_mask *mask, struct api_spot at, uint32_t character, bool bold,
                        int32_t size, bool turned)
{
    const int times = bold && !api_glyph_is_bold(character) ? BROAD : 1;
    int units = 0;

    for (int i = 0; i < times; i++) {
        units = letter_put(mask, at, character, bold, size, turned);
        at.x += (turned ? -1 : 2) * size / BROAD_EM / 2;
        at.y -= (turned ? 2 : 1) * size / BROAD_EM / 2;
    }
    return (int32_t)((int64_t)units * size / API_EM);
}
