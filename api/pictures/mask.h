/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_MASK_H
#define API_PICTURES_MASK_H

#include <stdbool.h>
#include <stdint.h>

/* Coverage of pixels by shapes, in integers, so that pictures are equal on every machine. */

enum {
    API_PIXEL = 256,       /* units of length a pixel */
    API_LETTER_SIDE = 128, /* pixels of the largest letter */
};

struct api_mask {
    unsigned char *cover; /* row by row; 255: all of a pixel */
    int width, height;
    int left, top, right, bottom;           /* the box of changed pixels; right, bottom exclusive */
    int32_t (*deltas)[API_LETTER_SIDE + 1]; /* API_LETTER_SIDE zeroed rows, for letters */
};

struct api_spot {
    int32_t x, y;
};

/* Clears the changed pixels. */
void api_mask_clear(struct api_mask *mask);

/* A straight line of width `wide`. Its ends are flat, or round where another line joins. */
struct api_stroke {
    struct api_spot from, to;
    int32_t wide;
    bool round_from, round_to;
};
void api_mask_stroke(struct api_mask *mask, const struct api_stroke *stroke);

/* A disc; with wide > 0 a ring of that width. */
void api_mask_circle(struct api_mask *mask, struct api_spot centre, int32_t radius, int32_t wide);

/* A character whose base line begins at a spot, in a font of `size`. Returns its advance. */
int32_t api_mask_letter(struct api_mask *mask, struct api_spot at, uint32_t character, bool bold,
                        int32_t size, bool upwards);

/* The square root, rounded down. */
uint32_t api_root(uint64_t square);

#endif
