/* SPDX-License-Identifier: MIT */
#include "api/pictures/spectrum.h"

#include <math.h>
#include <string.h>

#include "posenc/work.h"

/* ---- the transform -------------------------------------------------------------------------- */

enum { FINER = 4 }; /* zero padding: the transform has at least so many bins for each value */

static size_t size_of(size_t count)
{
    size_t size = 1;

    while (size < FINER * count)
        size *= 2;
    return size;
}

/* By halving angles and by their products, so that the error is a few roundings. */
static void roots_make(struct api_fourier *fourier)
{
    double *roots = fourier->roots, c = 0, s = -1; /* k = size / 4 */

    roots[0] = 1;
    roots[1] = 0;
    for (size_t bit = fourier->size / 4; bit > 0; bit /= 2) {
        roots[2 * bit] = c;
        roots[2 * bit + 1] = s;
        c = sqrt((1 + c) / 2);
        s = s / (2 * c);
    }
    for (size_t bit = 2; bit < fourier->size / 2; bit *= 2)
        for (size_t k = bit + 1; k < 2 * bit; k++) {
            const double *a = &roots[2 * bit], *b = &roots[2 * (k - bit)];
            roots[2 * k] = a[0] * b[0] - a[1] * b[1];
            roots[2 * k + 1] = a[0] * b[1] + a[1] * b[0];
        }
}

/* Swaps each value with that of the bit-reversed index. */
static void order_reverse(double *wave, size_t size)
{
    for (size_t i = 0, j = 0; i < size; i++) {
        size_t bit = size / 2;
        for (int part = 0; j > i && part < 2; part++) {
            const double kept = wave[2 * i + (size_t)part];
            wave[2 * i + (size_t)part] = wave[2 * j + (size_t)part];
            wave[2 * j + (size_t)part] = kept;
        }
        for (; bit > 0 && (j & bit); bit /= 2)
            j -= bit;
        j += bit;
    }
}

/* The fast Fourier transform by Cooley and Tukey. */
static void wave_transform(struct api_fourier *fourier)
{
    const size_t size = fourier->size;

    order_reverse(fourier->wave, size);
    for (size_t half = 1; half < size; half *= 2)
        for (size_t begin = 0; begin < size; begin += 2 * half)
            for (size_t k = 0; k < half; k++) {
                const double *root = &fourier->roots[k * (size / half)];
                double *a = &fourier->wave[2 * (begin + k)], *b = a + 2 * half;
                const double re = b[0] * root[0] - b[1] * root[1];
                const double im = b[0] * root[1] + b[1] * root[0];
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
}

static double magnitude(const struct api_fourier *fourier, size_t k)
{
    const double *at = &fourier->wave[2 * k];

    return sqrt(at[0] * at[0] + at[1] * at[1]);
}

/* The weights are zero at both ends, so that a sine between two bins does not leak into all others.
 */
static void window_make(struct api_fourier *fourier)
{
    const double count = (double)fourier->count;

    for (size_t i = 0; i < fourier->count; i++) {
        const double u = (2 * (double)i + 1 - count) / count;
        fourier->window[i] = (1 - u * u) * (1 - u * u);
    }
}

/* A sine has a peak at its frequency and at the negative one. Near the highest frequency these
 * overlap, and the peak contains both. */
static void gains_make(struct api_fourier *fourier)
{
    const size_t size = fourier->size;

    memset(fourier->wave, 0, 2 * size * sizeof(*fourier->wave));
    for (size_t i = 0; i < fourier->count; i++)
        fourier->wave[2 * i] = fourier->window[i];
    wave_transform(fourier);
    for (size_t k = fourier->first; k <= fourier->last; k++)
        fourier->gains[k - fourier->first] =
            2 / (magnitude(fourier, 0) + magnitude(fourier, 2 * k % size));
}

bool api_fourier_begin(struct api_fourier *fourier, struct api_arena *arena, size_t count)
{
    const size_t size = size_of(count), bytes = size * sizeof(double);

    *fourier = (struct api_fourier){
        .count = count,
        .size = size,
        .first = (size + count - 1) / count, /* one cycle in all values */
        .last = size / 2,
        .window = (double *)(void *)api_arena_buffer(arena, count * sizeof(double)),
        .roots = (double *)(void *)api_arena_buffer(arena, bytes),
        .wave = (double *)(void *)api_arena_buffer(arena, 2 * bytes),
        .gains = (double *)(void *)api_arena_buffer(arena, bytes),
    };
    if (!fourier->window || !fourier->roots || !fourier->wave || !fourier->gains)
        return false;
    roots_make(fourier);
    window_make(fourier);
    gains_make(fourier);
    return true;
}

/* The mean that is removed is weighted by the window. */
void api_fourier_amplitudes(struct api_fourier *fourier, const double *values, size_t stride,
                            double *amplitudes)
{
    double sum = 0, weights = 0;

    for (size_t i = 0; i < fourier->count; i++) {
        sum += fourier->window[i] * values[i * stride];
        weights += fourier->window[i];
    }
    memset(fourier->wave, 0, 2 * fourier->size * sizeof(*fourier->wave));
    for (size_t i = 0; i < fourier->count; i++)
        fourier->wave[2 * i] = fourier->window[i] * (values[i * stride] - sum / weights);
    wave_transform(fourier);
    for (size_t k = fourier->first; k <= fourier->last; k++)
        amplitudes[k - fourier->first] = magnitude(fourier, k) * fourier->gains[k - fourier->first];
}

double api_fourier_cost(size_t count)
{
    double steps = 1;

    for (size_t size = size_of(count); size > 1; size /= 2)
        steps++;
    return 2 * (double)size_of(count) * steps;
}

#define PI   3.14159265358979324
#define NEAR 1e-6 /* of a step: the tolerance of evenly spaced places */

/* ---- views ---------------------------------------------------------------------------------- */

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

double api_spectrum_cost(const struct api_plot *plot, const struct pe_output *first)
{
    return has_rows(plot, first) ? (double)plot->columns * api_fourier_cost(plot->rows)
                                 : API_CURVES_MAX * api_fourier_cost(plot->columns);
}

/* ---- frequencies ---------------------------------------------------------------------------- */

/* The step between places; NAN: they are not evenly spaced. */
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
    spectrum->places = api_drawing_memory(drawing, spectrum->count);
    spectrum->amplitudes = spectrum->places ? api_drawing_memory(drawing, spectrum->count) : NULL;
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
                            .label = api_drawing_word(drawing, API_LABEL_FREQUENCY)};

    api_ticks_decades(&axis.ticks, axis.first, axis.last, 9);
    return axis;
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* A column of cells. */
struct strip {
    double *cells;
    size_t rows, stride;
};

static void cell_raise(const struct strip *strip, size_t row, double value)
{
    double *cell = &strip->cells[(row < strip->rows ? row : strip->rows - 1) * strip->stride];

    *cell = *cell >= value ? *cell : value;
}

/* Rows between two bins, of which there are many at low frequencies, are interpolated linearly. */
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
    double *places = api_drawing_memory(drawing, count);

    for (size_t i = 0; places && i < count; i++)
        places[i] = drawing->plot->place(drawing->result, i);
    return places;
}

double *api_spectrum_cells(struct api_drawing *drawing, struct api_axis *axis, size_t rows,
                           size_t columns)
{
    const struct pe_output *output = &drawing->result->outputs[0];
    const size_t wide = output->row_elements;
    const double work = api_fourier_cost(output->rows);
    const double *places = places_take(drawing, output->rows), *values;
    double *cells = places ? api_drawing_memory(drawing, rows * columns) : NULL;
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
    api_drawing_note(drawing, api_drawing_word(drawing, API_LABEL_AMPLITUDE));
    return has_rows(drawing->plot, &drawing->result->outputs[0]) ? api_heatmap_draw(drawing)
                                                                 : api_curves_draw(drawing);
}
