/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_PNG_H
#define API_PICTURES_PNG_H

#include "api/memory/arena.h"
#include "api/numbers/text.h"

/* Colours of an image: 256 at most, as red, green and blue. The last one may be clear. */
struct api_colours {
    unsigned char rgb[256][3];
    bool last_is_clear;
};

/* Pixels row by row: indices of colours, or with colours NULL three bytes each. scale: of how many
 * pixels one of plain size is made; 0: nothing is said. */
struct api_image {
    size_t width, height;
    const unsigned char *pixels;
    const struct api_colours *colours;
    int scale;
    bool drawn; /* of lines and letters, and not of values */
};

/* What the file says in words, in UTF-8; a list ends with keyword NULL, and a text NULL is left
 * out. */
struct api_png_words {
    const char *keyword, *text;
};

/* Adds an image as PNG; words may be NULL. Images of up to 256 colours are written with a list of
 * them, others in three bytes a pixel. The pixels are the same on every machine and through every
 * door, their compressed bytes with every build on one version of zlib. Memory that ends shows as
 * png->failed. */
void api_png_put(struct api_text *png, struct api_arena *arena, const struct api_image *image,
                 const struct api_png_words *words);

#endif
