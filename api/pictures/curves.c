/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/pictures/drawing.h"
#include "api/pictures/font.h"
#include "api/pictures/spectrum.h"
#include "posenc/work.h"

/* Curves of lists, or of rows or columns of a table. */

struct curve {
    char name[40];
    const double *values;
    size_t stride; /* from one value to the next */
};

struct chart {
    struct api_drawing *drawing;
    struct curve curves[API_CURVES_MAX];
    size_t count, all; /* curves that are drawn, and that exist */
    size_t length;     /* values of a curve */
    double *places;    /* x of each value */
    struct api_axis x, y;
    struct api_box box;
    struct api_plot_words words;
};

/* ---- curves --------------------------------------------------------------------------------- */

/* number NAN: the name has no number. */
static bool curve_add(struct chart *chart, const double *values, size_t stride, const char *name,
                      double number)
{
    struct curve *curve = &chart->curves[chart->count];
    char digits[API_TICK_SIZE];

    if (!values)
        return false;
    *curve = (struct curve){.values = values, .stride = stride};
    if (isfinite(number)) {
        api_tick_print(digits, number);
        snprintf(curve->name, sizeof(curve->name), "%.16s %.22s", name, digits);
    } else {
        snprintf(curve->name, sizeof(curve->name), "%.30s", name);
    }
    chart->count++;
    return true;
}

static bool is_spectrum(const struct chart *chart)
{
    return chart->drawing->plot->mark == API_SPECTRUM;
}

/* Takes all lists as long as the first, without the offsets, which are places. A spectrum is of the
 * first alone. */
static bool lists_take(struct chart *chart)
{
    const struct api_result *result = chart->drawing->result;
    const size_t most = is_spectrum(chart) ? 1 : API_CURVES_MAX;

    for (size_t i = 0; i < result->outputs_count && chart->count < most; i++) {
        const struct pe_output *output = &result->outputs[i];
        if (output->rank == 1 && output->row_elements == chart->length &&
            strcmp(output->name, "offsets") != 0 &&
            !curve_add(chart, api_plot_numbers(chart->drawing, i, 0, 1), 1, output->name, NAN))
            return false;
    }
    chart->all = chart->count;
    return true;
}

/* The output of sines, with a note, if the outputs are cos and sin; else the first. */
static size_t sines_of(struct chart *chart)
{
    const struct api_result *result = chart->drawing->result;
    const struct pe_output *outputs = result->outputs;
    const bool sines = result->outputs_count > 1 && strncmp(outputs[0].name, "cos", 3) == 0 &&
                       api_plot_is_pair(&outputs[0], &outputs[1]);

    if (sines)
        api_drawing_note(chart->drawing, outputs[1].name);
    return sines ? 1 : 0;
}

/* Takes rows, named by their positions or their indices. */
static bool rows_take(struct chart *chart, const struct pe_output *first)
{
    struct api_drawing *drawing = chart->drawing;
    const size_t shown = first->rows < API_CURVES_MAX ? first->rows : API_CURVES_MAX;
    const size_t output = sines_of(chart);

    chart->all = first->rows;
    for (size_t i = 0; i < shown; i++) {
        const size_t row = shown > 1 ? i * (first->rows - 1) / (shown - 1) : 0;
        const double place = chart->words.rows == API_LABEL_POSITION
                                 ? drawing->plot->place(drawing->result, row)
                                 : NAN;
        if (!curve_add(chart, api_plot_numbers(drawing, output, row, row + 1), 1,
                       api_drawing_word(drawing, chart->words.rows),
                       isfinite(place) ? place : (double)row))
            return false;
    }
    return true;
}

/* Takes the requested columns, or some from fast to slow that differ. */
static bool columns_take(struct chart *chart, const struct pe_output *first)
{
    const struct pe_value *list = pe_param_value(&chart->drawing->plot->params, "plot_columns");
    const double all = (double)first->row_elements;
    const double some[] = {0, floor(all / 8), floor(all / 4), floor(all / 2)};
    const size_t wanted = list->given ? list->list_count : sizeof(some) / sizeof(some[0]);
    const double *values = api_plot_numbers(chart->drawing, sines_of(chart), 0, first->rows);
    const char *word = api_drawing_word(chart->drawing, chart->words.columns);

    for (size_t i = 0; values && i < wanted; i++) {
        const double column = list->given ? pe_value_at(list, i) : some[i];
        if (column < all && (list->given || i == 0 || column > some[i - 1]))
            curve_add(chart, values + (size_t)column, first->row_elements, word, column);
    }
    chart->all = chart->count;
    return values;
}

static bool curves_take(struct chart *chart)
{
    const struct pe_output *first = &chart->drawing->result->outputs[0];

    if (first->rank == 1 || chart->words.columns == API_LABEL_OFFSET ||
        chart->drawing->plot->mark == API_ROWS) {
        chart->length = first->row_elements;
        return first->rank == 1 ? lists_take(chart) : rows_take(chart, first);
    }
    chart->length = first->rows;
    chart->words.columns = columns_take(chart, first) ? chart->words.rows : API_LABEL_ROW;
    if (chart->count == 0)
        pe_fail(chart->drawing->err, PE_OUT_OF_RANGE, "parameter:plot_columns",
                "there is no such column among the %zu that are drawn", first->row_elements);
    return chart->count > 0;
}

/* ---- places --------------------------------------------------------------------------------- */

/* The places are the offsets of the view, or the positions of rows, or their indices. */
static bool places_take(struct chart *chart)
{
    struct api_drawing *drawing = chart->drawing;
    const struct api_result *result = drawing->result;

    for (size_t i = 1; i < result->outputs_count; i++)
        if (strcmp(result->outputs[i].name, "offsets") == 0 &&
            result->outputs[i].row_elements == chart->length)
            return (chart->places = api_plot_numbers(drawing, i, 0, 1));
    chart->places = api_drawing_memory(drawing, chart->length);
    for (size_t i = 0; chart->places && i < chart->length; i++) {
        const double place =
            chart->words.columns == API_LABEL_POSITION ? drawing->plot->place(result, i) : NAN;
        chart->places[i] = isfinite(place) ? place : (double)i;
    }
    return chart->places;
}

/* Replaces values over places by amplitudes over frequencies. */
static enum pe_status spectrum_take(struct chart *chart)
{
    struct api_drawing *drawing = chart->drawing;
    const double work = api_fourier_cost(chart->length);
    struct api_spectrum spectrum;

    if (api_spectrum_begin(&spectrum, drawing, chart->places, chart->length))
        return drawing->err->status;
    for (size_t i = 0; i < chart->count; i++) {
        struct curve *curve = &chart->curves[i];
        double *amplitudes = api_drawing_memory(drawing, spectrum.count);
        if (!amplitudes || pe_work_spend(drawing->request->work, (uint64_t)work, drawing->err))
            return drawing->err->status;
        api_fourier_amplitudes(&spectrum.fourier, curve->values, curve->stride, amplitudes);
        curve->values = amplitudes;
        curve->stride = 1;
    }
    chart->places = spectrum.places;
    chart->length = spectrum.count;
    chart->x = api_spectrum_axis(&spectrum, drawing);
    return PE_OK;
}

/* ---- axes ----------------------------------------------------------------------------------- */

static void bound(double value, double *least, double *most)
{
    *least = isfinite(value) && value < *least ? value : *least;
    *most = isfinite(value) && value > *most ? value : *most;
}

static enum pe_status axes_make(struct chart *chart)
{
    double left = INFINITY, right = -INFINITY, least = INFINITY, most = -INFINITY, air;

    for (size_t j = 0; j < chart->length; j++) {
        bound(chart->places[j], &left, &right);
        for (size_t i = 0; i < chart->count; i++)
            bound(chart->curves[i].values[j * chart->curves[i].stride], &least, &most);
    }
    if (least > most)
        return pe_fail(chart->drawing->err, PE_NOT_ACCEPTABLE, "",
                       "there is nothing to draw: no value is finite");
    air = most > least ? (most - least) * 0.04 : fabs(most) > 0 ? fabs(most) / 2 : 1;
    chart->y = (struct api_axis){.first = most + air, .last = least - air};
    api_ticks_linear(&chart->y.ticks, least - air, most + air, 6, false);
    if (!is_spectrum(chart)) {
        chart->x =
            (struct api_axis){.first = left,
                              .last = right,
                              .label = api_drawing_word(chart->drawing, chart->words.columns)};
        api_ticks_linear(&chart->x.ticks, left, right, chart->drawing->width > 560 ? 9 : 5, false);
    }
    return isfinite(air)
               ? PE_OK
               : pe_fail(chart->drawing->err, PE_NOT_ACCEPTABLE, "",
                         "values from %.3g to %.3g are too far apart for an axis", least, most);
}

/* ---- marks ---------------------------------------------------------------------------------- */

static double x_of(const struct chart *chart, size_t at)
{
    return api_axis_at(&chart->x, chart->places[at], chart->box.x, chart->box.width);
}

enum { APART = 9 }; /* pixels between values from which on they have dots */

/* Points of a curve, with capacity for all of its values. */
struct trace {
    struct api_point *points;
    size_t count;
};

static void point_put(const struct chart *chart, const struct curve *curve, size_t at,
                      struct trace *trace)
{
    const double value = curve->values[at * curve->stride];
    const double y = api_axis_at(&chart->y, value, chart->box.y, chart->box.height);

    trace->points[trace->count++] = (struct api_point){isfinite(value) ? x_of(chart, at) : NAN, y};
}

/* The end of the run of points from `at` on that share half a pixel. */
static size_t run_end(const struct chart *chart, size_t at)
{
    const double pixel = floor(2 * x_of(chart, at));
    size_t end = at + 1;

    while (end < chart->length && floor(2 * x_of(chart, end)) == pixel)
        end++;
    return end;
}

/* Adds the first, the least, the greatest and the last point of a run: others would not be visible.
 */
static void run_put(const struct chart *chart, const struct curve *curve, size_t begin, size_t end,
                    struct trace *trace)
{
    size_t low = begin, high = begin, before = SIZE_MAX;

    for (size_t i = begin; i < end; i++) {
        const double value = curve->values[i * curve->stride];
        const double least = curve->values[low * curve->stride];
        const double most = curve->values[high * curve->stride];
        low = value < least || !isfinite(least) ? i : low;
        high = value > most || !isfinite(most) ? i : high;
    }
    const size_t order[] = {begin, low < high ? low : high, low < high ? high : low, end - 1};
    for (int i = 0; i < 4; i++) {
        if (order[i] != before)
            point_put(chart, curve, order[i], trace);
        before = order[i];
    }
}

static bool is_dashed(const struct curve *curve)
{
    return strcmp(curve->name, "envelope") == 0;
}

static bool has_dots(const struct chart *chart)
{
    return chart->box.width >= APART * (double)chart->length;
}

static bool curve_put(const struct chart *chart, size_t index)
{
    struct api_canvas *canvas = chart->drawing->canvas;
    const struct curve *curve = &chart->curves[index];
    const enum api_ink ink = (enum api_ink)(API_CURVE + index);
    const size_t most = chart->length; /* a run has at most as many points as values */
    struct trace trace = {
        .points = (void *)api_arena_buffer(canvas->arena, most * sizeof(*trace.points))};

    for (size_t at = 0; trace.points && at < chart->length;) {
        const size_t end = run_end(chart, at);
        run_put(chart, curve, at, end, &trace);
        at = end;
    }
    if (!trace.points)
        return false;
    canvas->type->path(canvas, ink, is_dashed(curve), trace.points, trace.count);
    for (size_t i = 0; has_dots(chart) && !is_dashed(curve) && i < trace.count; i++)
        if (isfinite(trace.points[i].x))
            canvas->type->disc(canvas, ink, trace.points[i], 2.25, 1);
    api_arena_buffer_drop(canvas->arena, (void *)trace.points);
    return true;
}

/* Where the name of a curve is in the legend, in lines above the box. */
struct place {
    double x, line;
};

static struct place legend_place(const struct chart *chart, size_t index)
{
    struct place at = {chart->box.x, 0};

    for (size_t i = 0;; i++) {
        const double width = 24 + 12 * api_text_width(chart->curves[i].name, false) + 18;
        if (at.x + width > chart->drawing->width && i > 0)
            at = (struct place){chart->box.x, at.line + 1};
        if (i == index)
            return at;
        at.x += width;
    }
}

static void legend_put(const struct chart *chart)
{
    struct api_canvas *canvas = chart->drawing->canvas;

    for (size_t i = 0; i < chart->count; i++) {
        const struct place at = legend_place(chart, i);
        const double y = API_TOP + 6 + 18 * at.line;
        canvas->type->path(canvas, (enum api_ink)(API_CURVE + i), is_dashed(&chart->curves[i]),
                           (struct api_point[]){{at.x, y - 4}, {at.x + 18, y - 4}}, 2);
        api_drawing_write(chart->drawing, API_TEXT, API_START, at.x + 24, y, chart->curves[i].name);
    }
}

static double legend_height(const struct chart *chart)
{
    return 18 * (legend_place(chart, chart->count - 1).line + 1) + 6;
}

enum pe_status api_curves_draw(struct api_drawing *drawing)
{
    struct chart chart = {.drawing = drawing,
                          .words = api_plot_words(drawing->plot, &drawing->result->outputs[0])};
    double top;

    if (!curves_take(&chart) || !places_take(&chart) ||
        (is_spectrum(&chart) && spectrum_take(&chart)) || axes_make(&chart))
        return drawing->err->status;
    if (chart.all > chart.count)
        api_drawing_note(drawing, api_arena_print(drawing->request->arena, "%s %zu / %zu",
                                                  api_drawing_word(drawing, API_LABEL_SHOWN),
                                                  chart.count, chart.all));
    chart.box.x = api_axis_width(&chart.y);
    top = API_TOP + legend_height(&chart);
    chart.box = (struct api_box){chart.box.x, top, drawing->width - chart.box.x - 24,
                                 drawing->height - top - 52};
    api_drawing_begin(drawing);
    api_axis_y(drawing, &chart.box, &chart.y, true);
    api_axis_x(drawing, &chart.box, &chart.x, true);
    for (size_t i = 0; i < chart.count; i++)
        drawing->canvas->failed |= !curve_put(&chart, chart.count - 1 - i);
    legend_put(&chart);
    return PE_OK;
}
