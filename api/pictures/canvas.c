/* SPDX-License-Identifier: MIT */
#include "api/pictures/canvas.h"

#include <math.h>

/* In the order of enum api_ink. Neighbouring curves differ for colour-blind readers too. */
static const uint32_t inks[][API_INKS] = {
    [API_LIGHT] = {0xffffff, 0x1d2433, 0x566073, 0xe6e9f0, 0xa3abba, 0x0b67b2, 0xd2570b, 0x0d8a66,
                   0xb5478f, 0x8a6d0b, 0x3aa5d9, 0x6a4bb0, 0x6b6f78},
    [API_DARK] = {0x12161f, 0xe9ecf3, 0x9fa9bb, 0x262d3a, 0x596375, 0x59aef2, 0xff9248, 0x35cba0,
                  0xec8fce, 0xdfb63f, 0x8ed6ff, 0xb398ee, 0xb7bcc6},
};

uint32_t api_ink_colour(enum api_theme theme, enum api_ink ink)
{
    return inks[theme][ink];
}

/* Clamped far outside of any picture. */
long long api_hundredths(double value)
{
    return (long long)floor(fmin(fmax(value, -1e6), 1e6) * 100 + 0.5);
}

void api_line_draw(struct api_canvas *canvas, enum api_ink ink, struct api_point from,
                   struct api_point to)
{
    const struct api_point points[] = {from, to};

    canvas->type->path(canvas, ink, false, points, 2);
}

void api_box_draw(struct api_canvas *canvas, enum api_ink ink, const struct api_box *box)
{
    const double right = box->x + box->width, bottom = box->y + box->height;
    const struct api_point points[] = {
        {box->x, box->y}, {right, box->y}, {right, bottom}, {box->x, bottom}, {box->x, box->y}};

    canvas->type->path(canvas, ink, false, points, sizeof(points) / sizeof(points[0]));
}

/* ---- colours of values ---------------------------------------------------------------------- */

/* Evenly spaced colours, interpolated between. From blue over white to red, lightness rises and
 * falls evenly, so that magnitudes remain visible to colour-blind readers and in grey. Values above
 * 0 are red (explorer/src/kit/palette.ts has the same colours). Viridis is by S. van der Walt, N.
 * Smith and E. Firing (CC0). */
enum { STOPS_MAX = 10 };

static const struct {
    int stops;
    uint32_t rgb[STOPS_MAX];
} palettes[] = {
    [API_RDBU] = {9,
                  {0x0d3768, 0x2a6cac, 0x5a9fcb, 0xa9cfe4, 0xf7f6f4, 0xf4b79f, 0xdc6a58, 0xb5263a,
                   0x7a0c22}},
    [API_VIRIDIS] = {10,
                     {0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779,
                      0x6ece58, 0xb5de2b, 0xfde725}},
};

void api_palette_make(enum api_palette palette, struct api_colours *colours)
{
    const int steps = palettes[palette].stops - 1;

    for (int i = 0; i <= API_COLOUR_LAST; i++) {
        const int at = i * steps,
                  left = at / API_COLOUR_LAST < steps ? at / API_COLOUR_LAST : steps - 1;
        const int weight = at - left * API_COLOUR_LAST; /* of API_COLOUR_LAST */
        for (int part = 0; part < 3; part++) {
            const int shift = 16 - 8 * part;
            const int from = palettes[palette].rgb[left] >> shift & 255;
            const int to = palettes[palette].rgb[left + 1] >> shift & 255;
            colours->rgb[i][part] = (unsigned char)((from * (API_COLOUR_LAST - weight) +
                                                     to * weight + API_COLOUR_LAST / 2) /
                                                    API_COLOUR_LAST);
        }
    }
    for (int part = 0; part < 3; part++)
        colours->rgb[API_COLOUR_CLEAR][part] = 0;
    colours->last_is_clear = true;
}

struct api_scale api_scale_of(double least, double most, int palette)
{
    const bool both = least < 0 && most > 0;
    struct api_scale scale = {palette >= 0 ? (enum api_palette)palette
                              : both       ? API_RDBU
                                           : API_VIRIDIS,
                              least, most};

    if (scale.palette == API_RDBU) {
        scale.most = fmax(fabs(least), fabs(most));
        scale.least = -scale.most;
    }
    return scale;
}

/* Halved, because the range may overflow a double. */
unsigned char api_scale_index(const struct api_scale *scale, double value)
{
    const double range = scale->most / 2 - scale->least / 2;
    const double fraction = range > 0 ? (value / 2 - scale->least / 2) / range : 0.5;

    if (!isfinite(value))
        return API_COLOUR_CLEAR;
    return (unsigned char)((fraction < 0   ? 0
                            : fraction > 1 ? 1
                                           : fraction) *
                               API_COLOUR_LAST +
                           0.5);
}
