/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_CANVAS_H
#define API_PICTURES_CANVAS_H

#include "api/memory/arena.h"
#include "api/numbers/text.h"
#include "api/pictures/labels.h"
#include "api/pictures/palette.h"

/* Plots draw on a canvas: as SVG, or as pixels. Lengths are pixels of a picture of plain size; y
 * goes down. Coordinates are rounded to hundredths, so that both show the same. Memory that ends
 * shows as canvas->failed. */

enum api_theme { API_LIGHT, API_DARK, API_AUTO }; /* in the order of the parameter */

/* Colours by what they are for. Curves have API_CURVES_MAX. */
enum api_ink { API_PAPER, API_TEXT, API_MUTED, API_GRID, API_AXIS, API_CURVE };
enum { API_CURVES_MAX = 8, API_INKS = API_CURVE + API_CURVES_MAX };

struct api_point {
    double x, y; /* x NAN: the line is broken here */
};

struct api_box {
    double x, y, width, height;
};

/* Texts about a picture that stand beside its marks; NULL: none. */
struct api_page {
    double width, height;
    enum api_theme theme;
    enum api_language language;
    const char *title, *url, *encoding;
};

enum api_anchor { API_START, API_MIDDLE, API_END };

/* How text stands: upwards is read from below. The title is larger and bold. */
struct api_writing {
    enum api_ink ink;
    enum api_anchor anchor;
    bool title, upwards;
};

enum { API_TEXT_SIZE = 12, API_TITLE_SIZE = 16 };

struct api_canvas;

struct api_canvas_type {
    void (*begin)(struct api_canvas *canvas, const struct api_page *page);
    void (*end)(struct api_canvas *canvas);
    /* A line through points, 1 wide, curves somewhat more. */
    void (*path)(struct api_canvas *canvas, enum api_ink ink, bool dashed,
                 const struct api_point *points, size_t count);
    void (*disc)(struct api_canvas *canvas, enum api_ink ink, struct api_point centre,
                 double radius, double opacity);
    void (*ring)(struct api_canvas *canvas, enum api_ink ink, struct api_point centre,
                 double radius);
    void (*image)(struct api_canvas *canvas, const struct api_box *box,
                  const struct api_colours *colours, const unsigned char *pixels, size_t wide,
                  size_t high);
    void (*text)(struct api_canvas *canvas, struct api_writing writing, struct api_point at,
                 const char *text);
};

struct api_canvas {
    const struct api_canvas_type *type;
    struct api_arena *arena;
    struct api_text out; /* the picture's bytes, once it has ended */
    bool failed;
    int scale;            /* of pixels: how many stand for one */
    struct api_page page; /* of pixels, from begin on */
    struct api_sheet *sheet;
};

/* A canvas of an arena, whose `out` is to be freed or taken. */
struct api_canvas api_svg_canvas(struct api_arena *arena);
struct api_canvas api_pixel_canvas(struct api_arena *arena, int scale);

/* #rrggbb of a theme, which is not API_AUTO. */
uint32_t api_ink_colour(enum api_theme theme, enum api_ink ink);

/* A coordinate in hundredths. */
long long api_hundredths(double value);

/* Lines from one point to another, and around a box. */
void api_line_draw(struct api_canvas *canvas, enum api_ink ink, struct api_point from,
                   struct api_point to);
void api_box_draw(struct api_canvas *canvas, enum api_ink ink, const struct api_box *box);

#endif
