/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_PALETTE_H
#define API_PICTURES_PALETTE_H

#include "api/pictures/png.h"

/* Colours of values. The names in the order of the parameter colormap. */
enum api_palette { API_RDBU, API_VIRIDIS };

/* The range of values that colours go over. */
struct api_scale {
    enum api_palette palette;
    double least, most;
};

/* Values from least to most: around 0, blue below it and red above, where they have both signs, as
 * magnitudes otherwise, unless `asked` (an enum api_palette) is 0 or more. */
struct api_scale api_scale_of(double least, double most, int asked);

/* 255 colours from the least value to the greatest, and a clear one for what is not finite. */
void api_palette_make(enum api_palette palette, struct api_colours *colours);

enum { API_COLOUR_LAST = 254, API_COLOUR_CLEAR = 255 };

unsigned char api_scale_index(const struct api_scale *scale, double value);

#endif
