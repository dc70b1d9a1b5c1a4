/* SPDX-License-Identifier: MIT */
#include "api/pictures/palette.h"

#include <math.h>

/* Colours between which others are interpolated, evenly spaced. Blue, white and red were chosen for
 * this: lightness rises to the middle and falls from it at one pace, so that those who do not tell
 * red from green, and a print in grey, lose no magnitude. Values above 0 are red, as on the page
 * (explorer/src/kit/palette.ts has the same colours). Viridis is by S. van der Walt, N. Smith
 * and E. Firing (CC0), at tenths. */
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
        const int share = at - left * API_COLOUR_LAST; /* of API_COLOUR_LAST */
        for (int part = 0; part < 3; part++) {
            const int shift = 16 - 8 * part;
            const int from = palettes[palette].rgb[left] >> shift & 255;
            const int to = palettes[palette].rgb[left + 1] >> shift & 255;
            colours->rgb[i][part] = (unsigned char)((from * (API_COLOUR_LAST - share) + to * share +
                                                     API_COLOUR_LAST / 2) /
                                                    API_COLOUR_LAST);
        }
    }
    for (int part = 0; part < 3; part++)
        colours->rgb[API_COLOUR_CLEAR][part] = 0;
    colours->last_is_clear = true;
}

struct api_scale api_scale_of(double least, double most, int asked)
{
    const bool both = least < 0 && most > 0;
    struct api_scale scale = {asked >= 0 ? (enum api_palette)asked
                              : both     ? API_RDBU
                                         : API_VIRIDIS,
                              least, most};

    if (scale.palette == API_RDBU) {
        scale.most = fmax(fabs(least), fabs(most));
        scale.least = -scale.most;
    }
    return scale;
}

/* Halves, because a range may be as wide as doubles go. */
unsigned char api_scale_index(const struct api_scale *scale, double value)
{
    const double range = scale->most / 2 - scale->least / 2;
    const double share = range > 0 ? (value / 2 - scale->least / 2) / range : 0.5;

    if (!isfinite(value))
        return API_COLOUR_CLEAR;
    return (unsigned char)((share < 0 ? 0 : share > 1 ? 1 : share) * API_COLOUR_LAST + 0.5);
}
