/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_RESAMPLE_H
#define API_PICTURES_RESAMPLE_H

#include "api/memory/arena.h"
#include "api/pictures/palette.h"

/* An image of indices that is drawn into a rectangle of a sheet of another size. */
struct api_resample {
    struct api_colours colours;
    const unsigned char *pixels; /* row by row */
    size_t wide, high;
    unsigned char *to; /* red, green and blue of its first pixel; stride: bytes to the next row */
    size_t stride, width, height;
};

/* Each pixel has the colour of the mean of the values that it covers, so that none is lost and no
 * colour is one that the scale does not have; where a cell is several pixels large, that of the
 * cell in its middle. API_COLOUR_CLEAR is no value: a pixel is clear where most of it is. In whole
 * numbers. False: memory is short, or the request has ended. */
bool api_resample(struct api_arena *arena, const struct api_resample *image);

#endif
