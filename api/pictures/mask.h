/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_MASK_H
#define API_PICTURES_MASK_H

#include <stdbool.h>
#include <stdint.h>

/* How much of each pixel a shape covers. All of it is computed in integers, so that pictures are
 * the same on every machine. */

enum {
    API_PIXEL = 256,       /* the unit of lengths is a pixel by this */
    API_LETTER_SIDE = 128, /* pixels: no letter is larger */
};

struct api_mask {
    unsigned char *cover; /* 255: all of a pixel; row by row */
    int width, height;
    int left, top, right, bottom;          /* what was touched: right and bottom are behind it */
    int32_t (*turns)[API_LETTER_SIDE + 1]; /* API_LETTER_SIDE zeroed rows, for letters */
};

struct api_spot {
    int32_t x, y;
};

/* Clears what was touched. */
void api_mask_clear(struct api_mask *mask);

/* Pixels from begin on, and before end. */
struct api_run {
    int begin, end;
};
/* Says that they are touched. */
void api_mask_touch(struct api_mask *mask, struct api_run across, struct api_run down);

/* A straight line, `wide` across. Its ends are flat, or round where another line begins there. */
struct api_stroke {
    struct api_spot from, to;
    int32_t wide;
    bool round_from, round_to;
};
void api_mask_stroke(struct api_mask *mask, const struct api_stroke *stroke);

/* A disc, or where wide > 0 a ring of that breadth. */
void api_mask_circle(struct api_mask *mask, struct api_spot centre, int32_t radius, int32_t wide);

/* A character whose base line begins at a spot; turned: it is read upwards. `size` is that of the
 * font. Returns how far the next one stands. */
int32_t api_mask_letter(struct api_mask *mask, struct api_spot at, uint32_t character, bool bold,
                        int32_t size, bool turned);

/* The root of a square, rounded down. */
uint32_t api_root(uint64_t square);

#endif
