/* SPDX-License-Identifier: MIT */
#include "api/pictures/plot.h"

#include <math.h>
#include <string.h>

#include "api/pictures/font.h"
#include "api/request/parameters.h"

const struct pe_param api_plot_list[] = {
    {.name = "plot",
     .type = PE_CHOICE,
     .choices = "heatmap,curves,points,circle,spectrum,rows",
     .doc = "The kind of picture; if absent the view's own kind. circle is for rotary tables, "
            "spectrum for tables and decays."},
    {.name = "plot_columns",
     .type = PE_RANGES,
     .min = 0,
     .max = 0x1p53 - 1,
     .doc = "The columns shown by curves and circle, at most 8, as numbers and ranges: 0,2,5..7. "
            "Chosen by the view if absent."},
    {.name = "plot_width",
     .type = PE_INTEGER,
     .min = 240,
     .max = 2000,
     .fallback = "720",
     .unit = "pixels",
     .doc = "The width of an SVG or PNG picture, margins and labels included; a PNG has "
            "plot_scale times as many pixels."},
    {.name = "plot_height",
     .type = PE_INTEGER,
     .min = 200,
     .max = 2000,
     .fallback = "440",
     .unit = "pixels",
     .doc = "The height of an SVG or PNG picture, title and labels included; a PNG has "
            "plot_scale times as many pixels."},
    {.name = "plot_scale",
     .type = PE_INTEGER,
     .min = 1,
     .max = 3,
     .fallback = "2",
     .doc = "The number of pixels of a PNG for each pixel of plot_width and plot_height."},
    {.name = "colormap",
     .type = PE_CHOICE,
     .choices = "rdbu,viridis",
     .doc = "The colours of a heatmap; if absent, rdbu where values have both signs and "
            "viridis otherwise."},
    {.name = "theme",
     .type = PE_CHOICE,
     .choices = "light,dark,auto",
     .fallback = "light",
     .doc = "The background and text colours of a picture; auto follows the viewer's "
            "setting."},
    {.name = "title", .type = PE_TEXT, .doc = "The title above a picture, at most 200 bytes."},
    {.name = "lang",
     .type = PE_CHOICE,
     .choices = "en,zh-CN",
     .fallback = "en",
     .doc = "The language of the labels of a picture."},
};

const size_t api_plot_count = sizeof(api_plot_list) / sizeof(api_plot_list[0]);

enum pe_status api_plot_begin(struct api_request *request, struct api_plot *plot,
                              struct pe_error *err)
{
    pe_params_init(&plot->params, api_plot_list, api_plot_count);
    return api_params_keep(request->arena, &plot->params)
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
}

/* ---- how a view is drawn -------------------------------------------------------------------- */

static const char *const labels[API_LABELS][API_LANGUAGES] = {
#define LABEL(id, english, chinese) {english, chinese},
#include "api/pictures/labels.def"
#undef LABEL
};

const char *api_label(enum api_language language, enum api_label label)
{
    return labels[label][language];
}

static const struct view {
    const char *name;
    enum api_mark mark;
    struct api_plot_words words;
} views[] = {
#define PLOT(view, mark, rows, columns, matrices, square)                                          \
    {view, API_##mark, {API_LABEL_##rows, API_LABEL_##columns, API_LABEL_##matrices, square}},
#include "api/pictures/views.def"
#undef PLOT
};

static const struct view *view_find(const char *name)
{
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
        if (strcmp(views[i].name, name) == 0)
            return &views[i];
    return NULL;
}

bool api_plot_is_pair(const struct pe_output *a, const struct pe_output *b)
{
    const size_t size = strlen(a->name);
    const bool waves = strncmp(a->name, "cos", 3) == 0 && strncmp(b->name, "sin", 3) == 0;
    const bool bounds = size > 4 && strcmp(a->name + size - 4, "_min") == 0;

    return (waves || bounds) && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

struct api_plot_words api_plot_words(const struct api_plot *plot, const struct pe_output *output)
{
    const struct api_plot_words plain = {API_LABEL_ROW, API_LABEL_COLUMN, API_LABEL_ROW, false};
    const struct view *view = view_find(plot->view);
    struct api_plot_words words = view ? view->words : plain;

    if (words.columns == API_LABEL_COLUMN &&
        (strncmp(output->name, "cos", 3) == 0 || strncmp(output->name, "sin", 3) == 0))
        words.columns = API_LABEL_PAIR;
    return words;
}

static enum api_mark mark_of(const struct api_plot *plot, const struct pe_output *first)
{
    const struct view *view = view_find(plot->view);
    const enum api_mark mark = view ? view->mark : first->rank > 1 ? API_HEATMAP : API_CURVES;

    if (pe_param_given(&plot->params, "plot"))
        return (enum api_mark)pe_param_number(&plot->params, "plot");
    return mark == API_HEATMAP && first->rank < 2 ? API_CURVES : mark;
}

/* ---- refusals ------------------------------------------------------------------------------- */

enum { PIXELS_MAX = 1 << 24 };

static enum pe_status title_check(const struct api_plot *plot, struct pe_error *err)
{
    const char *title = pe_param_text(&plot->params, "title");
    json_t *text = json_string(title ? title : "");
    const bool is_text = text;

    json_decref(text);
    if (!is_text)
        return pe_fail(err, PE_INVALID, "parameter:title", "title must be UTF-8");
    if (title && strlen(title) > API_TITLE_MAX)
        return pe_fail(err, PE_INVALID, "parameter:title", "title has at most %d bytes, got %zu",
                       API_TITLE_MAX, strlen(title));
    for (const unsigned char *at = (const unsigned char *)title; at && *at; at++)
        if (*at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0) ||
            (*at == 0xef && at[1] == 0xbf && at[2] >= 0xbe))
            return pe_fail(err, PE_INVALID, "parameter:title",
                           "title must be one line without control characters");
    return PE_OK;
}

/* Refuses parameters that only SVG can draw. */
static enum pe_status pixels_check(const struct api_plot *plot, struct pe_error *err)
{
    const char *title = pe_param_text(&plot->params, "title"), *lacks, *end;
    const double pixels = pe_param_number(&plot->params, "plot_width") *
                          pe_param_number(&plot->params, "plot_height") * plot->scale * plot->scale;

    if (!plot->pixels)
        return PE_OK;
    if (pe_param_number(&plot->params, "theme") == API_AUTO)
        return pe_fail(err, PE_INVALID, "parameter:theme",
                       "theme=auto follows the viewer's theme, which pixels cannot; ask for light "
                       "or dark, or for format=svg");
    if (pixels > PIXELS_MAX)
        return pe_fail(err, PE_INVALID, "parameter:plot_scale",
                       "a PNG has at most %d pixels, and plot_width x plot_height x plot_scale x "
                       "plot_scale are %.0f; ask for a smaller one, or for format=svg",
                       PIXELS_MAX, pixels);
    lacks = title ? api_font_lacks(title) : NULL;
    if (!lacks)
        return PE_OK;
    end = lacks;
    api_character_next(&end);
    return pe_fail(err, PE_INVALID, "parameter:title",
                   "format=png has letters for Latin, Greek and mathematics, and not %.*s; ask "
                   "for format=svg, which shows any script",
                   (int)(end - lacks), lacks);
}

static enum pe_status columns_check(const struct api_plot *plot, struct pe_error *err)
{
    const struct pe_value *list = pe_param_value(&plot->params, "plot_columns");

    if (!list->given)
        return PE_OK;
    if (plot->mark != API_CURVES && plot->mark != API_CIRCLE)
        return pe_fail(err, PE_CONFLICT, "parameter:plot_columns",
                       "plot_columns goes with plot=curves and plot=circle");
    if (list->list_count == 0 ||
        list->list_count > (plot->mark == API_CURVES ? API_CURVES_MAX : API_PANELS_MAX))
        return pe_fail(err, PE_INVALID, "parameter:plot_columns",
                       "curves are drawn of 1 to %d columns, circle of 1 to %d, got %zu",
                       API_CURVES_MAX, API_PANELS_MAX, list->list_count);
    for (size_t i = 0; i < list->list_count; i++)
        if (pe_value_at(list, i) >= (double)plot->columns)
            return pe_fail(err, PE_INVALID, "parameter:plot_columns",
                           "the view has columns 0 to %zu, got %.0f", plot->columns - 1,
                           pe_value_at(list, i));
    return PE_OK;
}

/* The most positions of a dial, points of a picture, and cells of an image. */
enum { DIAL_MAX = 512, POINTS_MAX = 4096, CELLS_MAX = 1 << 22 };

static enum pe_status marks_check(const struct api_plot *plot, const struct pe_view *view,
                                  struct pe_error *err)
{
    const struct pe_output *first = pe_view_output(view, 0), *second = pe_view_output(view, 1);
    const char *where = pe_param_given(&plot->params, "plot") ? "parameter:plot" : "";

    if (plot->mark == API_HEATMAP && (first->rank < 2 || first->rank > 3))
        return pe_fail(err, PE_NOT_ACCEPTABLE, where,
                       "a heat map is of two dimensions, or of three, and %s has %u; a list is "
                       "drawn by plot=curves and plot=points",
                       first->name, first->rank);
    if (plot->mark == API_CURVES && first->rank > 2)
        return pe_fail(err, PE_NOT_ACCEPTABLE, where,
                       "curves are of lists and tables, and %s has %u dimensions; ask for "
                       "plot=heatmap",
                       first->name, first->rank);
    if (plot->mark == API_ROWS && first->rank != 2)
        return pe_fail(err, PE_NOT_ACCEPTABLE, where,
                       "plot=rows draws rows of two dimensions over their columns, and %s has %u; "
                       "ask for plot=%s",
                       first->name, first->rank, first->rank < 2 ? "curves" : "heatmap");
    if (plot->mark == API_POINTS && first->rank > 1)
        return pe_fail(err, PE_NOT_ACCEPTABLE, where,
                       "plot=points draws a list, and %s has %u dimensions; ask for plot=heatmap",
                       first->name, first->rank);
    if (plot->mark == API_POINTS && plot->columns > POINTS_MAX)
        return pe_fail(err, PE_NOT_ACCEPTABLE, where,
                       "plot=points draws up to %d numbers, and %s has %zu; ask for plot=curves",
                       POINTS_MAX, first->name, plot->columns);
    if (plot->mark == API_CIRCLE &&
        (!second || first->rank != 2 || strncmp(first->name, "cos", 3) != 0 ||
         !api_plot_is_pair(first, second)))
        return pe_fail(err, PE_NOT_ACCEPTABLE, where,
                       "plot=circle draws cos and sin of a rotary table, and the answer begins "
                       "with %s",
                       first->name);
    if (plot->mark == API_CIRCLE && plot->rows > DIAL_MAX)
        return pe_fail(err, PE_NOT_ACCEPTABLE, where,
                       "plot=circle draws up to %d positions, and there are %zu; ask for a "
                       "shorter length, or a larger step",
                       DIAL_MAX, plot->rows);
    return plot->mark == API_SPECTRUM ? api_spectrum_check(plot, first, err) : PE_OK;
}

static enum pe_status outputs_check(const struct pe_output *first, struct pe_error *err)
{
    if (!pe_dtype_is_float(first->dtype) && first->dtype != PE_I64)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "parameter:dtype",
                       "a picture is of numbers and not of %s; leave dtype out",
                       pe_dtype_info(first->dtype)->name);
    if (first->is_complex)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "",
                       "a picture is of real numbers and %s is complex here; ask for one part",
                       first->name);
    if (first->rows == 0 || first->row_elements == 0)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "", "there is nothing to draw: %s has no elements",
                       first->name);
    return PE_OK;
}

size_t api_plot_across(size_t panels)
{
    return panels > 4 ? 3 : panels > 1 ? 2 : 1;
}

/* A cell for each pixel, up to CELLS_MAX. SVG may be enlarged, so each of its panels has as many
 * cells as the picture has pixels. */
void api_plot_cells(struct api_plot *plot, double matrices)
{
    const size_t panels = (size_t)fmin(matrices, API_PANELS_MAX), across = api_plot_across(panels);
    const size_t high = (size_t)pe_param_number(&plot->params, "plot_height");
    const size_t wide = (size_t)pe_param_number(&plot->params, "plot_width");
    size_t scale = (size_t)plot->scale;

    while (scale > 1 && high * wide * scale * scale > CELLS_MAX)
        scale--;
    plot->cells_high = high * scale / (plot->pixels ? (panels - 1) / across + 1 : 1);
    plot->cells_wide = wide * scale / (plot->pixels ? across : 1);
}

/* ---- choosing ------------------------------------------------------------------------------- */

enum pe_status api_plot_choose(struct api_plot *plot, const struct pe_view *view,
                               struct pe_error *err)
{
    const struct pe_output *first = pe_view_output(view, 0), *second = pe_view_output(view, 1);
    double matrices;

    plot->scale = plot->pixels ? (int)pe_param_number(&plot->params, "plot_scale") : 1;
    if (title_check(plot, err) || pixels_check(plot, err) || outputs_check(first, err))
        return err->status;
    plot->mark = mark_of(plot, first);
    plot->rows = first->rank > 1 ? first->shape[first->rank - 2] : 1;
    plot->columns = first->shape[first->rank - 1];
    matrices = plot->mark == API_HEATMAP && first->rank > 2 ? (double)first->shape[0] : 1;
    plot->fraction = fmin(API_PANELS_MAX / matrices, 1);
    plot->transform_cost = plot->mark == API_SPECTRUM ? api_spectrum_cost(plot, first) : 0;
    plot->matrices = matrices * (second && api_plot_is_pair(first, second) ? 2 : 1);
    api_plot_cells(plot, plot->mark == API_HEATMAP ? plot->matrices : 1);
    return marks_check(plot, view, err) ? err->status : columns_check(plot, err);
}

/* Pixels are blended, compressed and sent; SVG has few marks. A noisy curve has up to eight strokes
 * a pixel of the width, each about as long as the picture is high. */
double api_plot_cost(const struct api_plot *plot)
{
    const double width = pe_param_number(&plot->params, "plot_width");
    const double height = pe_param_number(&plot->params, "plot_height") * plot->scale;
    const double points = fmax((double)plot->rows, (double)plot->columns);
    const double strokes = API_CURVES_MAX * fmin(points, 8 * width);

    if (!plot->pixels)
        return width * height * plot->scale + plot->transform_cost;
    return 50 * width * plot->scale * height + plot->transform_cost +
           (plot->mark == API_HEATMAP || plot->mark == API_POINTS ? 0 : 10 * strokes * height);
}

enum pe_status api_plot_check(const struct api_result *result, struct pe_error *err)
{
    const struct api_plot *plot = result->plot;
    const struct pe_output *first = result->outputs_count > 0 ? &result->outputs[0] : NULL;

    if (!plot || !first)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "",
                       "pictures are of views of encodings; ask for format=json, npy, "
                       "safetensors or raw");
    if (outputs_check(first, err))
        return err->status;
    if ((plot->mark == API_HEATMAP || plot->mark == API_SPECTRUM) && first->rank > 1 &&
        first->row_elements > CELLS_MAX / first->shape[first->rank - 2])
        return pe_fail(err, PE_TOO_LARGE, "",
                       "a picture of %s has at most %d cells; ask for fewer rows", first->name,
                       CELLS_MAX);
    return PE_OK;
}
