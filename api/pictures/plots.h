/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_PLOTS_H
#define API_PICTURES_PLOTS_H

#include "api/pictures/canvas.h"
#include "api/response/result.h"

/* Views as pictures. A handler of views chooses how one is drawn before it is judged; a format of
 * pictures draws it. */

enum api_mark { API_HEATMAP, API_CURVES, API_POINTS, API_CIRCLE, API_SPECTRUM, API_ROWS };

enum {
    API_PANELS_MAX = 6,  /* matrices of a picture, or dials */
    API_TITLE_MAX = 200, /* bytes */
};

/* How a view is drawn: api_plot_choose fills it in. */
struct api_plot {
    struct pe_params params; /* of api_plot_list */
    const char *view, *name; /* of the view, of the encoding */
    const char *url;         /* whose GET draws the same; NULL: there is none */
    enum api_mark mark;
    bool pixels;                   /* or SVG */
    int scale;                     /* pixels of one of plain size */
    double more_work;              /* nanoseconds of a transform */
    double share;                  /* of the rows that are drawn: some of many matrices */
    size_t rows, columns;          /* of the first output, of a matrix of it, before it is pooled */
    double matrices;               /* of all outputs that are drawn, before they are pooled */
    size_t cells_high, cells_wide; /* that a matrix has at most when it is drawn */
    /* Where a row stands; NAN: nowhere. */
    double (*place)(const struct api_result *result, size_t row);
};

extern const struct pe_param api_plot_list[];
extern const size_t api_plot_count;

/* Binds to the arena what the parameters hold. */
enum pe_status api_plot_begin(struct api_request *request, struct api_plot *plot,
                              struct pe_error *err);

/* Reads the finished parameters, and decides by a view's outputs, not pooled, how it is drawn.
 * PE_NOT_ACCEPTABLE where it cannot be, PE_INVALID and PE_CONFLICT for parameters. */
enum pe_status api_plot_choose(struct api_plot *plot, const struct pe_view *view,
                               struct pe_error *err);

/* Decides how many cells each of so many matrices has. */
void api_plot_cells(struct api_plot *plot, double matrices);

/* How many of so many panels stand beside each other. */
size_t api_plot_across(size_t panels);

/* Nanoseconds that drawing takes beside the values, about. */
double api_plot_work(const struct api_plot *plot);

/* Can the outputs of a result be drawn? */
enum pe_status api_plot_check(const struct api_result *result, struct pe_error *err);

/* Draws a result that is prepared. The canvas has the picture in `out`, which is the caller's in
 * any case. */
enum pe_status api_plot_draw(struct api_request *request, struct api_result *result,
                             struct api_canvas *canvas, struct pe_error *err);

#endif
