/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/pictures/drawing.h"

/* A list over a logarithmic axis: frequencies and wavelengths, with a line for the context if the
 * view has one. Wavelengths beyond it never complete a rotation, and are faded. */

struct cloud {
    struct api_drawing *drawing;
    const double *values;
    size_t count;
    double context; /* NAN: none */
    struct api_axis x, y;
    struct api_box box;
};

#define FADED 0.32

static const enum api_ink context_ink = (enum api_ink)(API_CURVE + 1);

static double scalar_of(const struct api_result *result, const char *name)
{
    for (size_t i = 0; i < result->scalars_count; i++)
        if (strcmp(result->scalars[i].name, name) == 0)
            return result->scalars[i].value;
    return NAN;
}

static bool is_drawn(double value)
{
    return value > 0 && isfinite(value);
}

static enum pe_status axes_make(struct cloud *cloud, enum api_label across, enum api_label up)
{
    struct api_drawing *drawing = cloud->drawing;
    double least = INFINITY, most = 0, top, bottom, air;

    for (size_t i = 0; i < cloud->count; i++) {
        least = is_drawn(cloud->values[i]) ? fmin(least, cloud->values[i]) : least;
        most = is_drawn(cloud->values[i]) ? fmax(most, cloud->values[i]) : most;
    }
    if (most == 0)
        return pe_fail(drawing->err, PE_NOT_ACCEPTABLE, "",
                       "there is nothing to draw on a logarithmic axis: no value is greater "
                       "than 0");
    if (is_drawn(cloud->context)) {
        least = fmin(least, cloud->context);
        most = fmax(most, cloud->context);
    }
    top = api_log10(most);
    bottom = api_log10(least);
    air = fmax((top - bottom) * 0.05, 0.2);
    cloud->y = (struct api_axis){
        .first = top + air, .last = bottom - air, .label = api_drawing_word(drawing, up)};
    api_ticks_decades(&cloud->y.ticks, cloud->y.last, cloud->y.first, 9);
    cloud->x = (struct api_axis){.first = -0.5,
                                 .last = (double)cloud->count - 0.5,
                                 .label = api_drawing_word(drawing, across)};
    api_ticks_linear(&cloud->x.ticks, 0, (double)cloud->count - 1, drawing->width > 560 ? 9 : 5,
                     true);
    return PE_OK;
}

static double y_of(const struct cloud *cloud, double value)
{
    return api_axis_at(&cloud->y, api_log10(value), cloud->box.y, cloud->box.height);
}

static void points_put(const struct cloud *cloud)
{
    const double pitch = cloud->box.width / (double)cloud->count;
    const double radius = fmin(fmax(pitch * 0.38, 1.25), 4.5);
    struct api_canvas *canvas = cloud->drawing->canvas;

    for (size_t i = 0; i < cloud->count; i++) {
        const double value = cloud->values[i];
        if (!is_drawn(value))
            continue;
        canvas->type->disc(
            canvas, API_CURVE,
            (struct api_point){api_axis_at(&cloud->x, (double)i, cloud->box.x, cloud->box.width),
                               y_of(cloud, value)},
            radius, value > cloud->context ? FADED : 1);
    }
}

static void context_put(const struct cloud *cloud)
{
    struct api_drawing *drawing = cloud->drawing;
    char label[API_TICK_SIZE], words[2 * API_TICK_SIZE];
    double y;

    if (!is_drawn(cloud->context))
        return;
    y = y_of(cloud, cloud->context);
    api_tick_print(label, cloud->context);
    snprintf(words, sizeof(words), "%s %s", api_drawing_word(drawing, API_LABEL_CONTEXT), label);
    drawing->canvas->type->path(
        drawing->canvas, context_ink, true,
        (struct api_point[]){{cloud->box.x, y}, {cloud->box.x + cloud->box.width, y}}, 2);
    api_drawing_write(drawing, context_ink, API_START, cloud->box.x + 8, y - 7, words);
}

static void notes_make(const struct cloud *cloud)
{
    bool hidden = false, faded = false;

    for (size_t i = 0; i < cloud->count; i++) {
        hidden |= !is_drawn(cloud->values[i]);
        faded |= cloud->values[i] > cloud->context;
    }
    if (faded)
        api_drawing_note(cloud->drawing, api_drawing_word(cloud->drawing, API_LABEL_FADED));
    if (hidden)
        api_drawing_note(cloud->drawing, api_drawing_word(cloud->drawing, API_LABEL_HIDDEN));
}

enum pe_status api_points_draw(struct api_drawing *drawing)
{
    const struct pe_output *output = &drawing->result->outputs[0];
    const struct api_plot_words words = api_plot_words(drawing->plot, output);
    struct cloud cloud = {.drawing = drawing,
                          .values = api_plot_numbers(drawing, 0, 0, 1),
                          .count = output->row_elements,
                          .context = scalar_of(drawing->result, "context")};

    if (!cloud.values || axes_make(&cloud, words.columns, words.rows))
        return drawing->err->status;
    notes_make(&cloud);
    cloud.box.x = api_axis_width(&cloud.y);
    cloud.box = (struct api_box){cloud.box.x, API_TOP + 8, drawing->width - cloud.box.x - 24,
                                 drawing->height - API_TOP - 60};
    api_drawing_begin(drawing);
    api_axis_y(drawing, &cloud.box, &cloud.y, true);
    api_axis_x(drawing, &cloud.box, &cloud.x, true);
    points_put(&cloud);
    context_put(&cloud);
    return PE_OK;
}
