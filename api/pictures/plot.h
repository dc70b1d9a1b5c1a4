/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_PLOTS_H
#define API_PICTURES_PLOTS_H

#include "api/pictures/canvas.h"
#include "api/response/result.h"

/* Views as pictures. The route of views chooses how one is drawn, before limits are checked; a
 * format of pictures draws it. */

enum api_mark { API_HEATMAP, API_CURVES, API_POINTS, API_CIRCLE, API_SPECTRUM, API_ROWS };

enum {
    API_PANELS_MAX = 6,  /* matrices of a picture, or dials */
    API_TITLE_MAX = 200, /* bytes */
};

/* How a view is drawn: api_plot_choose fills it in. */
struct api_plot {
    struct pe_params params; /* of api_plot_list */
    const char *view, *name; /* names of the view and the encoding */
    const char *url;         /* whose GET draws the same picture; NULL: none */
    enum api_mark mark;
    bool pixels;                   /* or SVG */
    int scale;                     /* plot_scale of pixels, else 1 */
    double transform_cost;         /* nanoseconds of the Fourier transforms */
    double fraction;               /* of the rows that is drawn: some of many matrices */
    size_t rows, columns;          /* of a matrix of the first output, before pooling */
    double matrices;               /* of the outputs that are drawn, before pooling */
    size_t cells_high, cells_wide; /* of a matrix, at most, after pooling */
    /* The position of a row; NAN: none. */
    double (*place)(const struct api_result *result, size_t row);
};

extern const struct pe_param api_plot_list[];
extern const size_t api_plot_count;

/* Sets up the parameters, which the arena frees. */
enum pe_status api_plot_begin(struct api_request *request, struct api_plot *plot,
                              struct pe_error *err);

/* Decides by the parameters and the outputs of a view, before pooling, how it is drawn.
 * PE_NOT_ACCEPTABLE if it cannot be drawn, PE_INVALID and PE_CONFLICT for parameters. */
enum pe_status api_plot_choose(struct api_plot *plot, const struct pe_view *view,
                               struct pe_error *err);

/* Sets the cells of each of so many matrices. */
void api_plot_cells(struct api_plot *plot, double matrices);

/* The panels of a row, of so many in total. */
size_t api_plot_across(size_t panels);

/* Estimated nanoseconds of drawing, without those of the values. */
double api_plot_cost(const struct api_plot *plot);

/* Can the outputs of a result be drawn? */
enum pe_status api_plot_check(const struct api_result *result, struct pe_error *err);

/* Draws a prepared result. canvas->out has the picture, and belongs to the caller even on failure.
 */
enum pe_status api_plot_draw(struct api_request *request, struct api_result *result,
                             struct api_canvas *canvas, struct pe_error *err);

/* ---- words ----------------------------------------------------------------------------------- */

enum api_label {
#define LABEL(id, english, chinese) API_LABEL_##id,
#include "api/pictures/labels.def"
#undef LABEL
    API_LABELS
};

const char *api_label(enum api_language language, enum api_label label);

/* The labels of a view's rows, columns and matrices. */
struct api_plot_words {
    enum api_label rows, columns, matrices;
    bool square; /* rows and columns have the same meaning */
};
struct api_plot_words api_plot_words(const struct api_plot *plot, const struct pe_output *output);

/* ---- for plot.c and the marks ---------------------------------------------------------------- */

/* Are two outputs drawn together, as cos and sin, or min and max? */
bool api_plot_is_pair(const struct pe_output *a, const struct pe_output *b);

/* Can a view with this first output be drawn as a spectrum, and in how many nanoseconds? */
enum pe_status api_spectrum_check(const struct api_plot *plot, const struct pe_output *first,
                                  struct pe_error *err);
double api_spectrum_cost(const struct api_plot *plot, const struct pe_output *first);

#endif
