/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "api/pictures/drawing.h"

/* Dials: the points (cos, sin) of a pair at all positions, with a hand to the last. Fast pairs fill
 * the circle, slow ones leave most of it empty. */

struct dials {
    struct api_drawing *drawing;
    const double *cos, *sin;
    size_t rows, columns;
    size_t across, down;
    double side; /* of the square of a dial */
};

static void dot_put(const struct dials *dials, size_t row, size_t column, double x, double y,
                    double radius)
{
    const size_t at = row * dials->columns + column;
    const size_t last = dials->rows - 1;
    struct api_canvas *canvas = dials->drawing->canvas;
    const double px = x + radius * dials->cos[at], py = y - radius * dials->sin[at];

    if (!isfinite(px) || !isfinite(py))
        return;
    if (row == last)
        api_line_draw(canvas, API_CURVE, (struct api_point){x, y}, (struct api_point){px, py});
    canvas->type->disc(canvas, API_CURVE, (struct api_point){px, py}, row == last ? 4.5 : 2.5,
                       row == last ? 1 : 0.15 + 0.5 * (double)row / (double)last);
}

static void dial_put(const struct dials *dials, size_t index, size_t column)
{
    struct api_drawing *drawing = dials->drawing;
    const double left = (drawing->width - (double)dials->across * dials->side) / 2;
    const double x = left + ((double)(index % dials->across) + 0.5) * dials->side;
    const double top = (drawing->height + API_TOP - (double)dials->down * (dials->side + 20)) / 2;
    const double y = top + ((double)(index / dials->across)) * (dials->side + 20) + dials->side / 2;
    const double radius = dials->side / 2 - 14;
    char name[60];

    snprintf(name, sizeof(name), "%s %zu", api_drawing_word(drawing, API_LABEL_PAIR), column);
    drawing->canvas->type->ring(drawing->canvas, API_AXIS, (struct api_point){x, y}, radius);
    api_line_draw(drawing->canvas, API_GRID, (struct api_point){x - radius, y},
                  (struct api_point){x + radius, y});
    api_line_draw(drawing->canvas, API_GRID, (struct api_point){x, y - radius},
                  (struct api_point){x, y + radius});
    for (size_t row = 0; row < dials->rows; row++)
        dot_put(dials, row, column, x, y, radius);
    api_drawing_write(drawing, API_MUTED, API_MIDDLE, x, y + radius + 20, name);
}

/* Chooses the dials of a row for the largest dials. */
static void grid_choose(struct dials *dials, size_t count)
{
    for (size_t across = 1; across <= count; across++) {
        const size_t down = (count - 1) / across + 1;
        const double wide = (dials->drawing->width - API_PAD) / (double)across;
        const double high = (dials->drawing->height - API_TOP - 8) / (double)down - 20;
        if (fmin(wide, high) > dials->side) {
            dials->side = fmin(wide, high);
            dials->across = across;
            dials->down = down;
        }
    }
}

enum pe_status api_circle_draw(struct api_drawing *drawing)
{
    const struct pe_output *output = &drawing->result->outputs[0];
    const struct pe_value *list = pe_param_value(&drawing->plot->params, "plot_columns");
    struct dials dials = {.drawing = drawing,
                          .cos = api_plot_numbers(drawing, 0, 0, output->rows),
                          .rows = output->rows,
                          .columns = output->row_elements};
    size_t columns[API_PANELS_MAX], count = 0;

    dials.sin = dials.cos ? api_plot_numbers(drawing, 1, 0, output->rows) : NULL;
    if (!dials.sin)
        return drawing->err->status;
    count = dials.columns < API_PANELS_MAX ? dials.columns : API_PANELS_MAX;
    count = list->given ? list->list_count : count;
    for (size_t i = 0; i < count; i++)
        columns[i] = list->given ? (size_t)pe_value_at(list, i)
                     : count > 1 ? i * (dials.columns - 1) / (count - 1)
                                 : 0;
    grid_choose(&dials, count);
    api_drawing_begin(drawing);
    for (size_t i = 0; i < count; i++)
        if (columns[i] < dials.columns)
            dial_put(&dials, i, columns[i]);
    return PE_OK;
}
