/* SPDX-License-Identifier: MIT */
#ifndef API_DRAWING_PNG_H
#define API_DRAWING_PNG_H

#include "api/numbers/text.h"

/* Colours of an image: 256 at most, as red, green and blue. The last one may be clear. */
struct api_colours {
    unsigned char rgb[256][3];
    bool last_is_clear;
};

/* Adds an image as PNG in base64. `pixels`: indices of colours, row by row. The bytes are the same
 * on every machine and through every door, so the compressor is one of our own. NULL of memory
 * shows as text->failed. */
void api_png_put(struct api_text *text, const struct api_colours *colours,
                 const unsigned char *pixels, size_t width, size_t height);

#endif
