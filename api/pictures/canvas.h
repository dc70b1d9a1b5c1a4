/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_CANVAS_H
#define API_PICTURES_CANVAS_H

#include "api/memory/arena.h"
#include "api/numbers/text.h"
#include "api/pictures/png.h"

/* Plots draw on a canvas, which has two types: SVG and pixels. Lengths are pixels at plot_scale 1,
 * and y goes down. Coordinates are rounded to hundredths, so that both types show the same.
 * canvas->failed is set when out of memory. */

/* Languages in the order of the parameter lang. */
enum api_language { API_ENGLISH, API_CHINESE, API_LANGUAGES };

enum api_theme { API_LIGHT, API_DARK, API_AUTO }; /* in the order of the parameter */

/* Colours by purpose; from API_CURVE on API_CURVES_MAX of them. */
enum api_ink { API_PAPER, API_TEXT, API_MUTED, API_GRID, API_AXIS, API_CURVE };
enum { API_CURVES_MAX = 8, API_INKS = API_CURVE + API_CURVES_MAX };

struct api_point {
    double x, y; /* x NAN: a gap in the line */
};

struct api_box {
    double x, y, width, height;
};

struct api_page {
    double width, height;
    enum api_theme theme;
    enum api_language language;
    const char *title, *url, *encoding; /* metadata; NULL: none */
};

enum api_anchor { API_START, API_MIDDLE, API_END };

/* upwards: the text is rotated, and read from below. The title is larger and bold. */
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
    /* A line through points, of width 1, or 1.75 in the colour of a curve. */
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
    struct api_text out; /* the bytes of the picture, after `end` */
    bool failed;
    /* Of the pixel canvas. */
    int scale;
    struct api_page page;
    struct api_sheet *sheet;
};

/* Canvases in an arena; the caller frees or takes `out`. */
struct api_canvas api_svg_canvas(struct api_arena *arena);
struct api_canvas api_pixel_canvas(struct api_arena *arena, int scale);

/* 0xrrggbb; the theme is not API_AUTO. */
uint32_t api_ink_colour(enum api_theme theme, enum api_ink ink);

/* A coordinate rounded to hundredths. */
long long api_hundredths(double value);

void api_line_draw(struct api_canvas *canvas, enum api_ink ink, struct api_point from,
                   struct api_point to);
void api_box_draw(struct api_canvas *canvas, enum api_ink ink, const struct api_box *box);

/* ---- colours of values ----------------------------------------------------------------------- */

/* In the order of the parameter colormap. */
enum api_palette { API_RDBU, API_VIRIDIS };

/* The values that have the first and the last colour. */
struct api_scale {
    enum api_palette palette;
    double least, most;
};

/* The scale for values from least to most. palette: an enum api_palette; -1: API_RDBU, symmetric
 * around 0, if the values have both signs, else API_VIRIDIS. */
struct api_scale api_scale_of(double least, double most, int palette);

/* 255 colours from the least to the greatest value, and a transparent one for values that are not
 * finite. */
void api_palette_make(enum api_palette palette, struct api_colours *colours);

enum { API_COLOUR_LAST = 254, API_COLOUR_CLEAR = 255 };

unsigned char api_scale_index(const struct api_scale *scale, double value);

#endif
