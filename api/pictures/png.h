/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_PNG_H
#define API_PICTURES_PNG_H

#include "api/memory/arena.h"
#include "api/numbers/text.h"

/* The palette of an image. The last colour may be transparent. */
struct api_colours {
    unsigned char rgb[256][3];
    bool last_is_clear;
};

/* Pixels row by row: indices of colours, or with colours NULL three bytes each. */
struct api_image {
    size_t width, height;
    const unsigned char *pixels;
    const struct api_colours *colours;
    int scale;  /* pixels for one at 96 dpi; 0: unspecified */
    bool drawn; /* consists of lines and letters */
};

/* Text chunks in UTF-8. A list ends with keyword NULL; a text NULL is omitted. */
struct api_png_words {
    const char *keyword, *text;
};

/* Adds an image as PNG; words may be NULL. Images of up to 256 colours are written with a palette,
 * others with three bytes a pixel. The bytes are equal on every machine with one version of zlib.
 * png->failed is set when out of memory. */
void api_png_put(struct api_text *png, struct api_arena *arena, const struct api_image *image,
                 const struct api_png_words *words);

#endif
