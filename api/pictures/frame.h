/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_FRAME_H
#define API_PICTURES_FRAME_H

#include "api/pictures/canvas.h"
#include "api/pictures/plots.h"
#include "api/pictures/ticks.h"

/* A picture that is being drawn, and what stands around its marks. */

struct api_drawing {
    struct api_canvas *canvas;
    struct api_request *request;
    struct api_result *result;
    const struct api_plot *plot;
    struct pe_error *err;
    enum api_language language;
    double width, height;
    const char *notes[4]; /* said below the title */
    size_t notes_count;
};

/* An axis: what stands at its ends (in units of its ticks), and its words. */
struct api_axis {
    double first, last;
    struct api_ticks ticks;
    const char *label;
};

enum { API_TOP = 66, API_PAD = 16 }; /* under title and notes, around all */

void api_frame_note(struct api_drawing *drawing, const char *note);

/* The page, the title and the notes, which must be known. */
void api_frame_begin(struct api_drawing *drawing);

/* Writes a word that is no title. */
void api_frame_write(struct api_drawing *drawing, enum api_ink ink, enum api_anchor anchor,
                     double x, double y, const char *text);

/* Room at the left of a box for the labels of its axis. */
double api_axis_room(const struct api_axis *axis);

double api_axis_at(const struct api_axis *axis, double value, double begin, double length);

/* Below the box, and at its left. open: the box has no frame, but lines at the ticks of y and one
 * at its foot. */
void api_axis_x(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool open);
void api_axis_y(struct api_drawing *drawing, const struct api_box *box, const struct api_axis *axis,
                bool open);

/* Are two outputs drawn together: cos and sin, or min and max? */
bool api_plot_is_pair(const struct pe_output *a, const struct pe_output *b);

/* Numbers of one output row by row; NULL: err says why. In rooms of the arena. */
double *api_plot_numbers(struct api_drawing *drawing, size_t output, size_t row_begin,
                         size_t row_end);

const char *api_words(struct api_drawing *drawing, enum api_label label);

/* The words of a view's rows, columns and matrices. */
struct api_plot_words {
    enum api_label rows, columns, matrices;
    bool square; /* rows and columns are alike */
};
struct api_plot_words api_plot_words(const struct api_plot *plot, const struct pe_output *output);

enum pe_status api_heatmap_draw(struct api_drawing *drawing);
enum pe_status api_curves_draw(struct api_drawing *drawing);
enum pe_status api_points_draw(struct api_drawing *drawing);
enum pe_status api_circle_draw(struct api_drawing *drawing);
enum pe_status api_spectrum_draw(struct api_drawing *drawing);

/* Can a view whose first output this is be drawn as a spectrum? And nanoseconds that it takes. */
enum pe_status api_spectrum_check(const struct api_plot *plot, const struct pe_output *first,
                                  struct pe_error *err);
double api_spectrum_work(const struct api_plot *plot, const struct pe_output *first);

#endif
