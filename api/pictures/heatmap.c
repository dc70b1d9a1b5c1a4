/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/pictures/drawing.h"
#include "api/pictures/font.h"
#include "api/pictures/spectrum.h"

/* Matrices as images, a pixel for each value, side by side and on one scale. */

struct panel {
    const struct pe_output *output;
    size_t matrix;
    double *values;
};

enum { GAP = 16, NAME = 22, BELOW = 52 }; /* between panels, above each, under the lowest */

struct map {
    struct api_drawing *drawing;
    struct panel panels[API_PANELS_MAX];
    size_t count, all; /* panels that are drawn, and that exist */
    size_t high, wide; /* cells of a panel */
    struct api_scale scale;
    struct api_axis rows, columns, bar;
    bool has_blank;
    struct api_plot_words words;
};

/* ---- values --------------------------------------------------------------------------------- */

static size_t matrices_of(const struct pe_output *output)
{
    return output->rank > 2 ? output->shape[0] : 1;
}

/* Of too many matrices takes evenly spaced ones, with the first and the last. */
static bool panels_fill(struct map *map)
{
    const struct api_result *result = map->drawing->result;
    const struct pe_output *first = &result->outputs[0];
    const bool pair = result->outputs_count > 1 && api_plot_is_pair(first, &result->outputs[1]);
    const size_t matrices = matrices_of(first);

    map->high = first->shape[first->rank - 2];
    map->wide = first->row_elements;
    map->all = matrices * (pair ? 2 : 1);
    map->count = map->all < API_PANELS_MAX ? map->all : API_PANELS_MAX;
    for (size_t i = 0; i < map->count; i++) {
        const size_t at = map->count > 1 ? i * (map->all - 1) / (map->count - 1) : 0;
        const size_t output = at / matrices, row = at % matrices * map->high;
        map->panels[i] =
            (struct panel){&result->outputs[output], at % matrices,
                           api_plot_numbers(map->drawing, output, row, row + map->high)};
        if (!map->panels[i].values)
            return false;
    }
    return true;
}

/* One matrix of frequencies by columns, with a row for each pixel, so that no peak is averaged
 * away. */
static bool spectrum_fill(struct map *map)
{
    struct api_drawing *drawing = map->drawing;
    const struct api_plot *plot = drawing->plot;
    const struct pe_output *first = &drawing->result->outputs[0];

    map->count = map->all = 1;
    map->high =
        ((size_t)drawing->height - API_TOP - BELOW) * plot->cells_high / (size_t)drawing->height;
    map->wide = plot->columns < plot->cells_wide ? plot->columns : plot->cells_wide;
    map->panels[0] =
        (struct panel){first, 0, api_spectrum_cells(drawing, &map->rows, map->high, map->wide)};
    if (drawing->result->outputs_count > 1)
        api_drawing_note(drawing, first->name);
    return map->panels[0].values;
}

static bool is_spectrum(const struct map *map)
{
    return map->drawing->plot->mark == API_SPECTRUM;
}

static enum pe_status scale_find(struct map *map)
{
    const struct pe_params *params = &map->drawing->plot->params;
    const size_t cells = map->high * map->wide;
    double least = INFINITY, most = -INFINITY;

    for (size_t i = 0; i < map->count; i++)
        for (size_t j = 0; j < cells; j++) {
            const double value = map->panels[i].values[j];
            map->has_blank |= !isfinite(value);
            least = isfinite(value) && value < least ? value : least;
            most = isfinite(value) && value > most ? value : most;
        }
    if (least > most)
        return pe_fail(map->drawing->err, PE_NOT_ACCEPTABLE, "",
                       "there is nothing to draw: no value of %s is finite",
                       map->panels[0].output->name);
    map->scale = api_scale_of(
        least, most,
        pe_param_given(params, "colormap") ? (int)pe_param_number(params, "colormap") : -1);
    return PE_OK;
}

/* ---- axes ----------------------------------------------------------------------------------- */

/* Puts ticks at round positions. False: the positions are not evenly spaced. */
static bool places_axis(const struct api_drawing *drawing, struct api_axis *axis, size_t count,
                        size_t wanted)
{
    const double first = drawing->plot->place(drawing->result, 0);
    const double last = drawing->plot->place(drawing->result, count - 1);
    const double step = (last - first) / (double)(count > 1 ? count - 1 : 1);

    for (size_t i = 1; i < 8 && i < count; i++) {
        const size_t row = i * (count - 1) / 8;
        if (drawing->plot->place(drawing->result, row) != first + step * (double)row)
            return false;
    }
    if (!(step > 0) || !isfinite(step))
        return false;
    axis->first = first - step / 2;
    axis->last = last + step / 2;
    api_ticks_linear(&axis->ticks, first, last, wanted, step >= 1);
    return true;
}

/* Puts ticks at indices of rows (or columns), labelled by their positions if these are known. */
static void axis_make(struct map *map, struct api_axis *axis, enum api_label label, size_t count,
                      size_t wanted)
{
    const struct api_drawing *drawing = map->drawing;
    bool at_places = true;

    *axis = (struct api_axis){
        .first = -0.5, .last = (double)count - 0.5, .label = api_drawing_word(map->drawing, label)};
    if (label != API_LABEL_POSITION && label != API_LABEL_QUERY)
        at_places = false;
    else if (places_axis(drawing, axis, count, wanted))
        return;
    api_ticks_linear(&axis->ticks, 0, (double)count - 1, wanted, true);
    for (size_t i = 0; at_places && i < axis->ticks.count; i++) {
        struct api_tick *tick = &axis->ticks.list[i];
        const double place = drawing->plot->place(drawing->result, (size_t)tick->value);
        if (isfinite(place))
            api_tick_print(tick->label, place);
    }
}

static void axes_make(struct map *map)
{
    const struct api_plot *plot = map->drawing->plot;
    const double width = map->drawing->width / (double)api_plot_across(map->count);

    if (!is_spectrum(map))
        axis_make(map, &map->rows, map->words.rows, plot->rows, map->count > 3 ? 4 : 7);
    axis_make(map, &map->columns, map->words.columns, plot->columns,
              width > 600   ? 9
              : width > 250 ? 5
                            : 3);
    map->bar = (struct api_axis){.first = map->scale.most, .last = map->scale.least};
    api_ticks_linear(&map->bar.ticks, map->scale.least, map->scale.most, 6, false);
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void image_put(struct map *map, const struct api_box *box, const unsigned char *pixels,
                      size_t wide, size_t high)
{
    struct api_canvas *canvas = map->drawing->canvas;
    struct api_colours colours;

    api_palette_make(map->scale.palette, &colours);
    canvas->type->image(canvas, box, &colours, pixels, wide, high);
    api_box_draw(canvas, API_AXIS, box);
}

static void bar_put(struct map *map, const struct api_box *box)
{
    unsigned char pixels[API_COLOUR_LAST + 1];
    const double right = box->x + box->width;

    for (int i = 0; i <= API_COLOUR_LAST; i++)
        pixels[i] = (unsigned char)(API_COLOUR_LAST - i);
    image_put(map, box, pixels, 1, sizeof(pixels));
    for (size_t i = 0; i < map->bar.ticks.count; i++) {
        const struct api_tick *tick = &map->bar.ticks.list[i];
        const double y = api_axis_at(&map->bar, tick->value, box->y, box->height);
        api_line_draw(map->drawing->canvas, API_AXIS, (struct api_point){right, y},
                      (struct api_point){right + 4, y});
        api_drawing_write(map->drawing, API_MUTED, API_START, right + 8, y + 4, tick->label);
    }
}

static void panel_name(struct map *map, const struct panel *panel, const struct api_box *box)
{
    char name[80];

    if (matrices_of(panel->output) > 1)
        snprintf(name, sizeof(name), "%s %zu", api_drawing_word(map->drawing, map->words.matrices),
                 panel->matrix);
    else
        snprintf(name, sizeof(name), "%.60s", panel->output->name);
    api_drawing_write(map->drawing, API_TEXT, API_START, box->x, box->y - 7, name);
}

static bool panel_put(struct map *map, const struct panel *panel, const struct api_box *box)
{
    struct api_arena *arena = map->drawing->request->arena;
    const size_t cells = map->high * map->wide;
    unsigned char *pixels = api_arena_buffer(arena, cells);

    if (!pixels)
        return false;
    for (size_t i = 0; i < cells; i++)
        pixels[i] = api_scale_index(&map->scale, panel->values[i]);
    image_put(map, box, pixels, map->wide, map->high);
    api_arena_buffer_drop(arena, pixels);
    if (map->count > 1)
        panel_name(map, panel, box);
    return true;
}

/* ---- the picture ---------------------------------------------------------------------------- */

static void notes_make(struct map *map)
{
    struct api_drawing *drawing = map->drawing;
    const struct api_plot *plot = drawing->plot;
    struct api_arena *arena = drawing->request->arena;

    if (map->all > map->count)
        api_drawing_note(drawing, api_arena_print(arena, "%s %zu / %zu",
                                                  api_drawing_word(drawing, API_LABEL_SHOWN),
                                                  map->count, map->all));
    if (!is_spectrum(map) && (map->high < plot->rows || map->wide < plot->columns))
        api_drawing_note(drawing, api_arena_print(arena, "%zu × %zu %s", plot->rows, plot->columns,
                                                  api_drawing_word(drawing, API_LABEL_POOLED)));
    if (map->has_blank)
        api_drawing_note(drawing, api_drawing_word(drawing, API_LABEL_BLANK));
}

/* The gap between panels, wide enough for the labels at the ends of two axes. */
static double gap_of(const struct map *map)
{
    const struct api_ticks *ticks = &map->columns.ticks;

    return ticks->count == 0
               ? GAP
               : fmax(GAP, 6 * api_text_width(ticks->list[ticks->count - 1].label, false) + 12);
}

/* The box of a panel in the grid: square and centred if rows and columns have the same meaning. */
static struct api_box box_of(const struct map *map, size_t index)
{
    const struct api_drawing *drawing = map->drawing;
    const bool square = map->words.square && drawing->plot->rows == drawing->plot->columns;
    const double across = (double)api_plot_across(map->count), name = map->count > 1 ? NAME : 0;
    const double gap = gap_of(map);
    const double down = ceil((double)map->count / across);
    const double left = api_axis_width(&map->rows);
    const double right = GAP + 12 + api_axis_width(&(struct api_axis){.ticks = map->bar.ticks});
    double wide = (drawing->width - left - right - gap * (across - 1)) / across, aside;
    double high = (drawing->height - API_TOP - BELOW) / down - name;

    aside = wide;
    if (square)
        wide = high = fmin(wide, high);
    aside = (aside - wide) * across / 2;
    return (struct api_box){left + aside + (double)(index % (size_t)across) * (wide + gap),
                            API_TOP + name + (double)(index / (size_t)across) * (high + name), wide,
                            high};
}

static enum pe_status map_put(struct map *map)
{
    const size_t across = api_plot_across(map->count);
    struct api_box box = {0}, first = box_of(map, 0), bar = box_of(map, across - 1);

    for (size_t i = 0; i < map->count; i++) {
        box = box_of(map, i);
        if (!panel_put(map, &map->panels[i], &box))
            return pe_fail(map->drawing->err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
        if (i % across == 0)
            api_axis_y(map->drawing, &box, &map->rows, false);
        if (i + across >= map->count)
            api_axis_x(map->drawing, &box, &map->columns, false);
    }
    bar = (struct api_box){bar.x + bar.width + 16, first.y, 12, box.y + box.height - first.y};
    bar_put(map, &bar);
    return PE_OK;
}

enum pe_status api_heatmap_draw(struct api_drawing *drawing)
{
    struct map map = {.drawing = drawing,
                      .words = api_plot_words(drawing->plot, &drawing->result->outputs[0])};

    if (!(is_spectrum(&map) ? spectrum_fill(&map) : panels_fill(&map)) || scale_find(&map))
        return drawing->err->status;
    axes_make(&map);
    if (!(box_of(&map, 0).width >= 1 && box_of(&map, 0).height >= 1))
        return pe_fail(drawing->err, PE_NOT_ACCEPTABLE, "parameter:plot_width",
                       "%zu matrices and their axes do not fit into the picture; give more "
                       "plot_width or plot_height",
                       map.count);
    notes_make(&map);
    api_drawing_begin(drawing);
    return map_put(&map);
}
