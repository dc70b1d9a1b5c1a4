/* SPDX-License-Identifier: MIT */
#include "api/pictures/spectrum.h"

#include <math.h>
#include <string.h>

#include "posenc/work.h"

#define PI   3.14159265358979324
#define NEAR 1e-6 /* of a step: places that are computed are no further from evenly spaced ones */

/* ---- of which views ------------------------------------------------------------------------- */

static bool has_rows(const struct api_plot *plot, const struct pe_output *first)
{
    const struct api_plot_words words = api_plot_words(plot, first);

    return first->rank == 2 && words.rows == API_LABEL_POSITION && !words.square;
}

static bool has_curves(const struct api_plot *plot, const struct pe_output *first)
{
    const struct api_plot_words words = api_plot_words(plot, first);

    return words.columns == API_LABEL_OFFSET ||
           (first->rank == 1 && words.columns == API_LABEL_POSITION);
}

enum pe_status api_spectrum_check(const struct api_plot *plot, const struct pe_output *first,
                                  struct pe_error *err)
{
    const size_t count = has_rows(plot, first) ? plot->rows : plot->columns;

    if (!has_rows(plot, first) && !has_curves(plot, first))
        return pe_fail(err, PE_NOT_ACCEPTABLE, "parameter:plot",
                       "plot=spectrum draws numbers along positions or offsets, and these are %s: "
                       "ask for a table of two dimensions, or for analysis/decay",
                       first->name);
    if (count < API_FOURIER_MIN || count > API_FOURIER_MAX)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "parameter:plot",
                       "plot=spectrum is of %d to %d positions or offsets, and there are %zu",
                       API_FOURIER_MIN, API_FOURIER_MAX, count);
    return PE_OK;
}

double api_spectrum_work(const struct api_plot *plot, const struct pe_output *first)
{
    return has_rows(plot, first) ? (double)plot->columns * api_fourier_work(plot->rows)
                                 : API_CURVES_MAX * api_fourier_work(plot->columns);
}

/* ---- frequencies ---------------------------------------------------------------------------- */

static double *numbers_take(struct api_drawing *drawing, size_t count)
{
    double *numbers =
        (double *)(void *)api_arena_room(drawing->request->arena, count * sizeof(*numbers));

    if (!numbers)
        pe_fail(drawing->err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
    return numbers;
}

/* From one place to the next; NAN: they are not evenly spaced. */
static double step_of(const double *places, size_t count)
{
    const double step = (places[count - 1] - places[0]) / (double)(count - 1);

    for (size_t i = 0; i < count; i++)
        if (!(fabs(places[i] - places[0] - step * (double)i) <= NEAR * fabs(step)))
            return NAN;
    return step != 0 ? fabs(step) : NAN;
}

enum pe_status api_spectrum_begin(struct api_spectrum *spectrum, struct api_drawing *drawing,
                                  const double *places, size_t count)
{
    const double step = step_of(places, count);
    struct api_fourier *fourier = &spectrum->fourier;

    if (!isfinite(step))
        return pe_fail(drawing->err, PE_NOT_ACCEPTABLE, "parameter:plot",
                       "plot=spectrum is of places that are evenly spaced, and these are not");
    if (!api_fourier_begin(fourier, drawing->request->arena, count))
        return pe_fail(drawing->err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
    spectrum->count = fourier->last - fourier->first + 1;
    spectrum->places = numbers_take(drawing, spectrum->count);
    spectrum->amplitudes = spectrum->places ? numbers_take(drawing, spectrum->count) : NULL;
    if (!spectrum->amplitudes)
        return drawing->err->status;
    for (size_t k = 0; k < spectrum->count; k++)
        spectrum->places[k] =
            api_log10(2 * PI * (double)(fourier->first + k) / ((double)fourier->size * step));
    return PE_OK;
}

struct api_axis api_spectrum_axis(const struct api_spectrum *spectrum, struct api_drawing *drawing)
{
    struct api_axis axis = {.first = spectrum->places[0],
                            .last = spectrum->places[spectrum->count - 1],
                            .label = api_words(drawing, API_LABEL_TURN)};

    api_ticks_decades(&axis.ticks, axis.first, axis.last, 9);
    return axis;
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* One column of cells, `every` apart. */
struct strip {
    double *cells;
    size_t rows, every;
};

static void cell_raise(const struct strip *strip, size_t row, double value)
{
    double *cell = &strip->cells[(row < strip->rows ? row : strip->rows - 1) * strip->every];

    *cell = *cell >= value ? *cell : value;
}

/* Rows that have no frequency, of which there are many where those are low, lie on a line between
 * their neighbours. */
static void strip_fill(const struct strip *strip, const struct api_spectrum *spectrum)
{
    const double *places = spectrum->places, *values = spectrum->amplitudes;
    const double high = places[spectrum->count - 1];
    const double scale = (double)strip->rows / (high - places[0]);
    double before = (double)strip->rows;

    for (size_t k = 0; k < spectrum->count; k++) {
        const double at = (high - places[k]) * scale;
        for (double row = floor(at) + 1; k > 0 && row + 1 <= before; row++)
            cell_raise(strip, (size_t)row,
                       values[k] + (values[k - 1] - values[k]) * (row + 0.5 - at) / (before - at));
        cell_raise(strip, (size_t)at, values[k]);
        before = at;
    }
}

static double *places_take(struct api_drawing *drawing, size_t count)
{
    double *places = numbers_take(drawing, count);

    for (size_t i = 0; places && i < count; i++)
        places[i] = drawing->plot->place(drawing->result, i);
    return places;
}

double *api_spectrum_cells(struct api_drawing *drawing, struct api_axis *axis, size_t rows,
                           size_t columns)
{
    const struct pe_output *output = &drawing->result->outputs[0];
    const size_t wide = output->row_elements;
    const double work = api_fourier_work(output->rows);
    const double *places = places_take(drawing, output->rows), *values;
    double *cells = places ? numbers_take(drawing, rows * columns) : NULL;
    struct api_spectrum spectrum;

    if (!cells || api_spectrum_begin(&spectrum, drawing, places, output->rows))
        return NULL;
    values = api_plot_numbers(drawing, 0, 0, output->rows);
    memset(cells, 0, rows * columns * sizeof(*cells));
    for (size_t i = 0; values && i < wide; i++) {
        const struct strip strip = {cells + i * columns / wide, rows, columns};
        if (pe_work_spend(drawing->request->work, (uint64_t)work, drawing->err))
            return NULL;
        api_fourier_amplitudes(&spectrum.fourier, values + i, wide, spectrum.amplitudes);
        strip_fill(&strip, &spectrum);
    }
    *axis = api_spectrum_axis(&spectrum, drawing);
    *axis = (struct api_axis){axis->last, axis->first, axis->ticks, axis->label};
    return values ? cells : NULL;
}

/* ---- the picture ---------------------------------------------------------------------------- */

enum pe_status api_spectrum_draw(struct api_drawing *drawing)
{
    api_frame_note(drawing, api_words(drawing, API_LABEL_AMPLITUDE));
    return has_rows(drawing->plot, &drawing->result->outputs[0]) ? api_heatmap_draw(drawing)
                                                                 : api_curves_draw(drawing);
}
