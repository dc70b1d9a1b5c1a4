/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_DRAWING_H
#define API_PICTURES_DRAWING_H

/* A picture being drawn: its title, notes and axes, and the values of its marks. Functions of the C
 * library that round differently on different machines are not called. */

#include "api/pictures/canvas.h"
#include "api/pictures/plot.h"

/* ---- ticks ----------------------------------------------------------------------------------- */

enum { API_TICKS_MAX = 24, API_TICK_SIZE = 40 };

struct api_tick {
    double value;
    char label[API_TICK_SIZE]; /* "": none */
};

struct api_ticks {
    struct api_tick list[API_TICKS_MAX];
    size_t count;
};

/* The decimal logarithm of a number greater than 0, with a relative error of 1e-15. */
double api_log10(double value);

/* Multiples of 1, 2 or 5 times a power of ten in [least, most], about `wanted` of them and at most
 * API_TICKS_MAX. integers: none between integers. */
void api_ticks_linear(struct api_ticks *ticks, double least, double most, size_t wanted,
                      bool integers);

/* Powers of ten with exponents in [least, most], and if these are fewer than three decades, twice
 * and five times the powers too. The value of a tick is the exponent. */
void api_ticks_decades(struct api_ticks *ticks, double least, double most, size_t wanted);

/* Prints the shortest digits, with a typographic minus. */
void api_tick_print(char label[API_TICK_SIZE], double value);

/* ---- the drawing ----------------------------------------------------------------------------- */

struct api_drawing {
    struct api_canvas *canvas;
    struct api_request *request;
    struct api_result *result;
    const struct api_plot *plot;
    struct pe_error *err;
    enum api_language language;
    double width, height;
    const char *notes[4]; /* below the title */
    size_t notes_count;
};

struct api_axis {
    double first, last; /* the values at its ends, in units of the ticks */
    struct api_ticks ticks;
    const char *label;
};

enum { API_TOP = 66, API_PAD = 16 }; /* below title and notes; around the picture */

void api_drawing_note(struct api_drawing *drawing, const char *note);

/* Begins the page, with the title and the notes so far. */
void api_drawing_begin(struct api_drawing *drawing);

/* Writes text that is not a title. */
void api_drawing_write(struct api_drawing *drawing, enum api_ink ink, enum api_anchor anchor,
                       double x, double y, const char *text);

/* The width of a vertical axis at the left of a box. */
double api_axis_width(const struct api_axis *axis);

/* The coordinate of a value on an axis. */
double api_axis_at(const struct api_axis *axis, double value, double begin, double length);

/* Draw an axis below a box, and at its left. open: the box has no frame, but grid lines at the
 * ticks of y and a line at its bottom. */
void api_axis_x(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool open);
void api_axis_y(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool open);

/* Memory for numbers, in the arena; NULL: err is set. */
double *api_drawing_memory(struct api_drawing *drawing, size_t count);
/* The values of rows of an output, in the arena; NULL: err is set. */
double *api_plot_numbers(struct api_drawing *drawing, size_t output, size_t row_begin,
                         size_t row_end);

const char *api_drawing_word(struct api_drawing *drawing, enum api_label label);

enum pe_status api_heatmap_draw(struct api_drawing *drawing);
enum pe_status api_curves_draw(struct api_drawing *drawing);
enum pe_status api_points_draw(struct api_drawing *drawing);
enum pe_status api_circle_draw(struct api_drawing *drawing);
enum pe_status api_spectrum_draw(struct api_drawing *drawing);

#endif
